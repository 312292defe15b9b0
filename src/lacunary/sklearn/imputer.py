"""Holes filled in a pipeline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.metaestimators import available_if

from lacunary.data.table import Table
from lacunary.dependency.network import DependencyNetwork, learn_dependencies
from lacunary.errors import ParameterError
from lacunary.infer.ensemble import Ensemble
from lacunary.infer.impute import How, impute
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from lacunary.model.make import States, naive_bayes
from lacunary.sklearn.model import Fitted, free_name, graph_of
from lacunary.sklearn.patch import patched_array, patched_frame
from lacunary.structure.average import average_graphs

__all__ = ["NetworkImputer"]


@dataclass(eq=False, repr=False)
class NetworkImputer(OneToOneFeatureMixin, TransformerMixin, Fitted):  # type: ignore[misc]
    """Fill the holes of a table with what a Bayesian network says about them.

    Parameters
    ----------
    graph
        Arrows over the names of columns, such as "x0 -> x1; x1 -> x2", or a graph. By default none is
        chosen: every column is predicted from all others (`lacunary.learn_dependencies`) or, if a prior is
        given, networks with many graphs are learned and asked together (`lacunary.average_graphs`).
    n_classes
        If there is no graph, how many latent classes there are: a hidden class is then the one parent of
        every column.
    hidden
        Variables of the graph that are never observed, by name with their states.
    how
        "mode": the most probable state of each hole given the row's observed cells; "mean": the same, but
        numbers take their mean; "draw": one joint draw for all holes of a row, as multiple imputation needs.
    method, prior, starts, select, kinds, handle_unknown, max_iter, tol, random_state, verbose
        As for `LatentClassModel`. Without a graph and classes only prior, kinds, handle_unknown and
        random_state are looked at.

    Attributes
    ----------
    model_
        What fills the holes: the network or, without a graph, a `lacunary.DependencyNetwork` or, with a
        prior, a `lacunary.Ensemble`. Then there are no ``network_`` and ``fit_``.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunary.sklearn import NetworkImputer
    >>> X = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [1, np.nan]])
    >>> NetworkImputer("x0 -> x1").fit_transform(X)[-1]
    array([1., 1.])
    """

    graph: str | Dag | None = None
    _: KW_ONLY
    n_classes: int | None = None
    hidden: Mapping[str, States] | None = None
    how: How = "mode"
    model_: Network | Ensemble | DependencyNetwork = field(init=False)

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the networks, or the probabilities of one, from the rows, holes and all."""
        self._learned(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Any:
        """Learn from the rows and return them with their holes filled; see `transform`."""
        table = self._learned(X, sample_weight)
        return self._output(X, table if sample_weight is None else self._table(X))

    def _graphless(self) -> bool:
        return self.graph is None and self.n_classes is None

    @available_if(lambda self: not self._graphless())  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn from one more batch of rows, by online EM; there must be a graph or classes.

        The first batch, which is fitted whole, decides about columns and states. What ``fit`` learned is
        forgotten.
        """
        if hasattr(self, "stream_"):
            self._continue(self._more(X, sample_weight)[0])
        else:
            table, _ = self._rows(X, sample_weight)
            self._begin(self._dag(table), table)
        self.model_ = self.network_
        return self

    def _learned(self, X: Any, sample_weight: ArrayLike | None) -> Table:
        """Learn, and return the rows that were learned from."""
        table, _ = self._rows(X, sample_weight)
        if not self._graphless():
            self._learn(self._dag(table), table)
            self.model_ = self.network_
            return table
        how: Any = {"watch": self._watch(), "rng": self._rng()}
        if self.prior is None:
            self.model_ = learn_dependencies(table, proper=self.how == "draw", **how)
        else:
            self.model_ = average_graphs(table, prior=self.prior, **how)
        self.n_iter_, self.converged_ = 1, True
        return table

    def _dag(self, table: Table) -> Dag:
        """Return the graph that is given, or a class above all columns."""
        if self.graph is not None:
            return graph_of(self.graph, table.schema, self.hidden)
        assert self.n_classes is not None  # else there would be no graph
        return naive_bayes(table.schema, free_name("class", table.schema), self.n_classes)

    def transform(self, X: Any) -> Any:
        """Return the rows with their holes filled and nothing else changed; (rows, columns).

        An array unless ``set_output`` asks for frames, whose columns keep the types of those of a frame.
        """
        return self._output(X, self._table(X))

    def _output(self, X: Any, table: Table) -> Any:
        """Return rows, which were read as a table, with their holes filled."""
        if self.how == "probability":
            raise ParameterError("how must be 'mode', 'mean' or 'draw': probabilities would be other columns")
        rng = np.random.default_rng(self._rng())
        filled = impute(self.model_, table, how=self.how, rng=rng)
        if not hasattr(X, "columns"):
            return patched_array(np.asarray(X), table, filled)
        frame, wanted = patched_frame(X, table, filled), _get_output_config("transform", self)["dense"]
        return frame.to_numpy() if wanted == "default" else getattr(frame, f"to_{wanted}")()
