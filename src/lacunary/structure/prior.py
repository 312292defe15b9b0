"""How probable graphs are before any row is seen: by their number of links, whichever way these point.

Without such a prior every graph counts alike, and as there are many more dense graphs than sparse ones, dense
ones win by their number. A prior of links treats Markov-equivalent graphs alike, since these have the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import exp, log, log1p
from typing import Literal

import numpy as np
from scipy.special import gammaln

from lacunary.errors import ParameterError
from lacunary.maths.arrays import Array, Booleans
from lacunary.structure.constraints import Constraints
from lacunary.structure.score import Structure

__all__ = ["DEFAULT", "PriorGiven", "StructurePrior", "best_by_links", "said_priors"]

PriorGiven = Literal["uniform", "links", "beta-binomial"] | float | None
"""A prior over structures by name, or nats that each link is charged; None is the uniform one."""

DEFAULT: PriorGiven = "beta-binomial"
"""The prior that is taken unless another is named: what lost nowhere in `benchmarks/priors.md`."""

NAMES = ("uniform", "links", "beta-binomial")

NEAR = 1e-12
"""A bound within this part of the best value promises nothing better than rounding."""


@dataclass(frozen=True, eq=False)
class StructurePrior:
    """The log probability of the links of a graph, which depends on how many there are.

    Links are pairs of variables that an arc joins. Those of hidden variables are free, and so are those that
    must be; of the others that may be there are M. Which way arcs point is not charged for.

    Attributes
    ----------
    name
        What people call it.
    counted
        Which pairs may be linked and count, both ways; (n, n).
    logs
        The log probability of one particular set of e links, at ``logs[e]``; (M + 1,). It is convex in e, and
        adds up to one over all sets, but for the uniform prior, which says nothing: zeros.
    """

    name: str
    counted: Booleans
    logs: Array

    @classmethod
    def of(cls, given: PriorGiven, constraints: Constraints) -> StructurePrior:
        """Return the prior that is asked for, for the graphs that constraints allow.

        "links": every link is there with probability 1/n, so that each is charged log(n − 1) nats.
        "beta-binomial": every number of links is as probable as any other, 1/((M + 1) C(M, e)) for each set.
        A number c: every link is there with probability 1/(1 + eᶜ), and is charged c nats.
        """
        counted = _counted(constraints)
        many = int(counted.sum()) // 2
        seen = sum(not variable.hidden for variable in constraints.schema)
        name, logs = _logs(given, many, seen)
        return cls(name, counted, logs)

    def links(self, structure: Structure) -> int:
        """Return how many links of a graph count."""
        counts = self.counted.item
        return sum(counts(parent, child) for child, parents in enumerate(structure) for parent in parents)

    def log_probability(self, structure: Structure) -> float:
        """Return the log probability of a graph's links."""
        return float(self.logs[self.links(structure)])

    def steps(self, links: int) -> tuple[float, float]:
        """Return what one more link adds to the log probability, and what one less does."""
        logs = self._listed
        more = logs[links + 1] - logs[links] if links + 1 < len(logs) else 0.0
        return more, logs[links - 1] - logs[links] if links else 0.0

    @cached_property
    def _listed(self) -> list[float]:
        """``logs``, of which single ones are asked for at every move."""
        return [float(each) for each in self.logs]


def said_priors(parameters: str, graphs: str) -> str:
    """Return which priors a result stands on, as a line."""
    return f"prior of parameters: {parameters}; of graphs: {graphs}"


def best_by_links(
    prior: StructurePrior, solve: Callable[[float], tuple[Structure, float]]
) -> tuple[Structure, float]:
    """Return the graph of greatest score plus log prior, and that sum, where each link may be charged alike.

    ``solve(c)`` returns the graph of greatest score + c · links, and that sum, h(c). A convex function is the
    greatest of the straight lines through its neighbouring points, so that the best graph is the best under
    one of these lines. Not all need be solved: h is convex, so between two charges it lies below the chord.
    """
    slopes, first = np.unique(np.diff(prior.logs), return_index=True)
    if not len(slopes):
        slopes, first = np.zeros(1), np.zeros(1, dtype=np.int64)
    heights = prior.logs[first] - first * slopes
    known: dict[int, float] = {}
    best: tuple[Structure, float] | None = None
    line: int | None = 0
    while line is not None:
        structure, known[line] = solve(float(slopes[line]))
        links = prior.links(structure)
        value = known[line] - float(slopes[line]) * links + float(prior.logs[links])
        if best is None or value > best[1]:
            best = structure, value
        line = _next_line(slopes, heights, known, best[1])
    assert best is not None
    return best


def _next_line(slopes: Array, heights: Array, known: dict[int, float], best: float) -> int | None:
    """Return the line under which the best graph may still be found: first the ends, then by the chords."""
    last = len(slopes) - 1
    if last not in known:
        return last
    at = sorted(known)
    bounds = heights + np.interp(slopes, slopes[at], [known[line] for line in at])
    bounds[at] = -np.inf
    line = int(np.argmax(bounds))
    return line if bounds[line] > best + NEAR * max(abs(best), 1.0) else None


def _counted(constraints: Constraints) -> Booleans:
    hidden = np.array([variable.hidden for variable in constraints.schema], dtype=bool)
    must = constraints.required | constraints.required.T
    return np.asarray((constraints.free | constraints.free.T) & ~must & ~hidden[:, None] & ~hidden[None, :])


def _logs(given: PriorGiven, many: int, seen: int) -> tuple[str, Array]:
    links = np.arange(many + 1, dtype=np.float64)
    if given is None or given == "uniform":
        return "uniform", np.zeros(many + 1)
    if given == "beta-binomial":
        choose = gammaln(many + 1.0) - gammaln(links + 1.0) - gammaln(many - links + 1.0)
        return "beta-binomial", np.asarray(-log(many + 1.0) - choose)
    if given == "links":
        charge = log(max(seen - 1, 1))
        return "links", -links * charge - many * log1p(exp(-charge))
    if isinstance(given, str | bool) or not 0 <= given < np.inf:
        known = ", ".join(map(repr, NAMES))
        raise ParameterError(
            f"structure_prior is one of {known}, or the nats that every link is charged, not {given!r}"
        )
    return f"{given:g} nats a link", -links * given - many * log1p(exp(-given))
