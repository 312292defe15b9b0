"""Sequential imputation with resampling: rows come in one after the other, and parameters are integrated out.

Each particle completes a row given the rows it has completed before (Kong, Liu & Wong 1994), and its weight
is multiplied by the probability of the row's observed cells. Where weights on an island have become uneven
its particles are drawn anew, and all their completions renewed by collapsed Gibbs sampling (Chopin 2002;
Del Moral, Doucet & Jasra 2006). Every island's estimate of the evidence is unbiased. It begins at the
prior, and unlike tempering it has no trouble with pseudo-counts far below one: the first row is as probable
whoever sees it. Any order of the rows will do; particles are led astray least where the rows that have come
in look like all rows at any time, so they are chosen by herding (Chen, Welling & Smola 2010). Where an order
leads all particles to the same peak, islands with that order agree on what is wrong: each has its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE
from lacunary.evidence.population import UNEVEN, Annealed, Weights, log_mean
from lacunary.evidence.problem import Problem
from lacunary.infer.parallel import in_parallel
from lacunary.kernels.herd import herd
from lacunary.kernels.impute import CHUNK, SIDE, Urn, copy, impute, renew
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

FIRST = 8.0
"""Times as many particles at the first rows as at the last."""

ALIKE = 3.0
"""How much more alike two rows are for each cell that they share."""

COMPARED = 2**24
"""Cells that are compared at most to put the rows of an island in order."""

MINGLED = 2.0
"""How many rows' resemblance a row may be ahead of others for no reason, so that orders differ."""

STRIDE = 16
"""Weights are looked at whenever so much of one part more rows have come in."""


@dataclass(frozen=True, eq=False)
class Sequence:
    """Rows with holes, as often as they count, with all their completions.

    Attributes
    ----------
    layout, alpha, urn
        Where parameters stand; pseudo-counts (size,), and they and the completions of distinct rows.
    rows
        The distinct row of each row with holes; (rows,).
    constant
        Counts that no hole changes; (size,).
    certain
        Rows that use a distribution whatever they are completed with, where no row may or may not use it:
        what divides by its sum is known beforehand; (groups,).
    codes
        The distinct rows, in the order of the urn; (distinct rows, variables).
    """

    layout: Layout
    alpha: Array
    urn: Urn
    rows: Integers
    constant: Array
    certain: Array
    codes: Integers

    @cached_property
    def log_first(self) -> float:
        """Log evidence of all that no hole changes, less what rows divide by however they are completed."""
        cells = log_rising(self.alpha, self.constant).sum()
        drawn = self.layout.total(self.constant) + self.certain
        sums = log_rising(self.layout.total(self.alpha), drawn).sum()
        return float(cells - sums)

    @property
    def length(self) -> int:
        """Rows that come in."""
        return len(self.rows)

    def run(
        self,
        islands: int,
        particles: int,
        rng: np.random.Generator,
        chosen: Integers | None = None,
        least: int | None = None,
    ) -> Annealed:
        """Let the rows come in on every island, in an order of its own; particles fill whole blocks.

        With completions of all rows, ``chosen``, that are a draw from the posterior for each island, runs are
        conditional: one particle ends there. The mean of exp(−log_z) is then the inverse of the evidence.
        Interrupted, it returns the islands that are done, if they are the ``least`` or more.
        """
        particles = SIDE * -(-particles // SIDE)
        seeds = rng.integers(0, 2**63, islands).tolist()
        stops = self._stops(particles, rng)

        found: dict[int, _Island] = {}

        def island(number: int) -> None:
            own = np.random.default_rng(seeds[number])
            order = self._order(own)
            kept = None if chosen is None else self._backwards(chosen[number][order], order, stops, own)
            found[number] = self._island(particles, order, stops, kept, own)

        try:
            in_parallel(island, range(islands))
        except KeyboardInterrupt:
            if least is None or len(found) < least:
                raise
        done = [found[number] for number in sorted(found)]
        ends = [*stops, self.length]
        rows = sum(_crowd(particles, e, self.length) * (2 * e - b) for b, e in pairwise([0, *ends]) if e)
        steps = len(done) * rows / max(self.length, 1)
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

    def guided(self, expected: Array, rng: np.random.Generator) -> Integers:
        """Return completions drawn as if so many counts had been seen; (draws, size) → (draws, rows)."""
        crowd = self._gathered(self.constant + expected, len(expected), rng)
        free = np.zeros(0, dtype=np.int32)
        if self.length:
            impute(self.urn, self.rows, 0, self.length, free, *crowd)
        return crowd.completions(len(expected))

    def gibbs(self, chosen: Integers, sweeps: int, rng: np.random.Generator) -> Integers:
        """Return completions after so many sweeps of collapsed Gibbs sampling; (draws, rows) both.

        What was drawn from the posterior stays a draw from it, less dependent on where it came from.
        """
        counts = np.array([self._counted(self.rows, own) for own in chosen])
        crowd = self._gathered(counts, len(chosen), rng)
        for number in range(crowd.logs.size):
            crowd.chosen[number // SIDE, :, number % SIDE] = chosen[number % len(chosen)]
        for _ in range(sweeps if self.length else 0):
            renew(self.urn, self.rows, self.length, False, crowd.state, crowd.chosen, crowd.stream)
        return crowd.completions(len(chosen))

    def _order(self, rng: np.random.Generator) -> Integers:
        """Return an order in which the rows that have come in resemble all rows at any time.

        Each row is that which the others so far resemble least for what it resembles all rows, after a
        beginning that is drawn. Where not all can be compared, the last ones come in as they may.
        """
        if not self._compared:
            return rng.permutation(self.length)
        often = np.bincount(self.rows, minlength=len(self.codes))
        wanted = self._usual + MINGLED * self._usual.mean() * rng.random(len(often))
        alike = ALIKE ** np.arange(-self.codes.shape[1], 1.0)
        found = herd(self._columns, often, self._usual, alike, wanted, self._compared)
        out = np.searchsorted(self.rows, found) + _times_before(found)
        others = np.setdiff1d(np.arange(len(self.rows)), out)
        return np.concatenate([out, rng.permutation(others)])

    @cached_property
    def _columns(self) -> NDArray[np.int32]:
        """The distinct rows, side by side; (variables, distinct rows)."""
        return np.ascontiguousarray(self.codes.T, dtype=np.int32)

    @property
    def _compared(self) -> int:
        """Rows that can be compared with all distinct ones."""
        return min(self.length, COMPARED // max(self.codes.size, 1))

    @cached_property
    def _usual(self) -> Array:
        """How much each distinct row resembles a row, on average; (distinct rows,)."""
        some = self.rows[np.linspace(0, self.length - 1, self._compared).astype(np.int64)]
        which, often = np.unique(some, return_counts=True)
        out = np.zeros(len(self.codes))
        for d, times in zip(which.tolist(), often.tolist(), strict=True):
            out += times / len(some) * self._alike(d)
        return out

    def _alike(self, row: int) -> Array:
        """Return how alike distinct rows are to one of them; cells that are open are like no others."""
        shared = ((self.codes == self.codes[row]) & (self.codes[row] != HOLE)).sum(axis=1)
        return np.asarray(ALIKE ** (shared - float(self.codes.shape[1])))

    def _stops(self, particles: int, rng: np.random.Generator) -> list[int]:
        """Return after how many rows particles are drawn anew: where a pilot's weights became uneven."""
        order, every = self._order(rng), list(range(1, len(self.rows)))
        return self._island(min(particles, PILOT), order, every, None, rng, adaptive=True).stops

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
        rows, n, free = self.rows[order], len(order), np.zeros(0, dtype=np.int32)
        log_z, done, used = self.log_first, 0, []
        ends = _strides(n) if adaptive else [*stops, n][: n + 1 if n else 0]
        sizes = [particles if adaptive else _crowd(particles, end, n) for end in ends]
        crowd = self._gathered(self.constant[None], sizes[0] if sizes else particles, rng)
        for at, ahead in enumerate(ends):
            pinned = free if kept is None else kept[at]
            impute(self.urn, rows, done, ahead, pinned, *crowd)
            done, weights = ahead, Weights(crowd.logs.reshape(1, -1), UNEVEN if adaptive else 1.0 + 1e-9)
            if done < n and weights.uneven[0]:
                log_z += float(log_mean(weights.logs)[0])
                crowd = crowd.take(weights.drawn(rng, kept is not None, sizes[at + 1]), done)
                renew(self.urn, rows, done, False, crowd.state, crowd.chosen, crowd.stream)
                if kept is not None:
                    crowd.pin(self._state(self._counted(rows[:done], kept[at + 1][:done])), kept[at + 1])
                used.append(done)
        logs = crowd.logs.ravel()
        return _Island(log_z + float(log_mean(logs[None])[0]), crowd.counts(self.layout), logs, used)

    def _gathered(self, counts: Array, particles: int, rng: np.random.Generator) -> _Crowd:
        """Return particles with given counts, over and over until blocks are full; (draws, size)."""
        blocks, states = -(-particles // SIDE), np.array([self._state(own) for own in counts])
        every = np.resize(states, (blocks, SIDE, states.shape[1])).transpose(0, 2, 1)
        return _Crowd(
            np.ascontiguousarray(every).reshape(blocks, -1),
            np.zeros((blocks, self.length, SIDE), dtype=np.int32),
            np.zeros((blocks, SIDE)),
            rng.integers(0, 2**64, (blocks, SIDE), dtype=np.uint64),
        )

    def _counted(self, rows: Integers, chosen: NDArray[np.integer[Any]]) -> Array:
        """Return the counts of rows completed so, and of all that no hole changes; (size,)."""
        counts, width = self.constant.copy(), self.urn.width[rows]
        at = self.urn.start[rows] + chosen * (width + self.urn.sums[rows])
        for f in range(int(width.max(initial=0))):
            np.add.at(counts, self.urn.link[(at + f)[f < width]] // SIDE, 1.0)
        return counts

    def _state(self, counts: Array) -> Array:
        """Return the state of a particle; (size + groups,)."""
        return np.concatenate([counts, self.layout.total(counts)])

    def _backwards(
        self, chosen: Integers, order: Integers, stops: list[int], rng: np.random.Generator
    ) -> list[NDArray[np.int32]]:
        """Return the completions that lead to given ones, before every renewal and at the end."""
        rows, stream = self.rows[order], rng.integers(0, 2**64, (1, SIDE), dtype=np.uint64)
        path: list[NDArray[np.int32]] = [chosen.astype(np.int32)]
        for stop in reversed(stops):
            now = np.repeat(path[0][None, :, None], SIDE, axis=2)
            state = np.repeat(self._state(self._counted(rows[:stop], path[0][:stop])), SIDE)[None]
            renew(self.urn, rows, stop, True, state, now, stream)
            path.insert(0, now[0, :, 0].copy())
        return path


class _Crowd(NamedTuple):
    """The particles of one island, side by side in blocks, as `lacunary.kernels.impute` takes them."""

    state: Array
    chosen: NDArray[np.int32]
    logs: Array
    stream: NDArray[np.uint64]

    def take(self, who: Integers, done: int) -> _Crowd:
        """Return copies of some of them, all of which count alike; so many rows have come in."""
        blocks = len(who) // SIDE
        state = self.state.reshape(len(self.state), -1, SIDE)
        fresh = np.empty((blocks, *state.shape[1:]))
        chosen = np.empty((blocks, *self.chosen.shape[1:]), dtype=np.int32)
        copy(who, state, state.shape[1], fresh)
        copy(who, self.chosen, done, chosen)
        stream = self.stream[:blocks]
        return _Crowd(fresh.reshape(blocks, -1), chosen, np.zeros((blocks, SIDE)), stream)

    def pin(self, state: Array, chosen: NDArray[np.int32]) -> None:
        """Put the first particle where it is to be."""
        self.state.reshape(len(self.state), -1, SIDE)[0, :, 0] = state
        self.chosen[0, :, 0] = chosen

    def completions(self, draws: int) -> Integers:
        """Return what each of so many particles has completed rows with; (draws, rows)."""
        every = self.chosen.transpose(0, 2, 1).reshape(self.logs.size, self.chosen.shape[1])
        return every[:draws].astype(np.int64)

    def counts(self, layout: Layout) -> Array:
        """Return the counts of every particle; (particles, size)."""
        n = self.state.reshape(len(self.state), -1, SIDE)[:, : layout.size]
        return np.ascontiguousarray(np.moveaxis(n, 1, 2)).reshape(-1, layout.size)


@dataclass(frozen=True, eq=False)
class _Island:
    """What the particles of one island say, and when they were drawn anew."""

    log_z: float
    counts: Array
    logs: Array
    stops: list[int]


def _crowd(particles: int, rows: int, all_rows: int) -> int:
    """Return how many particles there are until so many rows have come in: more of them while rows are few.

    What is lost at the first rows is lost for good, and what a particle costs grows with the rows: if all
    steps add to the error alike, numbers in proportion to 1/√rows are the best.
    """
    return SIDE * int(particles * min((all_rows / rows) ** 0.5, FIRST) / SIDE)


def _times_before(found: Integers) -> Integers:
    """Return how often each number stood before, at every place."""
    by_number = np.argsort(found, kind="stable")
    first = np.searchsorted(found[by_number], found)
    out = np.empty(len(found), dtype=np.int64)
    out[by_number] = np.arange(len(found))
    return np.asarray(out - first)


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
    if _too_many(holes, sizes):
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
    urn, certain = _urn(layout, alpha, written, often, bool(problem.dag.tied))
    rows = np.repeat(np.arange(len(written)), often).astype(np.int64)
    return Sequence(layout, alpha, urn, rows, constant, certain, np.where(holes, HOLE, codes)[order])


def _too_many(holes: NDArray[np.bool_], sizes: Integers) -> bool:
    """Whether the completions of the rows, or of one of them, are more than can be listed."""
    log_ways = holes @ np.log(sizes)
    return bool(log_ways.max(initial=0.0) > np.log(WIDE) or len(sizes) * np.exp(log_ways).sum() > MOST)


def _urn(
    layout: Layout, alpha: Array, written: list[Integers], often: list[int], twice: bool
) -> tuple[Urn, Array]:
    """Return the urn of rows with these completions, and how often they use each sum that it leaves out."""
    totals = layout.total(alpha)
    groups = [layout.group[places] for places in written]
    free, certain = ~_certain(groups, len(totals), twice), np.zeros(len(totals))
    link, sums = [np.zeros(0, dtype=np.int64)], []
    for places, group, times in zip(written, groups, often, strict=True):
        hangs = free[group[0]]  # a family that uses several distributions leaves none of them out
        link.append(np.concatenate([places, layout.size + group[:, hangs]], axis=1).ravel())
        sums.append(int(hangs.sum()))
        np.add.at(certain, group[0, ~hangs], times)
    ways = np.array([len(places) for places in written], dtype=np.int64)
    width = np.array([places.shape[1] for places in written], dtype=np.int64)
    start = np.cumsum([0, *(len(one) for one in link[1:])])[:-1].astype(np.int64)
    own = np.concatenate([alpha, totals])
    every = SIDE * np.concatenate(link).astype(np.int32)
    return Urn(own, start, ways, width, np.array(sums, dtype=np.int64), every, twice), certain


def _certain(groups: list[Integers], many: int, twice: bool) -> NDArray[np.bool_]:
    """Tell of which distributions every row uses each or none, however it is completed; (groups,).

    Of a row's families no more than `CHUNK` are told of: probabilities that are not divided must not grow
    beyond what doubles hold. ``groups`` are the distributions of each row's completions; (ways, families).
    """
    out = np.full(many, not twice)
    for group in groups:
        out[group[:, (group != group[0]).any(axis=0)]] = False
    for group in groups:
        out[group[0, out[group[0]]][CHUNK:]] = False
    return out


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
