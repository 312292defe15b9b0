"""Large text files: polars parts the cells, and columns come out as those of `lacunary.data.delimited`.

Whatever polars would read otherwise than Python's own reader, or cannot read, is left to that one, which is
slow and says what is wrong and where: `columns_of` returns None then.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.column import CODE, Column, Labels, Levels, Numbers, parse_numbers
from lacunary.data.spelling import looks_pointed
from lacunary.data.table import HOLE

if TYPE_CHECKING:
    import polars as pl

__all__ = ["BLOCK", "LARGE", "TEXTS", "coded", "columns_of", "is_plain", "is_regular"]

LARGE = 2**18
"""Bytes from which a file is worth loading polars for."""

TALL = 2**11
"""Bytes of a column from which it is worth handing to polars."""

SAMPLE = 500
"""Lines from which it is told which columns hold measurements."""

TEXTS = 2**16
"""Distinct texts of a column up to which it is kept as labels."""

BLOCK = 2**22
"""Bytes that are looked through at a time."""

QUOTE, NEWLINE, RETURN = 34, 10, 13


def columns_of(
    path: Path, names: Sequence[str], wanted: Sequence[str], marks: Collection[str], delimiter: str
) -> Iterator[Column] | None:
    """Return the wanted columns of a plain text file with a header line; None if they must be read slowly."""
    tall = path.stat().st_size >= max(LARGE, TALL * len(names))
    if (
        not tall
        or len(names) < 2
        or len(set(names)) < len(names)
        or not (
            _counts_match(path, delimiter, len(names), wanted) or _is_regular(path, delimiter, len(names))
        )
    ):
        return None
    from polars.exceptions import PolarsError

    try:
        frame = _frame(path, names, wanted, delimiter)
    except (PolarsError, OSError, UnicodeDecodeError):
        return None
    return None if frame is None else _checked(frame, marks)


def _checked(columns: list[pl.Series], marks: Collection[str]) -> Iterator[Column] | None:
    """Return the columns, each given up as soon as it is taken; None if one has to be looked at as text."""
    if any(series.dtype.is_float() and _odd(series) for series in columns):
        return None
    if all(not series.dtype.is_float() and (series == series.name).any() for series in columns):
        return None  # the header again, perhaps
    return _taken(columns[::-1], frozenset(marks))


def _odd(numbers: pl.Series) -> bool:
    """Whether numbers hold what text files mean otherwise: NaN and infinities are spelled out there."""
    values = numbers.to_numpy()
    return bool(np.isinf(values).any() or np.isnan(values).sum() > numbers.null_count())


def _taken(columns: list[pl.Series], marks: frozenset[str]) -> Iterator[Column]:
    """Yield the columns, the last first."""
    import polars as pl

    while columns:
        series = columns.pop()
        if series.dtype.is_float():
            yield Numbers(series.name, series.to_numpy().astype(np.float64))
        else:
            yield _labels(series.name, series.fill_null(""), marks, pl)


def _labels(name: str, texts: pl.Series, marks: frozenset[str], pl: Any) -> Column:
    """Return texts as labels in the order in which they first appear, or as numbers if they are that many."""
    levels = texts.unique(maintain_order=True)
    if len(levels) > TEXTS:
        numbers = _numbers(texts, levels, marks, pl)
        if numbers is not None:
            return Numbers(name, numbers)
    stripped = Levels()
    where = stripped.code([text.strip() for text in levels.to_list()])
    codes = _codes(texts, levels, pl)
    same = np.array_equal(where, np.arange(len(where)))  # no two texts differ by blanks alone
    return Labels(name, stripped.distinct, codes if same else where[codes], untyped=True)


def coded(texts: pl.Series) -> tuple[list[str], NDArray[np.int32]]:
    """Return distinct texts or categories in the order in which they first appear, and each row's."""
    import polars as pl

    levels = texts.drop_nulls().unique(maintain_order=True)
    if texts.dtype == pl.String:
        return levels.to_list(), _codes(texts, levels, pl)
    # Categories have numbers already: only which of them occur, and in which order, is to be found.
    numbers = levels.to_physical().to_numpy().astype(np.int64)
    place = np.full(int(numbers.max(initial=-1)) + 2, HOLE, dtype=np.int32)
    place[numbers] = np.arange(len(numbers))
    own = texts.to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
    return levels.cast(pl.String).to_list(), place[own]


def _codes(texts: pl.Series, levels: pl.Series, pl: Any) -> NDArray[np.int32]:
    """Return which of the levels each text is, `HOLE` for none."""
    codes = texts.cast(pl.Enum(levels)).to_physical().cast(pl.Int32)
    return np.asarray((codes.fill_null(HOLE) if codes.null_count() else codes).to_numpy())


def _numbers(
    texts: pl.Series, levels: pl.Series, marks: frozenset[str], pl: Any
) -> NDArray[np.float64] | None:
    """Return the numbers that all texts but marks of holes are; None if one is not."""
    texts_of = map(str.strip, levels.to_list())
    values = parse_numbers(["nan" if text in marks else text for text in texts_of])
    if values is None:
        return None
    found = texts.replace_strict(levels, values, return_dtype=pl.Float64).to_numpy()
    return np.asarray(found, dtype=np.float64)


def _frame(path: Path, names: Sequence[str], wanted: Sequence[str], delimiter: str) -> list[pl.Series] | None:
    """Return the wanted columns as polars reads them: measurements as numbers, all others as text."""
    import polars as pl

    how: dict[str, Any] = {"separator": delimiter, "glob": False, "infer_schema_length": 0}  # all is text
    head = pl.read_csv(path, n_rows=SAMPLE, **how)
    raw = dict(zip(names, head.columns, strict=True)) if head.width == len(names) else {}
    if any(name != text.strip() for name, text in raw.items()) or not raw:
        return None
    own = {series.name: series for series in head.get_columns()}
    chosen = [raw[name] for name in wanted]
    measured = {name: pl.Float64 for name in chosen if _measures(own[name])}
    how["columns"] = chosen
    try:
        frame = pl.read_csv(path, schema_overrides=measured, **how)
    except pl.exceptions.PolarsError:  # a cell that is no number, such as NA
        frame = pl.read_csv(path, **how)
    if frame.columns != chosen:
        frame = frame.select(chosen)
    return [series.alias(name) for series, name in zip(frame.get_columns(), wanted, strict=True)]


def _measures(texts: pl.Series) -> bool:
    """Whether a column begins with numbers that have decimals, all of them, empty cells aside."""
    cells = [text for text in texts.fill_null("").to_list() if text]
    if not any("." in text for text in cells) or any(CODE.match(text) for text in cells):
        return False
    values = parse_numbers(cells)
    return values is not None and bool(np.isfinite(values).all()) and not looks_pointed(cells)


def _counts_match(path: Path, delimiter: str, width: int, wanted: Sequence[object]) -> bool:
    """Whether a file without quotes has as many delimiters as its lines need, and all columns are wanted.

    Where all are wanted polars refuses a line with too many cells, so that none can have too few; but for
    one without an end, the last, in which it overlooks an empty cell: that one is counted by itself.
    """
    breaks, parted, tail, last, part = 0, 0, 0, b"\n", delimiter.encode()
    if len(wanted) < width:
        return False
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            if b'"' in block or b"\r" in block or b"\0" in block:
                return False
            breaks, parted, last = breaks + block.count(b"\n"), parted + block.count(part), block[-1:]
            end = block.rfind(b"\n")
            tail = block.count(part, end + 1) + (tail if end < 0 else 0)
    if last != b"\n" and tail != width - 1:
        return False
    return parted == (width - 1) * (breaks + (last != b"\n"))


def is_plain(block: bytes, delimiter: str, width: int) -> bool:
    """Whether every line of some bytes has so many cells, and quotes stand at cells' ends alone."""
    ended = block if block.endswith(b"\n") else block + b"\n"
    told = _scan(b"\n", ended, b"\n", ord(delimiter), 0, 0, width)
    return told == (0, 0) and b"\n\n" not in ended and b"\n\r\n" not in ended


def is_regular(path: Path, delimiter: str, width: int) -> bool:
    """Whether a file can be read some rows at a time: its lines and quotes are where all readers see them."""
    return _counts_match(path, delimiter, width, range(width)) or _is_regular(path, delimiter, width)


def _is_regular(path: Path, delimiter: str, width: int) -> bool:
    """Whether every line has so many cells, and quotes stand at cells' ends alone: readers agree then."""
    inside, cells = 0, 0
    with open(path, "rb") as file:
        before = b"\n"
        while block := file.read(BLOCK):
            ahead = file.peek(1)[:1] if hasattr(file, "peek") else b"\n"
            told = _scan(before, block, ahead or b"\n", ord(delimiter), inside, cells, width)
            if told is None:
                return False
            inside, cells = told
            before = block[-1:]
    return inside == 0 and (before == b"\n" or cells == width - 1)


def _scan(
    before: bytes, block: bytes, after: bytes, delimiter: int, inside: int, cells: int, width: int
) -> tuple[int, int] | None:
    """Return whether a block ends within quotes, and the delimiters of its last line; None if not plain.

    ``before`` and ``after`` are the bytes around it, ``inside`` and ``cells`` what the last one ended with.
    """
    part = np.frombuffer(before + block + after, dtype=np.uint8)
    here, quotes = part[1:-1], np.empty(0, dtype=np.int64)
    if b"\0" in block or (b"\r" in block and np.any((here == RETURN) & (part[2:] != NEWLINE))):
        return None
    breaks, parted = np.flatnonzero(here == NEWLINE), np.flatnonzero(here == delimiter)
    if inside or b'"' in block:
        quotes = np.flatnonzero(here == QUOTE) + 1
        ends = np.isin(np.arange(256), [delimiter, NEWLINE, RETURN, QUOTE])
        if not (ends[part[quotes - 1]] | ends[part[quotes + 1]]).all():
            return None
        within = (
            (np.searchsorted(quotes - 1, breaks) + inside) % 2,
            (np.searchsorted(quotes - 1, parted) + inside) % 2,
        )
        breaks, parted = breaks[within[0] == 0], parted[within[1] == 0]
    many = np.searchsorted(parted, breaks)  # delimiters before each end of a line
    if np.any(np.diff(many, prepend=-cells) != width - 1):
        return None
    left = len(parted) - int(many[-1]) if len(breaks) else len(parted) + cells
    return (inside + len(quotes)) % 2, left
