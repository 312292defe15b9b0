"""The effective dimension of networks with continuous variables, by the rank of their scores.

A direction in which parameters can move is redundant if the score, the derivative of the log-density of an
observable row, vanishes along it at every row. Scores are analytic functions of the continuous cells, so that
some more rows than parameters, drawn at random, show their rank almost surely. Derivatives are complex
steps, exact to rounding; the rank is read off singular values. Families in which nothing is hidden are left
out: they have full rank, and the others' ranks add up to theirs (`lacunary.rank.district`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.infer.covariance import STEP
from lacunary.infer.network import Network, random_network
from lacunary.infer.scale import Scale
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag
from lacunary.rank.patterns import Pattern

__all__ = ["score_spectrum"]

ROUNDING = 256
"""Singular values below so many times (longer side) · ε · (largest) count as zero."""

SPARE = 64
"""Rows beyond three for each parameter."""

BATCH = 16
"""Steps that are worked out at once."""


def score_spectrum(
    dag: Dag, at: Network | None, rng: np.random.Generator, patterns: Sequence[Pattern] | None = None
) -> tuple[Array, int, int]:
    """Return singular values in decreasing order, how many are not zero, and the rank of what is left out.

    Without ``at`` parameters are drawn at random. ``patterns`` say what is observed together, by default
    everything that is not hidden.
    """
    shown = frozenset(i for i, v in enumerate(dag.schema) if not v.hidden)
    together = [shown] if patterns is None else list(patterns)
    steps, plain = _directions(dag, together)
    if not steps:
        return np.empty(0), 0, plain
    network = at or random_network(dag, rng=rng)
    matrix = _scores(network, steps, _rows(network, 3 * len(steps) + SPARE, together, rng))
    matrix /= np.maximum(np.abs(matrix).max(axis=1, keepdims=True), 1e-300)
    length, zero = np.linalg.norm(matrix, axis=0), ROUNDING * max(matrix.shape) * np.finfo(np.float64).eps
    matrix[:, length <= zero * length.max()] = 0.0  # what moves nothing is all rounding
    values = np.linalg.svd(matrix / np.where(length > 0, length, 1.0), compute_uv=False)
    zero *= values.max(initial=0.0)
    return np.asarray(values), int((values > zero).sum()), plain


def _directions(dag: Dag, patterns: Sequence[Pattern]) -> tuple[list[int], int]:
    """Return the places of parameters of families not always shown whole, and how many others are free.

    Of each distribution in a table the last state's place is left out. A family that shares its parameters
    with one that has hidden members is among these. What has no observed descendant is seen by nobody.
    """
    layout = dag.layout
    hidden = set(range(len(dag.names))) - frozenset.intersection(*patterns or [frozenset()])
    seen = dag.ancestors(frozenset().union(*patterns))
    families = {i: (i, *dag.parent_indices[i]) for i in seen}
    counted = {layout.start[i] for i in seen}
    mixed = {layout.start[i] for i, members in families.items() if hidden.intersection(members)}
    steps: list[int] = []
    plain = 0
    for i in (*layout.blocks, *layout.numeric):
        places = layout.slice(i)
        free = places.stop - places.start - (layout.configurations[i] if layout.sizes[i] else 0)
        if layout.start[i] in mixed:
            steps += range(places.start, places.start + free)
        elif layout.start[i] in counted:
            plain += free
    return steps, plain


def _rows(network: Network, count: int, patterns: Sequence[Pattern], rng: np.random.Generator) -> Table:
    """Return rows of the network, so many of each pattern.

    In half of them the discrete observed states are uniform instead.
    """
    schema, count = network.dag.schema, count * len(patterns)
    drawn = network.sample(count, rng)
    codes, reals = drawn.codes.copy(), drawn.reals.copy()
    for i, variable in enumerate(schema):
        if variable.discrete:
            codes[: count // 2, i] = rng.integers(0, variable.size, count // 2)
    for k, seen in enumerate(patterns):
        rest = [i for i in range(len(schema)) if i not in seen]
        codes[k :: len(patterns), rest] = HOLE
        reals[k :: len(patterns), rest] = np.nan
    return Table(schema, codes, reals)


def _scores(network: Network, steps: list[int], table: Table) -> Array:
    """Return the derivatives of each row's log-density; (rows, steps)."""
    dag, scale = network.dag, Scale.of(table, network.dag)
    prepared = scale.prepare(dag, scale.table(table))
    theta = scale.inward(dag, network.theta)
    columns = []
    for first in range(0, len(steps), BATCH):
        moved = np.array([_moved(dag, theta, place) for place in steps[first : first + BATCH]])
        columns.append(prepared.log_evidence(moved).imag / STEP)
    return np.ascontiguousarray(np.concatenate(columns).T)


def _moved(dag: Dag, theta: Array, place: int) -> NDArray[np.complex128]:
    """Return parameters after an imaginary step: of log-odds in a table, of the number in a regression."""
    layout, out = dag.layout, theta.astype(np.complex128)
    if place >= layout.tables:
        out[place] += 1j * STEP
        return out
    same = layout.group == layout.group[place]
    out[: layout.tables][same] *= 1.0 - 1j * STEP * theta[place]
    out[place] += 1j * STEP * theta[place]
    return out
