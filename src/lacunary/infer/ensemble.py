"""Prediction with several models at once (CH96 section 2): predictions are averaged, not parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label, Schema
from lacunary.data.table import Table
from lacunary.data.wording import counted
from lacunary.errors import ImpossibleRowError
from lacunary.family.distribution import Answer, Distribution, NormalMixture
from lacunary.infer.answers import Answers, Target, as_table
from lacunary.infer.complete import completed
from lacunary.infer.mixture_answers import added, part_of
from lacunary.maths import special

__all__ = ["Ensemble"]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Models over the same variables, with weights that sum to one.

    What it says of a row is a mixture: each model counts by its weight times the probability it gave
    to what is observed. It has no graph and no tables of its own.

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

    def __str__(self) -> str:
        heaviest = float(np.max(self.weights, initial=0.0))
        return f"{counted(len(self.models), 'model')} to be asked as one; the heaviest weighs {heaviest:.3f}"

    __repr__ = __str__

    def log_probability(self, table: Any) -> NDArray[np.float64]:
        """Return log Σ weight · p(observed cells | model) for each row, in nats."""
        return np.asarray(special.logsumexp(self._log_mass(table), axis=0))

    def probability(self, given: Mapping[str, Label]) -> float:
        """Return the probability of these states together."""
        return float(self.weights @ [model.probability(given) for model in self.models])

    def query(
        self,
        *targets: str,
        given: Mapping[str, Label] | None = None,
        do: Mapping[str, Label] | None = None,
    ) -> Answer:
        """Return the joint distribution of some variables given the states or values of others.

        Of a continuous variable, asked about alone, it is a mixture of what all models say. ``do`` sets
        variables from outside, in every model by its own arcs; see `Network.query`.
        """
        mass = self.weights * np.array([model.probability(given or {}, do) for model in self.models])
        if not mass.sum() > 0:
            raise ImpossibleRowError(f"what is given has probability zero: {dict(given or {})}")
        told = [
            (model.query(*targets, given=given, do=do), share)
            for model, share in zip(self.models, mass / mass.sum(), strict=True)
            if share > 0
        ]
        mixtures = [
            replace(a, weights=share * a.weights) for a, share in told if isinstance(a, NormalMixture)
        ]
        if mixtures:
            return NormalMixture.mixed(mixtures)
        mean = np.sum([share * answer.probabilities for answer, share in told], axis=0)
        return Distribution(told[0][0].variables, mean)

    @property
    def schema(self) -> Schema:
        """The variables, in the order of the first model."""
        return self.models[0].dag.schema

    def posterior(self, table: Any, targets: Sequence[Target] | None = None) -> dict[Target, Any]:
        """Return the posterior of variables, or of sets of them, in every row; see `Answers.posterior`.

        Of a continuous variable it is a mixture of what all models say.
        """
        rows = as_table(table, self.schema)
        chosen: Sequence[Target] = self.schema.names if targets is None else targets
        parts: dict[Target, list[Any]] = {target: [] for target in chosen}
        for model, share in zip(self.models, self._shares(rows), strict=True):
            where = np.flatnonzero(share > 0)  # to this model the others are impossible
            for target, answer in model.posterior(rows.take(where), chosen).items():
                parts[target].append(part_of(answer, share, where))
        return {target: added(answers) for target, answers in parts.items()}

    def drawn(
        self, rows: Table, random: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return codes and reals with every hole drawn, each row's from a model drawn for it."""
        high = np.cumsum(self._shares(rows), axis=0)
        owner = (random.random(len(rows)) * high[-1] >= high[:-1]).sum(axis=0)
        codes, reals = rows.codes.astype(np.int64), np.array(rows.reals)
        for m in np.unique(owner):
            model, where = self.models[m], np.flatnonzero(owner == m)
            seen = rows.take(where).align(model.dag.schema)  # models may list variables in different orders
            states, values = completed(model.dag, model.parameters(), seen, random)
            back = [model.dag.schema.index(name) for name in self.schema.names]
            codes[where] = states[:, back]
            reals[where] = values[:, back] if values.shape[1] else values
        return codes, reals

    def _shares(self, rows: Table) -> NDArray[np.float64]:
        """Return how probable each model is given what is observed in each row; (models, rows)."""
        logs = self._log_mass(rows)
        if np.any(np.isneginf(logs).all(axis=0)):
            raise ImpossibleRowError("a row has probability zero under every model; it has no posterior")
        return np.asarray(np.exp(logs - special.logsumexp(logs, axis=0)))

    def _log_mass(self, table: Any) -> NDArray[np.float64]:
        """Return log weight + log p(observed cells | model); (models, rows)."""
        with np.errstate(divide="ignore"):
            weights = np.log(self.weights)
        return np.array([model.log_probability(table) for model in self.models]) + weights[:, None]
