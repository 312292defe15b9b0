"""Scores of leaf families, such as counts, beside those of tables and regressions."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import reserve
from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.errors import ParameterError, TableError
from lacunary.family.leaf import LeafFamily
from lacunary.family.numeric import Units
from lacunary.family.registry import bound, family_class
from lacunary.maths.arrays import Array
from lacunary.structure.score import FamilyScore, Parents, allowed_arcs, toggle

__all__ = ["WithLeaves", "leaf_names", "leaf_terms"]


def leaf_names(schema: Schema) -> list[str]:
    """Return the variables whose families are leaves; refuse those that no search can weigh."""
    found = [variable for variable in schema if family_class(variable).leaf]
    for variable in found:
        family = family_class(variable)
        if not family.conjugate:
            raise ParameterError(
                f"{variable.name} is {family.phrase}, and a search weighs conjugate families alone; leave "
                "the column, or its family, out"
            )
    return [variable.name for variable in found]


class WithLeaves:
    """A score of all other variables, and of leaves given their discrete parents.

    Parameters
    ----------
    schema
        All variables.
    others
        The score of the variables that are no leaves, in the schema's order; None if there are none.
    codes
        Configurations of the discrete variables, over all variables; (k, variables).
    statistics
        Of each leaf, by its place, in each of them, and the mean of its column; (k, statistics).
    criterion, size
        "bd", the evidence, or "bic", with so many rows in all.
    constant
        By leaf, what is added to its terms whatever the parents.
    """

    def __init__(
        self,
        schema: Schema,
        others: FamilyScore | None,
        codes: NDArray[np.signedinteger],
        statistics: Mapping[int, tuple[Array, float]],
        criterion: Literal["bd", "bic"],
        size: float,
        constant: Mapping[int, float] | None = None,
    ) -> None:
        self.variables, self.allowed, self.schema = len(schema), allowed_arcs(schema), schema
        self.criterion, self.constant = criterion, constant or {}
        self._others, self._codes, self._statistics = others, codes.astype(np.int64), statistics
        self._where = np.array([i for i in range(len(schema)) if i not in statistics], dtype=np.int64)
        self._place = {int(v): k for k, v in enumerate(self._where)}
        self._charge = 0.5 * np.log(size)

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        if not all(self.allowed[p, child] for p in parents):
            return -np.inf
        if child in self._statistics:
            return self._leaf(child, parents)
        assert self._others is not None
        return self._others.family(self._place[child], tuple(self._place[p] for p in parents))

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        out = np.full(self.variables, -np.inf)
        if child in self._statistics:
            for other in np.flatnonzero(self.allowed[:, child]):
                out[other] = self._leaf(child, toggle(parents, int(other)))
            return out
        assert self._others is not None
        mine = tuple(self._place[p] for p in parents)
        out[self._where] = self._others.toggled(self._place[child], mine)
        return out

    def _leaf(self, child: int, parents: Parents) -> float:
        variables = self.schema.variables
        family = leaf_of(self.schema, child, parents)
        each, typical = self._statistics[child]
        sizes = [variables[p].size for p in parents]
        place = np.zeros(len(self._codes), dtype=np.int64)
        for p, size in zip(parents, sizes, strict=True):
            place = place * size + self._codes[:, p]
        needed = 8.0 * prod(sizes) * family.statistics
        reserve(needed, f"{variables[child].name} given {len(parents)} parents", "give max_parents=")
        found = np.zeros((prod(sizes), family.statistics))
        np.add.at(found, place, each)
        constant = self.constant.get(child, 0.0)
        if self.criterion == "bic":
            best = family.maximum_likelihood(found)
            return float(family.log_likelihood(best, found) + constant - self._charge * family.free)
        none = np.empty(0)
        hyper = family.believed_inside(family.prior(none), Units(none, none, typical))
        return float(family.log_evidence(hyper, 0.0, found).sum()) + constant


def leaf_of(schema: Schema, child: int, parents: Parents) -> LeafFamily:
    """Return the family of a leaf with these parents."""
    variables = schema.variables
    name = variables[child].family
    assert name is not None
    family = bound(name, variables[child], [variables[p] for p in parents])
    assert isinstance(family, LeafFamily)
    return family


def leaf_terms(table: Table, others: FamilyScore | None, criterion: Literal["bd", "bic"]) -> WithLeaves:
    """Return the score of a table without holes, but for those of leaves, which say nothing."""
    schema, statistics, constant = table.schema, {}, {}
    for name in leaf_names(schema):
        i = schema.index(name)
        family, x = leaf_of(schema, i, ()), table.reals[:, i]
        wrong = x[~np.isnan(x) & ~family.is_value(x)]
        if len(wrong):
            raise TableError(f"{name} {family.no_value(float(wrong[0]))}")
        each = np.zeros((len(x), family.statistics))
        family.gather(np.nan_to_num(x)[:, None], np.arange(len(x)), table.weights * ~np.isnan(x), each)
        seen = ~np.isnan(x) & (table.weights > 0)
        typical = float(np.average(x[seen], weights=table.weights[seen])) if seen.any() else 1.0
        statistics[i] = each, typical or 1.0
        constant[i] = float(family.log_base(x)[seen] @ table.weights[seen])
    return WithLeaves(schema, others, table.codes, statistics, criterion, table.size, constant)
