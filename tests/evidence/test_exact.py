"""The exact evidence against brute force over completions, and the laws it must obey."""

from __future__ import annotations

from itertools import permutations, product
from math import lgamma

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import betaln, logsumexp

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError, TooWideError
from lacunary.evidence.count_tables import count_tables
from lacunary.evidence.exact import complete_log_evidence, exact, exact_posterior
from lacunary.evidence.score import pose
from lacunary.infer.belief import BDeu, Belief, Dirichlet
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from lacunary.model.make import dag, naive_bayes
from tests.naive import log_sum
from tests.strategies import cases

# Sums of a few hundred log-gammas of size up to about 100 each: 1e-12 relative is their rounding.
ROUNDING = 1e-10


def evidence_of_rows(graph: Dag, rows: list[tuple[int, ...]], alpha: float) -> float:
    """Return log p(complete rows) as the product of one-step-ahead predictions, from the definition."""
    total = 0.0
    for i, name in enumerate(graph.names):
        parents = [graph.schema.index(p) for p in graph.parents_of(name)]
        seen: dict[tuple[int, ...], list[int]] = {}
        for row in rows:
            counts = seen.setdefault(tuple(row[p] for p in parents), [0] * graph.schema.sizes[i])
            total += np.log((counts[row[i]] + alpha) / (sum(counts) + alpha * len(counts)))
            counts[row[i]] += 1
    return total


def brute_force(graph: Dag, table: Table, alpha: float) -> float:
    """Return log Σ over completions of all rows together."""
    options = []
    for row, weight in zip(table.codes, table.weights, strict=True):
        fillings = product(
            *(range(s) if c == HOLE else [int(c)] for c, s in zip(row, graph.schema.sizes, strict=True))
        )
        options += [list(fillings)] * int(weight)
    return log_sum([evidence_of_rows(graph, list(rows), alpha) for rows in product(*options)])


def small_table(graph: Dag, codes: list[list[int]], weights: list[float] | None = None) -> Table:
    given_weights = np.ones(len(codes)) if weights is None else np.array(weights)
    return Table(graph.schema, np.array(codes, dtype=np.int8), weights=given_weights)


@pytest.mark.parametrize("alpha", [0.3, 1.0, 1.01])
def test_it_is_the_sum_over_completions(alpha: float) -> None:
    graph = dag("A -> C <- H -> D <- B", states=2, hidden=["H"])
    names = graph.names
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, size=(4, 5))
    codes[:, names.index("H")] = HOLE
    codes[1, names.index("A")] = HOLE
    table = small_table(graph, codes.tolist())
    found = exact(pose(graph, table, prior=Dirichlet(alpha)))
    assert found.value == pytest.approx(brute_force(graph, table, alpha), abs=ROUNDING)
    assert found.kind == "exact"


def test_weights_are_repeated_rows() -> None:
    graph = dag("H -> X Y", states={"H": 3, "X": 2, "Y": 2}, hidden=["H"])
    codes = [[HOLE, 0, 1], [HOLE, 1, HOLE]]
    table = small_table(graph, codes, [3.0, 2.0])
    assert exact(pose(graph, table)).value == pytest.approx(brute_force(graph, table, 1.0), abs=ROUNDING)


@settings(max_examples=60)
@given(case=cases(max_variables=4, max_hidden=0, max_rows=8, weighted=False))
def test_without_holes_it_is_the_chain_of_predictions(case: tuple[Network, Table]) -> None:
    network, table = case
    full = network.sample(len(table), rng=0)
    rows = [tuple(int(c) for c in row) for row in full.codes]
    found = exact(pose(network.dag, full, prior=Dirichlet(0.7)))
    assert found.value == pytest.approx(evidence_of_rows(network.dag, rows, 0.7), abs=ROUNDING)


def test_predictions_one_step_ahead_sum_to_it_in_any_order() -> None:
    graph = naive_bayes(dag("X; Y", states=2).schema, hidden="H", states=2)
    codes = np.array([[0, 1, HOLE], [1, 1, HOLE], [0, HOLE, HOLE]], dtype=np.int8)
    whole = exact(pose(graph, small_table(graph, codes.tolist()))).value
    for order in permutations(range(3)):
        parts, before = 0.0, 0.0
        for upto in range(1, 4):
            now = exact(pose(graph, small_table(graph, codes[list(order[:upto])].tolist()))).value
            parts += now - before
            before = now
        assert parts == pytest.approx(whole, abs=ROUNDING)


def test_the_evidences_of_all_tables_of_two_rows_sum_to_one() -> None:
    graph = dag("A -> B; H -> A B", states={"A": 2, "B": 3, "H": 2}, hidden=["H"])
    columns = [graph.names.index(n) for n in ("A", "B")]
    logs = []
    for first in product(range(2), range(3)):
        for second in product(range(2), range(3)):
            codes = np.full((2, 3), HOLE)
            codes[0, columns], codes[1, columns] = first, second
            logs.append(exact(pose(graph, small_table(graph, codes.tolist()))).value)
    assert log_sum(logs) == pytest.approx(0.0, abs=ROUNDING)


def test_equivalent_graphs_agree_under_bdeu() -> None:
    graphs = [dag(arrows, states=3) for arrows in ("A -> B -> C", "A <- B -> C", "A <- B <- C")]
    table = Table(graphs[0].schema, np.random.default_rng(0).integers(0, 3, size=(50, 3)).astype(np.int8))
    values = []
    for graph in graphs:
        problem = pose(graph, table.align(graph.schema), prior=BDeu(4.0))
        values.append(complete_log_evidence(problem.belief, problem.prepared.observed))
    assert values[1:] == pytest.approx([values[0]] * 2, abs=ROUNDING)


def test_one_coin_in_closed_form() -> None:
    graph = dag("X", states=2)
    table = small_table(graph, [[0]] * 3 + [[1]] * 2)
    # Beta(1, 1) prior: 3! 2! / 6!
    assert exact(pose(graph, table)).value == pytest.approx(lgamma(4) + lgamma(3) - lgamma(7), abs=ROUNDING)


def test_too_many_completions_are_refused_with_their_number() -> None:
    graph = dag("H -> X1 X2 X3 X4", states={"H": 8, "X1": 2, "X2": 2, "X3": 2, "X4": 2}, hidden=["H"])
    rng = np.random.default_rng(0)
    codes = np.column_stack([np.full(400, HOLE), rng.integers(0, 2, (400, 4))])
    with pytest.raises(TooWideError, match=r"10\^361 completions"):  # 8^400 = 10^361.2
        exact(pose(graph, small_table(graph, codes.tolist())))


def test_half_a_row_has_no_completions() -> None:
    graph = dag("H -> X", states=2, hidden=["H"])
    with pytest.raises(ParameterError, match="whole weights"):
        exact(pose(graph, small_table(graph, [[HOLE, 0]], [0.5])))


def test_tied_families_share_their_counts() -> None:
    graph = dag("X; Y", states=2, tied=[("X", "Y")])
    table = small_table(graph, [[0, 0], [0, 1]])
    # One coin thrown four times: three of one side, one of the other.
    assert exact(pose(graph, table)).value == pytest.approx(lgamma(4) + lgamma(2) - lgamma(6), abs=ROUNDING)
    assert isinstance(pose(graph, table).belief, Belief)


@pytest.mark.parametrize("alpha", [1e6, 1e11, 1e17])
def test_a_prior_that_is_sure_keeps_its_digits(alpha: float) -> None:
    """log Π (α + k) over products of so many steps; the limit is a fair coin for every cell."""
    rng = np.random.default_rng(0)
    graph = lac.dag("A -> B", states=2)
    codes = rng.integers(0, 2, (20, 2)).astype(np.int8)
    table = lac.Table(graph.schema, codes, np.empty((20, 0)), np.ones(20))
    cells = [(codes[:, 0] == a).sum() for a in (0, 1)]
    cells += [((codes[:, 0] == a) & (codes[:, 1] == b)).sum() for a in (0, 1) for b in (0, 1)]
    risen = sum(np.log1p(k / alpha) for n in cells for k in range(n))
    for n in (20, *cells[:2]):
        risen -= sum(np.log1p(k / (2 * alpha)) for k in range(n))
    expected = -40 * np.log(2.0) + risen  # (α + k)/(2α + k) = ½ (1 + k/α)/(1 + k/2α)
    prior = lac.Dirichlet(alpha)
    # Sums of about ten terms of size 20 log α < 800.
    assert lac.score(graph, table, "exact", prior=prior).value == pytest.approx(expected, abs=2e-11)
    hidden = lac.make_holes(table, 0.2, rng=1)
    summed = lac.score(graph, hidden, "exact", prior=prior).value
    seen = int((~hidden.holes).sum())
    assert summed == pytest.approx(-seen * np.log(2.0), abs=1e3 / alpha + 2e-11)
    # Chains differ in what they draw, by rows²/α at most, and rounding of sums of some thousands. Chib's
    # points are draws, 1/√(8α) from ½: each hole tells the density there with a standard deviation of twice
    # that, which 16 chains of 500 draws and 16 points lessen.
    drawn = np.sqrt(hidden.holes.sum() / (2 * alpha) / (16 * 500) / 16)
    for method, spread in {"ais": 0.0, "bridge": 0.0, "chib": 4 * drawn}.items():
        assert lac.score(graph, hidden, method, prior=prior).value == pytest.approx(
            summed, abs=1e2 / alpha + 1e-9 + spread
        )


def test_a_search_refuses_a_prior_that_leaves_it_no_digits() -> None:
    with pytest.raises(ParameterError, match="alpha = 1e\\+16 leaves no digits"):
        lac.search(lac.asia().sample(20, rng=0), prior=lac.Dirichlet(1e16))


def test_equal_rows_are_summed_as_tables_of_counts() -> None:
    """Forty rows of A alone and forty of B alone: 194 481 tables of counts, gone through one by one here."""
    graph = dag("A -> B", states=2)
    codes = [[0, HOLE]] * 20 + [[1, HOLE]] * 20 + [[HOLE, 0]] * 20 + [[HOLE, 1]] * 20
    n = np.arange(21)
    ways = np.array([lgamma(21) - lgamma(k + 1) - lgamma(21 - k) for k in n])
    a0, a1, b0, b1 = np.meshgrid(n, n, n, n, indexing="ij")  # rows that lie at B = 0, B = 0, A = 0, A = 0
    logs = betaln(21 + b0 + b1, 61 - b0 - b1) + betaln(1 + a0 + b0, 21 - a0 + b1)
    logs += betaln(21 + a1 - b0, 41 - a1 - b1) + ways[a0] + ways[a1] + ways[b0] + ways[b1]
    found = exact(pose(graph, small_table(graph, codes)))
    assert found.value == pytest.approx(logsumexp(logs), abs=ROUNDING)
    assert found.details["tables"] == 21**2  # what is below A sums to one


def test_tables_that_are_equal_are_counted_once_before_too_many_are_refused() -> None:
    """Four kinds of five rows each: k rows of A = 0 in all, 6, 11 and 16 tables, each met with 6 more."""
    graph = dag("A -> B; D -> E", states=2)
    codes = [[HOLE, 0, d, e] for d, e in product((0, 1), repeat=2) for _ in range(5)]
    problem = pose(graph, small_table(graph, codes))
    needed = 6 * (1 + 6 + 11 + 16)
    assert sum(len(logs) for _, logs in count_tables(problem, needed)) == 6 * 16
    with pytest.raises(TooWideError, match=f"10\\^3 tables of counts where {needed - 1} are allowed"):
        list(count_tables(problem, needed - 1))


def test_what_lies_below_holes_need_not_be_completed() -> None:
    graph = dag("A -> B -> C; D -> C", states=3)
    codes = [[0, HOLE, HOLE, 2]] * 200 + [[1, 2, HOLE, HOLE]] * 3 + [[HOLE, 1, HOLE, 0]]
    found = exact(pose(graph, small_table(graph, codes)))
    assert found.details["tables"] == 3  # the last row's A
    few = small_table(graph, [[0, HOLE, HOLE, 2], [1, 2, HOLE, HOLE], [HOLE, 1, HOLE, 0]])
    assert exact(pose(graph, few)).value == pytest.approx(brute_force(graph, few, 1.0), abs=ROUNDING)
    half = small_table(graph, [[0, HOLE, HOLE, 2]], [0.5])  # half a row, but nothing to complete
    assert exact(pose(graph, half)).value == pytest.approx(
        2 * (lgamma(1.5) - lgamma(1.0)) - 2 * (lgamma(3.5) - lgamma(3.0)), abs=ROUNDING
    )


def test_continuous_holes_below_all_that_is_observed_count_for_nothing() -> None:
    graph = lac.dag("A -> X", kinds={"X": "continuous"}, states=2)
    x = np.array([[np.nan, 0.3], [np.nan, -0.2], [np.nan, 1.4], [np.nan, np.nan]])
    table = Table(graph.schema, np.array([[0, HOLE], [1, HOLE], [0, HOLE], [1, HOLE]]), x)
    shown = lac.score(graph, table.take(slice(3)), "exact").value
    # The fourth row throws the coin A again: Beta(1, 1) saw 2 and 1 before.
    assert lac.score(graph, table, "exact").value == pytest.approx(shown + np.log(2 / 5), abs=ROUNDING)


def test_of_many_beliefs_some_are_drawn_in_proportion() -> None:
    """Systematic sampling takes each so often that its share is off by less than one draw."""
    graph = dag("H -> A B", states=2, hidden=["H"])
    rows = [[HOLE, a, b] for a, b in ((0, 0), (0, 1), (1, 0), (1, 1))]
    problem = pose(graph, small_table(graph, rows, [3, 2, 2, 3]), prior=Dirichlet(1.0))
    shares, drawn = (
        {belief.alpha.tobytes(): share for belief, share in members if isinstance(belief, Belief)}
        for members in (exact_posterior(problem), exact_posterior(problem, most=10))
    )
    assert len(shares) > 10 >= len(drawn)
    assert sum(drawn.values()) == pytest.approx(1.0, abs=1e-12)
    for belief, share in shares.items():
        assert abs(drawn.get(belief, 0.0) - share) < 0.1


def test_what_has_no_conjugate_prior_has_one_member() -> None:
    graph = dag("A B -> C", states=2, family={"C": "sigmoid"})
    problem = pose(graph, lac.random_network(graph, rng=1).sample(30, rng=1))
    [(member, share)] = exact_posterior(problem)
    assert isinstance(member, Network)
    assert share == 1.0


def test_the_peak_of_a_sigmoid_has_no_slope() -> None:
    graph = dag("A B -> C", states=2, family={"C": "sigmoid"})
    table = lac.random_network(graph, rng=1).sample(60, rng=1)
    assert lac.score(graph, table, "laplace").details["slope"] < 1e-6
