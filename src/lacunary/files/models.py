"""The nouns of the native format: schemas, graphs, networks and beliefs."""

from __future__ import annotations

from math import inf
from typing import Any

from lacunary.data.schema import Label, Schema, Variable
from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record, is_number
from lacunary.files.vectors import decode_alpha, decode_vector, encode_alpha, encode_vector, probabilities
from lacunary.infer.belief import WEIGHT_SD, Belief
from lacunary.infer.network import Network
from lacunary.model.dag import Dag

__all__ = ["belief_fields", "decode_belief"]


def _encode_variable(variable: Variable) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": variable.name}
    if not variable.discrete:
        fields["kind"] = variable.kind
    else:
        fields["states"] = list(variable.states)
    fields |= {flag: True for flag in ("ordered", "hidden") if getattr(variable, flag)}
    if variable.bounds is not None:
        low, high = variable.bounds
        fields["bounds"] = [None if low == -inf else low, None if high == inf else high]
    return fields | {key: told for key in ("family", "unit") if (told := getattr(variable, key))}


def _decode_variable(record: Record) -> Variable:
    kind = record.text("kind") if "kind" in record else "discrete"
    if kind not in ("discrete", "continuous"):
        raise record.error("kind", f"expected 'discrete' or 'continuous', not {kind!r}")
    variable = Variable(
        record.text("name"),
        _labels(record) if "states" in record else (),
        "discrete" if kind == "discrete" else "continuous",
        record.flag("ordered"),
        record.flag("hidden"),
        _bounds(record) if "bounds" in record else None,
        record.text("family") if "family" in record else None,
        record.text("unit") if "unit" in record else "",
    )
    record.finish()
    return variable


def _labels(record: Record) -> tuple[Label, ...]:
    labels = record.labels("states")
    if len(set(labels)) != len(labels):
        raise record.error("states", "a state is declared twice")
    return labels


def _bounds(record: Record) -> tuple[float, float]:
    bounds = record.list("bounds")
    if len(bounds) != 2 or not all(bound is None or is_number(bound) for bound in bounds):
        raise record.error("bounds", "expected two finite numbers, or null where there is no bound")
    low, high = bounds
    return (-inf if low is None else low, inf if high is None else high)


def _encode_dag(dag: Dag) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "schema": encode(dag.schema),
        "parents": dict(zip(dag.names, dag.parents, strict=True)),
    }
    fields |= {"tied": dag.tied} if dag.tied else {}
    return fields | ({"family": dict(dag.family)} if dag.family else {})


def _decode_dag(record: Record) -> Dag:
    schema = decode(record.record("schema"), Schema)
    given = record.record("parents")
    parents = tuple(given.texts(name) for name in schema.names)
    given.finish()
    tied = record.list("tied") if "tied" in record else []
    if not all(type(group) is list and group and all(type(name) is str for name in group) for group in tied):
        raise record.error("tied", "expected lists of names")
    return Dag(schema, parents, tuple(map(tuple, tied)), _families(record))


def _families(record: Record) -> tuple[tuple[str, str], ...]:
    """Return the families that are not the default of their kind."""
    if "family" not in record:
        return ()
    given = record.record("family")
    return tuple((name, given.text(name)) for name in given.fields)


def _decode_network(record: Record) -> Network:
    dag = decode(record.record("dag"), Dag)
    theta = decode_vector(dag, record.record("tables"))
    return Network(dag, probabilities(dag, theta, renormalize=record.renormalize))


def _encode_network(network: Network) -> dict[str, Any]:
    # Checked here too: what cannot be read back must not be written.
    theta = probabilities(network.dag, network.theta)
    return {"dag": encode(network.dag), "tables": encode_vector(network.dag, theta)}


def _decode_schema(record: Record) -> Schema:
    return Schema(tuple(_decode_variable(variable) for variable in record.records("variables")))


def belief_fields(belief: Belief) -> dict[str, Any]:
    """Return what a belief says beside its graph; `decode_belief` reads it."""
    fields: dict[str, Any] = {"alpha": encode_alpha(belief)}
    if belief.surplus:
        fields["surplus"] = belief.surplus
    fields |= {"standard": True} if belief.standard else {}
    fields |= (
        {"relative": True} if belief.relative and not all(f.scaled for _, f in belief.dag.numeric) else {}
    )
    return fields | ({"weight_sd": belief.weight_sd} if belief.dag.implied else {})


def decode_belief(dag: Dag, record: Record) -> Belief:
    """Return the belief about a graph's parameters whose fields stand in a record."""
    return Belief(
        dag,
        decode_alpha(dag, record.record("alpha")),
        record.number("surplus") if "surplus" in record else 0.0,
        record.flag("standard"),
        record.number("weight_sd") if "weight_sd" in record else WEIGHT_SD,
        record.flag("relative"),
    )


register("schema", Schema, lambda s: {"variables": [_encode_variable(v) for v in s]}, _decode_schema)
register("dag", Dag, _encode_dag, _decode_dag)
register("network", Network, _encode_network, _decode_network)
register(
    "belief",
    Belief,
    lambda belief: {"dag": encode(belief.dag), **belief_fields(belief)},
    lambda record: decode_belief(decode(record.record("dag"), Dag), record),
)
