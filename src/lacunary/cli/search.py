"""``lacunary search``."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

import lacunary as lac
from lacunary.cli.app import command, without_note
from lacunary.cli.arguments import (
    MODELS,
    STRUCTURE_PRIOR,
    TIER,
    Data,
    Hidden,
    Json,
    Reading,
    Texts,
    is_arrows,
    opened,
    option,
    pairs_of_states,
    structure_prior_of,
    tiers_of,
    written,
)
from lacunary.cli.checkpoints import CHECKPOINT, Checkpoints, keep_result, resumed
from lacunary.cli.problem import Seed
from lacunary.cli.show import Waiting, emit, say_written, show
from lacunary.data.facts import open_cells
from lacunary.data.wording import MISSING_AT_RANDOM
from lacunary.infer.empirical import said_prior

__all__ = ["search"]

Score = Literal["bdeu", "k2", "bic", "bge", "conditional-gaussian"]
Method = Literal["reinsert", "greedy", "tabu", "best-first", "anneal", "exact", "tree"]
Until = Literal["score", "structure"]
Count = int | None
Text = str | None

SCORE = "What graphs are judged by; unless told, by the columns' kinds."
ESS = "Of bdeu: how many rows the prior is worth; 1."
METHOD = "How graphs are looked for; exact where that takes seconds, else reinsert."
START = "A model file, arrows, or tree: where to begin."
UNTIL = "Structural EM ends when this does not rise, or change; score."
ESCAPES = "How often structural EM may leave a local maximum; 3."
STARTS = "Draws EM begins from where something is hidden; 10."
OUT = "The network: .json, .bif, .xmlbif, .net."
REPORT = "A page: drawing, arcs, the path of the search; .html."


@command(
    "lacunary sample asia --rows 2000 --rng 1 --out asia.csv",
    "lacunary search asia.csv --method tabu --out found.json --report found.html",
    "lacunary search asia.csv --score bdeu --ess 5 --max-parents 2 --forbidden 'dysp -> smoke'",
    "lacunary search asia.csv --method exact --required 'smoke -> lung bronc' --json",
)
def search(
    data: Data,
    reading: Reading,
    score: Annotated[Score | None, option(SCORE)] = None,
    ess: Annotated[float | None, option(ESS, "ROWS")] = None,
    method: Annotated[Method | None, option(METHOD)] = None,
    start: Annotated[Text, option(START, "MODEL|tree")] = None,
    structure_prior: Annotated[Text, option(STRUCTURE_PRIOR, "NAME|NATS")] = None,
    max_parents: Annotated[Count, option("How many parents a variable may have.", "N", min=0)] = None,
    required: Annotated[Texts, option("Arcs that must be; may be repeated.", "'A -> B'")] = None,
    forbidden: Annotated[Texts, option("Arcs that must not be; may be repeated.", "'A -> B'")] = None,
    tier: Annotated[Texts, option(TIER, "A,B")] = None,
    hidden: Hidden = None,
    schedule: Annotated[Text, option("How structural EM goes about holes: '((EM)^10 Ec S* M)*'.")] = None,
    until: Annotated[Until | None, option(UNTIL)] = None,
    escapes: Annotated[Count, option(ESCAPES, "N", min=0)] = None,
    starts: Annotated[Count, option(STARTS, "N", min=1)] = None,
    rng: Seed = 0,
    out: Annotated[Text, written(OUT, MODELS, "--out", "-o")] = None,
    drawing: Annotated[Text, written("A drawing of the graph: .svg.", (".svg",))] = None,
    report: Annotated[Text, written(REPORT, (".html",))] = None,
    checkpoint: Annotated[Text, written(CHECKPOINT, (".json",))] = None,
    resume: Annotated[Text, option("Go on from a checkpoint, with the same --method.", "FILE")] = None,
    json: Json = False,
) -> None:
    """Find the graph that explains a table best. Every row counts.

    Missing values and hidden variables are handled by structural EM. Ctrl-C keeps the best so far.

    --json prints: score, prior, structure_prior, log_structure_prior (of the graph, not in the score),
    method, rows, variables, arcs (a list of from, to, strength: what the score loses without the arc), steps,
    interrupted, graph (in arrows), out, drawing, report.
    """
    keep = Checkpoints(checkpoint)
    with Waiting(f"reading {data}") as waiting:
        table = reading.table(data)
        waiting.say("compiling kernels, once…")
        found = lac.search(
            table,
            score=score,
            prior=_prior(score, ess),
            method=method,
            structure_prior=structure_prior_of(structure_prior),
            start=_start(start, resume, table),
            required=required or (),
            forbidden=forbidden or (),
            max_parents=max_parents,
            tiers=tiers_of(tier),
            hidden=pairs_of_states("--hidden", hidden) or None,
            schedule=schedule,
            until=until,
            escapes=escapes,
            starts=starts,
            watch=keep.watching(lambda told: waiting.progress(_progress(told), told.part)),
            rng=rng,
        )
        keep_result(found.network, out)
        if drawing:
            _draw(found, drawing)
        if report:
            found.page(report)
    if json:
        emit(_summary(found, {"out": out, "drawing": drawing, "report": report}))
    else:
        holes = int(open_cells(found.table).sum())
        show(f"{len(found.table)} rows, {holes} holes, none dropped")
        if holes:
            show(MISSING_AT_RANDOM)
        show(without_note(found))
        hint = "" if found.interrupted else "--out FILE keeps the network, --report FILE.html shows it"
        say_written((out, drawing, report), hint)
    if found.interrupted:
        keep.stop("interrupted; this is the best so far")


def _prior(score: Score | None, ess: float | None) -> lac.BDeu | None:
    if ess is None:
        return None
    if score not in (None, "bdeu"):
        raise typer.BadParameter(f"--ess is for bdeu, not {score}", param_hint="--ess")
    return lac.bdeu(ess)


def _start(start: str | None, resume: str | None, table: lac.Table) -> Any:
    if resume is not None:
        if start is not None:
            raise typer.BadParameter("go on from a checkpoint, or start anew", param_hint="--start")
        return resumed(resume, lac.Trail, "search")
    if start is None or start == "tree":
        return start
    if is_arrows(start):
        return lac.dag(start, schema=table.schema)
    thing = opened(start)
    return thing if isinstance(thing, lac.Dag) else thing.dag


def _progress(progress: lac.SearchProgress) -> str:
    return f"{progress.method}: {progress.steps} steps, {progress.arcs} arcs, best {progress.best:.2f}"


def _draw(found: lac.SearchResult, path: str) -> None:
    from lacunary.files import write_whole
    from lacunary.report.drawing import drawing

    title = f"{len(found.dag.names)} variables, {len(found.dag.arcs)} arcs"
    write_whole(path, drawing(found.dag, found.strengths, title=title))


def _summary(found: lac.SearchResult, files: dict[str, str | None]) -> dict[str, Any]:
    return {
        "score": found.score,
        "prior": None if found.prior is None else said_prior(found.prior, found.dag.schema),
        "structure_prior": found.structure_prior,
        "log_structure_prior": found.log_structure_prior,
        "method": found.method,
        "rows": len(found.table),
        "variables": len(found.dag.names),
        "arcs": [
            {"from": tail, "to": head, "strength": found.strengths.get((tail, head))}
            for tail, head in found.dag.arcs
        ],
        "steps": len(found.path),
        "interrupted": found.interrupted,
        "graph": str(found.dag),
        **files,
    }
