"""What the estimators have in common: rows become a table, and a graph is fitted to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from lacunary.data.read import read
from lacunary.data.schema import Kind, Schema, Variable
from lacunary.data.table import HOLE, Table, positions
from lacunary.errors import ParameterError, StateError, TableError
from lacunary.infer.belief import Prior
from lacunary.infer.network import Network
from lacunary.learn.fit import Fit, Method, fit
from lacunary.learn.select import Select
from lacunary.learn.start import Starts
from lacunary.learn.stop import Stop
from lacunary.learn.stream import Stream
from lacunary.model.dag import Dag
from lacunary.model.make import States, dag
from lacunary.sklearn.verbose import Spoken

__all__ = ["Array", "Fitted", "Groups", "Model", "free_name", "graph_of"]

Unknown = Literal["error", "hole"]
Array = NDArray[Any]


@dataclass(eq=False, repr=False, kw_only=True)
class Model(BaseEstimator):  # type: ignore[misc]
    """What the estimators have in common: rows become a table; its fields are its parameters."""

    kinds: Kind | Mapping[str, Kind] | None = None
    handle_unknown: Unknown = "error"
    max_iter: int = 2000
    tol: float = 1e-8
    random_state: Any = 0
    verbose: int = 0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.non_deterministic = False
        return tags

    def _rng(self) -> int | np.random.Generator:
        """Return the seed as `lacunary.fit` takes it: a number means the same there as here."""
        if isinstance(self.random_state, np.random.Generator):
            return self.random_state
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _watch(self) -> Spoken | None:
        """Return what prints how far learning is, if that is wanted."""
        return Spoken(type(self).__name__) if self.verbose else None

    def _rows(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Table, NDArray[np.bool_]]:
        """Return the rows to learn from as a table, and which they are; its variables are kept."""
        source, names = self._source(X, reset=True)
        kinds = self.kinds
        if isinstance(kinds, Mapping):
            kinds = {name: kind for name, kind in kinds.items() if name in names}
        table, kept = _counted(read(source, kinds=kinds), sample_weight)
        self.schema_: Schema = table.schema
        return table, kept

    def _more(self, X: Any, sample_weight: ArrayLike | None) -> tuple[Table, NDArray[np.bool_]]:
        """Return more rows to learn from, over the variables there are, and which they are."""
        table = self._table(X)
        if sample_weight is None:
            return table, np.ones(len(table), dtype=np.bool_)
        weights = _weights(sample_weight, len(table))
        kept = weights > 0
        return replace(table.take(kept), weights=weights[kept]), kept

    def _table(self, X: Any) -> Table:
        """Return rows as a table over the variables that were learned from."""
        check_is_fitted(self)
        source = self._known(*self._source(X, reset=False))
        try:
            return read(source, schema=self.schema_)
        except (StateError, TableError) as error:  # what read advises is no argument here
            said = str(error).replace("the declared states", "the states that fit saw,")
            advice = "handle_unknown='hole' takes such values as missing"
            raise type(error)(said.replace("declare it, or name it in holes=…", advice)) from None

    def _source(self, X: Any, *, reset: bool) -> tuple[Any, list[str]]:
        """Return rows as `lacunary.read` takes them, checked as scikit-learn does, and their names."""
        if hasattr(X, "columns"):  # a frame: the kinds of its columns would be lost in an array
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X, [str(name) for name in X.columns]
        checked = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        source = {f"x{place}": column for place, column in enumerate(np.asarray(checked).T)}
        return source, list(source)

    def _known(self, source: Any, names: Sequence[str]) -> Any:
        """Return the source, with values that were never seen as holes if that is wanted."""
        if self.handle_unknown not in ("error", "hole"):
            raise ParameterError(f"handle_unknown must be 'error' or 'hole', not {self.handle_unknown!r}")
        if self.handle_unknown == "error":
            return source
        columns = dict(zip(names, source if isinstance(source, Mapping) else source.columns, strict=True))
        return {
            name: _seen(list(source[column]), self.schema_[name])
            for name, column in columns.items()
            if name in self.schema_
        }


@dataclass(eq=False, repr=False, kw_only=True)
class Fitted(Model):
    """What the estimators have in common whose graph is fitted by `lacunary.fit`.

    Attributes
    ----------
    network_
        The fitted network.
    fit_
        All that `lacunary.fit` found; after ``partial_fit``, in the first batch.
    n_iter_, converged_
        Sweeps over the data, and whether they were enough; after ``partial_fit`` the number of batches.
    """

    method: Method = "map"
    prior: Prior | None = None
    starts: int | Starts | None = None
    select: Select = "best"

    def _learn(self, graph: Dag, table: Table) -> None:
        """Fit a graph to a table and keep what was found."""
        if hasattr(self, "stream_"):
            del self.stream_  # batches of before are forgotten
        self.fit_: Fit = fit(graph, table, **self._options())
        self.network_: Network = self.fit_.network
        self.n_iter_ = max(self.fit_.iterations, 1)
        self.converged_ = self.fit_.converged

    def _begin(self, graph: Dag, table: Table) -> Self:
        """Fit a graph to the first batch of rows."""
        self.stream_ = Stream(graph, table, **self._options())
        self.fit_ = self.stream_.first
        return self._streamed()

    def _continue(self, table: Table) -> Self:
        """Learn from one more batch of rows."""
        self.stream_.take(table)
        return self._streamed()

    def _streamed(self) -> Self:
        self.network_ = self.stream_.network
        self.n_iter_, self.converged_ = self.stream_.batches, self.stream_.first.converged
        return self

    def _options(self) -> dict[str, Any]:
        """Return how to fit, as `lacunary.fit` takes it."""
        names = ("method", "prior", "starts", "select")
        stop = Stop(relative=self.tol, iterations=self.max_iter)
        return {
            **{name: getattr(self, name) for name in names},
            "stop": stop,
            "watch": self._watch(),
            "rng": self._rng(),
        }


class Groups(DensityMixin, Model):  # type: ignore[misc]
    """What estimators that put rows into groups have in common; they say how probable each group is."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Array:
        """Find the groups, and return the most probable one of every row."""
        return np.asarray(self.fit(X, y, sample_weight).predict(X))

    def predict(self, X: Any) -> Array:
        """Return the most probable group of every row; (rows,)."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of `score_samples`."""
        return float(self.score_samples(X).mean())


def graph_of(
    graph: str | Dag | None, schema: Schema, hidden: Mapping[str, States] | None, above: str | None = None
) -> Dag:
    """Return the graph over the columns that arrows, a graph or nothing stand for."""
    if graph is None:
        return Dag.from_arcs(schema, [(above, name) for name in schema.names if name != above and above])
    if isinstance(graph, Dag):
        known = schema.extend(v for v in graph.schema if v.hidden and v.name not in schema)
        return Dag.from_arcs(known, graph.arcs)
    return dag(graph, schema=schema, states=dict(hidden or {}), hidden=list(hidden or ()))


def free_name(name: str, schema: Schema) -> str:
    """Return a name that no column has."""
    while name in schema:
        name += "_"
    return name


def _counted(table: Table, sample_weight: ArrayLike | None) -> tuple[Table, NDArray[np.bool_]]:
    """Return the table with weights, and which rows are kept: those of weight zero are as if not there."""
    if sample_weight is None:
        return table, np.ones(len(table), dtype=np.bool_)
    weights = _weights(sample_weight, len(table))
    kept = weights > 0
    if not kept.all():
        kinds: dict[str, Kind] = {v.name: v.kind for v in table.schema}
        table = read(table.take(kept).to_frame("dict"), kinds=kinds)
    return replace(table, weights=weights[kept]), kept


def _weights(given: ArrayLike, rows: int) -> NDArray[np.float64]:
    """Return the rows' weights, checked as scikit-learn does."""
    weights = _check_sample_weight(given, np.empty((rows, 1)), ensure_non_negative=True)
    return np.asarray(weights, dtype=np.float64)


def _seen(values: list[Any], variable: Variable) -> list[Any]:
    """Return a column in which values that are no states are holes."""
    if not variable.discrete:
        return values
    known = positions(values, variable) != HOLE
    return [value if there else None for value, there in zip(values, known, strict=True)]
