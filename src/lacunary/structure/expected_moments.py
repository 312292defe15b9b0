"""Scores of families on expected moments: what structural EM searches by where variables are continuous.

The expected statistics of the complete model are triples, moments of the continuous variables in each
configuration of the discrete ones (TMCH98 eq. 14 and 16); those of every family are read off them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np

from lacunary.data.schema import Schema
from lacunary.family.registry import family_class
from lacunary.infer.prior import Standardised
from lacunary.infer.spread import Triples
from lacunary.structure.conditional_gaussian import ConditionalGaussian, ConditionalGaussianBIC
from lacunary.structure.gaussian import BGe, GaussianBIC
from lacunary.structure.leaves import WithLeaves
from lacunary.structure.score import FamilyScore

__all__ = ["moment_score"]


def moment_score(
    schema: Schema, triples: Triples, criterion: Literal["bd", "bic"], prior: Standardised
) -> FamilyScore:
    """Return the score of families on expected statistics, whatever the variables' kinds.

    Parameters
    ----------
    schema
        The variables.
    triples
        Expected statistics, of standardised columns.
    criterion
        "bd": the log evidence under ``prior``; "bic": the greatest log-likelihood less (log N)/2 for
        every parameter; both of the standardised columns.
    prior
        Of standardised columns.
    """
    if triples.leaves:
        rest = [i for i in range(len(schema)) if i not in triples.leaves]
        plain = Triples(triples.codes[:, rest], triples.squares)
        inner = Schema(tuple(schema.variables[i] for i in rest))
        known = [i for i, v in enumerate(v for v in schema if not v.discrete) if not family_class(v).leaf]
        about = replace(prior, about=prior.about.marginal(known)) if known else prior
        others = moment_score(inner, plain, criterion, about) if rest else None
        size = float(triples.squares.count.sum())
        return WithLeaves(schema, others, triples.codes, triples.leaves, criterion, size)
    kinds = np.array([variable.discrete for variable in schema], dtype=bool)
    squares, codes = triples.squares, triples.codes[:, kinds]
    if not kinds.any():
        moment = squares.whole[0]
        return BGe(moment, prior.about) if criterion == "bd" else GaussianBIC(moment, variance=1.0)
    if criterion == "bic":
        return ConditionalGaussianBIC.of_moments(schema, codes, squares, variance=1.0)
    return ConditionalGaussian.of_moments(schema, codes, squares, prior.about, prior.tables)
