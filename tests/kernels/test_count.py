"""Counting and scores of families, beside row-by-row twins and the definitions."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from lacunary.kernels import count
from lacunary.kernels.compile import bare
from lacunary.kernels.families import BDEU, DIRICHLET, LIKELIHOOD, family_terms
from tests import naive_kernels

Array = NDArray[np.float64]

SIZES = (2, 3, 2, 4)
FIRST = np.cumsum([0, *SIZES])

LOG_GAMMA = 1e-12
"""Sums of some hundred log Γ below 100, each right to some 1e-15 of itself."""


@pytest.fixture(scope="module", params=[0, 1, 2])
def rows(request: pytest.FixtureRequest) -> tuple[NDArray[np.int32], NDArray[np.int64], Array]:
    """States, places (some of which no row has) and weights of some rows."""
    rng = np.random.default_rng(request.param)
    codes = np.column_stack([rng.integers(0, size, 150) for size in SIZES]).astype(np.int32)
    return codes, rng.choice([0, 1, 3, 5], 150), rng.integers(1, 5, 150).astype(np.float64)


def test_add_digit(rows: tuple[NDArray[np.int32], NDArray[np.int64], Array]) -> None:
    codes, place, _ = rows
    wanted = [p * 3 + c for p, c in zip(place.tolist(), codes[:, 1].tolist(), strict=True)]
    place = place.copy()
    count.add_digit(place, np.ascontiguousarray(codes[:, 1]), 3)
    assert place.tolist() == wanted


@pytest.mark.parametrize(("begin", "end"), [(0, 4), (1, 3), (2, 2)])
def test_count_beside_and_alone(
    rows: tuple[NDArray[np.int32], NDArray[np.int64], Array], begin: int, end: int
) -> None:
    """Whole weights are added without rounding."""
    codes, place, weights = rows
    columns = (codes + FIRST[:-1]).astype(np.int32)
    shift, width = int(FIRST[begin]), int(FIRST[end] - FIRST[begin])
    out = np.zeros(6 * width)
    count.count_beside(columns, place, weights, begin, end, shift, width, out)
    wanted = naive_kernels.count_beside(codes, place.tolist(), weights, SIZES)
    assert np.array_equal(out.reshape(6, width), wanted[:, shift : shift + width])
    alone = np.zeros(6)
    count.count_alone(place, weights, alone)
    assert alone.tolist() == [weights[place == p].sum() for p in range(6)]


def test_count_bits(rows: tuple[NDArray[np.int32], NDArray[np.int64], Array]) -> None:
    codes, place, _ = rows

    def bits(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """150 rows in three words, the last half empty."""
        padded = np.zeros((len(flags), 192), dtype=np.bool_)
        padded[:, : flags.shape[1]] = flags
        return np.packbits(padded, axis=1).view(np.uint64)

    masks = bits(place == np.arange(6)[:, None])
    states = [codes[:, j] == state for j, size in enumerate(SIZES) for state in range(size)]
    out, alone = np.zeros((6, int(FIRST[-1]))), np.empty(6)
    count.count_bits(masks, bits(np.array(states)), FIRST, out)
    count.count_masks(masks, alone)
    ones = np.ones(len(codes))
    assert np.array_equal(out, naive_kernels.count_beside(codes, place.tolist(), ones, SIZES))
    assert alone.tolist() == [(place == p).sum() for p in range(6)]


def tables(counts: Array, states: int) -> list[Array]:
    """The table of each variable beside the parents, (configurations, states)."""
    return [
        np.array([[counts[u : u + states, s]] for u in range(0, len(counts), states) for s in range(a, b)])[
            :, 0
        ]
        for a, b in pairwise(FIRST.tolist())
    ]


def drawn_counts(seed: int, whole: bool) -> Array:
    """Two configurations of the parents by three states; all variables count the same rows."""
    rng = np.random.default_rng(seed)
    out = np.zeros((6, int(FIRST[-1])))
    for height in range(6):
        rows = int(rng.integers(0, 40)) * (height != 4)
        for a, b in pairwise(FIRST.tolist()):
            out[height, a:b] = rng.multinomial(rows, rng.dirichlet(np.full(b - a, 0.4)))
    return out if whole else out * 0.37


LAWS = {"bdeu": (BDEU, 2.5, 0.0), "dirichlet": (DIRICHLET, 0.3, 0.0), "bic": (LIKELIHOOD, 0.0, 1.7)}


def defined(law: tuple[int, float, float], table: Array, configurations: int) -> float:
    """A family's term as it is defined; ``configurations`` are all of its parents together."""
    states = table.shape[1]
    if law[0] == LIKELIHOOD:
        return float(naive_kernels.likelihood_term(table) - float(law[2]) * (states - 1) * configurations)
    alpha = law[1] / (states * configurations) if law[0] == BDEU else law[1]
    return naive_kernels.bd_term(table, alpha)


def memory(slots: int, most: int) -> tuple[Array, Array]:
    return np.zeros((2, slots)), np.empty((2, slots, most + 1))


@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
@pytest.mark.parametrize(("whole", "slots", "most"), [(True, 64, 50), (True, 2, 5), (False, 64, 0)])
def test_terms_beside_the_parents(law: tuple[int, float, float], whole: bool, slots: int, most: int) -> None:
    """Also with so few slots that variables take them from each other, and asked twice."""
    keys, values = memory(slots, most)
    for seed in (0, 1, 1):
        counts, out = drawn_counts(seed, whole), np.empty(4)
        # Five configurations in all: three never occur, and are left out of the counts.
        found, one, no_room = np.empty((2, 4), dtype=np.int64), np.array([0, 1]), np.empty((2, 0, 1))
        family = counts, np.array([0]), np.array([3]), 5.0
        family_terms(*family, FIRST, one, np.array(law), keys, values, found, no_room, out)
        wanted = [defined(law, t, 5 * size) for t, size in zip(tables(counts, 3), SIZES, strict=True)]
        np.testing.assert_allclose(out, wanted, rtol=LOG_GAMMA)


@pytest.mark.parametrize("expected", [False, True])
@pytest.mark.parametrize("law", LAWS.values(), ids=list(LAWS))
def test_terms_of_each_toggle(law: tuple[int, float, float], expected: bool) -> None:
    """Of variables 0 to 4 the parents of 3 are 0, 2 and 4; beside a variable, or without one, as defined.

    Where counts are ``expected`` ones, members' columns are empty, the last variable has one state, and there
    is more room than is needed.
    """
    sizes, members, (keys, values) = (2, 2, 3, 3, 2), (0, 2, 4, 3), memory(64, 20)
    first = np.concatenate(([0], np.cumsum(sizes)))
    codes = np.random.default_rng(3).integers(0, sizes, (150, 5))
    counts, room, out = counted(codes, sizes, members, range(5)), np.empty((2, 36, 1)), np.empty(6)
    if expected:
        own = counts[:, :2].sum(axis=1)
        for member in members:
            counts[:, first[member] : first[member + 1]] = 0.0
        counts, first = np.column_stack([counts, own]), np.append(first, 13)
        room, out = np.full((2, 40, 1), 7.0), np.empty(7)
    family_terms(
        counts,
        np.array(members),
        np.array(sizes),
        12.0,
        first,
        np.array([0, 1]),
        np.array(law),
        keys,
        values,
        np.empty((2, len(first) - 1), dtype=np.int64),
        room,
        out,
    )
    if expected:
        assert out[5] == out[6]
    for j in (0, 1, 2, 4, 5):
        parents = [p for p in (0, 1, 2, 4) if (p in members) != (p == j)]
        table = counted(codes, sizes, (*parents, 3), ()).reshape(-1, 3)
        assert out[j] == pytest.approx(defined(law, table, len(table)), rel=LOG_GAMMA)


def counted(
    codes: NDArray[np.int64], sizes: Sequence[int], members: Sequence[int], beside: Iterable[int]
) -> Array:
    """Rows in each configuration of members, the last fastest, with each state of the others beside them."""
    place = np.ravel_multi_index(tuple(codes[:, m] for m in members), [sizes[m] for m in members])
    out = [
        [float(np.sum((place == p) & (codes[:, j] == s))) for j in beside for s in range(sizes[j])]
        or [float(np.sum(place == p))]
        for p in range(math.prod(sizes[m] for m in members))
    ]
    return np.array(out)


@bare
def log_rising(a: float, n: float, base: float) -> float:
    """What only kernels can call."""
    return count.log_rising(a, n, base)


@pytest.mark.parametrize("a", [1.0, 999.0, 1000.0, 1234.5, 1e6, 1e12])
@pytest.mark.parametrize("n", [0.5, 1.0, 7.0, 1e4])
def test_rising_factorials_keep_their_digits(a: float, n: float) -> None:
    """log Γ(a + n) − log Γ(a), with forty digits; below the border two logarithms cancel."""
    with mpmath.workdps(40):
        wanted = float(mpmath.loggamma(mpmath.mpf(a) + n) - mpmath.loggamma(a))
    found = log_rising(a, n, math.lgamma(a))
    assert found == pytest.approx(wanted, rel=1e-14 if a >= 1000 else 1e-11, abs=1e-12)
