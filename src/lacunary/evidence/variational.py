"""The lower bound of variational Bayesian EM (BG03)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from lacunary.errors import ParameterError
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import Problem
from lacunary.learn.fit import fit
from lacunary.learn.vbem import update_rule

__all__ = ["variational"]


def variational(problem: Problem, *, start: Literal["random", "map"] = "random") -> Estimate:
    """Return the highest bound found, from random starts or from the MAP's responsibilities.

    From the MAP the bound is never below the plain Cheeseman–Stutz estimate there, which is its value
    before the first update of the holes' posterior.
    """
    if start not in ("random", "map"):
        raise ParameterError(f"start must be 'random' or 'map', not {start!r}")
    initial = problem.network("map") if start == "map" else None
    found = fit(
        problem.dag,
        problem.table,
        method="variational",
        prior=problem.prior,
        starts=None if initial else problem.starts,
        initial=initial,
        fixed=problem.fixed,
        stop=problem.stop,
        rng=problem.rng,
    )
    if found.interrupted:
        raise KeyboardInterrupt
    posterior = problem.scale.believed_inside(found.belief)
    divergence = float(update_rule(problem.belief, problem.held).divergence(posterior.alpha[None])[0])
    terms = {"expected fit": found.objective + divergence, "divergence from the prior": -divergence}
    where = f"the variational posterior, started from {'the MAP' if initial else 'random draws'}"
    details = {"posterior": found.belief, "converged": found.converged, "bounds": _bounds(found.starts)}
    return Estimate("variational", found.objective, "lower bound", terms, where=where, details=details)


def _bounds(starts: tuple[object, ...]) -> list[float]:
    return sorted((float(getattr(s, "objective", np.nan)) for s in starts), reverse=True)
