"""Remember what a score said: searches come back to the same families again and again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from math import log
from typing import Any

import numpy as np

from lacunary.data.schema import Schema
from lacunary.kernels.ascent import Law
from lacunary.learn.check import MOST_CELLS
from lacunary.maths.arrays import Array, Booleans
from lacunary.structure.score import FamilyScore, Parents, announce

__all__ = ["Cache", "Room"]

Key = tuple[int, Parents]


class Room:
    """How large families may grow: all of them together must have room when the graph is fitted."""

    def __init__(self, schema: Schema) -> None:
        self.logs = np.log([variable.size or 1 for variable in schema])
        self.real = np.array([not variable.discrete for variable in schema], dtype=bool)
        self.most = float(np.log(MOST_CELLS / max(len(schema), 1)))
        self._each, self._largest = self.logs.tolist(), float(self.logs.max(initial=0.0))
        self._real: list[bool] = self.real.tolist()
        #: A regression on all others, in every configuration of all that is discrete, is the largest family.
        self.ample = 2.0 * log(float(self.real.sum()) + 3.0) + float(self.logs.sum()) <= self.most

    def full(self, child: int, parents: Parents) -> Booleans | None:
        """Tell which variables a family has no room for as further parents; (n,). None: there is room."""
        if self.ample:
            return None
        each, real = self._each, self._real
        size = 2.0 * log(sum([real[p] for p in parents]) + 3.0) if real[child] else each[child]
        size += sum([each[parent] for parent in parents])
        if size + self._largest <= self.most:
            return None
        out = self.logs + size > self.most
        out[list(parents)] = False
        return np.asarray(out)


class Cache:
    """A score that remembers, and forgets what it has not been asked for longest.

    Parameters
    ----------
    score
        The score that is asked when the answer is not known.
    most
        Families for which all toggled terms are kept; n numbers each.
    room
        How large families may grow; what is larger has no score. By default as large as they like.
    """

    def __init__(self, score: FamilyScore, most: int = 50_000, room: Room | None = None) -> None:
        self.score, self.room = score, room
        self.most = max(int(most), 1)
        # Where a score has all terms of a family at once it says so, (n + 1,); a search wants both in turn.
        self._terms: Callable[[int, Parents], Array] | None = getattr(score, "terms", None)
        self.asked = self.missed = 0
        self._toggled: OrderedDict[Key, tuple[Array, float | None]] = OrderedDict()
        self._family: OrderedDict[Key, float] = OrderedDict()

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return self.score.variables

    @property
    def allowed(self) -> Booleans:
        """Which arcs can be, ``[parent, child]``."""
        return self.score.allowed

    @property
    def announce(self) -> Callable[[Sequence[Key], bool], None] | None:
        """What tells the score which families it will be asked for; none where that is nothing to it."""
        return None if getattr(self.score, "announce", None) is None else self._announce

    def _announce(self, families: Sequence[Key], toggled: bool) -> None:
        known: Collection[Key] = self._toggled if toggled else self._family
        announce(self.score, [family for family in families if family not in known], toggled)

    @property
    def several(self) -> Callable[[Sequence[Key]], Sequence[Array]] | None:
        """What works out all terms of several families at once; none where the score cannot."""
        return getattr(self.score, "several", None)

    @property
    def seconds(self) -> float:
        """About how long a family takes, where several threads may ask at once; else nothing is known."""
        return float(getattr(self.score, "seconds", 0.0))

    @property
    def matrix_law(self) -> Law | None:
        """How kernels work the score out for themselves, which then takes less time than to remember it."""
        return getattr(self.score, "matrix_law", None) if self.room is None or self.room.ample else None

    def fetch(self, families: Iterable[Key], toggled: bool) -> None:
        """Have what will be asked for next worked out at once, where the score can (`fetch`)."""
        if self.several is None:
            return
        missing = list(dict.fromkeys(family for family in families if family not in self._toggled))
        if 1 < len(missing) <= self.most:
            self.missed += len(missing)
            for one, terms in zip(missing, self.several(missing), strict=True):
                self._toggled[one] = self._noted(*one, terms)
            _forget(self._toggled, self.most)

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term.

        It is never taken from a neighbour's toggled terms, which round differently: what is said of a graph
        must not depend on how a search came there.
        """
        if self._terms is not None:
            own = self._both(child, parents)[1]
            assert own is not None
            return own
        key = (child, parents)
        known = self._family.get(key)
        if known is None:
            known = self._family[key] = self.score.family(child, parents)
            _forget(self._family, self.most)
        else:
            _met(self._family, key)
        return known

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        self.asked += 1
        return self._both(child, parents)[0]

    def _both(self, child: int, parents: Parents) -> tuple[Array, float | None]:
        """Return the toggled terms, and the term as it is where they come together."""
        key = (child, parents)
        known = self._toggled.get(key)
        if known is None:
            self.missed += 1
            known = self._toggled[key] = self._ask(child, parents)
            if len(self._toggled) > self.most:
                _forget(self._toggled, self.most)
        else:
            _met(self._toggled, key)
        return known

    def _ask(self, child: int, parents: Parents) -> tuple[Array, float | None]:
        if self._terms is not None:
            return self._noted(child, parents, self._terms(child, parents))
        return self._noted(child, parents, np.append(self.score.toggled(child, parents), np.nan))

    def _noted(self, child: int, parents: Parents, terms: Array) -> tuple[Array, float | None]:
        """Return toggled terms and the term as it is, without what there is no room for."""
        toggled, own = terms[:-1], None if self._terms is None else float(terms[-1])
        full = None if self.room is None else self.room.full(child, parents)
        if full is not None:
            toggled = np.where(full, -np.inf, toggled)
        toggled.flags.writeable = False
        return toggled, own


def _met(store: OrderedDict[Key, Any], key: Key) -> None:
    """Have a key forgotten last, unless another thread has made it forgotten meanwhile."""
    with suppress(KeyError):
        store.move_to_end(key)


def _forget(store: OrderedDict[Key, Any], most: int) -> None:
    with suppress(KeyError):  # another thread has taken the last one out
        while len(store) > most:
            store.popitem(last=False)
