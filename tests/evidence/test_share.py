"""Probabilities of models that carry the error of estimates; averages that integrate over parameters."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import norm

from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.evidence.compare import Comparison, compare
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.share import ROUGH, TIE, expected_shares, proven_too_low, shares, tied
from lacunary.infer.network import random_network
from lacunary.model.make import dag

UNIFORM = np.log([0.5, 0.5])


def sampled(value: float, stderr: float | None, **details: object) -> Estimate:
    return Estimate("ais", value, "Monte Carlo", {"x": value}, stderr=stderr, details=details)


def test_intervals_carry_the_error() -> None:
    found = [sampled(-10.0, 0.3), sampled(-12.0, 0.4)]
    share = shares(found, UNIFORM, [-np.inf, -np.inf])[0]
    assert share.probability == pytest.approx(1 / (1 + np.exp(-2.0)), rel=1e-12)
    # The log odds are 2 ± 0.5: the ends of the interval are those of the odds, to the error of 8192 draws.
    ends = [1 / (1 + np.exp(-(2.0 + norm.ppf(p) * 0.5))) for p in (0.025, 0.975)]
    assert [share.low, share.high] == pytest.approx(ends, abs=0.01)


def test_no_probability_where_the_error_exceeds_the_difference() -> None:
    close = shares([sampled(-10.0, 0.3), sampled(-10.2, 0.3)], UNIFORM, [-np.inf, -np.inf])
    assert [share.probability for share in close] == [None, None]
    assert "exceeds" in close[0].note
    assert close[0].low < 0.5 < close[0].high
    # Equal but known to a thousandth: a half, and nothing is open.
    equal = shares([sampled(-10.0, 0.001), sampled(-10.0, 0.001)], UNIFORM, [-np.inf, -np.inf])
    assert [share.probability for share in equal] == pytest.approx([0.5, 0.5], rel=1e-12)


@pytest.mark.parametrize(
    ("one", "floor", "why"),
    [
        (sampled(-10.0, 0.1, trustworthy=False), -np.inf, "trusted"),
        (sampled(-10.0, None), -np.inf, "not known"),
        (sampled(-10.0, 0.1), -9.7, "proven"),
    ],
)
def test_doubtful_estimates_make_no_probabilities(one: Estimate, floor: float, why: str) -> None:
    found = shares([one, sampled(-30.0, 0.1)], UNIFORM, [floor, -np.inf])
    assert all(share.probability is None and why in share.note for share in found)
    near = shares([sampled(-10.0, 0.1), sampled(-30.0, 0.1)], UNIFORM, [-9.85, -np.inf])
    assert near[0].probability == pytest.approx(1.0, abs=1e-8)  # within two errors of its floor


@pytest.fixture(scope="module")
def compared() -> Comparison:
    graphs = {text: dag(text, states=2) for text in ("A -> B", "A; B")}
    table = random_network(graphs["A -> B"], rng=1).sample(30, rng=2)
    return compare(graphs, table, ["exact", "variational", "ais"], options={"ais": {"chains": 1}})


def test_estimates_below_a_proven_bound_are_marked(compared: Comparison) -> None:
    estimates = {n: dict(each) for n, each in compared.estimates.items()}
    estimates["A -> B"]["ais"] = sampled(compared.floor("A -> B") - 1.0, 0.3)
    estimates["A; B"]["ais"] = sampled(compared.floor("A; B") + 0.1, 0.3)
    wrong = Comparison(compared.models, compared.methods, estimates, compared.log_prior, compared.problems)
    assert [wrong.too_low(name, "ais") for name in ("A -> B", "A; B")] == [True, False]
    assert "↓ ais of A -> B is wrong" in str(wrong)
    assert "± 0.3↓" in str(wrong)
    assert wrong.first("ais") == ()
    assert np.isnan(wrong.probabilities("ais")).all()
    assert [row["probability"] for row in wrong.rows() if row["method"] == "ais"] == [None, None]
    with pytest.raises(ParameterError, match="average by another"):
        wrong.average("ais")


def test_the_error_of_one_chain_is_not_known(compared: Comparison) -> None:
    assert all(share.probability is None for share in compared.shares("ais"))


def test_exact_averages_integrate_over_parameters() -> None:
    graph = dag("A -> B", states=2)
    codes = np.array([[0, 0], [0, 1], [HOLE, 1], [1, HOLE], [HOLE, 1], [0, HOLE]], dtype=np.int16)
    table = Table(graph.schema, codes)

    def log_evidence(rows: np.ndarray) -> float:
        """Return the log evidence under Dirichlet(1), by the Beta functions of its three distributions."""
        out = 0.0
        for values in (rows[:, 0], rows[rows[:, 0] == 0, 1], rows[rows[:, 0] == 1, 1]):
            ones = int(values.sum())
            out += gammaln(len(values) - ones + 1) + gammaln(ones + 1) - gammaln(len(values) + 2)
        return float(out)

    def summed(rows: np.ndarray) -> float:
        holes = np.argwhere(rows == HOLE)
        logs = []
        for filling in product((0, 1), repeat=len(holes)):
            full = rows.copy()
            full[tuple(holes.T)] = filling
            logs.append(log_evidence(full))
        return float(logsumexp(logs))

    wanted = [summed(np.vstack([codes, [a, b]])) - summed(codes) for a, b in product((0, 1), repeat=2)]
    asked = Table(graph.schema, np.array(list(product((0, 1), repeat=2)), dtype=np.int16))
    alone = compare({"one": graph}, table, ["exact"])
    assert alone.average("exact").log_probability(asked) == pytest.approx(wanted, abs=1e-12)
    both = compare({"one": graph}, table, ["variational", "exact"])
    assert both.average("exact").log_probability(asked) == pytest.approx(wanted, abs=1e-12)


def test_where_nothing_is_known_a_share_is_anything() -> None:
    unknown = shares([sampled(-10.0, None), sampled(-12.0, None)], UNIFORM, [-np.inf, -np.inf])
    assert [(share.probability, share.low, share.high) for share in unknown] == [(None, 0.0, 1.0)] * 2


def test_expected_shares_are_those_of_bayes_without_errors_and_nearer_to_even_with_them() -> None:
    exact = [Estimate("exact", value, "exact", {"x": value}) for value in (-10.0, -12.0)]
    sure = expected_shares(exact, UNIFORM)
    assert sure == pytest.approx([1 / (1 + np.exp(-2.0)), 1 / (1 + np.exp(2.0))], rel=1e-12)
    blurred = expected_shares([sampled(-10.0, 2.0), sampled(-12.0, 2.0)], UNIFORM)
    assert blurred.sum() == pytest.approx(1.0, rel=1e-12)
    assert 0.5 < blurred[0] < sure[0] - 0.05  # the logistic function is concave there


def test_ties_are_relative_to_what_rounding_is_of_large_numbers() -> None:
    large = [Estimate("exact", value, "exact", {"x": value}) for value in (-1e8, -1e8 - 1e8 * TIE / 2)]
    assert tied(large, UNIFORM).tolist() == [True, True]
    small = [Estimate("exact", value, "exact", {"x": value}) for value in (-1.0, -1.0 - 1e8 * TIE / 2)]
    assert tied(small, UNIFORM).tolist() == [True, False]


@pytest.mark.parametrize(("apart", "too_low"), [(0.0, False), (ROUGH + 5e-4, False), (ROUGH + 2e-3, True)])
def test_a_formula_below_a_bound_is_given_half_a_nat_and_rounding(apart: float, too_low: bool) -> None:
    """Of a million nats a billionth is rounding."""
    floor = -1e6
    assert proven_too_low(Estimate("bic", floor - apart, "approximation", {}), floor) == too_low
