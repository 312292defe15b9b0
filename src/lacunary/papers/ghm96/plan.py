"""How much of the work on GHM96 is done at each size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lacunary.papers import Size, Unit, sweep
from lacunary.papers.ghm96.structures import STRUCTURES
from lacunary.papers.ghm96.work import column, grow, rank

__all__ = ["CASES", "units"]

CASES = (("regular", 4, 3), ("regular", 4, 2), ("independent", 4, 2), ("pair", 4, 2))
"""What grows: kind of truth, features, classes."""


@dataclass(frozen=True)
class Plan:
    """Sizes of everything.

    Attributes
    ----------
    columns
        For each number of states, the most features of the map.
    long
        Numbers of features at which 1 + 2n is tried beyond the map.
    steps
        Annealing steps by number of rows; none are annealed where zero.
    repeats
        Samples of each size.
    """

    columns: dict[int, int]
    long: Sequence[int]
    steps: dict[int, int]
    repeats: int


PLANS: dict[Size, Plan] = {
    "tiny": Plan({2: 4, 3: 2}, (9,), {30: 64, 60: 64}, 2),
    "glance": Plan({2: 7, 3: 4, 4: 3, 5: 3}, (9, 16, 32), {100: 4096, 300: 4096, 1000: 8192, 10**5: 0}, 2),
    "full": Plan(
        {2: 10, 3: 6, 4: 5, 5: 4, 6: 3},
        (11, 12, 16, 24, 32, 64, 128),
        {100: 8192, 1000: 32768, 3000: 65536, 10**4: 131072, 10**5: 0, 10**6: 0},
        3,
    ),
}


def units(size: Size) -> Sequence[Unit]:
    """Return the work."""
    plan = PLANS[size]
    return [*sweep(rank, name=STRUCTURES), *_columns(plan), *_growth(plan)]


def _columns(plan: Plan) -> Iterator[Unit]:
    for b, features in plan.columns.items():
        for n in range(1, features + 1):
            # as far as the classes that fill the space of all distributions, and one further
            filled = -(-(b**n) // (n * (b - 1) + 1))
            yield Unit(column, {"b": b, "n": n, "most": max(filled + 1, 3)})
    yield from sweep(column, {"b": 2, "most": 2}, n=plan.long)


def _growth(plan: Plan) -> Iterator[Unit]:
    for repeat in range(plan.repeats):
        for rows, steps in plan.steps.items():
            for kind, n, k in CASES:
                truth = {"kind": kind, "n": n, "k": k}
                yield Unit(grow, {**truth, "rows": rows, "repeat": repeat, "steps": steps})
