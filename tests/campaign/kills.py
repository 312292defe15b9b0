"""Workers that are killed, stopped or added, and schedulers that are killed: the same bits, and no hang.

Parts of a hundred rows are far too small for a cluster: nearly all time goes to sending questions. That is on
purpose: so many questions are asked that a fault at a random moment hits one. How many faults struck while
the work was under way is counted.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data import recipe
from tests.campaign.run import Campaign, Found

PATIENCE, SLOWER = 900.0, 10.0
"""What was disturbed counts as hanging after so many seconds, or so many times what it took undisturbed."""

ROWS, PART, VARIABLES = 300, 100, 4

Work = Callable[[Any], bytes]


def work(rng: np.random.Generator, index: int) -> Found:
    """Disturb one learner by every fault, or kill its scheduler, at random moments; learners have turns."""
    learner: Callable[..., bytes] = (_fit, _search, _mixture, _online)[index % 4]
    seed = int(rng.integers(10_000))
    with tempfile.TemporaryDirectory() as made, _small_parts():
        folder = _written(Path(made), seed)
        if index % 5 == 4:
            learner, resumed = ((_fit, "initial"), (_search, "start"), (_mixture, "resume"))[index // 5 % 3]
            return Found(_scheduler_killed(partial(learner, folder, seed), resumed, folder, rng))
        return _disturbed(partial(learner, folder, seed), rng)


@contextmanager
def _small_parts() -> Iterator[None]:
    before, recipe.MOST = recipe.MOST, PART
    try:
        yield
    finally:
        recipe.MOST = before


def _network(seed: int) -> lac.Network:
    return lac.random_network(lac.random_dag(VARIABLES, 0.4, 2, rng=seed), rng=seed)


def _written(folder: Path, seed: int) -> Path:
    """Write rows whose different ones are many, so that parts are learned from."""
    table = lac.make_holes(_network(seed).sample(ROWS, rng=seed), 0.2, rng=seed)
    table.take(slice(0, 130)).to_frame("polars").write_parquet(folder / "a.parquet")
    table.take(slice(130, None)).to_frame("polars").write_parquet(folder / "b.parquet")
    return folder


def _rows(folder: Path, seed: int, client: Any) -> lac.Scan:
    rows = lac.scan(folder, schema=_network(seed).dag.schema, client=client)
    assert len(rows.every) == ROWS // PART
    return rows


def _fit(folder: Path, seed: int, client: Any, **more: Any) -> bytes:
    stop = lac.Stop(iterations=15)
    found = lac.fit(_network(seed).dag, _rows(folder, seed, client), stop=stop, **more)
    return found.network.theta.tobytes()


def _online(folder: Path, seed: int, client: Any) -> bytes:
    return _fit(folder, seed, client, online=50)


def _search(folder: Path, seed: int, client: Any, **more: Any) -> bytes:
    found = lac.search(_rows(folder, seed, client), method="greedy", **more)
    return f"{found.score!r} {found.dag}".encode()


def _mixture(folder: Path, seed: int, client: Any, **more: Any) -> bytes:
    rows, stop = _rows(folder, seed, client), lac.Stop(iterations=20)
    found = lac.fit_mixture(rows, components=2, structure="empty", stop=stop, rng=seed, **more)
    return b"".join([found.mixture.weights.tobytes(), *(c.theta.tobytes() for c in found.mixture.components)])


def _disturbed(learn: Work, rng: np.random.Generator) -> Found:
    """Return how many comparisons held, and which faults struck while the work was under way."""
    import dask
    import distributed

    struck: dict[str, list[float]] = {}
    wanted = learn(None)
    with (
        # of itself a LocalCluster gives a worker up that is not back after 15 seconds
        dask.config.set({"distributed.deploy.lost-worker-timeout": f"{PATIENCE} s"}),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        for _ in range(2):  # the first loads compiled code
            begun = monotonic()
            assert _in_time(partial(learn, client)) == wanted, "two workers say something else"
            took = monotonic() - begun
        for k in rng.permutation(len(FAULTS)):
            client.wait_for_workers(2, timeout=PATIENCE)
            fault, moment, begun = FAULTS[k], float(rng.uniform(0.0, took)), monotonic()
            timer = threading.Timer(moment, fault, (cluster,))
            timer.start()
            found = _in_time(partial(learn, client), SLOWER * took)
            took = monotonic() - begun
            assert found == wanted, f"{fault.__name__} after {moment:.2f} s"
            struck.setdefault(fault.__name__[1:], []).append(float(moment < took))
            timer.join()
    return Found(2 + len(FAULTS), struck)


def _in_time(function: Callable[[], Any], usual: float = 0.0) -> Any:
    """Return what a function returns, or raise what it raises; an error if it hangs."""
    told: list[Any] = []

    def run() -> None:
        try:
            told.append((True, function()))
        except BaseException as problem:
            told.append((False, problem))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    patience = max(PATIENCE, usual)
    thread.join(patience)
    assert told, f"it hangs: no answer after {patience:.0f} s"
    well, answer = told[0]
    if not well:
        raise answer
    return answer


def _workers(cluster: Any) -> list[int]:
    return [nanny.pid for nanny in cluster.workers.values() if nanny.pid]


def _kill(cluster: Any) -> None:
    os.kill(random.choice(_workers(cluster)), signal.SIGKILL)


def _kill_both(cluster: Any) -> None:
    for pid in _workers(cluster):
        os.kill(pid, signal.SIGKILL)


def _stop(cluster: Any) -> None:
    """A slow worker: it stands still for a while."""
    pid = _workers(cluster)[0]
    os.kill(pid, signal.SIGSTOP)
    sleep(2.0)
    os.kill(pid, signal.SIGCONT)


def _add(cluster: Any) -> None:
    cluster.scale(3)


FAULTS = (_kill, _kill, _kill, _kill, _kill_both, _stop, _add)
"""What befalls a cluster, one after the other in random order."""


def _scheduler_killed(
    learn: Callable[..., bytes], resumed: str, folder: Path, rng: np.random.Generator
) -> int:
    """A scheduler that is killed is said by name; from the checkpoint the work goes on to the same bits."""
    told, kept = 0, folder / "trail.json"

    def counted(*progress: object) -> None:
        nonlocal told
        told += 1

    wanted = learn(None, watch=counted)
    last, keep = int(rng.integers(1, told)), lac.Checkpoint(kept, seconds=0)
    with cluster_of(folder, 2) as (client, scheduler):
        seen = 0

        def watch(*progress: object) -> None:
            nonlocal seen
            keep(*progress)
            seen += 1
            if seen == last:
                scheduler.kill()

        with pytest.raises(lac.SourceError, match="checkpoint"):
            _in_time(lambda: learn(client, watch=watch))
    with cluster_of(folder, 2) as (client, _):
        later = _in_time(lambda: learn(client, **{resumed: lac.load(kept)}))
    assert later == wanted, f"the scheduler killed after {last} of {told} reports"
    return 2


@contextmanager
def cluster_of(folder: Path, workers: int) -> Iterator[tuple[Any, subprocess.Popen[bytes]]]:
    """A client and the scheduler of a cluster, whose workers are processes of their own too."""
    import distributed

    place = folder / "scheduler.json"
    place.unlink(missing_ok=True)
    quiet: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    where = ["--scheduler-file", str(place)]
    with ExitStack() as stack:
        commands = [
            ["scheduler", "--port", "0", "--no-dashboard", *where],
            *[["worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60", *where]]
            * workers,
        ]
        started = []
        for name, *options in commands:
            command = [sys.executable, "-m", f"distributed.cli.dask_{name}", *options]
            started.append(subprocess.Popen(command, **quiet))
            stack.callback(started[-1].wait)
            stack.callback(started[-1].kill)
        client = distributed.Client(scheduler_file=str(place), timeout=60)
        stack.callback(client.close, timeout=1)
        yield client, started[0]


def judge(values: Mapping[str, Sequence[float]]) -> tuple[list[str], list[str]]:
    """Say how many faults struck while the work was under way."""
    return [], [
        f"{name}: {sum(struck):.0f} of {len(struck)} during the work" for name, struck in values.items()
    ]


CAMPAIGN = Campaign(
    "kills",
    "Fits, by all rows and by mini-batches, searches and mixtures on a Dask cluster with faults at random "
    "moments: a worker killed, both killed, one that stands still, one added; a scheduler killed.",
    (5, 60),
    work,
    judge,
)
