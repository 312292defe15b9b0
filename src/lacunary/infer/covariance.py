"""Posterior covariance of the scores: what holes take away from the curvature of the log-likelihood.

As a function of ψ = log θ, each row's likelihood is a sum of exponentials of its counts, so that the
first derivatives of the log-likelihood are expected counts and the second ones the counts' posterior
covariance C. It comes from the E-step: where holes stand alone by matrix products (`louis`), elsewhere by
complex steps, which have no difference to cancel and so are exact to rounding: Im E[N](θ + i·h·t) / h is C's
product with the direction t, for any tiny h.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lacunary.infer.blas import one_blas_thread
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.louis import find_holes, louis
from lacunary.infer.pack import pack
from lacunary.model.layout import Layout

__all__ = ["ROOM", "STEP", "free_places", "score_covariance", "slopes_of"]

STEP = 1e-20
"""Length of a complex step: its square is lost in rounding, its products are far from underflow."""

ROOM = 2**22
"""Complex numbers that one batch of steps may take (64 MB)."""


@one_blas_thread()
def score_covariance(
    rows: DiscreteRows, theta: NDArray[np.float64], *, products: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return expected counts, and the posterior covariance of the scores along free softmax coordinates.

    Counts leave out open variables that have no observed descendant; (size,) and (free, free).

    Parameters
    ----------
    rows, theta
        The rows, and one parameter vector; (size,).
    products
        Use matrix products where holes stand alone; complex steps alone give the same, more slowly.
    """
    dag, packed = rows.dag, rows.packed
    column = _columns(dag.layout)
    holes = find_holes(dag, packed.codes)
    simple = holes.alone & products
    rest = np.flatnonzero(~simple & holes.live.any(axis=1))
    steps = _complex_steps(_restricted(rows, rest), theta) if len(rest) else (0.0, 0.0)
    counts, covariance = louis(
        dag, packed.codes[simple], packed.weights[simple], theta, holes.live[simple], column
    )
    return packed.constant + (counts + steps[0]), covariance + steps[1]


def free_places(layout: Layout) -> NDArray[np.int64]:
    """Return the places of the free parameters: all states but the last of each distribution; (free,)."""
    kept = [
        np.arange(layout.start[i], layout.start[i] + (layout.states[i] - 1) * layout.configurations[i])
        for i in layout.blocks
    ]
    return np.concatenate(kept) if kept else np.empty(0, dtype=np.int64)


def _columns(layout: Layout) -> NDArray[np.int64]:
    """For each parameter, which free coordinate it is; −1 for the last state of a distribution."""
    column = np.full(layout.size, -1, dtype=np.int64)
    column[free_places(layout)] = np.arange(layout.free)
    return column


def slopes_of(layout: Layout, theta: NDArray[np.float64]) -> sparse.csr_array:
    """Return ∂ log θ / ∂φ of the tables; (tables, free)."""
    places, size = free_places(layout), layout.tables
    free, column = len(places), np.arange(len(places))
    same = sparse.csr_array((np.ones(free), (places, column)), shape=(size, free))
    member = sparse.csr_array((np.ones(size), (np.arange(size), layout.group)), shape=(size, layout.groups))
    share = sparse.csr_array((theta[places], (layout.group[places], column)), shape=(layout.groups, free))
    return same - member @ share


def _restricted(prepared: DiscreteRows, rows: NDArray[np.int64]) -> DiscreteRows:
    """Lay out some of the distinct rows alone; all of them are laid out already."""
    packed = prepared.packed
    if len(rows) == len(packed.codes):
        return prepared
    weights = packed.weights[rows]
    part = pack(prepared.dag, packed.codes[rows], weights)
    return DiscreteRows(prepared.dag, part, np.arange(len(rows)), float(weights.sum()))


def _complex_steps(
    prepared: DiscreteRows, theta: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return what parameters change of the counts, and the covariance of the scores; (size,), (free, free).

    The covariance comes a batch of columns at a time.
    """
    layout = prepared.dag.layout
    slopes = slopes_of(layout, theta)
    counted = prepared.expect(theta[None]).counts[0] - prepared.observed
    alive = np.zeros(layout.groups, dtype=np.bool_)
    alive[layout.group[counted != 0.0]] = (
        True  # other distributions have fixed counts, whose covariance is zero
    )
    columns = np.flatnonzero(alive[layout.group[free_places(layout)]])
    covariance = np.zeros((layout.free, layout.free))
    batch = max(8, ROOM // layout.size)
    for first in range(0, len(columns), batch):
        some = columns[first : first + batch]
        directions = slopes[:, some].toarray().T
        counts = prepared.expect(theta * (1.0 + 1j * STEP * directions)).counts
        covariance[:, some] = slopes.T @ (counts.imag.T / STEP)
    return counted, (covariance + covariance.T) / 2
