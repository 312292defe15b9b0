"""Scores of families on expected moments: what structural EM searches by where variables are continuous.

The expected statistics of the complete model are triples, moments of the continuous variables in each
configuration of the discrete ones (TMCH98 eq. 14 and 16); those of every family are read off them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.family.registry import family_class
from lacunary.infer.prior import Standardised
from lacunary.infer.spread import Triples
from lacunary.model.dag import Dag
from lacunary.structure.conditional_gaussian import ConditionalGaussian, ConditionalGaussianBIC
from lacunary.structure.discrete import BD, BIC
from lacunary.structure.gaussian import BGe, GaussianBIC
from lacunary.structure.leaves import WithLeaves
from lacunary.structure.score import FamilyScore, Parents

__all__ = ["ExpectedMoments"]

Array = NDArray[np.float64]


class ExpectedMoments:
    """A score of families on what a network expects the rows to hold, whatever the variables' kinds.

    Parameters
    ----------
    schema
        The variables.
    triples
        Expected statistics of the complete model, of standardised columns.
    criterion
        "bd": the log evidence under ``prior``; "bic": the greatest log-likelihood less (log N)/2 for
        every parameter; both of the standardised columns.
    prior
        Of standardised columns.
    """

    def __init__(
        self, schema: Schema, triples: Triples, criterion: Literal["bd", "bic"], prior: Standardised
    ) -> None:
        self.triples = triples
        self._score = _score(schema, triples, criterion, prior)

    @property
    def variables(self) -> int:
        """How many variables there are."""
        return self._score.variables

    @property
    def allowed(self) -> NDArray[np.bool_]:
        """Which arcs can be, ``[parent, child]``; (n, n)."""
        return self._score.allowed

    def family(self, child: int, parents: Parents) -> float:
        """Return the child's term, given its parents."""
        return self._score.family(child, parents)

    def toggled(self, child: int, parents: Parents) -> Array:
        """Return the child's term with each variable put in or taken out of its parents; (n,)."""
        return self._score.toggled(child, parents)

    def statistics(self, dag: Dag) -> Array:
        """Return the expected statistics of a graph's families; (statistics size,)."""
        return self.triples.statistics(dag)


def _score(
    schema: Schema, triples: Triples, criterion: Literal["bd", "bic"], prior: Standardised
) -> FamilyScore:
    if triples.leaves:
        rest = [i for i in range(len(schema)) if i not in triples.leaves]
        plain = Triples(triples.codes[:, rest], triples.moment)
        inner = Schema(tuple(schema.variables[i] for i in rest))
        known = [i for i, v in enumerate(v for v in schema if not v.discrete) if not family_class(v).leaf]
        about = replace(prior, about=prior.about.marginal(known)) if known else prior
        others = _score(inner, plain, criterion, about) if rest else None
        size = float(triples.moment[:, 0, 0].sum())
        return WithLeaves(schema, others, triples.codes, triples.leaves, criterion, size)
    kinds = np.array([variable.discrete for variable in schema], dtype=bool)
    moment, codes = triples.moment, triples.codes[:, kinds]
    if not kinds.any():
        return BGe(moment[0], prior.about) if criterion == "bd" else GaussianBIC(moment[0])
    if kinds.all():
        counted = Table(schema, np.array(codes), weights=np.array(moment[:, 0, 0]))
        return BD(counted, prior.tables) if criterion == "bd" else BIC(counted)
    if criterion == "bic":
        return ConditionalGaussianBIC.of_moments(schema, codes, moment)
    return ConditionalGaussian.of_moments(schema, codes, moment, prior.about, prior.tables)
