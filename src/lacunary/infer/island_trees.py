"""Islands too large to write down: what is asked of them comes from a junction tree, state by state.

The joint posterior of a few variables B and each other variable j of an island is p(B = b) p(j | B = b): for
each state b the row is swept with b entered as if it had been observed. Exact, whatever the island's size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.posterior import Reader
from lacunary.kernels.island_counts import Given
from lacunary.kernels.islands import Chart, Rows
from lacunary.model.dag import Dag

__all__ = ["Answer", "Trees"]

AT_ONCE = 2**22
"""Marginals that are worked out in one go, which bounds the memory they take."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What was asked of all islands: probabilities, where they lead, and the other members' distributions."""

    given: Given
    near: NDArray[np.float64]
    off: NDArray[np.int64]
    rest: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Trees:
    """The islands without tables of all rows, in the order of rows and, within a row, of islands.

    Attributes
    ----------
    row, island
        The row and the island of each; (islands,).
    """

    dag: Dag
    theta: NDArray[np.float64]
    chart: Chart
    rows: Rows
    row: NDArray[np.int64]
    island: NDArray[np.int64]

    def members(self, which: int) -> NDArray[np.int64]:
        """Return the variables of one of the islands."""
        first, last = self.chart.part_start[self.island[which] : self.island[which] + 2]
        return self.chart.member[self.chart.member_start[first] : self.chart.member_start[last]]

    def fill_shares(self, column: NDArray[np.int64], share: NDArray[np.float64]) -> None:
        """Write the marginals of all members into their places."""
        rows = np.unique(self.row)
        _, marginals = _swept(self.dag, self.theta, self.rows.codes[rows])
        place = np.searchsorted(rows, self.row)
        for which in range(len(self.row)):
            members = self.members(which)
            start = self.chart.member_start[self.chart.part_start[self.island[which]]]
            at = self.rows.share_start[self.row[which]] + self.chart.share_at[start]
            columns = _columns(self.dag, column, members)
            share[at : at + len(columns)] = marginals[place[which], columns]

    def ask(self, members: Sequence[int], stride: NDArray[np.int64], column: NDArray[np.int64]) -> Answer:
        """Return what every island says about those of these variables that it holds."""
        count = len(self.row)
        near_at, many, rest_at = (np.zeros(count, dtype=np.int64) for _ in range(3))
        near, off, rest = [np.empty(0)], [np.empty(0, dtype=np.int64)], [np.empty(0)]
        ends = [0, 0]
        for asked, which in self._groups(members).items():
            states = np.array(list(product(*(range(self.dag.schema.sizes[v]) for v in asked))))
            codes = np.repeat(self.rows.codes[self.row[which]], len(states), axis=0)
            codes[:, asked] = np.tile(states, (len(which), 1))
            log, marginals = _swept(self.dag, self.theta, codes)
            log = log.reshape(len(which), len(states))
            chance = np.exp(log - log.max(axis=1, keepdims=True))
            chance /= chance.sum(axis=1, keepdims=True)
            for k, one in enumerate(which):
                others = [v for v in self.members(one) if stride[v] < 0]
                here = marginals[k * len(states) : (k + 1) * len(states)]
                rest.append(here[:, _columns(self.dag, column, others)].ravel())
                near.append(chance[k])
                off.append(states @ stride[list(asked)])
                near_at[one], many[one], rest_at[one] = ends[0], len(states), ends[1]
                ends = [ends[0] + len(states), ends[1] + len(rest[-1])]
        return Answer(
            Given(near_at, many, rest_at), np.concatenate(near), np.concatenate(off), np.concatenate(rest)
        )

    def _groups(self, members: Sequence[int]) -> dict[tuple[int, ...], list[int]]:
        """Return the islands by which of the variables they hold; those that hold none are left out."""
        groups: dict[tuple[int, ...], list[int]] = {}
        for which in range(len(self.row)):
            inside = set(self.members(which).tolist())
            asked = tuple(v for v in members if v in inside)
            if asked:
                groups.setdefault(asked, []).append(which)
        return groups


def _columns(
    dag: Dag, column: NDArray[np.int64], members: Sequence[int] | NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the columns of some variables' states, one variable after the other."""
    parts = [np.arange(column[v], column[v] + dag.schema.sizes[v]) for v in members]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _swept(
    dag: Dag, theta: NDArray[np.float64], codes: NDArray[np.int32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log-probability of rows, and the marginals of all variables; (rows,), (rows, states)."""
    width = sum(dag.schema.sizes)
    step = max(AT_ONCE // width, 1)
    log, out = np.empty(len(codes)), np.zeros((len(codes), width))
    everything = [(v,) for v in range(len(dag.names))]
    for first in range(0, len(codes), step):
        part = slice(first, first + step)
        log[part], out[part] = Reader.of(dag, codes[part], everything).read(theta)
    return log, out
