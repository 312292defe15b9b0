"""Give hidden variables and their states the same names in all starts.

The states of a hidden variable have no names but those that the start happened to give them: two
climbs that found the same classes may have them in another order, and the mean of their tables would
be mush. Each start is therefore compared with a reference in what it says of the rows: r_n(h), the
posterior of the hidden variable in row n. The permutation of states is taken that maximises
Σ_n w_n Σ_h r_n(h) r'_n(π(h)), the expected number of rows that both put into the same class, which is
an assignment problem. Hidden variables are taken one at a time, as r does not depend on how the states
of others are named.

Hidden variables that the graph treats alike may have changed places *as a whole*. Of all swaps
(`lacunary.model.swaps`) the one is taken for which the sum over variables of what renaming reaches is
highest. The best assignment of variables to variables is at least as good as every swap; where it is one
itself, as it is among variables with the same parents and children, nothing else need be tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import islice
from math import prod
from typing import Any

import numpy as np

from lacunary.errors import TooWideError
from lacunary.infer.rows import Rows
from lacunary.maths.arrays import Array, Integers
from lacunary.model.dag import Dag
from lacunary.model.swaps import Swaps

__all__ = ["Rename", "Swap", "aligned", "permutable", "relabelled"]

Swap = Mapping[int, int]
"""Which variable takes the place of which."""

Rename = Mapping[int, Sequence[int] | Integers]
"""Of some variables, which state each state was."""


MOST_SWAPS = 5000
"""Swaps that are tried one by one, where the best assignment of variables is none."""


def aligned(prepared: Rows, theta: Array, reference: int, like: Sequence[Array] = ()) -> Array:
    """Return parameter vectors with hidden variables and their states named as in one of them.

    Parameters
    ----------
    prepared
        The rows on which they are compared.
    theta
        One parameter vector a row; (starts, size).
    reference
        Which of them gives the names.
    like
        Vectors of the same layout that tell states apart, such as the hyperparameters of the prior: a
        permutation that would change one of them is not made; (size,) each.
    """
    names = _Names(prepared, like)
    out = theta.copy()
    if not names.free or len(theta) == 1:
        return out
    called = names.responsibilities(theta[reference])
    for start in range(len(theta)):
        if start != reference:
            out[start] = names.renamed(called, theta[start])
    return out


def permutable(dag: Dag) -> list[int]:
    """Return the hidden variables whose states can be renamed, as positions in the schema.

    Of families that share a table all must have the variable in the same place, or none: otherwise
    renaming would hit one of them that does not mean it.
    """
    shared: dict[int, list[int]] = {}
    for i, start in enumerate(dag.layout.start):
        shared.setdefault(start, []).append(i)

    def consistent(h: int) -> bool:
        seats = [
            {members.index(h) if h in (members := dag.layout.members[i]) else None for i in group}
            for group in shared.values()
        ]
        return all(len(seat) == 1 for seat in seats)

    return [h for h, v in enumerate(dag.schema) if v.hidden and v.size > 1 and consistent(h)]


def relabelled(dag: Dag, swap: Swap, rename: Rename, *, statistics: bool = False) -> Integers:
    """Return where each parameter is found after variables changed places and states their names.

    ``theta[places]`` is the vector in which variable v is what was ``swap[v]``, and state k of a variable is
    what was its state ``rename[v][k]``; what is not named stays. All places are −1 where families that
    share a table would disagree. With ``statistics`` places are those of a vector of statistics.
    """
    layout = dag.layout
    here = np.arange(layout.statistics_size if statistics else layout.size)
    view, places = layout.statistics if statistics else layout.records, np.full(len(here), -1)
    for i, size in enumerate(layout.sizes):
        own = slice(0 if size else 1, None)  # a continuous variable is no axis of its family
        members, strides, to = layout.members[i][own], layout.strides[i][own], swap.get(i, i)
        reach = dict(zip(layout.members[to], layout.strides[to], strict=True))
        shape = [layout.sizes[m] for m in members]
        grid = np.indices(shape).reshape(len(shape), prod(shape))
        mine, theirs = np.zeros((2, prod(shape)), dtype=np.int64)
        for m, stride, states in zip(members, strides, grid, strict=True):
            mine += stride * states
            theirs += reach[swap.get(m, m)] * np.array(rename.get(m, range(layout.sizes[m])))[states]
        if size:
            mine, theirs = layout.start[i] + mine, layout.start[to] + theirs
        else:
            mine, theirs = view(here, i)[mine].ravel(), view(here, to)[theirs].ravel()
        if np.any((places[mine] >= 0) & (places[mine] != theirs)):
            return np.full(len(here), -1)
        places[mine] = theirs
    return places


class _Fixed(dict[int, Any]):
    """A mapping that is not changed, and so can be looked up by."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


class _Names:
    """The rows, laid out so as to ask for the hidden variables under many parameter vectors."""

    def __init__(self, prepared: Rows, like: Sequence[Array]) -> None:
        self.dag, self.like = prepared.dag, like
        self.free = permutable(self.dag)
        self.asked = prepared.ask([[h] for h in self.free])
        self.edges = np.cumsum([0, *(self.dag.schema.sizes[h] for h in self.free)])
        self._known = lru_cache(maxsize=256)(partial(relabelled, self.dag))  # many vectors need the same few

    def _places(self, swap: Swap, rename: Rename, statistics: bool = False) -> Integers:
        """Return what `relabelled` says, once for every relabelling."""
        orders = ((h, tuple(map(int, order))) for h, order in rename.items())
        return self._known(_Fixed(swap.items()), _Fixed(orders), statistics=statistics)

    @cached_property
    def _swaps(self) -> Swaps | None:
        """Which hidden variables can change places; None if none can."""
        if any(v.hidden and not v.discrete for v in self.dag.schema):
            return None
        swaps = Swaps(self.dag)
        colors = [swaps.colors[v] for v in swaps.hidden]
        return swaps if len(set(colors)) < len(colors) else None

    def responsibilities(self, theta: Array) -> Array:
        """Return the posterior of every free variable in every distinct row, side by side; (rows, Σ states).

        Zeros where a row has probability zero.
        """
        return self.asked.posteriors(theta)

    def renamed(self, called: Array, theta: Array) -> Array:
        """Return parameters with names as in the reference, whose responsibilities are ``called``."""
        shared = (called * self.asked.weights[:, None]).T @ self.responsibilities(theta)
        image = self._image(shared)
        if any(v != w for v, w in image.items()):
            theta = theta[self._places(image, {})]
        for h in self.free:
            order, _ = self._order(shared, h, image.get(h, h))
            theta = theta[self._places({}, {h: order})]
        return theta

    def _order(self, shared: Array, mine: int, theirs: int) -> tuple[Integers, float]:
        """Return which of their states is which of mine, and how many rows then agree."""
        from scipy.optimize import linear_sum_assignment  # a fifth of a second, which few fits need

        a, b = self.free.index(mine), self.free.index(theirs)
        block = shared[self.edges[a] : self.edges[a + 1], self.edges[b] : self.edges[b + 1]]
        _, order = linear_sum_assignment(block, maximize=True)
        if not self._unseen({}, {mine: order}):
            order = np.arange(len(block))
        return order, float(block[np.arange(len(block)), order].sum())

    def _image(self, shared: Array) -> dict[int, int]:
        """Return the best swap: the image of every variable, or nothing where none can be swapped."""
        from scipy.optimize import linear_sum_assignment

        swaps = self._swaps
        if swaps is None:
            return {}
        stay = {v: v for v in swaps.families}
        alike = [v for v in swaps.hidden if v in self.free]
        value = np.full((len(alike), len(alike)), -np.inf)
        for a, v in enumerate(alike):
            for b, w in enumerate(alike):
                if swaps.colors[v] == swaps.colors[w]:
                    value[a, b] = self._order(shared, v, w)[1]
        _, best = linear_sum_assignment(value, maximize=True)
        image = stay | {v: alike[b] for v, b in zip(alike, best, strict=True)}
        if image in swaps and self._unkept(image):
            return image
        return max(
            self._others(), key=lambda s: sum(value[a, alike.index(s[v])] for a, v in enumerate(alike))
        )

    def _others(self) -> list[dict[int, int]]:
        """Return the swaps that nothing tells apart, so far as they can be listed; to stay is one."""
        assert self._swaps is not None
        found = [{v: v for v in self._swaps.families}]
        try:
            for image in islice(self._swaps, MOST_SWAPS):
                if self._unkept(image):
                    found.append(image)
        except TooWideError:  # what was found so far must do
            pass
        return found

    def _unkept(self, image: Mapping[int, int]) -> bool:
        """Whether nothing keeps variables in their places."""
        return self._unseen(image, {})

    def _unseen(self, swap: Swap, rename: Rename) -> bool:
        """Whether what tells states and variables apart does not notice that they are relabelled."""
        sizes = {len(v) for v in self.like}
        places = {n: self._places(swap, rename, n != self.dag.layout.size) for n in sizes}
        return all(np.array_equal(v[places[len(v)]], v, equal_nan=True) for v in self.like)
