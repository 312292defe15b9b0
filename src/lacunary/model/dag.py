"""Directed acyclic graphs over a schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lacunary.data.pickling import given_state
from lacunary.data.schema import Schema
from lacunary.data.wording import chained
from lacunary.errors import GraphError
from lacunary.family.leaf import LeafFamily
from lacunary.family.numeric import NumericFamily
from lacunary.family.protocol import Family, ImpliedTable
from lacunary.family.registry import DEFAULT, Families, Given, bound, check_families, chosen_families
from lacunary.model.arrows import Arc, write
from lacunary.model.layout import Layout
from lacunary.registry import borrow

__all__ = ["Arc", "Dag"]


@dataclass(frozen=True)
class Dag:
    """A schema, the parents of each of its variables, and their families. Acyclic by construction.

    A discrete variable has discrete parents only. The text of a graph (``str``) is its arrow notation.

    Attributes
    ----------
    schema
        The variables.
    parents
        For each variable, in the schema's order, the names of its parents, in the order in which
        its table is indexed.
    tied
        Groups of variables whose families share one table: their counts are added (CH96, note 3).
    family
        The variables whose family is not the default of their kind, each with its family's name; see
        `lacunary.family.registry`.

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("rain -> wet <- sprinkler; wet -> slip")
    >>> graph.parents_of("wet"), graph.children_of("wet")
    (('rain', 'sprinkler'), ('slip',))
    >>> print(graph.without(["slip"]))
    rain sprinkler -> wet
    """

    schema: Schema
    parents: tuple[tuple[str, ...], ...]
    tied: tuple[tuple[str, ...], ...] = ()
    family: Families = ()

    def __post_init__(self) -> None:
        if len(self.parents) != len(self.schema):
            raise GraphError(
                f"{len(self.schema)} variables need as many parent lists, not {len(self.parents)}"
            )
        for name, parents in zip(self.names, self.parents, strict=True):
            self._check_family(name, parents)
        cycle = _find_cycle(self.parent_indices)
        if cycle:
            raise GraphError(f"the arcs make a cycle: {chained([self.names[i] for i in cycle])}")
        self._check_tied()
        if self.family or any(variable.family for variable in self.schema):
            object.__setattr__(self, "family", chosen_families(self.schema, self.family))
            check_families(self.family, self.schema, self.arcs, self.tied)

    def __getstate__(self) -> dict[str, object]:
        # What follows from the fields, layouts of questions among it, is worked out again where it is needed.
        return given_state(self)

    def _check_family(self, name: str, parents: tuple[str, ...]) -> None:
        if name in parents:
            raise GraphError(f"{name} cannot be its own parent")
        if len(set(parents)) != len(parents):
            raise GraphError(f"{name} has a parent listed twice: {', '.join(parents)}")
        continuous = [parent for parent in parents if not self.schema[parent].discrete]
        if continuous and self.schema[name].discrete:
            raise GraphError(
                f"{continuous[0]} is continuous and cannot be a parent of {name}, which is discrete; "
                f"turn the arc round, {name} -> {continuous[0]}, or make {continuous[0]} discrete"
            )

    def _check_tied(self) -> None:
        seen: set[str] = set()
        for group in self.tied:
            families = ((name, *self.parents_of(name)) for name in group)
            if len({tuple(self.schema[member].size for member in family) for family in families}) > 1:
                raise GraphError(f"tied families need tables of one shape: {', '.join(group)}")
            for name in group:
                if name in seen:
                    raise GraphError(f"{name} is tied twice; name it in one group of tied families, once")
                seen.add(name)

    @classmethod
    def from_arcs(
        cls, schema: Schema, arcs: Iterable[Arc], *, tied: Iterable[Sequence[str]] = (), family: Given = None
    ) -> Dag:
        """Return the graph with these arcs, each a pair (from, to); parents keep the arcs' order."""
        parents: dict[str, list[str]] = {name: [] for name in schema.names}
        for tail, head in arcs:
            schema.index(tail)
            parents[schema[head].name].append(tail)
        chosen = chosen_families(schema, family)
        return cls(schema, tuple(map(tuple, parents.values())), tuple(map(tuple, tied)), chosen)

    @classmethod
    def from_parents(
        cls,
        schema: Schema,
        parents: Mapping[str, Sequence[str]],
        *,
        tied: Iterable[Sequence[str]] = (),
        family: Given = None,
    ) -> Dag:
        """Return the graph in which each named variable has these parents, and the others none."""
        for name in parents:
            schema.index(name)
        chosen = tuple(tuple(parents.get(name, ())) for name in schema.names)
        return cls(schema, chosen, tuple(map(tuple, tied)), chosen_families(schema, family))

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names, in the schema's order."""
        return self.schema.names

    @cached_property
    def arcs(self) -> tuple[Arc, ...]:
        """All arcs (from, to), by child and then by parent."""
        return tuple((p, name) for name, ps in zip(self.names, self.parents, strict=True) for p in ps)

    @cached_property
    def parent_indices(self) -> tuple[tuple[int, ...], ...]:
        """The parents of each variable as positions in the schema."""
        return tuple(tuple(self.schema.index(p) for p in ps) for ps in self.parents)

    @cached_property
    def child_indices(self) -> tuple[tuple[int, ...], ...]:
        """The children of each variable as positions in the schema, in increasing order."""
        children: list[list[int]] = [[] for _ in self.names]
        for child, ps in enumerate(self.parent_indices):
            for p in ps:
                children[p].append(child)
        return tuple(map(tuple, children))

    @cached_property
    def layout(self) -> Layout:
        """Where each family lies in the flat vector of parameters."""
        tied = tuple(tuple(self.schema.index(name) for name in group) for group in self.tied)
        widths = [
            (f.parameters, f.statistics, f.potentials) if isinstance(f, NumericFamily) else (0, 0, 0)
            for f in (self.families if self.family else ())
        ]
        return Layout.of(self.schema.sizes, self.parent_indices, tied, widths or None)

    @cached_property
    def families(self) -> tuple[Family, ...]:
        """The local model of each variable; see `lacunary.family.protocol`."""
        chosen, variables = dict(self.family), self.schema.variables
        return tuple(
            bound(chosen.get(v.name, DEFAULT[v.kind]), v, [variables[p] for p in parents])
            for v, parents in zip(variables, self.parent_indices, strict=True)
        )

    def number(self, i: int) -> NumericFamily:
        """Return the family of a continuous variable, by its place."""
        family = self.families[i]
        assert isinstance(family, NumericFamily)
        return family

    @cached_property
    def numeric(self) -> tuple[tuple[int, NumericFamily], ...]:
        """The families behind the tables, one for every block, each with its variable's place."""
        return tuple((i, self.number(i)) for i in self.layout.numeric)

    @cached_property
    def leaves(self) -> tuple[tuple[int, LeafFamily], ...]:
        """Those among `numeric` that are taken as leaves."""
        return tuple((i, family) for i, family in self.numeric if isinstance(family, LeafFamily))

    @cached_property
    def implied(self) -> tuple[tuple[int, ImpliedTable], ...]:
        """The tables that fewer parameters imply, one for every block, each with its variable's place."""
        found = ((i, self.families[i]) for i in self.layout.blocks) if self.family else ()
        return tuple((i, family) for i, family in found if isinstance(family, ImpliedTable))

    @cached_property
    def continuous(self) -> tuple[int, ...]:
        """Where the continuous variables stand in the schema."""
        return tuple(i for i, size in enumerate(self.schema.sizes) if not size)

    @cached_property
    def discrete(self) -> Dag:
        """The graph of the discrete variables alone, whose tables take the same places in the layout."""
        if not self.continuous:
            return self
        schema = Schema(tuple(variable for variable in self.schema if variable.discrete))
        parents = tuple(self.parents_of(name) for name in schema.names)
        tied = tuple(group for group in self.tied if group[0] in schema)
        return Dag(schema, parents, tied, tuple(pair for pair in self.family if pair[0] in schema))

    def family_of(self, name: str) -> str:
        """Return the name of a variable's family."""
        return dict(self.family).get(name, DEFAULT[self.schema[name].kind])

    @cached_property
    def free(self) -> int:
        """Number of free parameters, those of tied families counted once."""
        if not self.family:
            return self.layout.free
        return sum(self.families[i].free for i in (*self.layout.blocks, *self.layout.numeric))

    def parents_of(self, name: str) -> tuple[str, ...]:
        """Return the parents of one variable."""
        return self.parents[self.schema.index(name)]

    def children_of(self, name: str) -> tuple[str, ...]:
        """Return the children of one variable."""
        return tuple(self.names[child] for child in self.child_indices[self.schema.index(name)])

    def ancestors(self, variables: Iterable[int]) -> set[int]:
        """Return these variables and all that is above them, as positions in the schema."""
        found = set(variables)
        for i in reversed(self.order_indices):
            if i in found:
                found.update(self.parent_indices[i])
        return found

    def ancestors_of(self, name: str) -> tuple[str, ...]:
        """Return all variables from which arcs lead to this one, by one step or several."""
        i = self.schema.index(name)
        return self._named(self.ancestors({i}) - {i})

    def descendants_of(self, name: str) -> tuple[str, ...]:
        """Return all variables to which arcs lead from this one, by one step or several."""
        i = self.schema.index(name)
        found = {i}
        for node in self.order_indices:
            if node in found:
                found.update(self.child_indices[node])
        return self._named(found - {i})

    def markov_blanket_of(self, name: str) -> tuple[str, ...]:
        """Return parents, children and the children's other parents: given these nothing else tells of it."""
        i = self.schema.index(name)
        children = self.child_indices[i]
        spouses = {p for child in children for p in self.parent_indices[child]}
        return self._named((spouses | set(children) | set(self.parent_indices[i])) - {i})

    def _named(self, places: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.names[i] for i in sorted(places))

    def without(self, names: Iterable[str]) -> Dag:
        """Return the graph without these variables and their arcs; families are no longer tied."""
        gone = {self.schema[name].name for name in names}
        schema = Schema(tuple(v for v in self.schema if v.name not in gone))
        kept = {name: [p for p in self.parents_of(name) if p not in gone] for name in schema.names}
        family = [pair for pair in self.family if pair[0] not in gone]
        return Dag.from_parents(schema, kept, family=family)

    def to_networkx(self) -> Any:
        """Return it as a ``DiGraph`` of networkx, states and kinds on the nodes."""
        return borrow("graph for networkx")(self)

    def to_modelstring(self) -> str:
        """Return it as R's bnlearn writes graphs: ``[A][B|A]``."""
        return str(borrow("graph for bnlearn")(self))

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The variables with every parent before its children; otherwise as in the schema."""
        return tuple(self.names[i] for i in self.order_indices)

    @cached_property
    def order_indices(self) -> tuple[int, ...]:
        """`order`, as positions in the schema."""
        waiting = [len(ps) for ps in self.parent_indices]
        ready = [i for i, count in enumerate(waiting) if count == 0]
        order: list[int] = []
        for i in ready:
            order.append(i)
            for child in self.child_indices[i]:
                waiting[child] -= 1
                if waiting[child] == 0:
                    ready.append(child)
        return tuple(order)

    def __str__(self) -> str:
        return write(self.names, self.parents)

    def drawing(self, strengths: Mapping[Arc, float] | None = None, *, title: str = "Graph") -> Any:
        """Return the graph as a drawing: SVG, as text that shows itself in a notebook and has ``save(path)``.

        ``strengths`` make strong arcs thicker, as a search's result has them.
        """
        return borrow("graph as a drawing")(self, strengths, title=title)

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def __repr__(self) -> str:
        return f"<Dag: {len(self.names)} variables, {len(self.arcs)} arcs>"


def _find_cycle(parents: Sequence[Sequence[int]]) -> list[int]:
    """Return the nodes of some directed cycle, the first repeated at the end; empty if there is none."""
    state = [0] * len(parents)  # 0 unseen, 1 on the path, 2 done
    for root in range(len(parents)):
        if state[root]:
            continue
        path, iterators = [root], [iter(parents[root])]
        state[root] = 1
        while path:
            step = next(iterators[-1], None)
            if step is None:
                state[path.pop()] = 2
                iterators.pop()
            elif state[step] == 1:
                return [*path[path.index(step) :], step][::-1]
            elif state[step] == 0:
                state[step] = 1
                path.append(step)
                iterators.append(iter(parents[step]))
    return []
