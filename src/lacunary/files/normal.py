"""Normal densities as HUGIN writes them: ``normal ( 1.5 + 2 * x - y, 0.25 )``, the variance last."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import inf, prod

import numpy as np

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.files.tokens import Tokens
from lacunary.maths.arrays import Array

__all__ = ["read_normals", "written_normals"]

NAME = r"[A-Za-z_][A-Za-z_0-9]*+"
NUMBER = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][+-]?[0-9]++)?"
TERM = re.compile(
    rf"\s*+(?P<sign>[+-]\s*+[+-]?|)\s*+(?:(?P<number>{NUMBER})(?:\s*+\*\s*+(?P<of>{NAME}))?"
    rf"|(?P<name>{NAME})(?:\s*+\*\s*+(?P<times>{NUMBER}))?)\s*+"
)
"""A term of a mean: a number, a parent, or both with a star between."""


def read_normals(tokens: Tokens, data: range, child: Variable, parents: Sequence[Variable]) -> Array:
    """Return intercept, coefficients and variance of every configuration of the discrete parents."""
    numeric = [parent.name for parent in parents if not parent.discrete]
    shape = [parent.size for parent in parents if parent.discrete]
    rows = [_record(tokens, place, text, numeric) for place, text in _densities(tokens, data)]
    if len(rows) != prod(shape):
        what = f"the potential of {child.name!r} needs {prod(shape)} densities, not {len(rows)}"
        raise tokens.error(data.start, what)
    return np.array(rows).reshape(*shape, len(numeric) + 2)


def _densities(tokens: Tokens, data: range) -> Iterator[tuple[int, str]]:
    """Yield the place of every density and what stands between its parentheses."""
    place, depth = data.start, 0
    while place < data.stop:
        token = tokens.all[place]
        if token == "normal":
            if place + 1 >= data.stop or tokens.all[place + 1] != "(":
                raise tokens.unexpected(place + 1, "'('")
            end = tokens.find(")", place, data.stop)
            yield place, " ".join(tokens.all[place + 2 : end])
            place = end + 1
            continue
        if token not in ("(", ")"):
            raise tokens.unexpected(place, "'normal ( mean, variance )'")
        depth += (token == "(") - (token == ")")
        if depth < 0:
            raise tokens.unexpected(place, "';'")
        place += 1
    if depth:
        raise tokens.unexpected(data.stop, "')'")


def _record(tokens: Tokens, place: int, text: str, numeric: Sequence[str]) -> list[float]:
    """Return intercept, coefficients and variance of one density."""
    mean, comma, variance = text.partition(",")
    found = re.fullmatch(rf"\s*+({NUMBER})\s*+", variance)
    if not comma or not found or not 0 < float(found[1]) < inf:
        raise tokens.error(
            place, "expected 'normal ( mean, variance )' with a positive number for the variance"
        )
    record = dict.fromkeys(["", *numeric], 0.0)
    end, first = 0, True
    while end < len(mean) or first:
        term = TERM.match(mean, end)
        if term is None or not (first or term["sign"]):
            raise tokens.error(place, f"the mean {mean.strip()[:60]!r} is no sum of numbers and parents")
        of = term["of"] or term["name"] or ""
        if of not in record:
            raise tokens.error(place, f"{of!r} is in the mean, but is no continuous parent")
        size = float(term["number"] or term["times"] or 1.0)
        record[of] += -size if term["sign"].count("-") % 2 else size
        end, first = term.end(), False
    if not all(abs(value) < inf for value in record.values()):
        raise tokens.error(place, "a number of the mean is too large")
    return [*record.values(), float(found[1])]


def written_normals(table: Array, numeric: Sequence[str]) -> str:
    """Return the densities with a pair of parentheses for every discrete parent, and one around all."""
    for name in numeric:
        if not re.fullmatch(NAME, name):
            raise FileError(f"NET cannot hold {name!r} in a mean; rename it to letters and digits")
    texts = [_density(row, numeric) for row in table.reshape(-1, table.shape[-1]).tolist()]
    shape = table.shape[:-1] or (1,)
    for size in reversed(shape):
        texts = [f"({f'{chr(10)}    '.join(texts[i : i + size])})" for i in range(0, len(texts), size)]
    return texts[0]


def _density(row: Sequence[float], numeric: Sequence[str]) -> str:
    terms = [repr(row[0])]
    for value, name in zip(row[1:-1], numeric, strict=True):
        terms.append(f"{'-' if value < 0 else '+'} {abs(value)!r} * {name}")
    return f"normal ( {' '.join(terms)}, {row[-1]!r} )"
