"""Scores of families on expected counts: the criterion by which structural EM searches.

With D′ the imaginary complete data whose counts are the expected ones under the present network, the score of
any graph m is log p(D′ | m), a sum over families (TMCH98 eq. 12–13). The expected counts of a family, in the
present graph or not, are read off the rows' islands (`lacunary.infer.islands`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from math import prod
from typing import Literal

import numpy as np

from lacunary.errors import ParameterError
from lacunary.evidence.charge import price
from lacunary.infer import island_terms
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.infer.islands import Islands, IslandSum
from lacunary.infer.parallel import worth
from lacunary.kernels.families import BDEU, DIRICHLET, LIKELIHOOD, family_terms
from lacunary.maths.arrays import Array, Integers
from lacunary.structure.discrete import ALONE, NO_ROOM, table_evidence
from lacunary.structure.score import Parents, allowed_arcs, toggle

__all__ = ["ExpectedCounts"]


SLOTS = 31
"""Sizes of tables for which log Γ of the prior's share is kept while a family is scored."""

COUNTED, SCORED = 3.5, 2e-5
"""What it takes to count and score a family with each other variable in or out: so many times as long as to
count it with them, and so many seconds beside."""

CELLS = 2**25
"""Expected counts that are held at a time (256 MiB): a family for which they are more is not scored."""


class ExpectedCounts:
    """A score of families on what a network expects the rows to hold.

    Counts need not be whole: the closed form of the evidence holds with log Γ of any number.

    Parameters
    ----------
    islands
        What the present network says about the rows' holes.
    criterion
        "bd": the log evidence of D′ under ``prior``; "bic": its maximum log-likelihood less (log N)/2
        for every free parameter.
    prior
        A prior of tables, by default ``bdeu(1)``.
    """

    def __init__(
        self, islands: Islands | IslandSum, criterion: Literal["bd", "bic"] = "bd", prior: Prior | None = None
    ) -> None:
        if criterion not in ("bd", "bic"):
            raise ParameterError(f"the criterion is 'bd' or 'bic', not {criterion!r}")
        self.islands, self.criterion = islands, criterion
        self.prior = BDeu(1.0) if prior is None else prior
        self.schema, self.size = islands.schema, islands.size
        self._alike = criterion == "bic" or isinstance(self.prior, BDeu | Dirichlet)  # one α in a family
        self.allowed = allowed_arcs(self.schema)
        self._sizes = np.array(self.schema.sizes, dtype=np.int64)
        # The last column, the family by itself, stands as a variable of one state.
        self._first = np.concatenate([[0], np.cumsum(self._sizes), [self._sizes.sum() + 1]]).astype(np.int64)

    @property
    def seconds(self) -> float:
        """About how long a family takes; nothing where rows lie in many places, which are asked in turn."""
        return COUNTED * self.islands.seconds + SCORED if isinstance(self.islands, Islands) else 0.0

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return len(self.schema)

    def counts(self, child: int, parents: Parents) -> Array:
        """Return E[N_jk] of a family: parents first, in the order given, the child last."""
        return self.islands.counts((*parents, child))

    @property
    def announce(self) -> Callable[[Sequence[tuple[int, Parents]], bool], None] | None:
        """What tells the islands which families will be asked for, where they lie in many places."""
        return self._announce if isinstance(self.islands, IslandSum) else None

    def _announce(self, families: Sequence[tuple[int, Parents]], toggled: bool) -> None:
        assert isinstance(self.islands, IslandSum)
        most = CELLS // (int(self._first[-1]) if toggled else 1)
        some = [(*parents, child) for child, parents in families if self._cells(child, parents) <= most]
        self.islands.announce(some, toggled)

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        if self._cells(child, parents) > CELLS:
            return -np.inf
        return self._one(child, parents, self.counts(child, parents))

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        return self.terms(child, parents)[:-1]

    def terms(self, child: int, parents: Parents) -> Array:
        """Return the toggled terms and, last, the term as it is, to the same bits as `family`; (n + 1,)."""
        return self.several([(child, parents)])[0]

    def several(self, families: Sequence[tuple[int, Parents]]) -> list[Array]:
        """Return `terms` of several families; threads share them, or the rows of a single large one."""
        islands, found = self.islands, dict[tuple[int, Parents], Array]()
        if self._alike and isinstance(islands, Islands) and len(families) >= worth(islands.seconds):
            most = 0 if len(islands.trees.row) else min(CELLS, island_terms.CELLS) // self._first[-1]
            small = [one for one in dict.fromkeys(families) if self._cells(*one) <= most]
            found |= zip(small, self._at_once(islands, small), strict=True)
        return [found[one] if one in found else self._terms(*one) for one in families]

    def _at_once(self, islands: Islands, families: Sequence[tuple[int, Parents]]) -> Array:
        """Return the terms of families that are counted and scored in a few calls of a kernel."""
        members = [(*parents, child) for child, parents in families]
        out = island_terms.terms_of(islands, members, self._law, self.seconds)
        out[:, :-1][~self.allowed.T[[child for child, _ in families]]] = -np.inf
        return out

    def _terms(self, child: int, parents: Parents) -> Array:
        """Return the terms of a family that is large, or whose prior is asked for every cell."""
        out = np.zeros(self.variables + 1)
        if self._cells(child, parents) * self._first[-1] > CELLS:
            out[:-1], out[-1] = self._removed(child, parents), self.family(child, parents)
            return out
        if not self._alike:
            others = np.flatnonzero(self.allowed[:, child])
            out[:-1], out[-1] = -np.inf, self.family(child, parents)
            out[others] = [self.family(child, toggle(parents, int(other))) for other in others]
            return out
        members = (*parents, child)
        wide, found = self.islands.counts_with_others(members), np.empty(self.variables + 2)
        self._put(members, self._first, wide, np.empty((2, len(wide), 1)), found)
        out[:-1], out[-1] = found[:-2], found[-1]
        out[:-1][~self.allowed[:, child]] = -np.inf
        return out

    def _removed(self, child: int, parents: Parents) -> Array:
        """Return the terms with each parent taken out; with one more the family is too large."""
        out = np.full(self.variables, -np.inf)
        for parent in parents:
            out[parent] = self.family(child, toggle(parents, parent))
        return out

    def _cells(self, child: int, parents: Parents) -> int:
        return prod(self.schema.sizes[v] for v in (*parents, child))

    def _one(self, child: int, parents: Parents, counts: Array) -> float:
        if not self._alike:
            return table_evidence(self.prior, self.schema, child, parents, counts)
        out = np.empty(1)
        self._put((*parents, child), ALONE, counts.reshape(-1, 1), NO_ROOM, out)
        return float(out[0])

    def _put(self, members: Parents, first: Integers, counts: Array, room: Array, out: Array) -> None:
        """Write the terms of a family, parents and child; see `family_terms`. Threads share no memory."""
        many, keys = float(len(counts) // self.schema.sizes[members[-1]]), np.zeros((2, SLOTS))
        memory = keys, np.empty((2, SLOTS, 1)), np.empty((2, len(first) - 1), dtype=np.int64)
        family_terms(
            counts, np.array(members), self._sizes, many, first, ALONE, self._law, *memory, room, out
        )

    @cached_property
    def _law(self) -> Array:
        """What counts add to the score (`lacunary.kernels.families`)."""
        if self.criterion == "bic":
            return np.array([LIKELIHOOD, 0.0, price(self.size)])
        if isinstance(self.prior, BDeu):
            return np.array([BDEU, float(self.prior.ess), 0.0])
        assert isinstance(self.prior, Dirichlet)
        return np.array([DIRICHLET, float(self.prior.alpha), 0.0])
