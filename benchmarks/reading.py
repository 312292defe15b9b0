"""Reading files: text and floats beside polars and pandas, each in its own process for its peak memory."""

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
READERS = {
    "lacunary": "from lacunary import read",
    "polars": "import polars; read = polars.read_parquet if path.endswith('.parquet') else polars.read_csv",
    "pandas": "import pandas; read = pandas.read_parquet if path.endswith('.parquet') else pandas.read_csv",
}


def lines(effort: Effort) -> Iterator[Line]:
    """Measure tall files of each kind, then wide ones."""
    with TemporaryDirectory() as folder:
        for rows in (10**5, 10**6):
            for kind in ("floats", "text", "parquet"):
                path, small = _written(Path(folder), kind, rows), _written(Path(folder), kind, 10)
                yield from _read(f"{rows:,} rows x {COLUMNS}, {kind}", path, small, effort)
                path.unlink()
        widths = WIDTHS[:-1] if effort == Effort.quick() else WIDTHS
        for width in widths:
            path, small = _wide(Path(folder), width), _wide(Path(folder), 10)
            yield from _read(f"20 rows x {width:,}, text", path, small, effort)


def _read(case: str, path: Path, small: Path, effort: Effort) -> Iterator[Line]:
    """Time the readers by turns, so that what else the machine does meets all of them; the best counts.

    On a busy machine the wall clock says little, the processor's time on one thread still does.
    """
    present = [who for who in READERS if find_spec(who)]
    for threads, clock in ((1, "processor, one thread"), (2, "wall, two threads")):
        found: dict[str, list[_Run]] = {who: [] for who in present}
        for _ in range(min(effort.repeats, 5)):
            for who in present:
                found[who].append(_once(READERS[who], path, small, threads))
        for who in READERS:
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
    rng = np.random.default_rng(0)
    if kind == "floats":
        frame = pl.DataFrame({f"c{i}": rng.normal(size=rows) for i in range(COLUMNS)})
    else:
        frame = pl.DataFrame({f"c{i}": np.array(COLOURS)[rng.integers(0, 4, rows)] for i in range(COLUMNS)})
    path = folder / f"{kind}-{rows}.{'parquet' if kind == 'parquet' else 'csv'}"
    frame.write_parquet(path) if kind == "parquet" else frame.write_csv(path)
    return path


def _wide(folder: Path, width: int) -> Path:
    rng = np.random.default_rng(0)
    cells = np.array(COLOURS)[rng.integers(0, 4, (20, width))]
    path = folder / f"wide-{width}.csv"
    path.write_text("\n".join([",".join(f"c{i}" for i in range(width)), *map(",".join, cells)]) + "\n")
    return path
