"""Weigh several models against each other, by several estimates side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lacunary.budget import budgeted
from lacunary.data.absent import Absent
from lacunary.data.frame import frame_of
from lacunary.data.source import Source
from lacunary.errors import BudgetError, NoEstimateError, ParameterError, SchemaError
from lacunary.evidence.bounded import unbounded
from lacunary.evidence.charge import Charge, dimensions
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.exact import exact_posterior
from lacunary.evidence.nested import share_fits
from lacunary.evidence.problem import At, Problem
from lacunary.evidence.score import estimate, pose
from lacunary.evidence.share import Share, expected_shares, proven_too_low, sampling, shares, tied, why_unsure
from lacunary.exactness import announced
from lacunary.infer.answers import as_source
from lacunary.infer.belief import Belief, Prior
from lacunary.infer.ensemble import Ensemble
from lacunary.infer.mixture import Mixture
from lacunary.infer.network import Network
from lacunary.learn.check import with_graph
from lacunary.learn.em import Basis
from lacunary.learn.fit import Fit
from lacunary.learn.start import Starts
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array
from lacunary.model.arrows import parse
from lacunary.model.dag import Dag
from lacunary.model.equivalence import cpdag
from lacunary.registry import borrow

__all__ = ["Comparison", "compare"]

NOT_DONE = "not done: the comparison was interrupted"

Models = Sequence[Any] | Mapping[str, Any]
"""Graphs, arrows, fits, mixtures and what `fit_mixture` found; by name, or one after the other."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Estimates of the log evidence of several models, by several methods.

    Attributes
    ----------
    models
        The graphs and mixtures, by the names they are shown under.
    methods
        The estimates, in the order asked for.
    estimates
        For each model, its estimate by each method that holds for it.
    log_prior
        Log prior probability of each model.
    problems
        What was weighed, of all models but mixtures.
    refused
        For each model, why a method has no estimate of it.
    interrupted
        Whether it was broken off: estimates that had not been begun are not done.
    """

    models: Mapping[str, Any]
    methods: tuple[str, ...]
    estimates: Mapping[str, Mapping[str, Estimate]]
    log_prior: Array
    problems: Mapping[str, Problem]
    refused: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    interrupted: bool = False

    @property
    def doubts(self) -> str:
        """What is doubtful about the columns, in a line; see `Table.doubts`."""
        table = next((problem.table for problem in self.problems.values()), None)
        return "" if isinstance(table, Absent) else str(getattr(table, "doubts", ""))

    def parameters(self, name: str) -> int:
        """Return how many free parameters a model has."""
        model = self.models[name]
        if isinstance(model, Mixture):
            return model.dimension
        return dimensions(self.problems[name], "parameters")

    def values(self, method: str) -> Array:
        """Return the estimates of one method, in the models' order; NaN where there is none."""
        if method not in self.methods:
            raise ParameterError(f"{method!r} was not compared; compared were {', '.join(self.methods)}")
        found = (self.estimates[name].get(method) for name in self.models)
        return np.array([np.nan if one is None else one.value for one in found])

    def shares(self, method: str) -> tuple[Share, ...]:
        """Return each model's posterior probability by one method, with what its error leaves open."""
        self.values(method)
        if self._refused(method):
            return tuple(Share(None, 0.0, 1.0, self._why_unsure(method)) for _ in self.models)
        return shares(self._by(method), self.log_prior, [self.floor(name) for name in self.models])

    def probabilities(self, method: str) -> Array:
        """Return the posterior probability of each model according to one method.

        It is NaN where the error of Monte Carlo estimates exceeds what tells a model from its strongest
        rival, or is not to be trusted, and where an estimate is wrong, see `too_low`: `intervals` says what
        is known, and `shares` why.
        """
        known = (share.probability for share in self.shares(method))
        return np.array([np.nan if p is None else p for p in known])

    def intervals(self, method: str) -> Array:
        """Return 95 % intervals of the probabilities that carry the estimates' errors; (models, 2)."""
        return np.array([(share.low, share.high) for share in self.shares(method)])

    def floor(self, name: str) -> float:
        """Return the highest proven lower bound of a model's log evidence; −∞ if there is none."""
        proven = (e.value for e in self.estimates[name].values() if e.kind in ("lower bound", "exact"))
        return max(proven, default=-np.inf)

    def too_low(self, name: str, method: str) -> bool:
        """Tell whether an estimate is wrong: below a proven bound by more than two standard errors."""
        found = self.estimates[name].get(method)
        return found is not None and proven_too_low(found, self.floor(name))

    def best(self, method: str | None = None) -> str:
        """Return the name of the model of highest estimate and prior, by the first method unless told.

        Of the methods, that is the first that has an estimate of every model.
        """
        chosen = method or next((m for m in self.methods if not self._refused(m)), self.methods[0])
        values = self.values(chosen)
        if missing := self._refused(chosen):
            raise NoEstimateError(f"{chosen!r} has no estimate of {self._named(missing)}; ask by another")
        return list(self.models)[int(np.argmax(values + self.log_prior))]

    def first(self, method: str) -> tuple[str, ...]:
        """Return the models of highest estimate and prior.

        They are several where they differ by rounding or less than their error alone, and none where
        the errors are not to be trusted or a model has no estimate. A formula that is proven too low ranks
        models all the same, though it does not tell how probable they are.
        """
        found = self._by(method)
        unsure = self._refused(method) or (any(map(sampling, found)) and self._why_unsure(method))
        if unsure and len(self.models) > 1:
            return ()
        return tuple(n for n, top in zip(self.models, tied(found, self.log_prior), strict=True) if top)

    def _by(self, method: str) -> list[Estimate]:
        """Return the estimates of one method, of all models that have one."""
        return [found[method] for found in map(self.estimates.__getitem__, self.models) if method in found]

    def estimated(self, method: str) -> tuple[str, ...]:
        """Return the models of which a method has an estimate; `refused` says why it has none of others."""
        return tuple(name for name in self.models if method in self.estimates[name])

    def _refused(self, method: str) -> list[str]:
        return [name for name in self.models if method not in self.estimates[name]]

    def _without(self, name: str, method: str) -> str:
        """Return in a word why a method has no estimate of a model."""
        return "not done" if self.refused[name][method] == NOT_DONE else "refused"

    def _why_unsure(self, method: str) -> str:
        """Return why a method does not tell how probable models are; nothing if it does."""
        if missing := self._refused(method):
            none = len(missing) == len(self.models) > 1
            return f"there is no estimate of {'any model' if none else self._named(missing)}"
        return why_unsure(self._by(method), [self.floor(name) for name in self.models])

    def favourites(self) -> dict[str, tuple[str, ...]]:
        """Return the models that some estimate puts first, each with these estimates."""
        first = {method: self.first(method) for method in self.methods}
        found = {name: tuple(m for m in self.methods if name in first[m]) for name in self.models}
        return {name: methods for name, methods in found.items() if methods}

    def equivalents(self) -> list[tuple[str, ...]]:
        """Return the groups of models that no table can tell apart: Markov equivalent, with nothing hidden.

        Where the estimates of such models differ, the prior made the difference; under BDeu they agree.
        """
        groups: dict[Any, list[str]] = {}
        for name, dag in self.models.items():
            if isinstance(dag, Dag) and not (dag.schema.hidden or dag.tied or dag.family):
                groups.setdefault(cpdag(dag), []).append(name)
        return [tuple(names) for names in groups.values() if len(names) > 1]

    def average(self, method: str | None = None) -> Ensemble:
        """Return all models as one predictor, each weighted by its posterior probability.

        Unless told, that is by the first method which tells how probable models are.

        By "exact" parameters are integrated out under their exact posterior, and by "variational" under the
        approximate one; all others predict with the MAP network. Probabilities are averaged over the errors
        of Monte Carlo estimates.
        """
        chosen = method or next((m for m in self.methods if not self._why_unsure(m)), self.methods[0])
        self.values(chosen)
        if reason := self._why_unsure(chosen):
            raise ParameterError(
                f"{chosen!r} does not tell how probable models are: {reason}; average by another"
            )
        weights = expected_shares(self._by(chosen), self.log_prior)
        members = [
            (model, weight * share)
            for name, weight in zip(self.models, weights, strict=True)
            for model, share in self._predictors(name, chosen)
        ]
        return Ensemble(tuple(model for model, _ in members), np.array([weight for _, weight in members]))

    def _predictors(self, name: str, method: str) -> list[tuple[Belief | Network, float]]:
        """Return what predicts for a model, with weights that sum to one."""
        if name not in self.problems:
            raise ParameterError(
                f"{name!r} is a mixture, and averages are of networks; compare networks alone, or take "
                f"the best: found.models[found.best()]"
            )
        if method == "variational":
            return [(self.estimates[name][method].details["posterior"], 1.0)]
        if method == "exact":
            return exact_posterior(self.problems[name])
        return [(self.problems[name].network(None), 1.0)]

    def rows(self) -> list[dict[str, Any]]:
        """Return one record for each model and method."""
        out = []
        for method in self.methods:
            known = self.shares(method)
            ranks = (-self.values(method)).argsort().argsort() + 1
            for i, name in enumerate(self.models):
                found = self.estimates[name].get(method)
                out.append(
                    {
                        "model": name,
                        "method": method,
                        "log_evidence": found and found.value,
                        "stderr": found and found.stderr,
                        "kind": found.kind if found else self._without(name, method),
                        "where": found and found.where,
                        "too_low": self.too_low(name, method),
                        "trustworthy": found is not None and found.trustworthy,
                        "probability": known[i].probability,
                        "probability_low": known[i].low,
                        "probability_high": known[i].high,
                        "rank": int(ranks[i]) if found else None,
                        "parameters": self.parameters(name),
                        "dimension": found and found.dimension,
                        "seconds": found and found.seconds,
                        "note": self.refused.get(name, {}).get(method) or known[i].note,
                    }
                )
        return out

    def to_frame(self, library: str | None = None) -> Any:
        """Return `rows` as a data frame: "pandas", "polars", "pyarrow", or "dict" for lists by name."""
        rows = self.rows()
        return frame_of({key: [row[key] for row in rows] for key in rows[0]}, library)

    def __str__(self) -> str:
        width = max(len(name) for name in [*self.models, "model"])
        cells = {m: [self.cell(name, m) for name in self.models] for m in self.methods}
        wide = {m: max(15, *map(len, column)) for m, column in cells.items()}
        head = f"{'model':<{width}}  {'d':>5}  " + "  ".join(f"{m:>{wide[m]}}" for m in self.methods)
        lines = [self._title(), head]
        for i, name in enumerate(self.models):
            free = self.parameters(name)
            row = "  ".join(f"{cells[m][i]:>{wide[m]}}" for m in self.methods)
            lines.append(f"{name:<{width}}  {free:>5}  {row}".rstrip())
        note = [f"note: {self.doubts}"] if self.doubts else []
        return "\n".join([*lines, *self.warnings(), *note])

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def plot(self) -> Any:
        """Return a figure of matplotlib: the log evidence of every model, a line for each estimate."""
        return borrow("comparison as a figure")(self)

    def _title(self) -> str:
        """Return what the numbers are, and at which points they were worked out."""
        places: dict[str, list[str]] = {}
        for method in self.methods:
            met: dict[str, list[str]] = {}
            for name in self.estimated(method) if method != "variational" else ():
                if where := self.estimates[name][method].where:
                    met.setdefault(where, []).append(name)
            for place, names in met.items():
                some = [*names[:3], *(["…"] if len(names) > 3 else [])]
                which = f"{method} of {', '.join(some)}" if len(met) > 1 else method
                places.setdefault(place, []).append(which)
        points = "".join(f"; {', '.join(methods)} at {place}" for place, methods in places.items())
        return f"log evidence in nats, higher is better; * the highest{points}"

    def cell(self, name: str, method: str) -> str:
        """Return an estimate with its error and marks: * the first, ↓ proven too low, ? not to be trusted."""
        found = self.estimates[name].get(method)
        if found is None:
            return f"{self._without(name, method)} "
        marks = "↓" * self.too_low(name, method) + "?" * (not found.trustworthy)
        return f"{found.value:.2f}{found.error}{marks}{'*' if name in self.first(method) else ' '}"

    def warnings(self) -> list[str]:
        """Return what is wrong with some of the estimates, in words, a line each."""
        out = []
        for method in self.methods:
            low = [name for name in self.models if self.too_low(name, method)]
            unsure = [name for name in self.estimated(method) if not self.estimates[name][method].trustworthy]
            reasons: dict[str, list[str]] = {}
            for name in self._refused(method):
                reasons.setdefault(self.refused[name][method], []).append(name)
            out += [f"{method} of {self._named(names)}: {reason}" for reason, names in reasons.items()]
            if low:
                by = max(self.floor(name) - self.estimates[name][method].value for name in low)
                out.append(
                    f"↓ {method} of {self._named(low)} is wrong: proven too low, by as much as {by:.1f} nats"
                )
            if unsure:
                note = self.estimates[unsure[0]][method].details.get("note")
                out.append(f"? {method} of {self._named(unsure)}: {note or 'its error is not to be trusted'}")
        return out

    def _named(self, names: Sequence[str]) -> str:
        return "every model" if len(names) == len(self.models) > 1 else ", ".join(names)

    __repr__ = __str__


@budgeted
@announced
def compare(
    models: Models,
    table: Any,
    methods: str | Sequence[str] = ("bic", "cheeseman-stutz", "variational"),
    *,
    prior: Prior | None = None,
    model_prior: ArrayLike | None = None,
    at: At | None = None,
    dimension: Charge = "parameters",
    basis: Basis = "softmax",
    starts: int | Starts | None = None,
    stop: Stop | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    watch: Callable[[int, int, str], object] | None = None,
    rng: int = 0,
    exact: bool = False,
    memory: str | float | None = None,
) -> Comparison:
    """Return how strongly a table speaks for each of several models of the same observed variables.

    Parameters
    ----------
    models
        Graphs, or graphs by name; arrows between columns of the table will do. A fit may stand for its
        graph: estimates are then worked out at its parameters. Mixtures, or what `fit_mixture` found, stand
        beside networks with their components' graphs as they are; each has the default prior of its kind
        unless one is given to all.
    table
        Rows with holes: a table, a frame, an array or a path.
    methods
        Which estimate or estimates to make; see `lacunary.score`. Those that stand on a fit share it. One
        that does not hold for some model is left out there, with the reason, and tells no probabilities.
    model_prior
        Prior probabilities of the models, uniform unless given.
    options
        Further options, by method.
    watch
        Called with how many estimates are done, how many there are, and what is being done.
    prior, at, dimension, basis, starts, stop, rng, exact, memory
        As in `lacunary.score`.

    Notes
    -----
    One interrupt ends it: the estimate at work returns what it has, if anything, and those after it are not
    done. Where there is no estimate at all by then, the interrupt goes on to who called.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(500, rng=0), 0.1, rng=0)
    >>> weighed = lac.compare({"joined": "smoke -> lung", "apart": "smoke; lung"}, rows, ["laplace"])
    >>> weighed.best()
    'joined'
    """
    methods = (methods,) if isinstance(methods, str) else tuple(methods)
    rows = as_source(table)
    named = _named(_drawn(models, rows))
    dags = {name: _shown(model) for name, model in named.items()}
    _check_comparable(dags)
    log_prior = _log_prior(model_prior, len(named))
    shared = {"at": at, "dimension": dimension}
    problems = {
        name: pose(model, rows, prior=prior, basis=basis, starts=starts, stop=stop, rng=rng)
        for name, model in named.items()
        if not isinstance(dags[name], Mixture)
    }
    share_fits(problems.values())
    variable = next((name for name in map(unbounded, problems.values()) if name), None)
    for problem in problems.values():
        problem.unbounded = variable  # all models are compared at the same kind of point
    estimates: dict[str, dict[str, Estimate]] = {name: {} for name in named}
    refused: dict[str, dict[str, str]] = {name: {} for name in named}
    tasks = [(name, method) for name in named for method in methods]
    interrupted = False
    for done, (name, method) in enumerate(tasks):
        if interrupted:
            refused[name][method] = NOT_DONE
            continue
        further = (options or {}).get(method, {})
        try:
            if watch is not None:
                watch(done, len(tasks), f"{name}: {method}")
            if name in problems:
                estimates[name][method] = estimate(problems[name], method, shared, further)
            else:
                how = {"prior": prior, "at": at, "stop": stop, "rng": rng, **further}
                estimates[name][method] = borrow("score of a mixture")(named[name], rows, method, **how)
            interrupted = estimates[name][method].interrupted
        except KeyboardInterrupt:
            if not any(estimates.values()):
                raise
            refused[name][method], interrupted = NOT_DONE, True
        except (NoEstimateError, BudgetError) as error:
            refused[name][method] = str(error)
            if sum(map(len, refused.values())) == len(tasks):  # nothing is left to compare
                raise
    return Comparison(dags, methods, estimates, log_prior, problems, refused, interrupted)


def _shown(model: Any) -> Dag | Mixture:
    """Return a fit's graph, what learning a mixture found as a mixture, and all else as it is."""
    found: Dag | Mixture = model.dag if isinstance(model, Fit) else getattr(model, "mixture", model)
    return found


def _drawn(models: Models, rows: Source) -> Sequence[Any] | Mapping[str, Any]:
    """Return the models, arrows as graphs over all columns that some of them name."""
    each = models.values() if isinstance(models, Mapping) else models
    names = {name for model in each if isinstance(model, str) for name in parse(model).places}
    drawn = [
        model if isinstance(_shown(model), Mixture) else with_graph("compare", model, rows, names)[0]
        for model in each
    ]
    return dict(zip(models, drawn, strict=True)) if isinstance(models, Mapping) else drawn


def _named(models: Sequence[Any] | Mapping[str, Any]) -> dict[str, Any]:
    """Return the models by name: the number of hidden states where that tells them apart, else numbered."""
    if isinstance(models, Mapping):
        named = dict(models)
    else:
        labels = [_label(_shown(model)) for model in models]
        if len(set(labels)) < len(labels) or not all(labels):
            labels = [f"model {i + 1}" for i in range(len(labels))]
        named = dict(zip(labels, models, strict=True))
    if not named:
        raise ParameterError("there are no models to compare")
    return named


def _label(dag: Dag | Mixture) -> str:
    if isinstance(dag, Mixture):
        return f"mixture of {len(dag.components)}"
    return ", ".join(f"{name}={dag.schema[name].size}" for name in dag.schema.hidden)


def _check_comparable(models: Mapping[str, Dag | Mixture]) -> None:
    """Refuse models whose evidences are of different data."""
    seen = {name: {v.name: v.states for v in dag.schema if not v.hidden} for name, dag in models.items()}
    first = next(iter(seen))
    for name, variables in seen.items():
        if variables != seen[first]:
            differ = sorted(set(variables) ^ set(seen[first])) or ["the states of some variables"]
            raise SchemaError(
                f"{first!r} and {name!r} are not comparable: they must have the same observed variables "
                f"with the same states, but differ in {', '.join(differ)}"
            )


def _log_prior(model_prior: ArrayLike | None, models: int) -> Array:
    prior = np.full(models, 1.0 / models) if model_prior is None else np.asarray(model_prior, dtype=float)
    if prior.shape != (models,) or np.any(prior < 0) or not prior.sum() > 0:
        raise ParameterError(f"model_prior needs {models} probabilities")
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(prior / prior.sum()))
