"""GHM96, reproduced: the dimension of networks with hidden variables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lacunary.papers import Drawing, Listing, Outcome, Paper, Results
from lacunary.papers.ghm96.answers import LEARNING, Cell, answers, cells, slope_of
from lacunary.papers.ghm96.plan import CASES, units
from lacunary.papers.ghm96.structures import STRUCTURES
from lacunary.papers.ghm96.work import grow, rank

__all__ = ["PAPER"]

KINDS = (
    "rank = parameters",
    "rank = all that the features can do, fewer than parameters",
    "rank below both",
)

ERRORS = (
    ("plain", "plain CS"),
    ("corrected", "CS with d and d′"),
    ("bic", "BIC with d′"),
    ("bic-rank", "BIC with the rank"),
)


def outcome(results: Results) -> Outcome:
    """Return what the work shows."""
    return Outcome(
        list(_listings(results)),
        list(_drawings(results)),
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


def _drawings(results: Results) -> Iterator[Drawing]:
    from lacunary.report import figures_papers as draw

    found = cells(results)
    if found:
        yield Drawing(
            "map",
            "Where the rank falls below the number of parameters",
            "Naive Bayes models of n features with b states each and k classes; columns end once the classes "
            "fill all distributions of the features. Section 6 knew of one red cell, (2, 3, 4).",
            draw.maps(
                [_map(found, b) for b in sorted({c.b for c in found})], KINDS, x="features n", y="classes k"
            ),
        )
    if any(r.value["ais"] is not None for r in results.of(grow)):
        yield Drawing(
            "growth",
            "Errors of four scores on growing samples",
            "Score minus log p(D), mean over samples with its standard error; four binary features. A score "
            "that is right up to a constant is level. Top left: section 6's counterexample, where plain CS "
            "and BIC with 14 parameters fall away by ½ log N. Bottom: singular truths, at which all do.",
            draw.panels(
                [_panel(results, case) for case in CASES], x="rows N", y="score − log p(D) (nats)", log_x=True
            ),
        )


def _map(found: list[Cell], b: int) -> Any:
    from lacunary.report.figures_papers import Map

    mine = [c for c in found if c.b == b and not (b == 2 and c.n > 10)]
    n, k = max(c.n for c in mine), max(c.k for c in mine)
    kinds = np.full((k, n), -1)
    for cell in mine:
        kinds[cell.k - 1, cell.n - 1] = cell.kind
    return Map(f"b = {b}", kinds, range(1, k + 1), range(1, n + 1))


def _panel(results: Results, case: tuple[str, int, int]) -> Any:
    from lacunary.report.figures_papers import Line, Panel

    kind, n, k = case
    records = [r for r in results.of(grow, kind=kind, n=n, k=k) if r.value["ais"] is not None]
    sizes = sorted({r.arguments["rows"] for r in records})
    lines = []
    for place, (name, label) in enumerate(ERRORS):
        errors = [
            [r.value[name] - r.value["ais"] for r in records if r.arguments["rows"] == s] for s in sizes
        ]
        spread = [float(np.std(e, ddof=1) / np.sqrt(len(e))) if len(e) > 1 else 0.0 for e in errors]
        if name == "bic" and k == 2:
            continue
        lines.append(Line(label, sizes, [float(np.mean(e)) for e in errors], spread, place))
    return Panel(f"{kind} truth, {k} classes", lines, level=0.0)


PAPER = Paper(units, outcome)
