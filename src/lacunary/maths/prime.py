"""Exact arithmetic modulo a prime, and the rank of a matrix there.

Residues stand in int64: below 2³¹ the product of two fits. Elimination keeps them as float64 between
−p/2 and p/2 and multiplies by BLAS, split so that every partial sum is an integer below 2⁵³, which a
float64 holds exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.maths.arrays import Array, Integers

__all__ = ["LEAST", "PRIMES", "Field", "PrimeField", "Reals", "random_prime"]

LEAST = 2**30
"""Primes are drawn between this and twice this."""

PRIMES = 50_697_537
"""How many primes that is: π(2³¹) = 105 097 565 less π(2³⁰) = 54 400 028 (OEIS A007053)."""

PANEL = 128
"""Columns eliminated together: 128 products of at most 2¹⁵ by 2³⁰ stay below 2⁵³ with room to spare."""

STRIP = 512
"""Rows updated together: few large products for BLAS, without a second copy of the whole matrix."""

SPLIT = 2.0**15
"""Where a residue is cut in two before it is multiplied."""


class Field(Protocol):
    """Numbers that are added and multiplied as arrays are, and brought back into range by `reduce`."""

    def reduce(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers brought back into the field's range; may overwrite them."""
        ...


@dataclass(frozen=True)
class Reals:
    """The real numbers, as float64."""

    def reduce(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the numbers as they are."""
        return numbers


@dataclass(frozen=True)
class PrimeField:
    """The integers modulo a prime below 2³¹, as int64 from 0 to ``order`` − 1."""

    order: int

    def __post_init__(self) -> None:
        if not 2 <= self.order < 2**31 or not is_prime(self.order):
            raise ValueError(f"the order of the field must be a prime below 2**31, not {self.order}")

    def reduce(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the residues of integers; the array given is overwritten where it can be."""
        if isinstance(numbers, np.ndarray) and numbers.flags.writeable:
            numbers %= self.order
            return numbers
        return np.asarray(numbers % self.order)

    def draw(self, shape: int | tuple[int, ...], rng: np.random.Generator) -> Integers:
        """Return uniformly random residues."""
        return rng.integers(0, self.order, size=shape, dtype=np.int64)

    def inverse(self, residues: Integers) -> Integers:
        """Return 1/a = a^(p − 2) for every residue (Fermat); zero for zero."""
        power = np.asarray(residues, dtype=np.int64) % self.order
        result = np.ones_like(power)
        for bit in bin(self.order - 2)[:1:-1]:
            if bit == "1":
                result = result * power % self.order
            power = power * power % self.order
        return np.where(np.asarray(residues) % self.order == 0, 0, result)

    def rank(self, matrix: Integers) -> int:
        """Return the rank of an integer matrix modulo the prime, exactly.

        Columns are eliminated in panels. Within a panel, Crout's way: L and U grow by a column and a
        row for every pivot, and each entry is reduced once, after a whole dot product. The rest of
        the matrix is touched once a panel: rest − L·U.
        """
        rest = self._centre(np.asarray(matrix, dtype=np.float64))  # exact: entries are below 2⁵³
        rank = 0
        while rest.size:
            width = min(PANEL, rest.shape[1])
            lower, upper, pivots = self._eliminate(rest, width)
            rank += len(pivots)
            left = np.delete(np.arange(len(rest)), pivots)
            rest, upper = rest[left, width:], np.ascontiguousarray(upper[:, width:])
            for start in range(0, len(rest), STRIP):
                strip = slice(start, start + STRIP)
                rest[strip] = self._less(rest[strip], lower[:, left[strip]], upper)
        return rank

    def _eliminate(self, matrix: Array, width: int) -> tuple[Array, Array, list[int]]:
        """Factor the first columns: return L (2, rows, pivots), U (pivots, columns) and the pivots' rows.

        L comes in two parts, high and low. A row that was a pivot equals its row of L·U, so nothing of
        it is left to be found again.
        """
        lower = np.zeros((2, width, len(matrix))).transpose(0, 2, 1)  # columns are contiguous
        upper = np.zeros((width, matrix.shape[1]))
        pivots: list[int] = []
        for j in range(width):
            k = len(pivots)
            column = self._less(matrix[:, j], lower[:, :, :k], upper[:k, j])
            pivot = int(np.argmax(column != 0))
            if column[pivot] == 0:
                continue
            upper[k, j:] = self._less(matrix[pivot, j:], lower[:, pivot, :k], upper[:k, j:])
            factor = self._scale(column, pow(int(column[pivot]), -1, self.order))
            lower[0, :, k] = np.rint(factor / SPLIT)
            lower[1, :, k] = factor - lower[0, :, k] * SPLIT
            pivots.append(pivot)
        return lower[:, :, : len(pivots)], upper[: len(pivots)], pivots

    def _less(self, matrix: Array, left: Array, right: Array) -> Array:
        """Return matrix − left · right, where left comes in two parts and sums have at most `PANEL` terms."""
        high = self._centre(_product(left[0], right))
        high *= SPLIT
        high += _product(left[1], right)
        return self._centre(np.subtract(matrix, high, out=high))

    def _scale(self, column: Array, factor: int) -> Array:
        return self._centre((column.astype(np.int64) * factor % self.order).astype(np.float64))

    def _centre(self, numbers: Array) -> Array:
        """Return the residues nearest to zero of integers below 2⁵³ − 2³¹ in size.

        The quotient may be off by one where it lies half-way between integers, and then the residue
        exceeds p/2 by at most a few units; it is still a residue, and zero only for multiples of p.
        """
        quotient = numbers * (1.0 / self.order)
        np.rint(quotient, out=quotient)
        quotient *= self.order
        return np.subtract(numbers, quotient, out=quotient)


def _product(left: Array, right: Array) -> Array:
    """Return left · right, without BLAS where one of them is a vector.

    There are thousands of these, and waking its threads for each costs more than the work where other
    processes keep the cores busy.
    """
    if left.ndim == right.ndim == 2:
        return left @ right
    return np.asarray(np.einsum("k,kj->j" if left.ndim == 1 else "ik,k->i", left, right))


def is_prime(number: int) -> bool:
    """Whether a number below 3 215 031 751 is prime (Miller–Rabin; four bases suffice up to there)."""
    small = (2, 3, 5, 7)
    if number < 2 or any(number % q == 0 for q in small):
        return number in small
    odd, twos = number - 1, 0
    while odd % 2 == 0:
        odd, twos = odd // 2, twos + 1
    return all(_passes(number, base, odd, twos) for base in small)


def _passes(number: int, base: int, odd: int, twos: int) -> bool:
    power = pow(base, odd, number)
    if power in (1, number - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % number
        if power == number - 1:
            return True
    return False


def random_prime(rng: np.random.Generator) -> int:
    """Return one of the primes between 2³⁰ and 2³¹, each as likely as any other."""
    while True:
        number = int(rng.integers(LEAST, 2 * LEAST)) | 1
        if is_prime(number):
            return number
