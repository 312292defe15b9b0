"""How many dimensions a model is charged for."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from lacunary.errors import ParameterError
from lacunary.evidence.problem import At, Problem
from lacunary.rank.dimension import dimension

__all__ = ["Charge", "check_charge", "dimensions", "price"]

Charge = Literal["parameters", "generic", "data", "at estimate", "effective"]
"""All parameters; the rank almost everywhere (or "effective"); of what rows show together; at a point."""


def price(rows: float) -> float:
    """Return what BIC charges for one parameter, (log N)/2 in nats; nothing for less than one row."""
    return 0.5 * math.log(max(rows, 1.0))


def dimensions(problem: Problem, charge: Charge, at: At | None = None) -> int:
    """Return the number of free parameters that are learned, or the rank of the map to what can be observed.

    Nothing is charged for what was fixed. Of a part of the parameters the rank is not known. "data" counts
    what the rows can show, "at estimate" the rank at a point, "map" or "ml".
    """
    if charge == "parameters":
        return problem.dag.free - _given(problem)
    check_charge(problem, charge)
    if charge == "at estimate":
        return dimension(problem.dag, at=problem.network(at)).rank
    return dimension(problem.dag, data=problem.table if charge == "data" else None).rank


def check_charge(problem: Problem, charge: Charge) -> None:
    """Refuse charges that are not known, or not of this problem."""
    if charge not in ("parameters", "generic", "effective", "data", "at estimate"):
        raise ParameterError(
            f"dimension must be 'parameters', 'generic', 'data' or 'at estimate', not {charge!r}"
        )
    if problem.fixed and charge != "parameters":
        raise ParameterError(
            f"dimension={charge!r} is of models all of whose parameters are learned, and "
            f"{', '.join(problem.fixed)} was fixed; use dimension='parameters'"
        )


def _given(problem: Problem) -> int:
    """Return how many free parameters are given."""
    dag, known = problem.dag, problem.known
    if known is None:
        return 0
    blocks = (*dag.layout.blocks, *dag.layout.numeric)
    return sum(dag.families[i].free for i in blocks if not np.isnan(known[dag.layout.start[i]]))
