"""What networks and beliefs answer: queries, posteriors, explanations, samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunary.data.schema import Label
from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError, ParameterError, SchemaError, StateError
from lacunary.infer.belief import Dirichlet
from lacunary.infer.network import Network, random_network
from lacunary.model.make import dag
from tests import naive
from tests.strategies import Case, cases, networks, seeds

RELATIVE = 1e-10

SPRINKLER = dag(
    "season -> rain sprinkler; rain sprinkler -> wet; wet -> slippery",
    states={"season": ["dry", "wet"], "rain": ["no", "light", "heavy"]},
    hidden=["season"],
)
TABLES: dict[str, Any] = {
    "season": [0.6, 0.4],
    "rain": [[0.8, 0.15, 0.05], [0.3, 0.4, 0.3]],
    "sprinkler": [[0.4, 0.6], [0.9, 0.1]],
    "wet": [[[1.0, 0.0], [0.1, 0.9]], [[0.3, 0.7], [0.05, 0.95]], [[0.05, 0.95], [0.01, 0.99]]],
    "slippery": [[1.0, 0.0], [0.3, 0.7]],
}


@pytest.fixture
def network() -> Network:
    return Network.from_tables(SPRINKLER, TABLES)


def row_of(network: Network, given: dict[str, Label]) -> list[int]:
    schema = network.dag.schema
    return [schema[name].encode(given[name]) if name in given else HOLE for name in schema.names]


# Queries ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("targets", "given"),
    [
        (("rain",), {}),
        (("season",), {"slippery": 1}),
        (("season", "wet"), {"sprinkler": 0}),
        (("slippery", "season", "rain"), {"wet": 1}),
        (("wet", "rain"), {"wet": 1, "season": "dry"}),
    ],
)
def test_query(network: Network, targets: tuple[str, ...], given: dict[str, Label]) -> None:
    found = network.query(*targets, given=given)
    wanted = naive.posterior(network, row_of(network, given), targets)
    assert tuple(v.name for v in found.variables) == targets
    np.testing.assert_allclose(found.probabilities, wanted, rtol=RELATIVE)
    states = tuple(v.states[0] for v in found.variables)
    assert found[states] == pytest.approx(wanted[(0,) * len(targets)], rel=RELATIVE)


def test_a_distribution_can_be_read(network: Network) -> None:
    one = network.query("rain", given={"season": "dry"})
    assert one.mode == "no"
    assert one.to_dict() == pytest.approx({"no": 0.8, "light": 0.15, "heavy": 0.05}, rel=1e-14)
    assert str(one).splitlines() == ["p(rain)", "  no     0.8000", "  light  0.1500", "  heavy  0.0500"]
    two = network.query("rain", "season")
    assert two.mode == ("no", "dry")
    assert two["heavy", "wet"] == pytest.approx(0.4 * 0.3, rel=1e-14)
    with pytest.raises(StateError):
        two["heavy", "snow"]


def test_questions_that_cannot_be_answered(network: Network) -> None:
    with pytest.raises(SchemaError, match="at least one"):
        network.query()
    with pytest.raises(SchemaError, match="twice"):
        network.query("rain", "rain")
    with pytest.raises(SchemaError, match="no variable 'snow'"):
        network.query("snow")
    with pytest.raises(StateError, match="no state 'much'"):
        network.query("wet", given={"rain": "much"})
    table = Table(SPRINKLER.schema, np.full((1, 5), HOLE, dtype=np.int8))
    for targets in ([()], [("rain", "rain")]):
        with pytest.raises(SchemaError):
            network.posterior(table, targets)
    assert network.posterior(table, []) == {}


IMPOSSIBLE: list[dict[str, Label]] = [
    {"wet": 0, "slippery": 1},  # a zero among what is given
    {"rain": "no", "sprinkler": 0, "slippery": 1},  # a zero that a hole stands between
]


@pytest.mark.parametrize("given", IMPOSSIBLE)
def test_what_is_impossible_has_no_answer(network: Network, given: dict[str, Label]) -> None:
    """Whatever is asked: of the island with the contradiction, of another, or of what is given."""
    assert network.probability(given) == 0.0
    for target in network.dag.names:
        with pytest.raises(ImpossibleRowError, match="probability zero"):
            network.query(target, given=given)
    with pytest.raises(ImpossibleRowError):
        network.explain(given)
    with pytest.raises(ImpossibleRowError):
        network.sample(3, rng=0, given=given)


def test_the_impossible_row_is_named(network: Network) -> None:
    rows = np.array([[HOLE, 0, 1, HOLE, 0], [HOLE, HOLE, HOLE, 0, 1], [HOLE, 1, 1, 1, 1]], dtype=np.int8)
    table = Table(SPRINKLER.schema, rows)
    assert np.isneginf(network.log_probability(table)).tolist() == [False, True, False]
    assert network.log_likelihood(table) == -np.inf
    for targets in (None, ["season"], ["wet"], [("slippery", "rain")]):
        with pytest.raises(ImpossibleRowError, match=r"^row 2 .*wet=0, slippery=1"):
            network.posterior(table, targets)


# Tables -------------------------------------------------------------------------------------------------


@given(cases())
def test_posteriors_of_every_variable(case: Case) -> None:
    network, table = case
    found = network.posterior(table)
    assert list(found) == list(network.dag.names)
    for name, p in found.items():
        wanted = [naive.posterior(network, row, [str(name)]) for row in table.codes.tolist()]
        np.testing.assert_allclose(p, wanted, rtol=RELATIVE)


@given(cases())
def test_log_probabilities(case: Case) -> None:
    network, table = case
    wanted = [naive.log_evidence(network, row) for row in table.codes.tolist()]
    # A probability known to 1e-13 has a logarithm known to 1e-13.
    np.testing.assert_allclose(network.log_probability(table), wanted, rtol=RELATIVE, atol=1e-12)
    assert network.log_likelihood(table) == pytest.approx(
        float(table.weights @ wanted), rel=RELATIVE, abs=1e-12 * (1 + table.size)
    )


def test_a_hidden_variable_is_not_looked_at(network: Network) -> None:
    """Not even if the table has such a column: but a query may be given its state."""
    complete = network.sample(50, rng=1)
    without = complete.select([name for name in network.dag.names if name != "season"])
    np.testing.assert_array_equal(network.log_probability(complete), network.log_probability(without))
    assert network.query("rain", given={"season": "wet"})["heavy"] == pytest.approx(0.3, rel=1e-14)


def test_the_order_of_columns_and_states_does_not_matter(network: Network) -> None:
    frame: dict[str, list[Any]] = {
        "slippery": [1, 0, None],
        "rain": ["heavy", "no", None],
        "wet": [1, None, 0],
        "sprinkler": [0, 1, 1],
    }
    rows = [{name: column[r] for name, column in frame.items() if column[r] is not None} for r in range(3)]
    wanted = [naive.log_evidence(network, row_of(network, row)) for row in rows]
    np.testing.assert_allclose(network.log_probability(frame), wanted, rtol=RELATIVE)


def test_probability(network: Network) -> None:
    given: dict[str, Label] = {"rain": "light", "slippery": 1}
    wanted = naive.evidence(network, row_of(network, given))
    assert network.probability(given) == pytest.approx(wanted, rel=RELATIVE)
    assert network.probability({}) == pytest.approx(1.0, rel=1e-14)


@given(networks(), st.data())
def test_explanations(network: Network, data: st.DataObject) -> None:
    states = data.draw(seeds)
    rng = np.random.default_rng(states)
    complete = network.sample(1, rng=rng).codes[0].tolist()
    seen = {
        v.name: v.states[code]
        for v, code in zip(network.dag.schema, complete, strict=True)
        if rng.random() < 0.4
    }
    best = network.explain(seen)
    assert all(best[name] == state for name, state in seen.items())
    row = row_of(network, seen)
    # Ties are broken either way: the probability is what counts.
    assert naive.probability(network, tuple(row_of(network, best))) == pytest.approx(
        naive.best_probability(network, row), rel=1e-13, abs=0
    )


# Samples ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("given", [{}, {"slippery": 1}, {"slippery": 1, "season": "dry"}])
def test_samples_follow_the_network(network: Network, given: dict[str, Label]) -> None:
    """All states together, within five standard deviations of each share; what is impossible never occurs."""
    rows = 40_000
    table = network.sample(rows, rng=7, given=given)
    assert not table.holes.any()
    assert not table.schema.hidden
    share = np.zeros(table.schema.sizes)
    np.add.at(share, tuple(table.codes.T), 1 / rows)
    p = naive.posterior(network, row_of(network, given), network.dag.names)
    assert np.all(np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / rows))


@pytest.mark.parametrize("given", [None, {"wet": 1}])
def test_samples_can_be_repeated(network: Network, given: dict[str, Label] | None) -> None:
    first = network.sample(100, rng=3, given=given).codes
    np.testing.assert_array_equal(first, network.sample(100, rng=3, given=given).codes)
    np.testing.assert_array_equal(first, network.sample(100, rng=np.random.default_rng(3), given=given).codes)
    assert not np.array_equal(first, network.sample(100, rng=4, given=given).codes)
    assert not np.array_equal(network.sample(100, given=given).codes, network.sample(100, given=given).codes)
    assert len(network.sample(0, rng=3, given=given)) == 0


# Construction -------------------------------------------------------------------------------------------


def test_tables_come_back_as_they_were_given(network: Network) -> None:
    for name, table in TABLES.items():
        np.testing.assert_array_equal(network.table(name), table)
    assert list(network.tables) == list(SPRINKLER.names)


@pytest.mark.parametrize(
    ("name", "table", "message"),
    [
        ("season", [0.6, 0.3], r"p\(season\) sums to 0.9, which misses one by 0.1; pass renormalize=True"),
        ("sprinkler", [[0.4, 0.6], [0.9, 0.2]], r"p\(sprinkler \| season='wet'\) sums to 1.1"),
        ("season", [0.6, 0.2, 0.2], r"must have shape \(2,\), not \(3,\)"),
        ("season", [1.2, -0.2], "not a probability"),
        ("season", [float("nan"), 1.0], "not a probability"),
        ("season", [0.0, 0.0], "only zeros"),
    ],
)
def test_bad_tables(name: str, table: Any, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        Network.from_tables(SPRINKLER, TABLES | {name: table})


def test_missing_and_unknown_tables() -> None:
    with pytest.raises(ParameterError, match="no table for season"):
        Network.from_tables(SPRINKLER, {n: t for n, t in TABLES.items() if n != "season"})
    with pytest.raises(SchemaError, match="snow"):
        Network.from_tables(SPRINKLER, TABLES | {"snow": [1.0]})
    with pytest.raises(ParameterError, match="parameters"):
        Network(SPRINKLER, np.ones(3))
    for wrong in (TABLES, None, "even"):
        with pytest.raises(ParameterError, match="from_tables takes tables by name"):
            Network(SPRINKLER, wrong)  # type: ignore[arg-type]
    even = np.full(SPRINKLER.layout.size, 0.5)
    assert Network(SPRINKLER, even.tolist()).theta.tolist() == even.tolist()  # type: ignore[arg-type]


def test_sums_are_scaled_on_request() -> None:
    network = Network.from_tables(SPRINKLER, TABLES | {"season": [3, 1]}, renormalize=True)
    np.testing.assert_allclose(network.table("season"), [0.75, 0.25], rtol=1e-15)


def test_random_networks_are_drawn_from_the_prior() -> None:
    """Means and variances of Dirichlet(2, 2): 1/2 and 1/20, within five standard errors."""
    graph = dag("; ".join(f"X{i}" for i in range(4000)))
    p = random_network(graph, Dirichlet(2.0), rng=1).theta.reshape(-1, 2)[:, 0]
    assert abs(p.mean() - 0.5) < 5 * np.sqrt(1 / 20 / 4000)
    # The fourth central moment of Beta(2, 2) is 3/560, so squares vary by √(3/560 − 1/400).
    assert abs(((p - 0.5) ** 2).mean() - 1 / 20) < 5 * np.sqrt((3 / 560 - 1 / 400) / 4000)
