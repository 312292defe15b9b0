"""The singular BIC (Drton & Plummer 2017): BIC whose charge is averaged over what the truth may be.

A model with hidden classes is singular where fewer classes would do, and its evidence then falls less with
N than d/2 log N. sBIC takes the learning coefficients of all models inside it, weighed by how well each
does; `docs/derivations/singular.md` says which coefficients are exact and which are bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.nested import Coefficients, Nested, Phi, canonical, nested
from lacunary.evidence.problem import Problem
from lacunary.learn.fit import fit
from lacunary.maths import singular
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["sbic"]


def sbic(
    problem: Problem,
    *,
    phi: Phi = "default",
    coefficients: Coefficients = "bound",
    dimension: Charge = "parameters",
) -> Estimate:
    """Return log L_i, with L_i the mean of L̂ N^−λ_ij (log N)^(m_ij − 1) over the models j inside this one.

    All models inside are fitted, by maximum likelihood; a comparison fits each once. Mixtures of densities,
    whose likelihood has no maximum, are fitted by MAP.

    Parameters
    ----------
    phi
        The Dirichlet weight of class probabilities in the bounds of hidden classes: by default (r + 1)/2 with
        r free parameters a class, as in R's sBIC, whatever the prior of the fit is; a number; or "prior",
        that of the fit.
    coefficients
        "bound", upper bounds, of hidden classes and of factor analysis; or "exact", of at most two hidden
        classes above discrete features (Rusakov & Geiger 2005), with the prior's φ unless one is given.
    dimension
        Where other than "parameters", no coefficient is above half of this dimension.
    """
    family = nested(problem, phi, coefficients)
    peaks = _peaks(problem, family)
    table = _capped(problem, family, dimension)
    logs = np.array([peak.log_likelihood for peak in peaks])
    rows = problem.size
    value = float(
        singular.sbic(logs, table, rows, multiplicities=family.multiplicities, prior=family.prior)[-1]
    )
    terms = {"log-likelihood": float(logs[-1]), "penalty": value - float(logs[-1])}
    charged = -terms["penalty"] / np.log(rows) if rows > 1 else float(table[-1, -1])
    details = {
        "coefficients": table[-1],
        "multiplicities": family.multiplicities[-1],
        "exact": family.exact[-1].astype(bool),
        "log_likelihoods": logs,
        "charged": charged,
        "source": family.words,
    }
    where = f"{peaks[-1].where}; coefficients are {family.words}"
    return Estimate("sbic", value, "approximation", terms, where=where, details=details)


@dataclass(frozen=True, eq=False)
class Peak:
    """The highest log-likelihood that was found of a model, and where."""

    log_likelihood: float
    where: str


def _capped(problem: Problem, family: Nested, charge: Charge) -> Array:
    """Return the coefficients, none above half of the model's dimension."""
    if charge == "parameters":
        return family.coefficients
    most = np.array([dimensions(_member(problem, dag), charge) / 2 for dag in family.dags])
    return np.asarray(np.minimum(family.coefficients, most[:, None]))


def _peaks(problem: Problem, family: Nested) -> list[Peak]:
    """Return the peaks of all models inside; none is lower than one that lies in it."""
    found: list[Peak] = []
    for i, dag in enumerate(family.dags):
        own = _peak(_member(problem, dag))
        inside = [found[j].log_likelihood for j in np.flatnonzero(~np.isnan(family.coefficients[i, :i]))]
        found.append(replace(own, log_likelihood=max([own.log_likelihood, *inside])))
    return found


def _member(problem: Problem, dag: Dag) -> Problem:
    """Return the problem of a model inside: one that is compared too, or a new one that is kept."""
    key = canonical(dag)
    if canonical(problem.dag) == key:
        return problem
    if key not in problem.kin:
        table = problem.table.align(dag.schema)
        problem.kin[key] = replace(problem, dag=dag, table=table, given=None, _points={})
    return problem.kin[key]


def _peak(problem: Problem) -> Peak:
    """Return the greatest likelihood, or of a likelihood without bound that of the MAP; found once."""
    if "sbic" not in problem.memory:
        problem.memory["sbic"] = _climbed(problem)
    peak: Peak = problem.memory["sbic"]
    return peak


def _climbed(problem: Problem) -> Peak:
    if _unbounded(problem.dag):
        point = problem.point("map")
        return Peak(point.log_likelihood, f"{point.where}, as the likelihood has no maximum")
    given = problem.given  # all of whose starts climb on
    found = fit(
        problem.dag,
        problem.table,
        method="ml",
        prior=problem.prior,
        starts=None if given else problem.starts,
        initial=given,
        stop=problem.stop,
        accelerate=True,
        rng=problem.rng,
    )
    if found.interrupted:
        raise KeyboardInterrupt
    return Peak(found.log_likelihood, "ml")


def _unbounded(dag: Dag) -> bool:
    """Tell whether a class can shrink onto one row: a density whose parents are hidden classes."""
    hidden = {name for name in dag.schema.hidden if dag.schema[name].size > 1}
    return any(hidden & set(dag.parents_of(dag.names[i])) for i in dag.continuous)
