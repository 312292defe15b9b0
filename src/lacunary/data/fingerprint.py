"""What a run was of and how it was to go: texts by name, by which a run that goes on is told from another.

Rows are told by their content: each row gives a number, and these are added, so that a table, its parts, and
the same rows in another order have the same fingerprint, wherever they are.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property, partial
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.source import Source
from lacunary.data.table import Table
from lacunary.errors import ParameterError

__all__ = ["Fingerprint", "digest", "fingerprint", "same_run", "told"]

Fingerprint = Mapping[str, str]
"""Texts by name; a run goes on only where all of them are the same."""

Words = NDArray[np.uint64]

SEEDS = (0x9E3779B97F4A7C15, 0xD1B54A32D192ED03)
"""Two streams of 64 bits: rows that differ and have equal sums in both are not met by chance."""

SHORT = 60
"""Characters of a setting that are shown as they are; of a longer one its digest is."""


def fingerprint(source: Source, **settings: object) -> dict[str, str]:
    """Return the fingerprint of a run on the rows of a source with settings by name."""
    shown = {name.replace("_", " "): told(setting) for name, setting in settings.items()}
    numbers = ".".join(np.__version__.split(".")[:2])
    return {
        "rows": rows_digest(source),
        "variables": digest(source.schema)[:16],
        **shown,
        "lacunary": sys.modules["lacunary"].__version__,  # without asking the upper rooms in
        "NumPy": numbers,  # whose generators may draw other numbers in another version
    }


def same_run(now: Fingerprint, kept: Fingerprint) -> None:
    """Refuse to go on from what was learned in another way, or from other rows; say what differs."""
    for name in dict.fromkeys([*now, *kept]):
        here, there = now.get(name, "nothing"), kept.get(name, "nothing")
        if here != there:
            verb = ("were", "are") if name in ("rows", "variables") else ("was", "is")
            raise ParameterError(
                f"this cannot go on from there: {name} {verb[0]} {there}, and {verb[1]} {here} now; go on "
                "with what it was begun with, or start anew"
            )


def rows_digest(source: Source) -> str:
    """Return rows as a text: how many, what they weigh, and a sum over what each holds."""
    sums = source.fold(_sums)
    return f"{len(source)} of weight {source.size:g} ({int(sums[0]):016x}{int(sums[1]):016x})"


def _sums(table: Table) -> Words:
    """Return the sums of the rows' numbers, modulo 2⁶⁴; (streams,)."""
    return np.array([_numbers(table, seed).sum(dtype=np.uint64) for seed in SEEDS], dtype=np.uint64)


def _numbers(table: Table, seed: int) -> Words:
    """Return a number for each row that any change of a cell or of the weight changes; (rows,)."""
    out = _mixed(_bits(table.weights) ^ np.uint64(seed))
    for column, variable in enumerate(table.schema):
        values = table.codes[:, column].astype(np.int64).view(np.uint64)
        if not variable.discrete:
            values = _bits(table.reals[:, column])
        out = _mixed(out ^ values)  # one after the other: a value counts by where it stands
    return out


def _bits(values: NDArray[np.float64]) -> Words:
    """Return the bits of numbers; zero has one sign, and there is one NaN."""
    plain = np.where(np.isnan(values), np.nan, values + 0.0)
    return np.ascontiguousarray(plain).view(np.uint64)


def _mixed(words: Words) -> Words:
    """Return words in which every bit depends on every bit of those given (splitmix64, one to one)."""
    words = words + np.uint64(SEEDS[0])
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def told(setting: object) -> str:
    """Return a setting as a short text that no other setting has, of the same kind and of another content."""
    if setting is None:
        return "the default"
    if isinstance(setting, str):
        return setting if len(setting) <= SHORT else digest(setting)[:16]
    text = repr(setting)
    short = len(text) <= SHORT and "..." not in text
    if isinstance(setting, bool | int | float) or (short and _plain(setting)):
        return text
    return f"{type(setting).__name__} {digest(setting)[:16]}"


def _plain(setting: Any) -> bool:
    """Tell whether a setting prints all that it is made of."""
    if isinstance(setting, tuple | list):
        return all(map(_plain, setting))
    if is_dataclass(setting):
        return "=" in repr(setting) and all(_plain(getattr(setting, field.name)) for field in fields(setting))
    return isinstance(setting, bool | int | float | str | None)


def digest(thing: object) -> str:
    """Return a digest of what a thing is made of: its class, its fields, its arrays, its code."""
    hashed = sha256()
    _take(hashed.update, thing, ())
    return hashed.hexdigest()


def _take(update: Callable[[bytes], object], thing: Any, inside: tuple[int, ...]) -> None:
    """Feed a thing to a hash, with its kind before it; what holds itself is told by how deep it does."""
    if id(thing) in inside:
        update(f"({inside.index(id(thing))})".encode())
        return
    go = partial(_take, update, inside=(*inside, id(thing)))
    kind = type(thing)
    update(f"<{kind.__module__}.{kind.__qualname__}".encode())
    if isinstance(thing, np.ndarray) and thing.dtype != object:
        update(f"{thing.dtype.str}{thing.shape}".encode() + np.ascontiguousarray(thing).tobytes())
    elif isinstance(thing, bytes):
        update(thing)
    elif thing is None or isinstance(thing, str | bool | int | float | complex | np.generic | type):
        update(repr(thing).encode("utf-8", "surrogatepass"))
    elif isinstance(thing, Mapping):
        for key in sorted(thing, key=repr):
            go(key)
            go(thing[key])
    elif isinstance(thing, list | tuple | np.ndarray):
        update(str(len(thing)).encode())
        for each in thing:
            go(each)
    elif isinstance(thing, set | frozenset):
        update("".join(sorted(map(digest, thing))).encode())
    else:
        for part in _parts(thing):
            go(part)
    update(b">")


def _code(code: Any) -> list[Any]:
    """Return what a function does: its instructions, names and constants, without where it stands."""
    inner = [_code(each) if hasattr(each, "co_code") else each for each in code.co_consts]
    return [code.co_code, code.co_names, inner]


def _parts(thing: Any) -> list[Any]:
    """Return what any other thing is made of, without what it merely remembers."""
    if is_dataclass(thing):
        return [getattr(thing, field.name) for field in fields(thing)]
    if isinstance(thing, partial):
        return [thing.func, thing.args, thing.keywords]
    code = getattr(thing, "__code__", None)
    if code is not None:
        cells = [cell.cell_contents for cell in thing.__closure__ or ()]
        return [thing.__qualname__, *_code(code), thing.__defaults__, cells]
    kept = {
        name: value
        for name, value in getattr(thing, "__dict__", {}).items()
        if not isinstance(getattr(type(thing), name, None), cached_property)
    }
    return [kept]
