"""Prediction with several models at once (CH96 section 2): predictions are averaged, not parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label
from lacunary.errors import ImpossibleRowError
from lacunary.infer.answers import Answers, Target, as_table
from lacunary.infer.distribution import Distribution, NormalMixture
from lacunary.infer.posterior import marginals
from lacunary.maths import special

__all__ = ["Ensemble"]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Models over the same variables, with weights that sum to one.

    What it says of a row is a mixture: each model counts by its weight times the probability it gave
    to what is observed. It has no graph and no tables of its own.
    """

    models: tuple[Answers, ...]
    weights: NDArray[np.float64]

    def log_probability(self, table: Any) -> NDArray[np.float64]:
        """Return log Σ weight · p(observed cells | model) for each row, in nats."""
        return np.asarray(special.logsumexp(self._log_mass(table), axis=0))

    def probability(self, given: Mapping[str, Label]) -> float:
        """Return the probability of these states together."""
        return float(self.weights @ [model.probability(given) for model in self.models])

    def query(self, *targets: str, given: Mapping[str, Label] | None = None) -> Any:
        """Return the joint distribution of some variables given the states or values of others.

        Of a continuous variable, asked about alone, it is a mixture of what all models say.
        """
        mass = self.weights * np.array([model.probability(given or {}) for model in self.models])
        if not mass.sum() > 0:
            raise ImpossibleRowError(f"what is given has probability zero: {dict(given or {})}")
        told = [
            (model.query(*targets, given=given), share)
            for model, share in zip(self.models, mass / mass.sum(), strict=True)
            if share > 0
        ]
        if isinstance(told[0][0], NormalMixture):
            return _mixture(told)
        mean = np.sum([share * answer.probabilities for answer, share in told], axis=0)
        return Distribution(told[0][0].variables, mean)

    def posterior(
        self, table: Any, targets: Sequence[Target] | None = None
    ) -> dict[Target, NDArray[np.float64]]:
        """Return the posterior of variables, or of sets of them, in every row; see `Answers.posterior`."""
        schema = self.models[0].dag.schema
        rows = as_table(table, schema)
        chosen: Sequence[Target] = schema.names if targets is None else targets
        sets = [[name] if isinstance(name, str) else list(name) for name in chosen]
        logs = self._log_mass(rows)
        if np.any(np.isneginf(logs).all(axis=0)):
            raise ImpossibleRowError("a row has probability zero under every model; it has no posterior")
        shares = np.exp(logs - special.logsumexp(logs, axis=0))
        found = [np.zeros((len(rows), *(schema[name].size for name in names))) for names in sets]
        for model, share in zip(self.models, shares, strict=True):
            where = [[model.dag.schema.index(name) for name in names] for names in sets]
            seen = rows.align(model.dag.schema)  # models may list their variables in different orders
            for total, part in zip(found, marginals(model.dag, model.parameters(), seen, where), strict=True):
                total += share.reshape(-1, *[1] * (part.ndim - 1)) * part
        return dict(zip(chosen, found, strict=True))

    def _log_mass(self, table: Any) -> NDArray[np.float64]:
        """Return log weight + log p(observed cells | model); (models, rows)."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)
        return np.array([model.log_probability(table) for model in self.models]) + weights[:, None]


def _mixture(told: Sequence[tuple[NormalMixture, float]]) -> NormalMixture:
    """Return mixtures of one kind as one, with all their components; each counts by its share."""
    weighted = [replace(answer, weights=share * answer.weights) for answer, share in told]
    names = [f.name for f in fields(weighted[0]) if f.name != "variable"]
    parts: dict[str, Any] = {
        name: np.concatenate([getattr(one, name) for one in weighted], axis=-1) for name in names
    }
    return replace(weighted[0], **parts)
