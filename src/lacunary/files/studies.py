"""Studies of classes that are still under way, in the native format."""

from __future__ import annotations

from typing import Any

from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record
from lacunary.learn.found import Climbs, Fit
from lacunary.study.trail import ClassesTrail

__all__: list[str] = []  # it teaches the format its nouns


def _encode(trail: ClassesTrail) -> dict[str, Any]:
    under_way = None
    if trail.climbs is not None:
        under_way = {"classes": trail.climbs[0], "climbs": encode(trail.climbs[1])}
    return {
        "fingerprint": dict(trail.fingerprint),
        "fits": [{"classes": many, "fit": encode(found)} for many, found in trail.fits.items()],
        "under_way": under_way,
    }


def _decode(record: Record) -> ClassesTrail:
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


register("classes trail", ClassesTrail, _encode, _decode, sealed=True)
