"""Identification: every formula gives the mutilated network's answer, every refusal a hedge."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.causal.identification import Identification
from lacunary.causal.identify import NoFormulaError, conditional_formula
from lacunary.causal.projection import latent_projection
from tests import naive_causal
from tests.causal.random_graphs import Question, questions

TOLERANCE = 1e-10
"""Sums of at most some thousand products of probabilities and of ratios of them, none below 1e-4."""


def general(question: Question) -> Identification:
    """The formula of the general algorithm, even where a shorter one is known."""
    graph = latent_projection(question.network.dag, frozenset(question.hidden))
    y, x, z = (frozenset(names) for names in (question.outcome, question.do, question.given))
    try:
        formula = conditional_formula(y, x, z, graph)
    except NoFormulaError as no:
        return Identification(question.outcome, tuple(question.do), tuple(question.given), None, "", no.hedge)
    return Identification(question.outcome, tuple(question.do), tuple(question.given), formula, "")


def test_estimands_of_random_graphs_equal_the_mutilated_network() -> None:
    told = refused = nested = 0
    for question in questions(160, seed=20):
        network, do, given = question.network, question.do, question.given
        found = lac.identify(network.dag, question.outcome, list(do), list(given))
        other = general(question)
        assert found.identified == other.identified, question
        if not found.identified:
            refused += 1
            continue
        told += 1
        nested += "/" in str(other.formula)
        truth = naive_causal.asked(network, found.outcome, do, given)
        for one in (found, other):
            answer = one.evaluate(network, do, given)
            wanted = naive_causal.asked(network, one.outcome, do, given)
            assert answer.probabilities == pytest.approx(wanted, abs=TOLERANCE), (question, one)
        assert network.query(*found.outcome, do=do, given=given).probabilities == pytest.approx(
            truth, abs=TOLERANCE
        )
    assert told > 60
    assert refused > 20
    assert nested > 10  # ratios occur only in conditional questions and in the algorithm's last lines


def test_every_refusal_shows_its_hedge() -> None:
    found = 0
    for question in questions(120, seed=4):
        y, x = question.outcome, list(question.do)
        one = lac.identify(question.network.dag, y, x)
        if one.hedge is None:
            continue
        found += 1
        graph = latent_projection(question.network.dag, frozenset(question.hidden))
        assert naive_causal.is_hedge(one.hedge, graph, y, x), (str(question.network.dag), one)
        assert str(one.hedge) in str(one)
    assert found > 10


def test_two_models_that_agree_in_all_observed_differ_in_an_effect_with_a_hedge() -> None:
    """The bow of Pearl (2009, figure 3.1): u joins x and y, x -> y. In one model y is u, in the other x."""
    bow = lac.dag("u -> x y; x -> y", hidden=["u"])
    same: dict[str, Any] = {"u": [0.5, 0.5], "x": [[1, 0], [0, 1]]}  # x copies u
    by_cause = np.zeros((2, 2, 2))
    by_cause[0, :, 0] = by_cause[1, :, 1] = 1  # y copies u
    by_treatment = np.transpose(by_cause, (1, 0, 2))  # y copies x
    assert bow.parents_of("y") == ("u", "x")
    one = lac.Network.from_tables(bow, {**same, "y": by_cause})
    two = lac.Network.from_tables(bow, {**same, "y": by_treatment})
    assert one.query("x", "y").probabilities == pytest.approx(two.query("x", "y").probabilities)
    assert one.query("y", do={"x": 1})[1] == pytest.approx(0.5)
    assert two.query("y", do={"x": 1})[1] == pytest.approx(1.0)
    refused = lac.identify(bow, "y", do="x")
    assert refused.hedge is not None
    assert refused.hedge.larger == ("x", "y")
    assert refused.hedge.smaller == ("y",)
    with pytest.raises(lac.ParameterError, match="hedge"):
        refused.evaluate(one, {"x": 1})


def test_the_front_door() -> None:
    """Pearl (1995): smoking, tar and cancer with an unobserved genotype."""
    graph = lac.dag("u -> x y; x -> m -> y", hidden=["u"])
    found = lac.identify(graph, "y", do="x")
    assert str(found.formula) == "Σ_{m} P(m | x) Σ_{x'} P(y | x', m) P(x')"
    assert found.formula is not None
    assert found.formula.latex == r"\sum_{m} P(m \mid x) \sum_{x'} P(y \mid x', m) P(x')"


def test_the_napkin() -> None:
    """Pearl and Mackenzie (2018): Σ_w P(x, y | w, z) P(w) / Σ_w P(x | w, z) P(w)."""
    graph = lac.dag("a -> w x; b -> w y; w -> z -> x -> y", hidden=["a", "b"])
    network = lac.random_network(graph, rng=3)
    found = lac.identify(graph, "y", do="x")
    joint = network.query("w", "z", "x", "y").probabilities
    p_w = joint.sum(axis=(1, 2, 3))
    given = joint / joint.sum(axis=(2, 3), keepdims=True)
    for z in (0, 1):  # any z will do
        above = np.einsum("w,wy->y", p_w, given[:, z, 1])
        assert found.evaluate(network, {"x": 1}).probabilities == pytest.approx(
            above / above.sum(), abs=1e-12
        )


def test_what_is_seen_below_the_treatment_counts() -> None:
    """p(y | do(x), z) differs from p(y | do(x)): to drop what is given, as others do, would be wrong."""
    graph = lac.dag("x -> z; w -> z y; x -> y")
    by_cause = [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.1, 0.9]]]
    tables: dict[str, Any] = {"x": [0.5, 0.5], "w": [0.4, 0.6], "z": by_cause, "y": by_cause}
    network = lac.Network.from_tables(graph, tables)
    found = lac.identify(graph, "y", do="x", given="z")
    truth = naive_causal.asked(network, ["y"], {"x": 1}, {"z": 0})
    assert found.evaluate(network, {"x": 1}, {"z": 0}).probabilities == pytest.approx(truth, abs=1e-12)
    apart = naive_causal.asked(network, ["y"], {"x": 1}, {})
    assert np.abs(truth - apart).max() > 0.01


def test_states_that_never_occur_are_refused() -> None:
    graph = lac.dag("z -> x y; x -> y")
    tables: dict[str, Any] = {"z": [0.5, 0.5], "x": [[1.0, 0.0], [0.5, 0.5]], "y": np.full((2, 2, 2), 0.5)}
    network = lac.Network.from_tables(
        graph, {**tables, "y": [[[0.9, 0.1], [0.4, 0.6]], [[0.2, 0.8], [0.7, 0.3]]]}
    )
    with pytest.raises(lac.ParameterError, match="positivity"):
        lac.identify(graph, "y", do="x").evaluate(network, {"x": 1})  # never seen where z is 0
    fine = lac.identify(graph, "y", do="x").evaluate(network, {"x": 0})
    assert fine.probabilities == pytest.approx(naive_causal.asked(network, ["y"], {"x": 0}, {}))


def test_only_observed_probabilities_are_asked() -> None:
    """The formula's numbers are those of any network over the observed variables with the same joint."""
    [question] = [q for q in questions(40, seed=8) if q.hidden and not q.given and general(q).identified][:1]
    found = lac.identify(question.network.dag, question.outcome, list(question.do))
    seen = [n for n in question.network.dag.names if n not in question.hidden]
    full = lac.Dag.from_parents(
        lac.Schema(tuple(question.network.dag.schema[n] for n in seen)),
        {name: seen[:place] for place, name in enumerate(seen)},
    )
    tables = {}
    for place, name in enumerate(seen):
        joint = question.network.query(*seen[:place], name).probabilities
        tables[name] = joint / joint.sum(axis=-1, keepdims=True)
    observed = lac.Network.from_tables(full, tables, renormalize=True)
    answer = found.evaluate(observed, question.do).probabilities
    assert answer == pytest.approx(found.evaluate(question.network, question.do).probabilities, abs=1e-10)


def test_questions_that_make_no_sense_are_refused() -> None:
    graph = lac.dag("u -> x y; x -> y", hidden=["u"])
    with pytest.raises(lac.GraphError, match="u is hidden"):
        lac.identify(graph, "y", do="u")
    with pytest.raises(lac.GraphError, match="no variable may be in two"):
        lac.identify(graph, "y", do=["x", "y"])
    plain = lac.dag("x -> y")
    with pytest.raises(lac.ParameterError, match="do must say a state of x"):
        lac.identify(plain, "y", do="x").evaluate(lac.random_network(plain), {})
