"""Random networks some of whose variables are hidden, and random questions about setting others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import lacunary as lac


@dataclass(frozen=True)
class Question:
    network: lac.Network
    hidden: tuple[str, ...]
    outcome: tuple[str, ...]
    do: dict[str, int]
    given: dict[str, int]


def questions(many: int, seed: int) -> Iterator[Question]:
    """Half of the graphs have hidden variables anywhere, half have hidden common causes of many pairs."""
    rng = np.random.default_rng(seed)
    while many:
        schema, arcs = _anywhere(rng) if many % 2 else _confounded(rng)
        network = lac.random_network(lac.Dag.from_arcs(schema, arcs), rng=rng)
        seen = [v.name for v in schema if not v.hidden]
        if len(seen) < 2:
            continue
        order = list(rng.permutation(seen))
        cuts = [1 + int(rng.integers(0, 2)) * (len(seen) > 3)]
        cuts.append(cuts[0] + int(rng.integers(1, min(3, len(seen) - cuts[0] + 1))))
        cuts.append(cuts[1] + int(rng.integers(0, 3)))
        outcome, do, given = order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] : cuts[2]]
        state = {name: int(rng.integers(schema[name].size)) for name in seen}
        yield Question(
            network,
            tuple(v.name for v in schema if v.hidden),
            tuple(outcome),
            {name: state[name] for name in do},
            {name: state[name] for name in given},
        )
        many -= 1


def _anywhere(rng: np.random.Generator) -> tuple[lac.Schema, list[tuple[str, str]]]:
    n, chance = int(rng.integers(4, 8)), rng.uniform(0.2, 0.6)
    names = [f"v{i}" for i in range(n)]
    arcs = [(names[i], names[j]) for i in range(n) for j in range(i + 1, n) if rng.random() < chance]
    sizes, hidden = rng.integers(2, 4, size=n), rng.random(n) < 0.35
    return _schema(names, sizes, hidden), arcs


def _confounded(rng: np.random.Generator) -> tuple[lac.Schema, list[tuple[str, str]]]:
    n, chance, joined = int(rng.integers(3, 6)), rng.uniform(0.3, 0.8), rng.uniform(0.1, 0.5)
    names = [f"v{i}" for i in range(n)]
    pairs = [(names[i], names[j]) for i in range(n) for j in range(i + 1, n)]
    arcs = [pair for pair in pairs if rng.random() < chance]
    shared = [pair for pair in pairs if rng.random() < joined][:5]
    causes = [f"u{i}" for i in range(len(shared))]
    arcs += [(cause, one) for cause, pair in zip(causes, shared, strict=True) for one in pair]
    sizes = np.full(n + len(causes), 2)
    return _schema([*names, *causes], sizes, np.arange(n + len(causes)) >= n), arcs


def _schema(names: list[str], sizes: np.ndarray, hidden: np.ndarray) -> lac.Schema:
    return lac.Schema(
        tuple(
            lac.Variable(name, tuple(range(int(k))), hidden=bool(unseen))
            for name, k, unseen in zip(names, sizes, hidden, strict=True)
        )
    )
