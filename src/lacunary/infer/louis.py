"""Posterior covariance of the counts where holes stand alone, as matrix products (Louis 1982).

A hole stands alone if, given what its row shows, it depends on no other hole: a hidden class over
observed variables, or any cell whose parents, children and children's other parents are seen. With K
states of responsibilities r_h and s_h the score of the row completed by h,

    Cov(score) = Σ_h r_h s_h s_hᵀ − (Σ_h r_h s_h)(Σ_h r_h s_h)ᵀ.

Different h touch different distributions, so the first sum is K small products over all rows and the
second is one large one. Open variables without observed descendants change nothing about the seen
cells: they are left out, of the counts as of the covariance (docs/derivations/laplace.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lacunary.data.table import HOLE
from lacunary.model.dag import Dag

__all__ = ["Holes", "find_holes", "louis"]

ROOM = 2**22
"""Numbers that the scores of one part of the rows may take together (32 MB)."""


@dataclass(frozen=True, eq=False)
class Holes:
    """Which holes matter, and in which rows each of those stands alone.

    Attributes
    ----------
    live
        Holes with an observed descendant: the others change nothing about the seen cells; (rows, variables).
    alone
        Rows in which no two live holes depend on each other directly; (rows,).
    """

    live: NDArray[np.bool_]
    alone: NDArray[np.bool_]


def find_holes(dag: Dag, codes: NDArray[np.int32]) -> Holes:
    """Sort out the holes of rows with these states, ``HOLE`` where open; (rows, variables)."""
    is_open = np.ascontiguousarray((codes == HOLE).T)  # variable by variable, whose rows lie side by side
    barren = is_open.copy()
    for v in reversed(dag.order_indices):
        for child in dag.child_indices[v]:
            barren[v] &= barren[child]
    live = is_open & ~barren
    crowded = np.zeros(len(codes), dtype=np.bool_)
    for i, members in enumerate(dag.layout.members):
        crowded |= (live[list(members)].sum(axis=0) > 1) & ~barren[i]
    return Holes(np.ascontiguousarray(live.T), ~crowded)


def louis(
    dag: Dag,
    codes: NDArray[np.int32],
    weights: NDArray[np.float64],
    theta: NDArray[np.float64],
    live: NDArray[np.bool_],
    column: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the expected counts of families with a live hole, and the covariance of the scores.

    Parameters
    ----------
    dag, codes, weights, theta
        The graph, rows whose live holes all stand alone, their weights, and the parameters.
    live
        Their live holes; (rows, variables).
    column
        For each parameter, which free coordinate it is, −1 for the last state of a distribution; (size,).

    Returns
    -------
    counts, covariance
        (size,) and (free, free), the scores being those of the free softmax coordinates.
    """
    free = int(column.max(initial=-1)) + 1
    counts, covariance = np.zeros(dag.layout.size), np.zeros((free, free))
    for v in np.flatnonzero(live.any(axis=0)):
        here = np.flatnonzero(live[:, v])
        lone = _Lone.of(dag, int(v), codes[here], theta)
        for family in lone.families:
            touched = family.places(lone.states)
            shares = weights[here][family.rows, None] * lone.share[family.rows]
            counts += np.bincount(touched.ravel(), shares.ravel(), minlength=dag.layout.size)
        place = lone.gather(column)
        covariance += place.T @ lone.covariance(weights[here]) @ place
    return counts, covariance


@dataclass(frozen=True, eq=False)
class _Family:
    """One family with the lone variable in it, in the rows that count for it.

    Attributes
    ----------
    rows
        Which rows count: those that show the child; in the lone variable's own family all do.
    first, step
        The place of each row's parameter with the lone variable in state 0; how far a state moves it.
    slots
        The places, with the lone variable in state 0, of all free parameters that turn up.
    slot
        Which of them each row's distribution has; (rows, free states of the child).
    hit
        Which of these the row shows; None in the own family, whose child is not seen.
    """

    rows: NDArray[np.int64]
    first: NDArray[np.int64]
    step: int
    slots: NDArray[np.int64]
    slot: NDArray[np.int64]
    hit: NDArray[np.bool_] | None

    def places(self, states: int) -> NDArray[np.int64]:
        """Return the place of each row's parameter, with the lone variable in each state; (rows, K)."""
        return np.asarray(self.first[:, None] + self.step * np.arange(states))


@dataclass(frozen=True, eq=False)
class _Lone:
    """A variable with K ``states`` that stands alone in some rows: its families and its ``share`` r."""

    states: int
    theta: NDArray[np.float64]
    families: tuple[_Family, ...]
    share: NDArray[np.float64]

    @classmethod
    def of(cls, dag: Dag, v: int, codes: NDArray[np.int32], theta: NDArray[np.float64]) -> _Lone:
        """Work out p(v | row) for rows in which it stands alone; (rows, K)."""
        filled = codes.astype(np.int64)
        filled[:, v] = 0
        families = tuple(_family(dag, v, i, filled) for i in (v, *dag.child_indices[v]))
        states = dag.schema.sizes[v]
        log_share = np.zeros((len(codes), states))
        with np.errstate(divide="ignore"):
            log_theta = np.log(theta)
        for family in families:
            log_share[family.rows] += log_theta[family.places(states)]
        share = np.exp(log_share - log_share.max(axis=1, keepdims=True))
        return cls(states, theta, families, share / share.sum(axis=1, keepdims=True))

    def gather(self, column: NDArray[np.int64]) -> sparse.csr_array:
        """Return the matrix that adds (state, slot) pairs up to free coordinates; (K · slots, free)."""
        places = [f.slots + f.step * h for h in range(self.states) for f in self.families]
        to = column[np.concatenate(places)]
        kept = np.flatnonzero(to >= 0)  # the last state of the lone variable is the others' complement
        shape = (len(to), int(column.max(initial=-1)) + 1)
        return sparse.csr_array((np.ones(len(kept)), (kept, to[kept])), shape=shape)

    def covariance(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the covariance of the scores over (state, slot) pairs, summed over the rows."""
        width = sum(len(f.slots) for f in self.families)
        total = np.zeros((self.states, width, self.states, width))
        for part in _parts(len(weights), max(1, ROOM // (self.states * width))):
            score, share = self._scores(part, width), self.share[part]
            for h in range(self.states):
                own = score[:, h]
                total[h, :, h] += (own * (weights[part] * share[:, h])[:, None]).T @ own
            score *= (np.sqrt(weights[part])[:, None] * share)[:, :, None]
            mean = score.reshape(len(score), -1)
            total -= (mean.T @ mean).reshape(total.shape)
        return total.reshape(self.states * width, -1)

    def _scores(self, part: slice, width: int) -> NDArray[np.float64]:
        """Return the scores s_h of some rows, slots of all families side by side; (rows, K, slots).

        In the own family the score 1[h = k] − θ_k is written without its θ_k, a constant of the row.
        """
        scores = np.zeros((len(self.share[part]), self.states, width))
        start, states = 0, np.arange(self.states)
        for family in self.families:
            chosen = (family.rows >= part.start) & (family.rows < part.stop)
            row = family.rows[chosen] - part.start
            for k, slot in enumerate(family.slot[chosen].T):
                if family.hit is None:
                    scores[row, :, start + slot] = 1.0
                    continue
                theta = self.theta[family.slots[slot, None] + family.step * states]
                scores[row, :, start + slot] = family.hit[chosen, k, None] - theta
            start += len(family.slots)
        return scores


def _family(dag: Dag, v: int, i: int, filled: NDArray[np.int64]) -> _Family:
    """Return variable i's family, which v is in; rows in which the child is a hole do not count."""
    layout = dag.layout
    members, strides = list(layout.members[i]), np.array(layout.strides[i])
    rows = np.flatnonzero(filled[:, i] != HOLE)
    first = layout.start[i] + filled[rows][:, members] @ strides
    step = int(strides[members.index(v)])
    q, free = layout.configurations[i], np.arange(1 if i == v else layout.states[i] - 1)
    seen = filled[rows, i][:, None]  # the lone variable is filled with state 0
    slots, slot = np.unique(first[:, None] + q * (free - seen), return_inverse=True)
    slot = slot.reshape(len(rows), len(free))
    return _Family(rows, first, step, slots, slot, None if i == v else free == seen)


def _parts(rows: int, most: int) -> Iterator[slice]:
    """Cut rows into parts of at most so many."""
    return (slice(first, min(first + most, rows)) for first in range(0, rows, most))
