"""Random models against enumeration and dense algebra: every row's evidence, every expected statistic."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.infer.rows import Rows, prepare
from tests import naive, naive_mixed
from tests.campaign.run import Campaign, Found
from tests.strategies import Case, cases, mixed_cases

MODELS = 20
"""Models of a piece."""

KINDS = ("discrete", "discrete", "discrete", "tied", "mixed", "gaussian", "sigmoid", "poisson", "uniform")

EVIDENCE, COUNTS = 1e-9, 1e-8
"""Sums of at most some hundred products of doubles; moments are of numbers up to a thousand."""


def work(rng: np.random.Generator, index: int) -> Found:
    """Check some models of one kind; each piece has the next kind's turn."""
    kind = KINDS[index % len(KINDS)]
    checks = [0]

    @seed(int(rng.integers(2**32)))
    @settings(
        max_examples=MODELS,
        deadline=None,
        database=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        case=_cases(kind),
        parts=st.integers(1, 4),
        weights=st.sampled_from(WEIGHTS),
        number=st.integers(0, 99),
    )
    def check(case: Case, parts: int, weights: str, number: int) -> None:
        network, table = case
        table = weighed(table, weights, np.random.default_rng(number))
        checks[0] += check_model(network, table, parts, leaf=kind in ("poisson", "uniform"))

    check()
    return Found(checks[0])


WEIGHTS = ("as they are", "zero", "fractions", "huge", "whole")


def weighed(table: lac.Table, kind: str, rng: np.random.Generator) -> lac.Table:
    """Return the table with other weights."""
    n = len(table)
    weights = {
        "as they are": table.weights,
        "zero": np.where(rng.random(n) < 0.5, 0.0, table.weights),
        "fractions": rng.uniform(0, 1, n),
        "huge": 1e9 * rng.uniform(0, 1, n),
        "whole": rng.integers(0, 5, n).astype(np.float64),
    }[kind]
    return replace(table, weights=weights)


def check_model(network: lac.Network, table: lac.Table, parts: int, leaf: bool) -> int:
    """Compare evidence and expected statistics with the oracle; return how many numbers were compared."""
    edges = np.linspace(0, len(table), parts + 1).astype(int)
    source: Any = (
        table if parts == 1 else lac.Partitioned(table.take(slice(a, b)) for a, b in pairwise(edges))
    )
    rows = prepare(network.dag, source.align(network.dag.schema))
    wanted = np.array([_log(network, table, r, leaf) for r in range(len(table))])
    found = rows.log_evidence(network.theta[None])[0]
    scale = np.maximum(1.0, np.abs(wanted))
    np.testing.assert_allclose(found / scale, wanted / scale, atol=EVIDENCE, rtol=0)
    return len(wanted) + (0 if leaf or not np.all(np.isfinite(wanted)) else _statistics(network, table, rows))


def _log(network: lac.Network, table: lac.Table, r: int, leaf: bool) -> float:
    if leaf:
        return leaf_log_evidence(network, table.codes[r], table.reals[r])
    if network.dag.continuous:
        return naive_mixed.log_evidence(network, table.codes[r], table.reals[r])
    return naive.log_evidence(network, table.codes[r].tolist())


def leaf_log_evidence(network: lac.Network, codes: NDArray[Any], reals: NDArray[np.float64]) -> float:
    """As of tables, where a number adds the log-density that its family says it has given its parents."""
    dag = network.dag
    logs = []
    discrete = {v.name for v in dag.schema if v.discrete}
    choices = [
        range(v.size) if c == HOLE and v.discrete else (int(c),)
        for v, c in zip(dag.schema, codes, strict=True)
    ]
    for row in _product(choices):
        states = {v.name: s for v, s in zip(dag.schema, row, strict=True) if v.discrete}
        log = 0.0
        for i, v in enumerate(dag.schema):
            own = network.table(v.name)[tuple(states[p] for p in dag.parents_of(v.name) if p in discrete)]
            if v.discrete:
                with np.errstate(divide="ignore"):
                    log += float(np.log(own[states[v.name]]))
            elif not np.isnan(reals[i]):
                log += _density(v.family or "", own, float(reals[i]))
        logs.append(log)
    return naive.log_sum([log for log in logs if log > -np.inf]) if max(logs) > -np.inf else -np.inf


def _density(family: str, own: NDArray[np.float64], x: float) -> float:
    from scipy.stats import poisson, uniform

    if family == "poisson":
        return float(poisson.logpmf(x, own[0]))
    return float(uniform.logpdf(x, own[0], own[1] - own[0]))


def _product(choices: list[Any]) -> Any:
    from itertools import product

    return product(*choices)


def _statistics(network: lac.Network, table: lac.Table, rows: Rows) -> int:
    dag = network.dag
    counts = rows.expect(network.theta[None]).counts[0]
    if dag.continuous:
        wanted: Any = naive_mixed.statistics(network, table)
    else:
        wanted = naive.expected_counts(network, table)
    compared = 0
    tied = [set(group) for group in dag.tied]
    for i, name in enumerate(dag.names):
        own = wanted[name]
        for group in tied:
            if name in group:
                own = sum(wanted[other] for other in group)
        if dag.schema[name].discrete:
            found = dag.layout.table(counts, i)
        else:
            found = dag.layout.moments(counts, i)
            own = own.reshape(found.shape)
        size = max(1.0, float(np.abs(own).max(initial=0.0)))
        np.testing.assert_allclose(found / size, own / size, atol=COUNTS, rtol=0, err_msg=name)
        compared += own.size
    return compared


def _cases(kind: str) -> st.SearchStrategy[Case]:
    if kind == "discrete":
        return cases()
    if kind == "mixed":
        return mixed_cases()
    if kind == "gaussian":
        return mixed_cases(max_states=0)
    return st.integers(0, 2**32 - 1).map(
        {"tied": _tied, "sigmoid": _sigmoid}.get(kind) or (lambda n: _leaf(kind, n))
    )


def _holed(network: lac.Network, rng: np.random.Generator, rows: int = 6) -> Case:
    table = network.sample(rows, rng)
    holes = rng.random(table.codes.shape) < rng.choice([0.0, 0.3, 0.7])
    holes[rng.random(rows) < 0.1] = True  # rows of holes alone
    codes = np.where(holes, HOLE, table.codes)
    reals = np.where(holes, np.nan, table.reals) if table.reals.shape[1] else table.reals
    return network, lac.Table(network.dag.schema, codes.astype(np.int16), reals)


def _tied(number: int) -> Case:
    """Children of one hidden or observed root that share a table."""
    rng = np.random.default_rng(number)
    states, many = int(rng.integers(2, 4)), int(rng.integers(2, 5))
    names = [f"x{i}" for i in range(many)]
    sizes = {"h": int(rng.integers(2, 4)), **dict.fromkeys(names, states)}
    dag = lac.dag("; ".join(f"h -> {name}" for name in names), states=sizes, tied=[names])
    return _holed(lac.random_network(dag, rng=rng), rng)


def _sigmoid(number: int) -> Case:
    rng = np.random.default_rng(number)
    parents = [f"p{i}" for i in range(int(rng.integers(1, 5)))]
    dag = lac.dag(f"{' '.join(parents)} -> y; y -> z", states=2, family={"y": "sigmoid"})
    return _holed(lac.random_network(dag, rng=rng), rng)


def _leaf(kind: str, number: int) -> Case:
    rng = np.random.default_rng(number)
    bounds = (0.0, 1.0) if kind == "uniform" else None
    variables = [lac.Variable("a", (0, 1, 2)), lac.Variable("b", (0, 1))]
    variables += [
        lac.Variable(name, kind="continuous", family=kind, bounds=bounds)
        for name in ("u", "v")[: rng.integers(1, 3)]
    ]
    parents: dict[str, list[str]] = {"b": ["a"], "u": ["b"]}
    if len(variables) > 3:
        parents["v"] = ["a", "b"]
    dag = lac.Dag.from_parents(lac.Schema(tuple(variables)), parents)
    return _holed(lac.random_network(dag, rng=rng), rng)


CAMPAIGN = Campaign(
    "exactness",
    "Random models and tables (discrete, tied, Gaussian, mixed, sigmoid, Poisson, uniform; rows of holes "
    "alone; zero, fractional and huge weights; whole tables and tables in parts) against enumeration and "
    "dense algebra: every row's evidence and every expected statistic. A check is one number.",
    (180, 1500),
    work,
)
