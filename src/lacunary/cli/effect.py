"""``lacunary effect``."""

from __future__ import annotations

from typing import Annotated, Any

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import Given, Json, Model, Texts, given_states, opened, option, state_of
from lacunary.cli.show import Waiting, emit, show

__all__ = ["effect"]

TREATMENT = "What is set."
OUTCOME = "What it may change."
UNSEEN = "A variable that is not observed; may be repeated."
LOW = "From which state or value the treatment is set, and to which."
STATE = "The state of the outcome whose probability changes; of two, the second."


@command(
    "lacunary effect asia smoke dysp --low no --high yes --state yes",
    "lacunary effect 'u -> x y; x -> m -> y' x y --hidden u",
    "lacunary effect 'u -> x y; x -> y' x y --hidden u --json",
)
def effect(
    model: Model,
    treatment: Annotated[str, typer.Argument(metavar="TREATMENT", help=TREATMENT)],
    outcome: Annotated[str, typer.Argument(metavar="OUTCOME", help=OUTCOME)],
    hidden: Annotated[Texts, option(UNSEEN, "NAME")] = None,
    given: Given = None,
    low: Annotated[str | None, option(LOW, "STATE")] = None,
    high: Annotated[str | None, option(LOW, "STATE")] = None,
    state: Annotated[str | None, option(STATE, "STATE")] = None,
    json: Json = False,
) -> None:
    """Tell what setting one variable does to another: by which columns it can be told, and how much it is.

    MODEL may be a graph alone, as arrows; arcs are taken to lead from causes to effects. What can be told
    from observed columns is written as a formula of their probabilities; if there is none, it says why.

    --json prints: treatment, outcome, given, back_door, front_door, identified, formula, latex, how, hedge,
    effect (low, high, state, estimate; null for a graph alone).
    """
    thing = opened(model)
    thing = getattr(thing, "network", thing)
    dag = thing if isinstance(thing, lac.Dag) else getattr(thing, "dag", None)
    if dag is None:
        raise lac.FileError(f"{model}: a {type(thing).__name__.lower()} has no arcs of its own")
    seen = given_states(dag.schema, given)
    sets = lac.adjustment(dag, treatment, outcome, hidden=hidden or ())
    found = lac.identify(dag, outcome, treatment, list(seen), hidden=hidden or ())
    change = None
    if not isinstance(thing, lac.Dag):
        with Waiting("asking"):
            chosen = [_chosen(dag, name, text) for name, text in ((treatment, low), (treatment, high))]
            wanted = _chosen(dag, outcome, state)
            change = lac.average_effect(
                thing, treatment, outcome, low=chosen[0], high=chosen[1], state=wanted, given=seen
            )
    if not json:
        for said in (sets, found, change):
            if said is not None:
                show(str(said))
        return
    formula = found.formula
    told = {"low": change.low, "high": change.high, "state": change.state} if change else None
    emit(
        {
            "treatment": treatment, "outcome": outcome, "given": seen,
            "back_door": sets.back_door, "front_door": sets.front_door, "identified": found.identified,
            "formula": str(formula) if formula else None, "latex": formula.latex if formula else None,
            "how": found.how, "hedge": str(found.hedge) if found.hedge else None,
            "effect": {**told, "estimate": change.estimate, "interval": change.interval}
            if change and told
            else None,
        }
    )  # fmt: skip


def _chosen(dag: lac.Dag, name: str, text: str | None) -> Any:
    return None if text is None else state_of(dag.schema[name], text)
