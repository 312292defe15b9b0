"""Populations with known graphs from which benchmarks draw rows: Gaussian, discrete, mixed, classes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lacunary as lac

__all__ = ["Population", "classes", "discrete", "gaussian", "gaussian_test", "mixed"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Population:
    """A true graph, and a way to draw rows."""

    dag: lac.Dag
    draw: Callable[[int, np.random.Generator], lac.Table]

    @property
    def links(self) -> set[frozenset[str]]:
        """The pairs of variables that an arc joins."""
        return {frozenset(arc) for arc in self.dag.arcs}


def random_parents(n: int, density: float, rng: np.random.Generator, most: int) -> list[list[int]]:
    """Return the parents of each variable along a random order; each pair is joined with this chance."""
    order = rng.permutation(n).tolist()
    parents: list[list[int]] = [[] for _ in range(n)]
    for place, child in enumerate(order):
        chosen = [other for other in order[:place] if rng.random() < density]
        parents[child] = sorted(rng.permutation(chosen)[:most].astype(int).tolist())
    return parents


def gaussian(n: int, density: float, rng: np.random.Generator) -> Population:
    """Return a Gaussian network: coefficients from ±[0.2, 1.2]; in half of them some residuals are tight."""
    schema = lac.Schema(tuple(lac.Variable(f"x{i}", kind="continuous") for i in range(n)))
    parents = random_parents(n, density, rng, n)
    weights = [rng.choice([-1.0, 1.0], len(p)) * rng.uniform(0.2, 1.2, len(p)) for p in parents]
    noise = np.exp(rng.uniform(np.log(0.3), np.log(2.0), n))
    if rng.random() < 0.5:
        noise = noise * np.where(rng.random(n) < 0.3, 0.1, 1.0)
    dag = lac.Dag(schema, tuple(tuple(schema.names[p] for p in ps) for ps in parents))

    def draw(rows: int, rng: np.random.Generator) -> lac.Table:
        values = np.zeros((rows, n))
        for i in (schema.index(name) for name in dag.order):
            values[:, i] = values[:, parents[i]] @ weights[i] + noise[i] * rng.normal(size=rows)
        return lac.Table(schema, np.full((rows, n), -1, dtype=np.int8), values)

    return Population(dag, draw)


def discrete(n: int, density: float, rng: np.random.Generator) -> Population:
    """Return a discrete network of two or three states and at most three parents each."""
    sizes = rng.integers(2, 4, n)
    schema = lac.Schema(tuple(lac.Variable(f"v{i}", tuple(range(k))) for i, k in enumerate(sizes.tolist())))
    parents = random_parents(n, density, rng, 3)
    dag = lac.Dag(schema, tuple(tuple(schema.names[p] for p in ps) for ps in parents))
    network = lac.random_network(dag, prior=lac.Dirichlet(0.7), rng=int(rng.integers(2**31)))
    return Population(dag, lambda rows, rng: network.sample(rows, rng=rng))


def mixed(n: int, density: float, rng: np.random.Generator) -> Population:
    """Return a network of which a third is discrete, with regressions in each configuration."""
    few = max(2, n // 3)
    plain = discrete(few, density, rng)
    names = [*plain.dag.names, *(f"x{i}" for i in range(n - few))]
    apart = float(rng.choice([1.0, 3.0]))
    continuous = random_parents(n - few, density, rng, 3)
    above = [
        sorted(rng.permutation(np.flatnonzero(rng.random(few) < density))[:2].tolist()) for _ in continuous
    ]
    made = []
    for ps, ds in zip(continuous, above, strict=True):
        shape = tuple(plain.dag.schema.sizes[d] for d in ds)
        slopes = rng.choice([-1.0, 1.0], len(ps)) * rng.uniform(0.3, 1.2, len(ps))
        made.append(
            (
                rng.normal(0.0, apart, shape),
                slopes + 0.2 * rng.normal(size=(*shape, len(ps))),
                np.exp(rng.normal(0.0, 0.5, shape)),
            )
        )
    schema = plain.dag.schema.extend([lac.Variable(name, kind="continuous") for name in names[few:]])
    arcs = [*plain.dag.arcs]
    for child, (ps, ds) in enumerate(zip(continuous, above, strict=True)):
        arcs += [(names[few + p], names[few + child]) for p in ps]
        arcs += [(names[d], names[few + child]) for d in ds]
    dag = lac.Dag.from_arcs(schema, arcs)

    def draw(rows: int, rng: np.random.Generator) -> lac.Table:
        codes = np.full((rows, n), -1, dtype=np.int8)
        codes[:, :few] = plain.draw(rows, rng).codes
        values = np.full((rows, n), np.nan)
        values[:, few:] = 0.0
        for i in (schema.index(name) for name in dag.order if schema[name].kind == "continuous"):
            level, slope, noise = (_at(each, codes, above[i - few], rows) for each in made[i - few])
            regressors = values[:, [few + p for p in continuous[i - few]]]
            values[:, i] = level + (regressors * slope).sum(axis=1) + noise * rng.normal(size=rows)
        return lac.Table(schema, codes, values)

    return Population(dag, draw)


def _at(each: Array, codes: NDArray[Any], above: list[int], rows: int) -> Array:
    """Return what each row's configuration of discrete parents has."""
    if not above:
        return np.broadcast_to(each, (rows, *each.shape))
    return np.asarray(each[tuple(codes[:, d] for d in above)])


def gaussian_test() -> Population:
    """Return the network behind bnlearn's `gaussian.test`, with the coefficients its documentation gives."""
    names = "ABCDEFG"
    schema = lac.Schema(tuple(lac.Variable(name, kind="continuous") for name in names))
    dag = lac.dag("A B -> C; B -> D; A D E G -> F", schema=schema)

    def draw(rows: int, rng: np.random.Generator) -> lac.Table:
        a, b, e, g = (rng.normal(m, s, rows) for m, s in ((1, 1), (2, 3), (3.5, 2), (5, 2)))
        c = 2 + 2 * a + 2 * b + rng.normal(0, 0.5, rows)
        d = 6 + 1.5 * b + rng.normal(0, 0.33, rows)
        f = 2 * a + d + e + 1.5 * g + rng.normal(0, 1, rows)
        values = np.column_stack([a, b, c, d, e, f, g])
        return lac.Table(schema, np.full((rows, 7), -1, dtype=np.int8), values)

    return Population(dag, draw)


def classes(n: int, apart: float, rows: int, rng: np.random.Generator) -> lac.Table:
    """Return three observed classes of equal size; in one all noise is 0.1, in the others 1 and 2."""
    label = np.repeat(np.arange(3), rows)
    middle = apart * rng.normal(size=(3, n))
    values = middle[label] + np.array([0.1, 1.0, 2.0])[label][:, None] * rng.normal(size=(3 * rows, n))
    numbers = [lac.Variable(f"x{i}", kind="continuous") for i in range(n)]
    schema = lac.Schema((lac.Variable("label", ("a", "b", "c")), *numbers))
    codes = np.full((3 * rows, n + 1), -1, dtype=np.int8)
    codes[:, 0] = label
    return lac.Table(schema, codes, np.column_stack([np.full(3 * rows, np.nan), values]))
