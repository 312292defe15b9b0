"""Reading files of many kinds beside polars and pandas, each in its own process for its peak memory.

Polars leaves dates, times and decimal commas as text unless it is told of them: "polars, parsing" is.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
import polars as pl

from benchmarks.measure import Effort, Line

__all__ = ["TITLE", "lines"]

TITLE = "Reading a file: processor seconds on one thread, wall seconds on two"
COLUMNS = 10
WIDTHS = (1_000, 10_000, 100_000)
COLOURS = ("red", "green", "blue", "grey")

READ = """
import sys, time
import polars  # which all but pandas need: what is timed is reading
path, small = sys.argv[1:]
{load}
read(small)
began, busy = time.perf_counter(), time.process_time()
kept = read(path)
spent, busy = time.perf_counter() - began, time.process_time() - busy
# The kernel's own record of this program alone: what getrusage says begins with its parent's memory.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(spent, busy, int(peak) / 1024)
"""
POLARS = """
def read(path):
    if path.endswith(".parquet"):
        return polars.read_parquet(path)
    commas = "commas" in path
    comment = "#" if "comments" in path else None
    return polars.read_csv(path, separator=";" if commas else ",", comment_prefix=comment{more})
"""
PANDAS = """
import pandas
def read(path):
    if path.endswith(".parquet"):
        return pandas.read_parquet(path)
    comment = "#" if "comments" in path else None
    told = dict(sep=";", decimal=",") if "commas" in path else {}
    return pandas.read_csv(path, comment=comment, **told)
"""
PARSING = "polars, parsing"
READERS = {
    "lacunary": "from lacunary import read",
    "polars": POLARS.replace("{more}", ""),
    PARSING: POLARS.replace("{more}", ", try_parse_dates=True, decimal_comma=commas"),
    "pandas": PANDAS,
}
PARSED = ("dates", "times", "commas", "mixed")
"""Kinds of which polars reads more where it is told to."""

ODD = (
    *("quoted", "whole", *PARSED, "returns", "comments", "words"),
    *("whole.parquet", "booleans.parquet", "dates.parquet", "dictionaries.parquet"),
)
"""Kinds of files of 100 000 rows, CSV where it is not said."""


def lines(effort: Effort) -> Iterator[Line]:
    """Measure tall files of each kind, then wide ones."""
    with TemporaryDirectory() as folder:
        for rows in (10**5, 10**6):
            for kind in ("floats", "text", "parquet", *(ODD if rows == 10**5 else ("mixed",))):
                path, small = _written(Path(folder), kind, rows), _written(Path(folder), kind, 10)
                yield from _read(f"{rows:,} rows x {COLUMNS}, {kind}", path, small, effort)
                path.unlink()
        widths = WIDTHS[:-1] if effort == Effort.quick() else WIDTHS
        for width in widths:
            for kind in ("csv", "parquet"):
                path, small = _wide(Path(folder), width, kind), _wide(Path(folder), 10, kind)
                yield from _read(f"20 rows x {width:,}, text, {kind}", path, small, effort)


def _read(case: str, path: Path, small: Path, effort: Effort) -> Iterator[Line]:
    """Time the readers by turns, so that what else the machine does meets all of them; the best counts.

    On a busy machine the wall clock says little, the processor's time on one thread still does.
    """
    present = [who for who in READERS if find_spec(who.partition(",")[0])]
    if not path.stem.startswith(PARSED) or path.suffix == ".parquet":
        present.remove(PARSING)
    for threads, clock in ((1, "processor, one thread"), (2, "wall, two threads")):
        found: dict[str, list[_Run]] = {who: [] for who in present}
        for _ in range(min(effort.repeats, 5)):
            for who in present:
                found[who].append(_once(READERS[who], path, small, threads))
        for who in dict.fromkeys((*present, *(who for who in READERS if who != PARSING))):
            if who in found:
                best = min(run.busy if threads == 1 else run.spent for run in found[who])
                peak = max(run.peak for run in found[who])
                yield Line(f"{case}; {clock}", who, best, note=f"peak {peak:,.0f} MiB")
            else:
                yield Line(f"{case}; {clock}", who, note="not installed")


class _Run(NamedTuple):
    """Wall and processor seconds, and MiB at most."""

    spent: float
    busy: float
    peak: float


def _once(load: str, path: Path, small: Path, threads: int) -> _Run:
    program = [sys.executable, "-c", READ.format(load=load), str(path), str(small)]
    own = {"POLARS_MAX_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(program, capture_output=True, text=True, check=True, env={**os.environ, **own})
    return _Run(*map(float, run.stdout.split()))


def _written(folder: Path, kind: str, rows: int) -> Path:
    """Write a file of ten columns of a kind."""
    rng = np.random.default_rng(0)
    name, _, suffix = kind.partition(".")
    if kind == "parquet":
        name, suffix = "text", "parquet"
    columns = [_column(name if name != "mixed" else MIXED[k % len(MIXED)], rows, rng) for k in range(COLUMNS)]
    frame = pl.DataFrame({f"c{k}": column for k, column in enumerate(columns)})
    path = folder / f"{name}-{rows}.{suffix or 'csv'}"
    if suffix == "parquet":
        frame.write_parquet(path)
        return path
    frame.write_csv(
        path,
        separator=";" if name == "commas" else ",",
        quote_style="always" if name == "quoted" else "necessary",
        line_terminator="\r\n" if name == "returns" else "\n",
    )
    if name == "comments":
        path.write_bytes(b"# ten columns\n# of four colours\n" + path.read_bytes())
    return path


MIXED = ("floats", "whole", "text", "dates", "words")
START = np.datetime64("2000-01-01T00:00:00", "ms")
WORDS = np.array([f"w{k:05d}" for k in range(900)])


def _column(kind: str, rows: int, rng: np.random.Generator) -> pl.Series:
    """Draw a column; what is no kind of numbers or dates is a colour."""
    if kind == "floats":
        return pl.Series(rng.normal(size=rows))
    if kind == "commas":
        texts = pl.Series(rng.normal(0, 100, rows).round(3)).cast(pl.String)
        return texts.str.replace(".", ",", literal=True)
    if kind == "whole":
        return pl.Series(rng.integers(0, 10**6, rows))
    if kind == "booleans":
        return pl.Series(rng.integers(0, 2, rows).astype(bool))
    if kind == "dates":
        return pl.Series(START + rng.integers(0, 8000, rows) * np.timedelta64(1, "D")).cast(pl.Date)
    if kind == "times":
        moments = START + rng.integers(0, 8 * 10**8, rows) * np.timedelta64(1, "s")
        return pl.Series(moments).dt.strftime("%Y-%m-%d %H:%M:%S")
    if kind == "words":
        return pl.Series(WORDS[rng.integers(0, len(WORDS), rows)])
    colours = pl.Series(np.array(COLOURS)[rng.integers(0, 4, rows)])
    return colours.cast(pl.Categorical) if kind == "dictionaries" else colours


def _wide(folder: Path, width: int, kind: str) -> Path:
    rng = np.random.default_rng(0)
    cells = np.array(COLOURS)[rng.integers(0, 4, (20, width))]
    path = folder / f"wide-{width}.{kind}"
    if kind == "parquet":
        pl.DataFrame({f"c{k}": column for k, column in enumerate(cells.T.tolist())}).write_parquet(path)
    else:
        lines = [",".join(f"c{i}" for i in range(width)), *map(",".join, cells)]
        path.write_text("\n".join(lines) + "\n")
    return path
