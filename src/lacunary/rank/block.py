"""Districts that share parameters, as one map from those to the factors of the observable distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import reserve
from lacunary.errors import TooWideError
from lacunary.maths.arrays import Integers
from lacunary.maths.prime import Field, PrimeField
from lacunary.model.layout import Layout
from lacunary.rank.chart import Chart
from lacunary.rank.district import District
from lacunary.rank.generic import MARGIN
from lacunary.rank.jacobian import Contraction, Evidence

__all__ = ["Block", "derivatives"]

AFFORDABLE = 2**27
"""Clique configurations, over all rows, that may be swept so that observed variables can stay soft."""

SPARE = 4
"""… or clique configurations for each parameter: there are as many numbers in the Jacobian anyway."""

COVERAGE = 20
"""Rows for each configuration of the fixed variables of a family: all are met, but for e⁻²⁰ of them."""

CHUNK = 2**23
"""Clique configurations held at a time."""


@dataclass(frozen=True)
class Block:
    """The map from the parameters of some districts to their factors; a row sums one functional of each.

    Attributes
    ----------
    charts
        For each table, by its start in the layout, its parameters.
    """

    districts: tuple[District, ...]
    layout: Layout
    charts: Mapping[int, Chart]

    @cached_property
    def places(self) -> dict[int, slice]:
        """Where the parameters of each table stand, by the table's start in the layout."""
        starts = sorted({self.layout.start[i] for d in self.districts for i in d.families})
        ends = np.cumsum([self.charts[start].size for start in starts]).tolist()
        return {s: slice(end - self.charts[s].size, end) for s, end in zip(starts, ends, strict=True)}

    @property
    def columns(self) -> int:
        """Number of parameters."""
        return sum(self.charts[start].size for start in self.places)

    @property
    def bound(self) -> int:
        """No more than the parameters, nor than the free values of the factors."""
        return min(self.columns, sum(d.bound(self.layout.sizes) for d in self.districts))

    @property
    def trivial(self) -> bool:
        """Whether it is one family with nothing hidden, which is itself its factor."""
        return len(self.districts) == 1 and not self.districts[0].hidden

    @cached_property
    def contractions(self) -> tuple[Contraction, ...]:
        """One for each district, with as many soft variables as can be afforded."""
        budget = max(AFFORDABLE / (self.bound + MARGIN), SPARE * self.columns)
        return tuple(_soften(district, self.layout, budget) for district in self.districts)

    @cached_property
    def margin(self) -> int:
        """Where variables are fixed, enough rows to meet every configuration of them within a family."""
        fixed = [
            math.prod(self.layout.sizes[m] for m in self.layout.members[i] if m in contraction.fixed)
            for contraction in self.contractions
            for i in contraction.district.families
        ]
        return max(MARGIN, COVERAGE * max(fixed) if max(fixed) > 1 else 0)

    @property
    def degree(self) -> float | None:
        """Product of a table's entry a family, and of a weight an observed variable."""
        if any(self.layout.sizes[i] > 1 for c in self.contractions for i in c.fixed):
            return None
        families = sum(self._chart(i).degree for d in self.districts for i in d.families)
        return families + sum(len(d.observed) for d in self.districts)

    @property
    def log_height(self) -> float:
        """A term for every configuration, differentiated in any factor, less that of the last state."""
        families = [i for d in self.districts for i in d.families]
        variables = {m for i in families for m in self.layout.members[i]}
        terms = sum(math.log2(self.layout.sizes[v]) for v in variables)
        return 1 + math.log2(len(families)) + terms + sum(self._chart(i).log_height for i in families)

    def _chart(self, i: int) -> Chart:
        return self.charts[self.layout.start[i]]

    def rows(self, field: PrimeField, count: int, rng: np.random.Generator) -> Integers:
        """Return derivatives of random functionals at one random point; (columns, count)."""
        tables = {start: self.charts[start].draw(field, rng) for start in self.places}
        matrix = np.zeros((self.columns, count), dtype=np.int64)
        for contraction in self.contractions:
            evidence = _random_evidence(contraction, field, count, rng)
            _, part = derivatives(self, contraction, field, tables, evidence)
            matrix = field.reduce(np.add(matrix, part, out=matrix))
        return matrix


def derivatives(
    block: Block,
    contraction: Contraction,
    field: Field,
    tables: Mapping[int, NDArray[Any]],
    evidence: Evidence,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a district's factor at every row, and its derivatives by the block's parameters.

    Parameters
    ----------
    tables
        The tables of the block, (states, configurations), by their start in the layout.

    Returns
    -------
    values, derivatives
        (rows,) and (columns, rows).
    """
    families = contraction.district.families
    starts = [block.layout.start[i] for i in families]
    own = [tables[start] for start in starts]
    values = np.empty(evidence.rows, dtype=own[0].dtype)
    matrix = np.zeros((block.columns, evidence.rows), dtype=own[0].dtype)
    step = max(1, int(CHUNK / max(contraction.cells, 1.0)))
    for start_row in range(0, evidence.rows, step):
        rows = slice(start_row, start_row + step)
        values[rows], slopes = contraction.slopes(field, own, evidence.part(rows))
        for start, slope in zip(starts, slopes, strict=True):
            matrix[block.places[start], rows] += block.charts[start].pull(field, tables[start], slope)
    return values, field.reduce(matrix)


def _soften(district: District, layout: Layout, budget: float) -> Contraction:
    """Fix those observed variables that make sums too wide, busiest first; leave the others soft."""
    soft = {i for i in district.observed if layout.sizes[i] > 1}
    contraction = Contraction(district, layout, frozenset(soft))
    while soft and contraction.cells > budget:
        widest = max(contraction.tree.cliques, key=lambda c: math.prod(layout.sizes[v] for v in c))
        within = soft.intersection(widest) or soft
        soft.remove(max(sorted(within), key=lambda v: sum(v in layout.members[i] for i in district.families)))
        contraction = Contraction(district, layout, frozenset(soft))
    what = "summing over the hidden variables of a row"
    reserve(8.0 * contraction.cells, what, "take fewer states or arcs", TooWideError)
    return contraction


def _random_evidence(
    contraction: Contraction, field: PrimeField, count: int, rng: np.random.Generator
) -> Evidence:
    sizes = contraction.layout.sizes
    weights = {i: field.draw((sizes[i], count), rng) for i in sorted(contraction.soft)}
    return Evidence(count, weights, {i: rng.integers(0, sizes[i], size=count) for i in contraction.fixed})


def all_configurations(variables: Sequence[int], sizes: Sequence[int]) -> Evidence:
    """Return a row for every configuration of some variables, all fixed."""
    shape = tuple(sizes[i] for i in variables)
    grid = np.indices(shape).reshape(len(shape), -1)
    return Evidence(grid.shape[1], {}, dict(zip(variables, grid, strict=True)))
