"""What a graph is made of: its variables, arcs, parameters, and how hard it is to reason with."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import prod
from typing import Any

from lacunary.data.schema import Label
from lacunary.infer.plan import junction_tree
from lacunary.model.dag import Dag

__all__ = ["Member", "Structure", "structure"]


@dataclass(frozen=True)
class Member:
    """One variable of a graph."""

    name: str
    kind: str
    states: tuple[Label, ...]
    hidden: bool
    parents: tuple[str, ...]


@dataclass(frozen=True)
class Structure:
    """The size of a graph.

    Attributes
    ----------
    variables
        Each with its states and parents.
    arcs
        How many.
    parameters
        Free parameters: Σ over distributions of (states − 1).
    largest_clique
        The variables of the largest clique of the junction tree when nothing is observed, and
    largest_clique_size
        how many configurations they have together: what exact inference has to add up.
    """

    variables: tuple[Member, ...]
    arcs: int
    parameters: int
    largest_clique: tuple[str, ...]
    largest_clique_size: int

    def to_dict(self) -> dict[str, Any]:
        """Return the structure as plain dictionaries, lists and numbers."""
        return asdict(self)


def structure(dag: Dag) -> Structure:
    """Return what a graph is made of."""
    discrete = [i for i, variable in enumerate(dag.schema) if variable.discrete]
    scopes = [(i, *(p for p in dag.parent_indices[i] if p in discrete)) for i in discrete]
    tree = junction_tree(scopes, dag.schema.sizes, range(len(dag.schema)))

    def size(clique: tuple[int, ...]) -> int:
        return prod(dag.schema.sizes[i] for i in clique)

    largest = max(tree.cliques, key=size, default=())
    return Structure(
        variables=tuple(
            Member(v.name, v.kind, v.states, v.hidden, parents)
            for v, parents in zip(dag.schema, dag.parents, strict=True)
        ),
        arcs=len(dag.arcs),
        parameters=dag.free,
        largest_clique=tuple(dag.names[i] for i in largest),
        largest_clique_size=size(largest),
    )
