"""Single questions to networks with continuous variables, beside dense normals for every configuration."""

from __future__ import annotations

import copy
import pickle
from itertools import product
from math import log, pi
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.family.joint import JointMixture
from lacunary.infer import numbers
from lacunary.infer.findings import Findings

TOLERANCE = 1e-9
"""Dense inverses of at most ten columns whose variances lie within a factor of a hundred."""

Dense = tuple[list[tuple[int, ...]], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]


def mixed(seed: int) -> lac.Network:
    """A random network of up to four discrete variables and six continuous ones."""
    rng = np.random.default_rng(seed)
    many, real = int(rng.integers(0, 5)), int(rng.integers(1, 7))
    states = {f"d{i}": int(rng.integers(2, 4)) for i in range(many)}
    arcs, names = [], [*states, *(f"x{i}" for i in range(real))]
    for i, name in enumerate(names):
        above = rng.choice(names[:i], size=min(i, int(rng.integers(0, 4))), replace=False)
        arcs += [f"{parent} -> {name}" for parent in above] or [name]
    graph = lac.dag("; ".join(arcs), states=states, kinds=dict.fromkeys(names[many:], "continuous"))
    return lac.random_network(graph, rng=seed)


def dense(network: lac.Network, known: dict[str, Any]) -> Dense:
    """States, log p(states, what is known), means and covariances of all numbers, from the definition."""
    dag, schema = network.dag, network.dag.schema
    discrete = [name for name in dag.names if schema[name].discrete]
    reals = [dag.names[i] for i in dag.order_indices if not schema[dag.names[i]].discrete]
    logs, means, covariances = [], [], []
    every = list(product(*(range(schema[name].size) for name in discrete)))
    for x in every:
        state = dict(zip(discrete, x, strict=True))
        total = 0.0
        for name, k in state.items():
            p = network.table(name)[(*(state[parent] for parent in dag.parents_of(name)), k)]
            told = known.get(name, {k: 1.0})
            like = told.get(k, 0.0) / max(told.values()) if isinstance(told, dict) else float(told == k)
            with np.errstate(divide="ignore"):
                total += float(np.log(p * like))
        mean, covariance = np.zeros(len(reals)), np.zeros((len(reals), len(reals)))
        for k, name in enumerate(reals):
            where = tuple(state[parent] for parent in dag.parents_of(name) if parent in state)
            row = np.asarray(network.table(name))[where]
            above = [reals.index(parent) for parent in dag.parents_of(name) if parent not in state]
            across = row[1:-1] @ covariance[above] if above else np.zeros(len(reals))
            mean[k] = row[0] + row[1:-1] @ mean[above]
            covariance[k], covariance[:, k] = across, across
            covariance[k, k] = row[-1] + (row[1:-1] @ across[above] if above else 0.0)
        seen = [k for k, name in enumerate(reals) if name in known]
        block, apart = covariance[np.ix_(seen, seen)], np.array([known[reals[k]] for k in seen]) - mean[seen]
        slope = np.linalg.solve(block, covariance[seen]).T if seen else np.zeros((len(reals), 0))
        if seen:
            total -= 0.5 * float(apart @ np.linalg.solve(block, apart)) + 0.5 * np.linalg.slogdet(block)[1]
            total -= 0.5 * len(seen) * log(2 * pi)
        logs.append(total)
        means.append(mean + slope @ apart)
        covariances.append(covariance - slope @ covariance[seen])
    return every, np.array(logs), np.array(means), np.array(covariances)


@pytest.mark.parametrize("seed", range(40))
def test_questions_are_answered_as_by_dense_normals(seed: int) -> None:
    network, rng = mixed(seed), np.random.default_rng(seed)
    dag, schema = network.dag, network.dag.schema
    row = network.sample(1, rng=seed)
    known: dict[str, Any] = {}
    for v, name in enumerate(dag.names):
        kind = rng.integers(4)
        if not schema[name].discrete and kind < 2:
            known[name] = float(row.reals[0, v])
        elif schema[name].discrete and kind == 0:
            known[name] = int(row.codes[0, v])
        elif schema[name].discrete and kind == 1:
            known[name] = {k: float(rng.uniform(0.1, 3.0)) for k in range(schema[name].size)}
    every, logs, means, covariances = dense(network, known)
    weights = np.exp(logs - logs.max())
    assert network.log_density(known) == pytest.approx(np.logaddexp.reduce(logs), abs=TOLERANCE)
    weights /= weights.sum()
    reals = [dag.names[i] for i in dag.order_indices if not schema[dag.names[i]].discrete]
    discrete = [name for name in dag.names if schema[name].discrete]
    together = network.engine(known).marginals()
    assert numbers.every_answer(network, Findings.of(schema, known)) is not None
    for k, name in enumerate(reals):
        mean = weights @ means[:, k]
        sd = np.sqrt(max(weights @ (covariances[:, k, k] + (means[:, k] - mean) ** 2), 0.0))
        for answer in (network.query(name, given=known), together[name]):
            assert float(answer.mean) == pytest.approx(mean, abs=TOLERANCE)
            assert float(answer.sd) == pytest.approx(sd, abs=1e-6)  # the root of what the dense way cancels
    for k, name in enumerate(discrete):
        wanted = np.bincount([x[k] for x in every], weights, schema[name].size)
        for answer in (network.query(name, given=known), together[name]):
            np.testing.assert_allclose(answer.probabilities, wanted, atol=TOLERANCE)
    asked = [name for name in dag.names if name not in known and not schema[name].discrete][:2]
    if len(asked) == 2:
        both = network.query(*asked, given=known)
        assert isinstance(both, JointMixture)
        at = [reals.index(name) for name in asked]
        mean = weights @ means[:, at]
        apart = means[:, at] - mean
        wanted = np.tensordot(weights, covariances[:, at][:, :, at], 1) + (apart * weights[:, None]).T @ apart
        np.testing.assert_allclose(both.covariance, wanted, atol=TOLERANCE)


def test_relations_that_are_nearly_exact_keep_their_digits() -> None:
    """A sum of two numbers, known but for a variance of 1e-14, by hand: precisions squared have lost it.

    Roots of precisions, 1e7, leave 2e-9 of a double; 1e-7 is some dozens of these, and squares leave nothing.
    """
    tiny = 1e-14
    tables = {"a": [0.0, 1.0], "b": [0.0, 1.0], "s": [0.0, 1.0, 1.0, tiny], "t": [0.0, 1.0, tiny]}
    graph = lac.dag("a b -> s; s -> t", kinds=dict.fromkeys("abst", "continuous"))
    network = lac.Network.from_tables(graph, tables)
    found = numbers.answered(network, [0], Findings.of(graph.schema, {"t": 1.0}))
    assert found is not None
    assert float(network.query("a", given={"t": 1.0}).mean) == pytest.approx(0.5, rel=1e-7)
    assert float(network.query("s", given={"t": 1.0}).sd) == pytest.approx(np.sqrt(tiny), rel=1e-7)


def test_densities_that_doubles_take_for_nothing_are_left_to_the_rows_engine() -> None:
    """The state that the number speaks for by e^5000 is ruled out by another finding."""
    tables: dict[str, Any] = {
        "h": [0.5, 0.5],
        "x": lac.Regression([0.0, 100.0]),
        "e": [[0.5, 0.5], [1.0, 0.0]],
    }
    graph = lac.dag("h -> x e", kinds={"x": "continuous"})
    network = lac.Network.from_tables(graph, tables)
    known = {"x": 100.0, "e": 1}
    assert numbers.answered(network, [0], Findings.of(graph.schema, known)) is None
    np.testing.assert_array_equal(network.query("h", given=known).probabilities, [1.0, 0.0])
    assert network.log_density(known) == pytest.approx(log(0.25) - 5000.0 - 0.5 * log(2 * pi))
    np.testing.assert_array_equal(network.query("h", given={"x": 100.0}).probabilities, [0.0, 1.0])


def test_layouts_are_kept_with_the_graph_but_not_without_bound_nor_pickled() -> None:
    network = lac.random_network(lac.dag("a -> b -> c", kinds=dict.fromkeys("abc", "continuous")), rng=0)
    for k in range(3):
        network.query("a", given={"b": float(k)})
    kept = network.dag.__dict__["_questions"][0]
    assert len(kept) == 1
    assert "_questions" not in pickle.loads(pickle.dumps(network)).dag.__dict__
    again = copy.deepcopy(network)
    assert float(again.query("a", given={"b": 2.0}).mean) == float(network.query("a", given={"b": 2.0}).mean)


def test_impossible_states_are_refused_whatever_is_asked() -> None:
    graph = lac.dag("d -> e; x -> y", kinds=dict.fromkeys("xy", "continuous"))
    tables: dict[str, Any] = {
        "d": [0.5, 0.5],
        "e": [[1.0, 0.0], [0.5, 0.5]],
        "x": lac.Regression(0.0),
        "y": lac.Regression(0.0, [1.0]),
    }
    network = lac.Network.from_tables(graph, tables)
    for name in ("x", "y"):
        with pytest.raises(lac.ImpossibleRowError):
            network.query(name, given={"d": 0, "e": 1})
    with pytest.raises(lac.ImpossibleRowError):
        network.engine({"d": 0, "e": 1}).marginals()
