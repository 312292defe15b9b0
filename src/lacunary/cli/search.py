"""``lacunary search``."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

import lacunary as lac
from lacunary.cli.app import INTERRUPTED, app, complain, examples
from lacunary.cli.arguments import (
    MODELS,
    Data,
    Decimal,
    Drop,
    Hidden,
    Holes,
    Json,
    NotHoles,
    Weights,
    check_out,
    data_path,
    is_arrows,
    opened,
    pairs_of_states,
    reading,
)
from lacunary.cli.checkpoints import Checkpoints
from lacunary.cli.problem import Kinds, Seed, States, declared_of
from lacunary.cli.show import Waiting, emit, show

__all__ = ["search"]


class Score(StrEnum):
    """What graphs are judged by."""

    bdeu = "bdeu"
    k2 = "k2"
    bic = "bic"
    bge = "bge"
    conditional_gaussian = "conditional-gaussian"


class Until(StrEnum):
    """When structural EM ends."""

    score = "score"
    structure = "structure"


class Search(StrEnum):
    """How graphs are looked for."""

    reinsert = "reinsert"
    greedy = "greedy"
    tabu = "tabu"
    best_first = "best-first"
    anneal = "anneal"
    exact = "exact"
    tree = "tree"


Arcs = list[str] | None


@app.command(
    epilog=examples(
        "lacunary sample asia --rows 2000 --rng 1 --out asia.csv",
        "lacunary search asia.csv --method tabu --out found.json --report found.html",
        "lacunary search asia.csv --score bdeu --ess 5 --max-parents 2 --forbidden 'dysp -> smoke'",
        "lacunary search asia.csv --method exact --required 'smoke -> lung bronc' --json",
    )
)
def search(
    data: Data,
    score: Annotated[
        Score | None, typer.Option(help="What graphs are judged by; unless told, by the columns' kinds.")
    ] = None,
    ess: Annotated[
        float | None, typer.Option(metavar="ROWS", help="Of bdeu: how many rows the prior is worth; 1.")
    ] = None,
    method: Annotated[
        Search | None,
        typer.Option(help="How graphs are looked for: reinsert, or greedy where values are missing."),
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="MODEL|tree", help="A model file, arrows, or tree: where to begin.")
    ] = None,
    max_parents: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="How many parents a variable may have.")
    ] = None,
    required: Annotated[
        Arcs, typer.Option(metavar="'A -> B'", help="Arcs that must be; may be repeated.")
    ] = None,
    forbidden: Annotated[
        Arcs, typer.Option(metavar="'A -> B'", help="Arcs that must not be; may be repeated.")
    ] = None,
    tier: Annotated[
        list[str] | None,
        typer.Option(metavar="A,B", help="Names that come before those of later tiers; may be repeated."),
    ] = None,
    hidden: Hidden = None,
    schedule: Annotated[
        str | None, typer.Option(help="How structural EM goes about holes: '((EM)^10 Ec S* M)*'.")
    ] = None,
    until: Annotated[
        Until | None, typer.Option(help="Structural EM ends when this does not rise, or change; score.")
    ] = None,
    escapes: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="How often structural EM may leave a local maximum; 3."),
    ] = None,
    starts: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Draws EM begins from where something is hidden; 10."),
    ] = None,
    rng: Seed = 0,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="FILE", help="The network: .json, .bif, .xmlbif, .net."),
    ] = None,
    drawing: Annotated[str | None, typer.Option(metavar="FILE", help="A drawing of the graph: .svg.")] = None,
    report: Annotated[
        str | None, typer.Option(metavar="FILE", help="A page: drawing, arcs, the path of the search; .html.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the search here every 30 seconds, for --resume.")
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="FILE", help="Go on from a checkpoint, with the same --method.")
    ] = None,
    kinds: Kinds = None,
    states: States = None,
    holes: Holes = None,
    not_holes: NotHoles = None,
    decimal: Decimal = ".",
    drop: Drop = None,
    weights: Weights = None,
    json: Json = False,
) -> None:
    """Find the graph that explains a table best. Every row counts.

    Missing values and hidden variables are handled by structural EM. Ctrl-C keeps the best so far.

    --json prints: score, method, rows, variables, arcs (a list of from, to, strength: what the score loses
    without the arc), steps, interrupted, graph (in arrows), out, drawing, report.
    """
    for path, suffixes in (
        (out, MODELS),
        (drawing, (".svg",)),
        (report, (".html",)),
        (checkpoint, (".json",)),
    ):
        check_out(path, suffixes)
    limits: dict[str, Any] = {
        "required": required or (),
        "forbidden": forbidden or (),
        "max_parents": max_parents,
        "tiers": [[name.strip() for name in group.split(",")] for group in tier or ()] or None,
    }
    keep = Checkpoints(checkpoint)
    with Waiting(f"reading {data}") as waiting:
        wanted = reading(holes, drop, weights, not_holes, decimal)
        table = lac.read(data_path(data), **wanted, **declared_of(kinds, states))
        waiting.say("compiling kernels, once…")
        found = lac.search(
            table,
            score=None if score is None else score.value,
            prior=_prior(score, ess),
            method=None if method is None else method.value,
            start=_start(start, resume, table),
            hidden=pairs_of_states("--hidden", hidden) or None,
            schedule=schedule,
            until=None if until is None else until.value,
            escapes=escapes,
            starts=starts,
            watch=keep.watching(lambda told: waiting.progress(_progress(told), told.part)),
            rng=rng,
            **limits,
        )
        if out:
            lac.save(found.network, out)
        if drawing:
            _draw(found, drawing)
        if report:
            _write_page(found, report)
    if json:
        emit(_summary(found, {"out": out, "drawing": drawing, "report": report}))
    else:
        _tell(found, [path for path in (out, drawing, report) if path])
    if found.interrupted:
        complain("interrupted; this is the best so far" + keep.now())
        raise typer.Exit(INTERRUPTED)


def _prior(score: Score | None, ess: float | None) -> lac.BDeu | None:
    if ess is None:
        return None
    if score not in (None, Score.bdeu):
        raise typer.BadParameter(f"--ess is for bdeu, not {score}", param_hint="--ess")
    return lac.bdeu(ess)


def _start(start: str | None, resume: str | None, table: lac.Table) -> Any:
    if resume is not None:
        if start is not None:
            raise typer.BadParameter("go on from a checkpoint, or start anew", param_hint="--start")
        trail = lac.load(resume)
        if not isinstance(trail, lac.Trail):
            raise lac.FileError(f"{resume}: a {type(trail).__name__.lower()} is no search to go on from")
        return trail
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


def _write_page(found: lac.SearchResult, path: str) -> None:
    from lacunary.files import write_whole
    from lacunary.report.search_page import found_page

    write_whole(path, found_page(found))


def _summary(found: lac.SearchResult, files: dict[str, str | None]) -> dict[str, Any]:
    return {
        "score": found.score,
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


def _tell(found: lac.SearchResult, written: list[str]) -> None:
    holes = int(found.table.facts.holes.sum())
    show(f"{len(found.table)} rows, {holes} holes, none dropped")
    show(str(found))
    for path in written:
        show(f"\nwritten: {path}")
    if not written and not found.interrupted:
        show("\n--out FILE keeps the network, --report FILE.html shows it")
