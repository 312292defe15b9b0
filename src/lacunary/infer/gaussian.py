"""Gaussian rows with holes: how probable they are, and what the holes probably hold.

A density over z = (1, x) is kept by the root A of its quadratic form: log f(x) = g − ½‖Az‖². The rows of A
are residuals divided by their standard deviations, one for each regression, so nothing is squared, inverted
or subtracted that could cancel. Holes h are integrated out by the orthogonal decomposition A_h = UR of their
columns: given the observed cells they have mean −R⁻¹UᵀA_o z_o and covariance R⁻¹R⁻ᵀ, and

    log ∫ f dx_h = g + ½|h| log 2π − log|det R| − ½‖Az*‖²,

where z* has the means in place of the holes. An error in them enters by its square only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.given import LOG_2PI, Given, all_given, careful, given
from lacunary.infer.parallel import in_runs
from lacunary.kernels.aligned import aligned
from lacunary.kernels.arena import Arena
from lacunary.kernels.factors import SOUND
from lacunary.kernels.filling import BLOCK, HEAD, Holes, Means, room_for, wide_for
from lacunary.kernels.gaussian import Forms as DenseForms
from lacunary.kernels.gaussian import (
    Tasks,
    add_moments,
    add_plain_moments,
    add_up,
    log_densities,
    log_densities_of_panels,
)
from lacunary.kernels.lanes import LANES
from lacunary.kernels.panels import LARGE, PANEL, panelled
from lacunary.kernels.writer import TILE

__all__ = ["LOG_2PI", "Conditioned", "Forms", "GaussianRows"]

Rows = NDArray[np.int64] | slice

KEPT = 2**23
"""Numbers that are kept for filling holes again; what is more is worked out anew when it is needed."""

STEP = 4096
"""Rows worked on at once: few enough to stay in the cache between one operation and the next."""

TASK, TASKS = 1024, 16
"""Rows, each counted once for a configuration, that one thread takes at a time, at least; and the most tasks
for one group of configurations."""

SQUARES = 2**20
"""Numbers in the matrices K of configurations that are taken together, at most: 8 MiB for each thread."""

THIN = 1.5
"""Configurations are taken together unless that is for more than so many times the rows they count."""

ALONE, BESIDE = 2**23, 128
"""Multiplications with an addition up to which no other thread is asked to help, about half a millisecond;
and what a row under one density costs beside those of its matrix."""

SECONDS, SCANNED = 3e-11, 1e-9
"""What one of them takes where no row has a hole; and what it takes to find that a row weighs nothing."""

NOTHING_KEPT = Means(np.zeros(1), np.array([-1]))
"""No means of holes."""

NEGLIGIBLE = 1e-30
"""Rows that weigh less, beside the heaviest and with the largest value squared, leave no trace in a sum."""


@dataclass(frozen=True, eq=False)
class Forms:
    """One density f(x) = exp(g − ½‖Az‖²) for each of several configurations, with z = (1, x).

    Attributes
    ----------
    root
        A; (configurations, k, n + 1).
    constant
        g; (configurations,).
    """

    root: NDArray[np.float64]
    constant: NDArray[np.float64]

    @classmethod
    def normal(cls, mean: NDArray[np.float64], covariance: NDArray[np.float64]) -> Forms:
        """Return normal densities; (configurations, n) and (configurations, n, n)."""
        lower = np.linalg.cholesky(covariance)
        n = mean.shape[-1]
        centred = np.concatenate([-mean[..., None], np.broadcast_to(np.eye(n), covariance.shape)], axis=-1)
        scale = np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
        return cls(np.linalg.solve(lower, centred), -0.5 * n * LOG_2PI - scale)

    def reduced(self) -> Forms:
        """Return the same densities with no more rows in A than columns."""
        if self.root.shape[-2] <= self.root.shape[-1]:
            return self
        return Forms(np.asarray(np.linalg.qr(self.root, mode="r")), self.constant)


@dataclass(frozen=True, eq=False)
class _Pattern:
    """Rows with the same holes: where they begin and end among the sorted rows, and which are holes."""

    first: int
    last: int
    holes: NDArray[np.int64]


class GaussianRows:
    """Rows of real numbers with holes, sorted by their pattern of holes.

    Parameters
    ----------
    reals
        The values, NaN where there is a hole; (rows, n).
    allowed
        The rows each configuration may explain, in any order; by default all rows.
    columns
        For each configuration, the column in which its log-densities and weights stand, and how many columns
        there are, used or not; by default each has its own. Those that share one must not share rows.
    """

    def __init__(
        self,
        reals: NDArray[np.float64],
        allowed: Sequence[NDArray[np.int64]] | None = None,
        columns: tuple[NDArray[np.int64], int] | None = None,
    ) -> None:
        rows, n = reals.shape
        empty = np.isnan(reals)
        key = np.packbits(empty, axis=1) if n else np.zeros((rows, 1), dtype=np.uint8)
        # Patterns with as many holes stand together, so that what is done for several at once fits them all.
        self.order = np.lexsort([*key.T[::-1], empty.sum(axis=1)]) if empty.any() else np.arange(rows)
        ends = np.flatnonzero((np.diff(key[self.order], axis=0) != 0).any(axis=1)) + 1
        edges = [0, *ends.tolist(), rows] if rows else []
        #: z = (1, x) of the sorted rows, zero where there is a hole; (rows, n + 1).
        self.sorted = np.ones((rows, n + 1))
        self.sorted[:, 1:] = np.where(empty, 0.0, reals)[self.order] if empty.any() else reals
        self.patterns = [_Pattern(a, b, np.flatnonzero(empty[self.order[a]]) + 1) for a, b in pairwise(edges)]
        self.columns = columns
        self._last: tuple[Forms | None, Conditioned | None] = None, None
        #: Rooms that no kernel is in just now, by the most densities that are taken together, and the way.
        self._rooms: dict[tuple[int, bool], list[Arena]] = {}
        self._tasks: tuple[bytes, Tasks] | None = None
        self.allowed = None if allowed is None else self._places(allowed)

    def __len__(self) -> int:
        return len(self.order)

    @cached_property
    def known(self) -> Holes:
        """The rows as kernels take them."""
        first = np.cumsum([0, *(len(p.holes) for p in self.patterns)])
        number = np.repeat(np.arange(len(self.patterns)), [p.last - p.first for p in self.patterns])
        holes = np.concatenate([np.empty(0, dtype=np.int64), *(p.holes for p in self.patterns)])
        return Holes(self.sorted, number.astype(np.int64), first.astype(np.int64), holes)

    @cached_property
    def near(self) -> int:
        """How many of the sorted rows have fewer holes than observed cells."""
        counts = np.array([len(p.holes) for p in self.patterns], dtype=np.int64)
        some = np.searchsorted(2 * counts, self.sorted.shape[1] - 1)
        return self.patterns[some].first if some < len(self.patterns) else len(self)

    @cached_property
    def turned(self) -> Holes:
        """The rows as kernels take them the other way, by observed cells; near ones have none listed."""
        everything = np.arange(1, self.sorted.shape[1])
        lists = [
            np.setdiff1d(everything, p.holes) if p.first >= self.near else everything[:0]
            for p in self.patterns
        ]
        first = np.cumsum([0, *map(len, lists)])
        seen = np.concatenate([everything[:0], *lists])
        return self.known._replace(first=first.astype(np.int64), holes=seen.astype(np.int64))

    @cached_property
    def panels(self) -> NDArray[np.float64]:
        """The rows side by side, as kernels take them where no row has a hole."""
        return panelled(self.sorted)

    @cached_property
    def reach(self) -> float:
        """The largest square of a value, and at least one."""
        return max(1.0, float(np.abs(self.sorted).max(initial=1.0))) ** 2

    @cached_property
    def complete(self) -> bool:
        """Whether no row has a hole."""
        return all(not len(pattern.holes) for pattern in self.patterns)

    @cached_property
    def apart(self) -> _Groups | None:
        """Each configuration with its own rows; None where one takes all."""
        if self.allowed is None or any(places is None for places in self.allowed):
            return None
        return _grouped([_Group(c, 1, places) for c, places in enumerate(self.allowed)], len(self))

    def _places(self, allowed: Sequence[NDArray[np.int64]]) -> list[NDArray[np.int64] | None]:
        """Return where some rows stand among the sorted ones, in their order; None if they are all.

        There may be as many configurations as rows: each is worth no more than its own rows.
        """
        rank = np.empty(len(self), dtype=np.int64)
        rank[self.order] = np.arange(len(self))
        return [None if len(rows) == len(self) else np.sort(rank[rows]) for rows in allowed]

    def under(self, forms: Forms) -> Conditioned:
        """Return the rows as these densities see them; the last ones asked for are kept."""
        kept, known = self._last
        if kept is not forms:
            known = Conditioned(self, forms.reduced())
            self._last = forms, known
        assert known is not None
        return known

    def __getstate__(self) -> dict[str, Any]:
        # What is worked out again in a moment is not copied or pickled.
        return {**self.__dict__, "_last": (None, None), "_tasks": None, "_rooms": {}}

    def tasks(self, groups: _Groups) -> Tasks:
        """Return the rows of every group of configurations cut into tasks; kept where they are all rows."""
        if not groups.whole:
            return _tasks(groups, self.sorted.shape)
        key = groups.key
        kept = self._tasks  # another thread may ask for others meanwhile
        if kept is None or kept[0] != key:
            self._tasks = kept = key, _tasks(groups, self.sorted.shape)
        return kept[1]

    def share_out(self, tasks: Tasks, turned: bool, work: Callable[[int, int, Arena], None]) -> None:
        """Have tasks done, several neighbours at a time; little work is not worth another thread."""
        most, pairs = int(tasks.many.max(initial=1)), int(((tasks.last - tasks.first) * tasks.many).sum())
        free = self._rooms.setdefault((most, turned), [])

        def in_room(run: range) -> None:
            try:
                room = free.pop()
            except IndexError:
                room = room_for(self.turned if turned else self.known, most)
            work(run.start, run.stop, room)
            free.append(room)

        if pairs * (self.sorted.shape[1] ** 2 // 2 + BESIDE) < ALONE:
            in_room(range(len(tasks.density)))
        else:
            in_runs(in_room, len(tasks.density))

    def placed(self, configurations: int) -> tuple[NDArray[np.int64], int]:
        """Return the column of each of so many configurations, and how many columns there are."""
        return self.columns or (np.arange(configurations), configurations)

    def log_evidence(self, forms: Forms) -> NDArray[np.float64]:
        """Return the log-density of each row's observed cells; (rows, configurations)."""
        return self.under(forms).log_evidence()

    def moments(self, forms: Forms, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ weight · E[z zᵀ | observed], weights (rows, columns); (configurations, n + 1, n + 1)."""
        return self.under(forms).moments(weights)


@dataclass(frozen=True, eq=False)
class _Group:
    """Configurations that are taken together: ``many`` from ``first`` on, for the same rows (None: all)."""

    first: int
    many: int
    places: NDArray[np.int64] | None


class _Groups(NamedTuple):
    """Groups of configurations one after the other.

    Attributes
    ----------
    first, many
        Of each its first configuration, and how many there are; (groups,) each.
    edge, places
        Group k is taken for the sorted rows ``places[edge[k]:edge[k + 1]]``, in their order.
    whole
        Whether each is taken for all rows.
    """

    first: NDArray[np.int64]
    many: NDArray[np.int64]
    edge: NDArray[np.int64]
    places: NDArray[np.int64]
    whole: bool

    @property
    def key(self) -> bytes:
        """Which configurations are taken together."""
        return np.array([self.first, self.many]).tobytes()

    def among(self, chosen: NDArray[np.bool_]) -> _Groups:
        """Return the groups for some of their rows; (places,)."""
        edge = np.concatenate([[0], np.cumsum(chosen)])[self.edge]
        return self._replace(edge=edge, places=self.places[chosen], whole=False)


def _grouped(groups: Sequence[_Group], rows: int) -> _Groups:
    """Put groups one after the other."""
    everything, none = np.arange(rows), np.empty(0, dtype=np.int64)
    mine = [everything if group.places is None else group.places for group in groups]
    first, many = (np.array([getattr(g, what) for g in groups], dtype=np.int64) for what in ("first", "many"))
    edge = np.cumsum([0, *map(len, mine)])
    whole = all(group.places is None for group in groups)
    return _Groups(first, many, edge, np.concatenate([none, *mine]), whole)


@dataclass(frozen=True, eq=False)
class _Normal:
    """Densities by mean and covariance, (configurations, n) and (configurations, n, n).

    ``excess`` is by how much their logs exceed those of normal densities; (configurations,).
    """

    mean: NDArray[np.float64]
    covariance: NDArray[np.float64]
    excess: NDArray[np.float64]

    def bordered(self) -> NDArray[np.float64]:
        """Return the covariances behind the means; (configurations, n + 1, n + 1)."""
        many, n = self.mean.shape
        out = np.zeros((many, n + 1, n + 1))
        out[:, 0, 1:] = out[:, 1:, 0] = self.mean
        out[:, 1:, 1:] = self.covariance
        return out

    def unfolded(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ weight · E[z zᵀ], given Σ weight · ((1, u)(1, u)ᵀ − S⁻¹) as kernels add it up."""
        count, mean = sums[:, 0, 0], self.mean
        moved = np.einsum("cij,cj->ci", self.covariance, sums[:, 0, 1:])
        total = count[:, None] * mean + moved
        inner = self.covariance @ sums[:, 1:, 1:] @ self.covariance + count[:, None, None] * self.covariance
        inner += total[:, :, None] * mean[:, None, :] + mean[:, :, None] * moved[:, None, :]
        out = np.empty_like(sums)
        out[:, 0, 0], out[:, 0, 1:], out[:, 1:, 0] = count, total, total
        out[:, 1:, 1:] = 0.5 * (inner + np.swapaxes(inner, 1, 2))
        return out


class Conditioned:
    """Rows under some densities; what both questions need is worked out once."""

    def __init__(self, rows: GaussianRows, forms: Forms) -> None:
        self.rows, self.forms = rows, forms
        #: The column of each configuration in evidence and weights, and how many columns there are.
        self.columns, self.width = rows.placed(len(forms.root))
        #: The matrices K or Σ as kernels take them, by the way and how configurations are grouped.
        self._laid: dict[tuple[bool, bytes], NDArray[np.float64]] = {}
        #: What holes probably hold, once log-densities were asked for.
        self._means = NOTHING_KEPT

    @cached_property
    def _kept(self) -> list[Given] | None:
        """What holes are given observed cells, by pattern; None where that is too much to keep."""
        configurations, _, width = self.forms.root.shape
        needed = sum(len(p.holes) for p in self.rows.patterns) * width * configurations
        return all_given(self.forms.root, [p.holes for p in self.rows.patterns]) if needed <= KEPT else None

    def filled(
        self, c: int, among: NDArray[np.int64] | None = None
    ) -> Iterator[tuple[NDArray[np.int64] | slice, NDArray[np.float64], list[_Share]]]:
        """Yield parts of configuration c's rows: their places, z*, and who has which share in them."""
        places = self._places(c) if among is None else among
        rows = len(self.rows) if places is None else len(places)
        shares = self._shares(places)
        for first in range(0, rows, STEP):
            last = min(first + STEP, rows)
            where: NDArray[np.int64] | slice = slice(first, last) if places is None else places[first:last]
            z = self.rows.sorted[where]
            here = [
                _Share(s.pattern, max(s.first, first) - first, min(s.last, last) - first)
                for s in shares
                if s.first < last and s.last > first
            ]
            if not self.rows.complete:
                z = z.copy()
                for share in here:
                    holes = self.rows.patterns[share.pattern].holes
                    if len(holes):
                        part = z[share.first : share.last]
                        part[:, holes] = part @ self.given(share.pattern, c)[0].T
            yield where, z, here

    def _places(self, c: int) -> NDArray[np.int64] | None:
        """Return the sorted rows that configuration c may explain; None for all."""
        return None if self.rows.allowed is None else self.rows.allowed[c]

    def _counted(self, c: int, weight: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """Return the rows of configuration c that weigh anything beside the others; None for all.

        Where it may explain all, the weights of the others become zero.
        """
        places = self._places(c)
        mine = weight if places is None else weight[places]
        counted = mine > NEGLIGIBLE * mine.max(initial=0.0) / self.rows.reach
        if places is None:
            weight *= counted
        if 2 * np.count_nonzero(counted) > len(mine):  # not worth gathering
            return places
        return np.flatnonzero(counted) if places is None else places[counted]

    def given(self, pattern: int, c: int) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
        """Return slope, spread and log of a pattern's holes given its observed cells, in configuration c."""
        if self._kept is not None:
            known, at = self._kept[pattern], c
        else:
            known, at = given(self.forms.root[c : c + 1], self.rows.patterns[pattern].holes), 0
        return known.slope[at], known.spread[at], float(known.log[at])

    def _shares(self, places: NDArray[np.int64] | None) -> list[_Share]:
        """Return where the rows of each pattern begin and end among some of the sorted rows."""
        if places is None:
            return [_Share(k, p.first, p.last) for k, p in enumerate(self.rows.patterns)]
        first = np.searchsorted(places, [p.first for p in self.rows.patterns])
        last = np.searchsorted(places, [p.last for p in self.rows.patterns])
        return [_Share(k, int(a), int(b)) for k, (a, b) in enumerate(zip(first, last, strict=True)) if a < b]

    def log_evidence(self) -> NDArray[np.float64]:
        """Return the log-density of each row's observed cells, −∞ where none is allowed; (rows, columns)."""
        if self._plain:
            return self._plain_logs()
        out = np.full((self.width, len(self.rows)), -np.inf)
        for groups, turned in self._parted(self._groups):
            kept = NOTHING_KEPT if turned else self._room_for_means()
            self._put_logs(groups, turned, kept, out)
            self._means = self._means if turned else kept
        for c in range(len(self.forms.root)) if np.isnan(out).any() else ():
            self._evidence_again(c, out[self.columns[c]])
        if self.rows.complete:  # which are not sorted
            return out.T
        back = np.empty_like(out.T)
        back[self.rows.order] = out.T
        return back

    @cached_property
    def _plain(self) -> bool:
        """Whether no row has a hole and all densities take all rows."""
        return self.rows.complete and not any(map(_some, self.rows.allowed or ()))

    def _plain_moments(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Do `moments` there."""
        own = np.ascontiguousarray(weights.T[self.columns] if self.rows.columns else weights.T)
        z, many = self.rows.sorted, len(own)
        (rows, n), wide = z.shape, wide_for(z.shape[1])
        least = NEGLIGIBLE / self.rows.reach * own.max(axis=1, initial=0.0)
        step = max(4 * TASK, -(-rows // (TASKS * BLOCK)) * BLOCK)
        pieces = -(-rows // step)
        parts = aligned(pieces * many * wide**2, z.dtype).reshape(pieces, many, wide**2)
        parts[:] = 0.0

        def some(runs: range) -> None:
            room = aligned(2 * BLOCK * wide, z.dtype)
            room[:], counted = 0.0, np.empty(step, dtype=np.int64)
            for k in runs:
                end = min((k + 1) * step, rows)
                add_plain_moments(z, own, least, k * step, end, counted, room, parts[k])

        in_runs(some, len(parts), seconds=rows * many * SCANNED + rows * n**2 * SECONDS)
        out = np.zeros((many, n, n))
        add_up(parts, out)
        return out

    def _plain_logs(self) -> NDArray[np.float64]:
        """Do `log_evidence` where no row has a hole and all densities take all rows."""
        rows, width = self.rows.sorted.shape
        out = np.empty((self.width, rows))
        if len(self.columns) < self.width:
            out[:] = -np.inf
        dense, panels = self._plainly, self.rows.panels
        many = -(-rows // PANEL)

        def some(run: range) -> None:
            room = aligned(PANEL, np.dtype(np.float64))
            log_densities_of_panels(panels, rows, width, dense, run.start, run.stop, self.columns, room, out)

        products = rows * len(self.columns) * (width**2 // 2 + BESIDE)
        in_runs(some, many, seconds=products * SECONDS)
        return out.T

    def _room_for_means(self) -> Means:
        """Return room for what holes probably hold, if that is not too much."""
        known, many = self.rows.known, len(self.forms.root)
        rows = np.diff(known.first)[known.pattern]
        if self._normal is not None:
            rows[self.rows.near :] = 0  # they are taken the other way
        ends = many * np.cumsum(rows)
        if not len(ends) or not 0 < ends[-1] <= KEPT:
            return NOTHING_KEPT
        return Means(np.zeros(ends[-1]), ends - many * rows)

    def _put_logs(self, groups: _Groups, turned: bool, kept: Means, out: NDArray[np.float64]) -> None:
        tasks, dense = self.rows.tasks(groups), self._dense(groups, turned)
        known = self.rows.turned if turned else self.rows.known
        self.rows.share_out(
            tasks,
            turned,
            lambda first, last, room: log_densities(
                known, kept, dense, tasks, first, last, self.columns, out, room, turned
            ),
        )

    def _parted(self, groups: _Groups) -> list[tuple[_Groups, bool]]:
        """Return groups for the rows that are taken by their holes, and for those by their observed cells."""
        near = self.rows.near
        if near == len(self.rows) or self._normal is None:
            return [(groups, False)]
        by_holes = groups.places < near
        return [(groups.among(by_holes), False), (groups.among(~by_holes), True)]

    @cached_property
    def _normal(self) -> _Normal | None:
        """Means and covariances of the densities, where they are proper and all keep their digits."""
        configurations, height, width = self.forms.root.shape
        if height != width - 1 or not configurations:
            return None
        inner = self.forms.root[:, :, 1:]
        scale, log = np.linalg.slogdet(inner)
        if not np.all(scale):
            return None
        inverse = np.asarray(np.linalg.inv(inner), dtype=np.float64)
        covariance = inverse @ np.swapaxes(inverse, 1, 2)
        kept = np.diagonal(covariance, axis1=1, axis2=2) * (inner**2).sum(axis=1) * SOUND
        if not np.all(kept < 1.0):
            return None
        mean = -np.einsum("cij,cj->ci", inverse, self.forms.root[:, :, 0])
        return _Normal(mean, covariance, self.forms.constant - log + 0.5 * height * LOG_2PI)

    @cached_property
    def _groups(self) -> _Groups:
        """Configurations that are taken together where they take all rows and these have holes."""
        return self.rows.apart or _grouped(self._listed, len(self.rows))

    @cached_property
    def _listed(self) -> list[_Group]:
        count, out, c = len(self.forms.root), [], 0
        room = 1 if self.rows.complete else SQUARES // self.rows.sorted.shape[1] ** 2
        together = [c for c in range(count) if self._places(c) is None]
        if len(together) < count or room < 2:
            return [_Group(c, 1, self._places(c)) for c in range(count)]
        while c < count:
            many = next(p for p in (8, 4, 2, 1) if p <= count - c and p <= max(room, 1))
            out.append(_Group(c, many, None))
            c += many
        return out

    def _weighing(self, weights: NDArray[np.float64]) -> _Groups:
        """Return groups for the rows that weigh anything; weights are (columns, sorted rows)."""
        apart = self.rows.apart
        if apart is None:
            counted = [self._counted(c, weights[self.columns[c]]) for c in range(len(self.forms.root))]
            parts = [part for group in self._listed for part in self._thinned(group, counted)]
            return _grouped(parts, len(self.rows))
        each = np.diff(apart.edge)
        mine = weights[np.repeat(self.columns, each), apart.places]
        used = np.flatnonzero(each)
        top = np.zeros(len(each))
        top[used] = np.maximum.reduceat(mine, apart.edge[used]) if len(used) else 0.0
        heavy = mine > np.repeat(NEGLIGIBLE * np.maximum(top, 0.0) / self.rows.reach, each)
        many = np.diff(np.concatenate([[0], np.cumsum(heavy)])[apart.edge])
        return apart.among(heavy | np.repeat(2 * many > each, each))  # a few are not worth leaving out

    def _thinned(self, group: _Group, counted: list[NDArray[np.int64] | None]) -> list[_Group]:
        """Return a group, or smaller ones where its configurations do not count the same rows."""
        if group.many == 1:
            return [_Group(group.first, 1, counted[group.first])]
        mine = counted[group.first : group.first + group.many]
        union = (
            None if any(one is None for one in mine) else np.unique(np.concatenate([*filter(_some, mine)]))
        )
        rows = len(self.rows)
        wanted = sum(rows if one is None else len(one) for one in mine)
        if (rows if union is None else len(union)) * group.many <= THIN * wanted:
            return [_Group(group.first, group.many, union)]
        half = group.many // 2
        halves = _Group(group.first, half, None), _Group(group.first + half, half, None)
        return [part for one in halves for part in self._thinned(one, counted)]

    @cached_property
    def _plainly(self) -> DenseForms:
        """The densities as kernels take them where no row has a hole."""
        return _dense(self.forms)

    @cached_property
    def _squares(self) -> NDArray[np.float64]:
        return np.swapaxes(self.forms.root, 1, 2) @ self.forms.root

    def _dense(self, groups: _Groups, turned: bool) -> DenseForms:
        """Return the densities as kernels take them, group by group."""
        if self.rows.complete:
            return self._plainly
        key, normal = (turned, groups.key), self._normal if turned else None
        if key not in self._laid:
            squares = self._squares if normal is None else normal.bordered()
            if np.all(groups.many == 1):
                each = [squares[groups.first].ravel()]
            else:
                pairs = zip(groups.first.tolist(), groups.many.tolist(), strict=True)
                each = [np.moveaxis(squares[c : c + many], 0, -1).ravel() for c, many in pairs]
            each.append(np.zeros(LANES))  # rows are read by eights
            laid = aligned(sum(map(len, each)), squares.dtype)
            self._laid[key] = np.concatenate(each, out=laid)
        constant = self._plainly.constant if normal is None else normal.excess
        return self._plainly._replace(square=self._laid[key], constant=constant)

    def _evidence_again(self, c: int, out: NDArray[np.float64]) -> None:
        """Work out in place what lost its digits in configuration c."""
        root = self.forms.root[c]
        for rows, which, z, held in careful(self.rows.known, root, np.flatnonzero(np.isnan(out))):
            with np.errstate(over="ignore", invalid="ignore"):
                residual = z @ root.T
                squared = np.einsum("ij,ij->i", residual, residual)
            out[rows] = self.forms.constant[c] - 0.5 * np.fmin(squared, LARGE) + held.log[which]

    def normals(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean and standard deviation of z given the observed cells; (rows, columns, n + 1) each."""
        shape = (len(self.rows), self.width, self.rows.sorted.shape[1])
        mean, deviation = np.zeros(shape), np.zeros(shape)
        for c in range(len(self.forms.root)):
            for where, z, shares in self.filled(c):
                spread = np.zeros_like(z)
                for share in shares:
                    root = self.given(share.pattern, c)[1]
                    holes = self.rows.patterns[share.pattern].holes
                    spread[share.first : share.last, holes] = np.sqrt((root**2).sum(axis=1))
                rows = self.rows.order[where]
                mean[rows, self.columns[c]], deviation[rows, self.columns[c]] = z, spread
        return mean, deviation

    def moments(self, weights: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return Σ over rows of weight · E[z zᵀ | observed cells]; (configurations, n + 1, n + 1)."""
        if self._plain:
            return self._plain_moments(weights)
        mine = weights if self.rows.complete else weights[self.rows.order]
        sorted_ = np.array(mine.T, order="C")
        out = np.zeros((len(self.forms.root), *[self.rows.sorted.shape[1]] * 2))
        for some, turned in self._parted(self._weighing(sorted_)):
            sums, lost = self._added(some, turned, sorted_)
            out += self._normal.unfolded(sums) if turned and self._normal else sums
            for c, again in lost:
                self._moments_again(c, again, sorted_[self.columns[c]], out[c])
        return out

    def _added(
        self, groups: _Groups, turned: bool, weights: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], list[tuple[int, NDArray[np.int64]]]]:
        """Return what kernels add up, and the rows that lost their digits, by configuration."""
        tasks, dense = self.rows.tasks(groups), self._dense(groups, turned)
        known = self.rows.turned if turned else self.rows.known
        kept = NOTHING_KEPT if turned else self._means
        n, most = self.rows.sorted.shape[1], int(groups.many.max(initial=1))
        wide, lost = wide_for(n), np.zeros((most, len(tasks.places)), dtype=bool)
        parts = aligned(int(tasks.many.sum()) * wide * wide, np.dtype(np.float64)).reshape(-1, wide * wide)
        parts[:] = 0.0
        self.rows.share_out(
            tasks,
            turned,
            lambda first, last, room: add_moments(
                known, kept, dense, tasks, first, last, self.columns, weights, lost, parts, room, turned
            ),
        )
        each = np.repeat(tasks.density - tasks.slot, tasks.many) + np.arange(len(parts))
        out = np.zeros((len(self.forms.root), n, n))
        sums = parts.reshape(len(parts), wide, wide)[:, HEAD : HEAD + n, HEAD : HEAD + n]
        if len(parts) and np.all(np.diff(each) > 0):
            out[each] = sums
        else:
            np.add.at(out, each, sums)
        if not lost.any():
            return out, []
        first = np.repeat(tasks.density, tasks.last - tasks.first)
        places = [
            np.concatenate([tasks.places[one & (first + own == c)] for own, one in enumerate(lost)])
            for c in range(len(out))
        ]
        return out, [(c, np.sort(again)) for c, again in enumerate(places) if len(again)]

    def _moments_again(
        self, c: int, among: NDArray[np.int64], weight: NDArray[np.float64], out: NDArray[np.float64]
    ) -> None:
        """Add the moments of rows that lost their digits in configuration c."""
        for rows, which, z, held in careful(self.rows.known, self.forms.root[c], among):
            rooted = z * np.sqrt(weight[rows])[:, None]
            out += rooted.T @ rooted
            total = np.bincount(which, weight[rows], minlength=len(held.holes))[:, None, None]
            covariance = held.spread @ np.swapaxes(held.spread, -1, -2)
            np.add.at(out, (held.holes[:, :, None], held.holes[:, None, :]), total * covariance)


def _some(one: NDArray[np.int64] | None) -> bool:
    return one is not None


def _tasks(groups: _Groups, shape: tuple[int, int]) -> Tasks:
    """Return the rows of every group of configurations, cut into tasks by their number alone."""
    rows, width = shape
    least = max(TASK // int(groups.many.max(initial=1)), BLOCK)
    size = max(least, -(-rows // (TASKS * BLOCK)) * BLOCK)
    parts = -(-np.diff(groups.edge) // size)  # tasks of each group
    own = np.repeat(np.arange(len(parts)), parts)
    first = groups.edge[own] + size * (np.arange(len(own)) - np.repeat(np.cumsum(parts) - parts, parts))
    last, many = np.minimum(first + size, groups.edge[own + 1]), groups.many[own]
    square = ((np.cumsum(groups.many) - groups.many) * width**2)[own]
    return Tasks(groups.first[own], many, first, last, square, np.cumsum(many) - many, groups.places)


def _dense(forms: Forms) -> DenseForms:
    """Return densities as kernels take them, without their squares."""
    c, k, n = forms.root.shape
    tiles = -(-k // TILE)
    turned = aligned(c * tiles * n * TILE, np.dtype(np.float64)).reshape(c, tiles, n, TILE)
    whole = np.zeros((c, tiles * TILE, n))
    whole[:, :k] = forms.root
    turned[:] = whole.reshape(c, tiles, TILE, n).swapaxes(2, 3)
    used = (turned != 0).any(axis=3)
    reach = np.stack([used.argmax(axis=2), n - used[:, :, ::-1].argmax(axis=2)], axis=-1)
    reach[~used.any(axis=2)] = 0
    constant = np.ascontiguousarray(forms.constant)
    flat = reach.astype(np.int64).ravel()
    return DenseForms(turned.ravel(), flat, np.array([tiles], dtype=np.int64), constant, np.zeros(0))


@dataclass(frozen=True)
class _Share:
    """The rows of one pattern among some rows."""

    pattern: int
    first: int
    last: int
