"""The nouns of the native format: schemas, graphs, networks and beliefs."""

from __future__ import annotations

from math import inf, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label, Schema, Variable
from lacunary.errors import FileError
from lacunary.files.draft import too_large
from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record, is_number
from lacunary.infer.belief import Belief
from lacunary.infer.network import SUM_TOLERANCE, Network
from lacunary.model.dag import Dag

__all__ = ["decode_vector", "encode_vector"]


def encode_vector(dag: Dag, vector: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return one number for each parameter as a table for each variable.

    A table goes over the parents in their order, the last moving fastest, and last over the variable's
    own states. Tied families have one table, under the name of the first of them.
    """
    layout = dag.layout
    return {dag.names[i]: layout.table(vector, i).reshape(-1).tolist() for i in layout.blocks}


def decode_vector(dag: Dag, tables: Record) -> NDArray[np.float64]:
    """Return the vector that `encode_vector` wrote."""
    _check_sizes(dag, tables)
    layout = dag.layout
    parts = [np.empty(0)]
    for i in layout.blocks:
        shape = [layout.sizes[member] for member in (*layout.members[i][1:], i)]
        values = tables.numbers(dag.names[i])
        if len(values) != prod(shape):
            raise tables.error(dag.names[i], f"expected {prod(shape)} numbers, not {len(values)}")
        parts.append(layout.flat(values.reshape(shape)))
    tables.finish()
    return np.concatenate(parts)


def _check_sizes(dag: Dag, tables: Record) -> None:
    """Refuse tables too large to be laid out, before they are."""
    for name, parents in zip(dag.names, dag.parents, strict=True):
        problem = too_large([dag.schema[member].size for member in (name, *parents)])
        if problem:
            raise tables.error(name, problem)


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
    return fields


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
    )
    record.finish()
    return variable


def _labels(record: Record) -> tuple[Label, ...]:
    labels = record.list("states")
    if not all(type(label) in (str, int, bool) or is_number(label) for label in labels):
        raise record.error("states", "expected texts, finite numbers, true or false")
    if len(set(labels)) != len(labels):
        raise record.error("states", "a state is declared twice")
    return tuple(labels)


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
    return fields | ({"tied": dag.tied} if dag.tied else {})


def _decode_dag(record: Record) -> Dag:
    schema = decode(record.record("schema"), Schema)
    given = record.record("parents")
    parents = tuple(given.texts(name) for name in schema.names)
    given.finish()
    tied = record.list("tied") if "tied" in record else []
    if not all(type(group) is list and group and all(type(name) is str for name in group) for group in tied):
        raise record.error("tied", "expected lists of names")
    return Dag(schema, parents, tuple(map(tuple, tied)))


def _decode_network(record: Record) -> Network:
    dag = decode(record.record("dag"), Dag)
    theta = decode_vector(dag, record.record("tables"))
    return Network(dag, _probabilities(dag, theta, renormalize=record.renormalize))


def _probabilities(dag: Dag, theta: NDArray[np.float64], *, renormalize: bool = False) -> NDArray[np.float64]:
    """Return the vector as it is if every distribution sums to one, or scaled if that is wished."""
    layout = dag.layout
    total = layout.total(theta)
    miss = np.abs(total - 1.0)
    if np.any(theta < 0) or (renormalize and np.any(total <= 0)):
        place = int(np.flatnonzero((theta < 0) | (total[layout.group] <= 0))[0])
        raise FileError(f"the table of {dag.names[layout.variable[place]]} holds what is not a probability")
    if np.any(miss > SUM_TOLERANCE):
        if renormalize:
            return np.where((miss > SUM_TOLERANCE)[layout.group], theta / total[layout.group], theta)
        worst = int(miss.argmax())
        name = dag.names[layout.variable[int(np.flatnonzero(layout.group == worst)[0])]]
        raise FileError(
            f"a distribution of {name} sums to {total[worst]:.9g}, which misses one by {miss[worst]:.3g}; "
            "pass renormalize=True to scale it"
        )
    return theta


def _encode_network(network: Network) -> dict[str, Any]:
    # Checked here too: what cannot be read back must not be written.
    theta = _probabilities(network.dag, network.theta)
    return {"dag": encode(network.dag), "tables": encode_vector(network.dag, theta)}


def _decode_schema(record: Record) -> Schema:
    return Schema(tuple(_decode_variable(variable) for variable in record.records("variables")))


def _decode_belief(record: Record) -> Belief:
    dag = decode(record.record("dag"), Dag)
    return Belief(dag, decode_vector(dag, record.record("alpha")))


register("schema", Schema, lambda s: {"variables": [_encode_variable(v) for v in s]}, _decode_schema)
register("dag", Dag, _encode_dag, _decode_dag)
register("network", Network, _encode_network, _decode_network)
register(
    "belief", Belief, lambda b: {"dag": encode(b.dag), "alpha": encode_vector(b.dag, b.alpha)}, _decode_belief
)
