"""Probabilities far below the smallest number there is, against sums of logarithms."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

import lacunary as lac
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.infer.engine import prepare_discrete as prepare
from lacunary.infer.network import Network, random_network
from lacunary.infer.posterior import filled, marginals_of
from lacunary.model.dag import Dag
from tests import naive
from tests.strategies import Case, cases, loaded_cases

WIDE = 5000
# Five thousand logarithms of size one are added, each rounded in its last digit.
RELATIVE = 1e-10


def hidden_root(classes: int) -> Dag:
    names = [f"X{i}" for i in range(WIDE)]
    schema = Schema(
        (Variable("H", tuple(range(classes)), hidden=True), *(Variable(name, (0, 1)) for name in names))
    )
    return Dag.from_parents(schema, dict.fromkeys(names, ("H",)))


def log_classes(network: Network, row: NDArray[np.int64]) -> NDArray[np.float64]:
    """log p(class, observed children): a child that is a hole sums to one."""
    log = np.log(network.table("H"))
    for name, code in zip(network.dag.names[1:], row[1:], strict=True):
        if code != HOLE:
            log = log + np.log(network.table(name)[:, code])
    return log


@pytest.mark.parametrize("share", [0.0, 0.3], ids=["complete", "holes"])
@pytest.mark.parametrize("vectors", [1, 2])
def test_a_hidden_root_with_thousands_of_children(share: float, vectors: int) -> None:
    graph = hidden_root(3)
    network = random_network(graph, rng=1)
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 2, size=(5, WIDE + 1))
    codes[rng.random(codes.shape) < share] = HOLE
    codes[:, 0] = HOLE
    log = np.array([log_classes(network, row) for row in codes])
    table = Table(graph.schema, codes.astype(np.int8))
    assert logsumexp(log, axis=1).max() < -1000 * math.log(10)
    prepared = prepare(graph, table)
    theta = np.tile(network.theta, (vectors, 1))
    np.testing.assert_allclose(prepared.log_evidence(theta)[-1], logsumexp(log, axis=1), rtol=RELATIVE)
    swept = prepared.expect(theta)
    counts, log_likelihood = swept.counts, swept.log_likelihood
    assert log_likelihood[-1] == pytest.approx(logsumexp(log, axis=1).sum(), rel=RELATIVE)
    posterior = softmax(log, axis=1)
    # Differences of sums near 1e4, rounded at 1e-12.
    np.testing.assert_allclose(
        graph.layout.table(counts[-1], 0), posterior.sum(axis=0), rtol=1e-8, atol=1e-300
    )
    for i in (1, 77, WIDE):
        p = network.table(graph.names[i])
        filled_in = np.array([np.eye(2)[[c] * 3] if c != HOLE else p for c in codes[:, i]])
        wanted = (posterior[:, :, None] * filled_in).sum(axis=0)
        np.testing.assert_allclose(graph.layout.table(counts[-1], i), wanted, rtol=1e-8, atol=1e-300)
    (found,) = marginals_of(graph, network.theta, table.codes, [[0]])
    np.testing.assert_allclose(found, posterior, rtol=1e-8, atol=1e-300)
    best = filled(graph, network.theta, codes, seed=None)
    assert best[:, 0].tolist() == log_classes_with_modes(network, codes).argmax(axis=1).tolist()


def log_classes_with_modes(network: Network, codes: NDArray[np.int64]) -> NDArray[np.float64]:
    """log max over the holes of p(class, children)."""
    log = np.array([log_classes(network, row) for row in codes])
    for i, name in enumerate(network.dag.names[1:], start=1):
        log[codes[:, i] == HOLE] += np.log(network.table(name).max(axis=1))
    return log


@pytest.mark.parametrize("vectors", [1, 2])
def test_one_half_of_the_children_speaks_against_the_other(vectors: int) -> None:
    """By symmetry the classes are even in the end, but not on the way: half-way one is 9^2500 ahead."""
    graph = hidden_root(2)
    tables = {"H": [0.5, 0.5]} | {
        name: [[0.9, 0.1], [0.1, 0.9]] if i < WIDE // 2 else [[0.1, 0.9], [0.9, 0.1]]
        for i, name in enumerate(graph.names[1:])
    }
    network = Network.from_tables(graph, tables)
    codes = np.array([[HOLE] + [0] * WIDE], dtype=np.int8)
    swept = prepare(graph, Table(graph.schema, codes)).expect(np.tile(network.theta, (vectors, 1)))
    counts = swept.counts
    np.testing.assert_allclose(swept.log_likelihood, WIDE // 2 * math.log(0.09), rtol=RELATIVE)
    np.testing.assert_allclose(graph.layout.table(counts[-1], 0), [0.5, 0.5], rtol=1e-8)


def disagreement(against: int) -> tuple[Network, NDArray[np.int8]]:
    """Two hidden variables that must agree; the children of one speak for state 0, of the other for 1."""
    half = [f"X{i}" for i in range(against)], [f"Y{i}" for i in range(against)]
    hidden = (Variable("G", (0, 1), hidden=True), Variable("H", (0, 1), hidden=True))
    schema = Schema((*hidden, *(Variable(name, (0, 1)) for name in (*half[0], *half[1]))))
    parents = dict.fromkeys(half[0], ("G",)) | dict.fromkeys(half[1], ("H",))
    graph = Dag.from_parents(schema, {"H": ("G",), **parents})
    tables: dict[str, Any] = {"G": [0.25, 0.75], "H": [[1.0, 0.0], [0.0, 1.0]]}
    tables |= dict.fromkeys(half[0], np.array([[0.9, 0.1], [0.1, 0.9]]))
    tables |= dict.fromkeys(half[1], np.array([[0.1, 0.9], [0.9, 0.1]]))
    return Network.from_tables(graph, tables), np.array([[HOLE, HOLE] + [0] * 2 * against], dtype=np.int8)


@pytest.mark.parametrize("against", [50, 90, 220, 300, WIDE // 2])
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_two_hidden_variables_that_must_agree_and_whose_children_do_not(
    against: int, dtype: type[np.inexact[Any]]
) -> None:
    """Both states are as likely as before; but each side alone rules one of them out by 9^-against."""
    network, row = disagreement(against)
    graph = network.dag
    prepared = prepare(graph, Table(graph.schema, row))
    theta = np.stack([np.full_like(network.theta, 0.5), network.theta]).astype(dtype)
    swept = prepared.expect(theta)
    counts, log_likelihood = swept.counts, swept.log_likelihood
    wanted = against * math.log(0.09)
    assert log_likelihood[1] == pytest.approx(wanted, rel=RELATIVE)
    assert prepared.log_evidence(theta)[1, 0] == pytest.approx(wanted, rel=RELATIVE)
    np.testing.assert_allclose(graph.layout.table(counts[1], 0), [0.25, 0.75], rtol=1e-8)
    np.testing.assert_allclose(graph.layout.table(counts[1], 1), [[0.25, 0.0], [0.0, 0.75]], rtol=1e-8)
    # The lane beside it, in which nothing speaks for anything, is not touched.
    np.testing.assert_allclose(graph.layout.table(counts[0], 0), [0.5, 0.5], rtol=1e-12)
    assert log_likelihood[0] == pytest.approx(2 * (against + 1) * math.log(0.5) + math.log(4), rel=RELATIVE)


@pytest.mark.parametrize("against", [90, 300, WIDE // 2])
def test_filling_where_children_disagree(against: int) -> None:
    network, row = disagreement(against)
    (found,) = marginals_of(network.dag, network.theta, row, [[0, 1]])
    np.testing.assert_allclose(found[0], [[0.25, 0.0], [0.0, 0.75]], rtol=1e-8)
    assert filled(network.dag, network.theta, row, seed=None)[0, :2].tolist() == [1, 1]
    drawn = filled(network.dag, network.theta, np.repeat(row, 400, axis=0), seed=1)[:, :2]
    assert np.all(drawn[:, 0] == drawn[:, 1])
    assert 0.65 < drawn[:, 0].mean() < 0.85  # 0.75, give or take five standard deviations of 0.022


def test_a_long_hidden_chain_that_is_only_unlikely_keeps_to_plain_doubles() -> None:
    """Evidence of e^-2000 with zeros in its tables, none of which matters: no sweep in logarithms."""
    length = 3000
    names = [f"H{i}" for i in range(length)], [f"X{i}" for i in range(length)]
    hidden = tuple(Variable(name, (0, 1, 2), hidden=True) for name in names[0])
    schema = Schema((*hidden, *(Variable(name, (0, 1)) for name in names[1])))
    parents = {b: (a,) for a, b in pairwise(names[0])} | {x: (h,) for h, x in zip(*names, strict=True)}
    graph = Dag.from_parents(schema, parents)
    step, seen = [[0.5, 0.5, 0.0], [0.0, 0.6, 0.4], [0.3, 0.0, 0.7]], [[0.5, 0.5], [0.4, 0.6], [0.7, 0.3]]
    tables: dict[str, Any] = {"H0": [0.2, 0.3, 0.5]} | dict.fromkeys(names[0][1:], step)
    network = Network.from_tables(graph, tables | dict.fromkeys(names[1], seen))
    row = np.random.default_rng(0).integers(0, 2, length)
    log, forward = 0.0, np.array([0.2, 0.3, 0.5])
    for k, x in enumerate(row):
        forward = (forward @ np.array(step) if k else forward) * np.array(seen)[:, x]
        log, forward = log + math.log(forward.sum()), forward / forward.sum()
    codes = np.concatenate([np.full(length, HOLE), row])[None].astype(np.int8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lacunary.infer.engine.sweep_logs", None)
        found = prepare(graph, Table(schema, codes)).expect(network.theta[None]).log_likelihood
    assert found[0] == pytest.approx(log, rel=RELATIVE)
    assert log < -2000


# Chains -------------------------------------------------------------------------------------------------


def chain() -> Dag:
    names = [f"X{i}" for i in range(WIDE)]
    schema = Schema(tuple(Variable(name, (0, 1, 2)) for name in names))
    return Dag.from_parents(schema, {b: (a,) for a, b in pairwise(names)})


def log_forward(network: Network, row: NDArray[np.int64]) -> NDArray[np.float64]:
    """log p(state, what was seen up to it) along the chain; (variables, states)."""

    def seen(i: int) -> NDArray[np.float64]:
        return np.where((row[i] == HOLE) | (np.arange(3) == row[i]), 0.0, -np.inf)

    log = [np.log(network.table("X0")) + seen(0)]
    for i in range(1, WIDE):
        step = np.log(network.table(network.dag.names[i]))
        log.append(np.logaddexp.reduce(log[-1][:, None] + step, axis=0) + seen(i))
    return np.array(log)


def log_backward(network: Network, row: NDArray[np.int64]) -> NDArray[np.float64]:
    """log p(what is seen after a variable | its state); (variables, states)."""
    log = [np.zeros(3)]
    for i in range(WIDE - 1, 0, -1):
        seen = np.where((row[i] == HOLE) | (np.arange(3) == row[i]), 0.0, -np.inf)
        step = np.log(network.table(network.dag.names[i]))
        log.append(np.logaddexp.reduce(step + seen + log[-1], axis=1))
    return np.array(log[::-1])


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0], ids=["hidden", "few", "half", "complete"])
def test_a_chain_of_thousands(share: float) -> None:
    graph = chain()
    network = random_network(graph, rng=4)
    rng = np.random.default_rng(5)
    row = np.where(rng.random(WIDE) < share, rng.integers(0, 3, size=WIDE), HOLE)
    forward, backward = log_forward(network, row), log_backward(network, row)
    log_evidence = float(logsumexp(forward[-1]))
    table = Table(graph.schema, row[None].astype(np.int8))
    prepared = prepare(graph, table)
    found = prepared.log_evidence(network.theta[None])[0, 0]
    # A chain without observations has probability one: what is left of its logarithm is rounding.
    assert found == pytest.approx(log_evidence, rel=RELATIVE, abs=1e-10)
    swept = prepared.expect(network.theta[None])
    counts = swept.counts
    for i in (1, 2, WIDE // 2, WIDE - 1):
        seen = np.where((row[i] == HOLE) | (np.arange(3) == row[i]), 0.0, -np.inf)
        log = forward[i - 1][:, None] + np.log(network.table(graph.names[i])) + seen + backward[i]
        np.testing.assert_allclose(
            graph.layout.table(counts[0], i), np.exp(log - log_evidence), rtol=1e-8, atol=1e-300
        )


# Scaled potentials --------------------------------------------------------------------------------------


@given(st.one_of(cases(), loaded_cases()), st.sampled_from((1e-300, 1e-150, 1e-60)))
def test_scaling_all_potentials_moves_the_evidence_and_nothing_else(case: Case, scale: float) -> None:
    """Every row's log-evidence falls by one log(scale) for each variable; what is expected stays."""
    # Entries below 1e-8 would fall out of the range of doubles once they are scaled.
    shape, table = case
    network = random_network(shape.dag, rng=3)
    theta = np.maximum(network.theta, 1e-7)
    prepared = prepare(shape.dag, table)
    plain, scaled = theta[None], theta[None] * scale
    moved = len(shape.dag.names) * math.log(scale)
    np.testing.assert_allclose(
        prepared.log_evidence(scaled), prepared.log_evidence(plain) + moved, rtol=RELATIVE
    )
    np.testing.assert_allclose(prepared.expect(scaled).counts, prepared.expect(plain).counts, rtol=1e-9)
    batch = np.concatenate([plain, scaled])
    np.testing.assert_allclose(prepared.expect(batch).counts[1], prepared.expect(plain).counts[0], rtol=1e-9)
    for row in filled(shape.dag, scaled[0], table.codes, seed=None).tolist():
        assert HOLE not in row


def test_enumeration_agrees_with_sums_of_logs() -> None:
    """The log-space sums used here, where both can be written down."""
    assert naive.log_sum([math.log(0.25), math.log(0.5)]) == pytest.approx(math.log(0.75), rel=1e-15)
    assert naive.log_sum([-math.inf, -math.inf]) == -math.inf


@pytest.mark.parametrize("value", [10**400, 1e151, -1e308, float("inf"), "1e400"])
def test_a_value_whose_square_exceeds_all_numbers_is_refused(value: object) -> None:
    """The states' densities, of different spread, could not be told apart there: they answered as before."""
    schema = Schema((Variable("a", ("s", "t")), Variable("x", (), "continuous")))
    tables = {"a": np.array([0.5, 0.5]), "x": np.array([[0.0, 1.0], [0.0, 4.0]])}
    network = Network.from_tables(Dag(schema, ((), ("a",))), tables)
    assert network.query("a", given={"x": 1e150})["t"] == 1.0
    with pytest.raises(lac.StateError, match="x"):
        network.query("a", given={"x": value})


@pytest.mark.parametrize("one", [10**400, "much", None, -1])
def test_a_likelihood_that_is_no_number_is_refused(one: object) -> None:
    with pytest.raises(lac.StateError, match="finite numbers"):
        lac.asia().query("lung", given={"smoke": {"yes": one}})
