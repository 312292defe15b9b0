"""What a Dask cluster costs, and where it ends: ``python -m benchmarks.cluster WHAT``.

- ``bits``: the same rows in 1, 7 and 8 files, on 1, 2, 3 and 4 workers, and in memory: are the parameters
  that are learned the same to the last bit, and how far are they from the fit in memory?
- ``pairs``: passes over ALARM rows by two workers, and by two processes without Dask, in turn; the seconds of
  work in a pass are those of `STARTS` parameter vectors.
- ``simulated``: passes over parts that sleep, by up to 256 workers: how long the client and the scheduler
  take a task, whatever the work.

`scale.md` has what was measured.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
from functools import partial
from pathlib import Path
from time import perf_counter, process_time, sleep
from typing import Any

import numpy as np

from benchmarks.scale import MISSING, make_alarm

STARTS = 56
"""Parameter vectors that ride in one pass where workers are compared with processes."""


def bits(rows: int) -> dict[str, Any]:
    """Return the fits of the same rows, however they lie and whoever works on them."""
    import distributed

    import lacunary as lac
    from lacunary.data import recipe

    network = lac.alarm()
    table = lac.make_holes(network.sample(rows, rng=0), MISSING, rng=0)
    initial = [lac.random_network(network.dag, rng=k) for k in range(2)]

    def fitted(source: Any) -> np.ndarray[Any, Any]:
        return np.asarray(
            lac.fit(network.dag, source, initial=initial, stop=lac.Stop(iterations=10)).network.theta
        )

    recipe.MOST = rows // 9  # ten parts, the last of them short
    out: dict[str, Any] = {"rows": rows}
    with tempfile.TemporaryDirectory() as made:
        thetas = {}
        for many in (1, 7, 8):
            folder = Path(made) / str(many)
            folder.mkdir()
            for k, some in enumerate(np.array_split(np.arange(rows), many)):
                table.take(some).to_frame("polars").write_parquet(folder / f"{k}.parquet")
            thetas[f"{many} files"] = fitted(lac.scan(folder, schema=network.dag.schema))
        for workers in (1, 2, 3, 4):
            with (
                distributed.LocalCluster(
                    n_workers=workers, threads_per_worker=1, dashboard_address=None
                ) as cluster,
                distributed.Client(cluster) as client,
            ):
                source = lac.scan(Path(made) / "7", schema=network.dag.schema, client=client)
                thetas[f"{workers} workers"] = fitted(source)
    first, here = thetas["1 files"], fitted(table)
    out["same bits"] = {name: theta.tobytes() == first.tobytes() for name, theta in thetas.items()}
    apart = np.abs(here - first) / np.maximum(np.abs(here), 1e-12)
    out["farthest from the fit in memory, relative"] = float(apart[here > 1e-12].max())
    out["the same, absolute"] = float(np.abs(here - first).max())
    return out


def pairs(folder: Path, passes: int) -> dict[str, Any]:
    """Return the seconds of passes by two workers, and by two processes without Dask, in turn."""
    import distributed

    import lacunary as lac

    network = lac.alarm()
    make_alarm(folder, 10**6, part=250_000)
    vectors = np.array([lac.random_network(network.dag, rng=k).theta for k in range(STARTS)])
    files = sorted(folder.glob("*.parquet"))
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
        _Pair(files) as plain,
    ):
        from lacunary.infer.rows import prepare

        rows = prepare(network.dag, lac.scan(folder, schema=network.dag.schema, client=client))
        clustered, alone = partial(rows.expect, vectors), partial(plain.expect, vectors)
        apart = np.abs(clustered().counts - alone()).max()
        taken = []
        for _ in range(passes):
            begun, cpu, there = perf_counter(), process_time(), _used(client)
            clustered()
            one = {"workers": perf_counter() - begun, "client and scheduler": process_time() - cpu}
            one["work of workers"] = _used(client) - there
            begun = perf_counter()
            alone()
            taken.append({**one, "processes": perf_counter() - begun, "work of processes": plain.work})
            print(taken[-1], flush=True)
    return {"passes": taken, "farthest apart": float(apart), **_reached(taken)}


def _used(client: Any) -> float:
    """Return the processor seconds that the workers have used."""
    return float(sum(client.run(process_time).values()))


def _reached(taken: list[dict[str, float]]) -> dict[str, float]:
    """Return what workers reach of what processes reach, with standard errors of a jackknife over passes."""
    found = {}
    for what, ours, theirs in (
        ("by the clock", ["workers"], ["processes"]),
        ("by the processor", ["work of workers", "client and scheduler"], ["work of processes"]),
    ):
        mine, other = (np.array([sum(one[k] for k in keys) for one in taken]) for keys in (ours, theirs))
        left = (other.sum() - other) / (mine.sum() - mine)
        found[what] = float(other.sum() / mine.sum())
        found[f"{what}, standard error"] = float(np.sqrt((len(left) - 1) * left.var()))
        found[f"{what}, of the quickest halves"] = float(
            np.sort(other)[: len(other) // 2].sum() / np.sort(mine)[: len(mine) // 2].sum()
        )
    return found


class _Pair:
    """Two processes, each with half of the files laid out."""

    def __init__(self, files: list[Path]) -> None:
        self.pipes, self.processes, self.work = [], [], 0.0
        context = multiprocessing.get_context("spawn")
        for half in (files[::2], files[1::2]):
            here, there = context.Pipe()
            self.processes.append(context.Process(target=_half, args=(there, [str(path) for path in half])))
            self.pipes.append(here)
            self.processes[-1].start()

    def __enter__(self) -> _Pair:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe, process in zip(self.pipes, self.processes, strict=True):
            pipe.send(None)
            process.join()

    def expect(self, vectors: Any) -> Any:
        """Return expected counts, added up."""
        for pipe in self.pipes:
            pipe.send(vectors)
        told = [pipe.recv() for pipe in self.pipes]
        self.work = sum(work for _, work in told)
        return sum(counts for counts, _ in told)


def _half(pipe: Any, files: list[str]) -> None:
    """Lay files out, and sweep them whenever vectors come."""
    import lacunary as lac
    from lacunary.infer.rows import prepare

    lac.threads(1)
    dag = lac.alarm().dag
    laid = [prepare(dag, lac.read(path, schema=dag.schema)) for path in files]
    while (vectors := pipe.recv()) is not None:
        begun = process_time()
        counts = sum(rows.expect(vectors).counts for rows in laid)
        pipe.send((counts, process_time() - begun))


def simulated(seconds: float) -> list[dict[str, float]]:
    """Return how long a pass takes in which every part sleeps so long, and what the client uses for it."""
    import distributed

    from lacunary.infer.cluster import OnCluster

    found = []
    for workers in (1, 4, 16, 64, 256):
        hosts = min(workers, 8)
        with (
            distributed.LocalCluster(
                n_workers=hosts,
                threads_per_worker=workers // hosts,
                processes=False,
                dashboard_address=None,
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            parts = OnCluster.made(client, _statistics, list(range(4 * workers)))
            parts.each(len)
            begun, cpu = perf_counter(), process_time()
            parts.each(partial(_asleep, seconds, np.zeros(750)))
            took, used = perf_counter() - begun, process_time() - cpu
        found.append(
            {
                "workers": workers,
                "tasks": 4 * workers,
                "ideal": 4 * seconds,
                "took": took,
                "cpu": used,
                "cpu a task": used / (4 * workers),
            }
        )
        print(found[-1], flush=True)
    return found


def _statistics(number: int) -> Any:
    return np.full(750, float(number))


def _asleep(seconds: float, vector: Any, part: Any) -> Any:
    sleep(seconds)
    return part + vector


def main() -> None:
    """Measure one thing and print it as JSON."""
    os.environ.setdefault("LACUNARY_THREADS", "1")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["bits", "pairs", "simulated"])
    parser.add_argument("--rows", type=float, default=2e4)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "alarm")
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=0.5)
    asked = parser.parse_args()
    if asked.what == "bits":
        found: Any = bits(int(asked.rows))
    elif asked.what == "pairs":
        found = pairs(asked.folder, asked.passes)
    else:
        found = simulated(asked.seconds)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
