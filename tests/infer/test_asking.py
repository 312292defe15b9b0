"""Single questions by elimination, and the engine that keeps evidence, beside enumeration."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import product
from threading import Event
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lacunary as lac
from lacunary.infer import elimination
from lacunary.infer.asking import Eliminator
from lacunary.infer.findings import Findings
from lacunary.kernels import buckets, orders, promote, questions
from lacunary.kernels.promote import in_use
from tests import naive
from tests.strategies import mixed_networks, networks

TOLERANCE = 1e-11
"""Sums of at most some hundred products of a dozen numbers, relative to one."""

Known = dict[str, Any]


def enumerated(network: lac.Network, known: Known) -> dict[tuple[int, ...], float]:
    """p(x, what is known) of every x, by definition: likelihoods multiply."""
    schema = network.dag.schema
    like = [_likelihood(schema[name], known.get(name)) for name in schema.names]
    return {
        x: naive.probability(network, x) * math.prod(one[k] for one, k in zip(like, x, strict=True))
        for x in product(*map(range, schema.sizes))
    }


def _likelihood(variable: lac.Variable, finding: Any) -> list[float]:
    if finding is None:
        return [1.0] * variable.size
    if isinstance(finding, dict):
        top = max(finding.values())
        return [finding.get(state, 0.0) / top for state in variable.states]
    states = finding if isinstance(finding, set) else {finding}
    return [1.0 if state in states else 0.0 for state in variable.states]


def marginal(
    network: lac.Network, weights: dict[tuple[int, ...], float], names: list[str]
) -> NDArray[np.float64]:
    where = [network.dag.names.index(name) for name in names]
    out = np.zeros([network.dag.schema.sizes[v] for v in where])
    for x, p in weights.items():
        out[tuple(x[v] for v in where)] += p
    return out


@st.composite
def findings(draw: st.DrawFn, network: lac.Network) -> Known:
    """States, sets of states and likelihoods of some variables."""
    known: Known = {}
    for variable in network.dag.schema:
        kind = draw(st.sampled_from(["none", "none", "state", "set", "soft"]))
        states = list(variable.states)
        if kind == "state":
            known[variable.name] = draw(st.sampled_from(states))
        elif kind == "set":
            known[variable.name] = set(draw(st.lists(st.sampled_from(states), min_size=1)))
        elif kind == "soft":
            numbers = draw(st.lists(st.floats(0.01, 5.0), min_size=len(states), max_size=len(states)))
            known[variable.name] = dict(zip(states, numbers, strict=True))
    return known


@given(st.data())
@settings(max_examples=150)
def test_questions_are_answered_as_by_enumeration(data: st.DataObject) -> None:
    network = data.draw(networks(max_variables=5))
    known = data.draw(findings(network))
    targets = data.draw(st.lists(st.sampled_from(network.dag.names), min_size=1, max_size=3, unique=True))
    weights = enumerated(network, known)
    total = math.fsum(weights.values())
    if total <= 0:
        with pytest.raises(lac.ImpossibleRowError, match="probability zero"):
            network.query(*targets, given=known)
        assert network.log_density(known) == -math.inf
        return
    found = network.query(*targets, given=known)
    wanted = marginal(network, weights, targets) / total
    np.testing.assert_allclose(found.probabilities, wanted, atol=TOLERANCE)
    assert [variable.name for variable in found.variables] == targets
    assert network.log_density(known) == pytest.approx(math.log(total), abs=1e-9)
    told = network.explain(known)
    best = tuple(network.dag.schema[name].encode(told[name]) for name in network.dag.names)
    assert weights[best] == pytest.approx(max(weights.values()), rel=1e-9)


@given(st.data())
@settings(max_examples=60)
def test_an_engine_answers_after_every_change_as_if_it_were_new(data: st.DataObject) -> None:
    network = data.draw(networks(max_variables=5))
    engine = network.engine()
    known: Known = {}
    for _ in range(4):
        fresh = data.draw(findings(network))
        if data.draw(st.booleans()):
            engine.set(fresh)
            known |= fresh
        else:
            gone = data.draw(st.lists(st.sampled_from(network.dag.names), unique=True, min_size=1))
            engine.retract(*gone)
            known = {name: finding for name, finding in known.items() if name not in gone}
        weights = enumerated(network, known)
        total = math.fsum(weights.values())
        if total <= 0:
            with pytest.raises(lac.ImpossibleRowError):
                engine.marginals()
            continue
        found = engine.marginals()
        assert list(found) == list(network.dag.names)
        for name in network.dag.names:
            wanted = marginal(network, weights, [name]) / total
            np.testing.assert_allclose(found[name].probabilities, wanted, atol=TOLERANCE)
        assert engine.log_probability == pytest.approx(math.log(total), abs=1e-9)
        assert set(engine.given) == set(known)


def test_only_what_a_change_touches_is_worked_out_again(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = lac.alarm().engine({"BP": "LOW", "HR": "HIGH"})
    engine.marginals()
    stale: list[int] = []
    collect = in_use(questions).collect

    def counted(*arguments: Any) -> Any:
        stale.append(int(arguments[15].sum()))
        return collect(*arguments)

    monkeypatch.setattr(in_use(questions), "collect", counted)
    engine.set("BP", "HIGH")
    engine.marginals()
    assert 0 < stale[-1] < 10  # the families that speak of BP; their messages follow on the way


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_soft_evidence_of_mixed_networks_is_an_average_over_states(data: st.DataObject) -> None:
    """p(x | likelihoods of d) ∝ Σ_k L_k p(d = k) p(x | d = k)."""
    network = data.draw(mixed_networks())
    names = [variable.name for variable in network.dag.schema if variable.discrete]
    if not names:
        return
    name = data.draw(st.sampled_from(names))
    states = network.dag.schema[name].states
    likelihood = {state: data.draw(st.floats(0.1, 1.0)) for state in states}
    engine = network.engine({name: likelihood})
    prior = network.query(name).to_dict()
    share = {state: likelihood[state] * prior[state] for state in states}
    total = sum(share.values())
    found = engine.marginals()
    for variable in network.dag.schema:
        if not variable.discrete:
            wanted = sum(
                share[s] / total * float(network.query(variable.name, given={name: s}).mean)
                for s in states
                if prior[s] > 0
            )
            assert float(found[variable.name].mean) == pytest.approx(wanted, rel=1e-7, abs=1e-7)
    assert engine.probability == pytest.approx(total / max(likelihood.values()), rel=1e-9)


def test_plain_and_compiled_kernels_agree_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    promote.promote(orders, buckets, questions)
    network = lac.alarm()
    rows = network.sample(12, rng=3)
    rng = np.random.default_rng(4)
    for row in range(12):
        names = rng.permutation(network.dag.names)[: 1 + row]
        known = {
            name: rows.schema[name].states[rows.codes[row, rows.schema.index(name)]] for name in names[1:]
        }
        fast = lac.Network(network.dag, network.theta).query(names[0], given=known).probabilities
        with monkeypatch.context() as patch:
            patch.setattr(promote, "_twins", {})
            assert in_use(questions) is questions
            slow = copy.deepcopy(network).query(names[0], given=known).probabilities
            slow_all = copy.deepcopy(network).engine(known).marginals()
        np.testing.assert_array_equal(fast, slow)
        for name, answer in lac.Network(network.dag, network.theta).engine(known).marginals().items():
            np.testing.assert_array_equal(answer.probabilities, slow_all[name].probabilities)


def test_small_networks_are_asked_without_a_compiler() -> None:
    code = (
        "import sys, lacunary as lac; n = lac.alarm(); n.query('HYPOVOLEMIA', given={'BP': 'LOW'}); "
        "n.explain(); n.engine().marginals(); assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("leaves", [30, 400])
def test_evidence_far_below_the_smallest_double(leaves: int) -> None:
    """Many children of one cause: products of thousands of numbers; by hand, in logarithms."""
    network = lac.Network.from_tables(
        lac.dag("H -> " + " ".join(f"x{i}" for i in range(leaves)), states=2),
        {"H": [0.3, 0.7], **{f"x{i}": [[0.999, 0.001], [0.998, 0.002]] for i in range(leaves)}},
    )
    known = {f"x{i}": 1 for i in range(leaves)}
    log = np.log([0.3, 0.7]) + leaves * np.log([0.001, 0.002])
    wanted = np.exp(log - np.logaddexp(*log))
    np.testing.assert_allclose(network.query("H", given=known).probabilities, wanted, atol=1e-12)
    np.testing.assert_allclose(network.engine(known).marginals()["H"].probabilities, wanted, atol=1e-12)
    assert network.log_density(known) == pytest.approx(np.logaddexp(*log), rel=1e-12)


def test_conflicts_that_a_double_cannot_hold_are_decided_by_the_other_engine() -> None:
    """Two findings each of which makes the other's cause 1e-300 times less likely: what is left is both."""
    tiny = 1e-200
    network = lac.Network.from_tables(
        lac.dag("A -> B -> C -> D; D -> E", states=2),
        {
            "A": [0.5, 0.5],
            "B": [[1.0, 0.0], [1 - tiny, tiny]],
            "C": [[1.0, 0.0], [1 - tiny, tiny]],
            "D": [[1.0, 0.0], [0.5, 0.5]],
            "E": [[1.0, 0.0], [0.5, 0.5]],
        },
    )
    assert network.query("A", given={"E": 1}).probabilities[1] == pytest.approx(1.0)
    assert network.log_density({"E": 1}) == pytest.approx(math.log(0.125) + 2 * math.log(tiny), rel=1e-12)
    assert network.engine({"E": 1}).marginals()["B"].probabilities[1] == pytest.approx(1.0)


def test_findings_that_make_no_sense_are_refused_by_name() -> None:
    network = lac.asia()
    with pytest.raises(lac.StateError, match="has no state 'maybe'"):
        network.query("lung", given={"smoke": "maybe"})
    with pytest.raises(lac.StateError, match="likelihood of smoke"):
        network.query("lung", given={"smoke": {"yes": 0.0}})
    with pytest.raises(lac.StateError, match="likelihood of smoke"):
        network.query("lung", given={"smoke": set()})
    with pytest.raises(lac.StateError, match="needs as many numbers"):
        network.query("lung", given={"smoke": np.ones(3)})
    engine = network.engine({"smoke": "yes"})
    with pytest.raises(lac.StateError):
        engine.set({"xray": "no", "dysp": "?"})
    assert engine.given == {"smoke": "yes"}  # all or nothing
    engine.retract()
    assert engine.given == {}


def test_states_may_be_given_as_arrays_hand_them_out() -> None:
    network = lac.random_network(lac.dag("A -> B", states=2), rng=1)
    plain = network.query("B", given={"A": 1}).probabilities
    given: list[Any] = [np.int64(1), np.int8(1), {np.int64(1)}, {np.int64(1): 0.5}]
    for known in given:
        assert network.query("B", given={"A": known}).probabilities == pytest.approx(plain, abs=TOLERANCE)
    with pytest.raises(lac.StateError, match=r"A has no state np\.True_"):
        lac.Variable("A", ("x", "y")).encode(np.True_)


def test_an_engine_is_pickled_with_what_is_given_and_no_tables() -> None:
    engine = lac.alarm().engine({"BP": "LOW"})
    wanted = engine.marginals()["HR"].probabilities
    pickled = pickle.dumps(engine)
    assert len(pickled) < len(pickle.dumps(lac.alarm())) + 2_000  # the findings beside the network
    np.testing.assert_array_equal(pickle.loads(pickled).marginals()["HR"].probabilities, wanted)


def test_threads_may_ask_one_network() -> None:
    network = lac.alarm()
    names = list(network.dag.names)
    wanted = [
        network.query(name, given={"BP": "LOW"} if name != "BP" else {}).probabilities for name in names
    ]
    fresh = copy.deepcopy(network)
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(
                lambda n: fresh.query(n, given={"BP": "LOW"} if n != "BP" else {}).probabilities, names * 3
            )
        )
    for one, other in zip(found, wanted * 3, strict=True):
        np.testing.assert_array_equal(one, other)


def test_functions_are_compiled_while_others_run_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plain ones stay what they are: a thread that is in the midst of them comes to its end."""
    network, names = lac.alarm(), lac.alarm().dag.names
    wanted = [network.query(name).probabilities for name in names]
    monkeypatch.setattr(promote, "_twins", {})
    asked = Event()

    def ask(name: str) -> NDArray[np.float64]:
        found = network.query(name).probabilities
        asked.set()
        return found

    with ThreadPoolExecutor(3) as pool:
        found = pool.map(ask, names)
        asked.wait()
        promote.promote(orders, buckets, questions)
        for one, other in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(one, other)
    assert in_use(questions) is not questions


def test_evidence_without_a_bearing_on_the_question_must_be_possible() -> None:
    """B cannot be 1 where A is 0, in one of two networks of a graph; of C that says nothing."""
    graph = lac.dag("A -> B; C -> D; D -> E", states=2)
    rest: Known = {
        "A": [0.3, 0.7],
        "C": [0.2, 0.8],
        "D": [[0.9, 0.1], [0.4, 0.6]],
        "E": [[0.5, 0.5], [0.1, 0.9]],
    }
    free = lac.Network.from_tables(graph, {**rest, "B": [[0.9, 0.1], [0.5, 0.5]]})
    bound = lac.Network.from_tables(graph, {**rest, "B": [[1.0, 0.0], [0.5, 0.5]]})
    known: Known = {"A": 0, "B": 1, "D": 1}
    for told in (known, {**known, "A": {0}}, {"A": {0: 2.0}, "B": {1: 0.1}}):
        assert free.query("C", given=told)[1] == pytest.approx(0.96 if "D" in told else 0.8)
        with pytest.raises(lac.ImpossibleRowError):
            bound.query("C", given=told)
        with pytest.raises(lac.ImpossibleRowError):
            bound.query("A", given=told)
    assert bound.query("C", given={**known, "B": 0})[1] == pytest.approx(0.96)
    assert bound.query("E", "C", given={"B": 1}).probabilities.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(4))
def test_large_random_networks_answer_as_their_rows_do(seed: int) -> None:
    """Forty variables: p(x | e) = p(x, e) / p(e), each from the rows' own engine."""
    rng = np.random.default_rng(seed)
    arcs = [f"v{p} -> v{i}" for i in range(1, 40) for p in rng.choice(i, size=min(i, 2), replace=False)]
    network = lac.random_network(lac.dag("; ".join(arcs), states=3), lac.Dirichlet(0.3), rng=seed)
    rows = network.sample(6, rng=seed)
    for codes in rows.codes:
        names = [str(name) for name in rng.permutation(network.dag.names)]
        known = {n: rows.schema[n].states[codes[rows.schema.index(n)]] for n in names[1:8]}
        schema = network.dag.schema
        each = [{**known, names[0]: state} for state in schema[names[0]].states]
        joint = np.exp(network.log_probability(_table(schema, each)))
        np.testing.assert_allclose(
            network.query(names[0], given=known).probabilities, joint / joint.sum(), atol=1e-9
        )


def _table(schema: lac.Schema, rows: list[Known]) -> lac.Table:
    codes = [[schema[n].encode(row[n]) if n in row else -1 for n in schema.names] for row in rows]
    return lac.Table(schema, np.array(codes, dtype=np.int8))


def test_layouts_are_kept_but_not_without_bound() -> None:
    network = lac.alarm()
    families = elimination.families_of(network.dag)
    for name in network.dag.names:
        for other in network.dag.names[:3]:
            if other != name:
                network.query(name, given={other: network.dag.schema[other].states[0]})
    assert 0 < len(families._plans) <= elimination.PLANS
    assert b"Plan" not in pickle.dumps(network)


def refuse(most: int, needed: float, what: str, advice: str, kind: type[lac.TooWideError]) -> None:
    """A budget of so many bytes."""
    if needed > most:
        raise kind(f"{what} would need {needed}; {advice}")


def test_questions_too_wide_are_refused_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elimination, "SMALL", 64)
    monkeypatch.setattr(elimination, "reserve", partial(refuse, 64))
    with pytest.raises(lac.TooWideError, match=r"an order of 8 unobserved variables would need 320"):
        Eliminator(copy.deepcopy(lac.asia())).joint([6, 7], Findings.of(lac.asia().dag.schema, None))
    monkeypatch.setattr(elimination, "PAIR", 1e-6)
    with pytest.raises(lac.TooWideError, match=r"tables of .* cells for this question"):
        Eliminator(copy.deepcopy(lac.asia())).joint([6, 7], Findings.of(lac.asia().dag.schema, None))
    # Of a few variables all ways can be gone through instead, exactly.
    assert copy.deepcopy(lac.asia()).query("lung", exact=True)["yes"] == pytest.approx(0.055)


def test_a_belief_is_asked_by_its_mean() -> None:
    belief = lac.bdeu(2.0)(lac.asia().dag)
    found = Eliminator(belief).joint([0], Findings())
    assert found is not None
    np.testing.assert_allclose(
        found, lac.Network(belief.dag, belief.mean()).query(belief.dag.names[0]).probabilities
    )


def test_names_in_a_list_are_refused_with_how_they_are_given() -> None:
    with pytest.raises(lac.SchemaError, match=r"no variable \['lung', 'tub'\]; names are given one by one"):
        lac.asia().query(["lung", "tub"])  # type: ignore[arg-type]
