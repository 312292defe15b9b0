"""``lacunary loo``."""

from __future__ import annotations

from typing import Annotated

import typer

import lacunary as lac
from lacunary.cli.app import command, end, without_note
from lacunary.cli.arguments import Data, Hidden, Json, Reading, pairs_of_states
from lacunary.cli.problem import ModelOrClasses, Prior, Seed, prior_of, problem_of
from lacunary.cli.show import Waiting, emit, show

__all__ = ["loo"]


@command(
    "lacunary loo house_votes --hidden bloc=2 --drop party --draws 100",
    'lacunary loo house_votes "party -> crime immigration" --draws 100 --json',
)
def loo(
    data: Data,
    reading: Reading,
    model: ModelOrClasses = None,
    hidden: Hidden = None,
    prior: Prior = "dirichlet=1",
    draws: Annotated[int, typer.Option(min=2, help="Posterior draws that each of four chains keeps.")] = 500,
    rng: Seed = 0,
    json: Json = False,
) -> None:
    """Tell how well a model predicts each row given all others: PSIS-LOO and WAIC, in nats, higher is better.

    It is no estimate of the evidence; see score for that. --json prints: elpd, stderr, parameters, waic,
    waic_stderr, rows, pareto_k (one for each row), good (what it may be at most), trustworthy.
    """
    with Waiting(f"reading {data}") as waiting:
        dag, table = problem_of(data, model, pairs_of_states("--hidden", hidden), reading)
        waiting.say("drawing parameters")
        found = lac.loo(dag, table, prior=prior_of(prior), draws=draws, watch=waiting.progress, rng=rng)
    if json:
        told = ("elpd", "stderr", "parameters", "waic", "waic_stderr", "good", "trustworthy")
        shapes = [k if abs(k) < float("inf") else None for k in found.pareto_k.tolist()]
        emit({**{name: getattr(found, name) for name in told}, "rows": len(shapes), "pareto_k": shapes})
    else:
        show(without_note(found))
    end(found)
