"""The native format: JSON that keeps everything, to the last bit; described in docs/native-format.md.

Every object that stands for one of our nouns says which in its field ``lacunary``, and in which
``version`` of its form. `register` teaches the format a further noun.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from importlib import import_module
from typing import Any, NoReturn, TypeVar

from lacunary.errors import FileError, LacunaryError
from lacunary.files.record import Record

__all__ = ["decode", "encode", "parse", "register", "write"]

Noun = TypeVar("Noun")


@dataclass(frozen=True)
class _Form:
    """How one noun is written."""

    kind: str
    type: type
    version: int
    encode: Callable[[Any], Mapping[str, Any]]
    decode: Callable[[Record], Any]
    sealed: bool


_FORMS: dict[str, _Form] = {}

_TEACHERS = ["arcs", "fits", "mixtures", "trails"]
"""Modules of this package that know further nouns; loaded when one is met, as learning is slow to load."""


def _learn_all() -> None:
    """Load every noun there is."""
    while _TEACHERS:
        import_module(f"lacunary.files.{_TEACHERS[0]}")
        _TEACHERS.pop(0)


def register(
    kind: str,
    noun: type[Noun],
    encode: Callable[[Noun], Mapping[str, Any]],
    decode: Callable[[Record], Noun],
    *,
    version: int = 1,
    sealed: bool = False,
) -> None:
    """Teach the format a noun.

    ``encode`` returns the fields, made of what JSON has; other nouns go through `encode` of this
    module. ``decode`` asks a `Record` for the same fields and builds the noun; what it does not ask
    for is refused as unknown, and an error of ours on the way is given the field's path. What is ``sealed``
    says a digest of itself, and is refused if a single value was changed.
    """
    _FORMS[kind] = _Form(kind, noun, version, encode, decode, sealed)


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
    except LacunaryError:
        raise
    except (TypeError, ValueError) as problem:
        raise FileError(f"JSON cannot hold this: {problem}") from None


def encode(thing: object) -> dict[str, Any]:
    """Return a thing as an object of JSON that says what it is."""
    form = next((form for form in _FORMS.values() if type(thing) is form.type), None)
    if form is None and _TEACHERS:
        _learn_all()
        return encode(thing)
    if form is not None:
        fields = {"lacunary": form.kind, "version": form.version, **form.encode(thing)}
        return {**fields, "seal": _seal(fields)} if form.sealed else fields
    raise FileError(f"the native format holds {', '.join(_FORMS)}; not {type(thing).__name__}")


def decode(record: Record, *wanted: type) -> Any:
    """Return the thing an object stands for, which must be of a type wanted, if any is."""
    kind = record.text("lacunary")
    if kind not in _FORMS or (wanted and _FORMS[kind].type not in wanted):
        _learn_all()
    form = _FORMS.get(kind)
    if form is None or (wanted and form.type not in wanted):
        known = ", ".join(f.kind for f in _FORMS.values() if not wanted or f.type in wanted)
        raise record.error("lacunary", f"expected {known}; not {kind!r}")
    if record.integer("version") != form.version:
        raise record.error(
            "version", f"this reads version {form.version} of a {kind}, not {record.value('version')}"
        )
    if form.sealed:
        _check_seal(record)
    try:
        thing = form.decode(record)
    except FileError:
        raise
    except LacunaryError as problem:
        raise FileError(f"{record.path or kind}: {problem}") from None
    record.finish()
    return thing


def _seal(fields: Mapping[str, Any]) -> str:
    """Return a digest of all fields but the seal itself, whatever their order."""
    rest = {name: value for name, value in fields.items() if name != "seal"}
    return sha256(json.dumps(rest, allow_nan=False, sort_keys=True).encode()).hexdigest()


def _check_seal(record: Record) -> None:
    """Refuse what is not as it was written: values of a run under way that are wrong look like any others."""
    try:
        seal = _seal(record.fields)
    except ValueError:  # a number beyond all that are written
        seal = None
    if seal is None or record.text("seal") != seal:
        raise record.error("seal", "this checkpoint is damaged: it is not as it was written")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, value in pairs:
        if name in fields:
            raise FileError(f"the field {name!r} is given twice in one object")
        fields[name] = value
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
