"""``lacunary arcs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import lacunary as lac
from lacunary.cli.app import command, without_note
from lacunary.cli.arguments import (
    STRUCTURE_PRIOR,
    TIER,
    Data,
    Json,
    Reading,
    Texts,
    option,
    structure_prior_of,
    tiers_of,
    written,
)
from lacunary.cli.problem import Seed
from lacunary.cli.show import Waiting, emit, say_written, show
from lacunary.data.facts import open_cells

__all__ = ["arcs"]

METHOD = "exact: a sum over all graphs; sampling: chains. Exact where that takes seconds."
ERROR = "Sampling goes on until no link's standard error is larger."
DRAWS = "How many draws each chain makes, at most; by default about a minute of them."
OUT = "The probabilities: .json."
REPORT = "A page with a figure and every link: .html."


@command(
    "lacunary sample asia --rows 300 --rng 1 --out few.csv",
    "lacunary arcs few.csv --report arcs.html",
    "lacunary arcs few.csv --structure-prior beta-binomial --max-parents 3 --json",
)
def arcs(
    data: Data,
    reading: Reading,
    structure_prior: Annotated[str | None, option(STRUCTURE_PRIOR, "NAME|NATS")] = None,
    method: Annotated[Literal["exact", "sampling"] | None, option(METHOD)] = None,
    error: Annotated[float, option(ERROR)] = 0.003,
    chains: Annotated[int, option("How many chains walk over graphs.", "N", min=2)] = 4,
    draws: Annotated[int | None, option(DRAWS, "N", min=4)] = None,
    max_parents: Annotated[int | None, option("How many parents a variable may have.", "N", min=0)] = None,
    required: Annotated[Texts, option("Arcs that must be; may be repeated.", "'A -> B'")] = None,
    forbidden: Annotated[Texts, option("Arcs that must not be; may be repeated.", "'A -> B'")] = None,
    tier: Annotated[Texts, option(TIER, "A,B")] = None,
    rng: Seed = 0,
    out: Annotated[str | None, written(OUT, (".json",), "--out", "-o")] = None,
    report: Annotated[str | None, written(REPORT, (".html",))] = None,
    json: Json = False,
) -> None:
    """Return how probable every arc and every link is, averaged over all graphs. Every row counts.

    --json prints: method, structure_prior, variables, links (a list of from, to, arc, back, link, error,
    link_error, the most probable first), chains, draws, rhat, effective, log_rhat, log_effective, out,
    report.
    """
    with Waiting(f"reading {data}") as waiting:
        table = reading.table(data)
        waiting.say("compiling kernels, once…")
        found = lac.arc_probabilities(
            table,
            structure_prior=structure_prior_of(structure_prior),
            method=method,
            error=error,
            chains=chains,
            draws=draws,
            required=required or (),
            forbidden=forbidden or (),
            max_parents=max_parents,
            tiers=tiers_of(tier),
            watch=lambda done, total: waiting.progress(f"{done} of at most {total} steps", done / total),
            rng=rng,
        )
        if out:
            lac.save(found, out)
        if report:
            found.page(report, title=f"How sure of each arc in {Path(data).name}")
    if json:
        emit({**found.to_dict(), "out": out, "report": report})
        return
    show(f"{len(table)} rows, {int(open_cells(table).sum())} holes, none dropped")
    show(without_note(found))
    say_written((out, report), "--report FILE.html shows this with a figure, --out FILE keeps it")
