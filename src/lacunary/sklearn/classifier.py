"""A classifier that minds no holes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from lacunary.data.schema import Label, Variable
from lacunary.data.table import Table, code_dtype
from lacunary.errors import SchemaError
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from lacunary.model.make import States
from lacunary.sklearn.model import Array, Fitted, graph_of

__all__ = ["BayesianNetworkModel"]


@dataclass(eq=False, repr=False)
class BayesianNetworkModel(ClassifierMixin, Fitted):  # type: ignore[misc]
    """A classifier: a Bayesian network over the columns and the target, asked for the target given the rest.

    Parameters
    ----------
    graph
        Arrows such as "y -> x0 x1; x0 -> x1", by the names of columns and target, or a graph over them. By
        default naive Bayes: the target is the one parent of every column.
    target
        What the target is called in the graph.
    hidden
        Variables of the graph that are never observed, by name with their states.
    method, prior, starts, select, kinds, handle_unknown, max_iter, tol, random_state
        As for `LatentClassModel`.

    Attributes
    ----------
    classes_
        The labels of the target.
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
        check_classification_targets(labels)
        check_consistent_length(kept, labels)
        if self.target in table.schema:
            raise SchemaError(
                f"a column is called {self.target!r} like the target; give another name: target=…"
            )
        self.classes_, codes = np.unique(labels[kept], return_inverse=True)
        whole = _with_target(table, self.target, self.classes_.tolist(), codes)
        graph = graph_of(self.graph, whole.schema, self.hidden, above=self.target)
        self._learn(graph, whole)
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every label for every row, given its observed cells; (rows, classes)."""
        table = self._table(X)
        known = self.network_.dag
        unseen = Dag(known.schema.hide([self.target]), known.parents, known.tied, known.family)
        asked = Network(unseen, self.network_.theta)
        return asked.posterior(table, [self.target])[self.target]

    def predict(self, X: Any) -> Array:
        """Return the most probable label of every row; (rows,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def _with_target(table: Table, name: str, labels: Sequence[Label], codes: NDArray[np.int64]) -> Table:
    """Return the table with the target as its last column."""
    schema = table.schema.extend([Variable(name, tuple(labels))])
    wide = np.column_stack([table.codes, codes]).astype(code_dtype(schema.sizes))
    empty = np.full((len(table), 1), np.nan)
    reals = np.column_stack([table.reals, empty]) if table.reals.shape[1] else table.reals
    return replace(table, schema=schema, codes=wide, reals=reals)
