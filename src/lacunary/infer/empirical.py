"""The Normal–Wishart prior that a table itself suggests: the default where nothing is said of regressions.

It is worth one row whose covariance is that of the residuals, and so leaves correlations alone; an empirical
Bayes prior, as it is taken from the rows it will be weighed with. docs/derivations/default-prior.md says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Schema
from lacunary.data.source import Source
from lacunary.family.registry import family_class
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.infer.prior import NormalWishart
from lacunary.infer.residuals import Grouping, View
from lacunary.infer.scale import Scale
from lacunary.maths import normal_wishart

__all__ = ["Empirical", "empirical_prior", "said_prior", "stated"]

Array = NDArray[np.float64]

ROWS = {"continuous": 0.3, "mixed": 1.0}
"""How many rows the scale is worth, in each component, and in each configuration of discrete variables where
there are such: what did best in simulations (`benchmarks/priors.md`, `benchmarks/populations.md`). With many
configurations each has few rows of its own."""


@dataclass(frozen=True, eq=False)
class Empirical(NormalWishart):
    """A `NormalWishart` about standardised columns that was taken from a table.

    Weight of the means, degrees of freedom and scale are separate: the means are worth ``nu`` rows about the
    columns' means, the scale is ``rows`` rows of the residuals' covariance, and with n + 1 degrees of freedom
    every correlation is as probable as any other.

    Attributes
    ----------
    rows
        How many rows the scale is worth.
    columns, shape
        The continuous columns, and the covariance of their residuals, standardised; (n, n). What is hidden
        has variance one.
    groups, clusters
        The discrete columns within whose configurations residuals were taken, and in how many clusters of
        rows besides, where classes are hidden or components sought.
    """

    rows: float = 1.0
    columns: tuple[str, ...] = ()
    shape: Array = field(default_factory=lambda: np.empty((0, 0)))
    groups: tuple[str, ...] = ()
    clusters: int = 1

    def about(self, names: Sequence[str]) -> normal_wishart.NormalWishart:
        """Return the belief about these variables, standardised; of those it does not know, the plain one."""
        place = {name: k for k, name in enumerate(self.columns)}
        known = [k for k, name in enumerate(names) if name in place]
        there = [place[names[k]] for k in known]
        n, scale = len(names), np.eye(len(names))
        scale[np.ix_(known, known)] = self.shape[np.ix_(there, there)]
        return normal_wishart.NormalWishart(self.nu, np.zeros(n), n + 1.0, self.rows * scale)

    def __str__(self) -> str:
        parts = [*self.groups, *([f"{self.clusters} clusters"] if self.clusters > 1 else [])]
        within = f" within {' and '.join(parts)}" if parts else ""
        worth = f"{self.rows:g} {'row' if self.rows == 1 else 'rows'}"
        return (
            f"the table's own Normal-Wishart: residual covariance{within} worth {worth}, "
            f"means worth {self.nu:.3g}"
        )

    __repr__ = __str__


def empirical_prior(
    table: Any, *, tables: Prior | None = None, groups: Sequence[str] | None = None
) -> Empirical:
    """Return the default prior of continuous variables for a table: worth one row shaped like its residuals.

    It is an empirical Bayes prior: its covariance is that of the table's own rows, within the configurations
    of a few discrete columns that tell rows apart, so that correlations and tight residuals stay as they
    are. All graphs that are looked at on a table have the same, so that equivalent ones score alike.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path. Holes are left out pair by pair.
    tables
        The prior of discrete variables, by default ``bdeu(1)``.
    groups
        The discrete columns within whose configurations residuals are taken; by default those that lower the
        variances by more than BIC charges for it, three at most.

    Examples
    --------
    >>> import lacunary as lac, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> label = np.repeat(["a", "b"], 100)
    >>> x = np.where(label == "a", rng.normal(0.0, 1.0, 200), rng.normal(50.0, 1.0, 200))
    >>> prior = lac.empirical_prior({"label": label, "x": x})
    >>> prior.groups, round(float(prior.nu), 4)
    (('label',), 0.0014)
    """
    from lacunary.infer.answers import as_source

    source = as_source(table)
    return _empirical(source, Scale.of(source), tables or BDeu(1.0), groups)


def stated(
    prior: Any,
    source: Source,
    scale: Scale | None = None,
    default: Prior | None = None,
    *,
    clusters: bool = False,
    groups: Sequence[str] | None = None,
) -> Any:
    """Return a prior; where it says nothing of regressions, with the Normal–Wishart that the table suggests.

    That is where no prior is given, ``default`` then being that of tables, and for rules of tables alone.
    Where a class is hidden, or ``clusters`` are asked for, residuals are those within clusters of rows.
    """
    rule = (default or Dirichlet(1.0)) if prior is None else prior
    if all(variable.discrete for variable in source.schema) or not isinstance(rule, Dirichlet | BDeu):
        return rule
    hidden = any(variable.hidden and variable.discrete for variable in source.schema)
    return _empirical(source, scale or Scale.of(source), rule, groups, clusters or hidden)


def _empirical(
    source: Source, scale: Scale, tables: Prior, groups: Sequence[str] | None, clusters: bool = False
) -> Empirical:
    schema, facts = source.schema, source.facts
    numbers = [
        i
        for i, variable in enumerate(schema)
        if not (variable.discrete or variable.hidden or family_class(variable).leaf) and facts.seen[i] > 0
    ]
    if not numbers:
        return Empirical(tables=tables)
    view = View(source, scale, numbers)
    chosen = view.grouped() if groups is None else Grouping(tuple(schema.index(name) for name in groups))
    if clusters:
        chosen = view.clustered(chosen)
    nu, shape = view.residuals(chosen)
    single = not any(variable.discrete for variable in schema)
    return Empirical(
        nu,
        tables=tables,
        rows=ROWS["continuous" if single else "mixed"],
        columns=tuple(schema.names[i] for i in numbers),
        shape=shape,
        groups=tuple(schema.names[i] for i in chosen.columns),
        clusters=chosen.many,
    )


def said_prior(prior: object, schema: Schema) -> str:
    """Return a prior of parameters in words, in mixed tables that of states, too; one's own by its name."""
    said = str(getattr(prior, "__name__", prior))
    tables = getattr(prior, "tables", None)
    mixed = len({variable.discrete for variable in schema}) == 2
    return f"{said}, tables {tables}" if mixed and tables is not None and str(tables) not in said else said
