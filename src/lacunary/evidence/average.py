"""Prediction with several models at once, each weighted by its posterior probability (CH96 section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from lacunary.data.schema import Label
from lacunary.errors import ImpossibleRowError
from lacunary.infer.answers import Answers
from lacunary.infer.distribution import Distribution

__all__ = ["ModelAverage"]


@dataclass(frozen=True, eq=False)
class ModelAverage:
    """Models over the same observed variables, with weights that sum to one."""

    models: tuple[Answers, ...]
    weights: NDArray[np.float64]

    def log_probability(self, table: Any) -> NDArray[np.float64]:
        """Return log Σ weight · p(observed cells | model) for each row, in nats."""
        logs = np.array([model.log_probability(table) for model in self.models])
        with np.errstate(divide="ignore"):
            return np.asarray(logsumexp(logs + np.log(self.weights)[:, None], axis=0))

    def query(self, *targets: str, given: Mapping[str, Label] | None = None) -> Distribution:
        """Return the joint distribution of observed variables, given the states of others.

        A model counts by its weight times the probability it gave to what is given.
        """
        evidence = [model.probability(given or {}) for model in self.models]
        mass = self.weights * np.array(evidence)
        if not mass.sum() > 0:
            raise ImpossibleRowError(f"what is given has probability zero: {dict(given or {})}")
        answers = [
            m.query(*targets, given=given) if w > 0 else None for m, w in zip(self.models, mass, strict=True)
        ]
        told = [(a, w) for a, w in zip(answers, mass / mass.sum(), strict=True) if a is not None]
        mean = np.sum([w * a.probabilities for a, w in told], axis=0)
        return Distribution(told[0][0].variables, mean)
