"""A hidden class above all columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from lacunary.data.table import Table
from lacunary.model.dag import Dag
from lacunary.model.make import naive_bayes
from lacunary.sklearn.model import Array, Fitted, Groups, free_name

__all__ = ["LatentClassModel"]


@dataclass(eq=False, repr=False)
class LatentClassModel(Groups, Fitted):
    """A hidden class above all columns, which are independent given it.

    Parameters
    ----------
    n_classes
        How many classes.
    method, prior, starts, select
        As for `lacunary.fit`.
    kinds
        "discrete" or "continuous", for all columns or by name; decided by `lacunary.read` unless given.
    handle_unknown
        What becomes of a value that ``fit`` never saw: "error", or "hole", as if it were missing.
    max_iter, tol
        The most sweeps, and the relative change of the objective at which they stop.
    random_state
        Seed of the starts.
    verbose
        Whether to print how far learning is, every two seconds.

    Attributes
    ----------
    network_, fit_
        The fitted network, and all that `lacunary.fit` found; after ``partial_fit``, in the first batch.
    n_iter_, converged_
        Sweeps over the data, and whether they were enough; after ``partial_fit`` the number of batches.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunary.sklearn import LatentClassModel
    >>> X = np.array([[0, 0, 0], [0, 0, np.nan], [1, 1, 1], [1, np.nan, 1]])
    >>> groups = LatentClassModel(n_classes=2).fit_predict(X)
    >>> bool(groups[0] == groups[1] != groups[2] == groups[3])
    True
    """

    n_classes: int = 2

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the classes."""
        table, _ = self._rows(X, sample_weight)
        self._learn(self._graph(table), table)
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows, by online EM; see `lacunary.Online`.

        The first batch, which is fitted whole, decides about columns and states. What ``fit`` learned is
        forgotten.
        """
        if hasattr(self, "stream_"):
            return self._continue(self._more(X, sample_weight)[0])
        table, _ = self._rows(X, sample_weight)
        return self._begin(self._graph(table), table)

    def _graph(self, table: Table) -> Dag:
        return naive_bayes(table.schema, free_name("class", table.schema), self.n_classes)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class for every row; (rows, classes)."""
        table = self._table(X)
        name = self.network_.dag.schema.hidden[0]
        return self.network_.posterior(table, [name])[name]

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-probability of each row's observed cells; (rows,)."""
        table = self._table(X)  # refuses to be asked before it was fitted
        return self.network_.log_probability(table)

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Return rows drawn from the model, and their classes."""
        check_is_fitted(self)
        drawn = self.network_.sample(n_samples, np.random.default_rng(self._rng()))
        columns = drawn.to_frame("dict")
        classes = np.array(columns.pop(self.network_.dag.schema.hidden[0]))
        return np.column_stack([np.array(column) for column in columns.values()]), classes
