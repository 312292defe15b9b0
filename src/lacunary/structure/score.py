"""What a search needs to know of a score: that it is a sum over families."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lacunary.data.schema import Schema
from lacunary.errors import TableError
from lacunary.family.registry import family_class
from lacunary.kernels.ascent import Law, is_due
from lacunary.maths.arrays import Array, Booleans

__all__ = [
    "FamilyScore",
    "Parents",
    "Structure",
    "Sum",
    "allowed_arcs",
    "check_observed",
    "law_of",
    "toggle",
    "total",
]

Parents = tuple[int, ...]
"""Parents of a variable as positions in the schema, in increasing order."""

Structure = tuple[Parents, ...]
"""A graph: the parents of each variable, as positions in the schema, in increasing order."""


class FamilyScore(Protocol):
    """A score of graphs over n variables that is a sum of terms, one for each variable and its parents.

    Scores are in nats, higher is better, and no constant is dropped: the sum over all families is the
    log evidence (or its approximation) itself. Variables are positions in the schema. A score is asked
    for the same families again and again: searches remember what they were told (`Cache`), so a score
    need not.

    Attributes
    ----------
    allowed
        ``allowed[parent, child]`` is false where no graph that this score knows has the arc: on the
        diagonal, and from a continuous parent to a discrete child (`allowed_arcs`). What a user requires
        or forbids is no affair of the score; see `Constraints`.
    """

    @property
    def variables(self) -> int:
        """How many variables there are: n."""
        ...

    @property
    def allowed(self) -> Booleans:
        """Which arcs can be, ``[parent, child]``; (n, n)."""
        ...

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents in increasing order."""
        ...

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,).

        Entry j is the term with parent j added if it is not among ``parents``, and removed if it is;
        −inf where the arc is not allowed, or where the family is too large to be scored.
        """
        ...


def plans_ahead(score: FamilyScore) -> bool:
    """Whether it is anything to a score which families it will be asked for next (`announce`, `fetch`)."""
    return getattr(score, "announce", None) is not None or getattr(score, "several", None) is not None


def announce(score: FamilyScore, families: Iterable[tuple[int, Iterable[int]]], toggled: bool = True) -> None:
    """Tell a score which families it will be asked for next, alone or toggled too.

    To most scores that is nothing; one whose rows lie in many places asks them all at once.
    """
    told = getattr(score, "announce", None)
    if told is not None:
        told([(child, tuple(sorted(parents))) for child, parents in families], toggled)


def fetch(score: FamilyScore, families: Iterable[tuple[int, Parents]], toggled: bool = True) -> None:
    """Let a score that remembers work out several families at once: they are asked for next, toggled or not.

    It does so where the score beneath can (``several``), on several threads if that pays.
    """
    together = getattr(score, "fetch", None)
    if together is not None:
        together(families, toggled)


@dataclass(frozen=True, eq=False)
class Sum:
    """The sum of several scores: of one structure for all components of a mixture."""

    scores: Sequence[FamilyScore]

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return self.scores[0].variables

    @property
    def allowed(self) -> Booleans:
        """Which arcs can be."""
        return self.scores[0].allowed

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        return sum(score.family(child, parents) for score in self.scores)

    def announce(self, families: Sequence[tuple[int, Parents]], toggled: bool) -> None:
        """Tell all scores which families they will be asked for."""
        for score in self.scores:
            announce(score, families, toggled)

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        return np.asarray(sum(score.toggled(child, parents) for score in self.scores))


def law_of(score: FamilyScore) -> Law | None:
    """Return how kernels work out a score that is read off one matrix; none for others, or unless it pays."""
    law: Law | None = getattr(score, "matrix_law", None)
    return law if law is not None and is_due(score.variables) else None


def toggle(parents: Parents, other: int) -> Parents:
    """Return the parents with one more, or with that one less; in increasing order."""
    if other in parents:
        return tuple(p for p in parents if p != other)
    return tuple(sorted((*parents, other)))


def total(score: FamilyScore, parents: Sequence[Iterable[int]]) -> float:
    """Return the score of a whole graph, given the parents of each variable."""
    announce(score, enumerate(parents), toggled=False)
    return float(sum(score.family(child, tuple(sorted(ps))) for child, ps in enumerate(parents)))


def allowed_arcs(schema: Schema) -> Booleans:
    """Return which arcs kinds allow, ``[parent, child]``: all but to itself and continuous → discrete.

    Leaves have discrete parents and no children.
    """
    discrete = np.array([variable.discrete for variable in schema], dtype=bool)
    if discrete.all():
        return ~np.eye(len(discrete), dtype=bool)
    leaf = np.array([family_class(variable).leaf for variable in schema], dtype=bool)
    allowed = discrete[:, None] | ~(discrete | leaf)[None, :] & ~leaf[:, None]
    np.fill_diagonal(allowed, False)
    return np.asarray(allowed)


def check_observed(names: Sequence[str], holes: Booleans) -> None:
    """Refuse columns with holes, (rows, columns), where families are counted; no row is ever left out."""
    for name, many in zip(names, holes.sum(axis=0), strict=True):
        if many:
            raise TableError(
                f"{name} has {many} missing values, so its families cannot be counted; no row is left out: "
                "`search` puts expected counts in their place, by structural EM"
            )
