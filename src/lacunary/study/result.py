"""What was found about hidden classes: how many there are, what they are like, who is in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from os import PathLike
from typing import Any, Literal

import numpy as np

from lacunary.data.absent import Lean, left_behind
from lacunary.data.schema import Label, Variable
from lacunary.data.source import Source
from lacunary.data.table import HOLE
from lacunary.evidence.compare import Comparison
from lacunary.infer.network import Network
from lacunary.learn.fit import Fit
from lacunary.maths.arrays import Array
from lacunary.registry import borrow, page_of
from lacunary.study.glance import Glance, Spot, every_row, glance, most_unusual, responsibilities
from lacunary.study.levels import Levels, Shift
from lacunary.study.profile import Candidate, Case, Contrast, Profile, candidate_record, profile_record

__all__ = ["Classes", "Drawn", "deciding"]

DECIDES, DENSITIES = "sbic", "cheeseman-stutz"
"""The estimates by which the number of classes is chosen, of discrete columns and of others.

The first is right most often in benchmarks/criteria.md, which is of discrete columns; the second is the one
that `lacunary.score` makes unless told.
"""

Drawn = Literal["evidence", "profiles", "traces", "starts"]
"""What can be drawn: log evidence by number of classes, chances by class, and the starts of the best fit."""

CLEAR = 0.9
"""From this probability on a row belongs to a class, and is not between two."""
CONTRASTS = 3
"""How many variables are named for each class."""


def deciding(table: Source) -> str:
    """Return the estimate by which the number of classes of a table's rows is recommended."""
    return DECIDES if all(variable.discrete for variable in table.schema) else DENSITIES


@dataclass(frozen=True, eq=False)
class Classes(Lean):
    """How many hidden classes a table speaks for, what each is like, and to which a row belongs.

    ``print`` shows it as tables; `page` writes them with figures, `plot` draws one, `save` keeps the network.

    Attributes
    ----------
    table
        The columns the classes were found from.
    hidden
        What the class is called.
    aside
        The column that was kept aside, to see what the classes mean.
    candidates
        A fit for every number of classes that was tried, with estimates of its evidence.
    comparison
        The candidates weighed against each other by several estimates.
    network
        The best candidate's network, its classes renamed A, B, … from the largest on.
    """

    table: Source
    hidden: str
    aside: Source | None
    candidates: tuple[Candidate, ...]
    comparison: Comparison
    network: Network

    def __getstate__(self) -> dict[str, Any]:
        # A pickle leaves the rows behind: what they say of classes is worked out now, but not for each row.
        if self.keeps_rows():
            return self.__dict__
        _ = self.cases
        return left_behind(
            {n: held for n, held in self.__dict__.items() if n != "posterior"}, "table", "aside"
        )

    @cached_property
    def posterior(self) -> Array:
        """The rows' responsibilities, p(class | the row's observed cells); (rows, classes).

        They are worked out when they are asked for; all else here is known without having them in one place.
        """
        found = every_row(self.table).each(partial(responsibilities, self.network, self.hidden))
        return np.concatenate(found)

    @cached_property
    def _seen(self) -> Glance:
        """What the rows say of the classes."""
        return glance(self.network, self.hidden, self.table, self.aside)

    @property
    def doubts(self) -> str:
        """What is doubtful about the columns, in a line; see `Table.doubts`."""
        return str(getattr(self.table, "doubts", ""))

    @property
    def best(self) -> Candidate:
        """The candidate of highest log evidence by the estimate that decides."""
        return max(self.candidates, key=lambda candidate: candidate.log_evidence[self.criterion])

    @property
    def criterion(self) -> str:
        """The estimate by which the number of classes is recommended; the table shows all."""
        return deciding(self.table)

    @property
    def number(self) -> int:
        """The recommended number of classes: the best candidate's."""
        return self.best.classes

    def notes(self) -> tuple[str, ...]:
        """Return what leaves a doubt, a sentence each; the page and the prompt say it too."""
        most = max(candidate.classes for candidate in self.candidates)
        edge = (f"The most that were tried, {most}, is best: try more.",) if self.number == most > 1 else ()
        return (*self.comparison.warnings(), *edge)

    @property
    def fits(self) -> dict[int, Fit]:
        """The best fit of every number of classes that was tried."""
        return {candidate.classes: candidate.fit for candidate in self.candidates}

    @property
    def favourites(self) -> dict[int, tuple[str, ...]]:
        """The numbers of classes that some estimate puts first, each with these estimates."""
        by_name = dict(zip(self.comparison.models, self.candidates, strict=True))
        return {by_name[name].classes: methods for name, methods in self.comparison.favourites().items()}

    @property
    def labels(self) -> tuple[Label, ...]:
        """The names of the best candidate's classes, A being the most probable."""
        return self.network.dag.schema[self.hidden].states

    @property
    def holes(self) -> int:
        """How many cells are empty."""
        return self._seen.holes

    @property
    def complete(self) -> int:
        """How many rows have no hole."""
        return self._seen.complete

    @property
    def wasted(self) -> int:
        """How many observed cells dropping the incomplete rows would have thrown away."""
        return self._seen.wasted

    def chance(self, name: str) -> Array:
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
        return tuple(self._profile(k) for k in range(len(self.labels)))

    @property
    def cases(self) -> tuple[Case, ...]:
        """A few rows worth looking at."""
        return tuple(
            Case(spot.row, why, self._aside_of(spot), spot.holes, spot.chances)
            for spot, why in self._worth_a_look()
        )

    def assign(self, table: Any = None) -> list[Label]:
        """Return the most probable class of every row, of the table it was found from or of another one."""
        chances = (
            self.posterior if table is None else self.network.posterior(table, [self.hidden])[self.hidden]
        )
        return [self.labels[int(k)] for k in chances.argmax(axis=1)]

    def __repr__(self) -> str:
        tried = ", ".join(str(candidate.classes) for candidate in self.candidates)
        return f"<Classes: {self.number} of {self.hidden} best of {tried}; {len(self.table)} rows>"

    def __str__(self) -> str:
        return str(borrow("classes as text")(self))

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def plot(self, what: Drawn = "evidence") -> Any:
        """Return a figure of matplotlib: the "evidence", "profiles", "traces" of EM, or its "starts"."""
        return borrow("classes as a figure")(self, what)

    def page(self, path: str | PathLike[str] | None = None, **words: str) -> str:
        """Return a page with tables and figures, in one piece of HTML, and write it if a path is given.

        ``title``, ``row``, ``cell`` and ``source`` say what it is about, what a row and a cell stand for
        ("member", "vote"), and where the data come from.
        """
        return page_of("classes", path, self, **words)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the best network to a file, as `lacunary.save` does: .json, .bif, .xmlbif, .net."""
        borrow("save")(self.network, path)

    def to_dict(self) -> dict[str, Any]:
        """Return all that was found as plain dictionaries, lists and numbers."""
        return {
            "rows": len(self.table),
            "variables": len(self.table.schema),
            "holes": self.holes,
            "complete_rows": self.complete,
            "incomplete_rows": len(self.table) - self.complete,
            "observed_cells_in_incomplete_rows": self.wasted,
            "candidates": [candidate_record(c) for c in self.candidates],
            "favourites": {str(classes): list(methods) for classes, methods in self.favourites.items()},
            "best": self.best.classes,
            "criterion": self.criterion,
            "classes": [profile_record(p) for p in self.profiles],
            "measured": {
                each.name: {
                    str(label): {"mean": mean, "sd": sd}
                    for label, mean, sd in zip(
                        self.labels, each.means.tolist(), each.sds.tolist(), strict=True
                    )
                }
                for each in self.measured
            },
            "cases": [self._record(case) for case in self.cases],
        }

    def _record(self, case: Case) -> dict[str, Any]:
        chances = dict(zip(map(str, self.labels), case.probabilities, strict=True))
        return {**asdict(case), "row": case.row + 1, "probabilities": chances}

    def _profile(self, k: int) -> Profile:
        size = float(self._seen.sizes[k])
        contrasts = sorted(
            (self._contrast(k, variable) for variable in self.table.schema),
            key=lambda contrast: -contrast.apart,
        )
        return Profile(
            self.labels[k], size, size / self.table.size, self._aside_in(k), tuple(contrasts[:CONTRASTS])
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
        counted = self._seen.aside[k].tolist()
        total = sum(counted) or 1.0
        return {
            s: count / total for s, count in zip(self.aside.schema.variables[0].states, counted, strict=True)
        }

    def _aside_of(self, spot: Spot) -> Label | None:
        if self.aside is None or spot.aside == HOLE:
            return None
        return self.aside.schema.variables[0].states[spot.aside]

    def _worth_a_look(self) -> Iterator[tuple[Spot, str]]:
        """Go over rows to show, each once, with the reason."""
        seen, whole = self._seen, len(self.table.schema)
        chosen = {spot.row: (spot, "clear") for spot in seen.clear}
        for spot in seen.between:
            why = "in between" if max(spot.chances) < CLEAR else "least clear"
            chosen.setdefault(spot.row, (spot, why))
        if self.aside is not None:
            spot = self._unusual
            chosen.setdefault(spot.row, (spot, f"unusual {self.aside.schema.names[0]}"))
        for spot in seen.full:
            if spot.holes:
                why = "many missing" if spot.holes < whole else "all missing"
                chosen.setdefault(spot.row, (spot, why))
        yield from chosen.values()

    @cached_property
    def _unusual(self) -> Spot:
        """The row whose aside state is rarest in its probable class."""
        assert self.aside is not None
        shares = np.array([list(profile.aside.values()) for profile in self.profiles])
        return most_unusual(self.network, self.hidden, self.table, self.aside, shares)
