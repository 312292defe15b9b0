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

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import islice

import numpy as np

from lacunary.errors import TooWideError
from lacunary.infer.rows import Rows
from lacunary.maths.arrays import Array, Integers
from lacunary.model.dag import Dag
from lacunary.model.swaps import Swaps

__all__ = ["aligned", "permutable", "permuted_places", "swapped_places"]


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


def permuted_places(dag: Dag, variable: int, order: Integers, *, statistics: bool = False) -> Integers:
    """Return where each parameter is found if state k of a variable is what was state ``order[k]``.

    ``theta[places]`` is then the permuted vector. The variable is moved in its own table and in those
    of its children. With ``statistics`` places are those of a vector of statistics.
    """
    places = np.arange(dag.layout.statistics_size if statistics else dag.layout.size)
    tables = _tables(dag, statistics)
    for where, members, shape in (tables[i] for i in _first(dag)):
        if variable in members:
            table = places[where].reshape(shape)
            places[where] = np.take(table, order, axis=members.index(variable)).reshape(-1)
    return places


def swapped_places(dag: Dag, image: Mapping[int, int], *, statistics: bool = False) -> Integers:
    """Return where each parameter is found if variable v is what was variable ``image[v]``, a swap."""
    here = np.arange(dag.layout.statistics_size if statistics else dag.layout.size)
    places, tables = here.copy(), _tables(dag, statistics)
    for i in _first(dag):
        where, members, _ = tables[i]
        there, source, shape = tables[image[i]]
        axes = [source.index(image[m]) for m in members]
        rest = range(len(axes), len(shape))  # the numbers of a regression stay as they are
        places[where] = here[there].reshape(shape).transpose([*axes, *rest]).reshape(-1)
    return places


def _first(dag: Dag) -> tuple[int, ...]:
    """Return one family for every table and regression: of those that share one, the first."""
    return (*dag.layout.blocks, *dag.layout.numeric)


def _tables(dag: Dag, statistics: bool) -> dict[int, tuple[slice, tuple[int, ...], list[int]]]:
    """Return for every family its places, the variables that are axes there, and its shape.

    A discrete family has itself and its parents for axes; a continuous one its discrete parents, and then
    so many numbers.
    """
    layout, out = dag.layout, {}
    for i, size in enumerate(layout.sizes):
        members = layout.members[i] if size else layout.members[i][1:]
        shape = [layout.sizes[m] for m in members]
        where = layout.slice(i)
        if not size:
            shape.append(layout.widths[i][1 if statistics else 0])
            where = layout.statistics_slice(i) if statistics else where
        out[i] = (where, members, shape)
    return out


class _Names:
    """The rows, laid out so as to ask for the hidden variables under many parameter vectors."""

    def __init__(self, prepared: Rows, like: Sequence[Array]) -> None:
        self.dag, self.like = prepared.dag, like
        self.free = permutable(self.dag)
        self.asked = prepared.ask([[h] for h in self.free])
        self.edges = np.cumsum([0, *(self.dag.schema.sizes[h] for h in self.free)])

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
            theta = theta[swapped_places(self.dag, image)]
        for h in self.free:
            order, _ = self._order(shared, h, image.get(h, h))
            theta = theta[permuted_places(self.dag, h, order)]
        return theta

    def _order(self, shared: Array, mine: int, theirs: int) -> tuple[Integers, float]:
        """Return which of their states is which of mine, and how many rows then agree."""
        from scipy.optimize import linear_sum_assignment  # a fifth of a second, which few fits need

        a, b = self.free.index(mine), self.free.index(theirs)
        block = shared[self.edges[a] : self.edges[a + 1], self.edges[b] : self.edges[b + 1]]
        _, order = linear_sum_assignment(block, maximize=True)
        if not self._unseen(lambda squared: permuted_places(self.dag, mine, order, statistics=squared)):
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
        return self._unseen(lambda squared: swapped_places(self.dag, image, statistics=squared))

    def _unseen(self, places: Callable[[bool], Integers]) -> bool:
        """Whether what tells states and variables apart does not notice a permutation."""
        size = self.dag.layout.size
        return all(np.array_equal(v[places(len(v) != size)], v, equal_nan=True) for v in self.like)
