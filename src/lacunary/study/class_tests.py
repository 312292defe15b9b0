"""How well a latent class model fits: L², X², bivariate residuals, and bootstrap p-values of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Any

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.infer.answers import as_source
from lacunary.infer.network import Network
from lacunary.learn.fit import fit
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag
from lacunary.study.class_fit import AGAIN, ClassFit, fit_classes, refitted

__all__ = ["BootstrapLrt", "Residual", "absolute_fit", "bivariate_residuals", "bootstrap_lrt", "simulated"]

CELLS = 20_000
"""Up to so many cells of the table of all columns a model with holes is compared with the saturated one."""


@dataclass(frozen=True)
class Residual:
    """How far the joint table of two columns is from what the model expects: X² / degrees of freedom."""

    first: str
    second: str
    value: float


def absolute_fit(found: ClassFit) -> dict[str, float]:
    """Return L², X² and degrees of freedom of discrete columns, against the model that fits every cell.

    With holes L² compares with the saturated model of highest likelihood, all rows counting, and there is no
    X². Empty where columns are continuous or cells are too many.
    """
    schema = found.table.schema
    if any(not v.discrete for v in schema):
        return {}
    cells = prod(schema.sizes)
    dof = cells - 1 - found.parameters
    rows = found.table
    if rows.holes.any():
        if cells > CELLS:
            return {}
        names = schema.names
        whole = Dag.from_parents(schema, {name: names[:k] for k, name in enumerate(names)})
        saturated = fit(whole, rows, method="ml", stop=AGAIN).log_likelihood
        return {"L2": 2 * (saturated - found.log_likelihood), "dof": float(dof)}
    distinct = rows.distinct
    counts = np.bincount(distinct.inverse, weights=rows.weights)
    seen = rows.take(distinct.first)
    expected = rows.size * np.exp(found.network.log_probability(seen.align(found.network.dag.schema)))
    l2 = 2 * float(counts @ np.log(counts / expected))
    # Cells that never occurred add what is expected of them.
    x2 = float(((counts - expected) ** 2 / expected).sum()) + float(rows.size - expected.sum())
    return {"L2": l2, "X2": x2, "dof": float(dof)}


def bivariate_residuals(found: ClassFit) -> tuple[Residual, ...]:
    """Return the bivariate residuals of all pairs of discrete columns, the largest first.

    Rows in which both are observed are compared with what the model expects of as many rows.
    """
    network, rows = found.network, found.table
    out = []
    discrete = [v.name for v in rows.schema if v.discrete]
    for one, two in combinations(discrete, 2):
        codes = rows.codes[:, [rows.schema.index(one), rows.schema.index(two)]]
        both = (codes != HOLE).all(axis=1)
        counts = np.zeros((rows.schema[one].size, rows.schema[two].size))
        np.add.at(counts, tuple(codes[both].T), rows.weights[both])
        expected = counts.sum() * _pair(network, found.hidden, one, two)
        dof = (counts.shape[0] - 1) * (counts.shape[1] - 1)
        if not dof:
            continue
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(expected > 0, (counts - expected) ** 2 / expected, 0.0)
        out.append(Residual(one, two, float(terms.sum()) / dof))
    return tuple(sorted(out, key=lambda residual: -residual.value))


def _pair(network: Any, hidden: str, one: str, two: str) -> Array:
    weights = network.table(hidden)
    return np.asarray(np.einsum("c,ca,cb->ab", weights, network.table(one), network.table(two)))


def simulated(network: Network, rows: Table, rng: np.random.Generator) -> Table:
    """Return rows drawn from a network, as many as there are, with the same holes and weights."""
    drawn = network.sample(len(rows), rng).select(rows.schema.names)
    codes = np.where(rows.holes, HOLE, drawn.codes) if drawn.codes.size else drawn.codes
    reals = np.where(rows.holes, np.nan, drawn.reals) if drawn.reals.size else drawn.reals
    return Table(rows.schema, codes.astype(drawn.codes.dtype), reals, rows.weights)


def bootstrap_fit(
    found: ClassFit, replicates: int, rng: np.random.Generator, watch: Callable[[int, int], object] | None
) -> dict[str, Any]:
    """Return bootstrap p-values of L², X² and every bivariate residual: rows drawn from the model, refitted.

    A p-value is (1 + how many replicates are at least as far) / (1 + replicates).
    """
    own, residuals = absolute_fit(found), {(r.first, r.second): r.value for r in bivariate_residuals(found)}
    keys: list[Any] = [*(k for k in own if k != "dof"), *residuals]
    beyond = dict.fromkeys(keys, 1)
    for k in range(replicates):
        if watch is not None:
            watch(k, replicates)
        other = refitted(found.network, simulated(found.network, found.table, rng), found.hidden)
        for name, value in absolute_fit(other).items():
            if name != "dof":
                beyond[name] += value >= own[name]
        for r in bivariate_residuals(other):
            beyond[r.first, r.second] += r.value >= residuals[r.first, r.second]
    return {name: count / (1 + replicates) for name, count in beyond.items()}


@dataclass(frozen=True)
class BootstrapLrt:
    """The bootstrap likelihood-ratio test of k classes against k + 1.

    Attributes
    ----------
    classes
        k.
    statistic
        Twice the difference of the log-likelihoods.
    p
        (1 + how many simulated differences are at least as large) / (1 + replicates).
    simulated
        The differences of tables drawn from the model with k classes.
    """

    classes: int
    statistic: float
    p: float
    simulated: tuple[float, ...]

    def __str__(self) -> str:
        return (
            f"{self.classes} against {self.classes + 1} classes: 2Δ log-likelihood = {self.statistic:.4g}, "
            f"bootstrap p = {self.p:.4g} ({len(self.simulated)} replicates)"
        )


@budgeted
def bootstrap_lrt(
    table: Any,
    classes: int,
    *,
    hidden: str = "class",
    replicates: int = 99,
    starts: int = 20,
    refits: int = 5,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> BootstrapLrt:
    """Return the bootstrap likelihood-ratio test of ``classes`` against one class more (McLachlan 1987).

    Tables are drawn from the fitted smaller model, with the table's own holes, and both models are fitted to
    each; ``starts`` are those of the fits to the table, ``refits`` those of the larger model to each draw.

    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> lac.bootstrap_lrt(votes.select(votes.schema.names[1:6]), 1, replicates=9, starts=2, refits=1).p
    0.1
    """
    rows = as_source(table).whole("a bootstrap test")
    if replicates < 1:
        raise ParameterError("a bootstrap needs at least one replicate")
    random = np.random.default_rng(rng)
    less = fit_classes(rows, classes, hidden=hidden, starts=starts, rng=random)
    more = fit_classes(rows, classes + 1, hidden=hidden, starts=starts, rng=random)
    own = 2 * (more.log_likelihood - less.log_likelihood)
    drawn = []
    for k in range(replicates):
        if watch is not None:
            watch(k, replicates)
        other = simulated(less.network, rows, random)
        small = refitted(less.network, other, hidden).log_likelihood
        large = refitted(more.network, other, hidden, starts=refits, rng=random).log_likelihood
        drawn.append(max(0.0, 2 * (large - small)))
    beyond = 1 + sum(value >= own for value in drawn)
    return BootstrapLrt(classes, own, beyond / (1 + replicates), tuple(drawn))
