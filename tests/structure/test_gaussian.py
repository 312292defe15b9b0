"""BGe and Gaussian BIC, against joint evidences, another program and least squares."""

from __future__ import annotations

from importlib import import_module
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lacunary as lac
from lacunary.errors import ParameterError, SchemaError, TableError
from lacunary.maths import regression
from lacunary.maths.moments import moments, part_of
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure.gaussian import BGe, GaussianBIC, check_moments
from lacunary.structure.score import toggle, total

Array = NDArray[np.float64]

# Fifteen rows of three columns, x₂ = x₀ + x₁ + noise, written to two digits; and what PyBNesian 0.5.1 gives
# for them: pybnesian.BGe(frame).local_score(GaussianNetwork(["a", "b", "c"]), child, parents), whose prior
# is ν = 1, μ the columns' means, α = n + 2, τ = ν (α − n − 1)/(ν + 1) I = ½ I.
ROWS = np.array(
    [
        [0.13, -0.13, 0.32], [0.64, 0.10, 0.51], [-0.54, 0.36, -0.05], [1.30, 0.95, 2.26],
        [-0.70, -1.27, -2.14], [-0.62, 0.04, -0.41], [-2.33, -0.22, -2.75], [-1.25, -0.73, -1.85],
        [-0.54, -0.32, -0.29], [0.41, 1.04, 1.26], [-0.13, 1.37, 1.49], [-0.67, 0.35, -0.18],
        [0.90, 0.09, 1.21], [-0.74, -0.92, -1.89], [-0.46, 0.22, -0.03],
    ]
)  # fmt: skip


def belief(size: int, seed: int) -> NormalWishart:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(size, size + 2))
    tau = root @ root.T + 0.3 * np.eye(size)
    return NormalWishart(rng.uniform(0.5, 3.0), rng.normal(size=size), size + rng.uniform(-0.5, 4.0), tau)


def sample(size: int, rows: int, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, size)) @ (np.eye(size) + 0.5 * rng.normal(size=(size, size))) + 1.0


def joint(prior: NormalWishart, moment: Array, variables: tuple[int, ...]) -> float:
    """log p(these columns) from the marginal of the joint belief."""
    return prior.marginal(variables).log_evidence(part_of(moment, variables)) if variables else 0.0


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.data())
@settings(max_examples=30, deadline=None)
def test_a_family_is_a_ratio_of_joint_evidences(seed: int, size: int, data: st.DataObject) -> None:
    """p(child, parents)/p(parents), each from its Normal–Wishart."""
    prior, moment = belief(size, seed), moments(sample(size, 12, seed))
    score = BGe(moment, prior)
    order = data.draw(st.permutations(range(size)))
    child = order[0]
    parents = tuple(sorted(order[1 : 1 + data.draw(st.integers(0, size - 1))]))
    expected = joint(prior, moment, (*parents, child)) - joint(prior, moment, parents)
    # Logs of determinants of matrices with conditions up to about 1e4: twelve digits, of sums of size 100.
    assert score.family(child, parents) == pytest.approx(expected, abs=1e-9)
    toggled = score.toggled(child, parents)
    for other in range(size):
        if other == child:
            assert toggled[other] == -np.inf
            continue
        now = toggle(parents, other)
        expected = joint(prior, moment, (*now, child)) - joint(prior, moment, now)
        assert toggled[other] == pytest.approx(expected, abs=1e-9)


def test_markov_equivalent_graphs_score_equally() -> None:
    """All orders of a complete graph, and the three chains without a collider, which scores apart."""
    prior, moment = belief(4, 0), moments(sample(4, 50, 0))
    score = BGe(moment, prior)
    orders = [[0, 1, 2, 3], [3, 1, 0, 2], [2, 3, 1, 0]]
    whole = [total(score, [order[: order.index(v)] for v in range(4)]) for order in orders]
    np.testing.assert_allclose(whole, prior.log_evidence(moment), rtol=0, atol=1e-9)
    chains = [[[], [0], [1], []], [[1], [], [1], []], [[1], [2], [], []]]
    scores = [total(score, parents) for parents in chains]
    np.testing.assert_allclose(scores, scores[0], rtol=0, atol=1e-9)
    assert abs(total(score, [[], [0, 2], [], []]) - scores[0]) > 1e-3


FAMILIES = [(0, ()), (1, ()), (2, ()), (2, (0,)), (2, (0, 1)), (0, (1, 2))]
PYBNESIAN = [
    -22.543078244122263, -18.754089734096926, -30.967550385941976, -21.35783287908693, -10.284193224297724,
    -8.469868422878108,
]  # fmt: skip


def test_values_of_another_program() -> None:
    """PyBNesian 0.5.1, see ROWS."""
    prior = NormalWishart(1.0, ROWS.mean(axis=0), 5.0, 0.5 * np.eye(3))
    score = BGe(moments(ROWS), prior)
    found = [score.family(child, parents) for child, parents in FAMILIES]
    np.testing.assert_allclose(found, PYBNESIAN, rtol=1e-12)


def test_values_of_another_program_afresh() -> None:
    """The same, asked now, where it is installed."""
    pybnesian, pandas = pytest.importorskip("pybnesian"), import_module("pandas")
    rows = sample(5, 40, 3)
    names = list("abcde")
    other = pybnesian.BGe(pandas.DataFrame(rows, columns=names), iss_mu=2.0, iss_w=9.0)
    network = pybnesian.GaussianNetwork(names)
    prior = NormalWishart(2.0, rows.mean(axis=0), 9.0, 2.0 * (9 - 5 - 1) / 3.0 * np.eye(5))
    score = BGe(moments(rows), prior)
    for child, many in [(0, 0), (1, 1), (2, 2), (4, 4)]:
        parents = tuple(v for v in range(5) if v != child)[:many]
        expected = other.local_score(network, names[child], [names[p] for p in parents])
        assert score.family(child, parents) == pytest.approx(expected, rel=1e-10)


def test_a_table_is_scored_in_its_own_units() -> None:
    """Standardising inside changes nothing, also far from the origin, where plain moments lose digits."""
    rows = sample(3, 60, 4)
    far = rows * np.array([1.0, 1e3, 1e-3]) + np.array([0.0, 1e8, 5.0])
    table = lac.read(dict(zip("abc", far.T, strict=True)), kinds="continuous")
    prior = NormalWishart(1.5, far.mean(axis=0), 4.5, np.diag(far.var(axis=0)))
    score = BGe.of(table, prior)
    moved = BGe(moments(rows), prior.moved([0.0, 1e8, 5.0], [1.0, 1e3, 1e-3]))
    jacobian = 60 * np.log([1.0, 1e3, 1e-3])
    for child, parents in [(0, ()), (1, (0,)), (2, (0, 1))]:
        # 1e8 beside a deviation of 1e3 leaves ten digits of the data themselves.
        expected = moved.family(child, parents) - jacobian[child]
        assert score.family(child, parents) == pytest.approx(expected, abs=1e-6)


def test_a_prior_of_one_row_is_that_of_the_columns() -> None:
    rows = sample(3, 30, 5)
    table = lac.read(dict(zip("abc", rows.T, strict=True)), kinds="continuous")
    expected = BGe(moments(rows), NormalWishart.about(rows.mean(axis=0), rows.var(axis=0)))
    found = BGe.of(table, lac.NormalWishart(nu=1))
    assert found.family(2, (0, 1)) == pytest.approx(expected.family(2, (0, 1)), rel=1e-10)


def test_weights_count_rows() -> None:
    rows = sample(3, 10, 6)
    weights = np.arange(10.0)
    once = BGe(moments(rows, weights), belief(3, 1))
    often = BGe(moments(np.repeat(rows, weights.astype(int), axis=0)), belief(3, 1))
    assert once.family(0, (1, 2)) == pytest.approx(often.family(0, (1, 2)), rel=1e-12)


def test_bic_is_least_squares_less_its_charge() -> None:
    rows = sample(4, 80, 7)
    table = lac.read(dict(zip("abcd", rows.T, strict=True)), kinds="continuous")
    score = GaussianBIC.of(table)
    for parents in (c for k in range(4) for c in combinations((0, 1, 3), k)):
        u = np.column_stack([np.ones(80), *(rows[:, p] for p in parents)])
        error = rows[:, 2] - u @ np.linalg.lstsq(u, rows[:, 2], rcond=None)[0]
        variance = float(np.mean(error**2))
        expected = -40 * (np.log(2 * np.pi * variance) + 1) - 0.5 * np.log(80) * (len(parents) + 2)
        assert score.family(2, parents) == pytest.approx(expected, rel=1e-10)
        toggled = score.toggled(2, parents)
        for other in (0, 1, 3):
            assert toggled[other] == pytest.approx(score.family(2, toggle(parents, other)), rel=1e-10)


def test_bic_agrees_with_the_evidence_in_the_long_run() -> None:
    """They differ by a bounded amount (Schwarz 1978): the difference stays while N grows tenfold."""
    gaps = []
    for rows in (10_000, 100_000):
        x = sample(3, 100_000, 8)[:rows]
        evidence = BGe(moments(x), NormalWishart.about(x.mean(axis=0), x.var(axis=0)))
        bic = GaussianBIC(moments(x))
        gaps.append(evidence.family(2, (0, 1)) - bic.family(2, (0, 1)))
    assert abs(gaps[0] - gaps[1]) < 0.2  # O(N^-½) of each
    assert abs(gaps[0]) < 10


def test_bic_refuses_as_many_coefficients_as_rows() -> None:
    score = GaussianBIC(moments(sample(4, 4, 9)))
    assert np.isfinite(score.family(0, (1, 2)))
    assert score.family(0, (1, 2, 3)) == -np.inf
    assert score.toggled(0, (1, 2))[3] == -np.inf


def test_more_variables_than_rows_and_copies_of_columns() -> None:
    """The prior carries it: every number is finite."""
    rows = sample(6, 3, 10)
    rows = np.column_stack([rows, rows[:, 0], rows[:, 1] + rows[:, 2]])
    score = BGe(moments(rows), NormalWishart.about(rows.mean(axis=0), rows.var(axis=0)))
    toggled = score.toggled(0, (1, 2, 6, 7))
    assert np.all(np.isfinite(toggled[1:]))
    assert np.all(np.isfinite(GaussianBIC(moments(sample(2, 9, 1)[:, [0, 1, 1]])).toggled(0, (1, 2))[1:]))


def test_what_cannot_be_scored_is_refused_by_name() -> None:
    mixed = lac.read({"a": ["x", "y", "x"], "b": [0.1, 0.2, 0.4]}, kinds={"b": "continuous"})
    with pytest.raises(SchemaError, match="a is discrete"):
        BGe.of(mixed)
    holed = lac.read({"a": [0.5, None, 1.5]}, kinds="continuous")
    with pytest.raises(TableError, match="a has 1 missing"):
        GaussianBIC.of(holed)
    with pytest.raises(ParameterError, match="do not fit"):
        BGe(np.eye(3), belief(3, 0))
    for wrong in (np.full((4, 4), np.nan), -np.eye(4), np.ones((4, 3))):
        with pytest.raises(ParameterError, match="moments"):
            BGe(wrong, belief(3, 0))


def test_a_column_that_does_not_vary_joins_nothing() -> None:
    """Its regressions have the variance that the prior gives them, or the least there is."""
    rows = {"a": [3.3] * 6, "b": [0.1, 0.2, 0.4, 0.3, 0.9, 0.7], "c": [0.2, 0.1, 0.5, 0.3, 0.8, 0.9]}
    table = lac.read(rows, kinds="continuous")
    for score in (BGe.of(table), GaussianBIC.of(table)):
        for child, other in ((0, 1), (1, 0), (2, 0)):
            gain = score.toggled(child, ()) - score.family(child, ())
            assert np.isfinite(gain[other])
            assert gain[other] < 0
        assert np.isfinite(score.toggled(1, (0, 2))[[0, 2]]).all()


def test_regression_and_score_agree() -> None:
    """The score in closed form is that of `lacunary.maths.regression`."""
    prior, moment = belief(4, 11), moments(sample(4, 20, 11))
    moment_of, dof = prior.family(3, (0, 2))
    expected = regression.log_evidence(moment_of, dof, part_of(moment, [0, 2, 3]))
    assert BGe(moment, prior).family(3, (0, 2)) == pytest.approx(float(expected), abs=1e-9)


def test_scores_made_ready_together_are_those_made_one_by_one() -> None:
    rng = np.random.default_rng(0)
    each = np.array([moments(rng.normal(size=(rows, 3))) for rows in (4, 30)])
    prior = belief(3, 0)
    for one, other in zip(BGe.each(each, prior), each, strict=True):
        np.testing.assert_array_equal(one.terms(0, (2,)), BGe(other, prior).terms(0, (2,)))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 2, 3)])
def test_moments_are_square(shape: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="moments are square matrices"):
        check_moments(np.ones(shape))
