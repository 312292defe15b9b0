"""Completion at the prompt: what a shell is told when the tab key is pressed."""

from __future__ import annotations

import pytest

from lacunary.cli.app import app


@pytest.mark.parametrize(
    ("words", "place", "expected"),
    [("lacunary cla", 1, ["classes"]), ("lacunary classes --comp", 2, ["--components"])],
)
def test_commands_and_options_are_completed(
    words: str,
    place: int,
    expected: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in (
        ("_LACUNARY_COMPLETE", "complete_bash"),
        ("COMP_WORDS", words),
        ("COMP_CWORD", str(place)),
    ):
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        app(prog_name="lacunary")
    assert ended.value.code in (None, 0)
    assert capsys.readouterr().out.split() == expected
