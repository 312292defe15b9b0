"""What a page opens with."""

from __future__ import annotations

from pathlib import Path

import pytest

import lacunary as lac
from lacunary.papers import Outcome
from lacunary.papers.opening import in_short
from lacunary.papers.publish import Edition, publish

README = """# A paper

## In short

- **Holds.** That x < y, in `table-1`,
  *because* it does.
- Second.

## Which library

- Not this.
"""


def test_points_of_the_summary_become_html(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(README)
    first, second = in_short(tmp_path / "README.md")
    assert first == "<b>Holds.</b> That x &lt; y, in <code>table-1</code>, <i>because</i> it does."
    assert second == "Second."


def test_without_a_summary_there_are_no_points(tmp_path: Path) -> None:
    assert in_short(tmp_path / "README.md") == []
    (tmp_path / "README.md").write_text("- a point elsewhere\n")
    assert in_short(tmp_path / "README.md") == []


def test_a_summary_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(lac.FileError, match=r"README\.md"):
        in_short(tmp_path / "README.md")


def test_only_the_page_of_a_full_run_opens_with_the_summary(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(README)
    head = {"title": "T", "authors": "A", "machine": "M"}
    for size, shown in (("full", True), ("glance", False)):
        publish(tmp_path, Edition("key", head, size, 1, 1, 1.0), [], Outcome([]))  # type: ignore[arg-type]
        assert ("In short" in (tmp_path / "index.html").read_text()) is shown
