"""Several variables at once, some of them continuous, against all configurations of the others."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.errors import ApproximationWarning, ImpossibleRowError, SchemaError, TooWideError
from lacunary.family.joint import JointMixture
from lacunary.infer.chains import Effort
from lacunary.model.dag import Dag
from tests.naive import log_sum
from tests.naive_mixed import Way, ways
from tests.strategies import mixed_networks

CLOSE = 1e-6
"""The oracle inverts covariances whose condition goes up to 1e8: half of the digits are left."""

Known = dict[str, Any]
Array = NDArray[np.float64]


@st.composite
def questions(draw: st.DrawFn) -> tuple[lac.Network, list[str], Known, Known]:
    """A network, targets, and what is given and set, around a row that it could give."""
    network = draw(mixed_networks(max_variables=6, max_states=3, max_hidden=1))
    row = network.sample(1, draw(st.integers(0, 10**6)))
    known: Known = {}
    do: Known = {}
    for i, v in enumerate(network.dag.schema):
        own = v.states[row.codes[0, i]] if v.discrete else float(row.reals[0, i])
        kind = draw(st.sampled_from(["none", "none", "none", "own", "set", "soft", "do"]))
        if kind == "do":
            do[v.name] = own
        elif kind == "own" or (kind != "none" and not v.discrete):
            known[v.name] = own
        elif kind == "set":
            known[v.name] = {own, draw(st.sampled_from(v.states))}
        elif kind == "soft":
            known[v.name] = {state: draw(st.floats(0.05, 1.0)) for state in v.states}
    names = list(draw(st.permutations(network.dag.names)))
    return network, names[: draw(st.integers(2, len(names)))] if len(names) > 1 else names, known, do


def enumerated(network: lac.Network, given: Known, do: Known) -> list[tuple[float, Way]]:
    """Return all configurations of the discrete variables and their probabilities, by the definition."""
    dag, schema = network.dag, network.dag.schema
    tables: dict[str, Any] = {name: network.table(name) for name in dag.names}
    for name, value in do.items():
        v = schema[name]
        tables[name] = np.eye(v.size)[v.encode(value)] if v.discrete else np.array([value, 1.0])
    parents = {name: () if name in do else dag.parents_of(name) for name in dag.names}
    cut = lac.Network.from_tables(Dag.from_parents(schema, parents), tables)
    codes, reals = np.full(len(schema), HOLE), np.full(len(schema), np.nan)
    likelihoods: dict[str, Array] = {}
    for name, finding in {**given, **do}.items():
        v = schema[name]
        if not v.discrete:
            reals[schema.index(name)] = finding
            continue
        likelihood = np.zeros(v.size)
        soft = (
            finding
            if isinstance(finding, dict)
            else dict.fromkeys(finding if isinstance(finding, set) else {finding}, 1.0)
        )
        for state, one in soft.items():
            likelihood[v.encode(state)] = one
        likelihoods[name] = likelihood
    logs, found = [], []
    for way in ways(cut, codes, reals):
        likely = math.prod(float(each[way.states[name]]) for name, each in likelihoods.items())
        if likely > 0:
            logs.append(way.log + math.log(likely))
            found.append(way)
    return [(math.exp(log - log_sum(logs)), way) for log, way in zip(logs, found, strict=True)]


@settings(max_examples=150, deadline=None)
@given(questions())
def test_joint_posteriors_are_those_of_all_configurations(
    question: tuple[lac.Network, list[str], Known, Known],
) -> None:
    network, names, known, do = question
    schema = network.dag.schema
    if len(names) < 2 or all(schema[name].discrete for name in names):
        return
    every = [v.name for v in schema if not v.discrete]
    numbers = [name for name in names if not schema[name].discrete]
    states = [name for name in names if schema[name].discrete]
    at = [every.index(name) for name in numbers]
    shares = enumerated(network, known, do)
    answer: Any = network.query(*names, given=known, do=do)
    assert isinstance(answer, JointMixture)
    assert [v.name for v in answer.variables] == names

    wanted = np.zeros([schema[name].size for name in states])
    for share, way in shares:
        wanted[tuple(way.states[name] for name in states)] += share
    np.testing.assert_allclose(answer.probabilities, wanted, atol=CLOSE)
    mean = sum(share * way.mean[at] for share, way in shares)
    square = sum(
        share * (way.covariance[np.ix_(at, at)] + np.outer(way.mean[at] - mean, way.mean[at] - mean))
        for share, way in shares
    )
    size = 1.0 + np.abs(square).max() + np.abs(mean).max()
    np.testing.assert_allclose(answer.mean, mean, atol=CLOSE * size)
    np.testing.assert_allclose(answer.covariance, square, atol=CLOSE * size)
    known_values = np.array([name in known or name in do for name in numbers])
    assert ((answer.sd == 0) == known_values).all()

    open_names = [name for name, fixed in zip(numbers, known_values, strict=True) if not fixed]
    where = [every.index(name) for name in open_names]
    random = np.random.default_rng(0)
    for share, way in shares[:4]:
        covariance = way.covariance[np.ix_(where, where)]
        x = random.multivariate_normal(way.mean[where], covariance) if where else np.empty(0)
        log = [
            math.log(other) + _log_normal(x, one.mean[where], one.covariance[np.ix_(where, where)])
            for other, one in shares
            if other > 0 and all(one.states[name] == way.states[name] for name in states)
        ]
        point: Known = dict(zip(open_names, x, strict=True))
        point |= {name: schema[name].states[way.states[name]] for name in states}
        if point and share > 1e-9:
            assert float(answer.log_density(point)) == pytest.approx(log_sum(log), rel=CLOSE, abs=1e-5)
    for name in numbers:
        alone: Any = network.query(name, given=known, do=do)
        mine: Any = answer.marginal(name)
        assert type(mine) is type(alone)
        assert float(mine.mean) == pytest.approx(float(alone.mean), rel=1e-9, abs=1e-9)
        assert float(mine.sd) == pytest.approx(float(alone.sd), rel=1e-9, abs=1e-9)
        points = np.linspace(float(alone.mean) - 2.1, float(alone.mean) + 2, 5)
        np.testing.assert_allclose(
            [mine.probability_below(p) for p in points],
            [alone.probability_below(p) for p in points],
            atol=1e-9,
        )


def _log_normal(x: Array, mean: Array, covariance: Array) -> float:
    return (
        float(stats.multivariate_normal(mean, covariance, allow_singular=False).logpdf(x)) if len(x) else 0.0
    )


@pytest.fixture(scope="module")
def leaves() -> lac.Network:
    """States, regressions, a count and a uniform density."""
    kinds: Any = dict.fromkeys("xyznu", "continuous")
    graph = lac.dag(
        "s -> x; x -> y; s -> t; t -> z; x -> z; s -> n; t -> u",
        kinds=kinds,
        family={"n": "poisson", "u": "uniform"},
    )
    tables: dict[str, Any] = {
        "s": [0.3, 0.7],
        "t": [[0.2, 0.8], [0.6, 0.4]],
        "x": lac.Regression([-1.0, 1.0]),
        "y": lac.Regression(0.0, [2.0]),
        "z": lac.Regression([0.0, 3.0], [[1.0], [-1.0]], [0.5, 2.0]),
        "n": lac.Poisson([2.0, 0.0]),
        "u": lac.Uniform([0.0, 1.0], [2.0, 3.0]),
    }
    return lac.Network.from_tables(graph, tables)


POINTS: list[Known] = [
    {"n": 0.0, "z": 1.0, "u": 1.4, "s": 1},
    {"n": 2.0, "z": -0.5, "u": 1.9, "s": 0},
    {"n": 0.0, "x": 0.2, "z": 0.3},
    {"x": 0.2, "y": 1.0, "z": -1.0, "u": 0.1},
    {"n": 1.0, "s": 1},  # of rate zero
    {"n": 0.5, "x": 1.0},  # no count
    {"x": 1.0, "u": 3.5},  # out of bounds
]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("seen", [{}, {"t": {0: 0.3, 1: 0.9}}, {"t": 1}])
def test_densities_are_ratios_of_what_is_given_with_them_and_without(
    leaves: lac.Network, point: Known, seen: Known
) -> None:
    """p(point | given) = p(point, given) / p(given), each from the rows' own engine."""
    answer = leaves.query(*point, given=seen)
    wanted = leaves.log_density({**point, **seen}) - leaves.log_density(seen)
    assert float(answer.log_density(point)) == pytest.approx(wanted, rel=1e-9)


def test_counts_and_bounds_are_drawn(leaves: lac.Network) -> None:
    known = {"y": 0.4, "t": {0: 0.3, 1: 0.9}}
    answer: Any = leaves.query("n", "s", "z", "u", "x", "y", given=known)
    count = 40_000
    drawn = answer.sample(count, rng=0)
    assert drawn.schema.names == ("n", "s", "z", "u", "x", "y")
    reals = drawn.reals[:, [0, 2, 3, 4, 5]]
    assert (reals[:, 4] == 0.4).all()
    assert (reals[:, 0] == np.floor(reals[:, 0])).all()
    error = 4.5 / np.sqrt(
        count
    )  # four standard errors and a half; of covariances their size is a few times more
    np.testing.assert_array_less(np.abs(reals.mean(axis=0) - answer.mean), error * answer.sd + 1e-12)
    apart = np.abs(np.cov(reals.T) - answer.covariance)
    np.testing.assert_array_less(apart, 3 * error * np.outer(answer.sd, answer.sd) + 1e-12)
    share = (drawn.codes[:, 1] == 0).mean()
    assert share == pytest.approx(answer.probabilities[0], abs=error)
    rows = leaves.sample(count, rng=1, given=known)  # which draws by another way
    np.testing.assert_array_less(
        np.abs(rows.reals[:, [rows.schema.index(name) for name in "nzuxy"]].mean(axis=0) - answer.mean),
        error * answer.sd + 1e-12,
    )


def test_rows_are_drawn_some_at_a_time(leaves: lac.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacunary.family.joint.AT_ONCE", 30)
    answer: Any = leaves.query("x", "s", "z", given={"y": 0.4})
    drawn = answer.sample(4000, rng=0).reals[:, [0, 2]]
    error = 4.5 / np.sqrt(len(drawn))
    np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - answer.mean), error * answer.sd)
    np.testing.assert_array_less(
        np.abs(np.cov(drawn.T) - answer.covariance), 3 * error * np.outer(answer.sd, answer.sd)
    )


def test_what_the_others_say_of_each_state(leaves: lac.Network) -> None:
    answer: Any = leaves.query("t", "x", "s", "z", given={"y": 1.3})
    for s, t in ((0, 0), (1, 1)):  # in any order
        twin: Any = leaves.query("x", "z", given={"y": 1.3, "s": s, "t": t})
        ours: Any = answer.given({"s": s, "t": t})
        np.testing.assert_allclose(ours.covariance, twin.covariance, rtol=1e-9)
        np.testing.assert_allclose(ours.mean, twin.mean, rtol=1e-9)
        assert answer[t, s] == pytest.approx(leaves.query("t", "s", given={"y": 1.3})[t, s], rel=1e-9)
    turned: Any = answer.marginal("z", "s", "x")
    np.testing.assert_allclose(turned.covariance, answer.covariance[::-1, ::-1], rtol=1e-9)
    states: Any = answer.marginal("s", "t")
    np.testing.assert_allclose(states.probabilities, answer.probabilities.T, rtol=1e-12)
    values = np.array([[0.1, 0.2, 0.3], [1.0, 1.1, 1.2]])
    densities = answer.log_density({"x": values, "z": values})
    assert densities.shape == (2, 3)
    assert densities[1, 1] == pytest.approx(float(answer.log_density({"x": 1.1, "z": 1.1})))
    told = answer.to_dict()
    assert [one["states"] for one in told["configurations"]] == [
        {"t": t, "s": s} for t in (0, 1) for s in (0, 1)
    ]
    assert sum(one["probability"] for one in told["configurations"]) == pytest.approx(1.0)
    for names, said in ((("x", "x"), "each once"), ((), "each once"), (("n",), "not about 'n'")):
        with pytest.raises(SchemaError, match=said):
            answer.marginal(*names)
    with pytest.raises(SchemaError, match="x is continuous"):
        answer.given({"x": 1.0})
    with pytest.raises(ImpossibleRowError, match="probability zero"):
        leaves.query("t", "x", given={"t": 1}).given({"t": 0})
    with pytest.raises(AttributeError, match="about several variables and has no quantile"):
        answer.quantile(0.5)


def test_known_targets_are_points(leaves: lac.Network) -> None:
    answer: Any = leaves.query("y", "x", "t", given={"y": 1.3, "t": 1})
    assert "mean 1.3, sd 0\n" in str(answer)
    assert answer.log_density({"y": 1.3, "x": 0.5, "t": 1}) == np.inf
    assert answer.log_density({"y": 1.2, "x": 0.5, "t": 1}) == -np.inf
    assert answer.log_density({"y": 1.3, "x": 0.5, "t": 0}) == -np.inf
    alone = float(answer.marginal("x").log_density(0.5))
    assert float(answer.log_density({"x": 0.5})) == pytest.approx(alone)


def test_targets_that_are_set_are_points(leaves: lac.Network) -> None:
    """Leaves have no effects: what is set shows in themselves alone, be it impossible without."""
    alone: Any = leaves.query("n", do={"n": 3.0}, given={"y": 0.4})
    assert (float(alone.mean), float(alone.sd), float(alone.log_density(3.0))) == (3.0, 0.0, 0.0)
    ours: Any = leaves.query("u", "x", "s", "n", do={"n": 3.0, "u": 7.0}, given={"y": 0.4})
    np.testing.assert_array_equal(ours.mean[[0, 2]], [7.0, 3.0])
    np.testing.assert_array_equal(ours.covariance[[0, 2]], 0.0)
    twin: Any = leaves.query("x", "s", given={"y": 0.4})
    rest: Any = ours.marginal("x", "s")
    np.testing.assert_allclose(rest.covariance, twin.covariance, rtol=1e-12)
    np.testing.assert_allclose(rest.probabilities, twin.probabilities, rtol=1e-12)


def test_all_graphs_of_a_class_answer_about_several() -> None:
    network = lac.random_network(
        lac.dag("s -> x; x -> y", kinds={"x": "continuous", "y": "continuous"}), rng=0
    )
    found = lac.query_class(network, "x", "y", do={"s": network.dag.schema["s"].states[0]})
    assert "p(x, y)" in str(found)
    graph = lac.dag("x -> y", kinds={"x": "continuous", "y": "continuous"})
    pair = lac.random_network(graph, rng=0)
    two = lac.query_class(pair, "x", "y", do={"x": 1.0})
    assert len(two.answers) == 2  # x causes y, or y x
    assert str(two).count("p(x, y)") == 2
    np.testing.assert_allclose(
        two.low[1], min(float(pair.query("y").mean), float(pair.query("y", given={"x": 1.0}).mean))
    )


def test_relations_that_are_nearly_exact_keep_their_digits() -> None:
    """y − x has a variance of 1e-20 beside theirs of one, which their covariance does not show."""
    graph = lac.dag("x -> y", kinds={"x": "continuous", "y": "continuous"})
    network = lac.Network.from_tables(
        graph, {"x": lac.Regression(0.0), "y": lac.Regression(0.0, [1.0], 1e-20)}
    )
    for names in (("x", "y"), ("y", "x")):
        found = float(network.query(*names).log_density({"x": 0.5, "y": 0.5 + 2e-10}))
        wanted = stats.norm.logpdf(0.5) + stats.norm.logpdf((0.5 + 2e-10 - 0.5) / 1e-10) - np.log(1e-10)
        assert found == pytest.approx(wanted, abs=2e-5)  # 0.5 + 2e-10 has lost 1e-16, 1e-6 deviations


def test_an_engine_answers_alike(leaves: lac.Network) -> None:
    engine = leaves.engine({"y": 1.3})
    engine.marginals()
    engine.set("s", {0: 0.5, 1: 0.1})
    ours: Any = engine.query("x", "t", "z")
    twin: Any = leaves.query("x", "t", "z", given={"y": 1.3, "s": {0: 0.5, 1: 0.1}})
    np.testing.assert_array_equal(ours.covariance, twin.covariance)
    with pytest.raises(ImpossibleRowError, match="probability zero"):
        leaves.query("x", "z", given={"n": 3.0, "s": 1})
    with pytest.raises(SchemaError, match="asked about twice"):
        leaves.query("x", "x")
    with pytest.raises(SchemaError, match="in every row of a table ask about it alone"):
        leaves.posterior(leaves.sample(2, rng=0), [("s", "x")])


def test_what_a_belief_knows_of_several() -> None:
    """A row's density is a ratio of evidences, and so is that of some cells given others."""
    graph = lac.dag("s -> x y n; x -> w", kinds=dict.fromkeys("xywn", "continuous"), family={"n": "poisson"})
    network = lac.random_network(graph, rng=3)
    belief = lac.fit(graph, network.sample(40, rng=1)).belief
    answer: Any = belief.query("x", "y", "n", "s")
    state = graph.schema["s"].states[0]
    for point in ({"x": 0.4, "y": 1.0, "n": 2.0, "s": state}, {"x": -0.4, "n": 0.0}, {"x": 3.0, "y": 9.0}):
        assert float(answer.log_density(point)) == pytest.approx(belief.log_density(point), abs=1e-9)
    given_x: Any = belief.query("w", "y", given={"x": 0.4})
    wanted = belief.log_density({"w": 1.0, "y": 0.5, "x": 0.4}) - belief.log_density({"x": 0.4})
    assert float(given_x.log_density({"w": 1.0, "y": 0.5})) == pytest.approx(wanted, abs=1e-9)
    alone: Any = belief.query("x")
    assert answer.marginal("x").quantile(0.9) == pytest.approx(float(alone.quantile(0.9)), rel=1e-9)
    graph = lac.dag("x v -> w", kinds=dict.fromkeys("xvw", "continuous"))
    apart: Any = lac.fit(graph, lac.random_network(graph, rng=3).sample(40, rng=1)).belief.query("x", "v")
    assert apart.covariance[0, 1] == 0.0  # to the last bit, though a hole that depends on both ties them
    with pytest.raises(SchemaError, match=r"w depends on x, and a belief.*ask the network"):
        belief.query("w", "x", "s")


def test_normals_stand_in_for_a_belief_s_as_they_do_for_one_variable() -> None:
    graph = lac.dag("x -> w v", kinds=dict.fromkeys("xwv", "continuous"))
    belief = lac.fit(graph, lac.random_network(graph, rng=3).sample(40, rng=1)).belief
    plain = lac.Network(graph, belief.mean())
    ours: Any = belief.query("x", "v", given={"w": 0.3})
    twin: Any = plain.query("x", "v", given={"w": 0.3})
    np.testing.assert_allclose(ours.covariance, twin.covariance, rtol=1e-9)


def test_mixtures_answer_as_a_network_with_a_hidden_class(leaves: lac.Network) -> None:
    kinds: Any = {"x": "continuous", "y": "continuous"}
    whole = lac.dag("C -> A x y; A -> x; x -> y", states=2, hidden={"C": 3}, kinds=kinds)
    network = lac.random_network(whole, rng=1)
    inner = lac.dag("A -> x; x -> y", schema=whole.without(["C"]).schema)
    parts = [
        lac.Network.from_tables(
            inner,
            {
                name: np.take(
                    network.table(name), c, [p for p in whole.parents_of(name) if p != "x"].index("C")
                )
                for name in inner.names
            },
        )
        for c in range(3)
    ]
    mixture = lac.Mixture(network.table("C"), tuple(parts))
    state = inner.schema["A"].states[1]
    for names, known in ((("x", "A", "y"), {}), (("y", "x"), {"A": state}), (("A", "y"), {"x": 0.3})):
        ours: Any = mixture.query(*names, given=known)
        twin: Any = network.query(*names, given=known)
        np.testing.assert_allclose(ours.covariance, twin.covariance, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(ours.probabilities, twin.probabilities, rtol=1e-8)
        assert float(ours.log_density({"y": 0.7})) == pytest.approx(float(twin.log_density({"y": 0.7})))
    ours = lac.Ensemble((leaves, leaves), np.array([0.4, 0.6])).query("n", "u", "t", do={"s": 0})
    twin = leaves.query("n", "u", "t", do={"s": 0})
    np.testing.assert_allclose(ours.covariance, twin.covariance, rtol=1e-12)
    np.testing.assert_allclose(ours.probabilities, twin.probabilities, rtol=1e-12)
    point = {"n": 2.0, "u": 1.5, "t": 1}
    assert float(ours.log_density(point)) == pytest.approx(float(twin.log_density(point)))


def test_noise_stands_beside_with_nothing_that_depends() -> None:
    schema = lac.dag("A; x; y", states=2, kinds={"x": "continuous", "y": "continuous"}).schema
    graph = lac.dag("A; x -> y", schema=schema)
    network = lac.Network.from_tables(
        graph, {"A": [1.0, 0.0], "x": lac.Regression(0.0), "y": lac.Regression(0.0, [1.0])}
    )
    noise = lac.Noise(schema, np.array([0.0, -30.0, -3.0]), np.array([1.0, 30.0, 3.0]))
    mixture = lac.Mixture(np.array([0.5, 0.5]), (network,), noise)
    answer: Any = mixture.query("x", "A", "y")
    np.testing.assert_allclose(answer.probabilities, [0.75, 0.25])
    np.testing.assert_allclose(
        answer.covariance, [[150.5, 0.5], [0.5, 2.5]]
    )  # halves of 1, 1, 2; 60²/12, 6²/12
    assert float(mixture.query("x", "y", given={"A": schema["A"].states[1]}).correlation[0, 1]) == 0.0


def test_what_is_too_wide_is_drawn_and_said(leaves: lac.Network, monkeypatch: pytest.MonkeyPatch) -> None:
    twin: Any = leaves.query("s", "x", "z", given={"y": 1.3})

    def refuse(*_: object, **__: object) -> None:
        raise TooWideError("it is wide")

    monkeypatch.setattr("lacunary.infer.mixed.prepare_mixed", refuse)
    for many in (2**20, 1):  # islands gone through, and left to chains
        monkeypatch.setattr("lacunary.infer.sampled.Effort", partial(Effort, ways=many))
        with pytest.warns(ApproximationWarning, match="it is wide"):
            answer: Any = leaves.query("s", "x", "z", given={"y": 1.3})
        # 512 draws of states, by chains not quite independent ones: six standard errors of such that are
        assert np.abs(answer.probabilities - twin.probabilities).max() < 6 * 0.5 / np.sqrt(512)
        assert np.abs(answer.mean - twin.mean).max() < 6 * twin.sd.max() / np.sqrt(512)
    with pytest.raises(TooWideError, match="it is wide"):
        leaves.query("s", "x", "z", given={"y": 1.3}, exact=True)


def test_too_many_configurations_are_refused_before_memory_is_taken() -> None:
    many = 30
    graph = lac.dag(
        "; ".join(f"s{i} -> x{i}" for i in range(many)), kinds={f"x{i}": "continuous" for i in range(many)}
    )
    network = lac.random_network(graph, rng=0)
    names = [f"x{i}" for i in range(many)]
    with pytest.raises(
        TooWideError, match=r"30 continuous variables in 1.074e\+09 configurations.*give states"
    ):
        network.query(*names)
    seen = {f"s{i}": graph.schema[f"s{i}"].states[0] for i in range(many - 2)}
    answer: Any = network.query(*names, given=seen)
    assert len(answer.weights) == 4


def test_many_configurations_are_printed_in_part() -> None:
    graph = lac.dag("s -> x", kinds={"x": "continuous"}, states={"s": 12})
    text = str(lac.random_network(graph, rng=0).query("s", "x"))
    assert text.count("s=") == 8
    assert text.endswith("and 4 more configurations")
