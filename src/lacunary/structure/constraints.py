"""What a user allows: arcs that must be, arcs that must not be, tiers, and how many parents at most."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunary.budget import reserve
from lacunary.data.schema import Schema
from lacunary.errors import GraphError, ParameterError
from lacunary.family.registry import chosen_families
from lacunary.maths.arrays import Booleans
from lacunary.model.arrows import Arc, parse
from lacunary.model.dag import Dag
from lacunary.structure.score import Parents, allowed_arcs

__all__ = ["ArcsGiven", "Constraints"]

ArcsGiven = str | Iterable[str | Arc]
"""Arcs as pairs (from, to), as texts ``"A -> B"``, or as one text in the arrow notation."""

PAIR = 32
"""Bytes that every pair of variables takes in a search: arcs, ancestors, rules, gains."""


@dataclass(frozen=True, eq=False)
class Constraints:
    """Which graphs are looked for.

    Attributes
    ----------
    required
        Arcs every graph has, ``[parent, child]``; (n, n).
    free
        Arcs a graph may have, the required ones among them; (n, n).
    max_parents
        How many parents a variable may have.
    """

    schema: Schema
    required: Booleans
    free: Booleans
    max_parents: int

    @classmethod
    def of(
        cls,
        schema: Schema,
        *,
        required: ArcsGiven = (),
        forbidden: ArcsGiven = (),
        max_parents: int | None = None,
        tiers: Sequence[Sequence[str]] | None = None,
    ) -> Constraints:
        """Return the constraints that a user's words stand for; refuse those that contradict each other.

        ``tiers`` are groups of names from causes to effects: no arc goes from a later group to an
        earlier one. Variables in no group are free.
        """
        n = len(schema)
        reserve(PAIR * float(n) ** 2, f"a search over {n} variables", "leave variables out")
        must, must_not = _matrix(schema, required), _matrix(schema, forbidden)
        kinds, order = allowed_arcs(schema), _tiers(schema, tiers)
        constraints = cls(schema, must, kinds & order & ~must_not, _most(max_parents, n))
        if must.any():
            _refuse(schema, must & must_not, "is both required and forbidden; leave it out of one of them")
            why = "is required, but a discrete variable cannot have a continuous parent"
            _refuse(schema, must & ~kinds, why)
            _refuse(schema, must & ~order, "is required, but the tiers forbid it")
            constraints._check_required()
        return constraints

    def _check_required(self) -> None:
        """Refuse required arcs that make a cycle, or more parents than there may be."""
        many = np.flatnonzero(self.required.sum(axis=0) > self.max_parents)
        if many.size:
            name = self.schema.names[many[0]]
            raise GraphError(
                f"{name} has {int(self.required[:, many[0]].sum())} required parents, and max_parents is "
                f"{self.max_parents}; raise max_parents or require fewer arcs"
            )
        try:
            Dag.from_arcs(self.schema, _arcs(self.schema, self.required))
        except GraphError as problem:
            raise GraphError(f"the required arcs cannot all be: {problem}") from None

    def admit(self, structure: Sequence[Parents]) -> bool:
        """Whether a graph is one of those that are looked for, if it has no cycle."""
        free, most = self.free, self.max_parents
        return not self.required.any() and all(
            len(parents) <= most and all(free.item(parent, child) for parent in parents)
            for child, parents in enumerate(structure)
        )

    def start(self, dag: Dag | None) -> list[Parents]:
        """Return the parents of a search's first graph: the one given, with the required arcs put in."""
        n = len(self.schema)
        if dag is None and not self.required.any():
            return [()] * n
        known = dict(chosen_families(self.schema, None))
        for name, family in dag.family if dag is not None else ():
            if known.get(name) != family:
                raise GraphError(
                    f"{name} has the family {family!r} in the start, and not in the search; say so to it "
                    f"(family={{{name!r}: {family!r}}}), or start from the graph without families"
                )
        arcs = np.zeros((n, n), dtype=bool)
        for tail, head in dag.arcs if dag is not None else ():
            arcs[self.schema.index(tail), self.schema.index(head)] = True
        _refuse(self.schema, arcs & ~self.free, "is in the start, but forbidden")
        if (self.required & ~arcs).any():
            arcs |= self.required
            try:
                Dag.from_arcs(self.schema, _arcs(self.schema, arcs))
            except GraphError as problem:
                raise GraphError(f"the start and the required arcs do not go together: {problem}") from None
        many = np.flatnonzero(arcs.sum(axis=0) > self.max_parents)
        if many.size:
            raise GraphError(
                f"{self.schema.names[many[0]]} starts with {int(arcs[:, many[0]].sum())} parents, "
                f"and max_parents is {self.max_parents}"
            )
        parents: list[Parents] = [()] * n
        for child in np.flatnonzero(arcs.any(axis=0)):
            parents[child] = tuple(map(int, np.flatnonzero(arcs[:, child])))
        return parents


def _matrix(schema: Schema, given: ArcsGiven) -> Booleans:
    out = np.zeros((len(schema), len(schema)), dtype=bool)
    for tail, head in _pairs(given):
        if tail == head:
            raise GraphError(f"an arc cannot go from {tail} to itself")
        out[schema.index(tail), schema.index(head)] = True
    return out


def _pairs(given: Any) -> Iterable[Arc]:
    for item in (given,) if isinstance(given, str) else given:
        if isinstance(item, str):
            arrows = parse(item)
            if not arrows.arcs:
                raise GraphError(f"{item!r} has no arrow; write arcs as 'A -> B'")
            yield from arrows.arcs
        else:
            try:
                tail, head = item
            except (TypeError, ValueError):
                raise GraphError(f"{item!r} is no arc; write 'A -> B' or ('A', 'B')") from None
            yield tail, head


def _tiers(schema: Schema, tiers: Sequence[Sequence[str]] | None) -> Booleans:
    """Return which arcs do not go back from a later tier to an earlier one."""
    if not tiers:
        return np.ones((len(schema), len(schema)), dtype=bool)
    level = np.full(len(schema), np.nan)
    for number, group in enumerate(tiers):
        for name in (group,) if isinstance(group, str) else group:
            i = schema.index(name)
            if not np.isnan(level[i]):
                raise GraphError(f"{name} is in two tiers")
            level[i] = number
    return np.asarray(~(level[:, None] > level[None, :]))


def _most(max_parents: int | None, n: int) -> int:
    if max_parents is None:
        return max(n - 1, 0)
    if isinstance(max_parents, bool) or int(max_parents) != max_parents or max_parents < 0:
        raise ParameterError(f"max_parents must be a whole number, zero or more, not {max_parents!r}")
    return int(max_parents)


def _arcs(schema: Schema, matrix: Booleans) -> list[Arc]:
    return [(schema.names[i], schema.names[j]) for i, j in np.argwhere(matrix)]


def _refuse(schema: Schema, wrong: Booleans, why: str) -> None:
    for tail, head in _arcs(schema, wrong)[:1]:
        raise GraphError(f"{tail} -> {head} {why}")
