"""What classes depend on, and what depends on them: covariates and distal outcomes, in one step or three.

One step fits everything together. Three steps fit the classes alone, assign every row to its most probable
class, and then relate the assignment to other columns, corrected for how often it is wrong: by maximum
likelihood (Vermunt 2010) or by the weights of Bolck, Croon and Hagenaars (2004). D[s, t] is the probability
that a row of class s is assigned to t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError
from lacunary.infer.answers import as_source
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array, Booleans
from lacunary.study.class_distal import fitted_outcome
from lacunary.study.class_errors import meat_of, numbered, resampled_places
from lacunary.study.class_fit import ClassFit, climbed, fit_classes, refitted
from lacunary.study.class_logit import OneStep, WeightedLogit, logit_of

__all__ = ["ClassEffect", "ClassEffects", "class_covariates", "class_outcome"]

Correction = Literal["ml", "bch", "none"]


@dataclass(frozen=True)
class ClassEffect:
    """One number of the third step: what it is of, its estimate, error, z and p."""

    group: str
    name: str
    estimate: float
    error: float
    p: float


@dataclass(frozen=True, eq=False)
class ClassEffects:
    """Coefficients of class membership, or what an outcome is like in each class.

    Attributes
    ----------
    title
        What is related, and how.
    effects
        The numbers.
    wald, dof, p
        The Wald test that there is no effect at all: that slopes are zero, or that classes do not differ.
    rows
        How many rows took part: those with all covariates, or the outcome, observed.
    fit
        The classes.
    """

    title: str
    effects: tuple[ClassEffect, ...]
    wald: float
    dof: int
    p: float
    rows: int
    fit: ClassFit

    def __iter__(self) -> Iterator[ClassEffect]:
        return iter(self.effects)

    def __getitem__(self, key: tuple[str, str]) -> ClassEffect:
        for one in self.effects:
            if (one.group, one.name) == key:
                return one
        raise KeyError(key)

    def __str__(self) -> str:
        width = max(len(f"{one.group}: {one.name}") for one in self.effects)
        lines = [f"{self.title}; {self.rows} rows", f"{'':<{width}}  estimate     error       p"]
        lines += [
            f"{f'{one.group}: {one.name}':<{width}}  {one.estimate:8.4f}  {one.error:8.4f}  {one.p:6.4f}"
            for one in self.effects
        ]
        return "\n".join(
            [*lines, f"Wald test of no effect: {self.wald:.4g}, {self.dof} df, p = {self.p:.4g}"]
        )

    __repr__ = __str__


@budgeted
def class_covariates(
    model: int | Any,
    table: Any,
    covariates: Sequence[str],
    *,
    steps: Literal[1, 3] = 1,
    correction: Correction = "ml",
    hidden: str = "class",
    starts: int = 20,
    clusters: Sequence[Any] | None = None,
    strata: Sequence[Any] | None = None,
    draws: int = 0,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> ClassEffects:
    """Return how class membership depends on observed columns: a multinomial logit, the largest class apart.

    Parameters
    ----------
    model
        How many classes, found from all columns that are not covariates; or a network with a hidden class
        above its columns.
    table, covariates
        Rows, and the columns on which the class depends; discrete ones count as an indicator of each state
        but the first. Rows in which a covariate is missing are left out of the regression.
    steps, correction
        1: classes and regression together. 3: classes first; the assignment is then corrected by "ml" or
        "bch", or taken as it is ("none").
    hidden, starts, rng
        As of `class_report`.
    clusters, strata
        Rows that were drawn together, and among which; errors are then robust. The table's weights may be
        sampling weights.
    draws
        Errors from so many resamples of rows in which all steps are done again, so that those of the third
        step carry the uncertainty of the first; 0: from curvature and scores.
    watch
        Called with how many resamples are done and how many there are.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> found = lac.class_covariates(2, votes.select(votes.schema.names[:4]), ["party"], starts=2)
    >>> found.dof, found.p < 0.001
    (1, True)
    """
    rows, random = as_source(table).whole("a regression of classes"), np.random.default_rng(rng)
    check_correction(steps, correction)
    used = _complete(rows, covariates)
    found = _classes(model, rows, covariates, hidden, starts, random)
    design, names = _design(rows, covariates)

    def estimate(part: Table, x: Array, one: ClassFit, keep: Booleans) -> Any:
        return _regressed(one, part, x, keep, steps, correction)

    logit = estimate(rows, design, found, used)
    covariance = logit.covariance(*_labels(clusters, strata, used))
    if draws:
        covariance = _bootstrapped(rows, design, found, used, estimate, draws, clusters, random, watch)
    groups = found.labels
    labels = [(group, name) for group in groups[1:] for name in names]
    slopes = [k for k, (_, name) in enumerate(labels) if name != "intercept"]
    how = "one step" if steps == 1 else f"three steps, {CORRECTIONS[correction]}"
    title = f"class membership ({groups[0]} is the reference) by {', '.join(covariates)}: {how}"
    contrast = np.eye(len(labels))[slopes]
    return _effects(title, labels, logit.beta.ravel(), covariance, contrast, int(used.sum()), found)


@budgeted
def class_outcome(
    model: int | Any,
    table: Any,
    outcome: str,
    *,
    correction: Correction = "bch",
    hidden: str = "class",
    starts: int = 20,
    clusters: Sequence[Any] | None = None,
    strata: Sequence[Any] | None = None,
    draws: int = 0,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> ClassEffects:
    """Return what a distal outcome is like in each class, by three steps: means, or probabilities of states.

    By "bch" rows are weighed; by "ml" the outcome is normal in each class, with a variance of its own, or
    has a table; "none" takes the assignment as it is. Other arguments are those of `class_covariates`. In one
    step the outcome is a column like the others: see `class_report`.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> found = lac.class_outcome(2, votes.select(votes.schema.names[:6]), "party", starts=2)
    >>> found.p < 0.001
    True
    """
    rows, random = as_source(table).whole("a distal outcome"), np.random.default_rng(rng)
    check_correction(3, correction)
    used = _complete(rows, [outcome])
    found = _classes(model, rows, [outcome], hidden, starts, random)

    def estimate(part: Table, _x: Array, one: ClassFit, keep: Booleans) -> Any:
        return DistalOutcome.of(one, part, outcome, keep, correction)

    told = estimate(rows, np.empty(0), found, used)
    covariance = told.covariance(*_labels(clusters, strata, used))
    if draws:
        covariance = _bootstrapped(
            rows, np.zeros((len(rows), 0)), found, used, estimate, draws, clusters, random, watch
        )
    groups = found.labels
    variable = rows.schema[outcome]
    states = [f"{outcome}={s}" for s in variable.states] if variable.discrete else [f"mean of {outcome}"]
    labels = [(group, state) for group in groups for state in states]
    width, free = len(states), max(len(states) - 1, 1)
    contrast = np.zeros(((len(groups) - 1) * free, len(labels)))
    for k in range(1, len(groups)):
        for j in range(free):
            contrast[(k - 1) * free + j, [k * width + j, j]] = 1.0, -1.0
    title = f"{outcome} by class: three steps, {CORRECTIONS[correction]}"
    return _effects(title, labels, told.beta.ravel(), covariance, contrast, int(used.sum()), found)


CORRECTIONS = {
    "ml": "corrected by maximum likelihood",
    "bch": "corrected by BCH weights",
    "none": "not corrected",
}


def check_correction(steps: int, correction: str) -> None:
    """Refuse other numbers of steps and other corrections."""
    if steps not in (1, 3) or correction not in CORRECTIONS:
        raise ParameterError("steps must be 1 or 3, and correction 'ml', 'bch' or 'none'")


@dataclass(frozen=True, eq=False)
class DistalOutcome:
    """Means or probabilities of an outcome by class, and what their errors come from.

    Attributes
    ----------
    beta
        (classes, 1) or (classes, states).
    scores
        The rows' slopes along the parameters, weighted; (rows, parameters).
    bread
        How much the numbers move with the sum of the scores; (numbers, parameters).
    """

    beta: Array
    scores: Array
    bread: Array

    @classmethod
    def of(
        cls, found: ClassFit, rows: Table, outcome: str, keep: Booleans, correction: Correction
    ) -> DistalOutcome:
        """Return the estimates, from the rows in which the outcome is observed."""
        variable, i = rows.schema[outcome], rows.schema.index(outcome)
        values = (
            np.eye(variable.size)[rows.codes[keep, i]] if variable.discrete else rows.reals[keep, i][:, None]
        )
        weights, chosen = rows.weights[keep], found.assigned[keep]
        if correction == "ml":
            told = fitted_outcome(_errors(found)[:, chosen].T, values, weights, variable.discrete)
            return cls(told.beta, told.scores, told.bread)
        shares = _bch_weights(found, correction)[chosen]
        total = weights @ shares
        if np.any(total <= 0):
            raise ParameterError("a class has no weight in the third step; take fewer classes")
        beta = (shares * weights[:, None]).T @ values / total[:, None]
        # Each row pulls its class' number towards its own value, by its share.
        pull = shares[:, :, None] * (values[:, None, :] - beta[None]) * weights[:, None, None]
        return cls(beta, pull.reshape(len(values), beta.size), np.diag(1 / np.repeat(total, beta.shape[1])))

    def covariance(self, clusters: Any = None, strata: Any = None) -> Array:
        """Return the sandwich covariance of the numbers."""
        return np.asarray(self.bread @ meat_of(self.scores, clusters, strata) @ self.bread.T)


def _errors(found: ClassFit) -> Array:
    """Return D: how probably a row of each class is assigned to each; (classes, assigned)."""
    table = found.classification
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def _bch_weights(found: ClassFit, correction: Correction) -> Array:
    """Return the weights that a row assigned to each class has in every class; (assigned, classes)."""
    if correction == "none":
        return np.eye(found.classes)
    matrix = _errors(found)
    if np.linalg.cond(matrix) > 1e8:
        raise ParameterError("some class is never assigned, so BCH weights do not exist; use correction='ml'")
    return np.asarray(np.linalg.inv(matrix))


def _regressed(
    found: ClassFit, rows: Table, design: Array, keep: Booleans, steps: int, correction: Correction
) -> Any:
    """Return the multinomial logit of the class on covariates."""
    weights, x = rows.weights[keep], design[keep]
    if steps == 1:
        return OneStep.fitted(found.network, found.hidden, found.table.take(keep), x, weights)
    chosen = found.assigned[keep]
    if correction == "ml":
        return logit_of(x, weights, np.log(np.maximum(_errors(found)[:, chosen].T, 1e-300)))
    return WeightedLogit.fitted(x, weights, _bch_weights(found, correction)[chosen])


def _complete(rows: Table, names: Sequence[str]) -> Booleans:
    if not names:
        raise ParameterError("name at least one column")
    places = [rows.schema.index(name) for name in names]
    used = ~rows.holes[:, places].any(axis=1)
    if used.sum() < 2:
        raise SchemaError(f"{', '.join(names)}: fewer than two rows have all of them observed")
    return np.asarray(used)


def _classes(
    model: Any, rows: Table, apart: Sequence[str], hidden: str, starts: int, random: np.random.Generator
) -> ClassFit:
    items = rows.select([name for name in rows.schema.names if name not in apart])
    if isinstance(model, int):
        if model < 2:
            raise ParameterError("there must be at least two classes for something to depend on them")
        return fit_classes(items, model, hidden=hidden, starts=starts, rng=random)
    network: Network = getattr(model, "network", model)
    unseen = network.dag.schema.hidden or (hidden,)
    return climbed(network, rows.select([n for n in network.dag.names if n not in unseen]), hidden)


def _design(rows: Table, names: Sequence[str]) -> tuple[Array, list[str]]:
    """Return the columns of the regression and their names, an intercept first."""
    columns, labels = [np.ones(len(rows))], ["intercept"]
    for name in names:
        variable, i = rows.schema[name], rows.schema.index(name)
        if not variable.discrete:
            columns.append(np.where(np.isnan(rows.reals[:, i]), 0.0, rows.reals[:, i]))
            labels.append(name)
            continue
        for code in range(1, variable.size):
            columns.append((rows.codes[:, i] == code).astype(np.float64))
            labels.append(f"{name}={variable.states[code]}")
    return np.column_stack(columns), labels


def _labels(clusters: Any, strata: Any, used: Booleans) -> tuple[Any, Any]:
    return tuple(  # type: ignore[return-value]
        None if given is None else numbered(given, len(used), what)[used]
        for given, what in ((clusters, "clusters"), (strata, "strata"))
    )


def _bootstrapped(
    rows: Table, design: Array, found: ClassFit, used: Booleans, estimate: Any, draws: int,
    clusters: Any, random: np.random.Generator, watch: Any,
) -> Array:  # fmt: skip
    """Return the covariance of estimates over resampled rows, all steps done again on each."""
    told = []
    for k in range(draws):
        if watch is not None:
            watch(k, draws)
        chosen = resampled_places(len(rows), random, clusters)
        part = rows.take(chosen)
        items = part.select(found.table.schema.names)
        again = refitted(found.network, items, found.hidden)
        told.append(estimate(part, design[chosen], again, used[chosen]).beta.ravel())
    apart = np.array(told) - np.mean(told, axis=0)
    return np.asarray(apart.T @ apart / (draws - 1))


def _effects(
    title: str, labels: Sequence[tuple[str, str]], values: Array, covariance: Array, contrast: Array,
    rows: int, found: ClassFit,
) -> ClassEffects:  # fmt: skip
    from scipy import stats

    errors = np.sqrt(np.maximum(np.diag(covariance), 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stats.norm.sf(np.abs(values / errors))
    told = tuple(
        ClassEffect(group, name, float(v), float(e), float(q))
        for (group, name), v, e, q in zip(labels, values, errors, p, strict=True)
    )
    apart = contrast @ values
    wald = float(apart @ np.linalg.pinv(contrast @ covariance @ contrast.T) @ apart)
    dof = len(contrast)
    return ClassEffects(title, told, wald, dof, float(stats.chi2.sf(wald, dof)), rows, found)
