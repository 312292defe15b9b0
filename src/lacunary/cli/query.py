"""``lacunary query``."""

from __future__ import annotations

from dataclasses import asdict
from itertools import product
from math import exp, inf, log
from typing import Annotated, Any, cast

import typer

import lacunary as lac
from lacunary.cli.app import command
from lacunary.cli.arguments import (
    Cells,
    Do,
    Given,
    Json,
    Model,
    Out,
    answering,
    given_states,
    option,
    pairs,
    state_of,
)
from lacunary.cli.delimited import column_names, hand_over
from lacunary.cli.show import Waiting, emit, show

__all__ = ["query"]

EXPLAIN = "The jointly most probable states of all variables, or of the targets."
SOFT = "Likelihoods of a variable's states, such as xray=yes:0.9,no:0.2."
MARGINALS = "The probabilities of all variables, each by itself."
ROWS = "Ask for every row of a table, given its observed cells."
CLASS = "With --do: the answers of all graphs that data cannot tell from the model's own."
WORTH = "What it would be worth to observe each other variable, for the target."
STEEP = "How the probability of this state of the target depends on every parameter."


@command(
    "lacunary query asia lung --given smoke=yes",
    "lacunary query alarm HYPOVOLEMIA --given 'BP=LOW|NORMAL'",
    "lacunary query asia lung bronc --given xray=yes --given dysp=yes --json",
    "lacunary query asia --explain --given dysp=yes",
    "lacunary query alarm HYPOVOLEMIA --given BP=LOW",
    "lacunary query asia --marginals --given dysp=yes --soft xray=yes:0.9,no:0.2",
    "lacunary query asia lung --do smoke=yes --given xray=yes",
    "lacunary query asia bronc --do smoke=yes --over-class",
    "lacunary query asia lung --given dysp=yes --worth",
    "lacunary query asia lung --given xray=yes --parameters yes",
)
def query(
    model: Model,
    cells: Cells,
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="TARGET...", help="The variables to ask about, jointly.")
    ] = None,
    given: Given = None,
    do: Do = None,
    soft: Annotated[list[str] | None, option(SOFT, "NAME=STATE:NUMBER,...")] = None,
    explain: Annotated[bool, typer.Option("--explain", help=EXPLAIN)] = False,
    marginals: Annotated[bool, typer.Option("--marginals", help=MARGINALS)] = False,
    over_class: Annotated[bool, typer.Option("--over-class", help=CLASS)] = False,
    worth: Annotated[bool, typer.Option("--worth", help=WORTH)] = False,
    parameters: Annotated[str | None, option(STEEP, "STATE")] = None,
    data: Annotated[str | None, option(ROWS, "FILE")] = None,
    out: Out = None,
    json: Json = False,
) -> None:
    """Ask a model for the probabilities of some variables given the states or values of others.

    The answer about a continuous variable, asked about alone, is its mean, standard deviation and quantiles,
    and a normal for each configuration of states that is left open. About several variables, some of them
    continuous, it is their means, standard deviations and correlations, for each configuration of the others.

    --do sets variables from outside, whatever would have caused them; --given is then seen afterwards. That
    is what would happen only if the model's arcs lead from causes to effects. A learned graph is one of
    several that its data cannot tell apart: --over-class asks all of them.

    With --data: one line a row, one column a state, named TARGET=STATE, or columns "TARGET mean" and
    "TARGET sd" of a continuous one; to --out (.csv, .tsv) or the screen. Where exact inference does not fit
    columns "TARGET=STATE error" have the standard errors.

    --json prints: targets, given, do, probability_of_given (a density if values are given), distribution (a
    list of states and probability; of a continuous target mean, sd, quantiles, components; of several, some
    of them continuous: continuous, mean, covariance, and configurations with states, probability, mean,
    covariance, components); with
    --over-class: answers (distribution, parents) and graphs; with --worth: target, entropy, values; with
    --parameters: asked, answer, effects; with --explain: given,
    explanation, probability (a density if some variable is continuous); with --marginals: given,
    probability_of_given, marginals (a distribution a variable); with --data: targets, rows, columns,
    probabilities, or out. What is drawn where exact inference does not fit has its standard error beside it:
    error, probability_of_given_error.
    """
    other = do or over_class or worth or parameters is not None
    if data is not None and (given or soft or explain or marginals or other):
        raise typer.BadParameter(
            "every row says itself what is given; leave out --given, --do, --soft and all other questions",
            param_hint="--data",
        )
    if do and (marginals or worth or parameters is not None):
        raise typer.BadParameter("name targets, and ask for their distribution alone", param_hint="--do")
    if out is not None and data is None:
        raise typer.BadParameter(
            "only the answers for a table (--data) are written to a file", param_hint="--out"
        )
    thing, schema = answering(model)
    if _is_mixture(thing) and explain:
        raise typer.BadParameter(
            "a mixture has no one explanation; ask for probabilities", param_hint="--explain"
        )
    if _is_mixture(thing) and (marginals or soft or over_class or worth or parameters is not None):
        raise typer.BadParameter(
            "a mixture takes states and values, and asks for targets alone",
            param_hint="--marginals, --soft, --over-class, --worth, --parameters",
        )
    if marginals and (targets or explain):
        raise typer.BadParameter("name no targets: all are answered", param_hint="--marginals")
    if not targets and not explain and not marginals:
        names = ", ".join(schema.names)
        raise typer.BadParameter(f"name at least one variable to ask about: {names}", param_hint="TARGET")
    if data is not None:
        with Waiting(f"reading {data}") as waiting:
            rows = cells.table(data, schema)
            waiting.say("asking about every row")
            columns = _posteriors(thing, schema, targets or [], rows)
        lines = [list(line) for line in zip(*columns.values(), strict=True)]
        answer = {"out": out} if out else {"probabilities": lines}
        told = {"targets": targets, "rows": len(rows), "columns": list(columns), **answer}
        hand_over(columns, out, told if json else None)
        return
    seen, fixed = known(schema, given, soft), given_states(schema, do, "--do")
    if explain:
        _explanation(thing, targets, seen, fixed, json)
    elif marginals:
        _marginals(thing, seen, json)
    elif over_class:
        _over_class(thing, targets or [], seen, fixed, json)
    elif worth or parameters is not None:
        _about_one(thing, targets or [], seen, parameters, json)
    else:
        _distribution(thing, targets or [], seen, fixed, json)


def _over_class(
    model: Any, targets: list[str], given: dict[str, Any], do: dict[str, Any], json: bool
) -> None:
    if not do:
        raise typer.BadParameter("say with --do what is set", param_hint="--over-class")
    with Waiting("asking every graph of the class"):
        found = lac.query_class(model, *targets, do=do, given=given)
    if not json:
        show(str(found))
        return
    answers = [{"distribution": _plain(one.answer, targets), "parents": one.parents} for one in found.answers]
    emit({"targets": targets, "given": given, "do": do, "answers": answers, "graphs": found.graphs})


def _about_one(model: Any, targets: list[str], given: dict[str, Any], state: str | None, json: bool) -> None:
    if len(targets) != 1:
        raise typer.BadParameter("name one target", param_hint="--worth" if state is None else "--parameters")
    with Waiting("asking"):
        if state is None:
            found: Any = lac.value_of_observation(model, targets[0], given)
        else:
            wanted = state_of(model.dag.schema[targets[0]], state)
            found = lac.parameter_sensitivity(model, targets[0], wanted, given)
    if json:
        emit(asdict(found))
    else:
        show(str(found))


def _is_mixture(thing: object) -> bool:
    """Whether what answers is a mixture, without loading what a mixture is."""
    return not isinstance(thing, lac.Network | lac.Belief)


def known(schema: lac.Schema, given: list[str] | None, soft: list[str] | None) -> dict[str, Any]:
    """Return what is given: states, values, and likelihoods of states, by name."""
    found = given_states(schema, given)
    for name, text in pairs("--soft", soft).items():
        if name in found:
            raise typer.BadParameter(f"{name} is given a state already", param_hint="--soft")
        if not schema[name].discrete:
            raise lac.StateError(f"{name} is continuous: it has no states whose likelihoods could be given")
        found[name] = _likelihood(schema[name], text)
    return found


def _likelihood(variable: lac.Variable, text: str) -> dict[Any, float]:
    spelled, found = {str(state): state for state in variable.states}, {}
    for part in text.split(","):
        state, _, number = part.rpartition(":")
        try:
            found[spelled.get(state.strip(), state.strip())] = float(number)
        except ValueError:
            raise typer.BadParameter(
                f"{part!r} is not a state and a number, such as {variable.states[0]}:0.5", param_hint="--soft"
            ) from None
    return found


def _marginals(model: Any, given: dict[str, Any], json: bool) -> None:
    with Waiting("asking"):
        engine = model.engine(given)
        chance = _chance(_possible(model, given))
        found = engine.marginals()
    if json:
        told = {name: _plain(answer, [name]) for name, answer in found.items()}
        emit({"given": given, **chance, "marginals": told})
        return
    for answer in found.values():
        show(str(answer))


def _distribution(
    model: Any, targets: list[str], given: dict[str, Any], do: dict[str, Any], json: bool
) -> None:
    with Waiting("asking"):
        chance = _chance(_possible(model, given, do))
        found = model.query(*targets, given=given, do=do)
    if json:
        told = {"targets": targets, "given": given, "do": do, **chance}
        emit({**told, "distribution": _plain(found, targets)})
    else:
        show(str(found))


def _chance(log: float, name: str = "probability_of_given") -> dict[str, float]:
    """Return how probable something is, and the standard error if it was drawn, by name."""
    from lacunary.maths.drawn import exponential  # with numbers, which --help does without

    found = exponential(log)
    return {name: float(found), **({f"{name}_error": found.error} if hasattr(found, "error") else {})}


def _plain(found: Any, targets: list[str]) -> Any:
    """Return an answer as plain lists, dictionaries and numbers."""
    if isinstance(found, lac.NormalMixture | lac.JointMixture):
        return found.to_dict()
    states = product(*(variable.states for variable in found.variables))
    answers = zip(states, found.probabilities.ravel().tolist(), strict=True)
    told = [{"states": dict(zip(targets, at, strict=True)), "probability": p} for at, p in answers]
    if found.error is None:
        return told
    return [{**one, "error": e} for one, e in zip(told, found.error.ravel().tolist(), strict=True)]


def _explanation(
    model: Any, targets: list[str] | None, given: dict[str, Any], do: dict[str, Any], json: bool
) -> None:
    from lacunary.maths.drawn import less

    with Waiting("asking"):
        chance = _possible(model, given, do)
        found: Any = model.explain(given, do)
        log: Any = less(model.log_density({n: s for n, s in found.items() if n not in do}, do), chance)
    for name in targets or ():
        model.dag.schema.index(name)
    shown = {name: state for name, state in found.items() if not targets or name in targets}
    if json:
        emit({"given": given, "do": do, "explanation": shown, **_chance(log, "probability")})
        return
    width = max(map(len, shown))
    for name, state in shown.items():
        value = f"{state:.6g}" if not model.dag.schema[name].discrete else state
        show(f"{name:<{width}}  {value}{'  (given)' if name in given else '  (set)' if name in do else ''}")
    certain = " given this" if given else ""
    at = "; continuous ones are at their means"
    error = f" ± {log.error:.2g}" if hasattr(log, "error") else ""
    if model.dag.continuous:
        show(f"all variables together have log-density {log:.6g}{error}{certain}{at}")
    else:
        error = f" ± {exp(log) * log.error:.2g}" if hasattr(log, "error") else ""
        show(f"all variables together are so with probability {exp(log):.4g}{error}{certain}")


def _possible(model: Any, given: dict[str, Any], do: dict[str, Any] | None = None) -> float:
    """Return the log-probability of what is given, which must be possible."""
    chance = _log_density(model, given, do or {}) if given else 0.0
    if chance == -inf:
        said = ", ".join(f"{name}={state}" for name, state in given.items())
        raise lac.ImpossibleRowError(f"what is given has probability zero: {said}")
    return chance


def _log_density(model: Any, given: dict[str, Any], do: dict[str, Any]) -> float:
    if not _is_mixture(model):
        return cast(float, model.log_density(given, do))
    if do:
        return log(model.probability(given, do))
    found = model.log_probability({name: [given.get(name)] for name in model.schema.names})
    if (error := getattr(found, "error", None)) is None:
        return float(found[0])
    from lacunary.maths.drawn import DrawnNumber

    return DrawnNumber(found[0], error[0])


def _posteriors(
    model: Any, schema: lac.Schema, targets: list[str], rows: lac.Table
) -> dict[str, list[float]]:
    found = model.posterior(rows, targets)
    columns: dict[str, list[float]] = {}
    for name in targets:
        columns |= _columns(schema[name], found[name])
    return columns


def _columns(variable: lac.Variable, found: Any) -> dict[str, list[float]]:
    """Return what every row says of a variable: a column a state, or its mean and standard deviation."""
    told = found.T if variable.discrete else (found.mean, found.sd)
    names = column_names(variable)
    if (error := getattr(found, "error", None)) is not None:
        names, told = [*names, *(f"{name} error" for name in names)], [*told, *error.T]
    return {name: each.tolist() for name, each in zip(names, told, strict=True)}
