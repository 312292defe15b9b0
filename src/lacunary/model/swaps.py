"""Hidden variables that can change places, because the graph treats them alike.

A *swap* is a permutation of the hidden variables that keeps every arc, the numbers of states and the
families that share a table, and leaves observed variables where they are: an automorphism of the graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import log

from lacunary.errors import TooWideError
from lacunary.model.dag import Dag

__all__ = ["Swaps"]

BUDGET = 200_000
"""Steps that the search for swaps may take."""


class Swaps:
    """The swaps of a graph, or of some of its variables with the arcs between them.

    Attributes
    ----------
    families
        For each variable, itself and its parents, as positions in the schema.
    hidden
        The variables that can move.
    tied
        Families that share a table.
    """

    def __init__(self, dag: Dag, among: Iterable[int] | None = None) -> None:
        kept = set(range(len(dag.schema)) if among is None else among)
        self.sizes = dag.schema.sizes
        self.families = {v: tuple(m for m in dag.layout.members[v] if m in kept) for v in sorted(kept)}
        self.hidden = [v for v in self.families if dag.schema.variables[v].hidden]
        groups = ([dag.schema.index(name) for name in group] for group in dag.tied)
        self.tied = [[v for v in group if v in kept] for group in groups]
        self._arcs = {(p, v) for v, members in self.families.items() for p in members[1:]}
        self._children = {v: [c for c in dag.child_indices[v] if c in kept] for v in self.families}
        self._fixed = {v: v for v in self.families if v not in self.hidden}
        self._steps = 0
        self.colors = self._colored()

    def __iter__(self) -> Iterator[dict[int, int]]:
        """Go over all swaps, each as the image of every variable."""
        return self._extended(self._fixed)

    def __contains__(self, image: object) -> bool:
        """Tell whether images of the variables make a swap."""
        if not isinstance(image, Mapping) or sorted(image.values()) != sorted(self.families):
            return False
        moved = {**self._fixed, **image}
        alike = all(self.colors[v] == self.colors[w] for v, w in moved.items())
        arcs = {(moved[p], moved[v]) for p, v in self._arcs}
        return alike and arcs == self._arcs and self._keeps_ties(moved)

    def log_count(self) -> float:
        """Return the log of the number of swaps, by orbits and stabilisers.

        It is the product over hidden variables of the number of images a variable can have once all
        those before it are held in place.
        """
        total, held = 0.0, dict(self._fixed)
        for v in self.hidden:
            images = [w for w in self.hidden if self.colors[w] == self.colors[v] and w not in held]
            total += log(sum(self._can(held, v, w) for w in images))
            held[v] = v
        return total

    def _colored(self) -> dict[int, int]:
        """Colour the variables so that no swap moves one onto another colour."""
        colors = {v: self.sizes[v] if v in self.hidden else -1 - v for v in self.families}
        while True:
            seen = {
                v: (
                    colors[v],
                    tuple(sorted(colors[p] for p in self.families[v][1:])),
                    tuple(sorted(colors[c] for c in self._children[v])),
                )
                for v in self.families
            }
            names = {each: i for i, each in enumerate(sorted(set(seen.values())))}
            if len(names) == len(set(colors.values())):
                return colors
            colors = {v: names[each] for v, each in seen.items()}

    def _can(self, held: dict[int, int], v: int, w: int) -> bool:
        """Whether some swap does what ``held`` says and moves v to w."""
        return self._fits(held, v, w) and next(self._extended(held | {v: w}), None) is not None

    def _extended(self, held: dict[int, int]) -> Iterator[dict[int, int]]:
        """Go over the swaps that do what ``held`` says."""
        v = next((u for u in self.hidden if u not in held), None)
        if v is None:
            if self._keeps_ties(held):
                yield held
            return
        taken = set(held.values())
        for w in (u for u in self.hidden if self.colors[u] == self.colors[v] and u not in taken):
            if self._fits(held, v, w):
                yield from self._extended(held | {v: w})

    def _fits(self, held: dict[int, int], v: int, w: int) -> bool:
        """Whether v's arcs from and to the variables placed so far are w's."""
        self._steps += 1
        if self._steps > BUDGET:
            raise TooWideError(
                f"searching the swaps of {len(self.hidden)} hidden variables took more than {BUDGET} steps"
            )
        return all(
            ((v, u) in self._arcs) == ((w, image) in self._arcs)
            and ((u, v) in self._arcs) == ((image, w) in self._arcs)
            for u, image in held.items()
        )

    def _keeps_ties(self, moved: Mapping[int, int]) -> bool:
        """Whether families that share a table go to families that share one, turned in the same way."""
        groups = {frozenset(group) for group in self.tied if len(group) > 1}
        for group in self.tied:
            if len(group) > 1 and frozenset(moved[v] for v in group) not in groups:
                return False
            if len({self._turn(v, moved) for v in group}) > 1:
                return False
        return True

    def _turn(self, v: int, moved: Mapping[int, int]) -> Sequence[int]:
        """Return which axis of the image's table each axis of v's table becomes."""
        image = self.families[moved[v]]
        return tuple(image.index(moved[m]) for m in self.families[v])
