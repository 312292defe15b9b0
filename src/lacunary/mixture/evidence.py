"""What a mixture is worth by Laplace's approximation and by annealed importance sampling.

The gradient of the log-likelihood is that of the expected data's (Fisher's identity), which EM has anyway;
its differences are the curvature that Laplace's formula asks for. Annealing goes from owners of rows drawn by
the shares r that the mixture found gives them, widened, to their posterior: p(θ) p(owners, rows | θ)^τ
r(owners)^(1 − τ) has conjugate draws of parameters, and its integral over them is the evidence of expected
data, τ of each row. docs/derivations/ais.md has the same for networks.

Components of one structure may change names, and r names them as the mixture does. With S the renamings, and
q(owners) the part of r(owners) in the sum over all of S, the evidence is |S| times the mean weight times
q(owners): every renaming adds as much, and owners that a chain has renamed on its way have no q.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import lgamma
from typing import Any

import numpy as np
from scipy.special import logsumexp

from lacunary.data.parts import Parts, itself
from lacunary.errors import NoEstimateError
from lacunary.evidence.ais import average_weight
from lacunary.evidence.estimate import Estimate
from lacunary.infer.parallel import in_parallel, threads
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.gamma import dirichlet
from lacunary.mixture.gaussian import Gaussian, Gaussians
from lacunary.mixture.learner import Completed, MixtureLearner, Parameters
from lacunary.mixture.tied import Tied
from lacunary.structure.score import Structure
from lacunary.structure.shares import Shares, all_of, cut

__all__ = ["annealed", "check_annealed", "check_laplace", "laplace"]

STEP = 1e-3
"""Differences are over this part of how wide a parameter's posterior would be with all owners known."""

FURTHER, STILL = 2000, 1e-10
"""Further steps of EM before the curvature is taken, and the part of the objective at which they end."""

CHAINS, FIRST, LONGEST = 16, 50, 1600
"""Chains of an annealing run, the temperatures of its first trial, and the most that are tried."""

EVEN, UNEVEN = 0.5, 0.8
"""Standard deviation of log-weights that is small enough, and beyond which their error says little."""

BEND = 4
"""Temperatures are (t/T)⁴: near zero, where little is known of anything, the way is longest."""

NAMES = 12
"""Components whose names are exchanged with each other, at most: sums over sets of them are made."""

WIDE = 1.0
"""Rows, of all rows together, that begin with even shares, so that every owner can be drawn."""


def check_laplace(learner: MixtureLearner) -> None:
    """Refuse mixtures whose curvature is not known here, by name."""
    if not isinstance(learner.engine, Gaussian) or isinstance(learner.engine, Tied):
        raise NoEstimateError(
            "Laplace's approximation of a mixture is for continuous variables without hidden ones, no "
            "parameters shared; choose='cheeseman-stutz', 'variational' or 'ais'"
        )
    if learner.noise is not None and learner.noise.belief is not None:
        raise NoEstimateError(
            "noise whose bounds are learned peaks at their border, where Laplace's approximation does not "
            "hold; give the bounds, noise=(low, high), or choose='cheeseman-stutz'"
        )


def check_annealed(learner: MixtureLearner, holes: bool) -> None:
    """Refuse mixtures whose owners alone do not complete the rows, by name."""
    if isinstance(learner.engine, Tied):
        raise NoEstimateError("components that share parameters have no conjugate draws: choose='bic'")
    if holes:
        raise NoEstimateError(
            "annealed importance sampling of a mixture needs rows without holes or hidden variables; "
            "choose='cheeseman-stutz', 'variational' or 'laplace'"
        )
    if any(learner.engine.row_weights.each(_weighed)):
        raise NoEstimateError("sampling draws each row once; repeat rows instead of weighting them")


def _weighed(weights: Array) -> bool:
    return bool(np.any(weights != 1.0))


def laplace(learner: MixtureLearner, model: Parameters, structures: Sequence[Structure]) -> Estimate:
    """Return Laplace's approximation about one of the mixture's peaks, in the coordinates of its prior."""
    check_laplace(learner)
    model = _at_rest(learner, model, structures)
    chart = _Chart(learner, structures)
    point, steps = chart.coordinates(model), chart.widths(model)
    columns = []
    for j, step in enumerate(STEP * steps):
        moved = [chart.gradient(chart.model(point + sign * step * _unit(len(point), j))) for sign in (1, -1)]
        columns.append((moved[1] - moved[0]) / (2.0 * step))
    curved = np.column_stack(columns) * steps[:, None] * steps  # one where owners are known
    sign, log_volume = np.linalg.slogdet(0.5 * (curved + curved.T))
    if sign <= 0 or np.linalg.eigvalsh(0.5 * (curved + curved.T))[0] <= 0:
        raise NoEstimateError(
            "the mixture is at no inner peak, so that Laplace's approximation does not hold; take fewer "
            "components, or choose='cheeseman-stutz'"
        )
    likelihood = learner.log_likelihood(model)
    free = len(point)
    terms = {
        "log-likelihood": likelihood,
        "log prior density": learner.log_prior(model),
        "volume": 0.5 * free * float(np.log(2.0 * np.pi)),
        "curvature": -0.5 * float(log_volume) + float(np.log(steps).sum()),
    }
    return Estimate("laplace", sum(terms.values()), "approximation", terms, dimension=free, where="map")


def _unit(size: int, j: int) -> Array:
    return np.asarray(np.arange(size) == j, dtype=np.float64)


def _at_rest(learner: MixtureLearner, model: Parameters, structures: Sequence[Structure]) -> Parameters:
    """Return where EM comes to rest: what is left of a slope would be taken for curvature."""
    before = -np.inf
    for _ in range(FURTHER):
        completed = learner.expect(model)
        here = completed.log_likelihood + learner.log_prior(model)
        if abs(here - before) <= STILL * abs(here):
            break
        before, model = here, learner.maximize(completed, structures)
    return model


class _Chart:
    """Coordinates of all parameters: (intercept, coefficients/σ², 1/σ²), and the softmax of weights."""

    def __init__(self, learner: MixtureLearner, structures: Sequence[Structure]) -> None:
        assert isinstance(learner.engine, Gaussian)
        self.learner, self.engine, self.structures = learner, learner.engine, tuple(structures)
        self.places = [
            (c, child, np.array([0, *(p + 1 for p in parents), child + 1]))
            for c, structure in enumerate(structures)
            for child, parents in enumerate(structure)
        ]

    def coordinates(self, model: Parameters) -> Array:
        """Return a model's coordinates."""
        parts = []
        for c, child, members in self.places:
            row = model.models.root[c, child, members]
            w = row[-1] ** 2
            parts.append(np.concatenate([[-row[0] / row[-1]], -row[1:-1] * row[-1], [w]]))
        return np.concatenate([*parts, self._softmax(model.weights)])

    def model(self, point: Array) -> Parameters:
        """Return the model with these coordinates."""
        root = np.zeros((len(self.structures), len(self.engine.schema), len(self.engine.schema) + 1))
        at = 0
        for c, child, members in self.places:
            own = point[at : at + len(members)]
            at += len(members)
            contrast = np.concatenate([[-own[0]], -own[1:-1] / own[-1], [1.0]])
            root[c, child, members] = contrast * np.sqrt(own[-1])
        noise = None if self.learner.noise is None else self.learner.noise.fixed
        return Parameters(Gaussians(self.structures, root), self._weights(point[at:]), noise)

    def gradient(self, model: Parameters) -> Array:
        """Return the gradient of log-likelihood and log prior density."""
        completed = self.learner.expect(model)
        moments = completed.statistics + self.engine.belief.moments
        dof = completed.statistics[:, 0, 0] + self.engine.belief.alpha - self.engine.belief.size
        parts, at, point = [], 0, self.coordinates(model)
        for c, _, members in self.places:
            own = point[at : at + len(members)]
            at += len(members)
            parts.append(_slope(moments[c][np.ix_(members, members)], own, float(dof[c])))
        return np.concatenate([*parts, self._weights_slope(completed, model)])

    def widths(self, model: Parameters) -> Array:
        """Return how wide the posterior of each coordinate would be were all owners known."""
        completed = self.learner.expect(model)
        moments = completed.statistics + self.engine.belief.moments
        dof = completed.statistics[:, 0, 0] + self.engine.belief.alpha - self.engine.belief.size
        parts = []
        for c, child, members in self.places:
            own, w = np.diagonal(moments[c])[members], model.models.root[c, child, child + 1] ** 2
            inner = np.sqrt(w / own[1:-1])
            parts.append(
                np.concatenate([[1.0 / np.sqrt(w * own[0])], inner, [w * np.sqrt(2.0 / max(dof[c], 1.0))]])
            )
        counts = self._counts(completed)
        return np.concatenate([*parts, 1.0 / np.sqrt(counts * (1.0 - counts / counts.sum()))[:-1]])

    def _counts(self, completed: Completed) -> Array:
        many = len(self.structures)
        alpha = self.learner.alpha(many)
        return self.learner.grouped(alpha + completed.counts, many)

    def _weights_slope(self, completed: Completed, model: Parameters) -> Array:
        counts = self._counts(completed)
        weights = self.learner.grouped(model.weights, len(self.structures))
        return np.asarray(counts - weights * counts.sum())[:-1]

    def _softmax(self, weights: Array) -> Array:
        own = self.learner.grouped(weights, len(self.structures))
        return np.asarray(np.log(own[:-1] / own[-1]))

    def _weights(self, point: Array) -> Array:
        many = len(self.structures)
        own = np.exp(np.append(point, 0.0))
        own /= own.sum()
        return np.array([*[own[0] / many] * many, *own[1:]]) if self.learner.equal else own


def _slope(moment: Array, own: Array, dof: float) -> Array:
    """Return the gradient of dof/2 log w − ½ w vᵀMv, v = (−intercept, −β/w, 1), in (intercept, β, w)."""
    level, beta, w = own[0], own[1:-1], own[-1]
    inner, cross, first = moment[1:-1, 1:-1], moment[1:-1, -1], moment[0]
    by_level = w * first[-1] - w * first[0] * level - first[1:-1] @ beta
    by_beta = cross - level * first[1:-1] - inner @ beta / w
    square = first[0] * level**2 - 2.0 * level * first[-1] - beta @ inner @ beta / w**2 + moment[-1, -1]
    return np.concatenate([[by_level], by_beta, [0.5 * dof / w - 0.5 * square]])


def annealed(
    learner: MixtureLearner,
    model: Parameters,
    structures: Sequence[Structure],
    seed: Sequence[int],
    longest: int = LONGEST,
    tell: Callable[[], object] = lambda: None,
) -> Estimate:
    """Return an estimate whose exponential is unbiased: owners of rows go from shares to posterior.

    The way is made longer until the chains' weights are even enough; where they are not in the end, the note
    says so, and the estimate is too low rather than too high. Threads have a chain each; after these ``tell``
    is called.
    """
    run = _Annealing(learner, model, structures)
    steps = FIRST
    while True:
        logs = run.chains(steps, seed, tell)
        if logs.std(ddof=1) <= EVEN or steps >= longest:
            break
        steps *= 2
    value, error = average_weight(logs)
    trusted = bool(logs.std(ddof=1) <= UNEVEN)
    note = "" if trusted else "the chains' weights differ too much: it is too low rather than too high"
    details = {"chains": CHAINS, "steps": steps, "freedom": CHAINS - 1, "trustworthy": trusted, "note": note}
    free = learner.dimension(structures)
    return Estimate("ais", value, "Monte Carlo", {"ais": value}, error, free, details=details)


class _Annealing:
    """Owners of rows without holes, from a model's shares to their posterior."""

    def __init__(self, learner: MixtureLearner, model: Parameters, structures: Sequence[Structure]) -> None:
        self.learner, self.model, self.structures = learner, model, tuple(structures)
        self.many, self.width = len(structures), len(model.weights)
        rows = sum(learner.engine.row_weights.each(len))
        self.allowed = np.ones((rows, self.width), dtype=bool)
        if learner.labels is not None:
            self.allowed[:, : self.many] = np.concatenate(learner.labels.each(itself))
        self.shares = self._widened(learner.log_densities(model))
        #: Components that may change names with each other.
        self.alike = _alike(self.structures) if learner.labels is None else []
        self.log_names = sum(lgamma(len(names) + 1) for names in self.alike)
        first = np.zeros((rows, self.width))
        first[:, 0] = 1.0
        known = learner.engine.log_evidence(model.models)[:, 0].sum()
        #: What the units of a row's cells add to its log-density.
        self.units = (
            float(known - learner.engine.fit(self._statistics(self._placed(first)), model.models)[0]) / rows
        )

    def chains(self, steps: int, seed: Sequence[int], tell: Callable[[], object]) -> Array:
        """Return the log-weights of all chains, each with a stream of its own."""
        at_once = threads() if self.learner.at_once(self.many) else 1
        logs: list[float] = []
        for first in range(0, CHAINS, at_once):
            some = range(first, min(first + at_once, CHAINS))
            logs += in_parallel(lambda c: self.chain(steps, np.random.default_rng([*seed, steps, c])), some)
            tell()
        return np.array(logs)

    def chain(self, steps: int, rng: np.random.Generator) -> float:
        """Return the log-weight of one chain."""
        owner = _drawn(self.shares, rng)
        weight, before = 0.0, 0.0
        for tau in ((t / steps) ** BEND for t in range(1, steps + 1)):
            shares = _owned(owner, self.width)
            whole = self._statistics(self._placed(shares))
            completed, here = self._evidence(shares, whole, tau)
            weight += here - (self._evidence(shares, whole, before)[1] if before else self._log_share(shares))
            before = tau
            if tau < 1.0:
                owner = self._moved(completed, tau, rng)
        return float(weight) + self.log_names + self._log_named(_owned(owner, self.width))

    def _widened(self, logs: Array) -> Array:
        """Return the log shares with which rows begin, none of them zero; (rows, components)."""
        logs = np.where(self.allowed, logs, -np.inf)
        even, part = self.allowed / self.allowed.sum(axis=1, keepdims=True), min(WIDE / len(logs), 0.5)
        shares = (1.0 - part) * np.exp(logs - logsumexp(logs, axis=1, keepdims=True)) + part * even
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(shares))

    def _log_share(self, shares: Array) -> float:
        """Return log r of owners."""
        return float(self.shares[shares > 0].sum())

    def _log_named(self, shares: Array) -> float:
        """Return log q of owners: the part of r that the names they have now are, of all names."""
        out = 0.0
        for names in self.alike:
            by_name = shares[:, names].T @ self.shares[:, names]  # rows of one component as those of another
            out += float(np.trace(by_name)) - _log_permanent(by_name)
        return out

    def _evidence(self, shares: Array, whole: Any, tau: float) -> tuple[Completed, float]:
        """Return τ of the completed rows, and the log of p(θ) p(owners, rows | θ)^τ r^(1 − τ), θ out.

        ``whole`` are the statistics of the rows as these shares own them, of which τ is taken.
        """
        part = tau * shares
        placed = self._placed(part)
        statistics = self.learner.engine.scaled(whole, tau, placed)
        completed = Completed(placed, part.sum(axis=0), statistics, -np.inf)
        jacobian = self.units * float(part[:, : self.many].sum())
        value = self.learner.log_evidence(completed, self.structures) + jacobian
        return completed, value + (1.0 - tau) * self._log_share(shares)

    def _placed(self, shares: Array) -> Parts[Shares]:
        """Return shares in the parts where their rows are."""
        weights = self.learner.engine.row_weights
        return all_of(weights, cut(shares, weights))

    def _statistics(self, shares: Parts[Shares]) -> Any:
        return self.learner.engine.statistics(self.model.models, shares)

    def _moved(self, completed: Completed, tau: float, rng: np.random.Generator) -> Integers:
        """Return owners after parameters were drawn given them, and they given these."""
        learner = self.learner
        counts = learner.grouped(learner.alpha(self.many) + completed.counts, self.many)
        weights = dirichlet(counts, rng)
        if learner.equal:
            weights = np.array([*[weights[0] / self.many] * self.many, *weights[1:]])
        model = Parameters(
            learner.engine.sample(completed.statistics, self.structures, rng),
            weights,
            learner.noise.draw(completed.shares, rng) if learner.noise else None,
        )
        logs = tau * learner.log_densities(model) + (1.0 - tau) * self.shares
        return _drawn(np.where(self.allowed, logs, -np.inf), rng)


def _alike(structures: Sequence[Structure]) -> list[list[int]]:
    """Return components of one structure, which may change names; of very many, some at a time."""
    groups: dict[Structure, list[int]] = {}
    for c, structure in enumerate(structures):
        groups.setdefault(structure, []).append(c)
    return [group[k : k + NAMES] for group in groups.values() for k in range(0, len(group), NAMES)]


def _log_permanent(logs: Array) -> float:
    """Return the log of the sum, over all orders, of the products of one entry a row and column."""
    sets = np.arange(1 << len(logs))
    sums = np.where(sets == 0, 0.0, -np.inf)  # over orders of the first rows, by the columns they are in
    for row in logs:
        after = np.full(len(sets), -np.inf)
        for column, entry in enumerate(row.tolist()):
            there = sets[(sets >> column) & 1 == 1]
            after[there] = np.logaddexp(after[there], sums[there ^ (1 << column)] + entry)
        sums = after
    return float(sums[-1])


def _drawn(logs: Array, rng: np.random.Generator) -> Integers:
    """Return owners drawn by their log-probabilities, which need not add up to one; (rows,)."""
    return np.asarray((logs + rng.gumbel(size=logs.shape)).argmax(axis=1))


def _owned(owner: Integers, width: int) -> Array:
    return np.asarray((owner[:, None] == np.arange(width)).astype(np.float64))
