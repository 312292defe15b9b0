"""Mixtures in the native format, what learning them found, and learning that is still under way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from lacunary.data.schema import Label, Schema
from lacunary.evidence.estimate import Estimate, Kind
from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record, is_number
from lacunary.infer.mixture import Mixture, Noise
from lacunary.infer.network import Network
from lacunary.learn.standing import plain_log
from lacunary.mixture.found import MixtureFit, Trial
from lacunary.mixture.trail import KeptTrial, MixtureTrail
from lacunary.structure.plan import Tick
from lacunary.structure.resume import decode_ticks, encode_ticks

__all__: list[str] = []  # it teaches the format its nouns


def _encode_mixture(mixture: Mixture) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "weights": mixture.weights.tolist(),
        "components": [encode(component) for component in mixture.components],
    }
    noise = mixture.noise
    if noise is not None:
        bounds = zip(noise.schema, noise.low.tolist(), noise.high.tolist(), strict=True)
        fields["noise"] = {v.name: [low, high] for v, low, high in bounds if not v.discrete}
    return fields


def _decode_mixture(record: Record) -> Mixture:
    weights = record.numbers("weights")
    components = tuple(decode(each, Network) for each in record.records("components"))
    noise = None
    if "noise" in record:
        if not components:
            raise record.error("components", "expected at least one network")
        noise = _decode_noise(record.record("noise"), components[0].dag.schema)
    return Mixture(weights, components, noise)


def _decode_noise(record: Record, schema: Schema) -> Noise:
    low, high = np.zeros(len(schema)), np.ones(len(schema))
    for i, variable in enumerate(schema):
        if not variable.discrete:
            bounds = record.numbers(variable.name)
            if len(bounds) != 2:
                raise record.error(variable.name, "expected two numbers, low and high")
            low[i], high[i] = bounds
    record.finish()
    return Noise(schema, low, high)


def _encode_estimate(estimate: Estimate) -> dict[str, Any]:
    return {
        "method": estimate.method,
        "value": plain_log(estimate.value),
        "kind": estimate.kind,
        "terms": {name: plain_log(value) for name, value in estimate.terms.items()},
        "stderr": estimate.stderr,
        "dimension": estimate.dimension,
        "where": estimate.where,
        "seconds": estimate.seconds,
        "details": dict(estimate.details),
    }


def _decode_estimate(record: Record) -> Estimate:
    terms, kind = record.record("terms"), record.text("kind")
    if kind not in get_args(Kind):
        raise record.error("kind", f"expected one of {', '.join(get_args(Kind))}; not {kind!r}")
    estimate = Estimate(
        method=record.text("method"),
        value=record.logarithm("value"),
        kind=kind,  # type: ignore[arg-type]
        terms={name: terms.logarithm(name) for name in terms.fields},
        stderr=None if record.value("stderr") is None else record.number("stderr"),
        dimension=None if record.value("dimension") is None else record.integer("dimension"),
        where=None if record.value("where") is None else record.text("where"),
        seconds=record.number("seconds"),
        details=dict(record.record("details").fields),
    )
    record.finish()
    return estimate


def _encode_trial(trial: Trial) -> dict[str, Any]:
    return {
        "asked": trial.asked,
        "start": trial.start,
        **_encode_begun(trial),
        "converged": trial.converged,
        "estimate": _encode_estimate(trial.estimate),
        "mixture": encode(trial.mixture),
        "ticks": encode_ticks(trial.ticks),
        **({"log_structure_prior": trial.log_structure_prior} if trial.log_structure_prior else {}),
    }


def _decode_trial(record: Record) -> Trial:
    trial = Trial(
        asked=record.integer("asked"),
        start=record.integer("start"),
        mixture=decode(record.record("mixture"), Mixture),
        estimate=_decode_estimate(record.record("estimate")),
        converged=record.flag("converged"),
        ticks=_ticks(record),
        log_structure_prior=record.number("log_structure_prior") if "log_structure_prior" in record else 0.0,
        **_decode_begun(record),
    )
    record.finish()
    return trial


def _encode_begun(trial: Trial | KeptTrial) -> dict[str, Any]:
    """Return what a trial began with; files from before this was kept lack it."""
    flat = {"degenerate": True} if getattr(trial, "degenerate", False) else {}
    return {"how": trial.how, "met": trial.met, "winners": trial.winners, **flat}


def _decode_begun(record: Record) -> dict[str, Any]:
    if "how" not in record:
        return {}
    return {
        "how": record.text("how"),
        "met": record.integer("met"),
        "winners": record.integer("winners"),
        **({"degenerate": record.flag("degenerate")} if "degenerate" in record else {}),
    }


def _ticks(record: Record) -> tuple[Tick, ...]:
    items = record.list("ticks")
    if not all(_is_tick(item) for item in items):
        raise record.error("ticks", "expected lists of phase, components, arcs, objective and estimate")
    try:
        return decode_ticks(items)
    except ValueError as problem:
        raise record.error("ticks", str(problem)) from None


def _is_tick(item: Any) -> bool:
    return (
        type(item) is list
        and len(item) == 5
        and type(item[0]) is str
        and all(type(count) is int for count in item[1:3])
        and all(value is None or is_number(value) for value in item[3:])
    )


def _encode_fit(found: MixtureFit) -> dict[str, Any]:
    return {
        "structure": found.structure,
        "structure_prior": found.structure_prior,
        **({"prior": found.prior} if found.prior else {}),
        **({"classes": list(found.classes)} if found.classes else {}),
        **({"approximation": found.approximation} if found.approximation else {}),
        "interrupted": found.interrupted,
        "chosen": found.path.index(found.chosen),
        "path": [_encode_trial(trial) for trial in found.path],
    }


def _decode_fit(record: Record) -> MixtureFit:
    path = tuple(_decode_trial(each) for each in record.records("path"))
    chosen = record.integer("chosen")
    if not 0 <= chosen < len(path):
        raise record.error("chosen", f"expected the place of a trial in the path, from 0 to {len(path) - 1}")
    best = path[chosen]
    return MixtureFit(
        best.mixture,
        best.estimate,
        path,
        record.text("structure"),
        record.flag("interrupted"),
        _classes(record, best.components),
        record.text("structure_prior") if "structure_prior" in record else "uniform",
        record.text("approximation") if "approximation" in record else "",
        prior=record.text("prior") if "prior" in record else "",
    )


def _classes(record: Record, components: int) -> tuple[Label, ...]:
    """Return the states that the components stand for, where they stand for any."""
    if "classes" not in record:
        return ()
    labels = record.labels("classes")
    if len(labels) != components:
        raise record.error("classes", f"expected one for each of the {components} components")
    return labels


def _encode_trail(trail: MixtureTrail) -> dict[str, Any]:
    return {
        "fingerprint": dict(trail.fingerprint),
        "trials": [
            {
                "asked": kept.asked,
                "start": kept.start,
                **_encode_begun(kept),
                "estimate": None if kept.estimate is None else _encode_estimate(kept.estimate),
                "state": kept.state,
            }
            for kept in trail.trials
        ],
    }


def _decode_trail(record: Record) -> MixtureTrail:
    trials = tuple(_decode_kept(each) for each in record.records("trials"))
    return MixtureTrail(record.mapping("fingerprint"), trials)


def _decode_kept(record: Record) -> KeptTrial:
    over = record.value("estimate") is not None
    kept = KeptTrial(
        record.integer("asked"),
        record.integer("start"),
        _state(record.record("state")),
        _decode_estimate(record.record("estimate")) if over else None,
        **_decode_begun(record),
    )
    record.finish()
    return kept


def _state(record: Record) -> Mapping[str, Any]:
    """Return a state as it is written; whether it fits is known only with the rows at hand."""
    _ticks(record)
    return record.fields


register("mixture", Mixture, _encode_mixture, _decode_mixture)
register("mixture fit", MixtureFit, _encode_fit, _decode_fit)
register("mixture trail", MixtureTrail, _encode_trail, _decode_trail, version=2, sealed=True)
