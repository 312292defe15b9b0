"""All graphs over a few variables at once: what they weigh together, their arcs, and graphs drawn from them.

Sums go over acyclic graphs, each counted once (`lacunary.kernels.layers`); sums over orders of variables,
which are easier, count a graph as often as there are orders that go with it. Work grows like 4ⁿ.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from lacunary.kernels.layers import add_layers, arc_chances, draw_layers
from lacunary.maths.arrays import Array, Booleans
from lacunary.maths.special import logsumexp
from lacunary.structure.constraints import Constraints
from lacunary.structure.exact import Tables
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import FamilyScore, Parents, Structure

__all__ = ["AllGraphs", "Charge", "charges", "drawn_charge", "family_terms", "sum_of_graphs"]


SMALL = 1e-12
"""Shares of charges that are left out of the probabilities of arcs."""


@dataclass(frozen=True)
class Charge:
    """One part of a prior over structures: what each link is charged, and the log weight of the part."""

    link: float
    log_weight: float


def charges(prior: StructurePrior) -> list[Charge]:
    """Return charges whose mixture is the prior.

    The beta-binomial is the mean over all densities z of zᵉ (1 − z)ᴹ⁻ᵉ, a polynomial of degree M, for which
    Gauss and Legendre's rule of more than M/2 points is exact. Any other prior has one charge.
    """
    most = len(prior.logs) - 1
    if prior.name != "beta-binomial" or most < 1:
        return [Charge(float(prior.logs[1] - prior.logs[0]) if most else 0.0, float(prior.logs[0]))]
    points, weights = np.polynomial.legendre.leggauss(most // 2 + 1)
    density, weights = (1.0 + points) / 2.0, weights / 2.0
    links = np.log(density) - np.log1p(-density)
    return [
        Charge(float(link), float(log(weight) + most * np.log1p(-z)))
        for link, weight, z in zip(links, weights, density, strict=True)
    ]


def drawn_charge(prior: StructurePrior, links: int, rng: np.random.Generator) -> float:
    """Return a charge drawn given how many links there are: of the beta-binomial, log odds of a density."""
    most = len(prior.logs) - 1
    if prior.name != "beta-binomial" or most < 1:
        return charges(prior)[0].link
    one, other = rng.standard_gamma(links + 1.0), rng.standard_gamma(most - links + 1.0)
    return log(one) - log(other)


def family_terms(score: FamilyScore, constraints: Constraints) -> Array:
    """Return the term of each child with every set of parents, −inf where it cannot be; (n, 2ⁿ).

    Sets are numbers whose bits are their members, the child's own place among them.
    """
    tables, n = Tables(score, constraints), score.variables
    sets = np.arange(1 << n, dtype=np.int64)
    out = np.full((n, 1 << n), -np.inf)
    for child in range(n):
        tables.fill(child)
        low = sets & ((1 << child) - 1)
        here = (sets >> child) & 1 == 0
        out[child, here] = tables.terms[child, (low | (sets >> (child + 1) << child))[here]]
    return out


class AllGraphs:
    """All graphs, weighed by the terms of their families and a charge for every link that counts.

    Attributes
    ----------
    log_total
        The log of the sum over graphs of exp(terms + charge · links).
    """

    def __init__(self, terms: Array, counted: Booleans, charge: float) -> None:
        n = len(terms)
        self.terms = terms.copy()
        for parent in range(n):
            self.terms.reshape(n, -1, 2, 1 << parent)[:, :, 1] += (charge * counted[parent])[:, None, None]
        sums = self.terms.copy()
        for parent in range(n):
            halves = sums.reshape(n, -1, 2, 1 << parent)
            halves[:, :, 1] = np.logaddexp(halves[:, :, 0], halves[:, :, 1])
        three = np.zeros(1 << n, dtype=np.int64)
        for node in range(n):
            three.reshape(-1, 2, 1 << node)[:, 1] += 3**node
        room = np.empty(1 << n, dtype=np.int64), np.empty(1 << n), np.empty(n, dtype=np.int64), np.empty(n)
        self._known = sums, three, *room
        self._below = np.empty(3**n)
        add_layers(*self._known, self._below)
        self.log_total = float(self._below[0])

    def arcs(self) -> Array:
        """Return how probable every arc is, at [parent, child]; (n, n)."""
        n = len(self.terms)
        out = np.zeros((n, n))
        arc_chances(*self._known, self._below, np.zeros(3**n), out)
        return out

    def draw(self, rng: np.random.Generator) -> Structure:
        """Return a graph drawn as often as it weighs: first its layers, then each variable's parents."""
        n = len(self.terms)
        layers = np.zeros(n, dtype=np.int64)
        many = draw_layers(*self._known, self._below, rng.random(n), layers)
        out: list[Parents] = [()] * n
        whole = last = 0
        for layer in map(int, layers[:many]):
            for child in (i for i in range(n) if layer >> i & 1):
                out[child] = self._parents(child, whole, last, rng)
            whole, last = whole | layer, layer
        return tuple(out)

    def _parents(self, child: int, whole: int, last: int, rng: np.random.Generator) -> Parents:
        sets = np.arange(self.terms.shape[1], dtype=np.int64)
        may = (sets & ~whole == 0) & ((sets & last != 0) | (last == 0))
        logs = self.terms[child, may]
        high = np.cumsum(np.exp(logs - logs.max()))
        chosen = int(sets[may][np.searchsorted(high, rng.random() * high[-1], side="right")])
        return tuple(i for i in range(len(self.terms)) if chosen >> i & 1)


def sum_of_graphs(terms: Array, prior: StructurePrior) -> tuple[float, Array]:
    """Return the log of the sum over graphs of exp(terms + log prior), and how probable every arc is."""
    parts = charges(prior)
    made = [AllGraphs(terms, prior.counted, part.link) for part in parts]
    logs = np.array([part.log_weight + each.log_total for part, each in zip(parts, made, strict=True)])
    total = float(logsumexp(logs))
    shares = np.exp(logs - total)
    arcs = sum(share * each.arcs() for share, each in zip(shares, made, strict=True) if share > SMALL)
    return total, np.asarray(arcs)
