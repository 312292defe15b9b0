"""JSON objects read strictly: every field is asked for by name and type, and none is left over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from math import inf
from sys import float_info
from typing import Any

import numpy as np

from lacunary.data.schema import Label
from lacunary.errors import FileError
from lacunary.maths.arrays import Array

__all__ = ["Record", "is_number"]

_NAMES = {str: "a text", bool: "true or false", list: "a list", dict: "an object", int: "a whole number"}


@dataclass(frozen=True)
class Record:
    """A JSON object, where it stands in the document, and which of its fields have been read.

    ``renormalize`` is the reader's wish to scale distributions that do not sum to one.
    """

    fields: Mapping[str, Any]
    path: str = ""
    renormalize: bool = False
    seen: set[str] = field(default_factory=set)

    def error(self, key: str, message: str) -> FileError:
        """Return the error with the path of a field."""
        return FileError(f"{self._at(key)}: {message}")

    def __contains__(self, key: str) -> bool:
        return key in self.fields

    def value(self, key: str) -> Any:
        """Return a field as JSON has it."""
        self.seen.add(key)
        if key not in self.fields:
            raise FileError(f"{self.path or 'the document'}: there is no field {key!r}")
        return self.fields[key]

    def text(self, key: str) -> str:
        """Return a field that is a text."""
        return str(self._typed(key, str))

    def flag(self, key: str) -> bool:
        """Return a field that is true or false, and false where it is absent."""
        return bool(self._typed(key, bool)) if key in self else False

    def integer(self, key: str) -> int:
        """Return a field that is a whole number."""
        return int(self._typed(key, int))

    def number(self, key: str) -> float:
        """Return a field that is a finite number."""
        return float(_array([self.value(key)], self._at(key))[0])

    def logarithm(self, key: str) -> float:
        """Return a field that is a finite number, or null for −∞, the logarithm of zero."""
        return -inf if self.value(key) is None else self.number(key)

    def numbers(self, key: str) -> Array:
        """Return a field that is a list of finite numbers."""
        return _array(self._typed(key, list), self._at(key))

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a field that is a list of texts."""
        values = self._typed(key, list)
        if not all(type(value) is str for value in values):
            raise self.error(key, "expected a list of texts")
        return tuple(values)

    def labels(self, key: str) -> tuple[Label, ...]:
        """Return a field that is a list of what states may be."""
        values = self._typed(key, list)
        if not all(type(value) in (str, int, bool) or is_number(value) for value in values):
            raise self.error(key, "expected texts, finite numbers, true or false")
        return tuple(values)

    def mapping(self, key: str) -> dict[str, str]:
        """Return a field that is an object of texts, as a dictionary."""
        texts = self.record(key)
        return {name: texts.text(name) for name in texts.fields}

    def list(self, key: str) -> list[Any]:
        """Return a field that is a list, whatever is in it."""
        return list(self._typed(key, list))

    def record(self, key: str) -> Record:
        """Return a field that is an object."""
        return self._within(self._typed(key, dict), self._at(key))

    def records(self, key: str) -> Iterator[Record]:
        """Go over a field that is a list of objects."""
        for position, value in enumerate(self._typed(key, list)):
            if type(value) is not dict:
                raise self.error(f"{key}[{position}]", "expected an object")
            yield self._within(value, f"{self._at(key)}[{position}]")

    def finish(self) -> None:
        """Refuse fields nobody asked for."""
        for key in self.fields:
            if key not in self.seen:
                raise self.error(key, "this field is not known here")

    def _typed(self, key: str, wanted: type) -> Any:
        value = self.value(key)
        if type(value) is not wanted:
            raise self.error(key, f"expected {_NAMES[wanted]}, not {_shown(value)}")
        return value

    def _within(self, fields: Mapping[str, Any], path: str) -> Record:
        return replace(self, fields=fields, path=path, seen=set())

    def _at(self, key: str) -> str:
        return f"{self.path}.{key}" if self.path else key


def is_number(value: object) -> bool:
    """Return whether a value of JSON is a number that a float can hold; true and false are none."""
    return isinstance(value, int | float) and type(value) is not bool and abs(value) <= float_info.max


def _array(values: list[Any], path: str) -> Array:
    if not set(map(type, values)) <= {int, float}:
        raise FileError(f"{path}: expected numbers only")
    try:
        array = np.array(values, dtype=np.float64)
    except OverflowError:
        array = np.array([np.inf])
    if not np.all(np.isfinite(array)):
        raise FileError(f"{path}: a number is too large")
    return array


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < 40 else text[:37] + "…"
