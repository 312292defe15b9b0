"""Modes of many regressions at once, against the mode of one by plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.kernels.regressions import Families, log_normalizers, put_inverses, put_modes, squared
from lacunary.maths import regression

Array = NDArray[np.float64]


Each = list[tuple[int, list[int]]]
"""The network of each family, and the places of its members."""


def families_of(each: Each) -> Families:
    first = np.cumsum([0, *(len(members) for _, members in each)])
    places = np.array([place for _, members in each for place in members], dtype=np.int64)
    return Families(np.array([c for c, _ in each], dtype=np.int64), first.astype(np.int64), places)


def put(moment: Array, divisor: Array, each: Each) -> tuple[bool, Array]:
    families = families_of(each)
    root = np.zeros((len(moment), moment.shape[1] - 1, moment.shape[1]))
    room = np.empty(max(len(members) for _, members in each) ** 2)
    return put_modes(moment, divisor, families, room, root), root


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.data())
@settings(max_examples=40, deadline=None)
def test_rows_of_the_root_are_least_squares_over_their_deviation(
    seed: int, size: int, data: st.DataObject
) -> None:
    rng = np.random.default_rng(seed)
    rows = np.insert(rng.normal(size=(2, 3 * size + 5, size)), 0, 1.0, axis=2)
    moment, divisor = np.swapaxes(rows, 1, 2) @ rows, rng.uniform(1.0, 9.0, 2)
    each = []
    for c in range(2):
        for child in range(1, size + 1):
            others = [p for p in range(1, size + 1) if p != child]
            parents = data.draw(st.lists(st.sampled_from(others), unique=True)) if others else []
            each.append((c, [0, *parents, child]))
    sound, root = put(moment, divisor, each)
    assert sound
    for c, (*given_, child) in each:
        slopes = np.linalg.lstsq(rows[c][:, given_], rows[c][:, child], rcond=None)[0]
        left = rows[c][:, child] - rows[c][:, given_] @ slopes
        expected = np.zeros(size + 1)
        expected[given_], expected[child] = -slopes, 1.0
        expected /= np.sqrt(left @ left / divisor[c])
        # Normal equations of at most seven columns with more than twice as many rows: conditions below 1e4.
        assert root[c, child - 1] == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("third", [0.0, np.nan])
def test_what_is_redundant_is_told(third: float) -> None:
    rng = np.random.default_rng(0)
    rows = np.insert(rng.normal(size=(20, 3)), 0, 1.0, axis=1)
    rows[:, 3] = rows[:, 1] + rows[:, 2] + third
    moment = (rows.T @ rows)[None]
    assert not put(moment, np.ones(1), [(0, [0, 1, 2, 3])])[0]
    if third == 0.0:
        assert put(moment, np.ones(1), [(0, [0, 1, 3])])[0]


SOME: Each = [(0, [0, 1]), (0, [0, 1, 3, 2]), (1, [0, 3, 1]), (1, [0, 2])]


def test_normalizers_are_added_up_by_network() -> None:
    rng = np.random.default_rng(0)
    rows = np.insert(rng.normal(size=(2, 20, 3)), 0, 1.0, axis=2)
    moment, dof = np.swapaxes(rows, 1, 2) @ rows, np.array([3.5, 8.0])
    out = np.zeros(2)
    assert log_normalizers(moment, dof, families_of(SOME), np.empty(16), out)
    expected = np.zeros(2)
    for c, members in SOME:
        expected[c] += regression.log_normalizer(
            moment[c][np.ix_(members, members)], dof[c] + len(members) - 2
        )
    np.testing.assert_allclose(out, expected, rtol=1e-12)  # a few factors of well-conditioned matrices


def test_redundant_parents_have_no_normalizer() -> None:
    moment = np.ones((1, 4, 4))
    assert not log_normalizers(moment, np.ones(1), families_of([(0, [0, 1, 2])]), np.empty(9), np.zeros(1))


@pytest.mark.parametrize("common", [False, True])
def test_squares_are_quadratic_forms_of_the_rows_of_the_root(common: bool) -> None:
    rng = np.random.default_rng(1)
    half = rng.normal(size=(1 if common else 2, 4, 4))
    moment, root = half @ np.swapaxes(half, 1, 2), np.zeros((2, 3, 4))
    for c, members in SOME:
        root[c, members[-1] - 1, members] = rng.normal(size=len(members))
    out = np.zeros(2)
    squared(moment, root, families_of(SOME), out)
    expected = np.einsum("cij,cjk,cik->c", root, np.broadcast_to(moment, (2, 4, 4)), root)
    np.testing.assert_allclose(out, expected, rtol=1e-12)  # sums of some forty products


def test_inverses_of_triangular_factors() -> None:
    lower = np.tril(np.random.default_rng(0).normal(size=(3, 9, 9))) + 3.0 * np.eye(9)
    found = np.zeros_like(lower)
    put_inverses(lower, found)
    # Condition numbers below a hundred.
    np.testing.assert_allclose(found @ lower, np.broadcast_to(np.eye(9), lower.shape), atol=1e-12)
    np.testing.assert_array_equal(np.triu(found, 1), 0.0)
