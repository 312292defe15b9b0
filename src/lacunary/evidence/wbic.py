"""WBIC (Watanabe 2013): the mean log-likelihood under the posterior to the power 1/log N.

At that power the mean is log p(D) to within O(√log N) whatever the dimension, at singular truths too,
without learning coefficients: the widely applicable BIC. Its own fluctuation grows like √log N, which no
number of draws makes smaller; the standard error is that of the draws alone.
"""

from __future__ import annotations

import math

import numpy as np

from lacunary.errors import NoEstimateError
from lacunary.evidence.chains import check_positive
from lacunary.evidence.diagnostics import said_rhat, sticky_note
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.powered import Powered, powered
from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array
from lacunary.maths.mixing import AGREE, Mean, chain_mean

__all__ = ["wbic"]

BUDGET = 16
"""How many times as many draws as were asked for may be taken to reach a standard error."""


def wbic(
    problem: Problem, *, draws: int = 1000, burn: int = 1000, chains: int = 8, stderr: float = 0.5
) -> Estimate:
    """Return the mean of log p(D | θ) over draws of θ from p(θ) p(D | θ)^(1/log N).

    Draws are taken, ``draws`` at a time from each chain, until the standard error of their mean is
    ``stderr``, or sixteen times. An interrupted walk gives what it has. ``details`` hold the
    ``log_likelihoods`` (chains, draws), the ``temperature`` log N, ``rhat``, ``ess``, ``acceptance``, and
    whether the mean is ``trustworthy``.
    """
    check_positive(draws=draws, chains=chains)
    size = problem.size
    if not size > math.e:
        raise NoEstimateError(f"WBIC needs at least three rows, as it takes 1/log N, not {size:g}; use 'ais'")

    def enough(logs: Array) -> bool:
        return bool(_mean(logs).stderr[0] <= stderr) or logs.shape[1] >= BUDGET * draws

    rng = np.random.default_rng(problem.rng)
    found = powered(
        problem, 1.0 / np.log(size), chains=chains, draws=draws, burn=burn, rng=rng, enough=enough
    )
    return _estimate(found, _mean(found.log_likelihood), float(np.log(size)), stderr, sticky_note(problem))


def _mean(logs: Array) -> Mean:
    return chain_mean(logs[..., None])


def _estimate(found: Powered, mean: Mean, temperature: float, asked: float, sticky: str) -> Estimate:
    value, error, rhat = float(mean.mean[0]), float(mean.stderr[0]), float(mean.rhat[0])
    notes = [sticky] if sticky else []
    if not rhat <= AGREE:
        notes.append(f"chains did not mix ({said_rhat(rhat)}): take more draws")
    if found.interrupted:
        notes.append(f"interrupted after {found.log_likelihood.shape[1]} draws of each chain")
    elif error > asked:
        notes.append(f"the standard error asked for, {asked:g}, was not reached")
    details = {
        "log_likelihoods": found.log_likelihood,
        "temperature": temperature,
        "rhat": rhat,
        "ess": float(mean.ess[0]),
        "acceptance": found.acceptance,
        "interrupted": found.interrupted,
        "trustworthy": rhat <= AGREE and not sticky,
        "note": "; ".join(notes),
    }
    terms = {"mean log-likelihood": value}
    where = "the posterior to the power 1/log N (± of the draws alone)"
    return Estimate("wbic", value, "approximation", terms, stderr=error, where=where, details=details)
