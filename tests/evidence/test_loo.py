"""Leaving rows out, against what is known in closed form."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import lacunary as lac
from lacunary.evidence.loo import loo_of
from lacunary.evidence.score import METHODS

COIN = lac.dag("X", states=2)


def coins(heads: int, tails: int) -> lac.Table:
    return lac.Table(COIN.schema, np.array([[0]] * heads + [[1]] * tails))


def test_of_a_coin_each_row_is_foretold_by_the_others() -> None:
    found = lac.loo(COIN, coins(30, 10), draws=2000)
    heads, tails = np.log(30 / 41), np.log(10 / 41)  # (n − 1 + 1)/(39 + 2)
    expected = 30 * heads + 10 * tails
    # 8000 independent draws: a row's weights vary by a tenth at most, and 40 rows share the draws.
    assert found.elpd == pytest.approx(expected, abs=0.05)
    assert found.by_row[[0, -1]] == pytest.approx([heads, tails], abs=0.01)
    assert found.waic == pytest.approx(expected, abs=0.1)  # which differs by O(1/N)
    assert found.trustworthy
    variance = 40 / 39 * (30 * (heads - expected / 40) ** 2 + 10 * (tails - expected / 40) ** 2)
    assert found.stderr == pytest.approx(np.sqrt(variance), rel=0.02)
    assert found.parameters == pytest.approx(1.0, abs=0.2)


def test_weights_are_repeated_rows() -> None:
    one = lac.loo(COIN, coins(30, 10), draws=500)
    other = lac.loo(
        COIN, lac.Table(COIN.schema, np.array([[0], [1]]), weights=np.array([30.0, 10.0])), draws=500
    )
    assert other.elpd == pytest.approx(one.elpd)
    assert other.stderr == pytest.approx(one.stderr)


def test_densities_are_in_the_units_of_the_table() -> None:
    graph = lac.dag("X -> Y", kinds="continuous")
    x = np.random.default_rng(0).normal(size=(40, 2))
    one = lac.loo(graph, lac.Table(graph.schema, np.full((40, 2), -1), x), draws=100)
    other = lac.loo(graph, lac.Table(graph.schema, np.full((40, 2), -1), x * 8.0), draws=100)
    assert other.elpd == pytest.approx(one.elpd - 80 * np.log(8.0), abs=1e-6)


def test_a_better_model_is_told_with_its_error() -> None:
    graph = lac.dag("A -> B", states=2)
    table = lac.Network.from_tables(graph, {"A": [0.5, 0.5], "B": [[0.9, 0.1], [0.1, 0.9]]}).sample(
        200, rng=0
    )
    joined, apart = (lac.loo(arrows, table, draws=200) for arrows in ("A -> B", "A; B"))
    better, error = joined.difference(apart)
    assert better > 5 * error > 0
    assert apart.difference(joined)[0] == pytest.approx(-better)
    with pytest.raises(lac.ParameterError, match="different rows: 200 and 40"):
        joined.difference(lac.loo(COIN, coins(30, 10), draws=50))


def test_sigmoid_networks_are_left_out_too() -> None:
    graph = lac.dag("A -> C <- B", states=2, family={"C": "sigmoid"})
    table = lac.random_network(graph, rng=2).sample(40, rng=2)
    found = lac.loo(graph, table, draws=200)
    assert found.log_density.shape == (4, 200, 40)
    assert found.elpd < float(found.lppd.sum())


def test_arviz_is_given_what_its_loo_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """`arviz.loo` refuses data without a posterior, from which it takes how well chains mixed."""
    made = SimpleNamespace(from_dict=lambda **groups: groups)
    monkeypatch.setitem(sys.modules, "arviz", made)
    found = lac.loo(COIN, coins(3, 2), draws=20)
    groups = found.to_arviz()
    assert groups["log_likelihood"]["rows"].shape == (4, 20, 5)
    np.testing.assert_allclose(groups["posterior"]["log_likelihood"], found.log_density.sum(axis=2))


def test_without_arviz_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(lac.ParameterError, match=r"lacunary\[arviz\]"):
        lac.loo(COIN, coins(3, 2), draws=20).to_arviz()


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(lac.TooWideError, match="take fewer draws"):
        lac.loo(COIN, coins(300, 100), draws=10**7)


def test_it_says_what_it_is_and_what_it_is_not() -> None:
    said = str(lac.loo(COIN, coins(3, 2), draws=20))
    assert "no estimate of the evidence" in said
    assert "PSIS-LOO" in said
    assert "WAIC" in said


def test_what_was_fixed_is_held_in_every_draw() -> None:
    """Of rows of one known coin every log-density is known, and nothing is gained by having seen a row."""
    graph = lac.dag("A", states=2)
    table = lac.Table(graph.schema, np.array([[0]] * 7 + [[1]] * 3, dtype=np.int16))
    known = lac.fit(graph, table, fixed={"A": [0.7, 0.3]})
    found = lac.loo(known, table, draws=20, burn=10)
    expected = 7 * np.log(0.7) + 3 * np.log(0.3)
    assert found.elpd == pytest.approx(expected, abs=1e-9)
    assert found.parameters == pytest.approx(0.0, abs=1e-9)


def test_chains_that_stayed_at_modes_of_their_own_are_not_trusted() -> None:
    """Draws about one place agree; half of the chains elsewhere count as often as chains ended there."""
    rng = np.random.default_rng(0)
    logs = rng.normal(-1.0, 0.1, (4, 200, 6))
    assert loo_of(logs, np.ones(6)).trustworthy
    logs[:2] -= 0.5  # five standard deviations
    apart = loo_of(logs, np.ones(6))
    assert not apart.trustworthy
    assert "did not mix" in str(apart)


def test_one_row_tells_no_error() -> None:
    graph = lac.dag("A -> B", states=2)
    one, two = (lac.Table(graph.schema, np.repeat([[0, 1]], n, axis=0).astype(np.int32)) for n in (1, 2))
    assert "±" not in str(lac.loo(graph, one, draws=20))
    assert "one row alone" in str(lac.loo(graph, one, draws=20))
    assert "±" in str(lac.loo(graph, two, draws=20))


def test_a_row_alone_in_its_configuration_is_not_trusted_where_the_prior_says_nothing() -> None:
    """Without it all states of B are as likely, log ½; with it no draw has another than its own."""
    graph = lac.dag("A -> B", states={"A": 3, "B": 2})
    rows = [[0, 0]] * 8 + [[0, 1]] * 4 + [[1, 0]] * 5 + [[1, 1]] * 3
    often, tiny = lac.Table(graph.schema, np.array(rows)), lac.Dirichlet(1e-6)
    assert lac.loo(graph, often, prior=tiny, draws=200).trustworthy
    once = lac.Table(graph.schema, np.array([*rows, [2, 0]]))
    found = lac.loo(graph, once, prior=tiny, draws=200)
    assert "1 of 21 rows are alone in a configuration of parents" in str(found)
    assert not found.trustworthy
    one = lac.loo(COIN, coins(1, 0), prior=tiny, draws=200)
    assert one.elpd > np.log(0.5) + 0.6  # which it is: every draw says 0
    assert not one.trustworthy
    assert lac.loo(graph, once, prior=lac.Dirichlet(1.0), draws=200).trustworthy


def test_of_tied_tables_other_columns_of_a_row_go_with_it() -> None:
    """One row gives a shared table two counts, both of which are left out with it."""
    graph, tiny = lac.dag("A; B", states=2, tied=[("A", "B")]), lac.Dirichlet(1e-6)
    one = lac.Table(graph.schema, np.array([[0, 0]]))
    assert not lac.loo(graph, one, prior=tiny, draws=100).trustworthy
    two = lac.Table(graph.schema, np.array([[0, 0], [0, 0]]))
    assert lac.loo(graph, two, prior=tiny, draws=100).trustworthy


def test_holes_that_stick_are_not_trusted() -> None:
    graph = lac.dag("H -> A B", states=2, hidden="H")
    table = lac.random_network(graph, rng=1).sample(8, rng=1).select(["A", "B"])
    assert "stick to each other" in str(lac.loo(graph, table, prior=lac.Dirichlet(1e-6), draws=50))
    assert "stick" not in str(lac.loo(graph, table, draws=50))


def test_zero_is_printed_without_a_sign() -> None:
    """Rows whose density is hardly below one: −10⁻⁶ nats each."""
    said = str(loo_of(np.full((4, 10, 3), -1e-6), np.ones(3)))
    assert "PSIS-LOO  0.00 ± 0, effective parameters 0.0" in said
    assert "-0.0" not in said


def test_refusals_say_what_can_be_done_about_them() -> None:
    """They speak of rows that are left out, and name no estimate of the evidence."""
    with pytest.raises(lac.TableError, match="there are no rows, so that none can be left out") as none:
        lac.loo(COIN, coins(1, 1).take(np.arange(0)))
    graph = lac.dag("A -> C; X", states={"A": 2}, family={"C": "sigmoid"}, kinds={"X": "continuous"})
    with pytest.raises(
        lac.NoEstimateError, match=r"weights of sigmoid families, as that of C.*table"
    ) as mixed:
        lac.loo(graph, lac.random_network(graph, rng=0).sample(5, rng=0))
    with pytest.raises(lac.ParameterError, match="loo expects a graph") as strange:
        lac.loo(3, coins(1, 1))  # type: ignore[arg-type]
    pair = lac.dag("A -> B", states=2)
    half = lac.Table(pair.schema, np.array([[0, -1], [1, 0]]), weights=np.array([0.5, 0.5]))
    with pytest.raises(lac.NoEstimateError, match=r"weight 0.5; give such rows whole weights") as part:
        lac.loo(pair, half)
    for refused in (none, mixed, strange, part):
        assert not any(f"'{method}'" in str(refused.value) for method in METHODS)
