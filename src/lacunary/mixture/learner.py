"""A mixture while it is learned: starts, EM, and what the mixture is worth.

With shares r_lc = p(component c | row l), EM alternates the shares and the models that would be best were
the shares observed (TMCH98 sections 3–5). Mixture weights are at their mode in the softmax basis,
(N_c + α_c)/(N + Σα), since the paper's hyperparameters lie below one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from operator import attrgetter
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from lacunary.data.parts import Deferred, Own, Parts
from lacunary.data.schema import Schema
from lacunary.data.source import in_tree
from lacunary.evidence.bic import bic_terms
from lacunary.evidence.cheeseman_stutz import expected_terms
from lacunary.evidence.estimate import Estimate
from lacunary.infer.mixture import Mixture, Noise, shared_out
from lacunary.learn.stop import Stop, check_number
from lacunary.mixture.engine import Engine
from lacunary.mixture.noise import Bounds
from lacunary.structure.plan import Notes, State, Weighed
from lacunary.structure.score import FamilyScore, Structure
from lacunary.structure.shares import ByRow, Owners, Shares, all_of, counted, everything

__all__ = ["CONVERGED", "Choice", "Completed", "MixtureLearner", "Parameters", "Told"]

Array = NDArray[np.float64]

CONVERGED = Stop(share=1e-6, relative=1e-9, iterations=1000)
"""EM has converged when the last change is a millionth of the change since the start (TMCH98 section 6).

Or a billionth of the objective: from a good start the change since then is small."""

Choice = Literal["cheeseman-stutz", "bic", "laplace", "ais", "variational"]
"""The estimates by which the number of components is chosen; starts of one number by the first two alone."""

MOST_NOISE = 0.05
"""The largest share with which the noise begins where components begin with groups of rows."""

SHARED = 2.0**19
"""Rows times components times squared columns from which on climbs, or chains, go on at once, a thread each:
with less, threads wait for the interpreter."""

EMPTY = 1.0
"""A component with less than one row's worth of shares is taken out."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Parameters of all components, their weights (the noise last), and the noise."""

    models: Any
    weights: Array
    noise: Noise | None


@dataclass(frozen=True, eq=False)
class Completed:
    """What an E-step gives: shares, the components' expected statistics, and the log-likelihood.

    Attributes
    ----------
    shares
        p(component | row), the noise last, where the rows are.
    counts
        Σ over rows of weight · share; (components,).
    statistics
        The engine's, of all components but the noise.
    log_likelihood
        log p(observed cells | parameters), in nats.
    """

    shares: Parts[Shares]
    counts: Array
    statistics: Any
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Told:
    """What an E-step adds up over rows.

    Attributes
    ----------
    counts
        Σ of weight · share; (components,).
    sums
        What the components expect of their rows: `Owners.statistics`.
    log_likelihood
        log p(observed cells | parameters), in nats.
    """

    counts: Array
    sums: Array
    log_likelihood: float

    def __add__(self, other: Told) -> Told:
        return Told(
            self.counts + other.counts, self.sums + other.sums, self.log_likelihood + other.log_likelihood
        )


class Stepped(Protocol):
    """Whoever has rows for components, part by part."""

    def parts(self, structures: Sequence[Structure]) -> Parts[Owners]:
        """Return the rows, as components with these structures see them."""
        ...


@dataclass(frozen=True, eq=False)
class MixtureLearner:
    """Rows, the engine of the components, the noise, and what is believed of the weights.

    Attributes
    ----------
    engine
        Components on the rows of the table.
    noise
        The noise on the same rows, or none.
    ess
        Σα of the Dirichlet over the weights.
    noise_share
        The noise's part of it; the components share the rest evenly. TMCH98: 1 and 0.01.
    equal
        Whether all components have the same weight.
    labels
        Which components each row may come from, where something is known of it, such as the class in a
        multinet; (rows, components) of truth values, the noise left out.
    by
        The estimate by which mixtures are chosen.
    ml
        Whether likelihood alone counts: a mixture with a variance of all but none is degenerate then.
    exact
        Whether nothing is missing, not even which component a row comes from: evidence is exact then.
    """

    engine: Engine
    noise: Bounds | None = None
    ess: float = 1.0
    noise_share: float = 0.01
    equal: bool = False
    labels: ByRow | None = None
    by: Choice = "cheeseman-stutz"
    ml: bool = False
    exact: bool = False

    @cached_property
    def size(self) -> float:
        """N: the sum of the rows' weights."""
        return float(in_tree(self.engine.row_weights.each(np.sum)))

    def at_once(self, components: int) -> bool:
        """Whether climbs of so many components gain from threads of their own."""
        return self.engine.threaded and self.size * len(self.schema) ** 2 * components >= SHARED

    def alpha(self, components: int) -> Array:
        """Return the hyperparameters of the weights, the noise last."""
        if self.noise is None:
            return np.full(components, self.ess / components)
        share = self.ess * self.noise_share
        return np.append(np.full(components, (self.ess - share) / components), share)

    def begin(
        self, structures: Sequence[Structure], ess: float, rng: np.random.Generator, drawn: bool = False
    ) -> Parameters:
        """Return a start: models drawn around the fit to all rows, weights equal or drawn evenly from all."""
        many = len(structures) + (self.noise is not None)
        noise = self.noise.maximize(everything(self.engine.row_weights)) if self.noise else None
        models = self.engine.draw(structures, ess, rng)
        return Parameters(models, rng.dirichlet(np.ones(many)) if drawn else np.full(many, 1.0 / many), noise)

    def shared(self, groups: ByRow, noise: ByRow | None = None) -> Parts[Shares]:
        """Return shares of components, the noise last; from (rows, components).

        Where that of the noise is not known it begins small: begun with as much as a component, the noise
        would take rows before components have found theirs.
        """
        weights = self.engine.row_weights
        if noise is not None:
            return weights.then(_beside_noise, groups, noise)
        if self.noise is None:
            return all_of(weights, groups)
        return weights.then(partial(_with_noise, self.first_noise), groups)

    @property
    def first_noise(self) -> float:
        """The share with which the noise begins beside groups of rows."""
        return min(self.noise_share, MOST_NOISE)

    def given(
        self, drawn: Parameters, shares: Parts[Shares], turns: int, graphs: Sequence[Structure] = ()
    ) -> tuple[Parameters, Completed]:
        """Return the parameters that go with shares, the noise last, and what these expect of the rows.

        What holes hold is expected under parameters, at first those drawn: both take turns. The structures
        are those drawn, unless graphs are given.
        """
        structures = graphs or drawn.models.structures
        model, counts = drawn, counted(shares)
        for _ in range(turns):
            expected = self.engine.statistics(model.models, shares)
            completed = Completed(shares, counts, expected, -np.inf)
            model = self.maximize(completed, structures)
        return model, completed

    def log_densities(self, model: Parameters) -> Array:
        """Return log weight + log p(observed cells | component), the noise last; (rows, components).

        All in one place, for what does not add over rows.
        """
        parts, work, beside = self._asked(model, _log_densities)
        return np.concatenate(parts.each(work, *beside))

    def log_likelihood(self, model: Parameters) -> float:
        """Return log p(observed cells | parameters), in nats."""
        parts, work, beside = self._asked(model, _log_likelihood)
        return float(in_tree(parts.each(work, *beside)))

    def belongs(self, model: Parameters) -> ByRow:
        """Return which component each row belongs to, the noise left out; (rows, components)."""
        own = replace(model, noise=None, weights=model.weights[: len(model.models.structures)])
        parts, work, beside = self._asked(own, _belongs)
        return parts.then(work, *beside)

    def expect(self, model: Parameters, narrow: bool = False) -> Completed:
        """Return shares and expected statistics of the complete model under the model.

        ``narrow``: those of its own families will do, which a step of EM goes by. All in one pass over the
        parts: what adds up comes back. Shares stay where the rows are, or are worked out again there, should
        they be asked for.
        """
        with np.errstate(divide="ignore"):
            models = self.engine.narrowed(model.models) if narrow else model.models
            shares, told = self.step(self.engine, models, np.log(model.weights), model.noise)
        statistics = self.engine.expected(model.models, told.sums, shares)
        return Completed(shares, told.counts, statistics, told.log_likelihood)

    def step(
        self, engine: Stepped, models: Any, log_weights: Array, noise: Noise | None
    ) -> tuple[Parts[Shares], Told]:
        """Return shares under log-weights and models, and what they add up to."""
        parts, work, beside = (
            engine.parts(models.structures),
            partial(_expected, models, log_weights),
            self._beside(noise),
        )
        if parts.near:
            shares = parts.then(work, *beside)
            return shares, in_tree(shares.each(attrgetter("told")))
        told = in_tree(parts.each(partial(_told, work), *beside))
        return Deferred(partial(parts.then, work, *beside)), told

    def _asked(
        self, model: Parameters, work: Callable[..., Any]
    ) -> tuple[Parts[Owners], Callable[..., Any], list[Own]]:
        """Return parts, what is to be done with each under a model, and what it needs beside its rows."""
        with np.errstate(divide="ignore"):
            asked = partial(work, model.models, np.log(model.weights))
        return self.engine.parts(model.models.structures), asked, self._beside(model.noise)

    def _beside(self, noise: Noise | None) -> list[Own]:
        """Return what a part needs beside its rows: weights, labels, and log-densities under the noise."""
        none = [None] * len(self.engine.row_weights)
        densities = none if noise is None or self.noise is None else self.noise.log_density(noise)
        return [self.engine.row_weights, none if self.labels is None else self.labels, densities]

    def maximize(self, completed: Completed, structures: Sequence[Structure]) -> Parameters:
        """Return the model of highest posterior density, were the shares observed."""
        return Parameters(
            self.engine.maximize(completed.statistics, structures),
            self.mean_weights(completed.counts, len(structures)),
            self.noise.maximize(completed.shares) if self.noise else None,
        )

    def log_prior(self, model: Parameters) -> float:
        """Return the log prior density of all parameters; weights in the softmax basis."""
        alpha = self.alpha(len(model.weights) - (model.noise is not None))
        weights = gammaln(alpha.sum()) - gammaln(alpha).sum() + xlogy(alpha, model.weights).sum()
        noise = self.noise.log_prior(model.noise) if self.noise and model.noise else 0.0
        return float(weights) + self.engine.log_prior(model.models) + noise

    def estimate(self, model: Parameters, structures: Sequence[Structure]) -> Estimate:
        """Return what the mixture is worth, by the estimate that chooses."""
        return self.bic(model, structures) if self.by == "bic" else self.cheeseman_stutz(model, structures)

    def bic(self, model: Parameters, structures: Sequence[Structure]) -> Estimate:
        """Return the log-likelihood less (log N)/2 for every parameter; higher is better."""
        terms = bic_terms(self.log_likelihood(model), self.dimension(structures), self.size)
        return self._estimate("bic", terms, structures)

    def cheeseman_stutz(self, model: Parameters, structures: Sequence[Structure]) -> Estimate:
        """Return the Cheeseman–Stutz estimate; the two dimensions are taken as equal."""
        completed = self.expect(model)
        fit = float(xlogy(completed.counts, model.weights).sum())
        fit += float(self.engine.fit(completed.statistics, model.models).sum())
        fit += self.noise.fit(completed.shares, model.noise) if self.noise and model.noise else 0.0
        evidence = self.log_evidence(completed, structures)
        terms = expected_terms(evidence, fit, completed.log_likelihood)
        if self.exact:  # what is expected is what is observed
            known = Estimate("exact", sum(terms.values()), "exact", {"evidence": sum(terms.values())})
            return replace(known, dimension=self.dimension(structures))
        return self._estimate("cheeseman-stutz", terms, structures)

    def degenerate(self, model: Parameters) -> bool:
        """Whether likelihood alone has led to a variance of all but none, where it has no maximum."""
        return self.ml and self.engine.flat(model.models)

    def _estimate(self, method: str, terms: dict[str, float], structures: Sequence[Structure]) -> Estimate:
        value, free = sum(terms.values()), self.dimension(structures)
        return Estimate(
            method, value, "approximation", terms, dimension=free, where="ml" if self.ml else "map"
        )

    def log_evidence(self, completed: Completed, structures: Sequence[Structure]) -> float:
        """Return the evidence of the expected data, the criterion of the search (TMCH98 eq. 7 and 12)."""
        total = self._owners(completed.counts, len(structures))
        total += self.engine.log_complete_evidence(completed.statistics, structures)
        return total + (self.noise.log_evidence(completed.shares) if self.noise else 0.0)

    def mean_weights(self, counts: Array, many: int) -> Array:
        """Return (N_c + α_c)/(N + Σα): the mode in the softmax basis, and the mean."""
        weights = counts + self.alpha(many)
        if self.equal:
            weights[:many] = weights[:many].mean()
        return np.asarray(weights / weights.sum())

    def grouped(self, counts: Array, many: int) -> Array:
        """Return counts of what has a weight of its own: all components together where theirs are equal."""
        return np.array([counts[:many].sum(), *counts[many:]]) if self.equal else counts

    def _owners(self, counts: Array, many: int) -> float:
        """Return the log evidence of which component each row came from."""
        even = -float(counts[:many].sum() * np.log(many)) if self.equal else 0.0
        alpha, counts = self.grouped(self.alpha(many), many), self.grouped(counts, many)
        return even + float(
            gammaln(alpha.sum())
            - gammaln(alpha.sum() + counts.sum())
            + (gammaln(alpha + counts) - gammaln(alpha)).sum()
        )

    def dimension(self, structures: Sequence[Structure]) -> int:
        """Return the number of free parameters."""
        noise = self.noise.free + 1 if self.noise else 0
        return self.engine.dimension(structures) + (0 if self.equal else len(structures) - 1) + noise

    def mixture(self, model: Parameters) -> Mixture:
        """Return the model as a mixture of networks, in the data's units."""
        return Mixture(model.weights, self.engine.networks(model.models), model.noise)

    def climb(self, notes: Notes, state: State, steps: int | None) -> tuple[State, bool]:
        """Take steps of EM, or as many as it takes; return the state after them, and whether EM converged.

        Components left without rows are taken out. Progress is measured from the very start, not from where
        this EM began: near the top it never ends.
        """
        stop = notes.stop
        for step in range(state.step, stop.iterations if steps is None else steps):
            completed = self.expect(state.model, narrow=True)
            objective = completed.log_likelihood + self.log_prior(state.model)
            check_number(objective)
            state = notes.note(state, "em", objective)
            if steps is None and step and stop.met(state.ticks[0].objective, state.last, objective):
                return replace(state, step=0), True
            completed, state = self._without_empty(notes, state, completed)
            model = self.maximize(completed, state.structures)
            notes.kept = state = replace(state, model=model, step=step + 1, last=objective)
        return replace(state, step=0), False

    def _without_empty(self, notes: Notes, state: State, completed: Completed) -> tuple[Completed, State]:
        """Take out components that have lost their rows, unless they are all there is."""
        many, model = len(state.structures), state.model
        kept = completed.counts[:many] >= EMPTY
        if kept.all() or not kept.any() or self.labels is not None:
            return completed, state
        noise = [True] * (len(completed.counts) - many)
        weights = model.weights[np.append(kept, noise).astype(bool)]
        model = Parameters(self.engine.keep(model.models, kept), weights / weights.sum(), model.noise)
        structures = tuple(s for s, keep in zip(state.structures, kept, strict=True) if keep)
        completed = self.expect(model, narrow=True)
        objective = completed.log_likelihood + self.log_prior(model)
        return completed, notes.note(replace(state, model=model, structures=structures), "remove", objective)

    def scores(self, completed: Completed) -> Sequence[FamilyScore]:
        """Return, for each component, the score of any family on its expected data."""
        return self.engine.scores(completed.statistics)

    def weigh(self, model: Parameters, structures: Sequence[Structure]) -> Weighed:
        """Return the estimate that chooses, at these parameters."""
        found = self.estimate(model, structures)
        return Weighed(found.value, model, found.terms["log-likelihood"])

    def enlarged(self, model: Parameters) -> None:
        """Return nothing: mixtures are not begun again from larger graphs."""

    @property
    def schema(self) -> Schema:
        """The variables."""
        return self.engine.schema

    def encode(self, model: Parameters) -> dict[str, Any]:
        """Return parameters as lists of numbers."""
        noise = None if model.noise is None else [model.noise.low.tolist(), model.noise.high.tolist()]
        return {
            "weights": model.weights.tolist(), "models": self.engine.encode(model.models), "noise": noise
        }  # fmt: skip

    def decode(self, plain: Any) -> Parameters:
        """Return the parameters that `encode` wrote."""
        noise = None
        if self.noise is not None:
            noise = Noise(self.schema, *(np.array(side, dtype=np.float64) for side in plain["noise"]))
        elif plain["noise"] is not None:
            raise ValueError("it has a noise component")
        weights, many = np.array(plain["weights"], dtype=np.float64), len(plain["models"])
        if weights.shape != (many + (noise is not None),) or not many:
            raise ValueError(f"{len(weights)} weights for {many} components")
        return Parameters(self.engine.decode(plain["models"]), weights, noise)


def _log_densities(models: Any, log_weights: Array, rows: Owners, *beside: Any) -> Array:
    """Return log weight + log-density of a part's rows, −inf where a row's label excludes a component."""
    return np.asarray(_unweighted(models, rows, *beside) + log_weights)


def _unweighted(models: Any, rows: Owners, weights: Array, labels: Any, noise: Array | None) -> Array:
    logs = rows.log_evidence(models)
    if noise is not None:
        logs = np.column_stack([logs, noise])
    if labels is not None:
        logs = logs.copy()
        logs[:, : labels.shape[1]][~labels] = -np.inf
    return logs


def _log_likelihood(models: Any, log_weights: Array, rows: Owners, weights: Array, *beside: Any) -> float:
    return float(weights @ shared_out(_unweighted(models, rows, weights, *beside), log_weights)[1])


def _belongs(models: Any, log_weights: Array, rows: Owners, *beside: Any) -> Array:
    return shared_out(_unweighted(models, rows, *beside), log_weights)[0]


def _expected(
    models: Any, log_weights: Array, rows: Owners, weights: Array, labels: Any, noise: Array | None
) -> Shares:
    """Return the shares of a part's rows, and what they add up to."""
    at_once = None if labels is not None or noise is not None else rows.expected(models, log_weights, weights)
    if at_once is not None:
        shares, logs, sums = at_once
    else:
        shares, logs = shared_out(_unweighted(models, rows, weights, labels, noise), log_weights)
        sums = rows.statistics(models, Shares(shares, weights).weighed(len(models.structures)))
    return Shares(shares, weights, Told(np.asarray(weights @ shares), sums, float(weights @ logs)))


def _told(work: Callable[..., Shares], *part: Any) -> Told:
    told: Told = work(*part).told
    return told


def _with_noise(share: float, weights: Array, groups: Array) -> Shares:
    noise = np.full(len(groups), share)
    return Shares(np.column_stack([groups * (1.0 - noise[:, None]), noise]), weights)


def _beside_noise(weights: Array, groups: Array, noise: Array) -> Shares:
    return Shares(np.column_stack([groups, noise]), weights)
