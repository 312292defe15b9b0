"""Whether the structures of three components are found again (TMCH98 section 7, Table 2)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import lacunary as lac
from lacunary.papers import seed_of
from lacunary.papers.tmch98.tables import Pair, belief, gold, labelled

__all__ = ["changes", "matched", "recovered", "unmixed"]

Prior = Literal["section 6", "default"]

ABOUT = 5.0 / 3.0
"""μ of the prior: the average over all variables and components, as 64 is for the digits."""

FRESH = 3000
"""Rows on which mixtures are scored, drawn with another seed."""


def recovered(
    seed: int,
    rows: int,
    prior: Prior = "section 6",
    schedule: str = "((EM)^10 Ec S* M)*",
    pair: Pair = "colliders",
) -> dict[str, Any]:
    """Learn a mixture from so many rows and compare its three largest components with the truth.

    Section 7 names no prior: "section 6" takes that of the digits, "default" the library's.
    """
    table, came = labelled(rows, seed, pair)
    fit = lac.fit_mixture(
        table,
        prior=belief(ABOUT) if prior == "section 6" else None,
        schedule=schedule,
        method="greedy",
        rng=seed_of("tmch98", "recovered", seed, rows),
    )
    largest = np.argsort(-fit.mixture.weights)[:3]
    shares = fit.mixture.responsibilities(table)
    pairs = matched(shares[:, largest], came)
    fresh, _ = labelled(FRESH, seed + 1_000_000, pair)
    return {
        "k": len(fit.mixture.components),
        "weight": float(fit.mixture.weights[largest].sum()),
        "components": [
            changes(gold(c, pair), fit.mixture.components[largest[pairs[c]]].dag) if c in pairs else None
            for c in range(3)
        ],
        "score": fit.predict(fresh, how="plug-in").score,
        "by_k": [
            [t.asked, t.estimate.value, float(t.mixture.log_probability(fresh).mean())] for t in fit.path
        ],
    }


def unmixed(seed: int, rows: int) -> dict[str, Any]:
    """Look for each component's structure in its own rows, as if it were known which are its own.

    Greedily, as in print, and exactly, with the same score: what is left of the differences then is not the
    mixture's fault.
    """
    table, came = labelled(rows, seed)
    found: dict[str, Any] = {}
    for method in ("greedy", "exact"):
        found[method] = [
            changes(gold(c), lac.search(table.take(np.flatnonzero(came == c)), method=method).dag)
            for c in range(3)
        ]
    return found


def matched(shares: NDArray[np.float64], came: NDArray[np.int64]) -> dict[int, int]:
    """Return which learned component stands for which true one, such that most rows agree.

    With fewer learned components than true ones some have none. Shares are (rows, learned).
    """
    common = np.stack([shares[came == c].sum(axis=0) for c in range(3)])
    true, learned = linear_sum_assignment(-common)
    return {int(t): int(k) for t, k in zip(true, learned, strict=True)}


def changes(truth: lac.Dag, found: lac.Dag) -> dict[str, int]:
    """Return how many arcs differ, equivalent graphs being the same: in all, too many, and missing."""
    joined = [
        {frozenset((a, b)) for a, near in lac.skeleton(dag).items() for b in near} for dag in (truth, found)
    ]
    return {
        "changes": lac.arc_changes(truth, found),
        "extra": len(joined[1] - joined[0]),
        "missing": len(joined[0] - joined[1]),
    }
