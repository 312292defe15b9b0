"""The best graph there is, by dynamic programming over sets of variables.

Silander and Myllymäki (2006): the best parents of a variable within a set are all of it that is allowed,
or the best within a smaller set; the best graph on a set has a last variable with its best parents within
the rest. Work and memory grow like n 2ⁿ⁻¹: with 20 variables 187 MB and, once families are scored, seconds.
Where a prior charges each link by how many there are, this is done for some charges (`best_by_links`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import reserve, said
from lacunary.errors import TooWideError
from lacunary.maths.arrays import Array, Integers
from lacunary.structure.climb import forward
from lacunary.structure.constraints import Constraints
from lacunary.structure.prior import StructurePrior, best_by_links
from lacunary.structure.score import FamilyScore, Parents, Structure, announce
from lacunary.structure.walk import Walk

__all__ = ["Exact", "Tables", "asked_sets", "asked_size"]

MOST_VARIABLES = 25
MOST_FAMILIES = 4_000_000


@dataclass(frozen=True)
class Exact:
    """Find a graph that no other beats; to about 20 variables."""

    name = "exact"

    def run(self, walk: Walk) -> None:
        """Search, telling after each variable whose families are scored."""
        tables = Tables(walk.board.score, walk.board.constraints, walk.board.prior)
        for child in range(tables.n):
            tables.fill(child)
            walk.tell((child + 1) / tables.n)
        before = walk.best
        walk.jump(tables.best())
        if walk.best is not before:
            forward(walk)


class Tables:
    """The best terms of every variable within every set of the others, and the best graphs they make.

    A set of the n − 1 others is a number whose bits are its members, the child's own place left out.

    Attributes
    ----------
    terms
        For each child and set of parents, its term; −inf where it cannot be; (n, 2ⁿ⁻¹).
    """

    def __init__(
        self, score: FamilyScore, constraints: Constraints, prior: StructurePrior | None = None
    ) -> None:
        self.score, self.constraints, self.n = score, constraints, score.variables
        self.prior = StructurePrior.of(None, constraints) if prior is None else prior
        _check_size(self.n, constraints)
        self.terms = np.full((self.n, 1 << max(self.n - 1, 0)), -np.inf)

    def fill(self, child: int) -> None:
        """Score the child's families."""
        terms, score, most = self.terms[child], self.score, self.constraints.max_parents
        bits = np.array([_packed(child, (other,)) for other in range(self.n)])
        candidates = np.flatnonzero(self.constraints.free[:, child] & score.allowed[:, child]).tolist()
        sets = list(asked_sets(candidates, most))
        announce(score, [(child, parents) for parents, _ in sets])
        for parents, others in sets:
            place = _packed(child, parents)
            terms[place] = score.family(child, parents)
            if others:
                terms[place ^ bits[others]] = score.toggled(child, parents)[others]
        numbers = np.arange(len(terms), dtype=np.int64)
        required = _packed(child, tuple(map(int, np.flatnonzero(self.constraints.required[:, child]))))
        size = sum((numbers >> bit) & 1 for bit in range(self.n - 1))
        terms[((numbers & required) != required) | (size > most)] = -np.inf

    def best(self) -> list[Parents]:
        """Return the parents of each variable in the best graph on all variables."""
        return list(best_by_links(self.prior, self._solved)[0])

    def _solved(self, charge: float) -> tuple[Structure, float]:
        """Return the graph of greatest score and ``charge`` for every link that counts, and what it has."""
        n, value = self.n, self._spread(charge)
        top, last = np.full(1 << n, -np.inf), np.zeros(1 << n, dtype=np.int8)
        top[0] = 0.0
        sets = np.arange(1 << n, dtype=np.int64)
        size = sum((sets >> bit) & 1 for bit in range(n))
        for count in range(1, n + 1):
            layer = sets[size == count]
            for child in range(n):
                with_child = layer[(layer >> child) & 1 == 1]
                rest = with_child ^ (1 << child)
                there = top[rest] + value[child, _dropped(rest, child)]
                better = there > top[with_child]
                top[with_child[better]] = there[better]
                last[with_child[better]] = child
        return self._traced(value, last), float(top[-1])

    def _spread(self, charge: float) -> Array:
        """Return the best term within each set: its own, or that of a smaller one; (n, 2ⁿ⁻¹)."""
        value = self.terms.copy()
        for child in range(self.n):
            for bit in range(self.n - 1):
                halves = value[child].reshape(-1, 2, 1 << bit)
                if self.prior.counted[bit + (bit >= child), child]:
                    halves[:, 1] += charge
            for bit in range(self.n - 1):
                halves = value[child].reshape(-1, 2, 1 << bit)
                np.maximum(halves[:, 0], halves[:, 1], out=halves[:, 1])
        return value

    def _traced(self, value: Array, last: NDArray[np.int8]) -> Structure:
        out: list[Parents] = [()] * self.n
        rest = (1 << self.n) - 1
        while rest:
            child = int(last[rest])
            rest ^= 1 << child
            packed = _least(value[child], int(_dropped(np.array([rest]), child)[0]))
            out[child] = tuple(j + (j >= child) for j in range(self.n - 1) if packed >> j & 1)
        return tuple(out)


def asked_sets(candidates: Sequence[int], most: int) -> Iterator[tuple[Parents, list[int]]]:
    """Yield sets of parents to ask a score for, each with the others to be toggled: so all sets are met.

    A score tells the term of a set and of all that differ from it by one. Where sets may be large, those of
    a perfect code are asked for (Hamming 1950): any other differs from one of them by one. Of 2ʳ − 1
    candidates these are the sets whose numbers, counted from one, have an even number of ones at each binary
    digit. Where ``most`` is small all sets that can grow are asked for, and what they grow to.
    """
    if not coded(len(candidates), most):
        yield from _growing(candidates, most)
        return
    count = _digits(len(candidates))
    inside, outside = list(candidates[: (1 << count) - 1]), candidates[(1 << count) - 1 :]
    checks = [(1 << digit) - 1 for digit in range(count)]
    plain = [place for place in range(len(inside)) if place not in checks]
    for chosen in _subsets([*plain, *range(len(inside), len(candidates))], most + 1):
        syndrome = 0
        for place in chosen:
            syndrome ^= place + 1 if place < len(inside) else 0
        chosen += [check for digit, check in enumerate(checks) if syndrome >> digit & 1]
        if len(chosen) <= most + 1:
            known = [*inside, *outside]
            yield tuple(sorted(known[place] for place in chosen)), inside


def _subsets(places: Sequence[int], most: int) -> Iterator[list[int]]:
    """Go over all sets of at most so many places."""
    for size in range(min(len(places), most) + 1):
        for chosen in combinations(places, size):
            yield list(chosen)


def _growing(candidates: Sequence[int], most: int) -> Iterator[tuple[Parents, list[int]]]:
    """Go over sets that can grow, with the candidates behind their last: so each set is met once."""
    if not (candidates and most):
        yield (), []
    for chosen in _subsets(range(len(candidates) - 1), most - 1) if candidates else ():
        yield tuple(candidates[i] for i in chosen), list(candidates[chosen[-1] + 1 if chosen else 0 :])


def _digits(many: int) -> int:
    """Return r, where 2ʳ − 1 of so many candidates make a perfect code."""
    return (many + 1).bit_length() - 1


def coded(many: int, most: int) -> bool:
    """Whether a code asks for fewer sets than growing does."""
    return _code_size(many, most) < _growing_size(many, most)


def asked_size(many: int, most: int) -> float:
    """Return about how many sets of so many candidates, and at most so many of them, are asked for."""
    return min(_code_size(many, most), _growing_size(many, most))


def _code_size(many: int, most: int) -> float:
    return sum(comb(many, k) for k in range(min(many, most + 1) + 1)) / (1 << _digits(many))


def _growing_size(many: int, most: int) -> float:
    return float(sum(comb(max(many - 1, 0), k) for k in range(min(many, most))))


def _least(value: Array, packed: int) -> int:
    """Return the smallest set whose best term is that of a given one: the parents that have it."""
    for bit in range(len(value).bit_length() - 1):
        if packed >> bit & 1 and value[packed ^ (1 << bit)] >= value[packed]:
            packed ^= 1 << bit
    return packed


def _packed(child: int, parents: Parents) -> int:
    """Return parents as a set of the child's others."""
    return sum(1 << (p - (p > child)) for p in parents)


def _dropped(sets: Integers, child: int) -> Integers:
    """Return sets without the child's place."""
    low = sets & ((1 << child) - 1)
    return np.asarray(low | (sets >> (child + 1) << child))


def _check_size(n: int, constraints: Constraints) -> None:
    """Refuse what would take too long or too much memory, before any of it is taken."""
    bytes_needed = n * 2 ** max(n - 1, 0) * 16 + 2**n * 18
    advice = "it is meant for about 20: use method='tabu', or leave variables out"
    if n > MOST_VARIABLES:
        raise TooWideError(f"exact search over {n} variables would take {said(bytes_needed)}; {advice}")
    reserve(bytes_needed, f"exact search over {n} variables", advice, TooWideError)
    candidates = constraints.free.sum(axis=0)
    families = sum(
        comb(int(c), k) for c in candidates for k in range(min(int(c), constraints.max_parents) + 1)
    )
    if families > MOST_FAMILIES:
        raise TooWideError(
            f"exact search would score {families:,} families; give max_parents=4, or use method='tabu'"
        )
