"""The data of a report on hidden classes: how many there are, what they are like, who is in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label, Variable
from lacunary.data.table import HOLE, Table
from lacunary.evidence.compare import Comparison
from lacunary.infer.network import Network
from lacunary.learn.fit import Fit
from lacunary.report.shift import Levels, Shift

__all__ = ["DECIDES", "Candidate", "Case", "Contrast", "Profile", "Study"]

DECIDES = "cheeseman-stutz"
"""The estimate by which the number of classes is chosen: the one that `lacunary.score` makes unless told."""

CONTRASTS = 3
"""How many variables are named for each class."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """The best fit with one number of classes, and how strongly the table speaks for it.

    Attributes
    ----------
    classes
        How many states the hidden class has.
    parameters
        d: how many free parameters the model has.
    log_evidence
        Estimates of the log marginal likelihood by method, in nats; higher is better.
    """

    classes: int
    fit: Fit
    parameters: int
    log_evidence: Mapping[str, float]


@dataclass(frozen=True)
class Contrast:
    """A state of a variable that is commoner, or rarer, in one class than in the others."""

    variable: str
    state: Label
    here: float
    elsewhere: float

    @property
    def apart(self) -> float:
        """How much the chances differ."""
        return abs(self.here - self.elsewhere)


@dataclass(frozen=True)
class Profile:
    """One class: its size, how a variable kept aside is distributed in it, and what sets it apart."""

    label: Label
    size: float
    share: float
    aside: dict[Label, float]
    contrasts: tuple[Contrast | Shift, ...]


@dataclass(frozen=True)
class Case:
    """A row, why it is shown, and to which class it probably belongs."""

    row: int
    why: str
    aside: Label | None
    holes: int
    probabilities: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Study:
    """How many hidden classes a table speaks for, and what they are.

    Attributes
    ----------
    table
        The columns the classes were found from.
    hidden
        What the class is called.
    aside
        The table of a column that was kept aside, to see what the classes mean.
    candidates
        A fit for every number of classes.
    comparison
        The candidates weighed against each other by several estimates.
    network
        The best candidate's network, its classes renamed A, B, … from the largest on.
    posterior
        p(class | the row's observed cells); (rows, classes).
    """

    table: Table
    hidden: str
    aside: Table | None
    candidates: tuple[Candidate, ...]
    comparison: Comparison
    network: Network
    posterior: NDArray[np.float64]

    @property
    def best(self) -> Candidate:
        """The candidate of highest log evidence by the estimate that decides."""
        return max(self.candidates, key=lambda candidate: candidate.log_evidence[DECIDES])

    @property
    def favourites(self) -> dict[int, tuple[str, ...]]:
        """The numbers of classes that some estimate puts first, each with these estimates."""
        by_name = dict(zip(self.comparison.models, self.candidates, strict=True))
        return {by_name[name].classes: methods for name, methods in self.comparison.favourites().items()}

    @property
    def classes(self) -> tuple[Label, ...]:
        """The names of the best candidate's classes."""
        return self.network.dag.schema[self.hidden].states

    @property
    def holes(self) -> int:
        """How many cells are empty."""
        return int(self.table.holes.sum())

    @property
    def complete(self) -> int:
        """How many rows have no hole."""
        return int((~self.table.holes.any(axis=1)).sum())

    @property
    def wasted(self) -> int:
        """How many observed cells dropping the incomplete rows would have thrown away."""
        incomplete = self.table.holes.any(axis=1)
        return int((~self.table.holes[incomplete]).sum())

    def chance(self, name: str) -> NDArray[np.float64]:
        """Return p(variable | class); (classes, states)."""
        return self.network.table(name)

    def levels(self, name: str) -> Levels:
        """Return a continuous variable's mean and standard deviation in each class."""
        family = self.network.dag.number(self.network.dag.schema.index(name))
        intercept, variance = family.normal(self.network.table(name)).T
        return Levels(name, self.network.table(self.hidden), intercept, np.sqrt(variance))

    @property
    def measured(self) -> tuple[Levels, ...]:
        """The continuous variables, from the one that tells most of the class on."""
        return tuple(self.levels(name) for name in self.telling if not self.table.schema[name].discrete)

    def information(self, name: str) -> float:
        """Return how much a variable tells of the class, in nats: their mutual information."""
        if not self.table.schema[name].discrete:
            return self.levels(name).information
        weights, chance = self.network.table(self.hidden), self.chance(name)
        overall = weights @ chance
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(chance > 0, chance * np.log(chance / overall), 0.0)
        return float(weights @ terms.sum(axis=1))

    @property
    def telling(self) -> tuple[str, ...]:
        """The variables, from the one that tells most of the class on."""
        return tuple(sorted(self.table.schema.names, key=self.information, reverse=True))

    @property
    def profiles(self) -> tuple[Profile, ...]:
        """The classes, from the largest on."""
        return tuple(self._profile(k) for k in range(len(self.classes)))

    @property
    def cases(self) -> tuple[Case, ...]:
        """A few rows worth looking at."""
        return tuple(
            Case(
                row,
                why,
                self._aside_of(row),
                int(self.table.holes[row].sum()),
                tuple(self.posterior[row].tolist()),
            )
            for row, why in self._worth_a_look()
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the study as plain dictionaries, lists and numbers."""
        return {
            "rows": len(self.table),
            "variables": len(self.table.schema),
            "holes": self.holes,
            "complete_rows": self.complete,
            "incomplete_rows": len(self.table) - self.complete,
            "observed_cells_in_incomplete_rows": self.wasted,
            "candidates": [_candidate(c) for c in self.candidates],
            "favourites": {str(classes): list(methods) for classes, methods in self.favourites.items()},
            "best": self.best.classes,
            "classes": [_profile(p) for p in self.profiles],
            "measured": {
                each.name: {
                    str(label): {"mean": mean, "sd": sd}
                    for label, mean, sd in zip(
                        self.classes, each.means.tolist(), each.sds.tolist(), strict=True
                    )
                }
                for each in self.measured
            },
            "cases": [
                {
                    "row": case.row + 1,
                    "why": case.why,
                    "aside": case.aside,
                    "holes": case.holes,
                    "probabilities": dict(zip(map(str, self.classes), case.probabilities, strict=True)),
                }
                for case in self.cases
            ],
        }

    def _profile(self, k: int) -> Profile:
        size = float(self.table.weights @ self.posterior[:, k])
        contrasts = sorted(
            (self._contrast(k, variable) for variable in self.table.schema),
            key=lambda contrast: -contrast.apart,
        )
        return Profile(
            self.classes[k], size, size / self.table.size, self._aside_in(k), tuple(contrasts[:CONTRASTS])
        )

    def _contrast(self, k: int, variable: Variable) -> Contrast | Shift:
        """Return the state of a variable whose chance differs most between a class and the others."""
        if not variable.discrete:
            return self.levels(variable.name).shift(k)
        chance, weights = self.chance(variable.name), self.network.table(self.hidden)
        others = np.arange(len(weights)) != k
        rest = weights[others] @ chance[others] / weights[others].sum() if others.any() else chance[k]
        # Of two states both differ by the same amount: the last, "yes" in most tables, is the one to read.
        state = len(rest) - 1 if len(rest) == 2 else int(np.abs(chance[k] - rest).argmax())
        return Contrast(variable.name, variable.states[state], float(chance[k, state]), float(rest[state]))

    def _aside_in(self, k: int) -> dict[Label, float]:
        if self.aside is None:
            return {}
        codes = self.aside.codes[:, 0]
        weight = self.table.weights * self.posterior[:, k]
        counted = [float(weight[codes == code].sum()) for code in range(self.aside.schema.sizes[0])]
        total = sum(counted) or 1.0
        return {
            s: count / total for s, count in zip(self.aside.schema.variables[0].states, counted, strict=True)
        }

    def _aside_of(self, row: int) -> Label | None:
        if self.aside is None or self.aside.codes[row, 0] == HOLE:
            return None
        return self.aside.schema.variables[0].states[int(self.aside.codes[row, 0])]

    def _worth_a_look(self) -> Iterator[tuple[int, str]]:
        """Go over rows to show, each once, with the reason."""
        holes = self.table.holes.sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            doubt = -np.where(self.posterior > 0, self.posterior * np.log(self.posterior), 0.0).sum(axis=1)
        fullest = holes == holes.min()
        chosen = {int(np.where(fullest, doubt, np.inf).argmin()): "clear"}
        chosen.setdefault(int(np.where(fullest, doubt, -1.0).argmax()), "in between")
        if self.aside is not None:
            chosen.setdefault(int(self._surprise().argmax()), f"unusual {self.aside.schema.names[0]}")
        for row in np.argsort(-holes, kind="stable")[:3].tolist():
            if holes[row]:
                chosen.setdefault(
                    row, "many missing" if holes[row] < len(self.table.schema) else "all missing"
                )
        yield from chosen.items()

    def _surprise(self) -> NDArray[np.float64]:
        """Return how rare each row's aside state is in its probable class; (rows,)."""
        assert self.aside is not None
        shares = np.array([list(profile.aside.values()) for profile in self.profiles])
        expected = np.take_along_axis(self.posterior @ shares, np.maximum(self.aside.codes[:, :1], 0), axis=1)
        return np.where(self.aside.codes[:, 0] == HOLE, 0.0, 1.0 - expected[:, 0])


def _candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "classes": candidate.classes,
        "parameters": candidate.parameters,
        "log_likelihood": candidate.fit.log_likelihood,
        "log_evidence": dict(candidate.log_evidence),
        "objective": candidate.fit.objective,
        "iterations": candidate.fit.iterations,
        "converged": candidate.fit.converged,
        "starts": len(candidate.fit.starts),
    }


def _profile(profile: Profile) -> dict[str, Any]:
    return {
        "label": profile.label,
        "size": profile.size,
        "share": profile.share,
        "aside": {str(state): share for state, share in profile.aside.items()},
        "contrasts": [asdict(c) for c in profile.contrasts],
    }
