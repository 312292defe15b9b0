"""Arithmetic modulo a prime against Python's integers, and ranks that are known by construction."""

import numpy as np
import pytest
from numpy.typing import NDArray

from lacunary.maths.prime import LEAST, PANEL, STRIP, PrimeField, is_prime, random_prime

PRIMES = (2, 3, 101, 65_537, 1_073_741_827, 2_147_483_647)  # up to the largest below 2³¹


def naive_rank(matrix: list[list[int]], p: int) -> int:
    """Gaussian elimination on Python's integers."""
    rows, rank = [[x % p for x in row] for row in matrix], 0
    for j in range(len(rows[0]) if rows else 0):
        pivot = next((i for i in range(rank, len(rows)) if rows[i][j]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        inverse = pow(rows[rank][j], -1, p)
        for i in range(rank + 1, len(rows)):
            factor = rows[i][j] * inverse % p
            rows[i] = [(x - factor * y) % p for x, y in zip(rows[i], rows[rank], strict=True)]
        rank += 1
    return rank


def of_rank(
    rank: int, shape: tuple[int, int], p: int, values: NDArray[np.int64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """A matrix of exactly this rank: [I; *] · [I, *] with shuffled rows and columns."""
    left = np.concatenate([np.eye(rank, dtype=np.int64), rng.choice(values, (shape[0] - rank, rank))])
    right = np.concatenate(
        [np.eye(rank, dtype=np.int64), rng.choice(values, (rank, shape[1] - rank))], axis=1
    )
    product = np.zeros(shape, dtype=np.int64)
    for k in range(rank):
        product = (product + left[:, k : k + 1] * right[k] % p) % p
    return product[rng.permutation(shape[0])][:, rng.permutation(shape[1])]


@pytest.mark.parametrize("p", PRIMES)
def test_rank_is_that_of_plain_elimination(p: int) -> None:
    rng = np.random.default_rng(p)
    field = PrimeField(p)
    for _ in range(40):
        shape = tuple(rng.integers(1, 9, size=2))
        low = min(p, int(rng.choice([2, 3, 2**31])))  # few values give many dependent rows
        matrix = rng.integers(0, low, size=shape)
        assert field.rank(matrix) == naive_rank(matrix.tolist(), p)


@pytest.mark.parametrize("p", PRIMES[2:])
@pytest.mark.parametrize(
    ("rank", "shape"),
    [
        (1, (5, 300)),
        (PANEL - 1, (PANEL + 60, 2 * PANEL + 3)),
        (PANEL + 1, (2 * PANEL, PANEL + 1)),
        (200, (STRIP + 250, 333)),  # several panels and strips
    ],
)
def test_rank_by_construction(p: int, rank: int, shape: tuple[int, int]) -> None:
    rng = np.random.default_rng(rank)
    # the residues largest in size once centred, where sums come nearest to 2⁵³
    extreme = np.array([(p - 1) // 2, (p + 1) // 2, (p - 1) // 2 - 1, p - 1])
    for values in (extreme, rng.integers(0, p, size=50)):
        assert PrimeField(p).rank(of_rank(rank, shape, p, values, rng)) == rank


def test_rank_of_nothing() -> None:
    field = PrimeField(7)
    assert field.rank(np.zeros((4, 3), dtype=np.int64)) == 0
    assert field.rank(np.full((4, 3), 7)) == 0
    assert field.rank(np.zeros((0, 3), dtype=np.int64)) == 0
    assert field.rank(np.zeros((3, 0), dtype=np.int64)) == 0


def test_the_prime_matters() -> None:
    """det [[1, 2], [3, 4]] = −2 and det [[2, 1], [1, 4]] = 7."""
    assert [PrimeField(p).rank(np.array([[1, 2], [3, 4]])) for p in (2, 7)] == [1, 2]
    assert [PrimeField(p).rank(np.array([[2, 1], [1, 4]])) for p in (2, 7)] == [2, 1]


@pytest.mark.parametrize("p", PRIMES)
def test_inverse(p: int) -> None:
    a = np.unique(np.random.default_rng(0).integers(1, p, size=50))
    assert np.all(a * PrimeField(p).inverse(a) % p == 1)
    assert PrimeField(p).inverse(np.array([0, p])).tolist() == [0, 0]


@pytest.mark.parametrize("p", PRIMES)
def test_reduce_and_draw(p: int) -> None:
    field, rng = PrimeField(p), np.random.default_rng(0)
    a, b = field.draw(200, rng), field.draw((2, 100), rng)
    assert a.min() >= 0
    assert a.max() < p
    assert len(np.unique(a)) >= min(p, 100) // 2
    product = field.reduce(a * b.reshape(-1))
    assert product.tolist() == [int(x) * int(y) % p for x, y in zip(a, b.reshape(-1), strict=True)]
    assert field.reduce(np.broadcast_to(np.int64(p + 1), 3)).tolist() == [1 % p] * 3


def test_primes_are_those_of_the_sieve() -> None:
    sieve = np.ones(20_000, dtype=bool)
    sieve[:2] = False
    for q in range(2, 142):
        sieve[q * q :: q] = False
    assert [n for n in range(20_000) if is_prime(n)] == np.flatnonzero(sieve).tolist()


def test_strong_pseudoprimes_are_not_taken_for_primes() -> None:
    # the least numbers that pass to base 2, to bases 2 and 3, and to 2, 3 and 5 (Jaeschke 1993)
    assert not any(map(is_prime, (2_047, 1_373_653, 25_326_001)))


def test_random_primes() -> None:
    rng = np.random.default_rng(0)
    primes = {random_prime(rng) for _ in range(50)}
    assert len(primes) == 50
    assert all(LEAST < p < 2 * LEAST and all(p % q for q in range(3, 46_341, 2)) for p in list(primes)[:5])


@pytest.mark.parametrize("order", [0, 1, 91, 2**31 + 11, -7])
def test_other_orders_are_refused(order: int) -> None:
    with pytest.raises(ValueError, match="prime below"):
        PrimeField(order)
