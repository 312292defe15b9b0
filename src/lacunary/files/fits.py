"""Fits in the native format, and climbs that are still under way."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from lacunary.family.table import SUM_TOLERANCE
from lacunary.files.models import belief_fields, decode_belief
from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record
from lacunary.files.vectors import decode_vector, encode_vector
from lacunary.infer.belief import Dirichlet, Prior, PriorBelief
from lacunary.infer.network import Network
from lacunary.infer.prior import NormalWishart
from lacunary.learn.found import Climbs, Fit, Start
from lacunary.learn.select import Selection
from lacunary.learn.standing import plain_log
from lacunary.model.dag import Dag

__all__: list[str] = []  # it teaches the format its nouns


def _encode_start(start: Start) -> dict[str, Any]:
    floored = {"degenerate": True} if start.degenerate else {}
    return {**_encode_end(start), **floored, "tables": encode_vector(start.network.dag, start.network.theta)}


def _encode_end(end: Start | Fit) -> dict[str, Any]:
    """Return how high a climb got, and how."""
    return {
        "objective": plain_log(end.objective),
        "log_likelihood": plain_log(end.log_likelihood),
        "iterations": end.iterations,
        "converged": end.converged,
        "trace": [plain_log(value) for value in end.trace],
        **({"error": end.error} if end.error else {}),
    }


def _decode_end(record: Record) -> dict[str, Any]:
    return {
        "objective": record.logarithm("objective"),
        "log_likelihood": record.logarithm("log_likelihood"),
        "iterations": record.integer("iterations"),
        "converged": record.flag("converged"),
        "trace": _trace(record),
        "error": record.number("error") if "error" in record else 0.0,
    }


def _decode_starts(record: Record, dag: Dag) -> tuple[Start, ...]:
    starts = []
    for each in record.records("starts"):
        floored = "degenerate" in each and each.flag("degenerate")
        starts.append(Start(network=_network(dag, each), **_decode_end(each), degenerate=floored))
        each.finish()
    return tuple(starts)


def _network(dag: Dag, record: Record) -> Network:
    theta = decode_vector(dag, record.record("tables"))
    if np.any(theta[: dag.layout.tables] < 0) or np.any(
        np.abs(dag.layout.total(theta) - 1.0) > SUM_TOLERANCE
    ):
        raise record.error(
            "tables", "a distribution is not one: it does not sum to one, or is negative somewhere"
        )
    return Network(dag, theta)


def _trace(record: Record) -> tuple[float, ...]:
    values = record.list("trace")
    finite = Record({"trace": [v for v in values if v is not None]}, record.path).numbers("trace").tolist()
    following = iter(finite)
    return tuple(-inf if value is None else next(following) for value in values)


def _encode_fit(fit: Fit) -> dict[str, Any]:
    return {
        "network": encode(fit.network),
        **belief_fields(fit.belief),
        **_encode_end(fit),
        "method": fit.method,
        "basis": fit.basis,
        "interrupted": fit.interrupted,
        "constant": fit.constant,
        "selection": {"name": fit.selection.name, "details": dict(fit.selection.details)},
        **({} if fit.prior == Dirichlet(1.0) else {"prior": belief_fields(fit.prior(fit.dag))}),
        **({"fixed": list(fit.fixed)} if fit.fixed else {}),
        "starts": [_encode_start(start) for start in fit.starts],
    }


def _decode_fit(record: Record) -> Fit:
    network = decode(record.record("network"), Network)
    return Fit(
        network=network,
        belief=decode_belief(network.dag, record),
        **_decode_end(record),
        starts=_decode_starts(record, network.dag),
        method=record.text("method"),
        basis=record.text("basis"),
        interrupted=record.flag("interrupted"),
        constant=record.number("constant"),
        selection=_decode_selection(record.record("selection")),
        prior=_decode_prior(network.dag, record.record("prior"))
        if "prior" in record
        else _unsaid(network.dag),
        fixed=_decode_fixed(network.dag, record) if "fixed" in record else (),
    )


def _unsaid(dag: Dag) -> Prior:
    """Return the prior of a file that names none; where there were regressions, it was that of one row."""
    return NormalWishart() if dag.continuous else Dirichlet(1.0)


def _decode_prior(dag: Dag, record: Record) -> PriorBelief:
    """Return the prior as what it said of this graph: the rule itself is not kept."""
    prior = PriorBelief(decode_belief(dag, record))
    record.finish()
    return prior


def _decode_fixed(dag: Dag, record: Record) -> tuple[str, ...]:
    names = record.texts("fixed")
    for name in names:
        if name not in dag.names:
            raise record.error("fixed", f"there is no variable {name!r}")
    return names


def _decode_selection(record: Record) -> Selection:
    selection = Selection(record.text("name"), dict(record.record("details").fields))
    record.finish()
    return selection


def _decode_climbs(record: Record) -> Climbs:
    dag = decode(record.record("dag"), Dag)
    starts, standing = _decode_starts(record, dag), record.record("standing").fields
    return Climbs(dag, starts, dict(standing), record.mapping("fingerprint"))


register("fit", Fit, _encode_fit, _decode_fit)
register(
    "climbs",
    Climbs,
    lambda climbs: {
        "fingerprint": dict(climbs.fingerprint),
        "dag": encode(climbs.dag),
        "starts": [_encode_start(s) for s in climbs.starts],
        "standing": dict(climbs.standing),
    },
    _decode_climbs,
    version=2,
    sealed=True,
)
