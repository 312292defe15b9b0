"""Choose parameters from many starts.

With holes many parameter vectors score almost alike, and the one that scores best owes it in part to
chance. ENT compares it with the mean of all, and with the least committed among the good ones.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief
from lacunary.infer.network import Network
from lacunary.infer.rows import Rows
from lacunary.maths import special
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.learn.found import Fit

__all__ = [
    "SELECTIONS",
    "Choice",
    "Chosen",
    "Select",
    "Selection",
    "Weights",
    "average",
    "check_threshold",
    "ensemble",
    "entropy",
    "local_entropy",
    "rule_of",
]

Select = Literal["best", "average", "entropy", "max-entropy", "global", "ensemble"]
Weights = Literal["uniform", "score", "posterior"]

SELECTIONS: tuple[Select, ...] = ("best", "average", "entropy", "max-entropy", "global", "ensemble")

DISCRETE = ("max-entropy", "global")
"""Rules that move the parameters of tables, and know no regressions."""

ALONE = "there is one start; the selection comes to the same as 'best'"


@dataclass(frozen=True, eq=False)
class Chosen:
    """The parameters a rule of selection chose.

    Attributes
    ----------
    network
        The parameters.
    details
        What the rule has to say for itself: plain values (numbers, texts, booleans, lists) by name.
    """

    network: Network
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Selection:
    """How a fit's parameters were chosen: the name of the rule, and what it has to say for itself."""

    name: str = "best"
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Choice:
    """A rule of selection with its options."""

    name: str
    rule: Callable[..., Chosen]
    options: Mapping[str, Any]

    def __call__(
        self, fit: Fit, prepared: Rows, belief: Belief, fixed: Mapping[str, ArrayLike] | None
    ) -> Chosen:
        """Apply the rule; one that moves parameters is told which are fixed."""
        if fit.dag.continuous and self.name in DISCRETE:
            raise ParameterError(f"select={self.name!r} is for discrete networks; use one of the other rules")
        given = {"fixed": fixed} if "fixed" in inspect.signature(self.rule).parameters else {}
        chosen = self.rule(fit, prepared, belief, **given, **self.options)
        return Chosen(chosen.network, {str(name): _plain(value) for name, value in chosen.details.items()})


def rule_of(select: str, options: Mapping[str, Any]) -> Choice:
    """Return the rule of this name; options it does not know are refused."""
    if select not in SELECTIONS:
        raise ParameterError(f"select must be one of {', '.join(map(repr, SELECTIONS))}, not {select!r}")
    rule = _rule(select)
    known = [
        name
        for name, parameter in (inspect.signature(rule).parameters if options else {}).items()
        if parameter.kind is parameter.KEYWORD_ONLY and name != "fixed"
    ]
    for name in options:
        if name not in known:
            raise ParameterError(
                f"select={select!r} has no option {name!r}; "
                + (f"its options are {', '.join(known)}" if known else "it has none")
            )
    if "c" in options:
        check_threshold(options["c"])
    return Choice(select, rule, options)


def best(fit: Fit, prepared: Rows, belief: Belief) -> Chosen:
    """Return the start of highest objective."""
    return Chosen(max(fit.starts, key=lambda start: start.objective).network)


def average(fit: Fit, prepared: Rows, belief: Belief, *, weights: Weights = "uniform") -> Chosen:
    """Return the mean of every conditional distribution over the starts (ENT section 2.2).

    Parameters
    ----------
    weights
        "uniform"; "score", in proportion to the score S as ENT prints it, which for negative scores
        favours the worse starts; or "posterior", in proportion to exp(objective).
    """
    share = _shares(fit, weights)
    theta = share @ np.array([start.network.theta for start in fit.starts])
    # A mean of equals may miss them in the last digit.
    alone = len({start.network.theta.tobytes() for start in fit.starts}) == 1
    network = fit.starts[0].network if alone else Network(fit.dag, fit.dag.layout.normalize(theta))
    return Chosen(network, {"weights": weights, "shares": share, **_note(fit)})


def ensemble(fit: Fit, prepared: Rows, belief: Belief, *, weights: Weights = "uniform") -> Chosen:
    """Return the best start, and the shares with which `Fit.ensemble` averages predictions."""
    share = _shares(fit, weights)
    return Chosen(best(fit, prepared, belief).network, {"weights": weights, "shares": share, **_note(fit)})


def entropy(fit: Fit, prepared: Rows, belief: Belief, *, c: float = 0.95) -> Chosen:
    """Return the start of highest local entropy among those that score well (ENT section 2.1).

    Parameters
    ----------
    c
        What scoring well means, from 0 (excluded) to 1: S ≥ s* − (1 − c)|s*|, where s* is the best
        score S, the penalised log-likelihood without constants.
    """
    check_threshold(c)
    scores, entropies = fit.scores, fit.entropies
    floor = scores.max() - (1.0 - c) * abs(scores.max())
    good = scores >= floor
    place = int(np.where(good, entropies, -np.inf).argmax())
    details = {"c": c, "floor": floor, "candidates": int(good.sum()), "start": place, **_note(fit)}
    return Chosen(fit.starts[place].network, details)


def local_entropy(dag: Dag, theta: Array) -> Array:
    """Return −Σ over variables, parent configurations and states of θ log θ, in nats; (..., size) → (...).

    ENT eq. 2 with its sign put right. A table that tied families share counts for each of them. A
    continuous variable adds the entropy of its family in each configuration, a regression ½ log(2πe σ²).
    """
    layout = dag.layout
    out = special.entr(theta[..., : layout.tables]) @ layout.sharing
    for i in dag.continuous:
        out = out + dag.number(i).entropy(layout.records(theta, i)).sum(axis=-1)
    return np.asarray(out)


def check_threshold(c: float) -> None:
    """Refuse a share of the best score that is none."""
    if not 0 < c <= 1:
        raise ParameterError(f"c must lie above 0 and be at most 1, not {c}")


def _rule(select: str) -> Callable[..., Chosen]:
    if select == "max-entropy":
        from lacunary.learn.max_entropy import max_entropy  # both need a fit, which needs this file

        return max_entropy
    if select == "global":
        from lacunary.learn.global_map import global_map

        return global_map
    return {"best": best, "average": average, "entropy": entropy, "ensemble": ensemble}[select]


def _shares(fit: Fit, weights: Weights) -> Array:
    """Return the weight of each start; they sum to one, and a start that explains nothing has none."""
    objective = np.array([start.objective for start in fit.starts])
    able = np.isfinite(objective)
    if weights == "uniform":
        return np.asarray(able / able.sum())
    if weights == "posterior":
        return np.asarray(special.softmax(objective))
    if weights != "score":
        raise ParameterError(f"weights must be 'uniform', 'score' or 'posterior', not {weights!r}")
    scores = np.where(able, fit.scores, 0.0)
    return np.asarray(scores / scores.sum() if scores.sum() else able / able.sum())


def _note(fit: Fit) -> dict[str, str]:
    return {"note": ALONE} if len(fit.starts) == 1 else {}


def _plain(value: Any) -> Any:
    """Return a value as a file can hold it; an infinite number becomes None."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value
