"""Expected statistics of any family: exact for rows that can be filled in few ways, of others drawn.

Rows with few ways to fill their discrete holes are spread out over all of them (`lacunary.infer.spread`); of
rows with many, completions are drawn island by island (`lacunary.infer.chains`), independently of each other
where an island is small, and spread in their place.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.errors import TooWideError
from lacunary.exactness import approximate, exact_only
from lacunary.infer.chains import Chains, Effort
from lacunary.infer.engine import Distinct
from lacunary.infer.spread import Spread, Triples
from lacunary.model.dag import Dag

__all__ = ["DRAWS", "FilledRows", "drawn_triples"]

Array = NDArray[np.float64]

WAYS = 2**18
"""Ways to fill all rows, each by itself, that are gone through one by one."""

FEW = 64
"""Ways to fill one row that are gone through where those of all are too many."""

DRAWS = 32
"""Completions that are drawn of each other row."""


class FilledRows:
    """A table's rows: those that are spread, and those of which completions are drawn.

    Parameters
    ----------
    table
        The rows; continuous columns best standardised.
    exact
        Whether all rows must be spread; `TooWideError` where they do not fit into memory.
    """

    def __init__(self, table: Table, exact: bool | None = None) -> None:
        exact = exact_only() if exact is None else exact
        sizes = np.array(table.schema.sizes, dtype=np.float64)
        ways = np.where((table.codes == HOLE) & (sizes > 0), sizes, 1.0).prod(axis=1)
        self.many = np.flatnonzero(ways > FEW) if not exact and _too_many(table, ways) else np.empty(0, int)
        self.few = np.setdiff1d(np.arange(len(table)), self.many)
        self.spread = Spread(table.take(self.few) if len(self.many) else table)
        self.wide = table.take(self.many)

    def __len__(self) -> int:
        return len(self.few) + len(self.many)

    def triples(self, dag: Dag, theta: Array, weights: Array) -> Triples:
        """Return the expected statistics of the complete model, the table's rows weighted; (rows,)."""
        found = self.spread.under(dag, theta).triples(weights[self.few])
        if not len(self.many):
            return found
        rows = Distinct(self.wide.codes, self.wide.reals, weights[self.many])
        return found + drawn_triples(Chains(dag, rows, Effort()), theta)


def drawn_triples(chains: Chains, theta: Array) -> Triples:
    """Return the expected statistics of the complete model, from draws of the rows' discrete holes."""
    (_, reals, weights), schema = chains.rows, chains.dag.schema.reveal()
    drawn = chains.drawn(theta, DRAWS)[0].reshape(-1, len(schema))
    full = Table(schema, drawn, np.repeat(reals, DRAWS, axis=0), np.repeat(weights / DRAWS, DRAWS))
    return Spread(full).under(chains.dag, theta).triples()


def _too_many(table: Table, ways: Array) -> bool:
    """Tell whether rows have too many ways to be gone through, and say so."""
    total = ways[table.distinct.first].sum()
    if total <= WAYS:
        return False
    why = f"the rows' missing states can be filled in about {total:.3g} ways, more than {WAYS:,}"
    approximate("families are scored on drawn completions of some rows", TooWideError(why), exact=False)
    return True
