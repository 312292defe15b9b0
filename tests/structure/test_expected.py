"""Expected counts of any family, and scores on them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError, ParameterError, TooWideError
from lacunary.infer.engine import prepare_discrete
from lacunary.infer.islands import Islands, chart
from lacunary.structure import expected
from lacunary.structure.discrete import BD, BIC
from lacunary.structure.expected import ExpectedCounts
from lacunary.structure.score import toggle
from tests import naive
from tests.strategies import Case, cases

TOLERANCE = 1e-10
"""Sums of at most some dozen numbers of the size of the weights, each from a few dozen operations."""


def islands_of(dag: lac.Dag, table: Table, theta: NDArray[np.float64], **options: int) -> Islands:
    """The islands of a table's rows, each as it stands."""
    return chart(dag, table.codes, **options).under(theta, table.weights)


SMALL = [(1, 1), (2, 40), (4, 10**9), (128, 10**9)]
"""Caps and limits: everything by trees, some by trees, islands cut, islands whole."""


@pytest.mark.parametrize(("cap", "limit"), SMALL)
@given(case=cases(min_variables=2, max_variables=5, max_states=3, max_rows=6), data=st.data())
@settings(max_examples=25, deadline=None)
def test_counts_of_any_set_are_those_of_enumeration(
    cap: int, limit: int, case: Case, data: st.DataObject
) -> None:
    network, table = case
    n = len(network.dag.names)
    members = data.draw(st.lists(st.integers(0, n - 1), unique=True, min_size=1, max_size=4))
    islands = islands_of(network.dag, table, network.theta, cap=cap, limit=limit)
    np.testing.assert_allclose(
        islands.counts(members), naive.joint_counts(network, table, members), atol=TOLERANCE
    )
    wide = islands.counts_with_others(members)
    np.testing.assert_allclose(wide[:, -1], islands.counts(members).ravel(), atol=TOLERANCE)
    for other in range(n):
        columns = wide[:, islands.column[other] : islands.column[other] + network.dag.schema.sizes[other]]
        if other in members:
            assert not columns.any()
            continue
        joint = naive.joint_counts(network, table, [*members, other])
        np.testing.assert_allclose(columns.ravel(), joint.ravel(), atol=TOLERANCE)


def alarm_with_holes(share: float, rows: int = 300) -> tuple[lac.Network, Table]:
    alarm = lac.alarm()
    return alarm, lac.make_holes(alarm.sample(rows, rng=3), share, rng=4)


@pytest.mark.parametrize("share", [0.2, 0.5])
def test_families_of_the_graph_are_counted_as_by_the_junction_tree(share: float) -> None:
    alarm, table = alarm_with_holes(share)
    islands = islands_of(alarm.dag, table, alarm.theta)
    assert (len(islands.trees.row) > 0) == (share == 0.5)  # both ways are taken
    stats = lac.expect(alarm, table)
    for child, parents in enumerate(alarm.dag.parent_indices):
        want = alarm.dag.layout.table(stats.counts, child)
        # 300 rows, each with rounding of 1e-16 times some hundred operations.
        np.testing.assert_allclose(islands.counts((*parents, child)), want, atol=1e-10)


def test_a_hidden_root_over_many_holes_is_cut_and_counted_exactly() -> None:
    names = [f"X{i}" for i in range(24)]
    dag = lac.dag(f"H -> {' '.join(names)}", states=2, hidden={"H": 3})
    network = lac.random_network(dag, rng=0)
    table = lac.make_holes(network.sample(50, rng=1), 0.5, columns=names, rng=2).align(dag.schema)
    charted = chart(dag, table.codes)
    islands = charted.under(network.theta, table.weights)
    assert not len(islands.trees.row)
    assert charted.places[0] < 50 * 3 * (1 + 2 * 24)  # not 2^12 a row
    pair = islands.counts((3, 7))
    # Given H the two are independent: Σ_h p(h | row) p(x₃ | h) p(x₇ | h), an observed one at its state.
    roots = network.posterior(table, ["H"])["H"]
    want = np.zeros((2, 2))
    tables = [network.table(dag.names[v]) for v in (3, 7)]
    for row, chance in zip(table.codes, roots, strict=True):
        one, two = (
            t if row[v] == HOLE else np.tile(np.eye(2)[row[v]], (3, 1))
            for v, t in zip((3, 7), tables, strict=True)
        )
        want += np.einsum("h,ha,hb->ab", chance, one, two)
    np.testing.assert_allclose(pair, want, atol=1e-10)


def test_without_holes_scores_are_those_of_counting() -> None:
    table = lac.asia().sample(200, rng=0)
    network = lac.random_network(lac.Dag.from_arcs(table.schema, []), rng=0)
    islands = islands_of(network.dag, table, network.theta)
    for ours, plain in [
        (ExpectedCounts(islands, prior=lac.bdeu(3)), BD(table, lac.bdeu(3))),
        (ExpectedCounts(islands, prior=lac.Dirichlet(0.7)), BD(table, lac.Dirichlet(0.7))),
        (ExpectedCounts(islands, "bic"), BIC(table)),
    ]:
        for child, parents in [(0, ()), (5, (1, 3)), (7, (0, 4, 5))]:
            assert ours.family(child, parents) == pytest.approx(plain.family(child, parents), rel=1e-12)
            np.testing.assert_allclose(
                ours.toggled(child, parents), plain.toggled(child, parents), rtol=1e-12
            )


@pytest.fixture(scope="module")
def half_seen() -> tuple[lac.Network, Table]:
    network = lac.random_network(lac.dag("A -> B -> C; A -> D; C -> E", states=3), rng=5)
    return network, lac.make_holes(network.sample(40, rng=6), 0.4, rng=7)


@pytest.mark.parametrize("kind", ["bdeu", "dirichlet", "prior network", "bic"])
def test_terms_are_the_closed_form_on_counts_that_are_not_whole(
    kind: str, half_seen: tuple[lac.Network, Table]
) -> None:
    network, table = half_seen
    priors: dict[str, Any] = {
        "bdeu": lac.bdeu(2.0),
        "dirichlet": lac.Dirichlet(0.5),
        "prior network": lac.prior_network(network, 4.0),
        "bic": None,
    }
    islands = islands_of(network.dag, table, network.theta)
    score = ExpectedCounts(islands, "bic" if kind == "bic" else "bd", priors[kind])
    for child, parents in [(0, ()), (1, (4,)), (3, (1, 2))]:
        counts = naive.joint_counts(network, table, (*parents, child)).reshape(-1, 3)
        if kind == "bic":
            want = sum(n * math.log(n / row.sum()) for row in counts for n in row if n > 0)
            want -= 0.5 * math.log(40) * 2 * len(counts)
        else:
            names = network.dag.names
            alone = lac.Dag.from_parents(table.schema, {names[child]: [names[p] for p in parents]})
            alpha = alone.layout.table(priors[kind](alone).alpha, child).reshape(-1, 3)
            want = sum(
                math.lgamma(sum(a))
                - math.lgamma(sum(a) + sum(n))
                + sum(math.lgamma(x + y) - math.lgamma(x) for x, y in zip(a, n, strict=True))
                for a, n in zip(alpha.tolist(), counts.tolist(), strict=True)
            )
        # Some hundred terms of size ten, each good to 1e-13 or so.
        assert score.family(child, parents) == pytest.approx(want, abs=1e-10)


@pytest.mark.parametrize("prior", [lac.bdeu(1.0), lac.prior_network(lac.random_network(
    lac.dag("A -> B -> C; A -> D; C -> E", states=3), rng=5), 4.0)], ids=["bdeu", "network"])  # fmt: skip
def test_toggled_is_every_family_by_itself(prior: Any, half_seen: tuple[lac.Network, Table]) -> None:
    network, table = half_seen
    score = ExpectedCounts(islands_of(network.dag, table, network.theta), prior=prior)
    for child, parents in [(0, ()), (2, (1, 4)), (4, (0, 1, 2, 3))]:
        toggled = score.toggled(child, parents)
        assert toggled[child] == -np.inf
        for other in set(range(5)) - {child}:
            want = score.family(child, toggle(parents, other))
            assert toggled[other] == pytest.approx(want, abs=1e-10)


def test_families_too_large_are_not_scored(
    half_seen: tuple[lac.Network, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    network, table = half_seen
    score = ExpectedCounts(islands_of(network.dag, table, network.theta))
    monkeypatch.setattr(expected, "CELLS", 30)
    toggled = score.toggled(0, (1, 2))
    assert toggled[1] == pytest.approx(score.family(0, (2,)))
    assert np.isneginf(toggled[[0, 3, 4]]).all()
    assert score.family(0, (1, 2, 3)) == -np.inf


def test_rows_in_any_order_give_the_same_bits(half_seen: tuple[lac.Network, Table]) -> None:
    network, table = half_seen
    turned = table.take(np.random.default_rng(0).permutation(len(table)))
    laid = (prepare_discrete(network.dag, rows) for rows in (table, turned))
    one, two = (rows.families(network.theta).counts_with_others((0, 3)) for rows in laid)
    assert np.array_equal(one, two)


def test_what_cannot_be_is_refused() -> None:
    dag = lac.dag("A -> B", states=2)
    sure = lac.Network.from_tables(dag, {"A": [0.5, 0.5], "B": [[1.0, 0.0], [1.0, 0.0]]})
    row = Table(dag.schema, np.array([[HOLE, 1]], dtype=np.int8))
    with pytest.raises(ImpossibleRowError, match="B=1"):
        islands_of(dag, row, sure.theta)
    alarm, table = alarm_with_holes(0.4, 50)
    with pytest.raises(TooWideError, match="more than the 1 kB allowed"):
        chart(alarm.dag, table.codes, budget=1000)
    with pytest.raises(ParameterError, match="criterion"):
        ExpectedCounts(islands_of(dag, row.take(slice(0, 0)), sure.theta), "aic")  # type: ignore[arg-type]
