"""How many dimensions a model is charged for."""

from __future__ import annotations

from typing import Literal

from lacunary.errors import ParameterError
from lacunary.model.dag import Dag

__all__ = ["Charge", "dimensions"]

Charge = Literal["parameters", "effective"]


def dimensions(dag: Dag, charge: Charge) -> int:
    """Return the number of free parameters, or the rank of the map from them to what can be observed."""
    if charge == "parameters":
        return dag.layout.free
    if charge == "effective":
        from lacunary.score.dimension import dimension

        return dimension(dag).rank
    raise ParameterError(f"dimension must be 'parameters' or 'effective', not {charge!r}")
