"""Samplers of the evidence, grown until their errors are small; two that lie apart are doubled.

Islands are independent, and their spread tells the error. How many of them, with how many particles, meet an
error is settled by runs that are forgotten. Of two ways to the same evidence that end apart either one has
missed something or chance has made it so: islands with fresh random numbers, as many as there are, join those
of both, and none is left out. Chance gives way to more islands, and what was missed stays missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import logsumexp

from lacunary.evidence.diagnostics import with_unseen
from lacunary.evidence.population import Annealed
from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array

__all__ = ["BUDGET", "ISLANDS", "ROUGH", "SPREAD", "Sampler", "apart", "double", "fill", "until"]

ISLANDS = 16
"""Independent runs whose spread tells the error."""

BUDGET = 2.0**34
"""Multiplications after which growing stops: about half a minute."""

BEYOND, LESS, MORE = 1.2, 1.4, 4.0
"""Effort beyond what islands' spread asks for; the least and the most times the effort of the last run."""

SPREAD = 0.5
"""Standard deviation of islands' log estimates above which the log of their mean is not near normal."""

ROUGH, ALIKE = 1.0, 0.4
"""Spread from which the effort that leads to another can be told, and the one that is aimed at."""

MANY = 23
"""Islands at least of a run that counts: fewer do not tell their spread, and those that err most look best.

From so many on, more particles are worth more.
"""

SAFE, EASY = 0.85, 0.25
"""Share of the wanted error that is aimed at; that below which a first run is taken as it is."""

DEAR = 0.125
"""Share of what is left of the budget that a run which is forgotten may take; where it would take more, all
that is left goes to one that counts."""

DOUBLINGS = 3
"""Times that islands are doubled at most where two samplers lie apart: errors are then a third as large."""


@dataclass(eq=False)
class Sampler:
    """One way to the posterior, and what it has found.

    ``attempt`` runs all islands with so many times the effort of the first time, and ``price`` is what one
    move of a particle costs, in multiplications. Of ``conditional`` runs the inverse estimates are unbiased.
    Particles that are ``points`` are parameters, else counts. From the ``prior`` nothing is out of reach.
    Islands were ``doubled`` so many times because another sampler lay apart; ``before`` are value and error
    until then.
    """

    name: str
    attempt: Callable[[int, float, np.random.Generator], Annealed]
    price: float
    conditional: bool = False
    points: bool = False
    prior: bool = False
    effort: float = 0.0
    spent: float = 0.0
    doubled: int = 0
    before: tuple[float, float] | None = None
    found: Annealed | None = field(default=None, repr=False)

    def run(self, islands: int, effort: float, rng: np.random.Generator) -> None:
        """Run all islands with so much effort, and forget earlier runs."""
        self.found = self.attempt(islands, effort, rng)
        self.effort, self.spent = effort, self.spent + self.found.steps * self.price

    def add(self, islands: int, rng: np.random.Generator) -> None:
        """Run so many islands more with the effort of the last."""
        assert self.found is not None
        more = self.attempt(islands, self.effort, rng)
        self.found, self.spent = self.found.with_islands(more), self.spent + more.steps * self.price

    def double(self, rng: np.random.Generator) -> None:
        """Run as many islands again, all of which count."""
        before = self.before or (self.value, self.stderr)
        self.add(len(self.log_z), rng)
        self.doubled, self.before = self.doubled + 1, before

    @property
    def log_z(self) -> Array:
        """The islands' log estimates; (islands,)."""
        assert self.found is not None
        return self.found.log_z

    @property
    def spread(self) -> float:
        """Standard deviation of the islands' log estimates."""
        return float(self.log_z.std(ddof=1))

    @property
    def value(self) -> float:
        """The log of the islands' mean estimate; of conditional runs, of their harmonic mean."""
        sign = -1.0 if self.conditional else 1.0
        return float(sign * (logsumexp(sign * self.log_z) - np.log(len(self.log_z))))

    @property
    def stderr(self) -> float:
        """Its standard error: that of the mean, relative, and what no particle may have met.

        Estimates whose logs are normal have few that are large, on which mean and error both depend: the
        error is at least the one that belongs to the spread of the logs.
        """
        assert self.found is not None
        relative = np.exp((self.value - self.log_z) if self.conditional else (self.log_z - self.value))
        normal = np.sqrt(np.expm1(min(self.spread, 2.0) ** 2))
        seen = float(max(relative.std(ddof=1), normal) / np.sqrt(len(relative)))
        return with_unseen(seen, self.found.logs.size)

    def wanted(self, stderr: float) -> float:
        """Return how much more effort than the last would meet a standard error, by the spread of islands."""
        aim = min(SPREAD, 0.9 * stderr * np.sqrt(len(self.log_z)))
        return float((self.spread / aim) ** 2)

    def plan(self, islands: int, stderr: float) -> tuple[float, int]:
        """Return how much more effort than the last, and how many islands, would meet a standard error."""
        if self.spread > ROUGH:
            return float(np.clip(BEYOND * (self.spread / ROUGH) ** 2, LESS, MORE)), islands
        aim = min(ALIKE, SAFE * stderr * np.sqrt(max(MANY, islands)))
        many = int(np.ceil((min(self.spread, aim) / (SAFE * stderr)) ** 2))
        return max((self.spread / aim) ** 2, 1.0), max(many, islands, MANY)

    @property
    def next_cost(self) -> float:
        """What as much effort as the last costs."""
        assert self.found is not None
        return self.found.steps * self.price


def until(
    problem: Problem, way: Sampler, islands: int, stderr: float, budget: float, rng: np.random.Generator
) -> None:
    """Have first runs tell how alike islands are, then run as many as the error asks for.

    Their number is settled before they are run, and those that told it are forgotten: an error that is taken
    when it first looks small enough is too small. Others join them only where they were not enough. It ends
    before if the budget is spent.
    """
    while way.spread > SPREAD or way.stderr > EASY * stderr:
        _tell(problem, way, stderr, budget)
        times, many = way.plan(islands, stderr)
        now = len(way.log_z)
        room = now * (budget - way.spent) / way.next_cost  # islands with the last effort that can be paid
        if room < min(times * many, now * LESS):
            return
        dear = way.spread > ROUGH and times * many > DEAR * room  # too dear to be forgotten
        many = max(int(room / times) if dear else min(many, int(room / times)), islands)
        last = dear or way.spread <= ROUGH
        way.run(many, min(times, room / many) * way.effort, rng)
        if last and (dear or way.spread <= SPREAD):
            break
    fill(problem, way, stderr, budget, rng)


def fill(problem: Problem, way: Sampler, stderr: float, budget: float, rng: np.random.Generator) -> None:
    """Have islands join the others until they meet the error, or the budget is spent."""
    while way.stderr > stderr:
        _tell(problem, way, stderr, budget)
        now, room = len(way.log_z), (budget - way.spent) / way.next_cost
        more = int(min(max(now * (BEYOND * (way.stderr / stderr) ** 2 - 1.0), 2.0), now * MORE, now * room))
        if more < 2:
            return
        way.add(more, rng)


def _tell(problem: Problem, way: Sampler, stderr: float, budget: float) -> None:
    problem.say(f"{way.name}: error {way.stderr:.2g}, {stderr:g} wanted", min(way.spent / budget, 1.0))


def apart(one: Sampler, other: Sampler) -> float:
    """Return how many standard errors lie between two samplers' values."""
    return float(abs(one.value - other.value) / max(np.hypot(one.stderr, other.stderr), 1e-9))


def double(
    problem: Problem,
    pair: tuple[Sampler, Sampler],
    far: Callable[[], bool],
    stderr: float,
    budget: float,
    rng: np.random.Generator,
) -> None:
    """Double the islands of two samplers while they are far apart, a few times at most.

    All islands count, those that lay far apart, too. What chance has put there draws near; what really
    differs stays as far apart, with smaller errors. A sampler whose budget does not pay for as many again
    stays as it is. Where one of those that came shows that the others have missed much, more join them until
    the error is met.
    """
    for _ in range(DOUBLINGS):
        able = [way for way in pair if way.spent + way.next_cost <= budget]
        if not far() or not able:
            return
        for way in able:
            problem.say(f"{way.name}: as many islands again, since another sampler lies apart")
            way.double(rng)
            fill(problem, way, stderr, budget, rng)
