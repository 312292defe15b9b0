"""Learning a mixture as it stands, in plain numbers, from which it goes on as if it had never stopped.

Every trial draws from a stream of its own, so that what is kept of one serves whatever is tried besides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from math import inf, isclose
from typing import Any

import numpy as np

from lacunary.errors import FileError, LacunaryError, ParameterError
from lacunary.evidence.estimate import Estimate
from lacunary.infer.mixture import Noise
from lacunary.mixture.blend import Blend, Mixer
from lacunary.mixture.component import Structure, read_structure
from lacunary.mixture.course import Plan, State, Tick

__all__ = [
    "KeptTrial",
    "MixtureTrail",
    "decode_state",
    "decode_ticks",
    "encode_state",
    "encode_ticks",
    "same_run",
    "settings_of",
]

Plain = Mapping[str, Any]
"""What JSON can hold."""

SAME = 1e-9
"""Two probes agree within this part of their size: another machine adds up in another order."""


@dataclass(frozen=True, eq=False)
class KeptTrial:
    """One trial, over or under way.

    Attributes
    ----------
    asked, start
        The components it started with, and which start it was.
    state
        Where it is, as `encode_state` writes it.
    estimate
        What it is worth, if it is over.
    """

    asked: int
    start: int
    state: Plain
    estimate: Estimate | None = None


@dataclass(frozen=True, eq=False)
class MixtureTrail:
    """Learning a mixture as it stands; ``fit_mixture(..., resume=trail)`` goes on from it.

    Attributes
    ----------
    settings
        How it is learned, by name; with other settings one cannot go on.
    probe
        Log-likelihood plus log prior density of the first start: other rows or beliefs would change it.
    trials
        Those that are over, and the one that is under way.
    """

    settings: Mapping[str, str]
    probe: float
    trials: tuple[KeptTrial, ...]


def settings_of(mixer: Mixer, plan: Plan, ess: float, seed: int) -> dict[str, str]:
    """Return what must stay the same for a run to go on, as texts."""
    out = {"structure": plan.structure, "stop": str(plan.stop), "rounds": str(plan.rounds)}
    if not plan.fixed:
        arcs = sha256(plan.rules.required.tobytes() + plan.rules.free.tobytes()).hexdigest()[:16]
        out |= {"schedule": str(plan.schedule), "until": plan.until, "trace": str(plan.trace)}
        out |= {"method": "greedy" if plan.method is None else str(plan.method)}
        out |= {"max_parents": str(plan.rules.max_parents), "arcs required and forbidden": arcs}
    if plan.shared:
        out["shared structure"] = "yes"
    out |= {"weights": str(float(mixer.ess)), "choose": mixer.by, "equal weights": str(mixer.equal)}
    if mixer.labels is not None:
        out["known components"] = sha256(mixer.labels.tobytes()).hexdigest()[:16]
    shared = getattr(mixer.engine, "sharing", None)
    if shared is not None:
        out["shared"] = str(shared)
    return out | {"ess": str(float(ess)), "rng": str(seed)}


def same_run(trail: MixtureTrail, settings: Mapping[str, str], probe: float) -> None:
    """Refuse to go on from what was learned in another way, or from other rows."""
    for name in dict.fromkeys([*settings, *trail.settings]):
        here, there = settings.get(name, "nothing"), trail.settings.get(name, "nothing")
        if here != there:
            raise ParameterError(f"this cannot go on from there: {name} was {there}, and is {here} now")
    if not isclose(probe, trail.probe, rel_tol=SAME):
        raise ParameterError(
            "this cannot go on from there: the rows, the prior, the weights or the noise are not those "
            "it was begun with"
        )


def encode_state(mixer: Mixer, state: State) -> Plain:
    """Return a state as plain numbers; every bit is kept."""
    best = None if state.best is None else _encode_blend(mixer, *state.best)
    return {
        "now": _encode_blend(mixer, state.blend, state.structures),
        "best": best,
        "top": _finite(state.top),
        "source": None if state.source is None else _encode_blend(mixer, state.source, ()),
        "before": None if state.before is None else _plain_graphs(state.before),
        "place": state.place,
        "visits": list(state.visits),
        "turns": list(state.turns),
        "step": state.step,
        "last": _finite(state.last),
        "round": state.round,
        "flags": [state.forced, state.settled, state.done, state.converged],
        "ticks": encode_ticks(state.ticks),
    }


def decode_state(mixer: Mixer, plain: Plain, instructions: int) -> State:
    """Return the state that `encode_state` wrote, for a schedule of so many instructions."""
    try:
        state = _state(mixer, plain)
        fits = 0 <= state.place <= instructions and len(state.visits) == len(state.turns) == instructions
        if not state.done and not (fits and (state.ticks or not state.step)):
            raise ValueError("it does not fit the schedule")
        return state
    except (LacunaryError, LookupError, TypeError, ValueError) as problem:
        raise FileError(f"this checkpoint is damaged, or of another model: {problem}") from None


def _state(mixer: Mixer, plain: Plain) -> State:
    blend, structures = _decode_blend(mixer, plain["now"])
    if not structures:
        raise ValueError("it has no graphs")
    forced, settled, done, converged = map(bool, plain["flags"])
    return State(
        blend,
        structures,
        best=None if plain["best"] is None else _decode_blend(mixer, plain["best"]),
        top=_logarithm(plain["top"]),
        place=int(plain["place"]),
        visits=tuple(map(int, plain["visits"])),
        turns=tuple(map(int, plain["turns"])),
        before=None if plain["before"] is None else _graphs(mixer, plain["before"]),
        source=None if plain["source"] is None else _decode_blend(mixer, plain["source"])[0],
        step=int(plain["step"]),
        last=_logarithm(plain["last"]),
        round=int(plain["round"]),
        forced=forced,
        settled=settled,
        done=done,
        converged=converged,
        ticks=decode_ticks(plain["ticks"]),
    )


def encode_ticks(ticks: Sequence[Tick]) -> list[list[Any]]:
    """Return steps as lists: phase, components, arcs, objective, estimate."""
    return [
        [
            t.phase,
            t.components,
            t.arcs,
            _finite(t.objective),
            None if t.cheeseman_stutz == -inf else t.cheeseman_stutz,
        ]
        for t in ticks
    ]


def decode_ticks(plain: Sequence[Sequence[Any]]) -> tuple[Tick, ...]:
    """Return the steps that `encode_ticks` wrote."""
    return tuple(
        Tick(str(phase), int(many), int(arcs), _logarithm(value), None if cs is None else float(cs))
        for phase, many, arcs, value, cs in plain
    )


def _encode_blend(mixer: Mixer, blend: Blend, structures: Sequence[Structure]) -> Plain:
    noise = blend.noise
    return {
        "weights": blend.weights.tolist(),
        "models": mixer.engine.encode(blend.models),
        "structures": _plain_graphs(structures),
        "noise": None if noise is None else [noise.low.tolist(), noise.high.tolist()],
    }


def _decode_blend(mixer: Mixer, plain: Plain) -> tuple[Blend, tuple[Structure, ...]]:
    noise = None
    if mixer.noise is not None:
        noise = Noise(
            mixer.noise.table.schema, *(np.array(side, dtype=np.float64) for side in plain["noise"])
        )
    elif plain["noise"] is not None:
        raise ValueError("it has a noise component")
    weights = np.array(plain["weights"], dtype=np.float64)
    structures = _graphs(mixer, plain["structures"])
    many = len(plain["models"])
    if weights.shape != (many + (noise is not None),) or len(structures) not in (0, many) or not many:
        raise ValueError(f"{len(weights)} weights and {len(structures)} graphs for {many} components")
    return Blend(mixer.engine.decode(plain["models"]), weights, noise), structures


def _plain_graphs(structures: Sequence[Structure]) -> list[list[list[int]]]:
    return [[list(parents) for parents in structure] for structure in structures]


def _graphs(mixer: Mixer, plain: Any) -> tuple[Structure, ...]:
    return tuple(read_structure(mixer.engine.schema, structure) for structure in plain)


def _finite(value: float) -> float | None:
    return None if value == -inf else float(value)


def _logarithm(value: float | None) -> float:
    return -inf if value is None else float(value)
