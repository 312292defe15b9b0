"""``lacunary warm-up``: what it runs, where, and what it says when that fails."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lacunary.cli import app, show, warm_up
from lacunary.data.read import read
from lacunary.kernels import store
from lacunary.kernels.compiling import listeners


def test_commands_run_where_the_code_is_to_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands that compile nothing: what they would compile goes where LACUNARY_CACHE says."""
    monkeypatch.setattr(warm_up, "FIRST", ("describe", "holes.csv"))
    monkeypatch.setattr(warm_up, "COMMANDS", (("describe", "mixed.csv"), ("describe", "continuous.csv")))
    spy = "import os, sys; open(os.environ['LACUNARY_CACHE'] + sys.argv[2], 'w').write(sys.argv[1])"
    monkeypatch.setattr(warm_up, "PROGRAM", spy)
    ran = CliRunner().invoke(app, ["warm-up", "--into", str(tmp_path / "code"), "--json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["commands"] == 3
    written = {path.name: path.read_text() for path in tmp_path.glob("*.csv")}
    assert written == {f"code{name}.csv": "describe" for name in ("holes", "mixed", "continuous")}


def test_what_is_compiled_elsewhere_is_brought(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which all is compiled has nothing left to compile into a folder that is to be shipped."""
    warm = tmp_path / "warm" / "lacunary-key"
    warm.mkdir(parents=True)
    (warm / "sweep-1").write_text("code")
    (warm / "half.tmp").write_text("co")
    monkeypatch.setattr(store, "shelves", lambda place=None: [Path(place or warm.parent) / warm.name])
    monkeypatch.setattr(warm_up, "PROGRAM", "pass")
    monkeypatch.setattr(warm_up, "COMMANDS", ())
    told = json.loads(CliRunner().invoke(app, ["warm-up", "--into", str(tmp_path / "code"), "--json"]).stdout)
    assert (told["files"], told["folder"]) == (1, str(tmp_path / "code" / "lacunary-key"))


def test_a_command_that_fails_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_up, "PROGRAM", "import sys; sys.exit('no room on the disk')")
    ran = CliRunner().invoke(app, ["warm-up", "--only", "arcs"])
    assert ran.exit_code == 1
    assert "`lacunary arcs complete.csv` failed" in ran.stderr
    assert "no room on the disk" in ran.stderr


def test_a_command_without_kernels_is_refused() -> None:
    ran = CliRunner().invoke(app, ["warm-up", "--only", "demo"])
    assert ran.exit_code == 2


def test_tables_are_of_every_kind(tmp_path: Path) -> None:
    warm_up._write_tables(tmp_path)
    tables = {path.stem: read(path) for path in tmp_path.iterdir()}
    assert {name: {v.kind for v in table.schema} for name, table in tables.items()} == {
        "complete": {"discrete"},
        "holes": {"discrete"},
        "continuous": {"continuous"},
        "mixed": {"discrete", "continuous"},
    }
    assert not tables["complete"].holes.any()
    assert all(table.holes.any() for name, table in tables.items() if name != "complete")


def test_whoever_waits_is_told_of_compiling() -> None:
    before = len(listeners)
    with show.Waiting("working") as waiting:
        listeners[-1]("sweep")
        assert "compiling, once per machine" in waiting._told["description"]
        assert waiting._display is None  # there is no terminal
    assert len(listeners) == before


class Terminal(io.StringIO):
    """An error stream that someone looks at."""

    def isatty(self) -> bool:
        return True


def test_whoever_waits_longer_than_a_moment_is_shown_what_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line appears with the last that was told, follows what is told then, and is gone at the end."""
    monkeypatch.setattr(show, "PATIENCE", 0.02)
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with show.Waiting("reading") as waiting:
        waiting.say("working")
        waiting._later.join()
        line = waiting._display
        assert line.tasks[0].description == "working"
        waiting.progress("counting", 0.5)
        assert (line.tasks[0].description, line.tasks[0].percentage) == ("counting", 50)
    assert line.finished or not line.live.is_started
    assert "working" in terminal.getvalue()
    assert "reading" not in terminal.getvalue()


def test_whoever_waits_but_a_moment_sees_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    with show.Waiting("reading") as waiting:
        pass
    waiting._appear()  # as when the moment was over just then
    assert waiting._display is None
    assert terminal.getvalue() == ""
