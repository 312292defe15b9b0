"""Sweeping parents out of scale matrices, against determinants and solutions of plain linear algebra."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.kernels.compile import bare
from lacunary.kernels.swept import charged_terms, integrated_terms, room_for, swept_terms
from tests import naive_kernels

Array = NDArray[np.float64]


def plain(matrix: Array, child: int, parents: list[int]) -> tuple[float, float]:
    """log|A_PP| and A_cc − A_cP A_PP⁻¹ A_Pc."""
    inner, cross = matrix[np.ix_(parents, parents)], matrix[parents, child]
    rest = (
        matrix[child, child] - cross @ np.linalg.lstsq(inner, cross, rcond=None)[0]
        if parents
        else matrix[child, child]
    )
    return float(np.linalg.slogdet(inner)[1]), float(rest)


@bare
def sweep_one(
    matrix: Array, child: int, parents: NDArray[np.int64], rows: Array, dets: Array, rests: Array
) -> None:
    """Have Python call what only kernels call."""
    swept_terms(matrix, child, parents, rows, dets, rests)


def swept(stack: Array, child: int, parents: list[int]) -> tuple[Array, Array]:
    rows, (log_det, rest) = room_for(len(stack), stack.shape[1], len(parents))
    for one, dets, rests in zip(np.ascontiguousarray(stack), log_det, rest, strict=False):
        sweep_one(one, child, np.array(parents, dtype=np.int64), rows, dets, rests)
    return log_det[:-1], rest[:-1]


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.data())
@settings(max_examples=40, deadline=None)
def test_every_toggle_is_the_plain_formula(seed: int, size: int, data: st.DataObject) -> None:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(2, size, size + 1))
    # The diagonal keeps conditions below some 1e3, so that both ways are good to twelve digits.
    stack = root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(size)
    order = data.draw(st.permutations(range(size)))
    child, parents = order[0], list(order[1 : 1 + data.draw(st.integers(0, size - 1))])
    log_det, rest = swept(stack, child, parents)
    for q, matrix in enumerate(stack):
        for j in range(size + 1):
            if j in (child, size):
                members = parents
            else:
                members = [p for p in parents if p != j] if j in parents else [*parents, j]
            expected = plain(matrix, child, members)
            assert (log_det[q, j], rest[q, j]) == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_what_is_redundant_explains_nothing_more() -> None:
    """x₃ = x₁ + x₂: beside both it adds nothing, in place of either it does as much."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3))
    x = np.column_stack([x[:, 0] + x[:, 1] - x[:, 2], x[:, 1], x[:, 2], x[:, 1] + x[:, 2]])
    scatter = x.T @ x
    expected = plain(scatter, 0, [1, 2])[1]
    _, rest = swept(scatter[None], 0, [1, 2])
    assert rest[0, 3] == pytest.approx(expected, rel=1e-9)
    log_det, rest = swept(scatter[None], 0, [1, 2, 3])
    # Lost digits: rest and determinants come from matrices of condition 1e16 here, one pivot being the floor.
    np.testing.assert_allclose(rest[0, 1:], expected, rtol=1e-6)
    np.testing.assert_allclose(
        log_det[0, [1, 2, 3]], [plain(scatter, 0, p)[0] for p in ([2, 3], [1, 3], [1, 2])]
    )
    assert np.all(np.isfinite(log_det))


def test_a_child_that_follows_exactly_keeps_a_positive_rest() -> None:
    x = np.random.default_rng(1).normal(size=(30, 2))
    x = np.column_stack([x[:, 0] - 3 * x[:, 1], x])
    _, rest = swept((x.T @ x)[None], 0, [1])
    assert 0 < rest[0, 2] < 1e-12 * (x.T @ x)[0, 0]


def scales(rng: np.random.Generator, many: int, size: int) -> Array:
    """Positive definite matrices of condition below some 1e3."""
    root = rng.normal(size=(many, size, size + 2))
    return np.asarray(root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(size))


@pytest.mark.parametrize(("child", "parents"), [(0, []), (2, [4]), (1, [3, 0, 2]), (0, [1, 2, 3, 4])])
@pytest.mark.parametrize("seed", range(3))
def test_integrated_terms(seed: int, child: int, parents: list[int]) -> None:
    """Evidence of child and parents over that of the parents, each with all its normalising constants."""
    rng = np.random.default_rng(seed)
    prior, counts, nu, dof = scales(rng, 1, 5), np.array([0.0, 3.0, 17.5]), 1.5, 2.5
    after, out = prior + counts[:, None, None] * scales(rng, 3, 5), np.empty(6)
    given = child, np.array(parents, dtype=np.int64), *room_for(3, 5, len(parents))
    integrated_terms(after, counts, prior[0], nu, dof, *given, out)

    def evidence(members: list[int]) -> float:
        at, degrees = np.ix_(members, members), dof + len(members) - 1
        return sum(
            naive_kernels.log_normal_evidence(prior[0][at], one[at], nu, degrees, rows)
            for one, rows in zip(after, counts.tolist(), strict=True)
        )

    wanted = [evidence([*p, child]) - evidence(p) for p in naive_kernels.toggles(5, child, parents)]
    np.testing.assert_allclose(out, wanted, rtol=1e-10)  # some dozen logs, conditions of 1e3


@pytest.mark.parametrize(("child", "parents"), [(0, []), (2, [4]), (1, [3, 0, 2])])
@pytest.mark.parametrize("floor", [1e-8, 1.0])
def test_charged_terms(floor: float, child: int, parents: list[int]) -> None:
    """Normal log-likelihoods at the best coefficients; −inf where there are no more rows than these."""
    counts, charge, blank, out = np.array([4.0, 30.0]), 1.3, 2.0, np.empty(6)
    scatter = counts[:, None, None] * scales(np.random.default_rng(1), 2, 5)
    given = child, np.array(parents, dtype=np.int64), *room_for(2, 5, len(parents))
    charged_terms(scatter, counts, floor, charge, blank, *given, out)
    for found, members in zip(out, naive_kernels.toggles(5, child, parents), strict=True):
        wanted = -charge * (len(members) + 2) * (len(counts) + blank)
        for matrix, rows in zip(scatter, counts.tolist(), strict=True):
            left = naive_kernels.rest(matrix, child, members)
            variance = max(left / rows, floor)
            wanted -= 0.5 * rows * math.log(2 * math.pi * variance) + 0.5 * left / variance
            if rows <= len(members) + 1:
                wanted = -math.inf
        assert found == pytest.approx(wanted, rel=1e-10)  # conditions of 1e3
