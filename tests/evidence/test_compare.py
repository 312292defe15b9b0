"""Comparisons of models, and predictions averaged over them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lacunary.data.datasets import house_votes
from lacunary.data.read import read
from lacunary.data.table import Table
from lacunary.errors import NoEstimateError, ParameterError, SchemaError
from lacunary.evidence.compare import Comparison, compare
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.imputation import Sequence
from lacunary.evidence.score import METHODS
from lacunary.evidence.score import score as weigh
from lacunary.evidence.sensitivity import sensitivity
from lacunary.evidence.share import why_unsure
from lacunary.infer.belief import BDeu
from lacunary.infer.network import Network, random_network
from lacunary.infer.parallel import threads
from lacunary.learn.fit import Fit, fit
from lacunary.model.make import dag, naive_bayes


@pytest.fixture(scope="module")
def votes() -> Table:
    return house_votes().select(house_votes().schema.names[1:7])


@pytest.fixture(scope="module")
def found(votes: Table) -> Comparison:
    graphs = [naive_bayes(votes.schema, hidden="bloc", states=k) for k in (1, 2, 3)]
    return compare(graphs, votes, ["bic", "variational"], starts=4)


def test_one_estimate_may_be_named_by_itself(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=1)
    assert compare([graph], votes, "bic").methods == compare([graph], votes, ["bic"]).methods == ("bic",)


def test_it_holds_what_score_says(found: Comparison, votes: Table) -> None:
    assert list(found.models) == ["bloc=1", "bloc=2", "bloc=3"]
    for name, graph in found.models.items():
        for method in ("bic", "variational"):
            alone = weigh(graph, votes, method, starts=4)
            assert found.estimates[name][method].value == pytest.approx(alone.value, abs=1e-9)


def test_points_of_an_estimate_are_said_of_models(votes: Table) -> None:
    two = fit(naive_bayes(votes.schema, hidden="bloc", states=2), votes, method="ml", starts=2)
    one = naive_bayes(votes.schema, hidden="bloc", states=1)
    title = str(compare({"two": two, "one": one}, votes, ["bic", "cheeseman-stutz"])).split("\n")[0]
    assert "; bic of two, cheeseman-stutz of two at the given fit by ml; bic of one at ml; " in title
    assert title.endswith("; cheeseman-stutz of one at map (softmax basis)")


def test_probabilities_follow_bayes_rule(found: Comparison, votes: Table) -> None:
    values = found.values("variational")
    odds = np.exp(values - values.max())
    assert found.probabilities("variational") == pytest.approx(odds / odds.sum(), rel=1e-12)
    graphs = list(found.models.values())
    tilted = compare(graphs, votes, ["bic"], model_prior=[1.0, 0.0, 0.0], starts=4)
    assert tilted.probabilities("bic") == pytest.approx([1.0, 0.0, 0.0], abs=0)
    assert tilted.best() == "bloc=1"


def test_the_frame_has_a_row_a_model_and_method(found: Comparison) -> None:
    """BIC lies below the variational bounds by more than half a nat: it ranks, but tells no probabilities."""
    frame = found.to_frame("pandas")
    assert len(frame) == 6
    assert set(frame["rank"]) == {1, 2, 3}
    told = frame.groupby("method")["probability"]
    assert told.sum()["variational"] == pytest.approx(1.0, abs=1e-12)
    assert told.count()["bic"] == 0
    assert found.to_frame("dict")["parameters"][:3] == [6, 13, 20]


def test_averages_mix_the_models_by_their_probabilities(found: Comparison, votes: Table) -> None:
    with pytest.raises(ParameterError, match="below a proven lower bound; average by another"):
        found.average("bic")
    found = compare(list(found.models.values()), votes, "bic", starts=4)
    average = found.average("bic")
    rows = votes.take(np.arange(5))
    models = [model for name in found.models for model, _ in found._predictors(name, "bic")]
    direct = np.log(
        sum(w * np.exp(m.log_probability(rows)) for w, m in zip(average.weights, models, strict=True))
    )
    assert average.log_probability(rows) == pytest.approx(direct, abs=1e-12)
    first, second = votes.schema.names[:2]
    joint = sum(
        w * m.query(first, second).probabilities for w, m in zip(average.weights, models, strict=True)
    )
    answer = average.query(first, given={second: "y"}).probabilities
    assert answer == pytest.approx(joint[:, 1] / joint[:, 1].sum(), abs=1e-12)


def test_models_of_different_variables_are_refused(votes: Table) -> None:
    a = naive_bayes(votes.schema, hidden="bloc", states=2)
    b = naive_bayes(votes.select(votes.schema.names[:3]).schema, hidden="bloc", states=2)
    with pytest.raises(SchemaError, match="not comparable"):
        compare({"a": a, "b": b}, votes, ["bic"])


def test_nothing_to_compare_and_bad_priors_are_refused(votes: Table) -> None:
    a = naive_bayes(votes.schema, hidden="bloc", states=2)
    with pytest.raises(ParameterError, match="no models"):
        compare([], votes)
    with pytest.raises(ParameterError, match="needs 1 probabilities"):
        compare([a], votes, model_prior=[0.5, 0.5])
    with pytest.raises(ParameterError, match="was not compared"):
        compare([a], votes, ["bic"], starts=1).values("ais")


def test_progress_is_told(votes: Table) -> None:
    told: list[tuple[int, int, str]] = []
    graph = dag("; ".join(votes.schema.names), schema=votes.schema)
    compare({"empty": graph}, votes, ["bic", "mled"], watch=lambda *what: told.append(what))
    assert told == [(0, 2, "empty: bic"), (1, 2, "empty: mled")]
    assert isinstance(compare({"empty": graph}, votes, ["bic"]).average().models[0], Network)


def test_fits_stand_for_their_graphs(votes: Table) -> None:
    graphs = [naive_bayes(votes.schema, hidden="bloc", states=k) for k in (1, 2)]
    fits = [fit(graph, votes, starts=3) for graph in graphs]
    found = compare(fits, votes, ["bic"])
    assert list(found.models) == ["bloc=1", "bloc=2"]
    size = np.log(len(votes))
    expected = [f.log_likelihood - f.dag.layout.free / 2 * size for f in fits]
    assert found.values("bic") == pytest.approx(expected, rel=1e-12)


def test_favourites_are_the_highest_by_each_estimate(found: Comparison) -> None:
    favourites = found.favourites()
    assert sorted(method for methods in favourites.values() for method in methods) == ["bic", "variational"]
    for name, methods in favourites.items():
        for method in methods:
            assert found.values(method).max() == found.estimates[name][method].value


@pytest.mark.parametrize("method", ["bic", "variational"])
def test_an_interrupt_ends_the_comparison(votes: Table, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*arguments: object, **options: object) -> Fit:
        return replace(fit(*arguments, **options), interrupted=True)  # type: ignore[arg-type]

    monkeypatch.setattr("lacunary.evidence.problem.fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        compare([naive_bayes(votes.schema, hidden="bloc", states=2)], votes, [method], starts=2)


def test_every_estimate_knows_regressions() -> None:
    graph = dag("A -> X", states={"A": 2}, kinds={"X": "continuous"})
    table = random_network(graph, rng=0).sample(30, rng=0)
    for method in set(METHODS) - {
        "wbic",
        "ais",
        "path",
        "bridge",
        "chib",
        "sandwich",
    }:  # which are tested with draws of theirs
        assert np.isfinite(weigh(graph, table, method).value)


def test_equivalent_graphs_are_told_apart_by_the_prior_alone(votes: Table) -> None:
    # Both directions of one arc allow the same distributions; BDeu gives them one evidence (Heckerman, Geiger
    # and Chickering 1995), Dirichlet(1) does not.
    one, other = votes.schema.names[:2]
    texts = [f"{one} -> {other}", f"{other} -> {one}", f"{one}; {other}"]
    pair = votes.select([one, other])
    pair = pair.take(np.flatnonzero(~pair.holes.any(axis=1)))
    graphs = {text: dag(text, schema=pair.schema) for text in texts}
    found = compare(graphs, pair, ["exact"], prior=BDeu(1))
    assert found.equivalents() == [tuple(texts[:2])]
    assert found.first("exact") in (tuple(texts[:2]), (texts[2],))
    assert found.estimates[texts[0]]["exact"].value == pytest.approx(
        found.estimates[texts[1]]["exact"].value, rel=1e-12
    )
    assert sum(line.endswith("*") for line in str(found).splitlines()) == len(found.first("exact"))


def test_models_with_hidden_variables_are_not_called_equivalent(found: Comparison) -> None:
    assert found.equivalents() == []


def test_what_a_fit_held_fixed_is_not_counted(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=2)
    whole, half = fit(graph, votes, starts=1), fit(graph, votes, starts=1, fixed={"bloc": [0.5, 0.5]})
    found = compare({"whole": whole, "half": half}, votes, ["bic"])
    # 1 + 6 · 2 probabilities; one of them is given.
    assert [row["parameters"] for row in found.rows()] == [13, 12]
    assert [line.split()[1] for line in str(found).splitlines()[2:]] == ["13", "12"]


@pytest.fixture(scope="module")
def half() -> Comparison:
    """Compare two graphs by Laplace at maximum likelihood, where one has a probability of zero."""
    rows = read({"x": ["a", "a", "a", "b"] * 9, "y": ["c", "d", "c", "c"] * 9})
    return compare({"joined": "x -> y", "apart": "x; y"}, rows, ["laplace", "exact"], at="ml")


def test_an_estimate_that_does_not_hold_leaves_the_others(half: Comparison) -> None:
    assert half.estimated("laplace") == ("apart",)
    assert "is zero" in half.refused["joined"]["laplace"]
    assert np.isnan(half.values("laplace")).tolist() == [True, False]
    assert half.best() == half.best("exact") == "joined"  # what every model has an estimate of decides
    line = next(row for row in half.rows() if (row["model"], row["method"]) == ("joined", "laplace"))
    assert (line["kind"], line["log_evidence"], line["rank"]) == ("refused", None, None)
    assert "refused" in str(half)
    assert "nan" not in str(half).lower()
    assert "laplace of joined" in half.warnings()[0]
    half.plot()


def test_an_estimate_that_lacks_a_model_tells_no_probabilities(half: Comparison) -> None:
    assert all(share.probability is None for share in half.shares("laplace"))
    assert half.first("laplace") == ()
    with pytest.raises(NoEstimateError, match="no estimate of joined"):
        half.best("laplace")
    with pytest.raises(ParameterError, match="no estimate of joined"):
        half.average("laplace")


def test_where_nothing_holds_the_reason_is_raised() -> None:
    rows = read({"x": ["a", "a", "a", "b"] * 9, "y": ["c", "d", "c", "c"] * 9})
    with pytest.raises(NoEstimateError, match="is zero"):
        compare(["x -> y"], rows, ["laplace"], at="ml")


def test_an_estimate_that_cannot_have_a_model_leaves_the_others() -> None:
    """Beside a sigmoid, which nothing is conjugate to, "path" says so; by "laplace" both are weighed."""
    odds = dag("A -> B", states=2, family={"B": "sigmoid"})
    table = random_network(odds, rng=0).sample(20, rng=0)
    found = compare({"odds": odds, "table": dag("A -> B", states=2)}, table, ["path", "laplace"])
    assert found.estimated("path") == ("table",)
    assert "needs conjugate families" in found.refused["odds"]["path"]
    assert found.estimated("laplace") == ("odds", "table")


@pytest.mark.parametrize("method", ["exact", "ais", "path", "bridge", "chib", "sandwich", "prequential"])
def test_fractional_rows_with_holes_are_refused_with_what_takes_them(method: str) -> None:
    graph = dag("H -> A B", states=2, hidden=["H"])
    table = random_network(graph, rng=0).sample(6, rng=0).select(["A", "B"])
    table = replace(table, weights=np.array([1.5, 1.0, 2.0, 0.5, 1.0, 1.0]))
    found = compare([graph], table, [method, "variational"])
    others = [name for name in METHODS if f"'{name}'" in found.refused["H=2"][method] and name != method]
    assert others
    for other in others:
        assert np.isfinite(weigh(graph, table, other).value)


def stopping(where: int) -> tuple[list[str], Any]:
    """Return what was told of a comparison, and who listens and interrupts the task of that number."""
    told: list[str] = []

    def watch(done: int, total: int, what: str) -> None:
        told.append(what)
        if done == where:
            raise KeyboardInterrupt

    return told, watch


def test_one_interrupt_ends_the_comparison_with_what_is_there(votes: Table) -> None:
    graphs = {"one": dag("; ".join(votes.schema.names), schema=votes.schema)}
    graphs |= {str(k): naive_bayes(votes.schema, hidden="bloc", states=k) for k in (2, 3)}
    told, watch = stopping(3)
    found = compare(graphs, votes, ["bic", "mled"], starts=1, watch=watch)
    assert told == ["one: bic", "one: mled", "2: bic", "2: mled"]
    assert found.interrupted
    assert [found.estimated(method) for method in found.methods] == [("one", "2"), ("one",)]
    assert np.isnan(found.probabilities("bic")).all()
    kinds = [row["kind"] for row in found.rows()]
    assert [kind == "not done" for kind in kinds] == [False, False, True, False, True, True]
    said = str(found)
    assert "bic of 3: not done: the comparison was interrupted" in said
    assert "mled of 2, 3: not done: the comparison was interrupted" in said
    assert "refused" not in said
    with pytest.raises(NoEstimateError, match="no estimate of 3"):
        found.best("bic")
    whole = compare(graphs, votes, ["bic"], starts=1)
    assert not whole.interrupted
    assert found.values("bic")[:2] == pytest.approx(whole.values("bic")[:2], rel=1e-12)


def test_an_interrupt_before_the_first_estimate_goes_on(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=1)
    with pytest.raises(KeyboardInterrupt):
        compare({"a": graph, "b": graph}, votes, ["bic"], watch=stopping(0)[1])


def test_an_estimate_that_was_interrupted_ends_the_comparison(
    votes: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It returns what it has, and the next is not begun."""
    graph = naive_bayes(votes.schema, hidden="bloc", states=2)
    graphs, table = {"a": graph, "b": graph}, votes.take(np.arange(20))
    whole, left = Sequence._island, iter(range(1 + 5))  # of which the first is a pilot

    def island(*given: Any, **options: Any) -> Any:
        if next(left, None) is None:
            raise KeyboardInterrupt
        return whole(*given, **options)

    monkeypatch.setattr(Sequence, "_island", island)
    with threads(1):
        found = compare(graphs, table, ["chib", "bic"], starts=1, options={"chib": {"draws": 32}})
    assert found.interrupted
    assert found.estimated("chib") == ("a",)
    assert found.estimated("bic") == ()
    assert found.estimates["a"]["chib"].details["freedom"] == 4


def test_sensitivity_ends_at_an_interrupt_with_what_was_tried(votes: Table) -> None:
    graph = naive_bayes(votes.schema, hidden="bloc", states=1)
    found = sensitivity(graph, votes, "bic", alphas=[0.5, 1.0, 2.0], watch=stopping(1)[1])
    assert found.alphas.tolist() == [0.5]
    assert found.values().shape == (1, 1)


def test_formulas_that_are_proven_too_low_tell_no_probabilities_but_rank(
    found: Comparison, votes: Table
) -> None:
    """BIC lies below the variational bound of every model by more than half a nat."""
    assert any(found.too_low(name, "bic") for name in found.models)
    assert {share.note for share in found.shares("bic")} == {"an estimate lies below a proven lower bound"}
    assert found.first("bic") == (found.best("bic"),)
    assert found.probabilities("variational").sum() == pytest.approx(1.0, abs=1e-12)
    alone = compare(list(found.models.values()), votes, "bic", starts=4)
    assert alone.probabilities("bic").sum() == pytest.approx(1.0, abs=1e-12)  # nothing proves it wrong there


def test_sampled_formulas_that_are_proven_too_low_do_not_even_rank() -> None:
    """As Monte Carlo estimates: WBIC's error is of draws."""
    low = Estimate("wbic", -20.0, "approximation", {}, stderr=0.5)
    high = Estimate("wbic", -12.0, "approximation", {}, stderr=0.5)
    assert why_unsure([low, high], [-18.0, -np.inf]) == "an estimate lies below a proven lower bound"
    assert why_unsure([low, high], [-20.9, -np.inf]) == ""
    doubted = replace(high, details={"trustworthy": False})
    assert why_unsure([low, doubted], [-np.inf] * 2) == "the error of an estimate is not to be trusted"
