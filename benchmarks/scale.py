"""How time and memory grow with the rows of a folder of Parquet files: ``python -m benchmarks.scale``.

Two tables are made, both with 30 % of all cells missing at random:

- ``alarm``: rows of the ALARM network (37 variables), as drawn by ``lacunary sample alarm --rows N
  --missing 0.3 --rng 1 --part-rows 1000000 --out FOLDER/``; fewer rows are the first of many. Hardly two rows
  are equal, so that every row is laid out.
- ``binary``: ten binary variables of a random network. One file of 10⁷ rows is drawn and copied under as many
  names as are asked for: what is measured is reading, grouping and fitting, not drawing.

Each is scanned and fitted in a process of its own, whose anonymous memory (RssAnon: not what is mapped from
files) is watched ten times a second. The page `scale.md` has what was measured.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from time import perf_counter, process_time, strftime
from typing import Any

FILE = 10**6
"""Rows of a file of ALARM."""

COPIED = 10**7
"""Rows of a file of binary columns."""

MISSING = 0.3


def make_alarm(folder: Path, rows: int, part: int = FILE) -> None:
    """Write rows of ALARM with holes."""
    import lacunary as lac
    from lacunary.files.drawn import Recipe, draw_into

    if not folder.exists():
        network = lac.alarm()
        draw_into(folder, network, Recipe.of(network, rows, part=part, missing=MISSING, rng=1))


def make_binary(folder: Path, rows: int) -> None:
    """Write rows of ten binary columns with holes: one file, copied."""
    import polars as pl

    import lacunary as lac

    folder.mkdir(parents=True, exist_ok=True)
    first = folder / "00000.parquet"
    if not first.exists():
        network = binary_network()
        tables = [
            lac.make_holes(network.sample(10**6, rng=k), MISSING, rng=k) for k in range(COPIED // 10**6)
        ]
        frames = [table.to_frame("polars").with_columns(pl.all().to_physical()) for table in tables]
        pl.concat(frames).write_parquet(first)
    for number in range(1, rows // COPIED):
        path = folder / f"{number:05d}.parquet"
        if not path.exists():
            shutil.copyfile(first, path)


def binary_network() -> Any:
    """Return the network from which binary rows are drawn."""
    import lacunary as lac

    return lac.random_network(lac.random_dag(10, 0.3, 2, states=2, rng=0), rng=0)


@dataclass
class Memory:
    """The most anonymous memory that this process had, and mapped of files, looked at ten times a second."""

    most: int = 0
    mapped: int = 0
    over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        """Look until it is over."""
        while not self.over.wait(0.1):
            self.most, self.mapped = max(self.most, anonymous()), max(self.mapped, mapped_files())


def anonymous() -> int:
    """Return the anonymous memory of this process, in bytes."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) * 1024
    return 0


def mapped_files() -> int:
    """Return how many bytes of files that have no name any more this process has mapped."""
    lines = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    ends = [line[0].split("-") for line in lines if line[-1] == "(deleted)"]
    return sum(int(last, 16) - int(first, 16) for first, last in ends)


@dataclass
class Measured:
    """What one run took: seconds of the clock and of the processor, bytes of anonymous memory and of files.

    ``first`` is the first pass, in which rows are read again and laid out; ``mapped`` is what of them lies in
    files without a name.
    """

    what: str
    rows: int
    parts: int
    starts: int
    scan: float
    scan_cpu: float
    first: float
    first_cpu: float
    passes: list[float]
    passes_cpu: list[float]
    total: float
    cpu: float
    memory: int
    mapped: int
    log_likelihood: float


def measure(what: str, folder: Path, memory: str, starts: int, iterations: int) -> Measured:
    """Scan a folder and fit it, taking the time of every pass."""
    import lacunary as lac

    watched = Memory()
    threading.Thread(target=watched.look, daemon=True).start()
    network = lac.alarm() if what == "alarm" else binary_network()
    begun, cpu = perf_counter(), process_time()
    rows = lac.scan(folder, memory=memory, watch=_told)
    scanned = perf_counter()
    times, cpus = [scanned], [process_time()]
    _say(f"scanned: {scanned - begun:.1f} s of the clock, {cpus[0] - cpu:.1f} s of the processor; {rows}")

    def took(progress: Any) -> None:
        times.append(perf_counter())
        cpus.append(process_time())
        _say(
            f"pass {progress.iteration}: {times[-1] - times[-2]:.1f} s of the clock, "
            f"{cpus[-1] - cpus[-2]:.1f} s of the processor; "
            f"{anonymous() / 1e9:.2f} GB anonymous, at most {watched.most / 1e9:.2f} GB, "
            f"{mapped_files() / 1e9:.2f} GB in mapped files"
        )

    initial = [lac.random_network(network.dag, rng=k) for k in range(starts)]
    stop = lac.Stop(iterations=iterations)
    found = lac.fit(
        _graph(network, rows), rows, initial=initial if what == "alarm" else None, stop=stop, watch=took
    )
    watched.over.set()
    return Measured(
        what,
        len(rows),
        len(rows.every),
        starts,
        scanned - begun,
        cpus[0] - cpu,
        times[1] - times[0],
        cpus[1] - cpus[0],
        [b - a for a, b in pairwise(times[1:])],
        [b - a for a, b in pairwise(cpus[1:])],
        perf_counter() - begun,
        process_time() - cpu,
        max(watched.most, anonymous()),
        watched.mapped,
        found.log_likelihood,
    )


def _graph(network: Any, rows: Any) -> Any:
    """Return the graph over the columns as they were read."""
    import lacunary as lac

    if network.dag.schema.names == rows.schema.names and set(network.dag.schema) == set(rows.schema):
        return network.dag
    arcs = "; ".join(f"{a} -> {b}" for a, b in network.dag.arcs)
    return lac.dag(arcs, schema=rows.schema)


def _told(what: str, done: int, many: int) -> None:
    if done % max(1, many // 10) == 0:
        _say(f"{what}: {done} of {many}")


def _say(line: str) -> None:
    print(f"{strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def run(what: str, folder: Path, rows: int, memory: str, starts: int, iterations: int) -> Measured:
    """Make the files if they are not there, and measure in a process of its own."""
    {"alarm": make_alarm, "binary": make_binary}[what](folder, rows)
    command = [sys.executable, "-m", "benchmarks.scale", "--measure", what, "--folder", str(folder)]
    command += ["--memory", memory, "--starts", str(starts), "--iterations", str(iterations)]
    told = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Measured(**json.loads(told.stdout.splitlines()[-1]))


def main() -> None:
    """Measure one table of so many rows, and print a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", choices=["alarm", "binary"], default="alarm")
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--memory", default="2 GB")
    parser.add_argument("--starts", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--measure", choices=["alarm", "binary"])
    options = parser.parse_args()
    rest = (options.memory, options.starts, options.iterations)
    if options.measure:
        print(json.dumps(asdict(measure(options.measure, options.folder, *rest))))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = options.folder or Path(made) / "rows"
        print(json.dumps(asdict(run(options.what, folder, int(options.rows), *rest)), indent=1))


if __name__ == "__main__":
    main()
