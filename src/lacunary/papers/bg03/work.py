"""Scoring BG03's structures: MAP, BIC, the variational bound, and annealed importance sampling."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Literal

import lacunary as lac
from lacunary.papers import seed_of
from lacunary.papers.bg03.structures import data, graph, structures, truth

__all__ = ["STEPS", "anneal", "bounds_block", "evidence_block", "score_block"]

STEPS = 16_384
"""Steps of BG03's annealing."""

SHORT, CHAINS = 1024, 4
"""Steps and chains of the library's own sampler."""

STARTS = 16
"""Of EM and variational EM; BG03 says no number. With eight some bounds end two nats lower."""

Timed = tuple[Any, float]


def score_block(
    parents: str, alpha: float, setting: int, rows: int, first: int, count: int, steps: int = STEPS
) -> list[dict[str, Any]]:
    """Score some structures in every way, one chain of Metropolis moves as in BG03 among them."""
    table, out = data(parents, alpha, setting, rows), []
    for code in structures()[first : first + count]:
        record = _bounds(code, table, alpha)
        seed = seed_of("bg03", "ais", parents, alpha, setting, rows, *code)
        options: dict[str, Any] = {"prior": lac.Dirichlet(alpha), "rng": seed}
        dag = graph(code)
        ais = lac.score(dag, table, "ais", steps=steps, chains=1, moves="metropolis", **options)
        gibbs = lac.score(dag, table, "ais", steps=SHORT, chains=CHAINS, **options)
        record |= {"ais": ais.value, "gibbs": gibbs.value, "gibbs_error": gibbs.stderr}
        out.append({**record, "ais_seconds": ais.seconds, "gibbs_seconds": gibbs.seconds})
    return out


def evidence_block(
    parents: str, rows: int, first: int, count: int, steps: int, chains: int
) -> list[dict[str, Any]]:
    """Estimate the evidence of some structures with many long chains of Gibbs moves."""
    table, out = data(parents, 1.0, 0, rows), []
    for code in structures()[first : first + count]:
        seed = seed_of("bg03", "evidence", parents, rows, steps, *code)
        found = lac.score(graph(code), table, "ais", steps=steps, chains=chains, rng=seed)
        out.append({"structure": list(code), "value": found.value, "error": found.stderr})
    return out


def bounds_block(
    parents: str, alpha: float, setting: int, rows: int, first: int, count: int
) -> list[dict[str, Any]]:
    """Score some structures by MAP, BIC and the variational bound alone."""
    table = data(parents, alpha, setting, rows)
    return [_bounds(code, table, alpha) for code in structures()[first : first + count]]


def anneal(parents: str, rows: int, steps: int, moves: str, chains: int) -> dict[str, Any]:
    """Anneal the true structure from draws of the prior, and once from the true parameters (Figure 2, right).

    ``log_weights`` has every chain's own estimate, ``started`` that of the chain from the true parameters.
    """
    table, true = data(parents, 1.0, 0, rows), truth(parents, 1.0, 0)
    kind: Literal["gibbs", "metropolis"] = "gibbs" if moves == "gibbs" else "metropolis"
    seed = seed_of("bg03", "anneal", parents, rows, steps, moves)
    began = perf_counter()
    drawn = lac.score(true.dag, table, "ais", steps=steps, chains=chains, moves=kind, rng=seed)
    seconds = perf_counter() - began
    started = lac.score(true.dag, table, "ais", steps=steps, chains=1, moves=kind, start=true, rng=seed + 1)
    return {
        "log_weights": drawn.details["log_weights"].tolist(),
        "acceptance": drawn.details["acceptance"],
        "started": started.value,
        "chain_seconds": seconds / chains,
    }


def _bounds(code: tuple[int, int], table: lac.Table, alpha: float) -> dict[str, Any]:
    """Return MAP, BIC and variational score of a structure, from the same starts, with their seconds.

    The MAP is that of the density of probabilities, as in BG03, which for α = 1 is the maximum of the
    likelihood; below 1 that density has no peak inside, and the softmax basis is taken.
    """
    dag, prior = graph(code), lac.Dirichlet(alpha)
    basis: Literal["probability", "softmax"] = "probability" if alpha >= 1 else "softmax"
    options: dict[str, Any] = {"prior": prior, "starts": STARTS, "accelerate": True}
    found, map_seconds = _timed(lambda: lac.fit(dag, table, basis=basis, **options))
    bound, vb_seconds = _timed(lambda: lac.fit(dag, table, method="variational", **options))
    bic = lac.score(found, table, "bic", prior=prior, basis=basis)
    return {
        "structure": list(code),
        "parameters": dag.layout.free,
        "map": found.log_likelihood,
        "bic": bic.value,
        "vb": bound.objective,
        "map_seconds": map_seconds,
        "vb_seconds": vb_seconds,
    }


def _timed(call: Callable[[], Any]) -> Timed:
    began = perf_counter()
    return call(), perf_counter() - began
