"""``lacunary warm-up``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import Json
from lacunary.cli.show import Waiting, emit, show
from lacunary.errors import FileError

__all__ = ["warm_up"]

ROWS = 60

PROGRAM = (
    "from lacunary.kernels import promote; promote.PATIENCE = 0.0; from lacunary.cli import main; main()"
)
"""The command line without patience: every kernel is compiled when it is first called."""

QUESTIONS = "from lacunary.kernels import ahead; ahead.compile_for(ahead.QUESTIONS); "
"""What comes before it for one command, which needs but some of what the library's questions do."""

FIRST = ("fit", "holes.csv", "--hidden", "h=2", "--starts", "10")
"""What compiles that all others need too."""

COMMANDS = (
    ("fit", "holes.csv", "a -> b c; c -> d", "--method", "variational"),
    ("fit", "house_votes", "--hidden", "h=2", "--starts", "1"),  # rows enough for groups of variables
    ("fit", "mixed.csv", "--hidden", "h=2", "--starts", "2"),
    ("score", "holes.csv", "--hidden", "h=2"),
    ("score", "mixed.csv", "--hidden", "h=2"),
    ("search", "complete.csv"),
    ("search", "holes.csv"),
    ("search", "mixed.csv"),
    ("mixture", "continuous.csv", "--components", "1-2"),
    ("mixture", "holes.csv", "--components", "2"),
    ("classes", "holes.csv", "--components", "1..2", "--starts", "2"),
    ("impute", "holes.csv", "--out", "filled.csv"),
    ("impute", "mixed.csv", "--out", "both.csv"),
    ("arcs", "complete.csv"),
    ("loo", "holes.csv", "--hidden", "h=2", "--draws", "50"),
    ("query", "alarm", "--marginals", "--given", "BP=LOW"),
)
"""Small pieces of work, one a process, that between them need every kernel an ordinary command does."""


@command("lacunary warm-up", "lacunary warm-up --into compiled --only search --only fit")
def warm_up(
    into: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Where compiled code goes; unless told, where it always goes."),
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="COMMAND", help="Warm this command up alone; may be repeated.")
    ] = None,
    json: Json = False,
) -> None:
    """Compile everything now, on all cores, for images, clusters and those who do not like to wait.

    Compiled code is kept in the folder that LACUNARY_CACHE names, else beside the package, else in the user's
    cache folder. It serves one version of lacunary, Numba and Python on one kind of processor; the folder may
    be shared and may be read-only: --into compiled, then LACUNARY_CACHE=compiled wherever commands run. For
    machines of several kinds set NUMBA_CPU_NAME, such as x86-64-v3, there and here.

    --json prints: commands, seconds, folder, files, bytes.
    """
    chosen: list[tuple[str, ...]] = [work for work in (FIRST, *COMMANDS) if not only or work[0] in only]
    known = sorted({work[0] for work in (FIRST, *COMMANDS)})
    for name in only or ():
        if name not in known:
            raise typer.BadParameter(
                f"there is nothing to compile for {name!r}; choose from {', '.join(known)}"
            )
    place = os.path.abspath(into) if into else None
    with Waiting("compiling, once per machine") as waiting, TemporaryDirectory() as folder:
        _write_tables(Path(folder))
        if place:
            _bring(Path(place))
        times = {}
        for done, (work, seconds) in enumerate(_warmed(chosen, Path(folder), place), 1):
            times[" ".join(work)] = seconds
            waiting.progress(f"compiling, once per machine: {work[0]}", done / len(chosen))
    _say(times, place, json)


def _bring(place: Path) -> None:
    """Copy what is compiled elsewhere already: commands would take it from there, and leave nothing here."""
    from lacunary.kernels import store

    for shelf in store.shelves():
        here = place / shelf.name
        if shelf.resolve() != here.resolve():
            shutil.copytree(shelf, here, ignore=shutil.ignore_patterns("*.tmp"), dirs_exist_ok=True)


def _say(times: dict[str, float], place: str | None, json: bool) -> None:
    from lacunary.kernels import store

    where = [path for path in store.shelves(place) if any(path.iterdir())]
    files = [file for path in where[:1] for file in path.iterdir()]
    size = sum(file.stat().st_size for file in files)
    told = {
        "commands": len(times),
        "seconds": sum(times.values()),
        "folder": str(where[0]) if where else None,
    }
    if json:
        emit(told | {"files": len(files), "bytes": size})
    elif where:
        show(f"{len(files)} files, {size / 1e6:.1f} MB, in {where[0]}")
    else:
        show("nothing could be kept: no folder can be written to; name one with --into")


def _warmed(
    chosen: list[tuple[str, ...]], folder: Path, place: str | None
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Yield each piece of work when it is done, and its seconds; the first is done before all others."""
    if chosen and chosen[0] == FIRST:
        yield FIRST, _run(FIRST, folder, place)
        chosen = chosen[1:]
    with ThreadPoolExecutor(lac.threads()) as pool:
        waiting = {pool.submit(_run, work, folder, place): work for work in chosen}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def _run(work: tuple[str, ...], folder: Path, place: str | None) -> float:
    """Run a command in a process of its own; return its seconds."""
    from time import monotonic

    told = os.environ | {"LACUNARY_THREADS": "1"}
    told |= {"LACUNARY_CACHE": place} if place else {}
    program = QUESTIONS + PROGRAM if work[0] == "query" else PROGRAM
    began = monotonic()
    ran = subprocess.run(
        [sys.executable, "-c", program, *work], cwd=folder, env=told, capture_output=True, text=True
    )
    if ran.returncode:
        said = (ran.stderr.strip().splitlines() or ["nothing was said"])[-1]
        raise FileError(f"`lacunary {' '.join(work)}` failed while it was warmed up: {said}")
    return monotonic() - began


def _write_tables(folder: Path) -> None:
    """Write small tables of every kind: complete, with holes, of numbers, of both."""
    import numpy as np

    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, ROWS)
    labels = np.array(["no", "yes"])[(rng.random((ROWS, 4)) < 0.2 + 0.6 * group[:, None]).astype(int)]
    numbers = np.round(rng.normal(size=(ROWS, 3)) + 2.0 * group[:, None], 3).astype(str)
    open_ = rng.random((ROWS, 7)) < 0.15
    both = np.where(open_, "", np.column_stack([labels, numbers]))
    tables = {"complete": labels, "holes": both[:, :4], "continuous": both[:, 4:], "mixed": both[:, 2:6]}
    names = {"continuous": "xyz", "mixed": "cdxy"}
    for name, cells in tables.items():
        lines = [",".join(names.get(name, "abcd")), *map(",".join, cells)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
