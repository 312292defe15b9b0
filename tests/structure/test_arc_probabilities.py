"""Probabilities of arcs, against all graphs written down."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.errors import ParameterError, TooWideError
from lacunary.structure.all_graphs import AllGraphs, charges, family_terms, sum_of_graphs
from lacunary.structure.constraints import Constraints
from lacunary.structure.discrete import BD
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import total
from tests import naive_structure as naive
from tests.structure.small import chain, complete, rules
from tests.structure.test_board import allowed


@settings(max_examples=12)
@given(data=st.data(), kind=st.sampled_from(["uniform", "links", "beta-binomial", 2.0]))
def test_the_sum_goes_over_all_graphs_each_once(data: st.DataObject, kind: Any) -> None:
    table = data.draw(complete(min_variables=2, max_variables=4).filter(lambda rows: rows.size > 0))
    limits, score = data.draw(rules(table.schema)), BD(table)
    prior = StructurePrior.of(kind, limits)
    graphs = [graph for graph in naive.all_dags(len(table.schema)) if allowed(graph, limits)]
    logs = [total(score, graph) + prior.log_probability(graph) for graph in graphs]
    log, arcs = sum_of_graphs(family_terms(score, limits), prior)
    assert log == pytest.approx(naive.log_sum(logs), abs=1e-9)
    np.testing.assert_allclose(arcs, naive.arc_chances(graphs, logs), atol=1e-9)


@pytest.mark.parametrize(("n", "graphs"), [(1, 1), (2, 3), (3, 25), (5, 29281), (9, 1213442454842881)])
def test_as_many_graphs_are_met_as_there_are(n: int, graphs: int) -> None:
    """Robinson (1977) counted them; every family weighs one."""
    sets = np.arange(1 << n)
    terms = np.where(sets[None] >> np.arange(n)[:, None] & 1, -np.inf, 0.0)
    every = AllGraphs(terms, np.zeros((n, n), dtype=bool), 0.0)
    assert np.exp(every.log_total) == pytest.approx(graphs, rel=1e-11)  # rounding of thousands of terms
    chances = every.arcs()[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(chances, chances[:1].repeat(len(chances)), rtol=1e-10)  # by symmetry


def test_terms_that_differ_by_thousands_of_nats_leave_no_zero() -> None:
    """Root variables weigh e⁻⁵⁰⁰⁰ of what they would with parents: nothing of it may vanish."""
    terms = np.array([[-5000.0, -np.inf, 0.0, -np.inf], [-5000.0, 1.0, -np.inf, -np.inf]])
    every = AllGraphs(terms, np.zeros((2, 2), dtype=bool), 0.0)
    assert every.log_total == pytest.approx(-5000.0 + np.log(np.exp(1.0) + 1.0), abs=1e-9)
    assert every.arcs()[0, 1] == pytest.approx(np.exp(1.0) / (np.exp(1.0) + 1.0), abs=1e-9)


def test_graphs_are_drawn_as_often_as_they_weigh() -> None:
    table = chain(4, 30)
    limits = Constraints.of(table.schema)
    terms, rng = family_terms(BD(table), limits), np.random.default_rng(0)
    every = AllGraphs(terms, np.zeros((4, 4), dtype=bool), 0.0)
    seen = np.zeros((4, 4))
    for _ in range(2000):
        for child, parents in enumerate(every.draw(rng)):
            seen[list(parents), child] += 1 / 2000
    # Independent draws: four standard deviations of a share are at most 4 √(1/4 / 2000).
    np.testing.assert_allclose(seen, every.arcs(), atol=0.045)


def test_the_beta_binomial_is_a_mixture_of_charges() -> None:
    prior = StructurePrior.of("beta-binomial", Constraints.of(chain(6, 5).schema))
    links = np.arange(len(prior.logs))
    parts = [part.log_weight + part.link * links for part in charges(prior)]
    np.testing.assert_allclose(np.logaddexp.reduce(parts), prior.logs, atol=1e-10)


def test_the_verb_is_exact_where_nothing_is_missing() -> None:
    table = chain(4, 60)
    p = lac.arc_probabilities(table, max_parents=2, structure_prior=None)
    limits, score = Constraints.of(table.schema, max_parents=2), BD(table)
    graphs = [graph for graph in naive.all_dags(4) if allowed(graph, limits)]
    expected = np.array(naive.arc_chances(graphs, [total(score, graph) for graph in graphs]))
    assert p.method == "exact"
    np.testing.assert_allclose(p.arcs, expected, atol=1e-9)
    assert p["V0", "V1"] == pytest.approx(expected[0, 1], abs=1e-9)
    assert p.link("V1", "V0") == pytest.approx(expected[0, 1] + expected[1, 0], abs=1e-9)
    assert not p.error.any()
    assert "exact" in str(p)


@pytest.mark.parametrize("kind", ["discrete", "mixed"])
def test_holes_are_summed_over_by_sampling(kind: str) -> None:
    """Three variables and a few holes: the exact evidence of every graph, fillings added up."""
    kinds: Any = {"y": "continuous", "z": "continuous"} if kind == "mixed" else None
    truth = lac.random_network(lac.dag("x -> y -> z", states=2, kinds=kinds), rng=4)
    table = truth.sample(20, rng=1)
    prior: Any = lac.NormalWishart(tables=lac.bdeu(1)) if kinds else lac.bdeu(1)
    if kinds:
        codes = np.array(table.codes)
        codes[:4, 0] = -1
        table = lac.Table(table.schema, codes, table.reals)
    else:
        table = lac.make_holes(table, 0.1, rng=0)
    limits = Constraints.of(table.schema)
    graphs = [graph for graph in naive.all_dags(3) if allowed(graph, limits)]
    names = table.schema.names
    dags = [
        lac.Dag(table.schema, tuple(tuple(names[p] for p in parents) for parents in graph))
        for graph in graphs
    ]
    logs = [lac.score(dag, table, "exact", prior=prior).value for dag in dags]
    draws = 100 if kinds else 200
    p = lac.arc_probabilities(table, prior=prior, structure_prior=None, draws=draws, error=0.004, rng=0)
    assert p.method == "sampling"
    assert p.worst_rhat is not None
    expected = naive.arc_chances(graphs, logs)
    # Four standard errors, and what is left of the first draws.
    assert np.all(np.abs(p.arcs - expected) < 4 * p.error + 0.003)
    assert kinds or p.link_error.max() < 0.01


def test_more_variables_are_walked_over_by_single_arcs(monkeypatch: pytest.MonkeyPatch) -> None:
    table = chain(4, 60)
    exact = lac.arc_probabilities(table, structure_prior="beta-binomial")
    monkeypatch.setattr("lacunary.structure.chain.FEW", 2)
    p = lac.arc_probabilities(
        table, structure_prior="beta-binomial", method="sampling", draws=1000, error=0.01
    )
    assert np.all(np.abs(p.arcs - exact.arcs) < 4 * p.error + 0.005)


def test_it_is_kept_shown_and_refused(tmp_path: Path) -> None:
    table = chain(3, 40)
    p = lac.arc_probabilities(table)
    p.save(tmp_path / "p.json")
    again = lac.load(tmp_path / "p.json", lac.ArcProbabilities)
    assert str(again) == str(p)
    np.testing.assert_array_equal(again.arcs, p.arcs)
    sampled = lac.arc_probabilities(table, method="sampling", draws=20, error=1.0)
    lac.save(sampled, tmp_path / "s.json")
    assert lac.load(tmp_path / "s.json").to_dict() == sampled.to_dict()
    p.page(tmp_path / "p.html")
    assert "V0" in (tmp_path / "p.html").read_text()
    assert p.plot().axes
    with pytest.raises(ParameterError, match="no variable 'W'"):
        p.link("V0", "W")
    with pytest.raises(ParameterError, match="values are missing"):
        lac.arc_probabilities(lac.make_holes(table, 0.2, rng=0), method="exact")
    with pytest.raises(ParameterError, match="chains at least 2"):
        lac.arc_probabilities(table, chains=1)
    with pytest.raises(ParameterError, match="method is 'exact' or 'sampling'"):
        lac.arc_probabilities(table, method="guess")  # type: ignore[arg-type]
    with pytest.raises(TooWideError, match="out of reach"):
        lac.arc_probabilities(chain(15, 10), method="exact")


def test_an_average_tells_how_well_its_chains_agree() -> None:
    rows = lac.make_holes(chain(4, 60), 0.1, rng=0)
    many = lac.average_graphs(rows, draws=40, burn=3, chains=4)
    assert len(many.models) == 40
    assert many.arcs.chains == 4
    assert many.arcs.draws == 10
    assert many.arcs.effective is not None
    assert many.arcs.log_rhat is not None
    assert lac.average_graphs(rows, draws=3, burn=1).arcs.rhat is None


def test_interrupted_chains_say_what_they_have() -> None:
    rows = lac.make_holes(lac.asia().sample(40, rng=0).select(["smoke", "lung", "bronc"]), 0.2, rng=0)

    def stop(done: int, steps: int) -> None:
        if done >= 4 * (100 + 64):
            raise KeyboardInterrupt

    found = lac.arc_probabilities(rows, error=1e-6, watch=stop)
    assert (found.chains, found.draws) == (4, 64)
    assert 0.0 < found.link_error.max() < 0.2
    with pytest.raises(KeyboardInterrupt):
        lac.arc_probabilities(rows, watch=lambda done, steps: stop(done + 1000, steps))


def test_a_run_that_ends_above_the_error_asked_for_says_so() -> None:
    rows = lac.make_holes(chain(3, 40), 0.3, rng=0)
    short = lac.arc_probabilities(rows, error=1e-6, draws=400)
    assert (short.draws, short.asked) == (400, 1e-6)
    assert "above the 1e-06 asked for" in str(short)
    assert "asked for" not in str(lac.arc_probabilities(rows, error=0.02))
