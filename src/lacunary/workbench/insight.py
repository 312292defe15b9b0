"""What findings do: which moves a variable most, which would tell most, and why a row is in its class."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import lacunary as lac
from lacunary.workbench.asking import Asked

__all__ = ["moved_by", "strengths", "telling", "why"]

POINTS = 401
"""Points of the grid on which the densities of a continuous variable are compared."""

LEVELS = (0.0625, 0.1875, 0.3125, 0.4375, 0.5625, 0.6875, 0.8125, 0.9375)
"""Middles of eight equally probable parts of a continuous variable, one of which stands for each part."""

MOST_CELLS = 100_000
"""The most states of a family together whose arcs' strengths are worked out."""

DRAWN = 500
"""Rows over which what arcs tell is averaged where variables are continuous."""


def moved_by(asked: Asked, given: dict[str, Any], target: str) -> list[dict[str, Any]]:
    """Return each finding, and how far the target's posterior moves if it is left out; the strongest first.

    "Far" is the total variation between the two posteriors, from 0 to 1.
    """
    with_all = _posterior(asked, given, target)
    out = []
    for name in (name for name in given if name != target):
        rest = {n: f for n, f in given.items() if n != name}
        without = _posterior(asked, rest, target)
        out.append({"name": name, "moves": _apart(with_all, without), "without": _short(without)})
    return sorted(out, key=lambda one: -one["moves"])


def telling(asked: Asked, given: dict[str, Any], target: str) -> list[dict[str, Any]]:
    """Return how much each variable not yet observed would tell of the target, in nats; the most first.

    It is their mutual information given what is known. A continuous variable is looked at in eight equally
    probable parts, which makes it an approximation; so it is where the target is continuous.
    """
    prior = _posterior(asked, given, target)
    out = []
    for variable in asked.variables:
        if variable.name == target or variable.name in given or variable.hidden:
            continue
        exact = variable.discrete and "p" in prior
        out.append(
            {
                "name": variable.name,
                "nats": max(_gain(asked, given, target, variable, prior), 0.0),
                "exact": exact,
            }
        )
    return sorted(out, key=lambda one: -one["nats"])


def _gain(asked: Asked, given: dict[str, Any], target: str, variable: lac.Variable, prior: Any) -> float:
    """Return how far the target's posterior is expected to move once a variable is seen."""
    now = _posterior(asked, given, variable.name)
    if "p" in now:
        cases = [(p, state) for p, state in zip(now["p"], variable.states, strict=True) if p > 0]
    else:
        answer = lac.NormalMixture(variable, *np.array(now["normals"]).T)
        cases = [(1 / len(LEVELS), float(answer.quantile(level))) for level in LEVELS]
    return float(
        sum(
            weight * _divergence(_posterior(asked, {**given, variable.name: case}, target), prior)
            for weight, case in cases
        )
    )


def _posterior(asked: Asked, given: dict[str, Any], target: str) -> Any:
    places = [variable.name for variable in asked.variables]
    return asked.ask(given)["marginals"][places.index(target)]


def _short(answer: Any) -> Any:
    return {"p": answer["p"]} if "p" in answer else {"mean": answer["mean"], "sd": answer["sd"]}


def _grids(a: Any, b: Any) -> tuple[Any, Any, float]:
    """Return two densities on a common grid, and its step."""
    sds = [max(sd, 1e-12) for _, _, sd in (*a["normals"], *b["normals"])]
    means = [mean for _, mean, _ in (*a["normals"], *b["normals"])]
    low = min(m - 5 * s for m, s in zip(means, sds, strict=True))
    high = max(m + 5 * s for m, s in zip(means, sds, strict=True))
    x = np.linspace(low, high, POINTS)
    step = float(x[1] - x[0])
    return _density(a, x, step), _density(b, x, step), step


def _density(answer: Any, x: Any, step: float) -> Any:
    weights, means, sds = np.array(answer["normals"]).T[:, :, None]
    sds = np.maximum(sds, step)  # what is known exactly is as narrow as the grid
    return (weights * np.exp(-0.5 * ((x - means) / sds) ** 2) / (sds * np.sqrt(2 * np.pi))).sum(axis=0)


def _apart(a: Any, b: Any) -> float:
    """Return the total variation between two posteriors of one variable."""
    if "p" in a:
        return float(np.abs(np.array(a["p"]) - np.array(b["p"])).sum() / 2)
    p, q, step = _grids(a, b)
    return float(min(np.abs(p - q).sum() * step / 2, 1.0))


def _divergence(p: Any, q: Any) -> float:
    """Return KL(p ‖ q) of two posteriors of one variable."""
    if "p" in p:
        ps, qs, step = np.array(p["p"]), np.array(q["p"]), 1.0
    else:
        ps, qs, step = _grids(p, q)
    used = (ps > 0) & (qs > 0)
    return float((ps[used] * np.log(ps[used] / qs[used])).sum() * step)


def strengths(asked: Asked, component: int) -> list[dict[str, Any]]:
    """Return what each arc tells of its head given the head's other parents, in nats.

    It is I(head; tail | other parents) under the model, exactly where all are discrete; otherwise a mean over
    rows that are drawn. Families of more than `MOST_CELLS` are left out.
    """
    part, out = asked.parts[component], []
    rows = None if all(v.discrete for v in part.dag.schema) else part.sample(DRAWN, rng=0)
    for name, parents in zip(part.dag.names, part.dag.parents, strict=True):
        members = (*parents, name)
        sizes = [part.dag.schema[m].size for m in members]
        if not parents or np.prod(sizes, dtype=np.float64) > MOST_CELLS:
            continue
        if all(sizes):
            joint = part.query(*members).probabilities
            nats = [_conditional(joint, axis) for axis in range(len(parents))]
        else:
            nats = _drawn(part, rows, members)
        out += [
            {"tail": tail, "head": name, "nats": max(n, 0.0)} for tail, n in zip(parents, nats, strict=True)
        ]
    return out


def _drawn(part: lac.Network, rows: Any, members: tuple[str, ...]) -> list[float]:
    """Return I(last; each other | all others) as means over rows, of log-densities with all else missing."""
    seen = replace(part, dag=replace(part.dag, schema=part.dag.schema.reveal()))

    def log_density(names: tuple[str, ...]) -> Any:
        if not names:
            return 0.0
        columns = {v.name: rows[v.name] if v.name in names else [None] * len(rows) for v in rows.schema}
        return seen.log_probability(lac.read(columns, schema=seen.dag.schema))

    head, parents = members[-1], members[:-1]
    whole = log_density(members) - log_density(parents)
    rest = [tuple(p for p in parents if p != tail) for tail in parents]
    return [float(np.mean(whole - log_density((*r, head)) + log_density(r))) for r in rest]


def _conditional(joint: Any, axis: int) -> float:
    """Return I(last axis; axis | all others) of a joint distribution."""

    def entropy(p: Any) -> float:
        used = p[p > 0]
        return float(-(used * np.log(used)).sum())

    last = joint.ndim - 1
    return (
        entropy(joint.sum(axis=axis))
        + entropy(joint.sum(axis=last))
        - entropy(joint)
        - entropy(joint.sum(axis=(axis, last)))
    )


def why(asked: Asked, given: dict[str, Any], target: str) -> dict[str, Any]:
    """Return to which state of a hidden variable or component a row belongs, and what each of its cells says.

    Of each cell: by how much the log-odds of the most probable state against the runner-up fall if the cell
    is left out.
    """
    whole = _posterior(asked, given, target)["p"]
    order = np.argsort(-np.array(whole), kind="stable")
    best, other = int(order[0]), int(order[1]) if len(order) > 1 else int(order[0])
    odds = _odds(whole, best, other)
    cells: list[dict[str, Any]] = []
    for name in given:
        rest = {n: f for n, f in given.items() if n != name}
        without = _posterior(asked, rest, target)["p"]
        cells.append({"name": name, "nats": odds - _odds(without, best, other)})
    cells.sort(key=lambda cell: -abs(cell["nats"]))
    return {"target": target, "p": whole, "best": best, "other": other, "odds": odds, "cells": cells}


def _odds(p: Any, best: int, other: int) -> float:
    tiny = 1e-300
    return float(np.log(max(p[best], tiny)) - np.log(max(p[other], tiny)))
