"""Dates and times that are all written by one stencil, the same digits in the same places: read at once.

What is not, or cannot be, is left to `lacunary.data.moments`, which reads one text after the other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Parts", "bytes_of", "days_of", "parts_by"]

Parts = Mapping[str, NDArray[np.integer]]
"""The numbers in every text by the names of their groups, such as Y for the year; (texts,).

They are of the smallest type that holds so many digits: what is made of them must be of a larger one.
"""

ZERO = ord("0")

PIECE = 2**14
"""Texts that are looked at together: their letters stay in the processor's cache."""

SIZES = ((np.uint8, 2), (np.uint16, 4))
"""Small types, and how many digits each holds."""


def bytes_of(texts: Sequence[str]) -> NDArray[np.uint8] | None:
    """Return the letters of texts, (texts, letters); None if they are not equally long, or not ASCII."""
    joined = "".join(texts)
    if not joined.isascii() or len(set(map(len, texts))) != 1:
        return None
    return np.frombuffer(joined.encode(), dtype=np.uint8).reshape(len(texts), -1)


def parts_by(cells: NDArray[np.uint8], form: re.Match[str]) -> Parts | None:
    """Return the numbers that texts have where the first one, which a form matches, has them.

    None if another text has no digit where the first has one, or another sign where it has none.
    """
    spans = {k: form.span(k) for k, text in form.groupdict().items() if text and text.isdecimal()}
    found: dict[str, list[NDArray[np.integer]]] = {name: [] for name in spans}
    for begin in range(0, len(cells), PIECE):
        letters = np.ascontiguousarray(cells[begin : begin + PIECE].T)  # a place at a time
        if not _is_alike(letters, cells[0]):
            return None
        for name, span in spans.items():
            found[name].append(_number(letters[slice(*span)]))
    return {name: np.concatenate(pieces) for name, pieces in found.items()}


def _is_alike(letters: NDArray[np.uint8], first: NDArray[np.uint8]) -> bool:
    """Whether texts have digits where a first one has, and its signs elsewhere; (letters, texts)."""
    digit = first - ZERO < 10
    for place, letter in enumerate(first):
        if not (letters[place] - ZERO < 10 if digit[place] else letters[place] == letter).all():
            return False
    return True


def _number(digits: NDArray[np.uint8]) -> NDArray[np.integer]:
    """Return the numbers whose digits stand below each other; (digits, texts)."""
    size = next((size for size, most in SIZES if len(digits) <= most), np.int64)
    out: NDArray[np.integer] = (digits[0] - ZERO).astype(size, copy=False)
    for digit in digits[1:]:
        out *= 10
        out += digit - ZERO
    return out


def days_of(
    year: NDArray[np.integer], month: NDArray[np.integer], day: NDArray[np.integer]
) -> NDArray[np.int32] | None:
    """Return the days since 1970 of dates; None if one is no date of the years 1 to 9998."""
    low, high = int(year.min()), int(year.max())
    if low < 1 or high > 9998 or month.min() < 1 or month.max() > 12 or day.min() < 1:
        return None
    months = np.arange(12 * (low - 1970), 12 * (high - 1970) + 13).astype("datetime64[M]")
    first = months.astype("datetime64[D]").astype(np.int32)
    which = 12 * (year.astype(np.int32) - low) + month - 1
    if day.max() > 28 and np.any(day > np.diff(first).take(which)):
        return None
    out: NDArray[np.int32] = first.take(which) + day
    out -= 1
    return out
