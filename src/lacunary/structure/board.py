"""A graph with all its moves and what each of them gains; after a move only what changed is scored again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite

import numpy as np

from lacunary.kernels.graph import best_move
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.structure.constraints import Constraints
from lacunary.structure.move import Add, Move, Remove, Reverse
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import FamilyScore, Parents, announce, fetch, plans_ahead
from lacunary.structure.sketch import Sketch

__all__ = ["Board", "Kept"]

Kept = tuple[Sketch, Array, Array, float, int]

ROUNDING = 1e-11
"""Gains that differ by less than this part of the families' scores are ties: rounding must not choose."""


class Board:
    """A graph, a score, a prior over graphs, the constraints, and the gain of every single change.

    Attributes
    ----------
    sketch
        The graph.
    terms
        The score of each family; (n,).
    gain
        What putting the arc i → j in, or taking it out, adds to the score, at ``gain[i, j]``; (n, n).
        It is there for every pair; which of them are moves, the graph and the constraints say.
    prior, links
        The prior, by default the uniform one, and how many links of the graph count for it. All moves, and
        `value`, are by the score and the log prior together.

    All it says depends on the graph alone, to the last bit, and not on the moves that led there.
    """

    def __init__(
        self,
        score: FamilyScore,
        constraints: Constraints,
        parents: Sequence[Parents],
        prior: StructurePrior | None = None,
    ) -> None:
        self.score, self.constraints = score, constraints
        self._plans_ahead = plans_ahead(score)
        self.prior = StructurePrior.of(None, constraints) if prior is None else prior
        self._nothing = np.zeros((len(parents), len(parents)), dtype=bool)
        self._set(parents)

    def _set(self, parents: Sequence[Parents]) -> None:
        n = len(parents)
        self.sketch = Sketch(parents)
        self.links = self._links()
        self._plan([(child, tuple(ps)) for child, ps in enumerate(parents)], toggled=False)
        self.terms = np.array([self.score.family(child, tuple(ps)) for child, ps in enumerate(parents)])
        self.gain = np.full((n, n), -np.inf)
        self._stale = set(range(n))
        self._value: float | None = None
        self._tie: float | None = None

    def jump(self, parents: Sequence[Parents]) -> None:
        """Go to another graph; only families that differ are scored."""
        there = [tuple(ps) for ps in parents]
        changed = list(self.sketch.become(there))
        self._plan([(child, there[child]) for child in changed], toggled=False)
        for child in changed:
            self.terms[child] = self.score.family(child, there[child])
            self._stale.add(child)
            self._value = self._tie = None
        self.links = self._links()

    def _plan(self, families: Sequence[tuple[int, Parents]], *, toggled: bool) -> None:
        """Tell the score what is asked for next, and soon toggled too, where that is anything to it."""
        if self._plans_ahead:
            announce(self.score, families)
            fetch(self.score, families, toggled)

    def _links(self) -> int:
        return int((self.sketch.arcs & self.prior.counted).sum())

    @property
    def value(self) -> float:
        """The score of the graph and its log prior."""
        if self._value is None:
            self._value = float(self.terms.sum()) + float(self.prior.logs[self.links])
        return self._value

    @property
    def tie(self) -> float:
        """How little a gain must differ from another, or from zero, to be the same.

        It goes by the sizes of the families' scores: their sum may be near zero where they are not.
        """
        if self._tie is None:
            whole = float(np.abs(self.terms).sum())
            if not isfinite(whole):
                whole = float(np.abs(self.terms[np.isfinite(self.terms)]).sum())
            self._tie = ROUNDING * max(whole, 1.0)
        return self._tie

    def keep(self) -> Kept:
        """Return the graph and all gains as they stand, to come `back` to."""
        self._refresh()
        return self.sketch.copy(), self.terms.copy(), self.gain.copy(), self.value, self.links

    def back(self, kept: Kept) -> None:
        """Go back to where the board was; faster than a `jump`, as nothing is worked out."""
        sketch, terms, gain, self._value, self.links = kept
        self._tie = None
        self.sketch = sketch.copy()
        self.terms[:], self.gain[:] = terms, gain
        self._stale.clear()

    @property
    def parents(self) -> tuple[Parents, ...]:
        """The graph as it stands."""
        return tuple(self.sketch.parents)

    def delta(self, move: Move) -> float:
        """Return what a move adds to the score and the log prior."""
        self._refresh()
        there = self.gain[move.tail, move.head]
        if isinstance(move, Reverse):
            return float(there + self.gain[move.head, move.tail])
        return float(there) + self._charge(move)

    def _charge(self, move: Move) -> float:
        """Return what a move adds to the log prior."""
        if isinstance(move, Reverse) or not self.prior.counted[move.tail, move.head]:
            return 0.0
        more, less = self.prior.steps(self.links)
        return more if isinstance(move, Add) else less

    def apply(self, move: Move) -> float:
        """Make a move and return what it added to score and log prior; ``move.opposite`` undoes it.

        No other families are scored than those that change: what comes next may change them again.
        """
        delta = self._charge(move)
        if not isinstance(move, Reverse) and self.prior.counted[move.tail, move.head]:
            self.links += 1 if isinstance(move, Add) else -1
        self.sketch.apply(move)
        self._value = self._tie = None
        parents = self.sketch.parents
        families = [(child, parents[child]) for child in move.children]
        self._plan(families, toggled=False)
        for child, ps in families:
            term = self.score.family(child, ps)
            delta += term - self.terms.item(child)
            self.terms[child] = term
            self._stale.add(child)
        return delta

    def rise(self, barred: Booleans | None = None) -> tuple[Move, float] | None:
        """Make the best move and return it with what it added; nothing is done where none gains.

        `gain` is worked out for many moves at once, to rounding. The families' own scores, which depend on
        the graph alone, have the last word, so that a climb never comes back to where it was.
        """
        move, gain = self.best(barred)
        if move is None or gain <= (tie := self.tie):
            return None
        added = self.apply(move)
        if added > tie:
            return move, added
        self.apply(move.opposite)
        return None

    def _refresh(self) -> None:
        """Score again the families whose parents have changed."""
        if not self._stale:
            return
        toggled, parents = self.score.toggled, self.sketch.parents
        families = [(child, parents[child]) for child in sorted(self._stale)]
        self._plan(families, toggled=True)
        for child, ps in families:
            there, own, gain = toggled(child, ps), self.terms.item(child), self.gain[:, child]
            if own != -np.inf:
                np.subtract(there, own, out=gain)
            else:  # from one family without a score to another nothing is gained
                gain[:] = np.where(there > -np.inf, np.inf, -np.inf)
        self._stale.clear()

    def _room(self) -> Booleans:
        """Which variables may have one more parent; (n,)."""
        return np.asarray(self.sketch.many < self.constraints.max_parents)

    def toggles(self) -> Array:
        """Return the gain of every arc that may be put in or taken out, −inf elsewhere; (n, n)."""
        self._refresh()
        arcs = self.sketch.arcs
        may_add = self.constraints.free & ~arcs & ~self.sketch.above & self._room()
        more, less = self.prior.steps(self.links)
        charged = self.gain
        if more or less:
            charged = charged + np.where(self.prior.counted, np.where(arcs, less, more), 0.0)
        return np.where(may_add | (arcs & ~self.constraints.required), charged, -np.inf)

    def turns(self) -> tuple[Integers, Integers, Array]:
        """Return tail, head and gain of every arc that may be turned round; (arcs,) each."""
        self._refresh()
        tails, heads = np.nonzero(self.sketch.arcs & ~self.constraints.required & self.constraints.free.T)
        keep = self._room()[tails]
        keep[keep] = self.sketch.reversible(tails[keep], heads[keep])
        tails, heads = tails[keep], heads[keep]
        both = self.gain[tails, heads], self.gain[heads, tails]
        return tails, heads, np.add(*both, out=np.minimum(*both), where=np.minimum(*both) > -np.inf)

    def toggle_move(self, tail: int, head: int) -> Move:
        """Return the move that puts an arc in, or takes it out if it is there."""
        return Remove(tail, head) if self.sketch.arcs[tail, head] else Add(tail, head)

    def moves(self) -> Iterator[tuple[Move, float]]:
        """Go over all moves and what they gain."""
        toggles = self.toggles()
        for tail, head in np.argwhere(toggles > -np.inf):
            yield self.toggle_move(int(tail), int(head)), float(toggles[tail, head])
        for tail, head, gain in zip(*self.turns(), strict=True):
            if gain > -np.inf:
                yield Reverse(int(tail), int(head)), float(gain)

    def best(self, barred: Booleans | None = None) -> tuple[Move | None, float]:
        """Return the move that gains most, and what.

        Of ties, rather no turn, then the first head, then the first tail.

        ``barred[i, j]`` leaves out every move of the arc i → j.
        """
        self._refresh()
        kind, tail, head, gain = best_move(
            self.sketch.arcs,
            self.sketch.above,
            self.constraints.free,
            self.constraints.required,
            self.sketch.many,
            self.constraints.max_parents,
            self._nothing if barred is None else barred,
            self.gain,
            self.prior.counted,
            *self.prior.steps(self.links),
            self.tie,
        )
        if kind == 0:
            return None, -np.inf
        return (Reverse(tail, head) if kind == 2 else self.toggle_move(tail, head)), gain
