"""Scores of families on expected moments: what structural EM searches by where variables are continuous.

The expected statistics of the complete model are triples, moments of the continuous variables in each
configuration of the discrete ones (TMCH98 eq. 14 and 16); those of every family are read off them.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from lacunary.data.schema import Schema
from lacunary.infer.prior import Standardised
from lacunary.infer.spread import Triples
from lacunary.structure.conditional_gaussian import ConditionalGaussian, ConditionalGaussianBIC
from lacunary.structure.gaussian import BGe, GaussianBIC
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
    kinds = np.array([variable.discrete for variable in schema], dtype=bool)
    moment, codes = triples.moment, triples.codes[:, kinds]
    if not kinds.any():
        return BGe(moment[0], prior.about) if criterion == "bd" else GaussianBIC(moment[0], variance=1.0)
    if criterion == "bic":
        return ConditionalGaussianBIC.of_moments(schema, codes, moment, variance=1.0)
    return ConditionalGaussian.of_moments(schema, codes, moment, prior.about, prior.tables)
