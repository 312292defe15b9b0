"""The singular BIC (Drton & Plummer 2017): BIC whose charge is averaged over what the truth may be.

A model with hidden classes is singular where fewer classes would do, and its evidence then falls less with
N than d/2 log N. sBIC takes the learning coefficients of all models inside it, weighed by how well each
does; `docs/derivations/singular.md` says which coefficients are exact and which are bounds.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.nested import Coefficients, Nested, Phi, canonical, nested
from lacunary.evidence.problem import Point, Problem
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
    return Estimate("sbic", value, "approximation", terms, peaks[-1].error, where=where, details=details)


def _capped(problem: Problem, family: Nested, charge: Charge) -> Array:
    """Return the coefficients, none above half of the model's dimension."""
    if charge == "parameters":
        return family.coefficients
    most = np.array([dimensions(_member(problem, dag), charge) / 2 for dag in family.dags])
    return np.asarray(np.minimum(family.coefficients, most[:, None]))


def _peaks(problem: Problem, family: Nested) -> list[Point]:
    """Return the maxima of all models inside; none is lower than one that lies in it."""
    found: list[Point] = []
    for i, dag in enumerate(family.dags):
        own = _member(problem, dag).point("ml")
        inside = [found[j].log_likelihood for j in np.flatnonzero(~np.isnan(family.coefficients[i, :i]))]
        found.append(replace(own, log_likelihood=max([own.log_likelihood, *inside])))
    return found


def _member(problem: Problem, dag: Dag) -> Problem:
    """Return the problem of a model inside: one that is compared too, or a new one that is kept."""
    key = canonical(dag)
    if canonical(problem.dag) == key:
        return problem
    if key not in problem.siblings:
        table = problem.table.align(dag.schema)
        problem.siblings[key] = replace(problem, dag=dag, table=table, given=None, _points={})
    return problem.siblings[key]
