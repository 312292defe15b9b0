"""A graph with all its moves and what each of them gains; after a move only what changed is scored again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from math import isfinite

import numpy as np

from lacunary.kernels.ascent import Places, Rules, ascend, room_for
from lacunary.kernels.graph import best_move
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.structure.constraints import Constraints
from lacunary.structure.move import Add, Move, Remove, Reverse
from lacunary.structure.prior import StructurePrior
from lacunary.structure.result import Step
from lacunary.structure.score import FamilyScore, Parents, announce, fetch, law_of, plans_ahead
from lacunary.structure.sketch import Sketch

__all__ = ["Ascent", "Board"]

TURNED, ACTIONS = 2, {1: Add.action, -1: Remove.action, 2: Reverse.action}
"""The kinds of moves as kernels write them."""

APART = 1.5e-4
"""Seconds that a family must take before boards are worked on at once."""

RUN = 4
"""Moves that a kernel makes in one call, at most: so many times as there are variables."""

ROUNDING = 1e-11
"""Gains that differ by less than this part of the families' scores are ties: rounding must not choose."""


@dataclass(frozen=True, eq=False)
class Ascent:
    """Moves that were made in one go: `steps` says what they were.

    Attributes
    ----------
    before, links
        The families' scores, and the links that count, before the first.
    logs
        What numbers of links are worth beforehand.
    moves, gains
        As `lacunary.kernels.ascent.ascend` writes them.
    over
        Whether no further move gains.
    """

    before: Array
    links: int
    logs: Array
    moves: Integers
    gains: Array
    over: bool

    def __len__(self) -> int:
        return len(self.moves)

    def steps(self, names: Sequence[str], counted: Booleans) -> Iterator[Step]:
        """Yield them one by one."""
        terms, links = self.before.copy(), self.links
        for (kind, tail, head), (added, own, other) in zip(
            self.moves.tolist(), self.gains.tolist(), strict=True
        ):
            terms[head] = own
            if kind == TURNED:
                terms[tail] = other
            elif counted[tail, head]:
                links += kind
            value = float(terms.sum()) + float(self.logs[links])
            yield Step(ACTIONS[kind], names[tail], names[head], added, value)


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
        self.law = law_of(score)
        self._space = None if self.law is None else room_for(len(parents))
        self._set(parents)

    def _set(self, parents: Sequence[Parents]) -> None:
        n = len(parents)
        self.sketch = Sketch(parents)
        self.links = self._links()
        self.terms, self.gain = np.empty(n), np.full((n, n), -np.inf)
        self._stale: set[int] = set()
        self._score(range(n))

    def _score(self, children: Sequence[int]) -> None:
        """Score families that changed; what moves into them gain with them, or once that is asked for."""
        self._value: float | None = None
        self._tie: float | None = None
        if self.law is not None:
            self._called(children, self._nothing, 0)
            return
        families = [(child, self.sketch.parents[child]) for child in children]
        self._plan(families, toggled=False)
        for child, ps in families:
            self.terms[child] = self.score.family(child, ps)
            self._stale.add(child)

    def jump(self, parents: Sequence[Parents]) -> None:
        """Go to another graph; only families that differ are scored."""
        changed = self.sketch.become([tuple(ps) for ps in parents])
        if changed:
            self._score(changed)
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

    def copy(self) -> Board:
        """Return a board of its own that stands where this one does; both ask the same score."""
        self._refresh()
        other = copy(self)
        other.sketch, other.terms, other.gain = self.sketch.copy(), self.terms.copy(), self.gain.copy()
        other._stale, other._space = set(), None if self.law is None else room_for(len(self.terms))
        return other

    @property
    def threaded(self) -> bool:
        """Whether it pays to have copies of the board at work at once: Python's part is one at a time."""
        return self.law is None and float(getattr(self.score, "seconds", 0.0)) >= APART

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
        before = [self.terms.item(child) for child in move.children]
        self._score(move.children)
        for child, old in zip(move.children, before, strict=True):
            delta += self.terms.item(child) - old
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

    def ascend(self, barred: Booleans | None = None, most: int | None = None) -> Ascent:
        """Make moves as `rise` does until none gains, or so many, or as many as one call of a kernel makes.

        Only where the score is one that kernels work out (`law`).
        """
        size = RUN * len(self.terms) if most is None else min(most, RUN * len(self.terms))
        before, links = self.terms.copy(), self.links
        taken, moves, gains = self._called((), self._nothing if barred is None else barred, size)
        self.sketch.changed({*moves[:taken, 1:].ravel().tolist()})
        self._value = self._tie = None
        return Ascent(before, links, self.prior.logs, moves[:taken], gains[:taken], taken < size)

    def _called(self, children: Sequence[int], barred: Booleans, most: int) -> tuple[int, Integers, Array]:
        """Have a kernel score some children and make moves; return how many, and what it wrote of them."""
        assert self.law is not None
        assert self._space is not None
        sketch, rules, prior = self.sketch, self.constraints, self.prior
        moves, gains = np.empty((most, 3), dtype=np.int64), np.empty((most, 3))
        taken, self.links = ascend(
            self.law,
            Places(sketch.arcs, sketch.above, sketch.many, self.gain, self.terms),
            np.array(children, dtype=np.int64),
            Rules(rules.free, rules.required, rules.max_parents, prior.counted, prior.logs),
            barred,
            self.links,
            ROUNDING,
            self._space,
            moves,
            gains,
        )
        return taken, moves, gains

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
