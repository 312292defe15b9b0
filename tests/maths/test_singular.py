"""The singular BIC against its equation in long decimals, and coefficients against linear programs."""

from __future__ import annotations

from decimal import Decimal, localcontext
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from lacunary.errors import ParameterError
from lacunary.maths.singular import class_coefficient, factor_coefficient, sbic, two_class_coefficient

NAN = float("nan")


def in_decimals(
    logs: list[float], table: list[list[float]], rows: float, orders: list[list[int]]
) -> list[float]:
    """Solve Drton and Plummer's equations (their 4.2 to 4.4) with two hundred digits."""
    with localcontext() as context:
        context.prec = 200
        context.Emin, context.Emax = -999999, 999999
        out: list[Decimal] = []
        n = Decimal(rows)
        for i, log in enumerate(logs):
            each = {
                j: Decimal(log).exp() * n ** -Decimal(table[i][j]) * n.ln() ** (orders[i][j] - 1)
                for j in range(i + 1)
                if table[i][j] == table[i][j]
            }
            b = sum((out[j] for j in each if j < i), Decimal(0)) - each[i]
            c = sum((each[j] * out[j] for j in each if j < i), Decimal(0))
            out.append((-b + (b * b + 4 * c).sqrt()) / 2)
        return [float(value.ln()) for value in out]


@pytest.mark.parametrize("gain", [-3.0, 0.0, 2.0, 8.0, 40.0, 900.0])
def test_it_solves_the_equations_of_drton_and_plummer(gain: float) -> None:
    logs = [-2000.0, -2000.0 + gain, -2000.0 + 1.3 * gain, -1999.0 + 1.3 * gain]
    table = [[4.0 * (min(i, j) + 1) + 1.7 * (i - j) if j <= i else NAN for j in range(4)] for i in range(4)]
    orders = [[1 + (i > j) * (i - j) for j in range(4)] for i in range(4)]
    expected = in_decimals(logs, table, 137.0, orders)
    found = sbic(logs, table, 137.0, multiplicities=orders)
    # Log-likelihoods of 2000 carry rounding of 2e-13, and logs of N some more.
    assert found == pytest.approx(expected, rel=0, abs=1e-10)


@pytest.mark.parametrize(
    ("logs", "free", "rows", "phi", "printed"),
    [
        (
            [-231.25, -218.5, -208.125, -201.75, -199.0, -197.5],
            8,
            50.0,
            4.5,
            [
                -246.89809202171259,
                -244.99297388054163,
                -244.37885745641117,
                -246.85638275045056,
                -252.90855031077754,
                -260.21060215109566,
            ],
        ),
        (
            [-231.25, -218.5, -208.125, -201.75, -199.0, -197.5],
            8,
            50.0,
            1.0,
            [
                -246.89809202171259,
                -241.50334520036637,
                -237.29902961692989,
                -235.13735162028888,
                -235.03328757293610,
                -235.71424115192474,
            ],
        ),
        (
            [-1510.5, -1482.25, -1481.0, -1480.125],
            5,
            300.0,
            3.0,
            [-1524.7594561866406, -1513.5526263671682, -1520.8589709904784, -1528.5396450121007],
        ),
    ],
)
def test_of_classes_it_is_what_the_package_for_r_says(
    logs: list[float], free: int, rows: float, phi: float, printed: list[float]
) -> None:
    """The recursion and coefficients of the sources of sBIC, run by R 4.2 with these likelihoods."""
    table = [
        [class_coefficient(i, j, free, phi) if j <= i else NAN for j in range(1, len(logs) + 1)]
        for i in range(1, len(logs) + 1)
    ]
    assert sbic(logs, table, rows) == pytest.approx(printed, rel=0, abs=1e-8)


def test_models_need_not_be_a_chain() -> None:
    table = [[1.0, NAN, NAN], [NAN, 2.0, NAN], [1.5, 2.5, 4.0]]
    expected = in_decimals([-50.0, -48.0, -44.0], table, 60.0, np.ones((3, 3), dtype=int).tolist())
    assert sbic([-50.0, -48.0, -44.0], table, 60.0) == pytest.approx(expected, abs=1e-11)


def test_it_is_bic_where_every_coefficient_is_half_the_dimension() -> None:
    d = np.array([3.0, 7.0, 11.0])
    table = np.where(np.tri(3, dtype=bool), d[:, None] / 2, NAN)
    logs = np.array([-80.0, -71.0, -70.0])
    assert sbic(logs, table, 40.0) == pytest.approx(logs - d / 2 * np.log(40.0), abs=1e-12)


def test_prior_weights_of_models_count_by_their_ratios() -> None:
    table, logs = [[1.0, NAN], [1.5, 3.0]], [-20.0, -17.0]
    assert sbic(logs, table, 50.0, prior=[2.0, 6.0]) == pytest.approx(sbic(logs, table, 50.0, prior=[1, 3]))
    # Where the smaller model is almost certain, the larger is charged by its coefficient there.
    assert sbic(logs, table, 50.0, prior=[1e9, 1.0])[1] == pytest.approx(-17.0 - 1.5 * np.log(50.0), abs=1e-6)


def test_factor_analysis_has_the_coefficients_that_the_r_package_tests_for() -> None:
    printed = [[3], [9 / 2, 6], [6, 29 / 4, 17 / 2], [15 / 2, 17 / 2, 19 / 2, 21 / 2]]  # six variables
    assert [[factor_coefficient(6, i, j) for j in range(i + 1)] for i in range(4)] == printed


def test_classes_have_the_bounds_of_the_formula_by_hand() -> None:
    assert class_coefficient(2, 1, 8, 4.5) == 0.5 * (8 + 4.5)  # a class that is empty
    assert class_coefficient(2, 1, 8, 20.0) == 0.5 * 16  # two classes that are twins
    assert class_coefficient(4, 2, 8, 1.0) == 0.5 * (16 + 1 + 2)
    assert class_coefficient(3, 3, 8, 1.0) == 0.5 * (24 + 2)
    assert class_coefficient(3, 3, 8, 1.0, shared=5) == 0.5 * (24 + 2 + 5)


@pytest.mark.parametrize("n", [3, 4, 7])
def test_binary_features_have_the_closed_forms_of_rusakov_and_geiger(n: int) -> None:
    assert two_class_coefficient([1] * n, 1.0) == ((n + 1) / 2, 1)


def test_few_binary_features_have_theirs() -> None:
    assert two_class_coefficient([1, 1], 1.0) == (1.5, 3)  # −3/2 log N + 2 log log N
    assert two_class_coefficient([1], 1.0) == (0.5, 1)


@pytest.mark.parametrize("widths", [(1, 1, 1), (2, 1, 1), (5, 1, 1), (4, 2, 2), (3, 3), (2, 2, 2, 2)])
@pytest.mark.parametrize("phi", [0.3, 1.0, 2.5, 40.0])
def test_the_coefficient_is_the_least_weight_of_a_linear_program(widths: tuple[int, ...], phi: float) -> None:
    """A monomial ideal's is min Σ w (φ for t) over weights w ≥ 0 by which no monomial is below one."""
    block = np.repeat(np.arange(len(widths)), widths)
    pairs = [(a + 1, b + 1) for a, b in combinations(range(len(block)), 2) if block[a] != block[b]]
    rows = np.zeros((len(pairs), len(block) + 1))
    for row, (a, b) in zip(rows, pairs, strict=True):
        row[[0, a, b]] = -1.0
    best = linprog([phi, *[1.0] * len(block)], rows, -np.ones(len(pairs)))
    assert two_class_coefficient(widths, phi)[0] == pytest.approx((len(block) + best.fun) / 2)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        (([-1.0], [[1.0, 2.0]], 10.0), "1 by 1 coefficients"),
        (([-1.0, -2.0], [[1.0, 3.0], [1.0, 2.0]], 10.0), "submodels come before"),
        (([-1.0], [[NAN]], 10.0), "its own coefficient"),
        (([-1.0], [[-2.0]], 10.0), "none is negative"),
        (([-np.inf], [[1.0]], 10.0), "must be finite"),
        (([-1.0], [[1.0]], 0.5), "at least one row"),
    ],
)
def test_what_cannot_be_nested_is_refused(
    given: tuple[list[float], list[list[float]], float], what: str
) -> None:
    with pytest.raises(ParameterError, match=what):
        sbic(*given)
