"""The page of `benchmarks.choices`: how near searches end to the best, and how sure arcs are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["page"]

Record = dict[str, Any]

WEIGHED = {"exact": "exact evidence", "fillings": "all fillings", "cheeseman-stutz": "Cheeseman-Stutz"}


def page(records: Sequence[Record]) -> str:
    """Return the page of all records."""
    parts = {"short": _short, "choice": _choice, "arcs": _arcs}
    lines = [
        "# How structural EM chooses, and how sure arcs are",
        "",
        "`python -m benchmarks.choices --keep choices.jsonl` adds runs and writes this page of all of them.",
    ]
    for name, part in parts.items():
        if some := [record for record in records if record["of"][0] == name]:
            lines += ["", *part(some)]
    return "\n".join(lines) + "\n"


def _short(records: Sequence[Record]) -> Iterator[str]:
    yield from (
        "## Structural EM beside the best of all graphs",
        "",
        "Random discrete networks of two or three states, 50 to 400 rows, 30 % of the cells missing.",
        "*Short* is how far the default search ends below the best of all graphs by Cheeseman-Stutz, in",
        "nats: by the score that it gives, and with its graph weighed as all others are, by EM to the end",
        "(`benchmarks/every_graph.py`, which does not use the library's engine).",
        "",
        "| variables | tables | within 0.1 | largest short | graph within 0.1 | largest short | seconds |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    )
    for n in sorted({record["of"][1] for record in records}):
        some = [record for record in records if record["of"][1] == n]
        short, graph, took = (
            np.array([each[what] for each in some]) for what in ("short", "graph", "seconds")
        )
        told = " | ".join(f"{int((each <= 0.1).sum())} | {each.max():.3f}" for each in (short, graph))
        yield f"| {n} | {len(some)} | {told} | {took.mean():.2f} |"


def _choice(records: Sequence[Record]) -> Iterator[str]:
    yield from (
        "## Cheeseman-Stutz and exact evidence",
        "",
        "Three binary variables, so few rows that the exact evidence of every graph can be worked out.",
        "*Differ* counts tables in which the best graph by Cheeseman-Stutz is not the best by exact",
        "evidence (by more than 1e-6 nats); *loses* is what it is short by there, in the mean; *error* is",
        "the estimate less the exact value.",
        "",
        "| rows | missing | tables | differ | loses | at most | error, mean |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    )
    for rows, share in sorted({tuple(record["of"][1:3]) for record in records}):
        some = [record for record in records if record["of"][1:3] == [rows, share]]
        lost, error = (np.array([each[what] for each in some]) for what in ("lost", "error"))
        differ = lost > 1e-6
        mean = lost[differ].mean() if differ.any() else 0.0
        numbers = f"{int(differ.sum())} | {mean:.2f} | {lost.max():.2f} | {error.mean():+.2f}"
        yield f"| {rows} | {share:.0%} | {len(some)} | {numbers} |"


def _arcs(records: Sequence[Record]) -> Iterator[str]:
    yield from (
        "## Probabilities of arcs with holes",
        "",
        "Binary variables; `lac.arc_probabilities` beside the sum over all graphs, each weighed by its",
        "exact evidence, which is what the chains draw from, or by Cheeseman-Stutz, which is not. With more",
        "variables few cells are missing, and the sum goes over all that they may hold (*all fillings*).",
        "*Off* is the greatest difference of a table, in the mean over tables and at most; *said* the",
        "greatest standard error that the verb gives, in the mean; *beyond* how many of the arcs of",
        "all tables are off by more than two of their own errors.",
        "",
        "| weighed by | variables | rows | missing | tables | arcs off | at most | said | links off "
        "| at most | said | beyond | seconds |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    )
    settings = dict.fromkeys(tuple(record["of"][1:5]) for record in records)
    for by, n, rows, missing in settings:
        here = [record for record in records if record["of"][1:5] == [by, n, rows, missing]]
        some = [record for record in here if "arcs" in record]
        if not some:
            continue
        off = [
            f"{np.mean(gaps):.4f} | {np.max(gaps):.4f} | {np.mean(said):.4f}"
            for gaps, said in (
                ([r["arcs"] for r in some], [r["said"] for r in some]),
                ([r["links"] for r in some], [r["said links"] for r in some]),
            )
        ]
        beyond = f"{sum(r['beyond'] for r in some)} of {n * (n - 1) * len(some)}"
        seconds = np.mean([r["seconds"] for r in some])
        told = " | ".join([*off, beyond, f"{seconds:.1f}"])
        holes = f"{missing:.0%}" if missing < 1 else f"{missing} cells"
        yield f"| {WEIGHED[by]} | {n} | {rows} | {holes} | {len(some)} | {told} |"
    left = sum("arcs" not in record for record in records)
    if left:
        yield ""
        yield f"Left out, with too many completions for exact evidence: {left}."
