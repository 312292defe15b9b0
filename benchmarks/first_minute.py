"""The first minute: commands with nothing compiled, and with all of it compiled, each in its own process."""

from __future__ import annotations

import compileall
import os
import resource
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter

import lacunary
from benchmarks.measure import Effort, Line
from lacunary.cli.warm_up import _write_tables

__all__ = ["TITLE", "lines"]

TITLE = "The first minute: commands at the prompt, wall seconds; the remark has the processor's"
COMMANDS: dict[str, tuple[str, ...]] = {
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
    "search, continuous": ("search", "continuous.csv"),
    "fit, mixed": ("fit", "mixed.csv", "--hidden", "h=2", "--starts", "2"),
    "mixture, holes": ("mixture", "holes.csv", "--components", "2"),
    "assign": ("assign", "groups.json", "continuous.csv"),
    "classes, mixed": ("classes", "mixed.csv", "--components", "1..2", "--starts", "2"),
    "report": ("report", "holes.csv", "--classes", "2", "--starts", "2"),
    "impute, model": ("impute", "holes.csv", "--model", "fit.json", "--out", "filled.csv"),
    "arcs": ("arcs", "complete.csv"),
    "arcs, holes": ("arcs", "holes.csv"),
    "query, mixed": ("query", "mixed.json", "x", "--given", "c=yes"),
    "sample": ("sample", "alarm", "--rows", "100", "--given", "BP=LOW"),
    "describe": ("describe", "holes.csv"),
    "convert": ("convert", "alarm", "alarm.net"),
    "dimension": ("dimension", "H -> A B C D", "--states", "2", "--hidden", "H=3"),
    "effect": ("effect", "asia", "smoke", "dysp"),
    "missing": ("missing", "mixed.csv"),
    "compare": ("compare", "holes.csv", "--hidden", "h", "--components", "1..2"),
    "sensitivity": ("sensitivity", "holes.csv", "a -> b", "a; b"),
}
BEFORE = (
    ("mixture", "continuous.csv", "--components", "2", "--out", "groups.json"),
    ("fit", "holes.csv", "a -> b c; c -> d", "--out", "fit.json"),
    ("fit", "mixed.csv", "c -> d x; x -> y", "--out", "mixed.json"),
)
"""What writes the models that some commands read, with code that is compiled already."""

METHODS = (
    "bic", "draper", "sbic", "laplace", "prequential", "mled", "variational", "sampled", "sandwich", "wbic",
    "ais", "path", "bridge", "chib",
)  # fmt: skip
COMMANDS |= {
    f"score, {name}": ("score", "holes.csv", "--hidden", "h=2", "--method", name) for name in METHODS
}


def lines(effort: Effort) -> Iterator[Line]:
    """Run every command of a package that has never run, then again with what was compiled."""
    with TemporaryDirectory() as clean:
        # Code that lies beside the package is read whatever else is said: so this is a copy without any.
        nothing = shutil.ignore_patterns("__pycache__")
        shutil.copytree(Path(lacunary.__file__).parent, Path(clean) / "lacunary", ignore=nothing)
        compileall.compile_dir(clean, quiet=2)
        for name, words in COMMANDS.items():
            cold, *warm = _times(words, Path(clean), 1 + max(1, effort.repeats // 2))
            middle = median(wall for wall, _ in warm), median(used for _, used in warm)
            for who, (wall, used) in (("compiled before", middle), ("nothing compiled yet", cold)):
                yield Line(f"lacunary {name}", who, wall, note=f"{used:.2f} s of the processor's")


def _times(words: tuple[str, ...], clean: Path, times: int) -> list[tuple[float, float]]:
    """Run a command some times with a copy of the package; return wall and processor times of each."""
    with TemporaryDirectory() as folder, TemporaryDirectory() as package:
        _write_tables(Path(folder))
        for before in BEFORE if any(word.endswith(".json") for word in words) else ():
            subprocess.run(
                [sys.executable, "-m", "lacunary", *before], cwd=folder, check=True, capture_output=True
            )
        shutil.copytree(clean, package, dirs_exist_ok=True)
        return [_run(words, folder, package) for _ in range(times)]


def _run(words: tuple[str, ...], folder: str, package: str) -> tuple[float, float]:
    """Return wall time and processor time of a command, of the package in a folder."""
    told = os.environ | {"LACUNARY_CACHE": f"{package}/compiled", "HOME": package, "PYTHONPATH": package}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    program = [sys.executable, "-m", "lacunary", *words]
    subprocess.run(program, cwd=folder, env=told, check=True, capture_output=True)
    wall, after = perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
