"""All commands in the order of help, and what makes one: its module is loaded when it is called."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

from typer import Typer
from typer.main import get_command

__all__ = ["COMMANDS", "Listed", "declared", "made"]


class Listed(NamedTuple):
    """A command before it is called: the module that has it, and what it is for."""

    module: str
    summary: str


COMMANDS = {
    "demo": Listed(
        "demo", "Find the voting blocs in the U.S. House of 1984 from 16 votes, many of them missing."
    ),
    "describe": Listed("describe", "Say what a table holds and how it was read, or what a model is made of."),
    "convert": Listed("describe", "Write a model in another format, or the same one renormalised."),
    "fit": Listed("fit", "Learn a network's probabilities from a table with holes, by EM. Every row counts."),
    "classes": Listed(
        "classes",
        "Find hidden classes of rows: how many there are, what each is like, who is in them. Every "
        "row counts.",
    ),
    "search": Listed("search", "Find the graph that explains a table best. Every row counts."),
    "arcs": Listed(
        "arcs", "Return how probable every arc and every link is, averaged over all graphs. Every row counts."
    ),
    "mixture": Listed("mixture", "Find groups of rows, each with a network of its own. Every row counts."),
    "assign": Listed(
        "assign",
        "Say to which component of a mixture each row of a table belongs, as far as its observed cells tell.",
    ),
    "query": Listed(
        "query", "Ask a model for the probabilities of some variables given the states or values of others."
    ),
    "sample": Listed(
        "sample",
        "Draw rows from a model or a mixture, or from a model given some states or values; hidden "
        "ones as well.",
    ),
    "impute": Listed(
        "impute",
        "Fill the holes of a table, with what a model says about them or with what the table itself says.",
    ),
    "score": Listed(
        "score",
        "Estimate the log marginal likelihood of a model: how strongly a table speaks for it, in nats.",
    ),
    "compare": Listed(
        "score", "Weigh several models of the same columns against each other by their marginal likelihood."
    ),
    "dimension": Listed(
        "score", "Count the dimensions of what a network with hidden variables can say about the others."
    ),
    "effect": Listed(
        "effect",
        "Tell what setting one variable does to another: by which columns it can be told, and how "
        "much it is.",
    ),
    "missing": Listed("missing", "Tell what predicts missing cells: other columns, and other missing cells."),
    "pool": Listed(
        "missing",
        "Pool estimates from filled tables by Rubin's rules: means, shares of states, linear regressions.",
    ),
    "report": Listed(
        "report",
        "Report on latent classes as it is published: parameters with errors, fit, criteria, classification.",
    ),
    "sensitivity": Listed(
        "sensitivity",
        "Tell how much the evidence of models hangs on the prior: any estimate over a range of "
        "hyperparameters.",
    ),
    "loo": Listed(
        "loo",
        "Tell how well a model predicts each row given all others: PSIS-LOO and WAIC, in nats, "
        "higher is better.",
    ),
    "workbench": Listed(
        "workbench",
        "Open the workbench, a page in the browser: see what is missing, learn, compare models, "
        "click evidence.",
    ),
    "serve": Listed(
        "workbench",
        "Answer questions about a model over HTTP: query, posterior, impute, explain, and many at once.",
    ),
    "page": Listed(
        "workbench",
        "Write a network as one page that can be mailed: click a state, and all probabilities move.",
    ),
    "reproduce": Listed(
        "reproduce",
        "Redo the tables, figures and claims of the papers this library stands on, beside the "
        "printed numbers.",
    ),
    "warm-up": Listed(
        "warm_up",
        "Compile everything now, on all cores, for images, clusters and those who do not like to wait.",
    ),
}
"""What help says of each command is the first sentence of its function, which is not loaded for it."""

declared: dict[str, Typer] = {}
"""The commands of the modules that are loaded, each by itself, by the name of its function."""


@cache
def made(name: str) -> Any:
    """Return a command, ready to be called."""
    import_module(f"lacunary.cli.{COMMANDS[name].module}")
    return get_command(declared[name.replace("-", "_")])
