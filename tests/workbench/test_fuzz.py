"""Some hundreds of the requests that `benchmarks.workbench` sends by the hundred thousand."""

from __future__ import annotations

from pathlib import Path

from tests.workbench.fuzz import campaign


def test_no_request_makes_the_server_fail(tmp_path: Path) -> None:
    counts = campaign(tmp_path / "space", 500, 1)
    assert counts[200] > 30  # many are right
    assert counts[422] > 50  # and many are refused in words
