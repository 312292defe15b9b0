"""Which engine the components of a mixture need."""

from __future__ import annotations

from lacunary.data.table import Table
from lacunary.errors import SchemaError
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.mixture.component import Engine
from lacunary.mixture.gaussian import Gaussian

__all__ = ["engine_of"]


def engine_of(table: Table, prior: NormalWishart | None) -> Engine:
    """Return the engine for the kinds of the table's variables."""
    for variable in table.schema:
        if variable.discrete:
            raise SchemaError(f"{variable.name} is discrete; mixtures are of continuous variables as yet")
    return Gaussian(table, prior)
