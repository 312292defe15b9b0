"""The experiments of CH96, what it printed, and our records as curves of a score against hidden states."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from lacunary.papers import Results
from lacunary.papers.ch96.work import weigh

SCORES = ("laplace", "cheeseman-stutz", "mled", "draper", "bic")
"""The five scores of its figures, the gold standard first."""

LABELS = {
    "laplace": "Laplace",
    "cheeseman-stutz": "CS",
    "mled": "MLED",
    "draper": "Draper",
    "bic": "BIC/MDL",
    "variational": "variational",
}


class Setting(NamedTuple):
    """n observed binary variables, c hidden states of the model that made the data, N rows."""

    n: int
    c: int
    rows: int

    def __str__(self) -> str:
        return f"n = {self.n}, c = {self.c}, N = {self.rows}"


FIGURES: dict[str, tuple[Setting, ...]] = {
    "figure-1": tuple(Setting(n, 4, 400) for n in (8, 16, 32, 64)),
    "figure-2": tuple(Setting(64, c, 400) for c in (32, 16, 8, 4)),
    "figure-3": tuple(Setting(32, 4, rows) for rows in (100, 200, 400, 800)),
}
"""The panels of each figure, in its order; also the rows of Table 1."""

ROWS = tuple(setting for panels in FIGURES.values() for setting in panels)
SETTINGS = tuple(dict.fromkeys(ROWS))

PRINTED: tuple[tuple[tuple[float, float], ...], ...] = (
    ((0, 0), (0.4, 1.5), (0, 0), (-0.2, 0.4)),
    ((0.2, 0.4), (-0.2, 0.8), (0.2, 0.4), (-0.8, 0.4)),
    ((0, 0), (0, 0), (0, 0), (-0.4, 0.5)),
    ((0, 0), (0, 0), (0, 0), (-0.2, 0.4)),
    ((16.2, 1.5), (16.2, 1.5), (-2.2, 2.0), (-6.0, 2.7)),
    ((5.0, 6.4), (5.0, 6.4), (-1.6, 1.1), (-3.0, 1.4)),
    ((0.8, 0.8), (0.8, 0.8), (0, 0), (-1.0, 1.0)),
    ((0, 0), (0, 0), (0, 0), (-0.2, 0.4)),
    ((0.6, 0.9), (0.6, 0.9), (0, 0), (-0.6, 0.5)),
    ((0.2, 0.4), (0.2, 0.4), (0, 0), (-0.6, 0.5)),
    ((0, 0), (0, 0), (0, 0), (-0.4, 0.5)),
    ((0, 0), (0, 0), (0, 0), (0, 0)),
)
"""Table 1: mean and standard deviation of Δc for CS, MLED, Draper and BIC/MDL in each row."""

TABLE_2: tuple[tuple[float, ...], ...] = (
    (1689, 500, 2800, 2, 0.06, 2, 2),
    (1754, 580, 3000, 2, 0.07, 2, 2),
    (1819, 590, 3300, 2, 0.07, 2, 2),
    (1884, 650, 3600, 2, 0.08, 2, 2),
    (1949, 680, 3900, 2, 0.08, 2, 2),
    (2014, 680, 4200, 2, 0.08, 2, 2),
    (2079, 530, 4600, 2, 0.08, 2, 2),
    (2144, 760, 4900, 2, 0.08, 2, 2),
    (2209, 810, 5500, 2, 0.08, 2, 2),
    (2274, 790, 5900, 3, 0.08, 3, 3),
    (2339, 870, 6700, 3, 0.08, 3, 3),
)
"""Table 2: dimension, then seconds of EM, Laplace, CS, MLED, Draper and BIC/MDL on a P5 of 100 MHz."""

_ALL: dict[int, Sequence[int]] = {
    4: range(2, 9),
    8: range(2, 15),
    16: (4, 6, 8, *range(10, 23), 24, 26, 28),
    32: (*range(8, 26, 2), *range(26, 37), *range(38, 49, 2)),
}
_FEW: dict[int, Sequence[int]] = {
    4: range(2, 9),
    8: (2, 4, 6, 7, 8, 9, 10, 12),
    16: (4, 8, 12, 16, 20, 24),
    32: (8, 16, 24, 32, 36, 40),
}


def states(setting: Setting, *, few: bool = False) -> Sequence[int]:
    """Return the numbers of hidden states that are tried; two to eight for c = 4, as printed.

    For larger c the paper says only that they straddle c. A mean Δc of 16 at c = 32, where Table 2 goes
    to 36, needs a range to 40 or more; ours go from c/4 to 3c/2 and beyond, by ones around c and by
    twos far from it.
    """
    return (_FEW if few else _ALL)[setting.c]


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
    """Return the mean of Δc over models, its standard deviation over all data sets, and one model's error.

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
    return float(np.mean(means)), spread, error
