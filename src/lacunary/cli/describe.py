"""``lacunary describe`` and ``lacunary convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import lacunary as lac
from lacunary.cli.app import WRONG, command, complain, prompted
from lacunary.cli.arguments import (
    MODELS,
    Hidden,
    Json,
    Reading,
    check_out,
    data_path,
    is_arrows,
    is_many,
    is_model,
    opened,
    option,
    pairs_of_states,
)
from lacunary.cli.show import Waiting, emit, show
from lacunary.data.describe import Description, describe_parts
from lacunary.data.wording import counted, visible

__all__ = ["convert", "describe"]

ABOUT = "Of a model: what is around this variable, from its parents to its descendants."
INDEPENDENCIES = "Of a model: pairs of variables that it makes independent, and given what."
RELATIONS = ("parents", "children", "markov_blanket", "ancestors", "descendants")


@command(
    "lacunary describe house_votes",
    "lacunary describe alarm --json",
    'lacunary describe "A -> C <- H -> D <- B" --hidden H=3',
    "lacunary describe alarm --about HR",
    "lacunary describe asia --independencies",
)
def describe(
    what: Annotated[
        str, typer.Argument(metavar="DATA|MODEL", help="A table, a model file, or a graph in arrows.")
    ],
    reading: Reading,
    hidden: Hidden = None,
    about: Annotated[str | None, option(ABOUT, "NAME")] = None,
    independencies: Annotated[bool, typer.Option("--independencies", help=INDEPENDENCIES)] = False,
    json: Json = False,
) -> None:
    """Say what a table holds and how it was read, or what a model is made of.

    Every column that cannot be read as it is, is named with what to do about it; then the exit code is 1.

    --json prints, of a table: rows, distinct, size, holes, variables, patterns, pattern_count, decisions,
    notes, problems (of many files neither distinct rows nor patterns); of a model: kind, variables (name,
    kind, states, hidden, parents), arcs, parameters, largest_clique, largest_clique_size; with --about: name,
    parents, children, markov_blanket, ancestors, descendants; with --independencies: independencies (first,
    second, given).
    """
    if about is not None or independencies:
        _graph(what, pairs_of_states("--hidden", hidden), about, json)
        return
    if is_model(what):
        _structure(what, pairs_of_states("--hidden", hidden), json)
        return
    if hidden:
        raise typer.BadParameter("only a graph has hidden variables", param_hint="--hidden")
    with Waiting(f"reading {what}"):
        description = _description(what, reading)
    if json:
        emit(description.to_dict())
    else:
        show(prompted(str(description)))
    if description.problems:
        refused = counted(len(description.problems), "column")
        complain(f"{refused} cannot be read as things stand; what to do is said under problems")
        raise typer.Exit(WRONG)


def _description(data: str, reading: Reading) -> Description:
    """Return what a table holds, or many files."""
    if reading.scheduler or is_many(data):
        rows: Any = reading.table(data)
        return describe_parts(rows, rows.decisions, rows.notes)
    return lac.examine(data_path(data), **reading.settings, **reading.declared)


def _graph(text: str, hidden: dict[str, Any], about: str | None, json: bool) -> None:
    """Say what a graph has around a variable, or which variables it makes independent."""
    if not is_model(text):
        raise typer.BadParameter("only a graph has relations of variables", param_hint="--about")
    dag = _dag(text, hidden)[1]
    if about is None:
        found = lac.independencies(dag)
        if json:
            emit({"independencies": [{"first": a, "second": b, "given": list(c)} for a, b, c in found]})
            return
        for one in found:
            show(str(one))
        show("" if found else "no two variables are independent, whatever is given")
        return
    dag.schema.index(about)
    told = {relation: getattr(dag, f"{relation}_of")(about) for relation in RELATIONS}
    if json:
        emit({"name": about, **{relation: list(names) for relation, names in told.items()}})
        return
    for relation, names in told.items():
        show(f"{relation.replace('_', ' '):<14}  {', '.join(map(visible, names)) or 'none'}")


def _dag(text: str, hidden: dict[str, Any]) -> tuple[Any, lac.Dag]:
    """Return what a text stands for, and its graph."""
    known = {name: states for name, states in hidden.items() if states is not None}
    thing = lac.dag(text, states=known, hidden=list(hidden)) if is_arrows(text) else opened(text)
    dag = thing if isinstance(thing, lac.Dag) else getattr(thing, "dag", None)
    if dag is None:
        raise lac.FileError(f"{text}: a {type(thing).__name__.lower()} is no model")
    return thing, dag


def _structure(text: str, hidden: dict[str, Any], json: bool) -> None:
    from lacunary.report.structure import structure

    thing, dag = _dag(text, hidden)
    found = structure(dag)
    if json:
        emit({"kind": type(thing).__name__.lower(), **found.to_dict()})
        return
    show(
        f"{type(thing).__name__.lower()}: {counted(len(found.variables), 'variable')}, "
        f"{counted(found.arcs, 'arc')}, {counted(found.parameters, 'free parameter')}"
    )
    show(
        f"largest clique when nothing is observed: {counted(found.largest_clique_size, 'configuration')} of "
        f"{', '.join(found.largest_clique) or 'nothing'}"
    )
    if isinstance(thing, lac.Fit):
        show(str(thing))
    show("")
    width = max((len(v.name) for v in found.variables), default=0)
    for v in found.variables:
        states = ", ".join(map(visible, v.states)) if v.states else v.kind
        above = f"  <- {', '.join(v.parents)}" if v.parents else ""
        show(f"{v.name:<{width}}  {states}{'  (hidden)' if v.hidden else ''}{above}")
    if dag.continuous and not isinstance(thing, lac.Dag):
        from lacunary.report.regressions import regressions_text

        show("\nregressions, in the data's units")
        show(regressions_text(thing.network if isinstance(thing, lac.Fit) else thing))


@command("lacunary convert asia asia.json", "lacunary convert asia.json asia.net")
def convert(
    source: Annotated[str, typer.Argument(metavar="IN", help="A model file; or asia, alarm.")],
    target: Annotated[
        str, typer.Argument(metavar="OUT", help="A file: .json, .bif, .xmlbif, .net, also .gz.")
    ],
    renormalize: Annotated[
        bool, typer.Option("--renormalize", help="Scale distributions that do not sum to one.")
    ] = False,
    json: Json = False,
) -> None:
    """Write a model in another format, or the same one renormalised.

    BIF, XMLBIF and NET hold networks only: of a fit they get its network. --json prints: kind, source, out.
    """
    check_out(target, MODELS)
    thing = opened(source, renormalize=renormalize)
    if isinstance(thing, lac.Fit) and ".json" not in Path(target).suffixes:
        thing = thing.network
    lac.save(thing, target)
    kind = type(thing).__name__.lower()
    if json:
        emit({"kind": kind, "source": source, "out": target})
    else:
        show(f"written: {target} ({kind})")
