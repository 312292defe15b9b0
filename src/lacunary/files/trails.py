"""Searches, and studies of classes, that are still under way, in the native format."""

from __future__ import annotations

import json
from typing import Any

from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record, is_number
from lacunary.learn.found import Climbs, Fit
from lacunary.model.dag import Dag
from lacunary.structure.result import Step
from lacunary.structure.walk import Trail
from lacunary.study.trail import ClassesTrail

__all__: list[str] = []  # it teaches the format its nouns


def _encode_trail(trail: Trail) -> dict[str, Any]:
    return {
        "fingerprint": dict(trail.fingerprint),
        "method": trail.method,
        "dag": encode(trail.dag),
        "best": encode(trail.best),
        # One text: the states of random generators are whole numbers longer than many readers hold.
        "memory": json.dumps(dict(trail.memory), allow_nan=False),
        "path": [[s.action, s.tail, s.head, s.gain, s.score] for s in trail.path],
    }


def _decode_trail(record: Record) -> Trail:
    return Trail(
        fingerprint=record.mapping("fingerprint"),
        method=record.text("method"),
        dag=decode(record.record("dag"), Dag),
        best=decode(record.record("best"), Dag),
        memory=_memory(record),
        path=tuple(_step(record, item) for item in record.list("path")),
    )


def _memory(record: Record) -> dict[str, Any]:
    try:
        memory = json.loads(record.text("memory"))
    except (ValueError, RecursionError):
        raise record.error("memory", "expected a JSON object, as a text") from None
    if type(memory) is not dict:
        raise record.error("memory", "expected a JSON object, as a text")
    return memory


def _step(record: Record, item: Any) -> Step:
    good = (
        type(item) is list
        and len(item) == 5
        and all(type(text) is str for text in item[:3])
        and all(is_number(number) for number in item[3:])
    )
    if not good:
        raise record.error("path", "expected lists of action, tail, head, gain and score")
    action, tail, head, gain, score = item
    return Step(action, tail, head, float(gain), float(score))


def _encode_study(trail: ClassesTrail) -> dict[str, Any]:
    under_way = None
    if trail.climbs is not None:
        under_way = {"classes": trail.climbs[0], "climbs": encode(trail.climbs[1])}
    return {
        "fingerprint": dict(trail.fingerprint),
        "fits": [{"classes": many, "fit": encode(found)} for many, found in trail.fits.items()],
        "under_way": under_way,
    }


def _decode_study(record: Record) -> ClassesTrail:
    fits = {}
    for each in record.records("fits"):
        fits[each.integer("classes")] = decode(each.record("fit"), Fit)
        each.finish()
    climbs = None
    if record.value("under_way") is not None:
        each = record.record("under_way")
        climbs = (each.integer("classes"), decode(each.record("climbs"), Climbs))
        each.finish()
    return ClassesTrail(record.mapping("fingerprint"), fits, climbs)


register("classes trail", ClassesTrail, _encode_study, _decode_study, sealed=True)
register("trail", Trail, _encode_trail, _decode_trail, version=2, sealed=True)
