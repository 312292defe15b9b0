"""Prediction with several models at once (CH96 section 2): predictions are averaged, not parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Schema
from lacunary.data.wording import counted
from lacunary.errors import ImpossibleRowError
from lacunary.exactness import announced
from lacunary.infer.answers import Answers
from lacunary.infer.mixture_answers import MixtureAnswers
from lacunary.maths import special
from lacunary.maths.drawn import shares_with_error, sum_with_error, with_errors_of

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

    @announced
    def log_probability(self, table: Any, *, exact: bool = False) -> NDArray[np.float64]:
        """Return log Σ weight · p(observed cells | model) for each row, in nats."""
        logs = self._log_mass(table)
        found = np.asarray(special.logsumexp(np.asarray(logs).T, axis=0))
        return sum_with_error(found, logs, found[:, None])

    @property
    def components(self) -> tuple[Answers, ...]:
        """The models."""
        return self.models

    @property
    def schema(self) -> Schema:
        """The variables, in the order of the first model."""
        return self.models[0].dag.schema

    @announced
    def responsibilities(self, table: Any, *, exact: bool = False) -> NDArray[np.float64]:
        """Return how probable each model is given what is observed in each row; (rows, models)."""
        drawn = self._log_mass(table)
        logs = np.asarray(drawn).T
        if np.any(np.isneginf(logs).all(axis=0)):
            raise ImpossibleRowError("a row has probability zero under every model; it has no posterior")
        return shares_with_error(np.asarray(np.exp(logs - special.logsumexp(logs, axis=0)).T), drawn)

    def _log_mass(self, table: Any) -> NDArray[np.float64]:
        """Return log weight + log p(observed cells | model); (rows, models)."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)
        logs = [model.log_probability(table) for model in self.models]
        return with_errors_of((np.array(logs) + weights[:, None]).T, logs)
