"""Large text files: polars parts the cells, and columns come out as those of `lacunary.data.delimited`.

Whatever polars would read otherwise than Python's own reader, or cannot read, is left to that one, which is
slow and says what is wrong and where: `columns_of` returns None then.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from lacunary.data.coded import categories, numbered
from lacunary.data.column import (
    CODE,
    WHOLE,
    Column,
    Labels,
    Levels,
    Moments,
    Numbers,
    own_name,
    parse_number,
    parse_numbers,
    taken,
)
from lacunary.data.many import Reads
from lacunary.data.parted import Parted, head, parted
from lacunary.data.spelling import looks_pointed, may_be_pointed

if TYPE_CHECKING:
    import polars as pl

__all__ = ["LARGE", "TEXTS", "columns_of", "distinct_integers", "is_plain", "is_regular"]

T = TypeVar("T")

LARGE = 2**18
"""Bytes from which a file is worth loading polars for."""

TALL = 2**11
"""Bytes of a column from which it is worth handing to polars."""

SAMPLE = 500
"""Lines from which it is told which columns hold measurements."""

STATES = 1000
"""Distinct texts of a column up to which they may be states."""

TEXTS = 2**16
"""Distinct texts of a column up to which it is kept as labels, unless they are measurements."""

PIECE = 2**18
"""Bytes that are looked through at a time: they stay in the processor's cache."""

REPEATED = 0.85
"""Share of distinct texts in the sample up to which a column is read as categories."""

OFTEN = 300
"""Distinct texts of the sample up to which polars makes categories of them faster as it reads than after."""

AS_TEXT = Reads(kept=lambda name: True)
"""Nothing but plain numbers is read from texts."""

TRIES = 4
"""Times that a file is read with fewer columns as numbers, before all that begin so are read as text."""

NO_NUMBER = re.compile(r"`(?P<cell>.*?)` as dtype .* at column '(?P<column>.*)' \(column number", re.DOTALL)
"""How polars says which cell is no number."""

SPAN = 2**20
"""Whole numbers that lie no farther apart are counted by a flag for each."""

LONGEST = 1e15
"""Numbers below have so few digits that floats keep all of them."""

TAB, NEWLINE, RETURN, BLANK, QUOTE, PLUS, MINUS, POINT, ZERO = b'\t\n\r "+-.0'


def columns_of(
    path: Path,
    names: Sequence[str],
    wanted: Sequence[str],
    marks: Collection[str],
    delimiter: str,
    points: bool = False,
    reads: Reads = AS_TEXT,
) -> Iterator[Column] | None:
    """Return the wanted columns of a plain text file with a header line; None if they must be read slowly.

    ``points`` says that numbers are written otherwise than Python does, so that 1.234 is no measurement.
    """
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
        return _wanted(path, names, wanted, frozenset(marks), delimiter, points, reads)
    except (PolarsError, OSError, UnicodeDecodeError):
        return None


def _checked(
    columns: dict[str, str],
    frame: Parted,
    beside: dict[str, str],
    marks: frozenset[str],
    points: bool,
    reads: Reads,
) -> Iterator[Column] | None:
    """Return the columns, each with the name that polars has for it; None if all may say the header again."""
    found: list[Column | str] = []
    for name, raw in columns.items():  # texts are given up one by one
        if raw in frame.places:
            found.append(raw)
            continue
        series = frame.series.pop(raw)
        whole = series.dtype.is_integer()
        mark = beside.get(raw, "")
        at_once = None if whole else _at_once(name, series, marks, reads)
        if whole:
            found.append(_whole(name, series, mark, marks))
        else:
            found.append(at_once or _labels(name, series, marks, points))
    if all(isinstance(column, Labels | Numbers) and len(own_name(column)) for column in found):
        return None
    return _taken(list(columns), found[::-1], frame, beside, marks)


def _taken(
    names: list[str],
    columns: list[Column | str],
    frame: Parted,
    beside: dict[str, str],
    marks: frozenset[str],
) -> Iterator[Column]:
    """Yield the columns, the last first, each given up as soon as it is taken."""
    for name in names:
        column = columns.pop()
        if isinstance(column, str):
            values, mark = frame.measured(column), beside.get(column, "")
            told = mark in marks and np.isnan(values).any() and _few(values)
            column = Numbers(name, values, marks=(mark,) if told else (), beside=frame.cells)
        yield column


def _at_once(name: str, column: pl.Series, marks: frozenset[str], reads: Reads) -> Moments | Numbers | None:
    """Return very many texts as moments or numbers, if all of them are."""
    import polars as pl

    if column.dtype != pl.String or column.head(4 * STATES).n_unique() <= STATES:
        return None
    return reads.column(name, column.fill_null(""), marks)


def _labels(name: str, column: pl.Series, marks: frozenset[str], points: bool) -> Labels | Numbers:
    """Return texts as labels in the order in which they first appear, or as numbers if they are that many."""
    import polars as pl

    tried = points
    if column.dtype == pl.String:
        column = column.fill_null("") if column.null_count() else column
        if not tried and column.head(4 * STATES).n_unique() > STATES:
            tried = True
            if (numbers := _measured(column, marks)) is not None:
                return replace(numbers, name=name)
    levels, codes = numbered(column)
    texts = ["" if level is None else level for level in levels]
    if not tried and len(set(texts)) > TEXTS:
        numbers = _measured(column.cast(pl.String).fill_null(""), marks)
        if numbers is not None:
            return replace(numbers, name=name)
    texts = [text.strip() for text in texts]
    if len(set(texts)) == len(texts):
        return Labels(name, tuple(texts), codes, untyped=True)
    stripped = Levels()
    where = stripped.code(texts)  # some differ by blanks alone
    return Labels(name, stripped.distinct, where.take(codes), untyped=True)


def _whole(name: str, column: pl.Series, mark: str, marks: frozenset[str]) -> Labels | Numbers:
    """Return whole numbers that are written plainly, and a mark for nulls: as texts if these may matter."""
    import polars as pl

    low, high, empty = int(column.min()), int(column.max()), column.null_count()  # type: ignore[arg-type]
    if max(-low, high) >= LONGEST or (empty and mark not in marks):
        return _labels(name, column.cast(pl.String).fill_null(mark), marks, False)
    seen = column.drop_nulls() if empty else column
    distinct = distinct_integers(seen.to_numpy(), low, high)
    few = distinct + (empty > 0) <= TEXTS
    told = (mark,) if few and empty else ()
    numbers = Numbers(name, column.cast(pl.Float64).to_numpy(), marks=told, plain=few)
    return numbers.knowing(bounds=(float(low), float(high)), counts=(distinct, len(seen)), whole=True)


def distinct_integers(values: NDArray[np.integer], low: int, high: int) -> int:
    """Return how many different whole numbers there are, from a low to a high one."""
    if high - low < max(SPAN, 8 * len(values)):  # no more memory than they take themselves
        return int(np.count_nonzero(taken(values - low if low else values)))
    ordered = np.sort((values - low).astype(np.uint32) if high - low < 2**32 else values)
    return 1 + int(np.count_nonzero(ordered[1:] != ordered[:-1]))


def _measured(texts: pl.Series, marks: frozenset[str]) -> Numbers | None:
    """Return many texts as numbers; None if one is none, or how they are written may still matter."""
    cells = [text for text in map(str.strip, texts.head(SAMPLE).to_list()) if text not in marks]
    if parse_numbers(cells) is None or (numbers := _numbers(texts, marks)) is None:
        return None
    if texts.head(2 * TEXTS).n_unique() > TEXTS or (len(texts) > 2 * TEXTS and texts.n_unique() > TEXTS):
        return replace(numbers, marks=())
    return None if numbers.whole or _spell_numbers(marks) or may_be_pointed(cells) else numbers


def _numbers(texts: pl.Series, marks: frozenset[str]) -> Numbers | None:
    """Return the numbers that all texts but marks of holes are; None if one is not."""
    import polars as pl

    text, value = pl.col("text"), pl.col("value")
    cells = texts.to_frame("text").select(text.str.strip_chars())
    cells = cells.with_columns(value=text.cast(pl.Float64, strict=False))
    empty = _distinct(cells, value.is_null() | value.is_nan())
    others = parse_numbers(["nan" if text in marks else text for text in empty])
    if others is None or not np.isnan(others).all():
        return None
    # Leading zeros, or more digits than a number keeps, make codes of them.
    signs = text.str.starts_with("0") | text.str.starts_with("-") | text.str.starts_with("+")
    doubtful = _distinct(cells, (value == value.floor()) & (signs | (value.abs() >= LONGEST)))
    if any(CODE.match(text) and text not in marks for text in doubtful):
        return None
    values = cells["value"].to_numpy()
    if _spell_numbers(marks):
        values = np.where(cells["text"].is_in(list(marks)).to_numpy(), np.nan, values)
    return Numbers(texts.name, values, marks=tuple(text for text in empty if text in marks))


def _distinct(cells: pl.DataFrame, where: pl.Expr) -> list[str]:
    """Return the distinct texts of some cells, in the order in which they first appear."""
    found: list[str] = cells.filter(where)["text"].unique(maintain_order=True).to_list()
    return found


def _spell_numbers(marks: frozenset[str]) -> bool:
    """Whether a mark of holes is a number, such as -9."""
    values = [value for mark in marks if (value := parse_number(mark)) is not None]
    return not np.isnan(values).all()


def _wanted(
    path: Path,
    names: Sequence[str],
    wanted: Sequence[str],
    marks: frozenset[str],
    delimiter: str,
    points: bool,
    reads: Reads,
) -> Iterator[Column] | None:
    """Return the wanted columns; None if they have to be looked at as text, a line at a time.

    Polars reads measurements and plain whole numbers as such, all others as text.
    """
    import polars as pl

    how: dict[str, Any] = {"separator": delimiter, "glob": False, "infer_schema_length": 0}  # all is text
    first = pl.read_csv(head(path, SAMPLE + 1), **how)
    raw = dict(zip(names, first.columns, strict=True)) if first.width == len(names) else {}
    if any(name != text.strip() for name, text in raw.items()) or not raw:
        return None
    own = {series.name: series.alias("") for series in first.get_columns()}
    chosen = [raw[name] for name in wanted]
    if len(chosen) < len(names):  # else columns are named in vain, at the cost of the file's size in memory
        how["columns"] = chosen
    types = {name: kind for name in chosen if (kind := _type(own[name], points)) is not None}
    begins: dict[str, tuple[bool, str]] = {}
    if not points and not _spell_numbers(marks):
        begins = {name: start for name in chosen if (start := _begins(own[name], marks)) is not None}
    file = _File(path, delimiter, chosen, marks, how)
    for _ in range(TRIES):
        found, beside = _typed(file, types, begins)
        if found is None:
            return None
        if not (odd := _odd(file, found)):
            return _checked(dict(zip(wanted, chosen, strict=True)), found, beside, marks, points, reads)
        types, begins = _without(types, odd), _without(begins, odd)
    return None


@dataclass(frozen=True)
class _File:
    """A file, the columns chosen, by the names polars has for them, and how polars is told to read it."""

    path: Path
    delimiter: str
    chosen: Sequence[str]
    marks: frozenset[str]
    how: dict[str, Any]

    @cached_property
    def written(self) -> tuple[bool, bool]:
        """See `_written`."""
        return _written(self.path, self.delimiter)

    def parted(self, **more: Any) -> Parted:
        """Return the columns as polars parts them."""
        return parted(self.path, self.chosen, {**self.how, **more})


def _without(known: dict[str, T], names: Collection[str]) -> dict[str, T]:
    return {name: value for name, value in known.items() if name not in names}


def _odd(file: _File, found: Parted) -> set[str]:
    """Return the columns of measurements that are to be looked at as text.

    NaN and infinities are spelled out there, and may mean something else; or a whole number may be a code,
    with a zero before it or more digits than a number keeps.
    """
    odd = set(found.infinite)
    for name in found.whole - odd:
        low, high = Numbers(name, found.measured(name)).bounds
        if max(-low, high) >= LONGEST or (not file.written[0] and _has_codes(file, name)):
            odd.add(name)
    return odd


def _has_codes(file: _File, name: str) -> bool:
    """Whether a cell of a column is a code."""
    texts = parted(file.path, [name], {**file.how, "columns": [name]}).series[name]
    return bool(texts.str.contains(CODE.pattern).any())


def _typed(
    file: _File, types: dict[str, Any], begins: dict[str, tuple[bool, str]]
) -> tuple[Parted | None, dict[str, str]]:
    """Return a file with numbers read as such, and the marks beside them; nothing if that cannot be."""
    import polars as pl

    found, beside = _plainly(file, types, begins) if begins else (None, {})
    if found is not None:
        return found, beside
    for less in (types, {name: kind for name, kind in types.items() if kind != pl.Float64}):
        with suppress(pl.exceptions.PolarsError):  # a cell that is no number, such as NA
            return file.parted(schema_overrides=less), {}
    return None, {}


def _plainly(
    file: _File, types: dict[str, Any], begins: dict[str, tuple[bool, str]]
) -> tuple[Parted | None, dict[str, str]]:
    """Return a file with plain numbers read as such, and the marks beside them; nothing if that cannot be.

    ``begins`` says of columns that begin with numbers whether these are whole, and the mark beside them.
    """
    import polars as pl

    shown = {mark for _, mark in begins.values() if mark}
    common = shown.pop() if len(shown) == 1 else ""
    tries = 0
    while begins:
        beside = dict.fromkeys(begins, "")
        if common or shown or any(whole for whole, _ in begins.values()):
            plain, empty = file.written
            beside = {
                name: mark or ("" if whole and empty else common)
                for name, (whole, mark) in begins.items()
                if plain and not (whole and mark and empty)
            }
        told = {name: mark for name, mark in beside.items() if mark}
        kinds = {name: pl.Int64 if begins[name][0] else pl.Float64 for name in beside}
        try:
            frame = file.parted(schema_overrides={**types, **kinds}, null_values=told or None)
        except pl.exceptions.PolarsError as error:
            met = NO_NUMBER.search(str(error))
            if met is None:
                return None, {}
            if met["cell"] in file.marks and beside and not common and not shown:
                common = met["cell"]
                continue
            tries += 1  # the column with that cell is text, others need not be
            if tries == TRIES or met["column"] not in begins:
                return None, {}
            types, begins = _without(types, [met["column"]]), _without(begins, [met["column"]])
            continue
        doubtful = {n for n in told if n in frame.places and _is_doubtful(frame, n, empty, file.marks)}
        if not doubtful:
            return frame, beside
        begins = _without(begins, doubtful)
    return None, {}


def _is_doubtful(frame: Parted, name: str, empty: bool, marks: frozenset[str]) -> bool:
    """Whether decimals that were read beside a mark of holes are to be looked at as text.

    So they are if one may be a code, or means something else, or if all are whole; and if it is not known
    which holes are empty cells, where that is to be said.
    """
    values = frame.measured(name)
    if not np.isnan(values).any():
        return False
    numbers = Numbers(name, values)
    low, high = numbers.bounds
    if name in frame.infinite or not max(-low, high) < LONGEST:  # NaN where there is none
        return True
    if Numbers(name, values[:SAMPLE]).whole and numbers.whole:
        return True
    return empty and ("" not in marks or _few(values))


def _few(values: NDArray[np.float64]) -> bool:
    """Whether distinct numbers, and one mark of holes, are so few that they are kept as labels."""
    import polars as pl

    if len(values) <= TEXTS:
        return True
    for many in sorted({min(2 * TEXTS, len(values)), len(values)}):
        near: Any = pl.Series(values[:many]).approx_n_unique()  # to one per cent
        if near > 1.25 * TEXTS:
            return False
    return near < 0.75 * TEXTS or pl.Series(values).n_unique() <= TEXTS


def _begins(texts: pl.Series, marks: frozenset[str]) -> tuple[bool, str] | None:
    """Return whether numbers that a column begins with are whole, and the mark beside them; None of text."""
    distinct = texts.fill_null("").unique(maintain_order=True).to_list()
    cells = [text for text in distinct if text not in marks]
    if not cells:
        return None
    beside = [text for text in distinct if text in marks]
    if all(map(WHOLE.fullmatch, cells)):
        return (True, *beside, "")[:2] if len(beside) < 2 else None
    beside = [mark for mark in beside if mark]
    measured = len(beside) < 2 and _are_decimals(cells) and not may_be_pointed(cells)
    return (False, *beside, "")[:2] if measured else None


def _type(texts: pl.Series, points: bool) -> Any:
    """Return what a column that begins so is read as: numbers, categories if texts repeat, or else None."""
    import polars as pl

    if not points and _measures(texts):
        return pl.Float64
    repeats = texts.n_unique() <= min(OFTEN, REPEATED * len(texts))
    return categories() if repeats and hasattr(pl, "Categories") else None


def _measures(texts: pl.Series) -> bool:
    """Whether a column begins with numbers that have decimals, all of them, empty cells aside."""
    cells = [text for text in texts.fill_null("").to_list() if text]
    return _are_decimals(cells) and not looks_pointed(cells)


def _are_decimals(cells: Sequence[str]) -> bool:
    """Whether texts are numbers, some with decimals, and no codes."""
    joined = "\n".join(cells)
    if "." not in joined or CODE.search(joined):
        return False
    values = parse_numbers(cells)
    return values is not None and bool(np.isfinite(values).all())


def _counts_match(path: Path, delimiter: str, width: int, wanted: Sequence[object]) -> bool:
    """Whether a file without quotes has as many delimiters as its lines need, and all columns are wanted.

    A carriage return may stand before the end of a line. Where all are wanted polars refuses a line with too
    many cells, so that none can have too few; but for one without an end, the last, in which it overlooks an
    empty cell: that one is counted by itself.
    """
    breaks, parted, tail, part, last = 0, 0, 0, delimiter.encode(), NEWLINE
    if len(wanted) < width:
        return False
    buffer = bytearray(PIECE)
    signs = np.frombuffer(buffer, dtype=np.uint8)
    with open(path, "rb", buffering=0) as file:
        while many := file.readinto(buffer):
            if any(buffer.find(sign, 0, many) >= 0 for sign in (b'"', b"\0")):
                return False
            if last == RETURN and buffer[0] != NEWLINE:
                return False
            if buffer.find(b"\r", 0, many - 1) >= 0:
                returns = signs[: many - 1] == RETURN
                if np.any(returns & (signs[1:many] != NEWLINE)):
                    return False
            breaks += int(np.count_nonzero(signs[:many] == NEWLINE))
            parted += int(np.count_nonzero(signs[:many] == part[0]))
            end, last = buffer.rfind(b"\n", 0, many), buffer[many - 1]
            tail = buffer.count(part, end + 1, many) + (tail if end < 0 else 0)
    if last == RETURN or (last != NEWLINE and tail != width - 1):
        return False
    return parted == (width - 1) * (breaks + (last != NEWLINE))


def _written(path: Path, delimiter: str) -> tuple[bool, bool]:
    """Return whether all whole numbers of a file are written as Python does, and whether a cell is empty.

    They are not, perhaps, if a cell begins with a plus, a zero before a digit or -0 before no point, or if a
    blank is at its end.
    """
    empty, part = False, ord(delimiter)
    buffer = bytearray(b"...") + bytearray(PIECE)  # of what came before, the last three
    signs, more = np.frombuffer(buffer, dtype=np.uint8), True
    with open(path, "rb", buffering=0) as file:
        while more:
            many = file.readinto(memoryview(buffer)[3:])
            more = many > 0
            if not more and buffer[2] != NEWLINE:
                buffer[3], many = NEWLINE, 1  # which the last line lacks
            here, end = signs[: many + 3], many + 3
            edges = (here == NEWLINE) | (here == part)
            empty = empty or bool(np.any(edges[:-1] & edges[1:]))
            if buffer.find(b"\r", 0, end) >= 0:
                empty = empty or bool(np.any(edges[:-1] & (here[1:] == RETURN)))
            if buffer.find(b'"', 0, end) >= 0:
                empty = empty or buffer.find(b'""', 0, end) >= 0
                edges |= here == QUOTE
            zero = here == ZERO
            if np.any(edges[:-2] & zero[1:-1] & (here[2:] - ZERO < 10)):
                return False, empty
            for sign in {PLUS, BLANK, TAB} - {part}:
                if buffer.find(sign, 0, end) >= 0:
                    found = here == sign
                    if np.any(edges[:-1] & found[1:]) or np.any(found[:-1] & edges[1:]):
                        return False, empty
            if buffer.find(b"-0", 0, end) >= 0:
                minus = edges[:-3] & (here[1:-2] == MINUS)
                if np.any(minus & zero[2:-1] & (here[3:] != POINT)):
                    return False, empty
            buffer[:3] = buffer[many : many + 3]
    return True, empty


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
        while block := file.read(PIECE):
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
    here, signs = part[1:-1], part == NEWLINE
    if b"\0" in block or (b"\r" in block and np.any((here == RETURN) & ~signs[2:])):
        return None
    signs |= part == delimiter
    if inside or b'"' in block:
        quotes = part == QUOTE
        signs |= quotes
        ends = signs | (part == RETURN)
        if np.any(quotes[1:-1] & ~(ends[:-2] | ends[2:])):
            return None
        found = _where(here, signs[1:-1])
        opened = found == QUOTE
        within = np.bitwise_xor.accumulate(opened.view(np.uint8)).view(np.bool_) ^ bool(inside)
        inside = (inside + int(np.count_nonzero(opened))) % 2
        found = _where(found, ~(within | opened))
    else:
        found = _where(here, signs[1:-1])
    closed = found == NEWLINE  # of every width of them the last, and no other
    due = closed[width - 1 - cells :: width]
    if cells >= width or not due.all() or np.count_nonzero(closed) != len(due):
        return None
    return inside, (len(found) + cells) % width


def _where(signs: NDArray[np.uint8], kept: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Return the signs that are kept; polars picks them several times as fast as NumPy."""
    import polars as pl

    return pl.Series(signs).filter(pl.Series(kept)).to_numpy()
