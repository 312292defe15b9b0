"""A classifier that minds no holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from lacunary.data.schema import Variable
from lacunary.data.table import Table
from lacunary.errors import StateError
from lacunary.model.dag import Dag
from lacunary.sklearn.model import Array
from lacunary.sklearn.supervised import Supervised

__all__ = ["BayesianNetworkModel"]


@dataclass(eq=False, repr=False)
class BayesianNetworkModel(ClassifierMixin, Supervised):  # type: ignore[misc]
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
    method, prior, starts, select, kinds, handle_unknown, max_iter, tol, random_state, verbose
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

    def partial_fit(
        self, X: Any, y: Any, classes: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn from one more batch of rows, by online EM; see `lacunary.Online`.

        The first batch decides about columns, states and, if it is learned, the graph; labels that it lacks
        are declared by ``classes``. What ``fit`` learned is forgotten.
        """
        if hasattr(self, "stream_"):
            return self._continue(self._next(X, y, sample_weight))
        whole = self._first(X, y, sample_weight, classes)
        return self._begin(self._graph(whole), whole)

    def _variable(self, known: Array, declared: ArrayLike | None) -> Variable:
        check_classification_targets(known)
        self.classes_ = np.unique(known if declared is None else np.asarray(declared))
        return Variable(self.target, tuple(self.classes_.tolist()))

    def _coded(self, known: Array) -> Array:
        places = np.searchsorted(self.classes_, known).clip(max=len(self.classes_) - 1)
        if strange := known[self.classes_[places] != known].tolist():
            raise StateError(
                f"y has {strange[0]!r}, which is none of its labels; "
                "declare all in the first call: partial_fit(X, y, classes=[…])"
            )
        return np.asarray(places)

    def _graph(self, whole: Table) -> Dag:
        if self.graph != "tan":
            return super()._graph(whole)
        columns = [name for name in whole.schema.names if name != self.target]
        return self._searched(whole, required=[(self.target, name) for name in columns], max_parents=2)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every label for every row, given its observed cells; (rows, classes)."""
        table = self._table(X)
        return self._unlabelled().posterior(table, [self.target])[self.target]

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`; (rows, classes)."""
        with np.errstate(divide="ignore"):  # a label may be impossible
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable label of every row; (rows,)."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])
