"""Derivatives of a factor of the observable distribution by the entries of its tables, over any field.

A factor is F(x) = Σ over hidden h of Π θ, a sum of products. The junction tree works it out for many rows
at once, and going down again its derivatives: reverse accumulation, without any division, so that it
holds modulo a prime as well as in floating point.

A row need not be a configuration x. An observed variable may be *soft*: a row then gives it a weight for
each state and it is summed over, Σ_x Π c_i(x_i) F(x). Or *fixed*: a row gives it a state.
Arrays carry the rows on their last axis.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.plan import JunctionTree, junction_tree
from lacunary.maths.arrays import Integers
from lacunary.maths.prime import Field
from lacunary.model.layout import Layout
from lacunary.rank.district import District

__all__ = ["Contraction", "Evidence"]


@dataclass(frozen=True)
class Evidence:
    """What rows say of the observed variables.

    Attributes
    ----------
    rows
        How many there are.
    weights
        For each soft variable, the weight of every state; (states, rows).
    states
        For each fixed variable, its state; (rows,).
    """

    rows: int
    weights: Mapping[int, NDArray[Any]]
    states: Mapping[int, Integers]

    def part(self, rows: slice) -> Evidence:
        """Return some of the rows."""
        count = len(range(*rows.indices(self.rows)))
        weights = {i: weight[:, rows] for i, weight in self.weights.items()}
        return Evidence(count, weights, {i: state[rows] for i, state in self.states.items()})


@dataclass(frozen=True)
class _Clique:
    """What is multiplied in one clique: families and soft variables by position, and cliques below it."""

    members: tuple[int, ...]
    separator: tuple[int, ...]
    families: tuple[int, ...]
    weights: tuple[int, ...]
    children: tuple[int, ...]


@dataclass(frozen=True)
class Contraction:
    """A district with its observed variables sorted into soft and fixed, and the tree to sum it by."""

    district: District
    layout: Layout
    soft: frozenset[int]

    @property
    def fixed(self) -> tuple[int, ...]:
        """The observed variables that a row gives a state."""
        return tuple(i for i in self.district.observed if i not in self.soft)

    @cached_property
    def scopes(self) -> list[tuple[int, ...]]:
        """The variables summed over in each family, in the order of the schema, then each soft one alone."""
        summed = self.district.hidden | self.soft
        families = [summed.intersection(self.layout.members[i]) for i in self.district.families]
        return [tuple(sorted(family)) for family in families] + [(i,) for i in sorted(self.soft)]

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree over hidden and soft variables; cliques list them in the order of the schema."""
        return junction_tree(self.scopes, self.layout.sizes, range(len(self.layout.sizes)))

    @cached_property
    def cells(self) -> float:
        """Number of clique configurations: what a row costs."""
        return sum(math.prod(map(float, self._shape(clique))) for clique in self.tree.cliques)

    def slopes(
        self, field: Field, tables: Sequence[NDArray[Any]], evidence: Evidence
    ) -> tuple[NDArray[Any], list[NDArray[Any]]]:
        """Return the factor at every row, and its derivatives by the entries of each family's table.

        Parameters
        ----------
        tables
            For each family of the district, its table, (states, configurations).

        Returns
        -------
        values, slopes
            (rows,), and for each family (states, configurations, rows).
        """
        families = self.district.families
        given = [self._take(i, table, evidence) for i, table in zip(families, tables, strict=True)]
        given += [evidence.weights[i] for i in sorted(self.soft)]
        messages = self._up(field, given)
        slopes = self._down(field, given, messages, evidence.rows)
        whole = [self._put(i, slope, evidence) for i, slope in zip(families, slopes, strict=True)]
        return np.broadcast_to(messages[-1], (evidence.rows,)), whole

    @cached_property
    def _cliques(self) -> list[_Clique]:
        """The cliques, parents first, and last an empty one above all roots.

        In the tree −1 stands for no parent and no home: here that is the last clique.
        """
        tree, families = self.tree, len(self.district.families)
        count = len(tree.cliques) + 1
        factors: list[list[int]] = [[] for _ in range(count)]
        for factor, home in enumerate(tree.home):
            factors[home].append(factor)
        children: list[list[int]] = [[] for _ in range(count)]
        for child, parent in enumerate(tree.parent):
            children[parent].append(child)
        return [
            _Clique(
                members,
                separator,
                tuple(f for f in own if f < families),
                tuple(f for f in own if f >= families),
                tuple(below),
            )
            for members, separator, own, below in zip(
                (*tree.cliques, ()), (*tree.separators, ()), factors, children, strict=True
            )
        ]

    def _up(self, field: Field, given: list[NDArray[Any]]) -> list[NDArray[Any]]:
        """Return what each clique tells its parent; last the value of the whole."""
        messages = [np.empty(0)] * len(self._cliques)
        last = len(self._cliques) - 1
        for c in (*range(last - 1, -1, -1), last):
            clique = self._cliques[c]
            factors = self._factors(clique, given, messages, (*clique.families, *clique.weights))
            product = _product(field, factors)
            messages[c] = self._onto(field, clique, product, clique.separator, product.shape[-1])
        return messages

    def _down(
        self, field: Field, given: list[NDArray[Any]], messages: list[NDArray[Any]], rows: int
    ) -> list[NDArray[Any]]:
        """Return the derivative by each family's table, over the open variables of the family."""
        above = [np.ones(1, dtype=messages[-1].dtype)] * len(self._cliques)
        slopes = [np.empty(0)] * len(self.district.families)
        for c in (len(self._cliques) - 1, *range(len(self._cliques) - 1)):
            clique = self._cliques[c]
            factors = self._factors(clique, given, messages, clique.families)
            weights = [self._spread(given[w], self.scopes[w], clique) for w in clique.weights]
            # what nobody asks the derivative by goes with what comes from above
            constant = _product(field, [self._spread(above[c], clique.separator, clique), *weights])
            others = _all_but_one(field, factors, constant)
            for f, other in zip(clique.families, others, strict=False):
                slopes[f] = self._onto(field, clique, other, self.scopes[f], rows)
            for child, other in zip(clique.children, others[len(clique.families) :], strict=True):
                above[child] = self._onto(field, clique, other, self._cliques[child].separator, rows)
        return slopes

    def _factors(
        self, clique: _Clique, given: list[NDArray[Any]], messages: list[NDArray[Any]], which: Sequence[int]
    ) -> list[NDArray[Any]]:
        """Return some of what is given, then what the cliques below say, as factors of a clique."""
        factors = [self._spread(given[f], self.scopes[f], clique) for f in which]
        below = [self._spread(messages[b], self._cliques[b].separator, clique) for b in clique.children]
        return factors + below

    def _shape(self, scope: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.layout.sizes[v] for v in scope)

    def _spread(self, array: NDArray[Any], scope: Sequence[int], clique: _Clique) -> NDArray[Any]:
        """Give an array over some variables an axis for every member of a clique."""
        axes = [self.layout.sizes[v] if v in scope else 1 for v in clique.members]
        return array.reshape(*axes, array.shape[-1])

    def _onto(
        self, field: Field, clique: _Clique, product: NDArray[Any], scope: Sequence[int], rows: int
    ) -> NDArray[Any]:
        """Sum over the members of a clique that are not in the scope."""
        whole = np.broadcast_to(product, (*self._shape(clique.members), rows))
        axes = tuple(a for a, v in enumerate(clique.members) if v not in scope)
        return field.reduce(whole.sum(axis=axes)) if axes else whole

    def _axes(self, i: int) -> tuple[list[int], list[int]]:
        """Return where a family's fixed members stand, and where those summed over, in the schema's order."""
        members = self.layout.members[i]
        fixed = [a for a, m in enumerate(members) if m not in self.district.hidden and m not in self.soft]
        return fixed, sorted(set(range(len(members))).difference(fixed), key=members.__getitem__)

    def _states(self, i: int, fixed: Sequence[int], evidence: Evidence) -> tuple[Integers, ...]:
        return tuple(evidence.states[self.layout.members[i][a]] for a in fixed)

    def _take(self, i: int, table: NDArray[Any], evidence: Evidence) -> NDArray[Any]:
        """Return the part of a table that the fixed variables leave; (summed variables …, rows or 1)."""
        fixed, summed = self._axes(i)
        whole = table.reshape(self._shape(self.layout.members[i])).transpose(fixed + summed)
        if not fixed:
            return whole[..., None]
        return np.moveaxis(whole[self._states(i, fixed, evidence)], 0, -1)

    def _put(self, i: int, part: NDArray[Any], evidence: Evidence) -> NDArray[Any]:
        """Return derivatives in their places in the table, zero elsewhere: the reverse of `_take`."""
        fixed, summed = self._axes(i)
        members = self.layout.members[i]
        if fixed:
            shape = self._shape([members[a] for a in fixed + summed])
            whole = np.zeros((*shape, evidence.rows), dtype=part.dtype)
            where: tuple[Any, ...] = (*self._states(i, fixed, evidence), ..., np.arange(evidence.rows))
            whole[where] = np.moveaxis(part, -1, 0)
        else:
            whole = part
        back = np.argsort(fixed + summed)
        states = self.layout.states[i]
        return whole.transpose(*back, len(members)).reshape(states, -1, evidence.rows)


def _product(field: Field, factors: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the product of arrays that broadcast."""
    product = factors[0]
    for factor in factors[1:]:
        product = field.reduce(product * factor)
    return product


def _all_but_one(field: Field, factors: Sequence[NDArray[Any]], constant: NDArray[Any]) -> list[NDArray[Any]]:
    """Return, for each factor, the product of the others and a constant, without division."""
    before = [constant]
    for factor in factors[:-1]:
        before.append(field.reduce(before[-1] * factor))
    others = before[: len(factors)]
    after = None
    for place in range(len(factors) - 1, 0, -1):
        after = factors[place] if after is None else field.reduce(after * factors[place])
        others[place - 1] = field.reduce(others[place - 1] * after)
    return others
