"""The rank that the Jacobian of a polynomial map has almost everywhere.

At random parameters modulo a random prime, on random functionals of what can be observed, the rank is
never larger than the generic one, and smaller only by bad luck, whose probability is bounded here. The
bounds are derived in ``docs/derivations/dimension.md``.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from lacunary.budget import reserve
from lacunary.errors import TooWideError
from lacunary.maths.arrays import Integers
from lacunary.maths.prime import LEAST, PRIMES, PrimeField, random_prime

__all__ = ["MARGIN", "Map", "generic_rank"]

MARGIN = 8
"""Rows beyond the rank that must add nothing; where they are drawn from everything, one would do."""

FIRST, GROWTH = 64, 8
"""Number of rows to begin with, and how it grows as long as they are independent."""

NEGLIGIBLE = 1e-12
"""Draws are repeated until the probability that all of them fell short is below this, …"""

DRAWS = 4
"""… but not more often than this."""

UNKNOWN = 1e-4
"""What a draw counts for where no bound is known: three are made."""


class Map(Protocol):
    """A map from parameters to observable numbers, given by rows of its Jacobian.

    Attributes
    ----------
    columns
        Number of parameters.
    bound
        A number the rank cannot exceed.
    margin
        Rows beyond the rank that must add nothing.
    degree, log_height
        Of every entry of a row, as a polynomial with integer coefficients in all that is drawn: its
        degree, and log₂ of the sum of its coefficients' sizes. None if the rows are not drawn from
        a set that spans everything, so that no bound holds.
    """

    @property
    def columns(self) -> int: ...  # noqa: D102
    @property
    def bound(self) -> int: ...  # noqa: D102
    @property
    def margin(self) -> int: ...  # noqa: D102
    @property
    def degree(self) -> float | None: ...  # noqa: D102
    @property
    def log_height(self) -> float: ...  # noqa: D102

    def rows(self, field: PrimeField, count: int, rng: np.random.Generator) -> Integers:
        """Return derivatives of random functionals at one random point; (columns, count)."""
        ...


def generic_rank(chart: Map, rng: np.random.Generator) -> tuple[int, float | None]:
    """Return the largest rank found, and a bound on the probability that the generic rank is larger.

    The bound is zero where the rank has reached ``chart.bound``, and None where none is known.
    """
    rank, doubt = 0, 1.0
    for _ in range(DRAWS):
        if rank == chart.bound:
            return rank, 0.0
        if doubt <= NEGLIGIBLE:
            break
        rank = max(rank, _rank(chart, rng))
        doubt *= _bad_luck(chart)
    if rank == chart.bound:
        return rank, 0.0
    return rank, None if chart.degree is None else doubt


def _rank(chart: Map, rng: np.random.Generator) -> int:
    """Return the rank at one random point, on as many rows as it needs."""
    field = PrimeField(random_prime(rng))
    most = chart.bound + chart.margin
    count = min(most, max(FIRST, 2 * chart.margin))
    while True:
        _check_memory(chart, count)
        rank = field.rank(chart.rows(field, count, rng))
        if rank <= count - chart.margin or count == most:
            return rank
        count = min(most, GROWTH * count)


def _bad_luck(chart: Map) -> float:
    """Bound the probability that one draw falls short: by a zero of a minor, or by a prime that divides it.

    Twice, because rows grow in steps and any step may be the one to stop too early.
    """
    if chart.degree is None:
        return UNKNOWN
    order = chart.bound
    zero = order * chart.degree / LEAST
    divisors = order * (math.log2(order) + chart.log_height) / math.log2(LEAST)
    return min(1.0, 2 * (zero + divisors / PRIMES))


def _check_memory(chart: Map, count: int) -> None:
    needed = 3 * 8 * chart.columns * count  # the matrix, and two copies while it is eliminated
    what = f"the Jacobian of {chart.columns} parameters on {count} rows"
    reserve(needed, what, "take a smaller model, or count its parameters", TooWideError)
