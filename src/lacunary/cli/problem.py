"""What is to be learned or weighed, from the command line: graph and table, prior, starts, selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

import lacunary as lac
from lacunary.cli.arguments import Reading, Texts, graph_of, is_arrows, option, pairs

if TYPE_CHECKING:
    from lacunary.learn.start import Starts as Rule

__all__ = [
    "ModelOrClasses",
    "Prior",
    "Seed",
    "Selected",
    "Starts",
    "options_of",
    "prior_of",
    "problem_of",
    "starts_of",
]


MODEL = (
    "A model file, or a graph such as 'A -> B C; B -> C'. Without it, --hidden NAME=K makes latent "
    "classes: NAME is the one parent of every column."
)
STARTS = (
    "Random starts, 20 unless told if something is hidden; tournament[=64]: halve them until one is left; "
    "around[=20]: near the fit without what is hidden."
)
PRIOR = "The prior of the parameters."
CHOOSING = "Choosing among the starts"
RULES = "best, average, entropy, max-entropy, global or ensemble; see docs/parameters.md."

ModelOrClasses = Annotated[str | None, typer.Argument(metavar="MODEL", help=MODEL)]
Prior = Annotated[str, option(PRIOR, "k2|dirichlet=A|bdeu=ESS")]
Starts = Annotated[str | None, option(STARTS, "N|tournament|around")]
Seed = Annotated[int, typer.Option(help="Seed.", min=0)]
Selected = Annotated[
    Literal["best", "average", "entropy", "max-entropy", "global", "ensemble"],
    option(RULES, "RULE", panel=CHOOSING),
]


def problem_of(
    data: str, model: str | None, hidden: Mapping[str, int | list[str] | None], reading: Reading
) -> tuple[lac.Dag, lac.Table]:
    """Return the graph, and the table as the graph sees it."""
    if model is not None and not is_arrows(model):
        dag = graph_of(model, hidden)
        return dag, reading.table(data, dag.schema)
    table = reading.table(data)
    known = {name: states for name, states in hidden.items() if states is not None}
    if model is not None:
        names = lac.dag(model).names
        known_all = all(name in table.schema or name in hidden for name in names)
        drawn = tuple(v for v in table.schema if v.name in names)
        schema = lac.Schema(drawn) if known_all else table.schema  # which then says what was meant
        dag = lac.dag(model, states=known, hidden=list(hidden), schema=schema)
    elif len(known) == 1 == len(hidden):
        dag = lac.naive_bayes(table.schema, *next(iter(known.items())))
    else:
        raise typer.BadParameter(
            "give a model, or one --hidden NAME=K for latent classes", param_hint="MODEL"
        )
    return dag, table


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


def starts_of(text: str | None) -> int | Rule | None:
    """Return the starts that a text such as 30, tournament or around=10 stands for."""
    if text is None:
        return None
    name, equals, number = ("draws", "=", text) if text.isdecimal() else text.partition("=")
    if name not in ("draws", "tournament", "around") or (equals and not (number.isdecimal() and int(number))):
        raise typer.BadParameter(
            f"{text!r} is not a number from 1 on, tournament, tournament=64, around or around=20",
            param_hint="--starts",
        )
    if name == "draws":
        return int(number)
    rule = lac.Tournament if name == "tournament" else lac.Around
    return rule(int(number)) if equals else rule()


def options_of(texts: Texts) -> dict[str, Any]:
    """Return options of a selection, numbers as numbers."""
    return {name: _number(value) for name, value in pairs("--select-option", texts).items()}


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
