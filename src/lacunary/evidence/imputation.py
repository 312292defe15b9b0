"""Sequential imputation with resampling: rows come in one after the other, and parameters are integrated out.

Each particle completes a row given the rows it has completed before (Kong, Liu & Wong 1994), and its weight
is multiplied by the probability of the row's observed cells. Where weights on an island have become uneven
its particles are drawn anew, and all their completions renewed by collapsed Gibbs sampling (Chopin 2002;
Del Moral, Doucet & Jasra 2006). Every island's estimate of the evidence is unbiased. It begins at the
prior, and unlike tempering it has no trouble with pseudo-counts far below one: the first row is as probable
whoever sees it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE
from lacunary.evidence.population import UNEVEN, Annealed, Weights, log_mean
from lacunary.evidence.problem import Problem
from lacunary.infer.parallel import in_parallel
from lacunary.kernels.impute import Urn, impute, recall, renew
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.special import log_rising
from lacunary.model.layout import Layout

__all__ = ["Sequence", "sequence"]

MOST = 2**22
"""Places of completions that are written down at most."""

WIDE = 4096
"""Completions of a single row that are gone through at most."""

PILOT = 64
"""Particles of a pilot run, which says where particles are drawn anew."""

STRIDE = 16
"""Weights are looked at whenever so much of one part more rows have come in."""


@dataclass(frozen=True, eq=False)
class Sequence:
    """Rows with holes, as often as they count, with all their completions.

    Attributes
    ----------
    layout, urn
        Where parameters stand; pseudo-counts and the completions of distinct rows.
    rows
        The distinct row of each row with holes; (rows,).
    constant
        Counts that no hole changes; (size,).
    codes
        The distinct rows, in the order of the urn; (distinct rows, variables).
    """

    layout: Layout
    urn: Urn
    rows: Integers
    constant: Array
    codes: Integers

    @cached_property
    def log_first(self) -> float:
        """Log evidence of all that no hole changes."""
        cells = log_rising(self.urn.alpha, self.constant).sum()
        return float(cells - log_rising(self.urn.total, self.layout.total(self.constant)).sum())

    @property
    def length(self) -> int:
        """Rows that come in."""
        return len(self.rows)

    def run(
        self, islands: int, particles: int, rng: np.random.Generator, chosen: Integers | None = None
    ) -> Annealed:
        """Let the rows come in on every island, in an order of its own.

        With completions of all rows, ``chosen``, that are a draw from the posterior, runs are conditional:
        one particle of each island ends there. The mean of exp(−log_z) is then the inverse of the evidence.
        """
        seeds = rng.integers(0, 2**63, islands).tolist()
        stops = self._stops(particles, rng)

        def island(seed: int) -> _Island:
            own = np.random.default_rng(seed)
            order = own.permutation(len(self.rows))
            kept = None if chosen is None else self._backwards(chosen[order], order, stops, own)
            return self._island(particles, order, stops, kept, own)

        done = list(in_parallel(island, seeds))
        steps = islands * particles * (1.0 + sum(stops) / max(len(self.rows), 1))
        counts = np.concatenate([one.counts for one in done])
        return Annealed(
            np.array([one.log_z for one in done]), counts, np.array([one.logs for one in done]), int(steps)
        )

    def chosen(self, full: Integers, holes: NDArray[np.bool_]) -> Integers:
        """Return which completion each row is, of rows whose open cells are known, in the order of `rows`.

        ``full`` are the codes of all rows with holes, as often as they count; (rows, variables) each.
        """
        sizes = np.array(self.layout.sizes)
        number = {row.tobytes(): d for d, row in enumerate(np.ascontiguousarray(self.codes, dtype=np.int64))}
        seen = np.where(holes & (sizes > 1), HOLE, full).astype(np.int64)
        which = np.array([number[row.tobytes()] for row in seen], dtype=np.int64)
        index = np.zeros(len(full), dtype=np.int64)
        for v in range(len(sizes)):
            index = np.where(seen[:, v] == HOLE, index * sizes[v] + full[:, v], index)
        return np.asarray(index[np.argsort(which, kind="stable")])

    def _stops(self, particles: int, rng: np.random.Generator) -> list[int]:
        """Return after how many rows particles are drawn anew: where a pilot's weights became uneven."""
        order, stops = rng.permutation(len(self.rows)), list(range(1, len(self.rows)))
        pilot = self._island(min(particles, PILOT), order, stops, None, rng, adaptive=True)
        return pilot.stops

    def _island(
        self,
        particles: int,
        order: Integers,
        stops: list[int],
        kept: list[NDArray[np.int32]] | None,
        rng: np.random.Generator,
        adaptive: bool = False,
    ) -> _Island:
        """Let the rows come in; draw particles anew at the stops, or at those of them with uneven weights."""
        rows, n = self.rows[order], len(order)
        counts = np.repeat(self.constant[None], particles, axis=0)
        sums, chosen = self.layout.total(counts), np.zeros((particles, n), dtype=np.int32)
        logs, stream = np.zeros(particles), rng.integers(0, 2**64, particles, dtype=np.uint64)
        log_z, done, used = self.log_first, 0, []
        ends = _strides(n) if adaptive else [*stops, n][: n + 1 if n else 0]
        for at, ahead in enumerate(ends):
            first = 0 if kept is None else 1
            block = (counts[first:], sums[first:], chosen[first:], logs[first:], stream[first:])
            impute(self.urn, rows, done, ahead, *block)
            if kept is not None:
                logs[0] += recall(self.urn, rows, done, ahead, counts[0], sums[0], chosen[0], kept[at])
            done, weights = ahead, Weights(logs[None], UNEVEN if adaptive else 1.0 + 1e-9)
            if done < n and weights.uneven[0]:
                log_z += float(log_mean(logs[None])[0])
                who = weights.drawn(rng, kept is not None)
                counts, sums, chosen, logs = counts[who], sums[who], chosen[who], np.zeros(particles)
                renew(
                    self.urn,
                    rows,
                    done,
                    1,
                    False,
                    counts[first:],
                    sums[first:],
                    chosen[first:],
                    stream[first:],
                )
                if kept is not None:
                    chosen[0] = kept[at + 1]
                    counts[0], sums[0] = self._counted(rows, kept[at + 1], done)
                used.append(done)
        return _Island(log_z + float(log_mean(logs[None])[0]), counts, logs, used)

    def _backwards(
        self, chosen: Integers, order: Integers, stops: list[int], rng: np.random.Generator
    ) -> list[NDArray[np.int32]]:
        """Return the completions that lead to given ones, before every renewal and at the end."""
        rows, stream = self.rows[order], rng.integers(0, 2**64, 1, dtype=np.uint64)
        path: list[NDArray[np.int32]] = [chosen.astype(np.int32)]
        for stop in reversed(stops):
            now = path[0].copy()[None]
            counts, sums = (each[None] for each in self._counted(rows, now[0], stop))
            renew(self.urn, rows, stop, 1, True, counts, sums, now, stream)
            path.insert(0, now[0])
        return path

    def _counted(self, rows: Integers, chosen: NDArray[np.int32], last: int) -> tuple[Array, Array]:
        """Return the counts, and their sums, of the first rows completed so; (size,) and (groups,)."""
        counts, sums, scratch = self.constant.copy(), self.layout.total(self.constant), chosen.copy()
        recall(self.urn, rows, 0, last, counts, sums, scratch, chosen)
        return counts, sums


@dataclass(frozen=True, eq=False)
class _Island:
    """What the particles of one island say, and when they were drawn anew."""

    log_z: float
    counts: Array
    logs: Array
    stops: list[int]


def _strides(rows: int) -> list[int]:
    """Return after how many rows weights are looked at."""
    out = [min(rows, 1)] if rows else []
    while out and out[-1] < rows:
        out.append(min(rows, out[-1] + max(1, out[-1] // STRIDE)))
    return out


def sequence(problem: Problem) -> Sequence | None:
    """Return the rows of a graph of tables for sequential imputation; None where completions are too many."""
    layout, alpha = problem.dag.layout, problem.sampled_alpha
    codes, _, weights = problem.rows("sampling")
    sizes = np.array(problem.dag.schema.sizes)
    holes, codes = (codes == HOLE) & (sizes > 1), np.where(codes == HOLE, 0, codes).astype(np.int64)
    if _too_many(layout, holes, sizes):
        return None
    constant = np.zeros(layout.size)
    written: list[Integers] = []
    order: list[int] = []
    often: list[int] = []
    for members in _alike(holes):
        places = _places(layout, codes[members], holes[members[0]], sizes, constant, weights[members])
        written += list(places)
        if places.shape[1] > 1:
            often += weights[members].astype(np.int64).tolist()
            order += members.tolist()
    written = [places for places in written if places.size]
    ways = np.array([len(places) for places in written], dtype=np.int64)
    width = np.array([places.shape[1] for places in written], dtype=np.int64)
    start = np.concatenate([[0], np.cumsum(ways * width)])[:-1]
    place = np.concatenate([places.ravel() for places in written]) if written else np.zeros(0)
    urn = Urn(
        alpha, layout.group, layout.total(alpha), start, ways, width, place.astype(np.int64), _twice(problem)
    )
    rows = np.repeat(np.arange(len(written)), often).astype(np.int64)
    return Sequence(layout, urn, rows, constant, np.where(holes, HOLE, codes)[order])


def _too_many(layout: Layout, holes: NDArray[np.bool_], sizes: Integers) -> bool:
    log_ways = holes @ np.log(sizes)
    return bool(log_ways.max(initial=0.0) > np.log(WIDE) or len(sizes) * np.exp(log_ways).sum() > MOST)


def _twice(problem: Problem) -> bool:
    return bool(problem.dag.tied)


def _alike(holes: NDArray[np.bool_]) -> list[Integers]:
    """Return the numbers of the rows that have the same holes."""
    _, which = np.unique(holes, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(which.ravel()[order])) + 1)


def _places(
    layout: Layout, codes: Integers, hole: NDArray[np.bool_], sizes: Integers, constant: Array, weights: Array
) -> Integers:
    """Return where the parameters of families with holes stand in each completion; (rows, ways, families).

    Families without holes in these rows are counted in ``constant``.
    """
    open_ = np.flatnonzero(hole)
    ways = prod(sizes[open_].tolist())
    states = np.unravel_index(np.arange(ways), sizes[open_].tolist()) if len(open_) else ()
    grid = dict(zip(open_.tolist(), states, strict=True))
    columns = []
    for i, (members, strides) in enumerate(zip(layout.members, layout.strides, strict=True)):
        seen = [(m, s) for m, s in zip(members, strides, strict=True) if not hole[m]]
        base = layout.start[i] + sum((codes[:, m] * s for m, s in seen), np.zeros(len(codes), dtype=np.int64))
        if len(seen) == len(members):
            np.add.at(constant, base, weights)
            continue
        moved = sum(grid[m] * s for m, s in zip(members, strides, strict=True) if hole[m])
        columns.append(base[:, None] + moved)
    return np.stack(columns, axis=-1) if columns else np.zeros((len(codes), ways, 0), dtype=np.int64)
