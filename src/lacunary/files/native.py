"""The native format: JSON that keeps everything, to the last bit; described in docs/native-format.md.

Every object that stands for one of our nouns says which in its field ``lacunary``, and in which
``version`` of its form. `register` teaches the format a further noun.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label, Schema, Variable
from lacunary.errors import FileError, LacunaryError
from lacunary.files.record import Record
from lacunary.infer.network import SUM_TOLERANCE, Network
from lacunary.model.belief import Belief
from lacunary.model.dag import Dag

__all__ = ["decode", "decode_vector", "encode", "encode_vector", "parse", "register", "write"]

Noun = TypeVar("Noun")


@dataclass(frozen=True)
class _Form:
    """How one noun is written."""

    kind: str
    type: type
    version: int
    encode: Callable[[Any], Mapping[str, Any]]
    decode: Callable[[Record], Any]


_FORMS: dict[str, _Form] = {}


def register(
    kind: str,
    noun: type[Noun],
    encode: Callable[[Noun], Mapping[str, Any]],
    decode: Callable[[Record], Noun],
    *,
    version: int = 1,
) -> None:
    """Teach the format a noun.

    ``encode`` returns the fields, made of what JSON has; other nouns go through `encode` of this
    module. ``decode`` asks a `Record` for the same fields and builds the noun; what it does not ask
    for is refused as unknown, and an error of ours on the way is given the field's path.
    """
    _FORMS[kind] = _Form(kind, noun, version, encode, decode)


def parse(text: str, *, renormalize: bool = False) -> Any:
    """Return the thing that a text in the native format describes."""
    try:
        document = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
    except json.JSONDecodeError as problem:
        raise FileError(f"line {problem.lineno}, column {problem.colno}: {problem.msg}") from None
    except RecursionError:
        raise FileError("lists within lists, too deep to be read") from None
    except FileError:
        raise
    except ValueError as problem:
        raise FileError(str(problem)) from None
    if type(document) is not dict:
        raise FileError("expected an object with a field 'lacunary'")
    return decode(Record(document, renormalize=renormalize))


def write(thing: object) -> str:
    """Return a thing in the native format."""
    try:
        return _laid_out(encode(thing), "") + "\n"
    except ValueError as problem:
        if isinstance(problem, LacunaryError):
            raise
        raise FileError(f"JSON cannot hold this: {problem}") from None


def encode(thing: object) -> dict[str, Any]:
    """Return a thing as an object of JSON that says what it is."""
    for form in _FORMS.values():
        if type(thing) is form.type:
            return {"lacunary": form.kind, "version": form.version, **form.encode(thing)}
    raise FileError(f"the native format holds {', '.join(_FORMS)}; not {type(thing).__name__}")


def decode(record: Record, *wanted: type) -> Any:
    """Return the thing an object stands for, which must be of a type wanted, if any is."""
    kind = record.text("lacunary")
    form = _FORMS.get(kind)
    if form is None or (wanted and form.type not in wanted):
        known = ", ".join(f.kind for f in _FORMS.values() if not wanted or f.type in wanted)
        raise record.error("lacunary", f"expected {known}; not {kind!r}")
    if record.integer("version") != form.version:
        raise record.error(
            "version", f"this reads version {form.version} of a {kind}, not {record.value('version')}"
        )
    try:
        thing = form.decode(record)
    except FileError:
        raise
    except LacunaryError as problem:
        raise FileError(f"{record.path or kind}: {problem}") from None
    record.finish()
    return thing


def encode_vector(dag: Dag, vector: NDArray[np.float64]) -> dict[str, list[float]]:
    """Return one number for each parameter as a table for each variable.

    A table goes over the parents in their order, the last moving fastest, and last over the variable's
    own states. Tied families have one table, under the name of the first of them.
    """
    layout = dag.layout
    return {dag.names[i]: layout.table(vector, i).reshape(-1).tolist() for i in layout.blocks}


def decode_vector(dag: Dag, tables: Record) -> NDArray[np.float64]:
    """Return the vector that `encode_vector` wrote."""
    layout = dag.layout
    vector = np.empty(layout.size)
    for i in layout.blocks:
        shape = [*(dag.schema.sizes[m] for m in layout.members[i][1:]), dag.schema.sizes[i]]
        values = tables.numbers(dag.names[i])
        if len(values) != layout.states[i] * layout.configurations[i]:
            wanted = layout.states[i] * layout.configurations[i]
            raise tables.error(dag.names[i], f"expected {wanted} numbers, not {len(values)}")
        vector[layout.slice(i)] = layout.flat(values.reshape(shape))
    tables.finish()
    return vector


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
    for label in labels:
        if type(label) not in (str, int, float, bool) or (type(label) is float and not isfinite(label)):
            raise record.error("states", "expected texts, finite numbers, true or false")
    return tuple(labels)


def _bounds(record: Record) -> tuple[float, float]:
    bounds = record.list("bounds")
    if len(bounds) != 2 or not all(b is None or (type(b) in (int, float) and isfinite(b)) for b in bounds):
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


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = [name for name, _ in pairs]
        raise FileError(
            f"the field {next(n for n in names if names.count(n) > 1)!r} is given twice in one object"
        )
    return fields


def _no_constant(name: str) -> NoReturn:
    raise FileError(f"{name} is not a number of JSON")


def _laid_out(value: Any, margin: str) -> str:
    """Return JSON for people: a line for each field of an object and each object of a list."""
    deeper = margin + " "
    if isinstance(value, dict) and value:
        lines = [f"{json.dumps(key)}: {_laid_out(item, deeper)}" for key, item in value.items()]
        return "{\n" + ",\n".join(deeper + line for line in lines) + f"\n{margin}}}"
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return (
            "[\n" + ",\n".join(deeper + json.dumps(item, allow_nan=False) for item in value) + f"\n{margin}]"
        )
    return json.dumps(value, allow_nan=False)
