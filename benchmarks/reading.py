"""Reading files: text and floats beside polars and pandas, each in its own process for its peak memory."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from benchmarks.measure import Effort, Line

__all__ = ["TITLE", "lines"]

TITLE = "Reading a file, wall seconds"
COLUMNS = 10
WIDTHS = (1_000, 10_000, 100_000)
COLOURS = ("red", "green", "blue", "grey")

READ = """
import sys, time
import polars  # which all but pandas need: what is timed is reading
path, small = sys.argv[1:]
{load}
read(small)
began = time.perf_counter()
kept = read(path)
spent = time.perf_counter() - began
# The kernel's own record of this program alone: what getrusage says begins with its parent's memory.
peak = next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(spent, int(peak) / 1024)
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
    """Time the readers by turns, so that what else the machine does meets all of them."""
    present = [who for who in READERS if find_spec(who)]
    found: dict[str, list[tuple[float, float]]] = {who: [] for who in present}
    for _ in range(min(effort.repeats, 3)):
        for who in present:
            found[who].append(_once(READERS[who], path, small))
    for who in READERS:
        if who in found:
            peak = max(memory for _, memory in found[who])
            yield Line(case, who, median(time for time, _ in found[who]), note=f"peak {peak:,.0f} MiB")
        else:
            yield Line(case, who, note="not installed")


def _once(load: str, path: Path, small: Path) -> tuple[float, float]:
    program = [sys.executable, "-c", READ.format(load=load), str(path), str(small)]
    time, peak = subprocess.run(program, capture_output=True, text=True, check=True).stdout.split()
    return float(time), float(peak)


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
