"""Mixtures of networks, each with a graph of its own, and a uniform component for what fits none of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacunary.budget import budgeted
from lacunary.data.schema import Label, Schema
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import ImpossibleRowError, ParameterError, SchemaError
from lacunary.exactness import announced
from lacunary.infer.answers import as_table, check_rows_drawn
from lacunary.infer.mixture_answers import MixtureAnswers
from lacunary.infer.network import Network
from lacunary.infer.parallel import in_runs
from lacunary.kernels.shares import ROWS, share_out
from lacunary.maths import special
from lacunary.maths.drawn import DrawnNumber, shares_with_error, sum_with_error, with_errors_of
from lacunary.registry import borrow

__all__ = ["Mixture", "Noise", "shared_out"]

Array = NDArray[np.float64]

SECONDS = 1.5e-9
"""What it takes to share a row out to one component; the row itself takes three times as long."""


@dataclass(frozen=True, eq=False)
class Noise:
    """Independent uniform variables: continuous ones between bounds, discrete ones over their states.

    Attributes
    ----------
    schema
        The variables.
    low, high
        Bounds of each continuous variable; not looked at where a variable is discrete; (variables,).

    Examples
    --------
    >>> import lacunary as lac
    >>> import numpy as np
    >>> schema = lac.dag("x", kinds="continuous").schema
    >>> noise = lac.Noise(schema, low=[0.0], high=[10.0])
    >>> np.exp(noise.log_density(lac.read({"x": [3.5, 7.25]}, kinds={"x": "continuous"}))).round(3)
    array([0.1, 0.1])
    """

    schema: Schema
    low: Array
    high: Array

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            array = np.broadcast_to(np.asarray(getattr(self, name), dtype=np.float64), (len(self.schema),))
            object.__setattr__(self, name, array.copy())
        for variable, low, high in zip(self.schema, self.low, self.high, strict=True):
            if not variable.discrete and not -np.inf < low < high < np.inf:
                raise ParameterError(f"{variable.name}: noise needs bounds low < high, not {low} and {high}")

    def log_density(self, table: Table) -> Array:
        """Return the log-density of each row's observed cells; −∞ beyond the bounds; (rows,)."""
        seen, discrete = ~table.holes, np.array([v.discrete for v in self.schema], dtype=bool)
        widths = np.where(discrete, 1.0, self.high - self.low)
        widths[discrete] = [v.size for v in self.schema if v.discrete]
        out = np.asarray(seen @ -np.log(widths), dtype=np.float64)
        if not discrete.all():
            reals = table.reals[:, ~discrete]
            outside = (reals < self.low[~discrete]) | (reals > self.high[~discrete])
            out[outside.any(axis=1)] = -np.inf
        return out

    def draw(self, rows: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Array]:
        """Return codes and reals of rows drawn; (rows, variables) each."""
        codes = np.full((rows, len(self.schema)), HOLE, dtype=np.int64)
        reals = np.full((rows, len(self.schema)), np.nan)
        for i, variable in enumerate(self.schema):
            if variable.discrete:
                codes[:, i] = rng.integers(variable.size, size=rows)
            else:
                reals[:, i] = rng.uniform(self.low[i], self.high[i], size=rows)
        return codes, reals


@dataclass(frozen=True, eq=False)
class Mixture(MixtureAnswers):
    """Networks over the same variables, each with its own graph, and how often each of them speaks.

    p(row) = Σ_c weight_c · p(row | component c), and the noise component last if there is one.

    Attributes
    ----------
    weights
        They sum to one; that of the noise stands last; (components,) or (components + 1,).
    components
        The networks, all over the same variables in the same order.
    noise
        A uniform component, or none.

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("x", kinds="continuous")
    >>> one, two = (lac.Network.from_tables(graph, {"x": lac.Regression(mean)}) for mean in (-2.0, 2.0))
    >>> both = lac.Mixture([0.5, 0.5], (one, two))
    >>> both.responsibilities(lac.read({"x": [-2.0, 0.0]}, kinds={"x": "continuous"}))[1]
    array([0.5, 0.5])
    """

    weights: Array
    components: tuple[Network, ...]
    noise: Noise | None = None

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)
        many = len(self.components) + (self.noise is not None)
        if weights.shape != (many,):
            raise ParameterError(f"{many} components need as many weights, not {weights.shape}")
        if not np.all(weights >= 0) or abs(weights.sum() - 1.0) > 1e-9:
            raise ParameterError(
                f"weights must not be negative and sum to one, but sum to {weights.sum():.9g}"
            )
        if not self.components:
            raise ParameterError("a mixture needs at least one component beside the noise")
        if any(component.dag.schema != self.schema for component in self.components):
            raise SchemaError("the components must have the same variables, in the same order")
        weights.flags.writeable = False
        object.__setattr__(self, "weights", weights)

    def __repr__(self) -> str:
        parts = f"{len(self.components)} components" + (" and noise" if self.noise is not None else "")
        return f"<Mixture: {parts}, {len(self.schema)} variables, {self.dimension} free parameters>"

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    @property
    def schema(self) -> Schema:
        """The variables."""
        return self.components[0].dag.schema

    @property
    def dimension(self) -> int:
        """Number of free parameters: of the components, and of the weights."""
        return sum(c.dag.layout.free for c in self.components) + len(self.weights) - 1

    def log_densities(self, table: Any) -> Array:
        """Return log weight + log p(observed cells | component) for each row; (rows, components)."""
        rows = as_table(table, self.schema)
        logs = [component.log_probability(rows) for component in self.components]
        logs += [self.noise.log_density(rows)] if self.noise is not None else []
        with np.errstate(divide="ignore"):
            found = np.asarray(np.stack(logs, axis=1) + np.log(self.weights))
        return with_errors_of(found, logs)

    @announced
    def log_probability(self, table: Any, *, exact: bool = False) -> Array:
        """Return the log-density of each row's observed cells, in nats; (rows,).

        Where exact inference does not fit it is estimated by Gibbs chains and has an ``error``, which an
        `ApproximationWarning` announces; with ``exact=True`` it is refused with a `TooWideError`.
        """
        logs = self.log_densities(table)
        found = np.asarray(special.logsumexp(np.asarray(logs), axis=1))
        return sum_with_error(found, logs, found[:, None])

    @announced
    def log_likelihood(self, table: Any, *, exact: bool = False) -> float:
        """Return Σ over rows of weight · log-density of the observed cells, in nats.

        It may have an ``error``, as `log_probability` may, taken for independent in rows that differ.
        """
        rows = as_table(table, self.schema)
        logs = self.log_probability(rows)
        found, error = float(rows.weights @ np.asarray(logs)), getattr(logs, "error", None)
        if error is None:
            return found
        alike = rows.distinct  # what was drawn of equal rows is the same
        return DrawnNumber(found, float(np.sqrt(alike.weights**2 @ error[alike.first] ** 2)))

    @announced
    def responsibilities(self, table: Any, *, exact: bool = False) -> Array:
        """Return the probability that each row came from each component; (rows, components).

        They may have an ``error``, as `log_probability` may.
        """
        logs = self.log_densities(table)
        shares, log = shared_out(logs)
        if np.any(np.isneginf(log)):
            row = int(np.argmin(log))
            raise ImpossibleRowError(f"row {row + 1} has probability zero under every component")
        return shares_with_error(shares, logs)

    @budgeted
    def sample(
        self, rows: int, rng: int | np.random.Generator | None = None, component: int | None = None
    ) -> Table:
        """Return rows drawn from the mixture, or from one component (the noise is the last)."""
        random = np.random.default_rng(rng)
        many = len(self.weights)
        if component is not None and not 0 <= component < many:
            raise ParameterError(f"there are components 0 to {many - 1}, not {component}")
        check_rows_drawn(rows, len(self.schema))
        came = (
            random.choice(many, size=rows, p=self.weights) if component is None else np.full(rows, component)
        )
        schema = self.schema.reveal()
        codes = np.full((rows, len(schema)), HOLE, dtype=code_dtype(schema.sizes))
        reals = np.full((rows, len(schema) if not all(v.discrete for v in schema) else 0), np.nan)
        for c in np.unique(came):
            where = np.flatnonzero(came == c)
            if c < len(self.components):
                drawn = self.components[c].sample(len(where), random)
                codes[where], values = drawn.codes, drawn.reals
            else:
                assert self.noise is not None
                codes[where], values = self.noise.draw(len(where), random)
            reals[where] = values[:, : reals.shape[1]]
        return Table(schema, codes, reals)

    def weighed(self, given: Mapping[str, Label]) -> Array:
        """Return how probable each component is given the values of some variables; (components,)."""
        columns = {name: [given.get(name)] for name in self.schema.names}
        return np.asarray(self.responsibilities(as_table(columns, self.schema.reveal()))[0])


def shared_out(log_densities: ArrayLike, added: Array | None = None) -> tuple[Array, Array]:
    """Return each component's share in each row, and the rows' log-densities; (rows, components), (rows,).

    What is ``added`` to each component's log-densities is (components,). A row of density zero everywhere is
    shared evenly.
    """
    logs = np.ascontiguousarray(
        np.asarray(log_densities, dtype=np.float64).T
    )  # components are few, rows many
    many, rows = logs.shape
    shares, told = np.empty((many, rows)), np.empty(rows)
    plus = np.zeros(many) if added is None else added

    def some(run: range) -> None:
        share_out(logs, plus, run.start * ROWS, min(run.stop * ROWS, rows), np.empty(3 * ROWS), shares, told)

    in_runs(some, -(-rows // ROWS), seconds=rows * (many + 3) * SECONDS)
    return shares.T, told
