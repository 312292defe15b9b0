"""Discrete mixtures, which TMCH98 asks for, and its conjecture about an empty start (section 5)."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np

import lacunary as lac
from lacunary.papers import seed_of
from lacunary.papers.tmch98.tables import Kind

__all__ = ["PRIORS", "from_empty", "votes"]

PRIORS: dict[str, lac.BDeu | lac.Dirichlet] = {
    "BDeu(1)": lac.bdeu(1),
    "BDeu(10)": lac.bdeu(10),
    "Dirichlet(1)": lac.Dirichlet(1.0),
}

CHILDREN = 6


def from_empty(seed: int, prior: str, rows: int = 1000) -> dict[str, Any]:
    """Look for the arcs from a hidden variable to its six children, from a graph without arcs and with all.

    The truth is a hidden binary variable with six binary children, tables drawn with Dirichlet(½).
    """
    random = np.random.default_rng(seed_of("tmch98", "hidden", seed))
    observed = lac.Schema(tuple(lac.Variable(f"y{i}", ("a", "b")) for i in range(CHILDREN)))
    truth = lac.random_network(lac.naive_bayes(observed, hidden="H", states=2), lac.Dirichlet(0.5), random)
    table = lac.hide(truth.sample(rows, random), "H")
    found: dict[str, Any] = {}
    for start in ("empty", "arcs from H"):
        arcs = [("H", f"y{i}") for i in range(CHILDREN)] if start != "empty" else []
        result = lac.structural_em(
            table,
            prior=PRIORS[prior],
            method="greedy",
            start=lac.Dag.from_arcs(table.schema, arcs),
            escapes=0,
            until="structure",
            rng=seed_of("tmch98", "hidden", seed),
        )
        near = sum("H" in arc for arc in result.dag.arcs)
        found[start] = {"near": near, "arcs": len(result.dag.arcs), "cs": result.rounds[-1].cheeseman_stutz}
    return found


def votes(kind: Kind, most: int, split: int | None = None) -> dict[str, Any]:
    """Learn mixtures of 1 to ``most`` networks from the votes, all of them or 60 %, and score them."""
    table = lac.house_votes()
    order = np.random.default_rng(seed_of("tmch98", "votes", -1 if split is None else split)).permutation(
        len(table)
    )
    many = len(table) if split is None else round(0.6 * len(table))
    began = process_time()
    fit = lac.fit_mixture(
        table.take(order[:many]),
        components=range(1, most + 1),
        structure=kind,
        method="greedy",
        rng=seed_of("tmch98", "votes", -1 if split is None else split),
    )
    seconds = process_time() - began
    lines = [
        {
            "k": trial.components,
            "asked": trial.asked,
            "d": trial.estimate.dimension,
            "arcs": sum(len(c.dag.arcs) for c in trial.mixture.components),
            "cs": trial.estimate.value,
        }
        for trial in fit.path
    ]
    if split is not None:
        rest = table.take(order[many:])
        for line, trial in zip(lines, fit.path, strict=True):
            line["score"] = float(trial.mixture.log_probability(rest).mean())
    return {"seconds": seconds, "tried": lines}
