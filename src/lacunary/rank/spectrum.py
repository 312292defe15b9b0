"""Singular values of the Jacobian at given parameters, scaled so that their sizes mean something.

A row is the derivative of F(x) divided by √F(x), so that the squared singular values are eigenvalues of the
Fisher information of the factor, with all conditions it is given equally likely; columns are then scaled to
length one. Neither changes the rank where probabilities are positive, and both widen the gap.
"""

from __future__ import annotations

import math

import numpy as np

from lacunary.errors import ParameterError
from lacunary.maths.arrays import Array
from lacunary.maths.prime import Reals
from lacunary.rank.block import Block, all_configurations, derivatives
from lacunary.rank.district import District
from lacunary.rank.jacobian import Contraction, Evidence

__all__ = ["spectrum"]

ENUMERATED = 4096
"""Up to so many configurations all of them are rows; beyond, rows are drawn from the network."""

ROUNDING = 32
"""Entries are sums that can nearly cancel, and scaling short columns to length one magnifies what is left."""


def spectrum(block: Block, theta: Array, rng: np.random.Generator) -> tuple[Array, int]:
    """Return the singular values in decreasing order, one a parameter, and how many are not zero.

    Below ROUNDING · (longer side) · ε · (largest value) a value counts as zero: rounding can make it.
    """
    shapes = {start: _shape(block, start) for start in block.places}
    tables = {s: theta[s : s + math.prod(shape)].reshape(shape) for s, shape in shapes.items()}
    matrix = np.concatenate([_rows(block, district, tables, rng) for district in block.districts], axis=1)
    length = np.linalg.norm(matrix, axis=1, keepdims=True)
    found = np.linalg.svd(matrix / np.where(length > 0, length, 1.0), compute_uv=False)
    values = np.zeros(block.columns)
    values[: len(found)] = found
    zero = ROUNDING * max(matrix.shape) * np.finfo(np.float64).eps * values.max(initial=0.0)
    return values, int((values > zero).sum())


def _shape(block: Block, start: int) -> tuple[int, int]:
    i = block.layout.start.index(start)
    return block.layout.states[i], block.layout.configurations[i]


def _rows(block: Block, district: District, tables: dict[int, Array], rng: np.random.Generator) -> Array:
    """Return the scaled rows of one district; (columns, rows)."""
    sizes = block.layout.sizes
    contraction = Contraction(district, block.layout, frozenset())
    if math.prod(sizes[i] for i in district.observed) <= ENUMERATED:
        evidence = all_configurations(district.observed, sizes)
        values, slopes = derivatives(block, contraction, Reals(), tables, evidence)
        return slopes / np.sqrt(np.where(values > 0, values, 1.0))
    evidence = _drawn(block, district, tables, max(ENUMERATED, 2 * block.columns + 256), rng)
    values, slopes = derivatives(block, contraction, Reals(), tables, evidence)
    if not values.all():
        raise ParameterError("the probability of a row is too small for floating point; give fewer variables")
    return np.asarray(slopes / values)


def _drawn(
    block: Block, district: District, tables: dict[int, Array], count: int, rng: np.random.Generator
) -> Evidence:
    """Return rows drawn from the district's families, with uniform states for what it is conditional on."""
    layout = block.layout
    states = {i: rng.integers(0, layout.sizes[i], size=count) for i in district.given}
    for i in district.families:
        _, *parents = layout.members[i]
        _, *strides = layout.strides[i]
        where = sum((s * states[p] for p, s in zip(parents, strides, strict=True)), np.zeros(count, np.int64))
        heights = np.cumsum(tables[layout.start[i]], axis=0)[:, where]
        states[i] = np.minimum((rng.random(count) * heights[-1] >= heights).sum(axis=0), layout.sizes[i] - 1)
    return Evidence(count, {}, {i: states[i] for i in district.observed})
