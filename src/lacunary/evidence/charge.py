"""How many dimensions a model is charged for."""

from __future__ import annotations

from typing import Literal

from lacunary.errors import ParameterError
from lacunary.model.dag import Dag
from lacunary.rank.dimension import dimension

__all__ = ["Charge", "dimensions"]

Charge = Literal["parameters", "effective"]


def dimensions(dag: Dag, charge: Charge) -> int:
    """Return the number of free parameters, or the rank of the map from them to what can be observed."""
    if charge == "parameters":
        return dag.free
    if charge == "effective":
        return dimension(dag).rank
    raise ParameterError(f"dimension must be 'parameters' or 'effective', not {charge!r}")
