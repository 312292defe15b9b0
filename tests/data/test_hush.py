"""At the prompt libraries that panic as they read say nothing on standard error; elsewhere they may."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import polars as pl
import pytest
from typer.testing import CliRunner

from lacunary.cli import app
from lacunary.data import hush


@pytest.fixture
def prompt(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(hush, "_prompt", [])
    hush.at_the_prompt()
    yield
    assert not hush._kept


def test_readers_side_by_side_leave_standard_error_as_it_was(
    prompt: None, capfd: pytest.CaptureFixture[str]
) -> None:
    both = Barrier(2)

    def read(number: int) -> None:
        with hush.hushed():
            both.wait()
            os.write(2, b"panic")
            both.wait()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(read, range(2)))
    os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


def test_a_library_s_own_process_is_not_hushed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(hush, "_prompt", [])
    with hush.hushed():
        os.write(2, b"heard")
    assert capfd.readouterr().err == "heard"


def test_closed_standard_error_is_no_hindrance(prompt: None) -> None:
    kept = os.dup(2)
    os.close(2)
    try:
        with hush.hushed():
            pass
    finally:
        os.dup2(kept, 2)
        os.close(kept)


@pytest.mark.parametrize("many", [False, True], ids=["file", "folder"])
def test_a_damaged_file_is_told_in_one_line(
    many: bool,
    prompt: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Where polars panics it prints a page first, from threads of its own."""

    def panics(*given: object, **options: object) -> None:
        os.write(2, b"thread 'tokio-rt-worker' panicked at crates/polars-stream/src/nodes")
        raise pl.exceptions.PanicException("range end index 48968 out of range for slice of length 1484")

    pl.DataFrame({"a": ["x", "y", None]}).write_ipc(tmp_path / "d.feather")
    monkeypatch.setattr(pl, "read_ipc_schema", panics)
    monkeypatch.setattr(pl.LazyFrame, "collect_schema", panics)
    told = CliRunner().invoke(app, ["describe", str(tmp_path if many else tmp_path / "d.feather")])
    assert told.exit_code == 1
    assert told.output.startswith(f"lacunary: {tmp_path / 'd.feather'}")
    assert len(told.output.splitlines()) == 1
    assert "panicked" not in capfd.readouterr().err
