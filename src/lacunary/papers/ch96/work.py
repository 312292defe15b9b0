"""The work on CH96, in units: each makes its data from seeds."""

from __future__ import annotations

from dataclasses import replace
from math import lgamma
from time import process_time
from typing import Any

import numpy as np

import lacunary as lac
from lacunary.papers import seed_of

CHEAP = ("cheeseman-stutz", "mled", "draper", "bic")

LONG = lac.Stop(iterations=200)
PEAK = lac.Stop(relative=1e-10, iterations=20_000)
"""Where Laplace's approximation needs a peak and 200 iterations end short of one."""


def table_of(
    n: int, c: int, rows: int, model: int, data: int, equal: bool = False
) -> tuple[lac.Network, lac.Table]:
    """Return a random model and rows it gave, without their classes; samples of all sizes share one model.

    With ``equal`` shares all classes are equally frequent; their tables stay as drawn.
    """
    schema = _binary(n)
    dag = lac.naive_bayes(schema, "C", c)
    network = lac.random_network(dag, rng=seed_of("ch96 model", n, c, model))
    if equal:
        theta = network.theta.copy()
        theta[dag.layout.slice(dag.schema.index("C"))] = 1.0 / c
        network = lac.Network(dag, theta)
    drawn = network.sample(rows, rng=seed_of("ch96 data", n, c, rows, model, data))
    return network, drawn.select(list(schema.names))


def _binary(n: int) -> lac.Schema:
    return lac.Schema(tuple(lac.Variable(f"X{i + 1}", (0, 1)) for i in range(n)))


def weigh(
    n: int,
    c: int,
    rows: int,
    model: int,
    data: int,
    k: int,
    epsilon: float = 0.01,
    ml: bool = False,
    equal: bool = False,
) -> dict[str, Any]:
    """Return the five scores of a model with k hidden states, as section 3 describes.

    64 draws, halved six times, then 200 iterations of EM; MAP with α = 1 + ε in the probability basis. With
    ``ml``, the cheap scores at the maximum of the likelihood, too, and how long EM takes by the paper's rule.
    """
    _, table = table_of(n, c, rows, model, data, equal)
    dag = lac.naive_bayes(table.schema, "C", k)
    prior, seed = lac.Dirichlet(1.0 + epsilon), seed_of("ch96 start", n, c, rows, model, data, k)
    found = _winner(dag, table, prior, seed)
    scores = _scores(found, table, prior)
    curved, polished, refusal = _laplace(found, table, prior)
    out = {
        "d": dag.layout.free,
        "scores": _with_laplace(curved, scores),
        "seconds": {"laplace": curved.seconds if curved else None}
        | {name: each.seconds for name, each in scores.items()},
        "log_likelihood": found.log_likelihood,
        "change": _last_change(found.trace),
        "iterations": found.iterations,
        "polished": polished,
        "refusal": refusal,
        "em_seconds": None,
    }
    if ml:
        out["em_seconds"] = _em_seconds(dag, table, prior, seed)
        top = lac.fit(dag, table, method="ml", prior=prior, initial=found.network, stop=LONG)
        out["ml"] = {name: lac.score(top, table, name, prior=prior).value for name in CHEAP}
    return out


def _winner(dag: lac.Dag, table: lac.Table, prior: Any, seed: int, stop: lac.Stop = LONG) -> lac.Fit:
    """Return the fit from the winner of a tournament of 64 draws."""
    starts = lac.Tournament(64)
    return lac.fit(dag, table, prior=prior, basis="probability", starts=starts, stop=stop, rng=seed)


def _scores(found: lac.Fit, table: lac.Table, prior: Any) -> dict[str, lac.Estimate]:
    return {name: _score(found, table, name, prior=prior, at="map") for name in CHEAP}


def _with_laplace(curved: lac.Estimate | None, scores: dict[str, lac.Estimate]) -> dict[str, float | None]:
    """Return the values of all five scores, Laplace's first."""
    return {"laplace": curved.value if curved else None} | {name: each.value for name, each in scores.items()}


def _em_seconds(dag: lac.Dag, table: lac.Table, prior: Any, seed: int) -> float:
    """Time EM to convergence by the paper's rule, tournament included."""
    began = process_time()
    _winner(dag, table, prior, seed, lac.Stop(relative=1e-5, iterations=200))
    return process_time() - began


def _score(found: lac.Fit, table: lac.Table, name: Any, **how: Any) -> lac.Estimate:
    """Return a score with the seconds of the processor: other work on the machine does not count."""
    began = process_time()
    estimate = lac.score(found, table, name, basis="probability", **how)
    return replace(estimate, seconds=process_time() - began)


def _last_change(trace: tuple[float, ...]) -> float:
    """Return the relative change of g in the last iteration."""
    return abs(trace[-1] - trace[-2]) / abs(trace[-1]) if len(trace) > 1 else 0.0


def _laplace(found: lac.Fit, table: lac.Table, prior: Any) -> tuple[lac.Estimate | None, bool, str]:
    """Return Laplace's approximation at the fit, or where EM gets to from there if that is no peak."""
    point = found
    refusal = ""
    for polished in (False, True):
        if polished:
            options: dict[str, Any] = {"initial": found.network, "stop": PEAK, "accelerate": True}
            point = lac.fit(found.dag, table, prior=prior, basis="probability", **options)
        try:
            return _score(point, table, "laplace", prior=prior, plain=True), polished, refusal
        except lac.ParameterError as problem:
            refusal = str(problem)
    return None, True, refusal


OCCUPIED = 0.5
"""Rows that must be expected in a class for it to count as occupied: empty ones have no names to change."""


def reference(n: int, c: int, rows: int, model: int, data: int, k: int, starts: int = 64) -> dict[str, Any]:
    """Return the evidence by means the authors did not have, and the scores at a more thorough peak.

    The evidence is sampled, as long as an error of 0.1 nats takes and at most for half a minute, with the
    opinion of a second sampler: ``trustworthy`` tells whether they agree. ``occupied`` counts the classes
    that rows are in at the peak, and ``labellings`` the log of the ways to name them.
    """
    _, table = table_of(n, c, rows, model, data)
    dag = lac.naive_bayes(table.schema, "C", k)
    prior, seed = lac.Dirichlet(1.01), seed_of("ch96 reference", n, c, rows, model, data, k)
    sampled = lac.score(dag, table, "sampled", prior=prior, rng=seed)
    bound = lac.score(dag, table, "variational", prior=prior, starts=starts, symmetry=True, rng=seed)
    best = lac.fit(
        dag, table, prior=prior, basis="probability", starts=starts, stop=lac.Stop(relative=1e-8), rng=seed
    )
    curved, _, _ = _laplace(best, table, prior)
    occupied = int((best.network.query("C").probabilities * rows > OCCUPIED).sum())
    return {
        "evidence": sampled.value,
        "stderr": sampled.stderr,
        "trustworthy": bool(sampled.details["trustworthy"]),
        "evidence_seconds": sampled.seconds,
        "variational": bound.value,
        "occupied": occupied,
        "labellings": lgamma(k + 1) - lgamma(k - occupied + 1),
        "scores": _with_laplace(curved, _scores(best, table, prior)),
        "log_likelihood": best.log_likelihood,
    }


def free(n: int, k: int) -> dict[str, Any]:
    """Return the effective dimension of a naive Bayes model beside its number of parameters."""
    found = lac.dimension(lac.naive_bayes(_binary(n), "C", k))
    return {"rank": found.rank, "parameters": found.parameters, "doubt": found.doubt}


def reality(n: int, c: int, rows: int, repeat: int, most: int) -> dict[str, Any]:
    """Return Δm of section 5: the best model with a hidden class against the best graph without."""
    _, table = table_of(n, c, rows, seed_of("reality", repeat), 0)
    scores: dict[str, dict[str, float | None]] = {}
    prior = lac.Dirichlet(1.01)
    for k in range(1, most + 1):
        dag = lac.naive_bayes(table.schema, "C", k)
        found = _winner(dag, table, prior, seed_of("ch96 reality", n, c, rows, repeat, k))
        curved, _, _ = _laplace(found, table, prior)
        scores[str(k)] = _with_laplace(curved, _scores(found, table, prior))
    graph = lac.search(table, score="k2", method="greedy", structure_prior=None).dag
    without = lac.score(graph, table, "exact", prior=lac.Dirichlet(1.0)).value
    best = {name: _argmax({k: s[name] for k, s in scores.items()}) for name in ("laplace", *CHEAP)}
    top = scores[str(best["laplace"])]["laplace"]
    return {
        "scores": scores,
        "best": best,
        "without": without,
        "arcs": len(graph.arcs),
        "delta": None if top is None else top - without,
    }


def _argmax(values: dict[str, float | None]) -> int:
    known = {k: v for k, v in values.items() if v is not None and np.isfinite(v)}
    return int(max(known, key=lambda k: known[k]))
