"""A classifier that minds no holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils._missing import is_pandas_na, is_scalar_nan
from sklearn.utils.multiclass import check_classification_targets

from lacunary.data.schema import Label, Variable
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import ParameterError, SchemaError
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from lacunary.model.make import States
from lacunary.sklearn.model import Array, Fitted, graph_of
from lacunary.structure.search import search

__all__ = ["BayesianNetworkModel"]


@dataclass(eq=False, repr=False)
class BayesianNetworkModel(ClassifierMixin, Fitted):  # type: ignore[misc]
    """A classifier: a Bayesian network over the columns and the target, asked for the target given the rest.

    Parameters
    ----------
    graph
        Arrows such as "y -> x0 x1; x0 -> x1", by the names of columns and target, or a graph over them. By
        default naive Bayes: the target is the one parent of every column. "tan": beside it every column
        may have one other column as a parent, the best ones (Friedman, Geiger and Goldszmidt 1997);
        "search": the best graph that `lacunary.search` finds.
    target
        What the target is called in the graph.
    hidden
        Variables of the graph that are never observed, by name with their states.
    method, prior, starts, select, kinds, handle_unknown, max_iter, tol, random_state
        As for `LatentClassModel`.

    Attributes
    ----------
    classes_
        The labels of the target. Rows whose label is None or NaN are learned from, too.
    network_, fit_, n_iter_, converged_
        As for `LatentClassModel`.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunary.sklearn import BayesianNetworkModel
    >>> X = np.array([[0, 0], [0, np.nan], [1, 1], [np.nan, 1]])
    >>> BayesianNetworkModel("y -> x0 x1; x0 -> x1").fit(X, ["no", "no", "yes", "yes"]).predict([[1, np.nan]])
    array(['yes'], dtype='<U3')
    """

    graph: str | Dag | None = None
    _: KW_ONLY
    target: str = "y"
    hidden: Mapping[str, States] | None = None

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the network's probabilities."""
        if y is None:
            raise ValueError("BayesianNetworkModel requires y to be passed, but the target y is None")
        table, kept = self._rows(X, sample_weight)
        labels = column_or_1d(y, warn=True)
        check_consistent_length(kept, labels)
        known = kept & ~_missing(labels)
        if not known.any():
            raise ValueError("y has no label: at least one row must have one")
        check_classification_targets(labels[known])
        if self.target in table.schema:
            raise SchemaError(
                f"a column is called {self.target!r} like the target; give another name: target=…"
            )
        self.classes_, found = np.unique(labels[known], return_inverse=True)
        codes = np.full(len(labels), HOLE)
        codes[known] = found
        whole = _with_target(table, self.target, self.classes_.tolist(), codes[kept])
        self._learn(self._graph(whole), whole)
        return self

    def _graph(self, whole: Table) -> Dag:
        """Return the graph that is given, or the one that explains columns and target best."""
        if self.graph not in ("tan", "search"):
            return graph_of(self.graph, whole.schema, self.hidden, above=self.target)
        if self.hidden:
            raise ParameterError("hidden variables need a graph: give arrows, not 'tan' or 'search'")
        columns = [name for name in whole.schema.names if name != self.target]
        tan: dict[str, Any] = {"required": [(self.target, name) for name in columns], "max_parents": 2}
        return search(whole, rng=self._rng(), **(tan if self.graph == "tan" else {})).dag

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every label for every row, given its observed cells; (rows, classes)."""
        table = self._table(X)
        return self._unlabelled().posterior(table, [self.target])[self.target]

    def _unlabelled(self) -> Network:
        """Return the network with the target hidden."""
        known = self.network_.dag
        unseen = Dag(known.schema.hide([self.target]), known.parents, known.tied, known.family)
        return Network(unseen, self.network_.theta)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`; (rows, classes)."""
        with np.errstate(divide="ignore"):  # a label may be impossible
            return np.log(self.predict_proba(X))

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-density of each row's observed cells, whatever its label; (rows,)."""
        table = self._table(X)  # refuses to be asked before it was fitted
        return self._unlabelled().log_probability(table)

    def predict(self, X: Any) -> Array:
        """Return the most probable label of every row; (rows,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def _missing(labels: Array) -> NDArray[np.bool_]:
    """Return which labels are not known: those that are None, NaN or, in pandas, NA."""
    if labels.dtype.kind not in "fO":
        return np.zeros(len(labels), dtype=np.bool_)
    absent = [each is None or is_pandas_na(each) or is_scalar_nan(each) for each in labels.tolist()]
    return np.array(absent, dtype=np.bool_)


def _with_target(table: Table, name: str, labels: Sequence[Label], codes: NDArray[np.int64]) -> Table:
    """Return the table with the target as its last column."""
    schema = table.schema.extend([Variable(name, tuple(labels))])
    wide = np.column_stack([table.codes, codes]).astype(code_dtype(schema.sizes))
    empty = np.full((len(table), 1), np.nan)
    reals = np.column_stack([table.reals, empty]) if table.reals.shape[1] else table.reals
    return replace(table, schema=schema, codes=wide, reals=reals)
