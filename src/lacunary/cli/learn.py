"""``lacunary fit``."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

import lacunary as lac
from lacunary.cli.app import INTERRUPTED, app, complain, examples
from lacunary.cli.arguments import (
    MODELS,
    Data,
    Drop,
    Hidden,
    Holes,
    Json,
    Weights,
    check_out,
    data_path,
    graph_of,
    is_arrows,
    opened,
    pairs,
    pairs_of_states,
    reading,
)
from lacunary.cli.show import Waiting, emit, show

__all__ = ["fit", "prior_of", "problem_of"]

NEAR = 0.1
"""Nats within which two starts count as having found the same peak."""


class Method(StrEnum):
    """What is maximised."""

    ml = "ml"
    map = "map"
    variational = "variational"


class Basis(StrEnum):
    """The coordinates in which the prior is a density."""

    softmax = "softmax"
    probability = "probability"


@app.command(
    epilog=examples(
        "lacunary fit house_votes --hidden bloc=3 --drop party --out blocs.json",
        'lacunary fit house_votes "bloc -> crime immigration mx_missile" --hidden bloc=2',
        "lacunary fit soybean --hidden kind=4 --tournament --accelerate --prior bdeu=1",
        "lacunary fit house_votes --drop party --resume blocs.json --out blocs.json",
    )
)
def fit(
    data: Data,
    model: Annotated[
        str | None,
        typer.Argument(
            help="A model file, or a graph such as 'A -> B C; B -> C'. Without it, --hidden NAME=K makes "
            "latent classes: NAME is the one parent of every column."
        ),
    ] = None,
    hidden: Hidden = None,
    states: Annotated[
        list[str] | None,
        typer.Option(
            "--states", metavar="NAME=a,b,c", help="The states of a column, in order; may be repeated."
        ),
    ] = None,
    kinds: Annotated[
        list[str] | None,
        typer.Option("--kinds", metavar="NAME=KIND", help="discrete or continuous; may be repeated."),
    ] = None,
    method: Annotated[
        Method, typer.Option(help="Maximum likelihood, maximum a posteriori, or variational Bayes.")
    ] = Method.map,
    prior: Annotated[
        str, typer.Option(metavar="k2|dirichlet=A|bdeu=ESS", help="The prior of 'map'.")
    ] = "dirichlet=1",
    basis: Annotated[Basis, typer.Option(help="Coordinates of the prior density.")] = Basis.softmax,
    starts: Annotated[
        int | None, typer.Option(min=1, help="Random starts; 20 unless told, if something is hidden.")
    ] = None,
    tournament: Annotated[
        bool, typer.Option("--tournament", help="Halving tournament of 64 starts.")
    ] = False,
    accelerate: Annotated[bool, typer.Option("--accelerate", help="Extrapolate: fewer sweeps.")] = False,
    iterations: Annotated[int, typer.Option(min=1, help="The most sweeps over the data.")] = 2000,
    rng: Annotated[int, typer.Option(help="Seed of the starts.")] = 0,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help=".json keeps the whole fit; .bif, .xmlbif, .net the network."
        ),
    ] = None,
    resume: Annotated[
        str | None, typer.Option(metavar="FILE", help="Go on from a fit, a checkpoint or a network.")
    ] = None,
    checkpoint: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the climbs here every 30 seconds, for --resume.")
    ] = None,
    holes: Holes = None,
    drop: Drop = None,
    weights: Weights = None,
    json: Json = False,
) -> None:
    """Learn a network's probabilities from a table with holes, by EM. Every row counts.

    Ctrl-C ends the fit, keeps the best so far, and writes --out all the same.

    --json prints: rows, size, holes, variables, parameters, method, basis, objective, log_likelihood, bic,
    converged, interrupted, iterations, out, and starts (a list of objective, log_likelihood, iterations,
    converged).
    """
    if tournament and resume:
        raise typer.BadParameter(
            "a tournament needs random starts; leave out --resume", param_hint="--tournament"
        )
    check_out(out, MODELS)
    check_out(checkpoint, (".json",))
    given_prior = prior_of(prior)
    earlier = opened(resume) if resume else None
    if isinstance(earlier, lac.Dag | lac.Belief | lac.Schema):
        raise lac.FileError(f"{resume}: a {type(earlier).__name__.lower()} holds no parameters to go on from")
    with Waiting(f"reading {data}") as waiting:
        declared = {"kinds": pairs("--kinds", kinds), "states": _labels(states)}
        wanted = reading(holes, drop, weights)
        dag, table = problem_of(data, model or resume, pairs_of_states("--hidden", hidden), wanted, declared)
        waiting.say("compiling kernels, once…")
        found = lac.fit(
            dag,
            table,
            method=method.value,
            prior=given_prior,
            basis=basis.value,
            starts=None if resume else (lac.Tournament(starts or 64) if tournament else starts),
            initial=earlier,
            stop=lac.Stop(relative=1e-8, iterations=iterations),
            accelerate=accelerate,
            watch=_watch(waiting, checkpoint, dag),
            rng=rng,
        )
    kept = _keep(found, out)
    if json:
        emit(_summary(found, table, kept))
    else:
        _tell(found, table, kept)
    if found.interrupted:
        complain(
            "interrupted; this is the best so far" + ("" if kept else " (--out FILE would have kept it)")
        )
        raise typer.Exit(INTERRUPTED)


def problem_of(
    data: str,
    model: str | None,
    hidden: Mapping[str, int | list[str] | None],
    wanted: Mapping[str, Any],
    declared: Mapping[str, Any],
) -> tuple[lac.Dag, lac.Table]:
    """Return the graph, and the table as the graph sees it."""
    path = data_path(data)
    if model is not None and not is_arrows(model):
        dag = graph_of(model, hidden)
        return _only_discrete(dag), lac.read(path, schema=dag.schema, **wanted)
    table = lac.read(path, **wanted, **declared)
    known = {name: states for name, states in hidden.items() if states is not None}
    if model is not None:
        names = lac.dag(model).names
        schema = lac.Schema(tuple(v for v in table.schema if v.name in names))
        dag = lac.dag(model, states=known, hidden=list(hidden), schema=schema)
    elif len(known) == 1 == len(hidden):
        dag = lac.naive_bayes(table.schema, *next(iter(known.items())))
    else:
        raise typer.BadParameter(
            "give a model, or one --hidden NAME=K for latent classes", param_hint="MODEL"
        )
    return _only_discrete(dag), table


def _only_discrete(dag: lac.Dag) -> lac.Dag:
    continuous = [v.name for v in dag.schema if not v.discrete]
    if continuous:
        raise lac.SchemaError(
            f"{', '.join(continuous)}: continuous, and only discrete variables can be fitted as yet; leave "
            f"them out with --drop {continuous[0]}, or make their values states with "
            f"--kinds {continuous[0]}=discrete"
        )
    return dag


def _labels(texts: list[str] | None) -> dict[str, list[Any]]:
    found = pairs_of_states("--states", texts)
    alone = next((name for name, states in found.items() if states is None), None)
    if alone is not None:
        raise typer.BadParameter(f"{alone!r} is not NAME=a,b,c", param_hint="--states")
    return {name: list(range(s)) if isinstance(s, int) else list(s or ()) for name, s in found.items()}


def prior_of(text: str) -> lac.Dirichlet | lac.BDeu:
    """Return the prior that a text such as bdeu=1 stands for."""
    name, _, value = text.partition("=")
    try:
        number = float(value) if value else 1.0
    except ValueError:
        name = ""
    if name == "k2" and not value:
        return lac.k2()
    if name not in ("dirichlet", "bdeu"):
        raise typer.BadParameter(f"{text!r} is not k2, dirichlet=A or bdeu=ESS", param_hint="--prior")
    return lac.Dirichlet(number) if name == "dirichlet" else lac.bdeu(number)


def _watch(waiting: Waiting, checkpoint: str | None, dag: lac.Dag) -> Any:
    from lacunary.files import Checkpoint

    keep = Checkpoint(checkpoint, dag) if checkpoint else None

    def watch(progress: lac.Progress) -> None:
        waiting.watch(progress)
        if keep is not None:
            keep(progress)

    return watch


def _keep(found: lac.Fit, out: str | None) -> str | None:
    """Write the fit; where that fails, write it elsewhere: hours of work must not be lost to a full disk."""
    if out is None:
        return None
    try:
        lac.save(found if ".json" in Path(out).suffixes else found.network, out)
        return out
    except lac.FileError:
        rescue = os.path.join(tempfile.mkdtemp(prefix="lacunary-"), "fit.json")
        lac.save(found, rescue)
        complain(f"the fit was kept in {rescue}")
        raise


def _summary(found: lac.Fit, table: lac.Table, out: str | None) -> dict[str, Any]:
    return {
        "rows": len(table),
        "size": table.size,
        "holes": int(table.align(found.dag.schema).holes.sum()) - len(table) * len(found.dag.schema.hidden),
        "variables": len(found.dag.schema),
        "parameters": found.dag.layout.free,
        "method": found.method,
        "basis": found.basis,
        **_score(found),
        "bic": _bic(found, table),
        "interrupted": found.interrupted,
        "out": out,
        "starts": [_score(start) for start in found.starts],
    }


def _score(end: lac.Fit | lac.Start) -> dict[str, Any]:
    finite = end.objective > float("-inf")
    return {
        "objective": end.objective if finite else None,
        "log_likelihood": end.log_likelihood if finite else None,
        "iterations": end.iterations,
        "converged": end.converged,
    }


def _bic(found: lac.Fit, table: lac.Table) -> float:
    return found.log_likelihood - found.dag.layout.free / 2 * math.log(table.size)


def _tell(found: lac.Fit, table: lac.Table, out: str | None) -> None:
    said = _summary(found, table, out)
    near = sum(start.objective >= found.objective - NEAR for start in found.starts)
    state = "converged" if found.converged else ("interrupted" if found.interrupted else "not converged")
    show(
        f"{said['rows']} rows, {said['holes']} holes, none dropped; {said['variables']} variables, "
        f"{said['parameters']} free parameters"
    )
    show(f"log-likelihood  {found.log_likelihood:14.4f} nats")
    show(f"objective       {found.objective:14.4f} nats ({found.method})")
    show(f"BIC             {said['bic']:14.4f} nats (higher is better)")
    show(
        f"{state} after {found.iterations} iterations; {near} of {len(found.starts)} starts came within "
        f"{NEAR} nats of the best"
    )
    for name in found.dag.schema.hidden:
        show("")
        show(str(found.network.query(name)))
    if out:
        show(f"\nwritten: {out}")
    elif not found.interrupted:
        show("\n--out FILE keeps the fit")
