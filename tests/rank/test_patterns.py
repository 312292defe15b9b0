"""The dimension that rows can show, against the Jacobian of all marginals together by central differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.rank.patterns import widest


def naive_rank(dag: lac.Dag, patterns: list[tuple[str, ...]]) -> int:
    """Stack the marginals of the patterns, differentiate them by free log-odds, and take the rank."""
    theta = lac.random_network(dag, rng=5).theta
    layout, columns = dag.layout, []
    for place in range(len(theta)):
        moved = []
        for step in (1e-4, -1e-4):
            odds = np.log(theta)
            odds[place] += step
            moved.append(
                np.concatenate([_marginal(dag, layout.normalize(np.exp(odds)), p) for p in patterns])
            )
        columns.append((moved[0] - moved[1]) / 2e-4)
    values = np.linalg.svd(np.array(columns), compute_uv=False)
    return int((values > 1e-6 * values[0]).sum())  # differences are right to 1e-8, and ranks are generic


def _marginal(dag: lac.Dag, theta: np.ndarray, pattern: tuple[str, ...]) -> np.ndarray:
    tables = lac.Network(dag, theta).tables
    sizes = dag.schema.sizes
    joint = np.zeros(sizes)
    for states in product(*map(range, sizes)):
        at = dict(zip(dag.names, states, strict=True))
        joint[states] = np.prod([tables[n][(*(at[p] for p in dag.parents_of(n)), at[n])] for n in dag.names])
    rest = tuple(i for i, name in enumerate(dag.names) if name not in pattern)
    return np.asarray(joint.sum(axis=rest).ravel())


def shown(dag: lac.Dag, patterns: list[tuple[str, ...]]) -> lac.Table:
    codes = [[0 if name in pattern else HOLE for name in dag.names] for pattern in patterns]
    return lac.Table(dag.schema, np.array(codes))


CASES = [
    ("A -> B", "", [("A",), ("B",)], 2),
    ("A -> B", "", [("A",), ("A", "B")], 3),
    ("A -> B -> C", "", [("A", "B"), ("B", "C")], 5),
    ("A -> B -> C", "", [("A", "B"), ("C",)], 4),
    ("A -> B -> C", "", [("A", "C"), ("B",)], 4),
    ("H -> A B C D", "H", [("A", "B"), ("C", "D")], 6),
    ("H -> A B C D", "H", [("A", "B", "C"), ("D",)], 8),
    ("H -> A B C", "H", [("A", "B"), ("B", "C"), ("A", "C")], 6),
    ("A -> C <- B", "", [("A", "C"), ("B", "C")], 5),
]


@pytest.mark.parametrize(("arrows", "hidden", "patterns", "rank"), CASES)
def test_only_what_is_observed_together_counts(
    arrows: str, hidden: str, patterns: list[tuple[str, ...]], rank: int
) -> None:
    dag = lac.dag(arrows, states=2, hidden=hidden.split())
    assert naive_rank(dag, patterns) == rank
    found = lac.dimension(dag, data=shown(dag, patterns))
    assert found.rank == rank
    assert found.parameters == dag.free


def test_rows_that_show_everything_leave_the_generic_rank() -> None:
    dag = lac.dag("H -> A B C D", states=2, hidden={"H": 3})
    rows = shown(dag, [("A", "B", "C", "D"), ("A",)])
    assert lac.dimension(dag, data=rows).rank == lac.dimension(dag).rank == 13


def test_at_given_parameters_too() -> None:
    dag = lac.dag("A -> B", states=2)
    rows = shown(dag, [("A",), ("B",)])
    network = lac.Network.from_tables(dag, {"A": [0.3, 0.7], "B": [[0.5, 0.5], [0.5, 0.5]]})
    assert lac.dimension(dag, at=network, data=rows).rank == 2


def test_normal_columns_never_seen_together_have_no_covariance() -> None:
    dag = lac.dag("A -> B", kinds="continuous")
    x = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 1.0], [np.nan, 3.0]])
    assert lac.dimension(dag, data=lac.Table(dag.schema, np.full((4, 2), HOLE), x)).rank == 4  # of five


def test_marginals_of_others_add_nothing() -> None:
    patterns = [frozenset({0}), frozenset({0, 1}), frozenset({2}), frozenset({0, 1})]
    assert widest(patterns) == [frozenset({0, 1}), frozenset({2})]


@pytest.mark.parametrize(
    ("charge", "charged"), [("parameters", 3), ("generic", 3), ("effective", 3), ("data", 2)]
)
def test_every_dimension_can_be_charged_for(charge: str, charged: int) -> None:
    dag = lac.dag("A -> B", states=2)
    codes = np.array([[0, HOLE], [1, HOLE], [HOLE, 0], [HOLE, 1]] * 10)
    found = lac.score(dag, lac.Table(dag.schema, codes), "bic", dimension=charge)  # type: ignore[arg-type]
    assert found.dimension == charged
    assert found.terms["penalty"] == pytest.approx(-charged / 2 * np.log(40))


def test_the_rank_at_the_estimate_can_be_charged_for() -> None:
    """Classes that a fit makes alike say nothing of the class: independent columns, each seen as often."""
    dag = lac.dag("H -> A B", states=2, hidden=["H"])
    rows = lac.Table(lac.Schema(dag.schema.variables[1:]), np.array(list(product((0, 1), repeat=2)) * 5))
    alike = lac.fit(dag, rows, initial=lac.Network(dag, np.full(dag.layout.size, 0.5)))
    assert lac.score(alike, rows, "bic", dimension="generic").dimension == 3
    assert lac.score(alike, rows, "bic", dimension="at estimate").dimension == 2


def test_an_unknown_charge_is_refused_with_the_known_ones() -> None:
    dag = lac.dag("A -> B", states=2)
    rows = lac.random_network(dag, rng=0).sample(10, rng=0)
    with pytest.raises(lac.ParameterError, match="'generic', 'data' or 'at estimate'"):
        lac.score(dag, rows, "bic", dimension="some")  # type: ignore[arg-type]
