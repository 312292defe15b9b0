"""Prediction with several models at once (CH96 section 2): predictions are averaged, not parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Schema
from lacunary.data.wording import counted
from lacunary.errors import ImpossibleRowError
from lacunary.infer.answers import Answers
from lacunary.infer.mixture_answers import MixtureAnswers
from lacunary.maths import special

__all__ = ["Ensemble"]


@dataclass(frozen=True, eq=False)
class Ensemble(MixtureAnswers):
    """Models over the same variables, with weights that sum to one.

    What it says of a row is a mixture: each model counts by its weight times the probability it gave
    to what is observed. It has no graph and no tables of its own; what ``do`` sets from outside it sets in
    every model by its own arcs.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.asia().sample(200, rng=0)
    >>> one, two = (lac.fit(graph, rows).network for graph in ("smoke -> lung", "smoke; lung"))
    >>> both = lac.Ensemble((one, two), [0.75, 0.25])
    >>> answers = [model.query("lung", given={"smoke": "yes"})["yes"] for model in (both, one, two)]
    >>> bool(abs(answers[0] - 0.75 * answers[1] - 0.25 * answers[2]) < 1e-12)
    True
    """

    models: tuple[Answers, ...]
    weights: NDArray[np.float64]
    noise: ClassVar[None] = None

    def __str__(self) -> str:
        heaviest = float(np.max(self.weights, initial=0.0))
        return f"{counted(len(self.models), 'model')} to be asked as one; the heaviest weighs {heaviest:.3f}"

    __repr__ = __str__

    def log_probability(self, table: Any) -> NDArray[np.float64]:
        """Return log Σ weight · p(observed cells | model) for each row, in nats."""
        return np.asarray(special.logsumexp(self._log_mass(table), axis=0))

    @property
    def components(self) -> tuple[Answers, ...]:
        """The models."""
        return self.models

    @property
    def schema(self) -> Schema:
        """The variables, in the order of the first model."""
        return self.models[0].dag.schema

    def responsibilities(self, table: Any) -> NDArray[np.float64]:
        """Return how probable each model is given what is observed in each row; (rows, models)."""
        logs = self._log_mass(table)
        if np.any(np.isneginf(logs).all(axis=0)):
            raise ImpossibleRowError("a row has probability zero under every model; it has no posterior")
        return np.asarray(np.exp(logs - special.logsumexp(logs, axis=0)).T)

    def _log_mass(self, table: Any) -> NDArray[np.float64]:
        """Return log weight + log p(observed cells | model); (models, rows)."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)
        return np.array([model.log_probability(table) for model in self.models]) + weights[:, None]
