"""Which engine the components of a mixture need."""

from __future__ import annotations

from typing import Any

from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.mixture.component import Engine
from lacunary.mixture.discrete import Discrete
from lacunary.mixture.gaussian import Gaussian
from lacunary.mixture.mixed import Mixed
from lacunary.mixture.sharing import Sharing
from lacunary.mixture.tied import Tied
from lacunary.structure.gaussian import Normal
from lacunary.structure.leaves import leaf_names

__all__ = ["engine_of"]

NOTHING = Sharing()


def engine_of(table: Table, prior: Any, sharing: Sharing = NOTHING) -> Engine:
    """Return the engine for the kinds of the table's variables, and for what components share."""
    discrete = [variable.discrete for variable in table.schema]
    leaves = leaf_names(table.schema)
    if sharing.parameters and (any(discrete) or table.schema.hidden or leaves):
        raise ParameterError(
            "volume, shape and orientation are of continuous variables without hidden ones; "
            "share 'structure' and 'size' alone"
        )
    if all(discrete):
        if isinstance(prior, Normal) or not (prior is None or callable(prior)):
            raise ParameterError(f"discrete components take a prior such as bdeu(1), not {prior!r}")
        return Discrete(table, prior)
    if any(discrete) or table.schema.hidden or leaves:
        return Mixed(table, prior)
    if not isinstance(prior, Normal | None):
        raise ParameterError(f"continuous components take a NormalWishart prior, not {prior!r}")
    return Tied(table, sharing, prior) if sharing.parameters else Gaussian(table, prior)
