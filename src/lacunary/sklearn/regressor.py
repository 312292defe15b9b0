"""A regressor that minds no holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import RegressorMixin
from sklearn.utils import assert_all_finite

from lacunary.data.schema import Variable
from lacunary.model.dag import Dag
from lacunary.sklearn.model import Array
from lacunary.sklearn.supervised import Supervised

__all__ = ["NetworkRegressor"]


@dataclass(eq=False, repr=False)
class NetworkRegressor(RegressorMixin, Supervised):  # type: ignore[misc]
    """A regressor: a Bayesian network over the columns and a number, asked for it given the rest.

    Parameters
    ----------
    graph
        Arrows such as "x0 x1 -> y; x0 -> x1", by the names of columns and target, or a graph over them. By
        default, "search", the best graph that `lacunary.search` finds.
    target
        What the target is called in the graph.
    hidden
        Variables of the graph that are never observed, by name with their states.
    method, prior, starts, select, kinds, handle_unknown, max_iter, tol, random_state, verbose
        As for `LatentClassModel`.

    Attributes
    ----------
    network_, fit_, n_iter_, converged_
        As for `LatentClassModel`.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunary.sklearn import NetworkRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = 3 * X[:, 0] + X[:, 1] + 0.1 * rng.normal(size=200)
    >>> X[::7, 1] = np.nan
    >>> mean, sd = NetworkRegressor().fit(X, y).predict([[1.0, 1.0], [1.0, np.nan]], return_std=True)
    >>> mean.round(0), bool(sd[1] > 5 * sd[0])
    (array([4., 3.]), True)
    """

    graph: str | Dag | None = "search"

    def partial_fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows, by online EM; see `lacunary.Online`.

        The first batch decides about columns, states, units and, if it is learned, the graph. What ``fit``
        learned is forgotten.
        """
        if hasattr(self, "stream_"):
            return self._continue(self._next(X, y, sample_weight))
        whole = self._first(X, y, sample_weight)
        return self._begin(self._graph(whole), whole)

    def _variable(self, known: Array, declared: ArrayLike | None) -> Variable:
        return Variable(self.target, kind="continuous")

    def _coded(self, known: Array) -> Array:
        numbers = known.astype(np.float64)
        assert_all_finite(numbers, input_name="y")
        return numbers

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the mean of the target in every row, given its observed cells; (rows,).

        With ``return_std`` its standard deviation, too.
        """
        table = self._table(X)
        found: Any = self._unlabelled().posterior(table, [self.target])[self.target]  # a NormalMixture
        return (found.mean, found.sd) if return_std else found.mean
