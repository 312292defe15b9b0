"""A sum of parts is a source: whatever is learned from a table is learned from its parts, to rounding."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data import facts, fewest
from lacunary.data.facts import Facts, co_moments, hole_patterns, quantiles, state_weights
from lacunary.data.parts import Here
from lacunary.data.source import Source, first_row, in_tree
from lacunary.infer import residuals
from lacunary.infer.rows import Rows, prepare
from tests.strategies import Case, cases, mixed_cases

PARTS = (1, 3, 7)

ROUNDING = 1e-9
"""Sums of at most some hundred terms in another order, and what a climb of some dozen steps makes of that."""


def cut(table: lac.Table, parts: int) -> lac.Partitioned:
    """The table in so many parts, some of which may be empty."""
    edges = np.linspace(0, len(table), parts + 1).astype(int)
    return lac.Partitioned(table.take(slice(a, b)) for a, b in pairwise(edges))


def laid(network: lac.Network, source: Source) -> Rows:
    return prepare(network.dag, source.align(network.dag.schema))


@pytest.mark.parametrize("parts", PARTS)
@given(case=st.one_of(cases(max_rows=8), mixed_cases()), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_whatever_is_asked_of_rows_is_the_sum_over_parts(parts: int, case: Case, seed: int) -> None:
    network, table = case
    one, many = laid(network, table), laid(network, cut(table, parts))
    vectors = np.array([network.theta, lac.random_network(network.dag, rng=seed).theta])
    assert len(many) == len(one)
    assert many.weight == pytest.approx(one.weight)
    same(many.observed, one.observed)
    np.testing.assert_array_equal(many.open_columns, one.open_columns)
    same(many.expect(vectors).counts, one.expect(vectors).counts)
    same(many.expect(vectors).log_likelihood, one.expect(vectors).log_likelihood)
    same(many.log_evidence(vectors), one.log_evidence(vectors))
    weights = np.random.default_rng(seed).random(len(table))
    same(many.weighed(weights).expect(vectors).counts, one.weighed(weights).expect(vectors).counts)
    discrete = [[i] for i, variable in enumerate(table.schema) if variable.discrete]
    for ours, theirs in zip(
        many.marginals(vectors[0], discrete), one.marginals(vectors[0], discrete), strict=True
    ):
        same(ours, theirs)
    numbers = list(network.dag.continuous)
    for mine, wanted in zip(many.normals(vectors[0], numbers), one.normals(vectors[0], numbers), strict=True):
        same(mine.mean, wanted.mean)
        same(mine.sd, wanted.sd)


@pytest.mark.parametrize("model", ["network", "belief"])
def test_densities_of_parts_with_fewer_components_are_those_of_the_whole(model: str) -> None:
    """In the first rows k is known, in the others open: a component, and two."""
    graph = lac.dag("k -> n; k -> x", kinds={"n": "continuous", "x": "continuous"}, family={"n": "poisson"})
    given: dict[str, Any] = {"k": [0.4, 0.6], "n": lac.Poisson([1.0, 20.0]), "x": lac.Regression([0.0, 2.0])}
    truth = lac.Network.from_tables(graph, given)
    rows = truth.sample(40, rng=1)
    holes = np.arange(40)[:, None] >= 20
    table = lac.Table(
        rows.schema, np.where(holes, -1, rows.codes).astype(np.int8), np.full(rows.reals.shape, np.nan)
    )
    asked = truth if model == "network" else lac.fit(graph, rows).belief
    one: Any = asked.posterior(table, ["n", "x"])
    many: Any = asked.posterior(cut(table, 2), ["n", "x"])
    for name in ("n", "x"):
        same(many[name].sd, one[name].sd)
        same(many[name].log_density(3.0), one[name].log_density(3.0))
        same(many[name].probability_below(3.0), one[name].probability_below(3.0))
        same(many[name].quantile(0.3), one[name].quantile(0.3))


@pytest.mark.parametrize("parts", PARTS)
@given(case=cases(max_rows=8), seed=st.integers(0, 99))
@settings(max_examples=15, deadline=None)
def test_families_outside_the_graph_are_summed_over_parts(parts: int, case: Case, seed: int) -> None:
    network, table = case
    if network.log_likelihood(table) == -np.inf:
        return
    other = lac.random_dag(len(network.dag.names), 0.5, 2, rng=seed)
    names = dict(zip(other.names, network.dag.names, strict=True))
    arcs = [(names[a], names[b]) for a, b in other.arcs]
    graph = lac.Dag.from_arcs(network.dag.schema, arcs)
    one, many = (laid(network, source).families(network.theta) for source in (table, cut(table, parts)))
    same(many.statistics(graph), one.statistics(graph))
    counts, _ = laid(network, cut(table, parts)).score_covariance(network.theta)
    same(counts, laid(network, table).score_covariance(network.theta)[0])


def same(found: NDArray[Any], wanted: NDArray[Any]) -> None:
    scale = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    np.testing.assert_allclose(found, wanted, rtol=ROUNDING, atol=1e-11 * scale)


# Facts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", PARTS)
@given(case=mixed_cases())
@settings(max_examples=25, deadline=None)
def test_facts_are_those_of_the_columns(parts: int, case: Case) -> None:
    _, table = case
    source = cut(table, parts)
    facts, counted = source.facts, table.weights > 0
    for i, variable in enumerate(table.schema):
        if variable.discrete:
            seen = table.codes[:, i] >= 0
            want = [table.weights[table.codes[:, i] == s].sum() for s in range(variable.size)]
            np.testing.assert_allclose(state_weights(source, variable.name), want)
        else:
            x = table.reals[:, i]
            seen = ~np.isnan(x)
            mine, weight = x[seen & counted], table.weights[seen & counted]
            if len(mine):
                mean = np.average(mine, weights=weight)
                assert (facts.low[i], facts.high[i]) == (mine.min(), mine.max())
                assert facts.mean[i] * facts.unit[i] == pytest.approx(mean, rel=1e-9, abs=1e-12)
                scatter = float(weight @ (mine - mean) ** 2)
                assert facts.scatter[i] * facts.unit[i] ** 2 == pytest.approx(scatter, rel=1e-6, abs=1e-12)
        assert facts.seen[i] == pytest.approx(table.weights[seen].sum())
        assert facts.shown[i] == seen.any()


def test_means_of_huge_and_tiny_columns_do_not_overflow() -> None:
    schema = lac.Schema((lac.Variable("x", kind="continuous"),))
    values = np.array([[1e160], [3e160], [np.nan], [-1e160]])
    table = lac.Table(schema, np.full(values.shape, -1), values)
    for parts in PARTS:
        centre, spread = cut(table, parts).facts.centre_and_spread([0])
        assert centre == pytest.approx(1e160)
        assert spread == pytest.approx(np.sqrt(8 / 3) * 1e160)


@pytest.mark.parametrize("parts", PARTS)
def test_co_moments_patterns_and_quantiles_are_those_of_numpy(parts: int) -> None:
    rng = np.random.default_rng(0)
    schema = lac.Schema(tuple(lac.Variable(name, kind="continuous") for name in "xyz"))
    values = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 3)) + 100.0
    values[rng.random(values.shape) < 0.2] = np.nan
    table = lac.Table(schema, np.full(values.shape, -1), values, weights=rng.integers(0, 3, 60).astype(float))
    source = cut(table, parts)
    weight, mean, moment = co_moments(source)
    both = ~np.isnan(values[:, 0]) & ~np.isnan(values[:, 1])
    w, x, y = table.weights[both], values[both, 0], values[both, 1]
    assert weight[0, 1] == pytest.approx(w.sum())
    assert mean[0, 1] == pytest.approx(np.average(x, weights=w))
    centred = (x - np.average(x, weights=w)) * (y - np.average(y, weights=w))
    assert moment[0, 1] == pytest.approx(float(w @ centred), rel=1e-9)
    patterns = hole_patterns(source)
    assert sum(patterns.values()) == pytest.approx(table.size)
    assert patterns[False, False, False] == pytest.approx(table.weights[~table.holes.any(axis=1)].sum())
    seen = np.repeat(values[:, 2], table.weights.astype(int))
    want = np.nanquantile(seen, [0.1, 0.5, 0.9], method="inverted_cdf")
    np.testing.assert_array_equal(quantiles(source, "z", [0.1, 0.5, 0.9]), want)


def test_quantiles_of_many_values_have_the_rank_that_is_promised() -> None:
    x = np.random.default_rng(1).standard_normal(100_000)
    table = lac.Table(
        lac.Schema((lac.Variable("x", kind="continuous"),)), np.full((len(x), 1), -1), x[:, None]
    )
    shares = np.array([0.01, 0.25, 0.5, 0.99])
    found = quantiles(cut(table, 7), "x", shares)
    ranks = np.searchsorted(np.sort(x), found) / len(x)
    # Seven parts are merged in three levels, and each is thinned once before.
    np.testing.assert_allclose(ranks, shares, rtol=0, atol=4 / 2**14)


def test_parts_are_added_in_a_tree_that_depends_on_their_number_alone() -> None:
    assert in_tree(["a", "b", "c", "d", "e"], lambda a, b: f"({a}{b})") == "(((ab)(cd))e)"
    assert in_tree([Facts.of(lac.house_votes())]).rows == 435


def test_the_first_row_is_found_across_parts() -> None:
    votes = lac.house_votes()
    found = first_row(cut(votes, 7), lambda part: np.asarray(part.holes.sum(axis=1) > 5))
    rows = np.flatnonzero(votes.holes.sum(axis=1) > 5)
    assert found is not None
    assert found[0] == rows[0]
    np.testing.assert_array_equal(found[1].codes, votes.codes[rows[:1]])
    assert first_row(cut(votes, 3), lambda part: np.zeros(len(part), dtype=bool)) is None


# Verbs ----------------------------------------------------------------------------------------------------


def discrete() -> tuple[lac.Dag, lac.Table]:
    votes = lac.house_votes()
    names = list(votes.schema.names[:6])
    few = votes.select(names).take(slice(0, 120))
    return lac.naive_bayes(few.schema, hidden="bloc", states=2), few


def mixed() -> tuple[lac.Dag, lac.Table]:
    graph = lac.dag(
        "C -> X; C X -> Y; D -> Y", states=2, kinds={"X": "continuous", "Y": "continuous"}, hidden=["C"]
    )
    network = lac.random_network(graph, rng=3)
    full = network.sample(90, rng=4).select(["D", "X", "Y"])
    return graph, lac.make_holes(full, 0.15, rng=5)


CASES = {"discrete": discrete, "mixed": mixed}


THIRTY = lac.Stop(iterations=30)
"""The same steps, however rounding moves the objective."""


@cache
def fitted_to(kind: str, method: Any) -> tuple[lac.Dag, lac.Table, lac.Fit]:
    """A graph, rows, and the fit to the table."""
    graph, table = CASES[kind]()
    return graph, table, lac.fit(graph, table, method=method, starts=3, stop=THIRTY)


@cache
def scored_on(kind: str, method: str) -> tuple[lac.Fit, lac.Table, lac.Estimate]:
    """A fit, rows, and an estimate from the table."""
    graph, table = CASES[kind]()
    found = lac.fit(graph, table, starts=3, stop=lac.Stop(relative=1e-12))
    return found, table, lac.score(found, table, method, **scoring(method))


def scoring(method: str) -> dict[str, Any]:
    more: dict[str, Any] = {"chains": 4, "steps": 8} if method == "ais" else {}
    return {"starts": 2, "stop": lac.Stop(iterations=20), **more}


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("method", ["ml", "map", "variational"])
@pytest.mark.parametrize("parts", PARTS)
def test_fits_are_those_of_the_table(kind: str, method: Any, parts: int) -> None:
    graph, table, one = fitted_to(kind, method)
    many = lac.fit(graph, cut(table, parts), method=method, starts=3, stop=THIRTY)
    assert many.objective == pytest.approx(one.objective, rel=ROUNDING)
    for ours, theirs in zip(many.starts, one.starts, strict=True):  # of which twins may tie for the best
        np.testing.assert_allclose(ours.network.theta, theirs.network.theta, rtol=1e-6, atol=1e-8)
    assert many.log_likelihood == pytest.approx(many.network.log_likelihood(cut(table, parts)), rel=1e-9)


@pytest.mark.parametrize("kind", CASES)
@pytest.mark.parametrize("parts", PARTS)
@pytest.mark.parametrize(
    "method", ["map", "bic", "draper", "laplace", "mled", "cheeseman-stutz", "variational", "ais"]
)
def test_estimates_are_those_of_the_table(kind: str, method: str, parts: int) -> None:
    found, table, one = scored_on(kind, method)
    many = lac.score(found, cut(table, parts), method, **scoring(method))
    # Laplace divides by curvatures that at hidden classes are small.
    assert many.value == pytest.approx(one.value, rel=1e-6 if method == "laplace" else ROUNDING)


@pytest.mark.parametrize("parts", PARTS)
def test_exact_evidence_and_comparisons_take_parts(parts: int) -> None:
    table = lac.asia().sample(40, rng=0).select(["smoke", "lung", "bronc"])
    graphs = [
        lac.dag(arrows, schema=table.schema) for arrows in ("smoke -> lung; bronc", "smoke -> lung bronc")
    ]
    holes = lac.make_holes(table, 0.05, rng=1)
    for rows in (table, holes):
        for graph in graphs:
            value = lac.score(graph, rows, "exact").value
            assert lac.score(graph, cut(rows, parts), "exact").value == pytest.approx(value, rel=1e-12)
    assert str(lac.compare(graphs, cut(holes, parts))) == str(lac.compare(graphs, holes))


def test_answers_are_those_of_the_table() -> None:
    graph, table = mixed()
    network = lac.fit(graph, table, starts=2, stop=lac.Stop(iterations=5)).network
    one, many = network.posterior(table), network.posterior(cut(table, 3))
    for name in ("C", "D"):
        np.testing.assert_allclose(many[name], one[name], atol=1e-12)
    np.testing.assert_allclose(network.log_probability(cut(table, 3)), network.log_probability(table))
    belief = lac.fit(graph, table, starts=2, stop=lac.Stop(iterations=5)).belief
    np.testing.assert_allclose(belief.log_probability(cut(table, 3)), belief.log_probability(table))


# Structures and mixtures ------------------------------------------------------------------------------------


def searched(kind: str) -> lac.Table:
    """A table whose best graph stands out, so that rounding does not turn ties."""
    graphs = {
        "discrete": lac.dag("A -> B -> C; A -> D", states=2),
        "mixed": lac.dag("A -> X -> Y; A -> B", states=2, kinds={"X": "continuous", "Y": "continuous"}),
        "continuous": lac.dag("X -> Y -> Z", kinds="continuous"),
        "counts": lac.dag("A -> N; A -> B", states=2, kinds={"N": "continuous"}, family={"N": "poisson"}),
    }
    table = lac.random_network(graphs[kind], rng=5).sample(120, rng=6)
    return replace(table, schema=lac.Schema(tuple(replace(v, family=None) for v in table.schema)))


def two_groups() -> lac.Table:
    """Rows of two groups that differ in shares and arcs: of one group's, rounding would choose the halves."""
    like, unlike = [[0.9, 0.1], [0.1, 0.9]], [[0.1, 0.9], [0.9, 0.1]]
    schema = lac.dag("A; B; C; D", states=2).schema
    one: dict[str, Any] = {"A": [0.9, 0.1], "B": like, "C": [0.8, 0.2], "D": like}
    two: dict[str, Any] = {"A": [0.2, 0.8], "B": [0.1, 0.9], "C": unlike, "D": [0.1, 0.9]}
    networks = (
        lac.Network.from_tables(lac.dag("A -> B; C -> D", schema=schema), one),
        lac.Network.from_tables(lac.dag("A -> C; B; D", schema=schema), two),
    )
    return lac.Mixture(np.array([0.6, 0.4]), networks).sample(120, rng=1)


FEW = lac.Stop(iterations=15)


@cache
def found_in(kind: str, holes: float) -> tuple[lac.Table, dict[str, str] | None, lac.SearchResult]:
    """Rows, families, and the graph that a search finds in the table."""
    table = lac.make_holes(searched(kind), holes, rng=1) if holes else searched(kind)
    family = {"N": "poisson"} if kind == "counts" else None
    return table, family, lac.search(table, family=family, escapes=1, rng=0)


@cache
def mixed_in(kind: str, holes: float) -> tuple[lac.Table, lac.MixtureFit]:
    """Rows, and the mixture that is learned from the table."""
    table = lac.make_holes(searched(kind), holes, rng=1) if holes else searched(kind)
    return table, lac.fit_mixture(table, components=2, stop=FEW, starts=1, structure="empty", rng=3)


@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["discrete", "mixed", "continuous", "counts"])
@pytest.mark.parametrize("parts", [1, 7])
def test_searches_are_those_of_the_table(kind: str, holes: float, parts: int) -> None:
    table, family, one = found_in(kind, holes)
    many = lac.search(cut(table, parts), family=family, escapes=1, rng=0)
    assert lac.equivalent(many.dag, one.dag)
    # Structural EM ends where the score rises by less than 1e-8 of its size.
    assert many.score == pytest.approx(one.score, rel=1e-6)
    assert many.network.log_likelihood(table) == pytest.approx(one.network.log_likelihood(table), rel=1e-6)


@pytest.mark.parametrize("holes", [0.0, 0.1])
@pytest.mark.parametrize("kind", ["discrete", "mixed", "continuous"])
@pytest.mark.parametrize("parts", [1, 7])
def test_mixtures_are_those_of_the_table(kind: str, holes: float, parts: int) -> None:
    table, one = mixed_in(kind, holes)
    many = lac.fit_mixture(cut(table, parts), components=2, stop=FEW, starts=1, structure="empty", rng=3)
    assert many.estimate.value == pytest.approx(
        one.estimate.value, rel=1e-6
    )  # 15 steps of EM from the same start
    np.testing.assert_allclose(many.mixture.weights, one.mixture.weights, atol=1e-5)
    shares = many.mixture.responsibilities(table)
    np.testing.assert_allclose(shares, one.mixture.responsibilities(table), atol=1e-4)


@pytest.mark.parametrize("parts", PARTS)
def test_multinets_noise_classes_and_averages_take_parts(parts: int) -> None:
    table = searched("mixed")
    one = lac.fit_mixture(table, given="A", structure="empty", rng=0)
    many = lac.fit_mixture(cut(table, parts), given="A", structure="empty", rng=0)
    assert many.estimate.value == pytest.approx(one.estimate.value, rel=1e-9)
    numbers = searched("continuous")
    noisy = [
        lac.fit_mixture(rows, components=1, noise=True, structure="empty", rng=0).estimate.value
        for rows in (numbers, cut(numbers, parts))
    ]
    assert noisy[1] == pytest.approx(noisy[0], rel=1e-6)
    votes = searched("discrete")
    both = [lac.classes(rows, [1, 2], aside="A", starts=2) for rows in (votes, cut(votes, parts))]
    one_study, studied = (study.to_dict() for study in both)
    for study in (one_study, studied):
        study.pop("candidates")  # EM stops a little sooner or later
    near(studied, one_study)
    np.testing.assert_allclose(both[1].posterior, both[0].posterior, atol=1e-5)
    averages = [lac.average_graphs(rows, draws=2, burn=2) for rows in (votes, cut(votes, parts))]
    np.testing.assert_allclose(averages[0].log_probability(votes), averages[1].log_probability(votes))


# What a source cannot do ------------------------------------------------------------------------------------


class Elsewhere(lac.Partitioned):
    """Parts that never come together."""

    def whole(self, purpose: str) -> lac.Table:
        raise lac.SourceError(f"{purpose} needs all rows in one place, and these are elsewhere")

    def align(self, schema: lac.Schema) -> Elsewhere:
        return Elsewhere(part.align(schema) for part in self.parts)

    def mapped(self, function: Callable[[lac.Table], lac.Table]) -> Elsewhere:
        return Elsewhere(map(function, self.parts))


class Far(Here[Any]):
    """Parts that are elsewhere: what comes back from them is weighed."""

    near = False
    most = 0

    def each(self, function: Callable[..., Any], *own: Any) -> list[Any]:
        found = [function(*of_part) for of_part in zip(self.parts, *map(_listed, own), strict=True)]
        Far.most = max([Far.most, *map(_largest, found)])
        return found

    def then(self, function: Callable[..., Any], *own: Any, keep: bool = True) -> Far:
        return Far(tuple(Here(self.parts).each(function, *map(_listed, own))))

    def only(self, which: Sequence[int]) -> Far:
        return Far(tuple(self.parts[k] for k in which))


def _listed(own: Any) -> Any:
    return _listed(own.parts) if hasattr(own, "parts") else own


def _largest(thing: Any) -> int:
    """Return the length of the longest array in a thing."""
    if isinstance(thing, np.ndarray):
        return len(thing) if thing.ndim else 1
    if isinstance(thing, list | tuple):
        return max(map(_largest, thing), default=0)
    return max(map(_largest, vars(thing).values()), default=0) if hasattr(thing, "__dict__") else 0


class FarSource(lac.Partitioned):
    """Parts that are elsewhere."""

    def __init__(self, parts: Iterable[lac.Table]) -> None:
        super().__init__(parts)
        self.tables = Far(self.parts)

    def align(self, schema: lac.Schema) -> FarSource:
        return FarSource(part.align(schema) for part in self.parts)

    def mapped(self, function: Callable[[lac.Table], lac.Table]) -> FarSource:
        return FarSource(map(function, self.parts))


@pytest.mark.parametrize("what", ["discrete", "continuous", "given", "noise", "classes"])
def test_responsibilities_stay_where_the_rows_are(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All arrays that come back are shorter than the rows of a part; and the mixture is the table's."""
    monkeypatch.setattr(fewest, "DRAWN", 10)
    monkeypatch.setattr(residuals, "SAMPLE", 10)
    monkeypatch.setattr(facts, "KEPT", 10)
    Far.most = 0
    like = {"given": "mixed", "noise": "continuous", "classes": "discrete"}
    table = two_groups() if what == "discrete" else searched(like.get(what, what))
    table = table.take(np.arange(3 * len(table)) % len(table))
    source = FarSource(cut(table, 2).parts)
    stop = lac.Stop(iterations=2)
    if what == "classes":
        found: list[Any] = [lac.classes(rows, [2], starts=1).to_dict()["classes"] for rows in (table, source)]
        near(found[1], found[0])
    else:
        asked: dict[str, dict[str, Any]] = {
            "given": {"given": "A"},
            "noise": {"components": 2, "noise": True},
        }
        more = asked.get(what, {"components": 2})
        kinds: list[Any] = ["empty", "learn"] if what == "discrete" else ["empty"]
        for kind in kinds:
            pair = [
                lac.fit_mixture(rows, structure=kind, stop=stop, rng=1, **more) for rows in (table, source)
            ]
            assert pair[1].estimate.value == pytest.approx(pair[0].estimate.value, rel=1e-6)
    assert 0 < Far.most < min(map(len, source.parts))


def near(a: Any, b: Any) -> None:
    """Compare plain records, numbers to what EM leaves open."""
    if isinstance(b, dict):
        assert a.keys() == b.keys()
        for key in b:
            near(a[key], b[key])
    elif isinstance(b, list | tuple):
        assert len(a) == len(b)
        for one, two in zip(a, b, strict=True):
            near(one, two)
    else:
        assert a == (pytest.approx(b, rel=1e-3, abs=1e-4) if isinstance(b, float) else b)


def test_fits_and_estimates_never_ask_for_all_rows_in_one_place() -> None:
    for make in CASES.values():
        graph, table = make()
        source = Elsewhere(cut(table, 3).parts)
        lac.search(source, max_parents=1)
        lac.fit_mixture(source, components=2, structure="empty", stop=lac.Stop(iterations=3))
        str(lac.classes(source, [1, 2], starts=1))
        with pytest.raises(lac.SourceError, match="a chain over graphs needs all rows in one place"):
            lac.average_graphs(source)
        found = lac.fit(graph, source, starts=2, stop=lac.Stop(iterations=5))
        for method in ("bic", "draper", "laplace", "mled", "cheeseman-stutz", "variational"):
            assert np.isfinite(lac.score(found, source, method, starts=1, stop=lac.Stop(iterations=5)).value)


def test_parts_must_have_one_schema_and_there_must_be_some() -> None:
    votes = lac.house_votes()
    with pytest.raises(lac.SchemaError, match="part 2 does not have the variables"):
        lac.Partitioned([votes, votes.select(["party"])])
    with pytest.raises(lac.TableError, match="at least one part"):
        lac.Partitioned([])
    with pytest.raises(lac.TableError, match="no rows"):
        lac.fit(lac.dag("party", schema=votes.schema), lac.Partitioned([votes.take(slice(0, 0))]))


def test_an_impossible_row_is_named_by_its_number_among_all() -> None:
    graph = lac.dag("A -> B", states=2)
    network = lac.Network.from_tables(graph, {"A": [0.5, 0.5], "B": [[1.0, 0.0], [0.5, 0.5]]})
    table = lac.Table(graph.schema, np.array([[0, 0]] * 5 + [[0, 1]]))
    with pytest.raises(lac.ImpossibleRowError, match=r"row 6 has probability zero .* it has A=0, B=1"):
        lac.expect(network, cut(table, 3))


@pytest.mark.parametrize("kind", CASES)
def test_rows_and_sources_are_copied_and_pickled(kind: str) -> None:
    graph, table = CASES[kind]()
    rows = prepare(graph, cut(table, 3).align(graph.schema))
    theta = lac.random_network(graph, rng=0).theta[None]
    want = rows.expect(theta)
    for again in (copy.deepcopy(rows), pickle.loads(pickle.dumps(rows))):
        np.testing.assert_array_equal(again.expect(theta).counts, want.counts)
    source = pickle.loads(pickle.dumps(cut(table, 3)))
    assert source.facts.weight == table.size


def test_weights_may_be_zero_in_whole_parts() -> None:
    graph, table = discrete()
    weights = np.where(np.arange(len(table)) < 40, 0.0, 2.0)
    weighed = replace(table, weights=weights)
    stop = lac.Stop(iterations=10)
    one = lac.fit(graph, weighed, starts=2, stop=stop)
    many = lac.fit(graph, cut(weighed, 3), starts=2, stop=stop)
    assert many.objective == pytest.approx(one.objective, rel=ROUNDING)
