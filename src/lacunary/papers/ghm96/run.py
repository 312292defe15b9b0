"""GHM96, reproduced: the dimension of networks with hidden variables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lacunary.papers import Listing, Outcome, Paper, Results, Size, Unit, sweep
from lacunary.papers.ghm96.answers import ERRORS, KINDS, LEARNING, answers, cells, error_of, slope_of
from lacunary.papers.ghm96.work import CASES, STRUCTURES, column, grow, rank


class Plan(NamedTuple):
    """Sizes of everything.

    For each number of states, the most features of the map; numbers of features at which 1 + 2n is tried
    beyond it; numbers of rows, and samples of each.
    """

    columns: dict[int, int]
    long: Sequence[int]
    rows: Sequence[int]
    repeats: int


PLANS: dict[Size, Plan] = {
    "tiny": Plan({2: 4, 3: 2}, (9,), (30,), 1),
    "glance": Plan({2: 7, 3: 4, 4: 3, 5: 3}, (9, 16, 32), (1000, 10**4), 2),
    "full": Plan(
        {2: 10, 3: 6, 4: 5, 5: 4, 6: 3},
        (11, 12, 16, 24, 32, 64, 128),
        (10**6, 10**7, 10**4, 1000, 100),
        3,
    ),
}


def units(size: Size) -> Iterator[Unit]:
    """Return the work."""
    plan = PLANS[size]
    yield from sweep(rank, name=STRUCTURES)
    for b, features in plan.columns.items():
        for n in range(1, features + 1):
            # as far as the classes that fill the space of all distributions, and one further
            filled = -(-(b**n) // (n * (b - 1) + 1))
            yield Unit(column, {"b": b, "n": n, "most": max(filled + 1, 3)})
    yield from sweep(column, {"b": 2, "most": 2}, n=plan.long)
    for repeat in range(plan.repeats):
        for rows in plan.rows:
            for kind, n, k in CASES:
                yield Unit(grow, {"kind": kind, "n": n, "k": k, "rows": rows, "repeat": repeat})


def outcome(results: Results) -> Outcome:
    """Return what the work shows."""
    from lacunary.papers.ghm96.figures import drawings  # plotting takes a second to import

    listings = [_ranks(results), _map(results), _growth(results), _slopes(results)]
    return Outcome(listings, list(drawings(results)), answers(results))


def _ranks(results: Results) -> Listing:
    columns = ("parameters", "observable", "rank")
    rows = [
        (STRUCTURES[r.arguments["name"]].name, *(r.value[name] for name in columns)) for r in results.of(rank)
    ]
    return Listing("ranks", "Ranks of the paper's networks", ("network", *columns), rows)


def _map(results: Results) -> Listing:
    short = [c for c in cells(results) if c.kind > 0 and c.k > 1]
    return Listing(
        "map",
        "Naive Bayes with b states, k classes, n features: where the rank is below the parameters",
        ("b", "n", "k", "parameters", "room", "rank", "kind"),
        [(c.b, c.n, c.k, c.parameters, c.room, c.rank, KINDS[c.kind]) for c in short],
        "Room is bⁿ − 1, the dimension of all distributions of the features.",
    )


def _growth(results: Results) -> Listing:
    rows = []
    for record in results.of(grow):
        v = record.value
        sample = [record.arguments[name] for name in ("kind", "k", "rows", "repeat")]
        errors = [error_of(record, name) for name in ERRORS]
        rows.append((*sample, v["evidence"], v["stderr"], "yes" if v["certain"] else "no", *errors))
    heads = ("truth", "classes", "N", "sample", "log p(D)", "± s.e.", "certain")
    columns = (*heads, *(f"{label} − log p(D)" for label in ERRORS.values()))
    return Listing("growth", "Errors on growing samples, four binary features", columns, rows)


def _slopes(results: Results) -> Listing:
    rows = []
    for case in CASES:
        for name, label in {**ERRORS, "log_likelihood": "log-likelihood"}.items():
            slope = slope_of(results, case, name)
            if slope is not None:
                theory = LEARNING[case] if name == "log_likelihood" else None
                rows.append((case[0], case[2], label, slope.value, slope.error, theory, slope.samples))
    columns = ("truth", "classes", "score", "slope", "± s.e.", "theory", "samples")
    title = "Slope of (score − log p(D)) in log N over the largest tenfold range of N"
    return Listing("slopes", title, columns, rows)


PAPER = Paper(units, outcome, edition=2)
