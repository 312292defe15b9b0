"""Chains over completions of rows and parameters of tables: what samplers of discrete networks are built on.

The tempered family joins the prior (τ = 0, every completion equally likely) with the posterior (τ = 1):

    f_τ(x, θ) = p(θ) · p(x, y | θ)^τ · u(x)^(1 − τ).

Given θ, the completions x of the rows y are independent draws under potentials θ^τ; given x, every
distribution is Dirichlet(α + τ N(x)). Both are drawn exactly. `docs/derivations/ais.md` has the formulas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import reserve
from lacunary.data.table import HOLE
from lacunary.errors import ImpossibleRowError, TooWideError
from lacunary.infer.completions import check_whole
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.pack import Chunk
from lacunary.infer.parallel import in_parallel
from lacunary.kernels.arena import arena_of_cells
from lacunary.kernels.cell import Room, Spots
from lacunary.kernels.pack import Slab
from lacunary.kernels.population import Bases, move
from lacunary.kernels.spread import FEW, Scratch
from lacunary.kernels.walk import Target, Trail, walk, wander
from lacunary.maths.special import log_rising

NOTHING = np.empty(0)

TINY = 1e-300
"""Stands for zero where a log is needed."""

__all__ = ["TINY", "Walker", "Walks", "walker_of"]


class _Walk(NamedTuple):
    """What one chain left behind."""

    log_weight: float
    trail: Trail
    acceptance: float = 1.0
    pace: NDArray[np.float64] = NOTHING


@dataclass(frozen=True, eq=False)
class Walks:
    """What chains left behind, one row a chain.

    Attributes
    ----------
    log_weights
        At the end; (chains,).
    trace, counts, log_theta
        Log-weights, counts of completed rows and parameters along the way, where they were kept;
        (chains, kept), (chains, kept, size) and (chains, kept, size).
    acceptance, pace
        Share of proposals accepted, and how far they led; (chains,) and (chains, steps + 1).
    """

    log_weights: NDArray[np.float64]
    trace: NDArray[np.float64]
    counts: NDArray[np.float64]
    log_theta: NDArray[np.float64]
    acceptance: NDArray[np.float64]
    pace: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Walker:
    """Rows laid out for chains: all of them as one chunk, and the tempered family."""

    rows: DiscreteRows
    chunk: Chunk
    target: Target

    def walk(
        self,
        tau: NDArray[np.float64],
        seeds: Sequence[int],
        *,
        start: NDArray[np.float64] | None = None,
        every: int = 1,
        keep: Sequence[str] = (),
        partly: bool = False,
    ) -> Walks:
        """Walk a chain for every seed through the inverse temperatures, by Gibbs moves.

        Parameters
        ----------
        tau
            From 0 on for weights that make sense; (steps + 1,).
        seeds
            One for each chain; what a chain does depends on nothing else.
        start
            Parameters whose posterior the first completions are drawn from, instead of uniformly.
        every, keep
            Keep ``"trace"``, ``"counts"`` or ``"log_theta"`` after every so many steps.
        partly
            Interrupted, return the chains that are at their ends, if any is.
        """
        self.check_room(len(seeds), (len(tau) - 1) // every, keep)
        done: dict[int, _Walk] = {}

        def one(k: int) -> None:
            trail = self._trail(len(tau) - 1, every, keep)
            potential = np.ones(len(self.target.alpha)) if start is None else start.astype(np.float64)
            kinds, chunk = self.rows.packed.kinds, self.chunk
            room, scratch = self._room()
            log_weight = walk(
                kinds,
                chunk.slab,
                chunk.spots,
                room,
                scratch,
                self.target,
                tau,
                potential,
                np.uint64(seeds[k]),
                trail,
            )
            done[k] = _Walk(log_weight, trail)

        try:
            in_parallel(one, range(len(seeds)))
        except KeyboardInterrupt:
            if not (partly and done):
                raise
        if any(np.isnan(walked.log_weight) for walked in done.values()):
            raise ImpossibleRowError("the parameters the chains start from give some row probability zero")
        return _gathered([done[k] for k in sorted(done)])

    def wander(
        self,
        tau: NDArray[np.float64],
        seeds: Sequence[int],
        pace: NDArray[np.float64],
        *,
        tune: float = 0.0,
        start: NDArray[np.float64] | None = None,
        every: int = 1,
        keep: Sequence[str] = (),
    ) -> Walks:
        """Walk a chain for every seed through the inverse temperatures, by Metropolis moves on parameters.

        Parameters
        ----------
        pace
            How far proposals lead at each temperature; (steps + 1,).
        tune
            Seek the pace at which this share of proposals is accepted, from its first number on.
        start
            Parameters to start from, instead of a draw from the prior.
        """
        usual = self._usual_counts()
        first = np.full(len(self.target.alpha), np.nan) if start is None else self._sizes(start)

        def one(seed: int) -> _Walk:
            trail, mine = self._trail(len(tau) - 1, every, keep), pace.copy()
            kinds, slab, spots = self.rows.packed.kinds, self.chunk.slab, self.chunk.spots
            (room, scratch), number = self._room(), np.uint64(seed)
            log_weight, accepted = wander(
                kinds, slab, spots, room, scratch, self.target, tau, usual, mine, tune, first, number, trail
            )
            return _Walk(log_weight, trail, accepted, mine)

        return _gathered(list(in_parallel(one, seeds)))

    def _usual_counts(self) -> NDArray[np.float64]:
        """Return the counts expected when every completion is equally likely."""
        layout = self.rows.dag.layout
        uniform = 1.0 / np.array(layout.states, dtype=np.float64)[layout.variable]
        return np.asarray(self.rows.expect(uniform[None]).counts[0])

    def log_tempered(self, tau: float, counts: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log ∫ f_τ(x, θ) dθ up to log u, for counts of x; (..., size) → (...)."""
        layout, alpha, total = self.rows.dag.layout, self.target.alpha, self.target.total
        cells = log_rising(alpha, tau * counts)
        sums = log_rising(total, tau * layout.total(counts))
        return np.asarray(cells.sum(axis=-1) - sums.sum(axis=-1) + tau * self.target.log_ways)

    def _sizes(self, theta: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return log g with θ = g / Σ g, the sums being what the prior expects."""
        return np.asarray(np.log(np.maximum(theta, TINY) * self.target.total[self.target.group]))

    def move(
        self,
        bases: Bases,
        tau: float,
        steps: int,
        which: NDArray[np.int64],
        counts: NDArray[np.float64],
        share: NDArray[np.float64],
        stream: NDArray[np.uint64],
    ) -> bool:
        """Move states along a path from bases, as `lacunary.kernels.population.move` says."""
        (room, scratch), chunk, kinds = self._room(), self.chunk, self.rows.packed.kinds
        states = (which, counts, share, stream)
        return move(kinds, chunk.slab, chunk.spots, room, scratch, self.target, bases, tau, steps, *states)

    @property
    def work(self) -> int:
        """How many numbers a sweep over all rows writes: a measure of its cost."""
        return int(self.chunk.value_room)

    def _room(self) -> tuple[Room, Scratch]:
        shared, cells = self.chunk.shared_room, len(self.chunk.slab.kind)
        largest = int(self.rows.packed.kinds.size.max(initial=0))
        return (
            Room(
                np.empty(self.chunk.value_room),
                np.empty(shared),
                np.empty(shared),
                np.empty((cells, 2, 1)),
                np.empty(largest, dtype=np.int64),
            ),
            Scratch(
                hit=np.empty(largest + FEW, dtype=np.int64),
                drawn=np.empty(largest + FEW),
                power=np.empty(largest, dtype=np.int64),
                shift=np.empty(1, dtype=np.int64),
                left=np.empty(1),
                mass=np.empty(1),
                log=np.empty(len(self.target.alpha)),
            ),
        )

    def check_room(self, chains: int, kept: int, keep: Sequence[str]) -> None:
        """Refuse to keep more than fits into memory."""
        needed = 8.0 * len(self.target.alpha) * chains * kept * len(set(keep) & {"counts", "log_theta"})
        what = f"keeping {kept} draws of {chains} chains"
        reserve(needed, what, "take fewer draws or temperatures", TooWideError)

    def _trail(self, steps: int, every: int, keep: Sequence[str]) -> Trail:
        kept, size = steps // every, len(self.target.alpha)
        rows = {what: kept if what in keep else 0 for what in ("trace", "counts", "log_theta")}
        return Trail(
            every,
            np.empty(rows["trace"]),
            np.empty((rows["counts"], size)),
            np.empty((rows["log_theta"], size)),
        )


def walker_of(rows: DiscreteRows, alpha: NDArray[np.float64]) -> Walker:
    """Lay rows out for chains; half a row cannot be completed, so weights must be whole."""
    packed, layout = rows.packed, rows.dag.layout
    is_open = packed.codes == HOLE
    weights = packed.weights[is_open.any(axis=1)]
    check_whole(weights, "'sampled', 'laplace' and 'variational' take any")
    ways = is_open @ np.log(np.array(rows.dag.schema.sizes, dtype=np.float64))
    alpha = np.array(alpha)
    target = Target(alpha, layout.group, layout.total(alpha), packed.constant, float(packed.weights @ ways))
    whole = rows.whole()
    return Walker(whole, _joined(whole.packed.chunks), target)


def _gathered(done: Sequence[_Walk]) -> Walks:
    return Walks(
        np.array([walked.log_weight for walked in done]),
        np.array([walked.trail.log_weight for walked in done]),
        np.array([walked.trail.counts for walked in done]),
        np.array([walked.trail.log_theta for walked in done]),
        np.array([walked.acceptance for walked in done]),
        np.array([walked.pace for walked in done]),
    )


def _joined(chunks: Sequence[Chunk]) -> Chunk:
    """Return all chunks as one: a chain sweeps alone, and threads are busy with other chains."""
    if len(chunks) == 1:
        return chunks[0]
    slabs, spots = [c.slab for c in chunks], [c.spots for c in chunks]
    cells = np.cumsum([0, *(len(s.kind) for s in slabs)])
    shared = np.cumsum([0, *(c.shared_room for c in chunks)])
    value = np.cumsum([0, *(c.value_room for c in chunks)])

    def listed(starts: list[NDArray[np.int32]]) -> NDArray[np.int32]:
        ends = np.cumsum([0, *(s[-1] for s in starts)])
        return np.concatenate([[0], *(s[1:] + e for s, e in zip(starts, ends, strict=False))]).astype(
            np.int32
        )

    def shifted(arrays: Sequence[NDArray[Any]], by: NDArray[np.int64]) -> NDArray[Any]:
        moved = [a + b for a, b in zip(arrays, by, strict=False)]
        return np.concatenate(moved).astype(arrays[0].dtype)

    slab = Slab(
        kind=np.concatenate([s.kind for s in slabs]),
        base=np.concatenate([s.base for s in slabs]),
        base_start=listed([s.base_start for s in slabs]),
        read=np.concatenate([s.read for s in slabs]),
        read_start=listed([s.read_start for s in slabs]),
        child=shifted([s.child for s in slabs], cells),
        above=np.concatenate([s.above for s in slabs]),
        child_start=listed([s.child_start for s in slabs]),
        weight=np.concatenate([s.weight for s in slabs]),
        root=shifted([s.root for s in slabs], cells),
        root_start=listed([s.root_start for s in slabs]),
    )
    places = Spots(
        value=shifted([s.value for s in spots], value),
        shared=shifted([s.shared for s in spots], shared),
        child_message=shifted([s.child_message for s in spots], shared),
        plain=np.concatenate([s.plain for s in spots]),
    )
    rows = slice(chunks[0].rows.start, chunks[-1].rows.stop)
    arena = arena_of_cells(slab, places)
    kinds, largest = chunks[0].kinds_arena, chunks[0].largest
    return Chunk(rows, kinds, arena, slab.weight, int(value[-1]), int(shared[-1]), largest)
