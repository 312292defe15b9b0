"""``lacunary score``, ``lacunary compare`` and ``lacunary dimension``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

import lacunary as lac
from lacunary.cli.app import command, end, note, without_note
from lacunary.cli.arguments import (
    NUMBERS,
    Data,
    Figure,
    Hidden,
    Json,
    OldFigure,
    Reading,
    figure_of,
    graph_of,
    is_arrows,
    numbers_of,
    option,
    pairs_of_states,
)
from lacunary.cli.problem import ModelOrClasses, Prior, Seed, Starts, prior_of, problem_of, starts_of
from lacunary.cli.show import Waiting, draw, emit, say_written, show

__all__ = ["Candidates", "compare", "dimension", "score"]

ESTIMATES = (
    "exact, map, bic, draper, sbic, laplace, prequential, mled, cheeseman-stutz, variational; "
    "by sampling: sampled, sandwich, wbic, ais, path, bridge, chib"
)
EFFECTIVE = "Charge for the effective dimension: --charge generic."
CHARGE = (
    "What to charge for: parameters; their rank, generic or at the estimate; that of what rows show, data."
)
SHOWN = "A table: count only what is observed together in some row."
SIDES = ("runs", "lower", "upper", "gap", "gap_error")
"""What is known of a sandwich beside its value."""

CLASSES = "Compare latent classes: NAME with each number of --components."
METHODS = "The estimates, with commas between; as for score."

Effective = Annotated[bool, typer.Option("--effective", help=EFFECTIVE)]
Charge = Annotated[
    Literal["parameters", "generic", "data", "estimate"], option(CHARGE, "parameters|generic|data|estimate")
]


@dataclass(frozen=True)
class Candidates:
    """The options that say which models are weighed against each other."""

    models: Annotated[list[str] | None, typer.Argument(metavar="MODEL...", help="Model files or graphs.")] = (
        None
    )
    hidden: Annotated[str | None, option(CLASSES, "NAME")] = None
    components: Annotated[str, option(NUMBERS, "1..8")] = "1..6"

    def read(self, data: str, reading: Reading) -> tuple[dict[str, lac.Dag], lac.Table]:
        """Return the models by name, and the table they are weighed on."""
        numbers, hidden = numbers_of("--components", self.components), self.hidden
        if bool(self.models) == (hidden is not None):
            raise typer.BadParameter("give two or more models, or --hidden NAME", param_hint="MODEL")
        if hidden is not None and "=" in hidden:
            raise typer.BadParameter(
                f"give the name alone, and the numbers to try as --components 1..6, not {hidden!r}",
                param_hint="--hidden",
            )
        table = reading.table(data)
        if hidden is not None:
            return {f"{hidden}={k}": lac.naive_bayes(table.schema, hidden, k) for k in numbers}, table
        return {text: problem_of(data, text, {}, reading)[0] for text in self.models or ()}, table


@command(
    "lacunary score house_votes --hidden bloc=3 --drop party",
    "lacunary score house_votes --hidden bloc=2 --drop party --method variational --json",
    'lacunary score house_votes "party -> crime immigration" --method exact --drop mx_missile',
)
def score(
    data: Data,
    reading: Reading,
    model: ModelOrClasses = None,
    hidden: Hidden = None,
    method: Annotated[str, option(f"The estimate: {ESTIMATES}.", "NAME")] = "cheeseman-stutz",
    prior: Prior = "dirichlet=1",
    effective: Effective = False,
    charge: Charge = "parameters",
    starts: Starts = None,
    rng: Seed = 0,
    json: Json = False,
) -> None:
    """Estimate the log marginal likelihood of a model: how strongly a table speaks for it, in nats.

    A sandwich also shows what each of its runs says, and a gap that is the error to be expected. Interrupted,
    estimates by sampling show what they have, with its larger error.

    Higher is better. --json prints: method, value, kind, stderr, trustworthy, note, dimension, where,
    seconds, terms.
    """
    with Waiting(f"reading {data}") as waiting:
        dag, table = problem_of(data, model, pairs_of_states("--hidden", hidden), reading)
        waiting.say(f"{method}: compiling kernels, once…")
        found = lac.score(
            dag,
            table,
            method,
            prior=prior_of(prior),
            dimension=_charge(charge, effective),
            starts=starts_of(starts),
            watch=waiting.progress,
            rng=rng,
        )
    if json:
        told = ("method", "value", "kind", "stderr", "trustworthy", "dimension", "where", "seconds")
        unsure = {"note": found.details.get("note", ""), "terms": dict(found.terms)}
        unsure |= {name: found.details[name] for name in SIDES if name in found.details}
        emit({**{name: getattr(found, name) for name in told}, **unsure})
    else:
        _print(found)
    end(found)


def _print(found: lac.Estimate) -> None:
    """Show an estimate, with all that is known about it."""
    if found.kind == "no estimate":
        show(f"{found.method}  {found.value:.4f} nats")
    else:
        show(f"log evidence  {found.value:.4f} nats{found.error}, {found.kind}; higher is better")
    for name, value in found.terms.items():
        show(f"  {value:>14.4f}  {name}")
    if found.dimension is not None:
        show(f"dimensions charged for: {found.dimension}")
    if found.where:
        show(f"worked out at: {found.where}")
    for line in _sides(found):
        show(line)
    if doubt := found.details.get("note"):
        show(str(doubt))
    note(found.doubts)


def _sides(found: Any) -> list[str]:
    """Return what a sandwich knows beside its value: what each run says, and the ends of the twin."""
    told, runs = found.details, found.details.get("runs", {})
    lines = [f"  {value:>14.4f}  ± {error:.2g}, by {name}" for name, (value, error) in runs.items()]
    if "gap" in told:
        lines.append(
            f"rows like these, drawn from the model and its prior: {told['lower']:.4f} from below and "
            f"{told['upper']:.4f} from above, a gap of {told['gap']:.2g} ± {told['gap_error']:.2g} nats"
        )
    return lines


@command(
    "lacunary compare house_votes --hidden bloc --components 1..4 --drop party",
    "lacunary compare house_votes --hidden bloc --components 2,3 --drop party --figure blocs.svg",
    'lacunary compare house_votes "party -> crime" "party; crime" --methods exact,bic',
)
def compare(
    data: Data,
    reading: Reading,
    candidates: Candidates,
    methods: Annotated[str, option(METHODS, "NAME,NAME")] = "bic,cheeseman-stutz,variational",
    prior: Prior = "dirichlet=1",
    effective: Effective = False,
    charge: Charge = "parameters",
    starts: Starts = None,
    rng: Seed = 0,
    figure: Figure = None,
    json: Json = False,
    out: OldFigure = None,
) -> None:
    """Weigh several models of the same columns against each other by their marginal likelihood.

    Prints the log evidence of every model by every estimate, in nats, higher is better, and the posterior
    probability of each model, with 95 % intervals that carry the error of sampled estimates; interrupted,
    what is done by then. --json prints a list of: model, method, log_evidence, stderr, kind, where,
    too_low, trustworthy, probability, probability_low, probability_high, rank, parameters,
    dimension, seconds.
    """
    with Waiting(f"reading {data}") as waiting:
        named, table = candidates.read(data, reading)
        waiting.say("compiling kernels, once…")
        found = lac.compare(
            named,
            table,
            [name.strip() for name in methods.split(",")],
            prior=prior_of(prior),
            dimension=_charge(charge, effective),
            starts=starts_of(starts),
            rng=rng,
            watch=lambda done, total, what: waiting.say(f"{what} ({done + 1} of {total})"),
        )
        if figure := figure_of(figure, out):
            draw("evidence", found, figure)
    if json:
        emit(found.rows())
    else:
        show(without_note(found))
        if len(found.models) > 1:
            _tell(found)
        say_written((figure,))
    end(found)


@command(
    'lacunary dimension "A -> C <- H -> D <- B" --states 2 --hidden H',
    'lacunary dimension "H -> A B C D" --states 2 --hidden H=3 --json',
)
def dimension(
    model: Annotated[str, typer.Argument(help="A graph such as 'A -> C <- H -> D <- B', or a model file.")],
    states: Annotated[
        int, typer.Option(min=1, help="States of every variable, where not told otherwise.")
    ] = 2,
    hidden: Hidden = None,
    data: Annotated[str | None, option(SHOWN, "FILE")] = None,
    json: Json = False,
) -> None:
    """Count the dimensions of what a network with hidden variables can say about the others.

    The rank of the map from its parameters to the distribution of the observed variables, in exact
    arithmetic at random parameters. With --data variables and states are those of its columns.
    --json prints: rank, parameters, hidden.
    """
    asked = pairs_of_states("--hidden", hidden)
    table = None
    if data is not None:
        dag, table = problem_of(data, model, asked, Reading())
    elif is_arrows(model):
        sizes: dict[str, Any] = dict.fromkeys(lac.dag(model).names, states)
        sizes |= {name: k for name, k in asked.items() if k is not None}
        dag = lac.dag(model, states=sizes, hidden=list(asked))
    else:
        dag = graph_of(model, asked)
    with Waiting("working out the rank"):
        found = lac.dimension(dag, data=table)
    if json:
        emit({"rank": found.rank, "parameters": found.parameters, "hidden": list(dag.schema.hidden)})
        return
    show(f"effective dimension {found.rank}, of {found.parameters} free parameters")


def _tell(found: lac.Comparison) -> None:
    """Say what the estimates agree on, and how probable each model is."""
    from lacunary.report.words import agreement, joined

    show(agreement(found.favourites()))
    for names in found.equivalents():
        show(
            f"{joined(names)} are equivalent: no table tells them apart, and where their estimates differ "
            "the prior made the difference (under --prior bdeu=1 they agree)"
        )
    show("")
    show("posterior probability of each model, all equally probable before")
    for name in found.methods:
        known = dict(zip(found.models, found.shares(name), strict=True))
        told = [f"{model} {share}" for model, share in known.items() if share.high > 0.0005]
        reason = next((share.note for share in known.values() if share.note), "")
        if reason and all(share.low == 0.0 and share.high == 1.0 for share in known.values()):
            show(f"  {name}: none, because {reason}")
        else:
            show(f"  {name}: " + ", ".join(told) + (f"; no single number where {reason}" if reason else ""))


def _charge(
    charge: Literal["parameters", "generic", "data", "estimate"], effective: bool
) -> Literal["parameters", "generic", "data", "at estimate"]:
    """Return what the library calls it."""
    if effective:
        return "generic"
    return "at estimate" if charge == "estimate" else charge
