"""Runs as plain numbers, from which one that was stopped goes on as if it never had."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields
from hashlib import sha256
from math import inf, isfinite
from typing import Any, Protocol

from lacunary.data.schema import Schema
from lacunary.errors import FileError, LacunaryError
from lacunary.learn.standing import count
from lacunary.structure.plan import Plan, State, Tick
from lacunary.structure.result import Round, Step
from lacunary.structure.score import Structure
from lacunary.structure.walk import read_structure

__all__ = ["Codec", "decode_state", "decode_ticks", "encode_state", "encode_ticks", "plan_settings"]

Plain = Mapping[str, Any]
"""What JSON can hold."""

NUMBERS = ("place", "step", "round", "escapes", "moves", "seed")
FLAGS = ("forced", "em_converged", "done", "converged", "charged")


class Codec(Protocol):
    """What writes and reads the parameters of the networks that are learned, without losing a bit."""

    @property
    def schema(self) -> Schema:
        """The variables."""
        ...

    def encode(self, model: Any) -> dict[str, Any]:
        """Return parameters as lists of numbers, such as JSON holds."""
        ...

    def decode(self, plain: Any) -> Any:
        """Return the parameters that `encode` wrote; refuse what does not fit with a ValueError."""
        ...


def plan_settings(plan: Plan) -> dict[str, str]:
    """Return what of a plan must stay the same for a run to go on, as texts."""
    out = {"structure": plan.structure, "stop": str(plan.stop), "rounds": str(plan.rounds)}
    if not plan.fixed:
        arcs = sha256(plan.constraints.required.tobytes() + plan.constraints.free.tobytes()).hexdigest()[:16]
        out |= {"schedule": str(plan.schedule), "until": plan.until, "trace": str(plan.trace)}
        out |= {"method": str(plan.method), "escapes": str(plan.escapes)}
        out |= {"max_parents": str(plan.constraints.max_parents), "arcs required and forbidden": arcs}
        if plan.prior.name != "uniform":
            out["structure prior"] = plan.prior.name
    if plan.shared:
        out["shared structure"] = "yes"
    return out


def encode_state(codec: Codec, state: State) -> dict[str, Any]:
    """Return a state as plain numbers; every bit is kept."""
    best, source = state.best, state.source
    return {
        "now": _encode(codec, state.model, state.structures),
        "best": None if best is None else [_encode(codec, best[0], best[1]), best[2]],
        "source": None if source is None else _encode(codec, source, ()),
        "before": None if state.before is None else _plain(state.before),
        "visits": list(state.visits),
        "turns": list(state.turns),
        "logs": [_finite(value) for value in (state.top, state.mark, state.last)],
        "criterion": state.criterion,
        "flags": [getattr(state, name) for name in FLAGS],
        "ticks": encode_ticks(state.ticks),
        "rounds": [list(asdict(each).values()) for each in state.rounds],
        "path": [list(asdict(each).values()) for each in state.path],
        **{name: getattr(state, name) for name in NUMBERS},
    }


def decode_state(codec: Codec, plain: Plain, instructions: int) -> State:
    """Return the state that `encode_state` wrote, for a schedule of so many instructions."""
    try:
        state = _state(codec, plain)
        fits = 0 <= state.place <= instructions and len(state.visits) == len(state.turns) == instructions
        if not state.done and not (fits and (state.ticks or not state.step)):
            raise ValueError("it does not fit the schedule")
        return state
    except (LacunaryError, LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as problem:
        raise FileError(f"this checkpoint is damaged, or of another model: {problem}") from None


def _state(codec: Codec, plain: Plain) -> State:
    model, structures = _decode(codec, plain["now"])
    if not structures:
        raise ValueError("it has no graphs")
    best = plain["best"]
    top, mark, last = map(_logarithm, plain["logs"])
    plainly: dict[str, Any] = {name: count(plain[name]) for name in NUMBERS}
    plainly |= dict(zip(FLAGS, map(_typed(bool), plain["flags"]), strict=True))
    return State(
        model,
        structures,
        best=None if best is None else (*_decode(codec, best[0]), _number(best[1])),
        source=None if plain["source"] is None else _decode(codec, plain["source"])[0],
        before=None if plain["before"] is None else _structures(codec, plain["before"]),
        visits=tuple(map(count, plain["visits"])),
        turns=tuple(map(count, plain["turns"])),
        top=top,
        mark=mark,
        last=last,
        criterion=None if plain["criterion"] is None else _number(plain["criterion"]),
        ticks=decode_ticks(plain["ticks"]),
        rounds=tuple(_record(Round, each) for each in plain["rounds"]),
        path=tuple(_record(Step, each) for each in plain["path"]),
        **plainly,
    )


def encode_ticks(ticks: Sequence[Tick]) -> list[list[Any]]:
    """Return steps as lists: phase, components, arcs, objective, estimate."""
    return [[t.phase, t.components, t.arcs, _finite(t.objective), _finite(t.cheeseman_stutz)] for t in ticks]


def decode_ticks(plain: Sequence[Sequence[Any]]) -> tuple[Tick, ...]:
    """Return the steps that `encode_ticks` wrote."""
    return tuple(
        Tick(
            _typed(str)(phase),
            count(many),
            count(arcs),
            _logarithm(value),
            None if cs is None else _number(cs),
        )
        for phase, many, arcs, value, cs in plain
    )


def _record(kind: Any, plain: Sequence[Any]) -> Any:
    """Return a round or a step from the list of its fields; refuse other types.

    Those that came later may be left out.
    """
    named = list(zip(fields(kind)[: len(plain)], plain, strict=True))
    return kind(**{each.name: CHECKS[each.type](value) for each, value in named})


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise ValueError(f"a number was expected, not {value!r}")
    return float(value)


def _typed(kind: type) -> Callable[[Any], Any]:
    def checked(value: Any) -> Any:
        if type(value) is not kind:
            raise ValueError(f"a {kind.__name__} was expected, not {value!r}")
        return value

    return checked


CHECKS: Mapping[Any, Callable[[Any], Any]] = {
    "str": _typed(str),
    "bool": _typed(bool),
    "int": count,
    "float": _number,
    "float | None": lambda value: None if value is None else _number(value),
}
"""What makes sure of a field, by its type."""


def _encode(codec: Codec, model: Any, structures: Sequence[Structure]) -> dict[str, Any]:
    return {**codec.encode(model), "structures": _plain(structures)}


def _decode(codec: Codec, plain: Plain) -> tuple[Any, tuple[Structure, ...]]:
    model, structures = codec.decode(plain), _structures(codec, plain["structures"])
    if len(structures) not in (0, len(plain["models"])):
        raise ValueError(f"{len(structures)} graphs for {len(plain['models'])} networks")
    return model, structures


def _plain(structures: Sequence[Structure]) -> list[list[list[int]]]:
    return [[list(parents) for parents in structure] for structure in structures]


def _structures(codec: Codec, plain: Any) -> tuple[Structure, ...]:
    return tuple(read_structure(codec.schema, structure) for structure in plain)


def _finite(value: float | None) -> float | None:
    return None if value is None or value == -inf else float(value)


def _logarithm(value: float | None) -> float:
    return -inf if value is None else _number(value)
