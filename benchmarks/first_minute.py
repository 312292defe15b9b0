"""The first minute: commands with nothing compiled, and with all of it compiled, each in its own process."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.measure import Effort, Line
from lacunary.cli.warm_up import _write_tables

__all__ = ["TITLE", "lines"]

TITLE = "The first minute: commands at the prompt, wall seconds; the remark has the processor's"
COMMANDS = {
    "--help": ("--help",),
    "query": ("query", "alarm", "HYPOVOLEMIA", "--given", "BP=LOW"),
    "fit": ("fit", "holes.csv", "a -> b c; c -> d"),
    "search": ("search", "holes.csv"),
    "mixture": ("mixture", "continuous.csv", "--components", "2"),
    "score": ("score", "holes.csv", "--hidden", "h=2"),
    "classes": ("classes", "holes.csv", "--components", "1..2", "--starts", "2"),
    "impute": ("impute", "mixed.csv", "--out", "filled.csv"),
    "loo": ("loo", "holes.csv", "--hidden", "h=2", "--draws", "50"),
    "search, mixed": ("search", "mixed.csv"),
}


def lines(effort: Effort) -> Iterator[Line]:
    """Run every command in an empty store, then again in the one it filled."""
    for name, words in COMMANDS.items():
        with TemporaryDirectory() as folder, TemporaryDirectory() as store:
            _write_tables(Path(folder))
            cold = _run(words, folder, store)
            warm = [_run(words, folder, store) for _ in range(effort.repeats)]
        middle = median(wall for wall, _ in warm), median(used for _, used in warm)
        for who, (wall, used) in (("compiled before", middle), ("nothing compiled yet", cold)):
            yield Line(f"lacunary {name}", who, wall, note=f"{used:.2f} s of the processor's")


def _run(words: tuple[str, ...], folder: str, store: str) -> tuple[float, float]:
    """Return wall time and processor time of a command."""
    told = os.environ | {"LACUNARY_CACHE": store}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    program = [sys.executable, "-m", "lacunary", *words]
    subprocess.run(program, cwd=folder, env=told, check=True, capture_output=True)
    wall, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
