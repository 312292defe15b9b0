"""BG03's structures and data, and scoring them: MAP, BIC, the variational bound, and annealing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import combinations_with_replacement
from time import process_time
from typing import Any, Literal

import lacunary as lac
from lacunary.papers import seed_of

OBSERVED = ("y1", "y2", "y3", "y4")
STATES = 5

SIZES = (10, 20, 40, 80, 110, 160, 230, 320, 400, 430, 480, 560, 640, 800, 960, 1120, 1280, 2560, 5120, 10240)
"""The doublings from 10 to 10 240, and nine more where ranks change, 480 and 1 120 among them."""

ROWS = 480
"""At which Figure 1 is drawn."""

LENGTHS = tuple(2**k for k in range(6, 19))
"""Annealing lengths, 64 to 262 144."""

AVERAGED = (160, 480, 1120)
"""Sizes at which ranks are averaged over true parameters."""

Code = tuple[int, int]
"""The children of the two hidden variables, a bit for each observed one; the smaller number first."""

TRUE: dict[str, Code] = {"apart": (0b0111, 0b1110), "shared": (0b0011, 0b1111)}
"""The true structure: two observed variables have both parents and two have one.

The printed figure is lost. The two that have one parent may have different ones, "apart", or "shared" one.
"""


def structures() -> list[Code]:
    """Return all structures; a structure and its mirror image are one: (256 + 16) / 2 = 136."""
    return list(combinations_with_replacement(range(2 ** len(OBSERVED)), 2))


def graph(code: Code) -> lac.Dag:
    """Return a structure as a graph of two hidden binary and four observed variables of five states."""
    return _graphs()[code]


@cache
def _graphs() -> dict[Code, lac.Dag]:
    hidden = tuple(lac.Variable(f"h{h + 1}", (0, 1), hidden=True) for h in range(2))
    seen = tuple(lac.Variable(name, tuple(range(STATES))) for name in OBSERVED)
    return dict(zip(structures(), lac.bipartite(lac.Schema((*hidden, *seen))), strict=True))


def truth(parents: str, alpha: float, setting: int) -> lac.Network:
    """Draw the true parameters from the prior; the same setting gives the same ones."""
    seed = seed_of("bg03", "truth", parents, alpha, setting)
    return lac.random_network(graph(TRUE[parents]), lac.Dirichlet(alpha), rng=seed)


def data(parents: str, alpha: float, setting: int, rows: int) -> lac.Table:
    """Return the first rows of the one table drawn from a setting: larger ones contain smaller ones."""
    seed = seed_of("bg03", "data", parents, alpha, setting)
    drawn = truth(parents, alpha, setting).sample(max(SIZES), rng=seed).select(list(OBSERVED))
    return drawn.take(slice(rows))


STEPS = 16_384
"""Steps of BG03's annealing."""

ERROR = 0.2
"""Standard error, in nats, to which the evidence of a structure is sampled."""

FEW = 4
"""Starts where averages are taken over true parameters."""

STARTS = 16
"""Of EM and variational EM; BG03 says no number. With eight some bounds end two nats lower."""


def score_block(
    parents: str,
    alpha: float,
    setting: int,
    rows: int,
    first: int,
    count: int,
    steps: int = STEPS,
    error: float = ERROR,
) -> list[dict[str, Any]]:
    """Score some structures in every way, one chain of Metropolis moves as in BG03 among them.

    The evidence is sampled until its standard error is so small; with an error of zero, not at all.
    """
    table, out = data(parents, alpha, setting, rows), []
    for code in structures()[first : first + count]:
        record = _bounds(code, table, alpha)
        seed = seed_of("bg03", "ais", parents, alpha, setting, rows, *code)
        options: dict[str, Any] = {"prior": lac.Dirichlet(alpha), "rng": seed}
        dag = graph(code)
        way: dict[str, Any] = {"steps": steps, "chains": 1, "moves": "metropolis", **options}
        ais, ais_seconds = _timed(partial(lac.score, dag, table, "ais", **way))
        record |= {
            "ais": ais.value,
            "ais_seconds": ais_seconds,
            "vb_start_seconds": _start(dag, table, alpha),
        }
        if error:
            sampled = lac.score(dag, table, "sampled", stderr=error, **options)
            record |= {"evidence": sampled.value, "evidence_error": sampled.stderr or 0.0}
            record["evidence_certain"] = float(sampled.details["trustworthy"])
        out.append(record)
    return out


def _start(dag: lac.Dag, table: lac.Table, alpha: float) -> float:
    """Return the seconds of one start of variational Bayes, as in BG03's timing."""
    prior = lac.Dirichlet(alpha)
    return _timed(lambda: lac.fit(dag, table, method="variational", prior=prior, starts=1))[1]


def bounds_block(
    parents: str, alpha: float, setting: int, rows: int, first: int, count: int, starts: int = STARTS
) -> list[dict[str, Any]]:
    """Score some structures by MAP, BIC and the variational bound alone."""
    table = data(parents, alpha, setting, rows)
    return [_bounds(code, table, alpha, starts) for code in structures()[first : first + count]]


def anneal(parents: str, rows: int, steps: int, moves: str, chains: int) -> dict[str, Any]:
    """Anneal the true structure from draws of the prior, and once from the true parameters (Figure 2, right).

    ``log_weights`` has every chain's own estimate, ``started`` that of the chain from the true parameters.
    """
    table, true = data(parents, 1.0, 0, rows), truth(parents, 1.0, 0)
    seed = seed_of("bg03", "anneal", parents, rows, steps, moves)
    how: dict[str, Any] = {"steps": steps, "moves": moves}
    drawn, seconds = _timed(lambda: lac.score(true.dag, table, "ais", chains=chains, rng=seed, **how))
    started = lac.score(true.dag, table, "ais", chains=1, start=true, rng=seed + 1, **how)
    return {
        "log_weights": drawn.details["log_weights"].tolist(),
        "acceptance": drawn.details["acceptance"],
        "started": started.value,
        "chain_seconds": seconds / chains,
    }


def _bounds(code: tuple[int, int], table: lac.Table, alpha: float, starts: int = STARTS) -> dict[str, Any]:
    """Return MAP, BIC and variational score of a structure, from the same starts, with their seconds.

    The MAP is that of the density of probabilities, as in BG03, which for α = 1 is the maximum of the
    likelihood; below 1 that density has no peak inside, and the softmax basis is taken.
    """
    dag, prior = graph(code), lac.Dirichlet(alpha)
    basis: Literal["probability", "softmax"] = "probability" if alpha >= 1 else "softmax"
    options: dict[str, Any] = {"prior": prior, "starts": starts, "accelerate": True}
    found, map_seconds = _timed(lambda: lac.fit(dag, table, basis=basis, **options))
    bound, vb_seconds = _timed(lambda: lac.fit(dag, table, method="variational", **options))
    bic = lac.score(found, table, "bic", prior=prior, at="map", basis=basis)
    return {
        "structure": list(code),
        "parameters": dag.layout.free,
        "map": found.log_likelihood,
        "bic": bic.value,
        "vb": bound.objective,
        "map_seconds": map_seconds,
        "vb_seconds": vb_seconds,
    }


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = process_time()
    return call(), process_time() - began
