"""``lacunary sensitivity``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

import lacunary as lac
from lacunary.cli.app import command, end, without_note
from lacunary.cli.arguments import Data, Figure, Json, OldFigure, Reading, figure_of, option
from lacunary.cli.problem import Seed, Starts, starts_of
from lacunary.cli.score import METHODS, Candidates
from lacunary.cli.show import Waiting, draw, emit, say_written, show

__all__ = ["sensitivity"]

ALPHAS = "Hyperparameters to try, with commas between."
KIND = "What they are: of every parameter, or the rows that a BDeu prior is worth."


@command(
    "lacunary sensitivity house_votes --hidden bloc --components 1..3 --drop party --alphas 0.1,1,10",
    'lacunary sensitivity house_votes "party -> crime" "party; crime" --methods exact --figure a.svg',
)
def sensitivity(
    data: Data,
    reading: Reading,
    candidates: Candidates,
    methods: Annotated[str, option(METHODS, "NAME,NAME")] = "cheeseman-stutz",
    alphas: Annotated[str, option(ALPHAS, "A,A")] = "0.1,0.2,0.5,1,2,5,10",
    prior: Annotated[Literal["dirichlet", "bdeu"], option(KIND, "dirichlet|bdeu")] = "dirichlet",
    starts: Starts = None,
    rng: Seed = 0,
    figure: Figure = None,
    json: Json = False,
    out: OldFigure = None,
) -> None:
    """Tell how much the evidence of models hangs on the prior: any estimate over a range of hyperparameters.

    --json prints a list of: alpha, and what compare prints for each model and method.
    """
    with Waiting(f"reading {data}") as waiting:
        named, table = candidates.read(data, reading)
        waiting.say("compiling kernels, once…")
        found = lac.sensitivity(
            named,
            table,
            [name.strip() for name in methods.split(",")],
            alphas=_alphas(alphas),
            prior=prior,
            starts=starts_of(starts),
            rng=rng,
            watch=lambda done, total, what: waiting.say(f"{what} ({done + 1} of {total})"),
        )
        if figure := figure_of(figure, out):
            draw("sensitivity", found, figure)
    if json:
        emit(found.rows())
    else:
        show(without_note(found))
        say_written((figure,))
    end(found)


def _alphas(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not 0.1,1,10", param_hint="--alphas") from None
