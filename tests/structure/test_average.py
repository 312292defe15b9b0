"""Averages over graphs, against the posterior over all graphs written down."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.errors import ParameterError, SchemaError

DRAWS = 400


def every_graph(schema: lac.Schema) -> list[lac.Dag]:
    """Return all graphs over three variables in which no continuous variable has a discrete child."""
    names, found = schema.names, []
    pairs = [(a, b) for k, a in enumerate(names) for b in names[k + 1 :]]
    for code in np.ndindex(*[3] * len(pairs)):
        arcs = [(a, b) if way == 1 else (b, a) for (a, b), way in zip(pairs, code, strict=True) if way]
        if any(schema[b].discrete and not schema[a].discrete for a, b in arcs):
            continue
        try:
            found.append(lac.Dag.from_arcs(schema, arcs))
        except lac.GraphError:
            continue
    return found


@pytest.mark.parametrize(("kind", "charge"), [("discrete", 0.0), ("mixed", 0.0), ("discrete", 1.5)])
def test_without_holes_graphs_come_as_often_as_the_evidence_says(kind: str, charge: float) -> None:
    """Bayes' rule over all graphs, by the exact evidence, against how often each arc is drawn."""
    kinds: Any = {"y": "continuous", "z": "continuous"} if kind == "mixed" else None
    truth = lac.random_network(lac.dag("x -> y -> z", states=2, kinds=kinds), rng=4)
    table = truth.sample(25, rng=1)
    prior = lac.NormalWishart(tables=lac.bdeu(1)) if kinds else lac.bdeu(1)
    graphs = every_graph(table.schema)
    assert len(graphs) == (25 if kind == "discrete" else 12)
    logs = np.array([lac.score(graph, table, "exact", prior=prior).value for graph in graphs])
    logs -= charge * np.array([len(graph.arcs) for graph in graphs])
    chance = np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum()
    many = lac.average_graphs(table, structure_prior=charge, draws=DRAWS, burn=5, rng=0)
    seen = Counter(arc for model in many.models for arc in model.dag.arcs)
    for arc in {arc for graph in graphs for arc in graph.arcs}:
        p = float(sum(c for c, graph in zip(chance, graphs, strict=True) if arc in graph.arcs))
        # A share of 400 draws, of which one in four counts as new: 24 moves are proposed between two.
        assert abs(seen[arc] / DRAWS - p) < 4 * np.sqrt(p * (1 - p) / (DRAWS / 4)) + 0.01


def test_a_hole_is_told_as_by_adding_up_over_all_graphs_and_fillings() -> None:
    """Two binary columns and one hole: its probability is a ratio of evidences, summed over graphs."""
    codes = np.array([[0, 0]] * 6 + [[1, 1]] * 5 + [[0, 1]] * 2 + [[1, -1]], dtype=np.int8)
    schema = lac.Schema((lac.Variable("a", (0, 1)), lac.Variable("b", (0, 1))))
    evidence = np.zeros(2)
    for arcs in ([], [("a", "b")], [("b", "a")]):
        for state in (0, 1):
            full = np.where(codes < 0, state, codes)
            graph = lac.Dag.from_arcs(schema, arcs)
            evidence[state] += np.exp(
                lac.score(graph, lac.Table(schema, full), "exact", prior=lac.bdeu(1)).value
            )
    expected = evidence[1] / evidence.sum()
    many = lac.average_graphs(lac.Table(schema, codes), draws=60, burn=5, rng=1)
    found = many.posterior(lac.Table(schema, codes))["b"][-1, 1]
    # A belief has met the row it is asked about, with what the hole held then: of fourteen rows one counts
    # twice, which moves a probability by at most about 1/14; the draws' own error is smaller.
    assert found == pytest.approx(expected, abs=0.08)


def test_rows_count_as_often_as_they_weigh() -> None:
    rows = lac.make_holes(lac.asia().sample(30, rng=0), 0.2, rng=0)
    twice = lac.Table(rows.schema, rows.codes, rows.reals, np.full(30, 2.0))
    again = rows.take(np.repeat(np.arange(30), 2))
    one, other = (lac.average_graphs(t, draws=2, burn=1) for t in (twice, again))
    assert [m.dag.arcs for m in one.models] == [m.dag.arcs for m in other.models]
    half = lac.Table(rows.schema, rows.codes, rows.reals, np.full(30, 0.5))
    with pytest.raises(ParameterError, match="whole numbers"):
        lac.average_graphs(half)


def test_rules_are_kept_and_what_cannot_be_is_refused() -> None:
    rows = lac.make_holes(lac.asia().sample(60, rng=0), 0.1, rng=0)
    told: list[tuple[int, int]] = []
    many = lac.average_graphs(
        rows,
        draws=3,
        burn=2,
        required="asia -> tub",
        max_parents=2,
        watch=lambda done, total: told.append((done, total)),
    )
    assert told == [(k, 9) for k in range(9)]  # three chains, each of two draws that are left out and one
    for model in many.models:
        assert ("asia", "tub") in model.dag.arcs
        assert max(len(ps) for ps in model.dag.parents) <= 2
    with pytest.raises(SchemaError, match="hidden"):
        lac.average_graphs(lac.Table(rows.schema.hide(["asia"]), np.where(np.arange(8) == 0, -1, rows.codes)))
    with pytest.raises(ParameterError, match="draws"):
        lac.average_graphs(rows, draws=0)


def test_the_networks_of_a_default_call_have_links_as_often_as_they_are_probable() -> None:
    """Of 200 networks a share of p has a deviation of 0.035 at most; chains hardly remember between steps."""
    table = lac.random_network(lac.dag("a -> b -> c; d", states=2), rng=2).sample(60, rng=2)
    many, exact = lac.average_graphs(table), lac.arc_probabilities(table)
    assert (exact.method, len(many.models)) == ("exact", 200)
    for i, one in enumerate(exact.names):
        for other in exact.names[:i]:
            share = np.mean([{(one, other), (other, one)} & set(m.dag.arcs) != set() for m in many.models])
            assert abs(share - exact.link(one, other)) < 4 * 0.05
    assert abs(many.arcs.links - exact.links).max() < 0.03


def test_averages_print_what_they_are() -> None:
    rows = lac.asia().sample(30, rng=0)
    assert str(lac.average_graphs(rows, draws=3, burn=1)).startswith("3 networks drawn from the posterior")
    both = lac.compare(["smoke -> lung", "smoke; lung"], rows, "exact").average()
    assert str(both).startswith("2 models to be asked as one; the heaviest weighs 0.")
