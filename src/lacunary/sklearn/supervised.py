"""What estimators with a target have in common: it is one more column of the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils._missing import is_pandas_na, is_scalar_nan

from lacunary.data.schema import Variable
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import ParameterError, SchemaError
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from lacunary.model.make import States
from lacunary.sklearn.model import Array, Fitted, graph_of
from lacunary.structure.search import search

__all__ = ["Supervised"]


@dataclass(eq=False, repr=False)
class Supervised(Fitted):
    """A network over the columns and the target, asked for the target given the rest."""

    graph: str | Dag | None = None
    _: KW_ONLY
    target: str = "y"
    hidden: Mapping[str, States] | None = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the network, also from rows whose target is None or NaN."""
        whole = self._first(X, y, sample_weight)
        self._learn(self._graph(whole), whole)
        return self

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-density of each row's observed cells, whatever its target; (rows,)."""
        table = self._table(X)  # refuses to be asked before it was fitted
        return self._unlabelled().log_probability(table)

    def _variable(self, known: Array, declared: ArrayLike | None) -> Variable:
        """Return the target as a variable, from what is known of it and declared."""
        raise NotImplementedError

    def _coded(self, known: Array) -> Array:
        """Return what is known of the target as a table has it: places of states, or numbers."""
        raise NotImplementedError

    def _first(
        self, X: Any, y: Any, sample_weight: ArrayLike | None, declared: ArrayLike | None = None
    ) -> Table:
        """Return the rows to learn from, and settle columns and target."""
        if y is None:
            raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        table, kept = self._rows(X, sample_weight)
        if self.target in table.schema:
            raise SchemaError(
                f"a column is called {self.target!r} like the target; give another name: target=…"
            )
        told, known = _told(y, kept)
        if not known.any():
            raise ValueError("y has no label: at least one row must have one")
        self.target_ = self._variable(told[known], declared)
        return self._whole(table, told, known)

    def _next(self, X: Any, y: Any, sample_weight: ArrayLike | None) -> Table:
        """Return more rows to learn from, over the same columns and target."""
        table, kept = self._more(X, sample_weight)
        return self._whole(table, *_told(y, kept))

    def _whole(self, table: Table, told: Array, known: NDArray[np.bool_]) -> Table:
        """Return the table with the target as its last column."""
        schema, rows = table.schema.extend([self.target_]), len(table)
        codes, reals = np.full(rows, HOLE), np.full(rows, np.nan)
        (codes if self.target_.discrete else reals)[known] = self._coded(told[known])
        wide = np.column_stack([table.codes, codes]).astype(code_dtype(schema.sizes))
        if not table.reals.shape[1] and self.target_.discrete:
            return replace(table, schema=schema, codes=wide)
        before = table.reals if table.reals.shape[1] else np.full(table.codes.shape, np.nan)
        return replace(table, schema=schema, codes=wide, reals=np.column_stack([before, reals]))

    def _graph(self, whole: Table) -> Dag:
        """Return the graph that is given, or the one that explains columns and target best."""
        if self.graph == "search":
            return self._searched(whole)
        return graph_of(self.graph, whole.schema, self.hidden, above=self.target)

    def _searched(self, whole: Table, **limits: Any) -> Dag:
        """Return the best graph that search finds."""
        if self.hidden:
            raise ParameterError("hidden variables need a graph: give arrows, not a way to learn one")
        return search(whole, watch=self._watch(), rng=self._rng(), **limits).dag

    def _unlabelled(self) -> Network:
        """Return the network with the target hidden."""
        known = self.network_.dag
        unseen = Dag(known.schema.hide([self.target]), known.parents, known.tied, known.family)
        return Network(unseen, self.network_.theta)


def _told(y: Any, kept: NDArray[np.bool_]) -> tuple[Array, NDArray[np.bool_]]:
    """Return the target of the rows that are kept, and where it is known."""
    told = column_or_1d(y, warn=True)
    check_consistent_length(kept, told)
    return told[kept], ~_missing(told[kept])


def _missing(told: Array) -> NDArray[np.bool_]:
    """Return which are not known: those that are None, NaN or, in pandas, NA."""
    if told.dtype.kind not in "fO":
        return np.zeros(len(told), dtype=np.bool_)
    absent = [each is None or is_pandas_na(each) or is_scalar_nan(each) for each in told.tolist()]
    return np.array(absent, dtype=np.bool_)
