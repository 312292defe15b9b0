"""Probabilities of arcs, in the native format."""

from __future__ import annotations

from math import inf, isfinite, nan
from typing import Any

import numpy as np

from lacunary.files.native import register
from lacunary.files.record import Record, is_number
from lacunary.maths.arrays import Array
from lacunary.structure.arc_probabilities import ArcProbabilities

__all__: list[str] = []  # it teaches the format its noun

SQUARES = {"arcs": nan, "error": nan, "link_error": nan, "rhat": inf, "effective": nan}
"""Matrices, a list each, and what null stands for in them."""


def _encode(found: ArcProbabilities) -> dict[str, Any]:
    squares = {key: getattr(found, key) for key in SQUARES}
    logs = {key: getattr(found, key) for key in ("log_rhat", "log_effective", "asked")}
    return {
        "variables": list(found.names),
        "method": found.method,
        "structure_prior": found.structure_prior,
        "chains": found.chains,
        "draws": found.draws,
        **{
            key: list(map(_finite, each.ravel().tolist()))
            for key, each in squares.items()
            if each is not None
        },
        **{key: _finite(each) for key, each in logs.items() if each is not None},
    }


def _decode(record: Record) -> ArcProbabilities:
    names = record.texts("variables")
    method = record.text("method")
    if method not in ("exact", "sampling"):
        raise record.error("method", "expected exact or sampling")
    squares = {key: _square(record, key, len(names)) for key in SQUARES if key in record or key == "arcs"}
    zeros = np.zeros((len(names), len(names)))
    logs = {
        key: _number(record, key, record.value(key), other)
        for key, other in (("log_rhat", inf), ("log_effective", nan), ("asked", nan))
        if key in record
    }
    return ArcProbabilities(
        names=names,
        method="exact" if method == "exact" else "sampling",
        structure_prior=record.text("structure_prior"),
        chains=record.integer("chains"),
        draws=record.integer("draws"),
        arcs=squares["arcs"],
        error=squares.get("error", zeros),
        link_error=squares.get("link_error", zeros),
        rhat=squares.get("rhat"),
        effective=squares.get("effective"),
        log_rhat=logs.get("log_rhat"),
        log_effective=logs.get("log_effective"),
        asked=logs.get("asked"),
    )


def _square(record: Record, key: str, n: int) -> Array:
    values = [_number(record, key, value, SQUARES[key]) for value in record.list(key)]
    if len(values) != n * n:
        raise record.error(key, f"expected {n * n} numbers, not {len(values)}")
    return np.array(values, dtype=np.float64).reshape(n, n)


def _number(record: Record, key: str, value: Any, other: float) -> float:
    if value is not None and not is_number(value):
        raise record.error(key, "expected numbers or null")
    return other if value is None else float(value)


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None


register("arc probabilities", ArcProbabilities, _encode, _decode)
