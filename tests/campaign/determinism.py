"""The same numbers, bit for bit, whatever the threads, processes, hash seeds and order of rows."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np

import lacunary as lac
from tests.campaign.run import Campaign, Found

ROUNDING = 1e-9
"""Sums over rows in another order, and what a climb makes of that."""


def work(rng: np.random.Generator, index: int) -> Found:
    """Check one promise on one drawn problem; each piece has the next promise's turn."""
    seed = int(rng.integers(10_000))
    return Found((_threads, _surroundings, _order, _weights)[index % 4](seed, rng))


def problem(seed: int) -> tuple[lac.Table, lac.Dag]:
    """A table of a random network with holes, and a graph with a hidden class over it."""
    rng = np.random.default_rng(seed)
    network = lac.random_network(lac.random_dag(5, 0.4, states=3, rng=rng), rng=rng)
    table = lac.make_holes(network.sample(int(rng.integers(60, 120)), rng), 0.2, rng=rng)
    return table, lac.naive_bayes(table.schema, "h", 2)


def results(seed: int) -> dict[str, str]:
    """Digests of what is learned, by name."""
    table, dag = problem(seed)
    fit = lac.fit(dag, table, starts=3)
    search = lac.search(table, max_parents=2, rng=seed)
    mixture = lac.fit_mixture(table, components=2, structure="empty", starts=1, rng=seed)
    parts: dict[str, Any] = {
        "fit": fit.network.theta,
        "search": np.array([search.score, *map(float, search.dag.matrix.ravel())])
        if hasattr(search.dag, "matrix")
        else np.array([search.score]),
        "mixture": np.concatenate([mixture.mixture.weights, [mixture.estimate.value]]),
        "ais": np.array([lac.score(dag, table, "ais", rng=seed, chains=4).value]),
        "filled": lac.impute(fit, table, how="draw", rng=seed).codes.astype(np.int64),
    }
    return {
        name: hashlib.sha256(np.ascontiguousarray(part).tobytes()).hexdigest() for name, part in parts.items()
    }


def _threads(seed: int, rng: np.random.Generator) -> int:
    told = []
    for many in (1, 2, 4):
        with lac.threads(many):
            told.append(results(seed))
    assert told[0] == told[1] == told[2], _differing(told)
    return 2 * len(told[0])


SCRIPT = """
import json, sys
from tests.campaign.determinism import results
for line in sys.stdin:
    print(json.dumps(results(int(line))), flush=True)
"""

FRESH = 8
"""So many problems are given to a process that was started anew before another takes its place."""


class Elsewhere:
    """A process that was started anew, under a hash seed of its own; it ends with this one."""

    def __init__(self, hashed: int) -> None:
        self.left = FRESH
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-c", SCRIPT],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONHASHSEED": str(hashed), "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    def results(self, seed: int) -> dict[str, str]:
        """Return what it finds of a problem."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.left -= 1
        print(seed, file=self.process.stdin, flush=True)
        told: dict[str, str] = json.loads(self.process.stdout.readline())
        if not self.left:
            self.process.communicate()
        return told


elsewhere: list[Elsewhere] = []


def _anew(rng: np.random.Generator) -> list[Elsewhere]:
    """Return processes under the hash seed zero and another, the same for some problems."""
    hashed = int(rng.integers(1, 2**31))
    if not elsewhere or not elsewhere[0].left:
        elsewhere[:] = [Elsewhere(0), Elsewhere(hashed)]
    return elsewhere


def _surroundings(seed: int, rng: np.random.Generator) -> int:
    """A new process (spawn), a copied one (fork), and other hash seeds."""
    here = results(seed)
    told = [here, *(process.results(seed) for process in _anew(rng))]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - in another process
        os.write(writer, json.dumps(results(seed)).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as file:
        told.append(json.loads(file.read()))
    os.waitpid(child, 0)
    assert all(each == here for each in told), _differing(told)
    return 3 * len(here)


def _differing(told: list[dict[str, str]]) -> str:
    return ", ".join(name for name in told[0] if len({each[name] for each in told}) > 1)


def _numbers(table: lac.Table, dag: lac.Dag, start: lac.Network) -> list[float]:
    fit = lac.fit(dag, table, initial=start, stop=lac.Stop(iterations=15))
    complete = lac.Dag.from_parents(table.schema, {table.schema.names[1]: [table.schema.names[0]]})
    bic = lac.score(complete, table, "bic", starts=1).value
    return [fit.objective, *fit.network.theta.tolist(), bic]


def _order(seed: int, rng: np.random.Generator) -> int:
    """Rows in another order give the same numbers, to rounding of sums."""
    table, dag = problem(seed)
    start = lac.random_network(dag, rng=seed)
    one, two = (_numbers(rows, dag, start) for rows in (table, table.take(rng.permutation(len(table)))))
    np.testing.assert_allclose(one, two, rtol=ROUNDING, atol=ROUNDING)
    return len(one)


def _weights(seed: int, rng: np.random.Generator) -> int:
    """A row of weight three is three rows."""
    table, dag = problem(seed)
    start = lac.random_network(dag, rng=seed)
    times = rng.integers(0, 4, len(table))
    repeated = table.take(np.repeat(np.arange(len(table)), times))
    one, two = (
        _numbers(rows, dag, start) for rows in (replace(table, weights=times.astype(np.float64)), repeated)
    )
    np.testing.assert_allclose(one, two, rtol=ROUNDING, atol=ROUNDING)
    return len(one)


CAMPAIGN = Campaign(
    "determinism",
    "Fits, searches, mixtures, annealed importance sampling and filled tables: bit for bit the same with 1, "
    "2 and 4 threads, in new and in copied processes, under other hash seeds; to rounding with rows in "
    "another order, and with weights in place of repeated rows.",
    (24, 400),
    work,
)
