"""The records of CH96 as curves: a score against the number of hidden states."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lacunary.papers import Results
from lacunary.papers.ch96.settings import SCORES, Setting
from lacunary.papers.ch96.work import weigh

__all__ = ["Curve", "chosen", "curves", "delta", "errors_of_choice", "mean_delta"]

Values = Mapping[int, float]


@dataclass(frozen=True)
class Curve:
    """What was found on one data set, by number of hidden states."""

    setting: Setting
    model: int
    data: int
    epsilon: float
    values: dict[int, dict[str, Any]] = field(default_factory=dict)

    def of(self, score: str, where: str = "scores") -> dict[int, float]:
        """Return one score by number of hidden states, where it is known."""
        known = {k: v[where][score] for k, v in sorted(self.values.items()) if where in v}
        return {k: value for k, value in known.items() if value is not None}

    @property
    def whole(self) -> bool:
        """Whether enough is known to choose: c itself, fewer and more states."""
        ks = [k for k in self.values if self.values[k]["scores"]["laplace"] is not None]
        return bool(ks) and min(ks) < self.setting.c < max(ks) and len(ks) > 3


def curves(results: Results, epsilon: float | None = 0.01, *, equal: bool = False) -> list[Curve]:
    """Return all curves that are complete enough to choose by, of one ε or of all.

    Of models as the paper draws them, or of those whose classes are equally frequent.
    """
    found: dict[tuple[Any, ...], Curve] = {}
    for record in results.of(weigh):
        a = record.arguments
        if a.get("equal", False) != equal:
            continue
        setting = Setting(a["n"], a["c"], a["rows"])
        key = (setting, a["model"], a["data"], a.get("epsilon", 0.01))
        found.setdefault(key, Curve(*key)).values[a["k"]] = record.value
    return [c for c in found.values() if c.whole and epsilon in (None, c.epsilon)]


def chosen(values: Values) -> int:
    """Return the number of hidden states of highest score."""
    return max(values, key=lambda k: values[k])


def delta(curve: Curve, score: str) -> int:
    """Return Δc: what a score chooses less what Laplace's approximation chooses."""
    return chosen(curve.of(score)) - chosen(curve.of("laplace"))


def mean_delta(found: list[Curve], score: str) -> tuple[float, float, float]:
    """Return the mean of Δc, its standard deviation over all data sets, and the error of one model's mean.

    The paper has one model a setting, so its mean differs from the mean over models by as much as models
    do: the error is their standard deviation, widened for the doubt about our own mean. With a single
    model of ours it is the standard error over data sets, for both.
    """
    by_model = defaultdict(list)
    for curve in found:
        by_model[curve.model].append(delta(curve, score))
    means = [float(np.mean(d)) for d in by_model.values()]
    every = [d for ds in by_model.values() for d in ds]
    spread = float(np.std(every, ddof=1)) if len(every) > 1 else 0.0
    if len(means) > 1:
        error = float(np.std(means, ddof=1) * np.sqrt(1 + 1 / len(means)))
    else:
        error = spread / float(np.sqrt(max(len(every), 1)))
    return float(np.mean(every)), spread, error


def errors_of_choice(found: list[Curve]) -> dict[Setting, dict[str, float]]:
    """Return the mean Δc of each score in each setting."""
    by_setting: dict[Setting, list[Curve]] = defaultdict(list)
    for curve in found:
        by_setting[curve.setting].append(curve)
    return {
        setting: {score: mean_delta(own, score)[0] for score in SCORES[1:]}
        for setting, own in by_setting.items()
    }
