"""GHM96, reproduced: the dimension of networks with hidden variables."""

from __future__ import annotations

from collections.abc import Iterator

from lacunary.papers import Listing, Outcome, Paper, Results
from lacunary.papers.ghm96.answers import ERRORS, KINDS, LEARNING, answers, cells, slope_of
from lacunary.papers.ghm96.plan import CASES, units
from lacunary.papers.ghm96.structures import STRUCTURES
from lacunary.papers.ghm96.work import grow, rank

__all__ = ["PAPER"]


def outcome(results: Results) -> Outcome:
    """Return what the work shows."""
    from lacunary.papers.ghm96.figures import drawings  # plotting takes a second to import

    return Outcome(
        list(_listings(results)),
        list(drawings(results)),
        answers(results),
        (
            "Ranks are found in exact arithmetic modulo large primes; they are never too large, and the "
            "chance that one is too small is below 1e-10. Log p(D) of growing samples is found by annealed "
            "importance sampling on the parameters, 32 chains each.",
        ),
    )


def _listings(results: Results) -> Iterator[Listing]:
    rows = [
        (STRUCTURES[r.arguments["name"]].name, r.value["parameters"], r.value["observable"], r.value["rank"])
        for r in results.of(rank)
    ]
    yield Listing(
        "ranks", "Ranks of the paper's networks", ("network", "parameters", "observable", "rank"), rows
    )
    found = cells(results)
    yield Listing(
        "map",
        "Naive Bayes with b states, k classes, n features: where the rank is below the parameters",
        ("b", "n", "k", "parameters", "room", "rank", "kind"),
        [
            (c.b, c.n, c.k, c.parameters, c.room, c.rank, KINDS[c.kind])
            for c in found
            if c.kind > 0 and c.k > 1
        ],
        "Room is bⁿ − 1, the dimension of all distributions of the features.",
    )
    yield _growth(results)
    yield _slopes(results)


def _growth(results: Results) -> Listing:
    rows = []
    for record in results.of(grow):
        a, v = record.arguments, record.value
        known = v["ais"] is not None
        errors = [v[name] - v["ais"] if known else None for name, _ in ERRORS]
        rows.append(
            (a["kind"], a["k"], a["rows"], a["repeat"], v["ais"], v.get("stderr"), v.get("ess"), *errors)
        )
    heads = ("truth", "classes", "N", "sample", "log p(D)", "± s.e.", "chains that count")
    columns = (*heads, *(f"{label} − log p(D)" for _, label in ERRORS))
    return Listing("growth", "Errors on growing samples, four binary features", columns, rows)


def _slopes(results: Results) -> Listing:
    rows = []
    for case in CASES:
        for name, label in (*ERRORS, ("log_likelihood", "log-likelihood")):
            slope = slope_of(results, case, name)
            if slope is not None:
                theory = LEARNING[case] if name == "log_likelihood" else None
                rows.append((case[0], case[2], label, slope.value, slope.error, theory, slope.samples))
    return Listing(
        "slopes",
        "Slope of (score − log p(D)) in log N over the largest tenfold range of N",
        ("truth", "classes", "score", "slope", "± s.e.", "theory", "samples"),
        rows,
    )


PAPER = Paper(units, outcome)
