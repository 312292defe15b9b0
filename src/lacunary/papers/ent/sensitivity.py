"""How ENT's comparison depends on starts and stopping, and whether climbs end at the same maximum."""

from __future__ import annotations

from typing import Any

import numpy as np

import lacunary as lac
from lacunary.papers.ent.experiment import METHODS, STARTS, chosen, climb, distances, draw, starting_points

__all__ = ["STOPS", "sensitivity_block"]

STOPS = ("1e-3, ten iterations", "1e-3", "1e-4", "1e-5", "1e-8")
SAME = 1e-3
"""Nats within which two climbs to the end have reached the same score."""


def sensitivity_block(
    network: str, rows: int, missing: float, starts: str, first: int, count: int
) -> dict[str, Any]:
    """Do some experiments of a setting, each stopped at every rule; KL of the joint, by rule.

    The first two rules begin at the starts; each later one goes on where the one before stopped, the last
    with acceleration. ``end`` has, of every experiment climbed to the end, the share of starts at the highest
    score, and how far (KL) the farthest of *these* is from the best.
    """
    joint: dict[str, list[list[float]]] = {stop: [] for stop in STOPS}
    end = []
    for number in range(first, first + count):
        truth, table, graph, rng = draw(network, rows, missing, number)
        points = starting_points(graph, starts, STARTS, rng)
        found = climb(graph, table, points, iterations=10)
        for stop in STOPS:
            if stop == "1e-3":
                found = climb(graph, table, points)
            elif stop != STOPS[0]:
                relative = float(stop)
                found = climb(
                    graph, table, found, relative=relative, iterations=5000, accelerate=relative < 1e-6
                )
            joint[stop].append(distances(truth, [chosen(found, table, method) for method in METHODS]))
        end.append(_end(found))
    return {"joint": joint, "end": end}


def _end(found: lac.Fit) -> list[float]:
    """Return the share of starts that reached the highest score, and the KL of the farthest of them."""
    top = found.scores >= found.scores.max() - SAME
    far = max(lac.kl(found.network, found.starts[i].network) for i in np.flatnonzero(top))
    return [float(top.mean()), float(far)]
