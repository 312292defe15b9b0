"""``lacunary fit``."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import (
    FIGURES,
    MODELS,
    Data,
    Hidden,
    Json,
    Reading,
    Texts,
    opened,
    option,
    pairs_of_states,
    written,
)
from lacunary.cli.checkpoints import CHECKPOINT, Checkpoints, keep_result
from lacunary.cli.problem import (
    CHOOSING,
    ModelOrClasses,
    Prior,
    Seed,
    Selected,
    Starts,
    options_of,
    prior_of,
    problem_of,
    starts_of,
)
from lacunary.cli.show import Waiting, draw, emit, say_written, show
from lacunary.data.facts import open_cells
from lacunary.data.wording import MISSING_AT_RANDOM, NEAR, counted, near_best
from lacunary.kernels import ahead

__all__ = ["fit"]

METHOD = "Maximum likelihood, maximum a posteriori, or variational Bayes."
OPTIONS = (
    "Of entropy and max-entropy: c=0.95, the share of the best score to keep; of average and ensemble: "
    "weights=uniform, score or posterior; of global: seconds=60. May be repeated."
)
OUT = ".json keeps the whole fit; .bif, .xmlbif, .net the network."
BATCHES = "Mini-batches"
BATCH_SIZE = "Learn from batches of so many rows first: online EM, or stochastic variational inference."
PASSES = "How often every row is seen in batches; 1 unless told."
DECAY = "Steps are (offset + batch) to the power of minus this; above 0.5, at most 1; 0.7 unless told."
OFFSET = "How many batches' worth the first steps are held back by; 10 unless told."
FINISH = "Whether sweeps over all rows follow the batches."
FIGURE = "A figure of the starts, entropy against score: .svg or .png."


@command(
    "lacunary fit house_votes --hidden bloc=3 --drop party --out blocs.json",
    'lacunary fit house_votes "bloc -> crime immigration mx_missile" --hidden bloc=2',
    "lacunary fit soybean --hidden kind=4 --starts tournament --accelerate --prior bdeu=1",
    "lacunary fit house_votes --hidden bloc=3 --select average --figure starts.svg",
    "lacunary fit house_votes --hidden bloc=3 --select entropy --select-option c=0.999",
    "lacunary fit house_votes --drop party --resume blocs.json --out blocs.json",
    "lacunary fit house_votes --hidden bloc=3 --batch-size 50 --passes 2",
)
def fit(
    data: Data,
    reading: Reading,
    model: ModelOrClasses = None,
    hidden: Hidden = None,
    method: Annotated[Literal["ml", "map", "variational"], option(METHOD)] = "map",
    prior: Prior = "dirichlet=1",
    basis: Annotated[
        Literal["softmax", "probability"], option("Coordinates of the prior density.")
    ] = "softmax",
    starts: Starts = None,
    select: Selected = "best",
    select_option: Annotated[Texts, option(OPTIONS, "NAME=VALUE", panel=CHOOSING)] = None,
    batch_size: Annotated[int | None, option(BATCH_SIZE, "ROWS", panel=BATCHES)] = None,
    passes: Annotated[int | None, option(PASSES, "N", panel=BATCHES)] = None,
    learning_decay: Annotated[float | None, option(DECAY, "POWER", panel=BATCHES)] = None,
    learning_offset: Annotated[float | None, option(OFFSET, "N", panel=BATCHES)] = None,
    finish: Annotated[bool | None, option(FINISH, None, "--finish/--no-finish", panel=BATCHES)] = None,
    accelerate: Annotated[bool, typer.Option("--accelerate", help="Extrapolate: fewer sweeps.")] = False,
    iterations: Annotated[int, typer.Option(min=1, help="The most sweeps over the data.")] = 2000,
    rng: Seed = 0,
    out: Annotated[str | None, written(OUT, MODELS, "--out", "-o")] = None,
    figure: Annotated[str | None, written(FIGURE, FIGURES, panel=CHOOSING)] = None,
    resume: Annotated[str | None, option("Go on from a fit, a checkpoint or a network.", "FILE")] = None,
    checkpoint: Annotated[str | None, written(CHECKPOINT, (".json",))] = None,
    json: Json = False,
) -> None:
    """Learn a network's probabilities from a table with holes, by EM. Every row counts.

    Ctrl-C ends the fit, keeps the best so far, and writes --out all the same.

    --json prints: rows, size, holes, variables, parameters, method, basis, objective, log_likelihood,
    entropy, iterations, converged, bic, interrupted, selection (name, details), out, and starts (a list of
    objective, log_likelihood, entropy, iterations, converged); and error, of the log-likelihood, where exact
    inference did not fit.
    """
    earlier, keep = _earlier(resume, starts), Checkpoints(checkpoint)
    online = _online(batch_size, passes, learning_decay, learning_offset, finish)
    told: dict[str, Any] = {
        "prior": prior_of(prior),
        "starts": starts_of(starts),
        "select_options": options_of(select_option),
    }
    with Waiting(f"reading {data}") as waiting:
        dag, table = problem_of(data, model or resume, pairs_of_states("--hidden", hidden), reading)
        waiting.say("compiling kernels, once…")
        if not dag.continuous and (dag.schema.hidden or table.facts.holes.any()):
            ahead.begin()
            ahead.compile_sweep(several=bool(dag.schema.hidden))
        found = lac.fit(
            dag,
            table,
            method=method,
            basis=basis,
            initial=earlier,
            select=select,
            **told,
            stop=lac.Stop(relative=1e-8, iterations=iterations),
            accelerate=accelerate,
            online=online,
            watch=keep.watching(waiting.watch),
            rng=rng,
        )
        kept = keep_result(found.network, out, found)
        if figure:
            draw("starts", found, figure)
    if json:
        emit(_summary(found, table, kept))
    else:
        _tell(found, table)
        say_written((kept, figure), "" if found.interrupted else "--out FILE keeps the fit")
    if found.interrupted:
        lost = "" if kept else " (--out FILE would have kept it)"
        keep.stop("interrupted; this is the best so far" + lost)


def _online(*given: float | None) -> lac.Online | None:
    """Return the settings of mini-batches; None if none of them is given."""
    names = ("batch_size", "passes", "learning_decay", "learning_offset", "finish")
    told: dict[str, Any] = {
        name: value for name, value in zip(names, given, strict=True) if value is not None
    }
    return lac.Online(**told) if told else None


def _earlier(resume: str | None, starts: str | None) -> Any:
    """Return what a fit goes on from."""
    if resume is None:
        return None
    if starts is not None:
        raise typer.BadParameter(
            "--resume goes on from where it was; leave out --starts", param_hint="--starts"
        )
    earlier = opened(resume)
    if isinstance(earlier, lac.Dag | lac.Belief | lac.Schema):
        raise lac.FileError(f"{resume}: a {type(earlier).__name__.lower()} holds no parameters to go on from")
    return earlier


def _summary(found: lac.Fit, table: lac.Table, out: str | None) -> dict[str, Any]:
    schema = found.dag.schema
    return {
        "rows": len(table),
        "size": table.size,
        "holes": int(open_cells(table.align(schema))[[not v.hidden for v in schema]].sum()),
        "variables": len(schema),
        "parameters": found.dag.free,
        "method": found.method,
        "basis": found.basis,
        **_score(found),
        "bic": found.log_likelihood - found.dag.free / 2 * math.log(table.size),
        "interrupted": found.interrupted,
        "selection": {"name": found.selection.name, "details": dict(found.selection.details)},
        "out": out,
        "starts": [_score(start) for start in found.starts],
    }


def _score(end: lac.Fit | lac.Start) -> dict[str, Any]:
    finite = end.objective > float("-inf")
    return {
        "objective": end.objective if finite else None,
        "log_likelihood": end.log_likelihood if finite else None,
        **({"error": end.error} if end.error else {}),
        "entropy": _entropy(end.network),
        "iterations": end.iterations,
        "converged": end.converged,
    }


def _tell(found: lac.Fit, table: lac.Table) -> None:
    said = _summary(found, table, None)
    show(
        f"{counted(said['rows'], 'row')}, {counted(said['holes'], 'hole')}, none dropped; "
        f"{counted(said['variables'], 'variable')}, {counted(said['parameters'], 'free parameter')}"
    )
    if said["holes"]:
        show(MISSING_AT_RANDOM)
    error = f" ± {found.error:.2g}" if found.error else ""
    show(f"log-likelihood  {found.log_likelihood:14.4f}{error} nats")
    show(f"objective       {found.objective:14.4f} nats ({found.method})")
    show(f"BIC             {said['bic']:14.4f} nats (higher is better)")
    show(_climbs(found))
    if found.selection.name != "best":
        show(_choice(found))
    for name in found.dag.schema.hidden:
        show("")
        show(str(found.network.query(name)))


def _climbs(found: lac.Fit) -> str:
    state = "converged" if found.converged else ("interrupted" if found.interrupted else "not converged")
    if len(found.starts) == 1:
        return f"{state} after {counted(found.iterations, 'iteration')}"
    near = near_best([start.objective for start in found.starts])
    more = "; more --starts may find a higher one" if near == 1 else ""
    return (
        f"{state} after {counted(found.iterations, 'iteration')}; {near} of {len(found.starts)} starts came "
        f"within {NEAR} nats of the best{more}"
    )


def _choice(found: lac.Fit) -> str:
    """Say how the parameters were chosen, and what the rule has to say for itself."""
    details = {k: v for k, v in found.selection.details.items() if not isinstance(v, list | dict)}
    note = details.pop("note", None)
    if note:
        return str(note)
    lines = [f"chosen by {found.selection.name}; local entropy {_entropy(found.network):.4f} nats"]
    lines += [f"  {k:<14}  {f'{v:.6g}' if isinstance(v, float) else v}" for k, v in details.items()]
    return "\n".join(lines)


def _entropy(network: lac.Network) -> float:
    from lacunary.learn.select import local_entropy

    return float(local_entropy(network.dag, network.theta))
