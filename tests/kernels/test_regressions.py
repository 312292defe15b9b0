"""Modes of many regressions at once, against the mode of one by plain linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.kernels.regressions import Families, put_modes

Array = NDArray[np.float64]


def put(moment: Array, divisor: Array, each: list[tuple[int, list[int]]]) -> tuple[bool, Array]:
    first = np.cumsum([0, *(len(members) for _, members in each)])
    places = np.array([place for _, members in each for place in members], dtype=np.int64)
    families = Families(np.array([c for c, _ in each], dtype=np.int64), first.astype(np.int64), places)
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
