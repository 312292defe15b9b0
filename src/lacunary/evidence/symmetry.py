"""How many parameter vectors say the same, because nobody sees what hidden states and variables are called.

Renaming the k states of a hidden variable gives k! of them, and hidden variables that stand in the same
place of the graph can be swapped. A generic peak of the posterior thus comes with that many equal ones,
provided that the prior does not tell them apart: priors that give all states of a hidden variable the
same hyperparameters, as the uniform ones do, do not. (Where a swap would turn arcs between hidden
variables round, new parameters can make up for it, but they are not the old ones in another order and
most priors do tell them apart: such swaps are not counted.)
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import lgamma, log

import numpy as np

from lacunary.errors import ParameterError, TooWideError
from lacunary.infer.belief import Belief
from lacunary.model.dag import Dag

__all__ = ["check_symmetric", "log_symmetry"]

BUDGET = 200_000
"""Steps that the search for swaps may take."""


def log_symmetry(dag: Dag) -> float:
    """Return the log of the number of relabellings that leave the observable distribution as it is.

    They are the renamings of each hidden variable's states, and the permutations of hidden variables
    with equally many states that keep every arc. Variables with one state count for nothing, nor do
    hidden ones without observed descendants: their posterior is their prior, with one peak. Where
    tied families share a table, only relabellings that do the same to both are possible.
    """
    graph = _Graph(dag)
    return graph.log_renamings() + graph.log_swaps()


def check_symmetric(belief: Belief) -> None:
    """Refuse a belief that tells a hidden variable's states apart: relabelled peaks are not equal then."""
    layout, schema = belief.dag.layout, belief.dag.schema
    for name in schema.hidden:
        v = schema.index(name)
        for i, members in enumerate(layout.members):
            if v not in members:
                continue
            table = belief.alpha[layout.slice(i)].reshape([layout.sizes[m] for m in members])
            axis = members.index(v)
            if not np.allclose(table, table.mean(axis=axis, keepdims=True), rtol=1e-9, atol=0.0):
                raise ParameterError(
                    f"the prior tells the states of {name} apart, so that peaks with its states renamed are "
                    "not equally high and cannot be counted; leave symmetry out, or use a prior such as "
                    "Dirichlet(1) or bdeu(1)"
                )


class _Graph:
    """The variables that matter, as a directed graph in which observed ones cannot move."""

    def __init__(self, dag: Dag) -> None:
        self.dag, sizes = dag, dag.schema.sizes
        hidden = {dag.schema.index(name) for name in dag.schema.hidden}
        seen: set[int] = set()  # observed variables, and those with observed descendants
        for v in reversed(dag.order_indices):
            if v not in hidden or any(child in seen for child in dag.child_indices[v]):
                seen.add(v)
        kept = {v for v in range(len(sizes)) if v in seen and sizes[v] > 1}
        self.families = {v: tuple(m for m in dag.layout.members[v] if m in kept) for v in sorted(kept)}
        self.arcs = {(p, v) for v, members in self.families.items() for p in members[1:]}
        self.hidden = sorted(kept & hidden)
        names = [[dag.schema.index(name) for name in group] for group in dag.tied]
        self.tied = [[v for v in group if v in self.families] for group in names]
        self.steps = 0

    def log_renamings(self) -> float:
        """Σ log k!, where hidden variables that tied tables hold together are renamed together."""
        leader = {v: v for v in self.families}

        def find(v: int) -> int:
            while leader[v] != v:
                v = leader[v]
            return v

        for group in self.tied:
            for one, other in pairwise(group):
                for a, b in zip(self.families[one], self.families[other], strict=True):
                    leader[find(a)] = find(b)
        fixed = {find(v) for v in self.families if v not in self.hidden}
        moving = {find(v) for v in self.hidden} - fixed
        return sum(lgamma(self.dag.schema.sizes[v] + 1) for v in moving)

    def log_swaps(self) -> float:
        """Log of the number of automorphisms that fix observed variables, by orbits and stabilisers.

        It is the product over hidden variables of the number of images a variable can have once all
        those before it are held in place.
        """
        colors = self._colors()
        total, held = 0.0, {v: v for v in self.families if v not in self.hidden}
        for v in self.hidden:
            images = [w for w in self.hidden if colors[w] == colors[v] and w not in held]
            total += log(sum(self._extends(held, v, w, colors) for w in images))
            held[v] = v
        return total

    def _colors(self) -> dict[int, int]:
        """Colour the variables so that no automorphism moves one onto another colour."""
        sizes = self.dag.schema.sizes
        colors = {v: -1 - v if v not in self.hidden else sizes[v] for v in self.families}
        while True:
            looks = {
                v: (
                    colors[v],
                    tuple(sorted(colors[p] for p in self.families[v][1:])),
                    tuple(sorted(colors[c] for c in self.dag.child_indices[v] if c in self.families)),
                )
                for v in self.families
            }
            names = {look: i for i, look in enumerate(sorted(set(looks.values())))}
            if len(names) == len(set(colors.values())):
                return colors
            colors = {v: names[look] for v, look in looks.items()}

    def _extends(self, held: dict[int, int], v: int, w: int, colors: dict[int, int]) -> bool:
        """Whether some automorphism does what ``held`` says and moves v to w."""
        self.steps += 1
        if self.steps > BUDGET:
            raise TooWideError(
                f"counting the swaps of {len(self.hidden)} hidden variables took more than {BUDGET} steps"
            )
        if not self._fits(held, v, w):
            return False
        moved = held | {v: w}
        left = [u for u in self.hidden if u not in moved]
        if not left:
            return self._keeps_ties(moved)
        taken = set(moved.values())
        choices = [u for u in self.hidden if colors[u] == colors[left[0]] and u not in taken]
        return any(self._extends(moved, left[0], u, colors) for u in choices)

    def _fits(self, held: dict[int, int], v: int, w: int) -> bool:
        """Whether v's arcs from and to the variables placed so far are w's."""
        return all(
            ((v, u) in self.arcs) == ((w, image) in self.arcs)
            and ((u, v) in self.arcs) == ((image, w) in self.arcs)
            for u, image in held.items()
        )

    def _keeps_ties(self, moved: dict[int, int]) -> bool:
        """Whether families that share a table go to families that share one, turned in the same way."""
        groups = {frozenset(group) for group in self.tied if len(group) > 1}
        for group in self.tied:
            if len(group) > 1 and frozenset(moved[v] for v in group) not in groups:
                return False
            if len({self._turn(v, moved) for v in group}) > 1:
                return False
        return True

    def _turn(self, v: int, moved: dict[int, int]) -> Sequence[int]:
        """Return which axis of the image's table each axis of v's table becomes."""
        image = self.families[moved[v]]
        return tuple(image.index(moved[m]) for m in self.families[v])
