"""Dates, times and durations: told from text, and made numbers that know their unit and where they begin."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.data.column import Labels, Moments, Numbers, at_midnight
from lacunary.data.stencil import Parts, bytes_of, days_of, parts_by
from lacunary.data.table import HOLE

__all__ = [
    "DECADE",
    "PARTS",
    "Dated",
    "by_stencil",
    "dated",
    "iso",
    "measured",
    "moments_of",
    "parts",
    "seconds_of",
    "written",
]

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
PARTS = ("year", "month", "weekday", "hour")
"""What dates are taken apart into."""

SECONDS = {"days": 86400.0, "hours": 3600.0, "minutes": 60.0, "seconds": 1.0}
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SAMPLE = 200

ELSEWHERE = {
    name: MONTHS[k]
    for language in (
        "januar februar märz april mai juni juli august september oktober november dezember",
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
        "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
        "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
        "januari februari maart april mei juni juli augustus september oktober november december",
    )
    for k, whole in enumerate(language.split())
    for name in (whole, whole[:3])
    if whole[:3] != "jui" or name == whole  # juin or juillet
}
"""Months in German, French, Spanish, Italian, Portuguese and Dutch, whole and by three letters."""

WORD = re.compile(r"[^\W\d_]+")
NAMED = r"(?P<named>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6})\.?"
CLOCK = r"(?P<H>\d{1,2}):(?P<M>\d{2})(?::(?P<S>\d{2})(?:[.,](?P<f>\d{1,9}))?)?\s*(?P<half>[AaPp]\.?[Mm]\.?)?"
LATER = rf"(?:(?:T|:|,?\s+(?:at\s+)?){CLOCK}\s*(?P<zone>Z|UTC|GMT|[+-]\d{{2}}:?\d{{2}}|[+-]\d{{2}})?)?"
WEEKDAY = rf"(?:(?:{'|'.join(WEEKDAYS)})[a-z]{{0,6}}\.?,?\s+)?"
FORMS = {
    form: re.compile(pattern + LATER, re.IGNORECASE)
    for form, pattern in {
        "year first": r"(?P<Y>\d{4})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<c>\d{1,2})",
        "digits": r"(?P<Y>(?:19|20|21)[0-9]{2})(?P<b>[0-9]{2})(?P<c>[0-9]{2})",
        "numbers": r"(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<Y>\d{4}|\d{2})",
        "day and name": WEEKDAY
        + rf"(?P<c>\d{{1,2}})(?:st|nd|rd|th)?[-/ .]\s*{NAMED}[-/ .,]\s*(?P<Y>\d{{4}}|\d{{2}})",
        "letters": rf"(?P<c>\d{{1,2}}){NAMED}(?P<Y>\d{{4}})",
        "name and day": WEEKDAY + rf"{NAMED}\s+(?P<c>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<Y>\d{{4}})",
    }.items()
}
"""How a date may be written; every cell of a column in the same way."""

COARSE = {
    "months": re.compile(r"(?P<Y>\d{4})[-/](?P<b>\d{1,2})"),
    "named months": re.compile(rf"{NAMED}[-/ ]\s*(?P<Y>\d{{4}})", re.IGNORECASE),
    "weeks": re.compile(r"(?P<Y>\d{4})-?W(?P<w>\d{2})(?:-?(?P<wd>[1-7]))?", re.IGNORECASE),
    "quarters": re.compile(r"(?P<Y>\d{4})[- ]?Q(?P<q>[1-4])", re.IGNORECASE),
    "quarters first": re.compile(r"Q(?P<q>[1-4])[-/ ]?(?P<Y>\d{4})", re.IGNORECASE),
}
TIME = re.compile(CLOCK)
LONG = re.compile(
    r"(?P<minus>-)?(?:(?P<d>\d+) days?,?\s*)?"
    r"(?:(?P<H>\d{1,4}):(?P<M>[0-5]\d)(?::(?P<S>[0-5]\d)(?:\.(?P<f>\d{1,9}))?)?)?"
)
ISO = re.compile(
    r"(?P<minus>-)?P(?:(?P<d>\d+(?:\.\d+)?)D)?(?:T(?:(?P<H>\d+(?:\.\d+)?)H)?(?:(?P<M>\d+(?:\.\d+)?)M)?"
    r"(?:(?P<S>\d+(?:\.\d+)?)S)?)?"
)
SHORT = re.compile(
    r"(?:(?P<d>\d+)\s*d\s*)?(?:(?P<H>\d+)\s*h\s*)?(?:(?P<M>\d+)\s*m(?:in)?\s*)?(?:(?P<S>\d+)\s*s)?"
)


RACE = re.compile(r"(?P<M>\d{1,3}):(?P<S>[0-5]\d)\.(?P<f>\d{1,9})")
DECADE = re.compile(r"(?:1\d|20)\d0s")


class Dated(NamedTuple):
    """The moments that texts stand for.

    Attributes
    ----------
    seconds
        Since 1970, or since midnight, or how long.
    kind, zone
        "dates", "times", "times of day" or "durations", and "UTC" if times had zones.
    said, doubt
        How texts were read, by an example; what else they might be, and what to say then.
    wall
        The same by the clocks on walls, where times have zones.
    """

    seconds: NDArray[np.float64]
    kind: str
    zone: str
    said: str
    doubt: str = ""
    wall: NDArray[np.float64] | None = None


def dated(texts: Sequence[str], day_first: bool | None = None) -> Dated | None:
    """Return the moments that texts stand for; None if one stands for none."""
    if not texts or not any(map(str.isdecimal, texts[0])):
        return None
    if len(texts) > 2 * SAMPLE and dated(texts[:SAMPLE], day_first) is None:
        return None
    if (letters := bytes_of(texts)) is not None and (found := by_stencil(letters, day_first)):
        return found
    plain = _english(texts)
    for form, pattern in FORMS.items():
        if cells := _all(pattern, plain):
            return _dates(texts, cells, form, day_first)
    for pattern in COARSE.values():
        if cells := _all(pattern, plain):
            return _coarse(texts, cells)
    return _clocks(texts) or _durations(texts)


def by_stencil(cells: NDArray[np.uint8], day_first: bool | None = None) -> Dated | None:
    """Return the moments of texts that are all written as the first is, digit for digit; None of others.

    ``cells`` has their letters, (texts, letters). Dates are in numbers, with years of four digits.
    """
    first = cells[0].tobytes().decode()
    for form in ("year first", "numbers"):
        if (cell := FORMS[form].fullmatch(first)) and len(cell["Y"]) == 4:
            break
    else:
        cell = TIME.fullmatch(first)
    if cell is None or cell["half"] or (found := parts_by(cells, cell)) is None:
        return None
    if "Y" not in found:
        clock = _clock_of(found)
        if clock is None:
            return None
        return _told_clocks(first, clock + found["f"] / 10.0 ** len(cell["f"]) if "f" in found else clock)
    if cell["zone"] not in (None, "Z", "z") or len(cell["f"] or "") > 6:
        return None
    return _dated_at_once(cells, cell, found, day_first)


def _dated_at_once(
    cells: NDArray[np.uint8], form: re.Match[str], found: Parts, day_first: bool | None
) -> Dated | None:
    """Return the dates, with times or without, whose numbers were found; None if one is none."""
    order: str | None = ""
    doubt = ""
    if "a" in found:
        order, doubt = _order(
            found["a"], found["b"], form["sep"], lambda k: cells[k].tobytes().decode(), day_first
        )
    if order is None:
        return None
    month, day = {"": ("b", "c"), "day first": ("b", "a"), "month first": ("a", "b")}[order]
    days = days_of(found["Y"], found[month], found[day])
    if days is None:
        return None
    seconds = np.asarray(86400.0 * days, dtype=np.float64)
    if timed := "H" in found:
        clock = _clock_of(found)
        if clock is None:
            return None
        seconds += clock
        if "f" in found:
            part = found["f"].astype(np.int64) * 10 ** (6 - len(form["f"]))
            ticks = 10**6 * seconds.astype(np.int64) + part
            if np.abs(ticks).max() >= 2**53:  # which doubles do not hold
                return None
            seconds = ticks.astype(np.float64) / 1e6  # which is exact: so the quotient rounds once
    zone = "UTC" if form["zone"] else ""
    said = _said(form[0], EPOCH + timedelta(seconds=float(seconds[0])), timed, zone)
    return Dated(seconds, "times" if timed else "dates", zone, said, doubt, seconds.copy() if zone else None)


def _clock_of(found: Parts) -> NDArray[np.float64] | None:
    """Return the whole seconds since midnight of times; None if one is none."""
    hour, minute, second = found["H"], found["M"], found.get("S")
    if hour.max() > 24 or minute.max() > 59 or (second is not None and second.max() > 60):
        return None
    out: NDArray[np.int32] = 3600 * hour.astype(np.int32) + 60 * minute.astype(np.int32)
    if second is not None:
        out += second
    return out.astype(np.float64)


def _said(text: str, moment: datetime, timed: bool, zone: str) -> str:
    return f"{text!r} is {moment.strftime('%d %b %Y' + (' %H:%M' if timed else ''))} {zone}".rstrip()


def _told_clocks(text: str, seconds: NDArray[np.float64]) -> Dated:
    return Dated(seconds, "times of day", "", f"{text!r} is {seconds[0] / 3600:.6g} hours since midnight")


def _english(texts: Sequence[str]) -> Sequence[str]:
    """Return texts with the months of other languages in English, if the first has one."""
    if not any(word.casefold() in ELSEWHERE for word in WORD.findall(texts[0])):
        return texts

    def english(found: re.Match[str]) -> str:
        return ELSEWHERE.get(found[0].casefold(), found[0])

    return [WORD.sub(english, re.sub(r"\s+de\s+", " ", text)) for text in texts]


def _all(pattern: re.Pattern[str], texts: Sequence[str]) -> list[re.Match[str]] | None:
    found: list[re.Match[str]] = []
    for text in texts:
        if len(text) > 60 or (cell := pattern.fullmatch(text)) is None or not text.isascii():
            return None
        found.append(cell)
    return found


def _dates(
    texts: Sequence[str], cells: Sequence[re.Match[str]], form: str, day_first: bool | None
) -> Dated | None:
    """Return dates of one form; None if a month has no such day, or only some times have a zone."""
    zones = {bool(cell["zone"]) for cell in cells if cell["H"]}
    if len(zones) > 1:
        return None
    order: str | None = ""
    doubt = ""
    if form == "numbers":
        a, b = (np.array([int(cell[k]) for cell in cells]) for k in "ab")
        order, doubt = _order(a, b, cells[0]["sep"], lambda k: cells[k][0], day_first)
    if order is None:
        return None
    try:
        moments = [_moment(cell, order) for cell in cells]
    except (ValueError, OverflowError):
        return None
    seconds = np.array([(moment - EPOCH).total_seconds() for moment in moments])
    timed = any(cell["H"] for cell in cells)
    zone = "UTC" if True in zones else ""
    short = form == "numbers" and any(len(cell["Y"]) == 2 for cell in cells)
    said = _said(texts[0], moments[0], timed, zone) + (
        "; years of two digits are those from 1969 to 2068" if short else ""
    )
    wall = seconds + [_offset(cell["zone"]) for cell in cells] if zone else None
    return Dated(seconds, "times" if timed else "dates", zone, said, doubt, wall)


def _order(
    a: NDArray[np.integer],
    b: NDArray[np.integer],
    sep: str,
    text: Callable[[int], str],
    day_first: bool | None,
) -> tuple[str | None, str]:
    """Return "day first" or "month first", None if neither holds for all cells, and what is doubtful.

    ``a`` and ``b`` are the first and the second number of every cell, ``sep`` what parts those of the first.
    """
    day, month = bool(a.max() > 12), bool(b.max() > 12)
    if (day and month) or (day and day_first is False) or (month and day_first):
        return None, ""
    if day or month:
        return ("day first" if day else "month first"), ""
    if day_first is not None:
        return ("day first" if day_first else "month first"), ""
    if sep == ".":
        return "day first", ""  # the custom wherever points are used
    if np.array_equal(a, b):
        return "day first", ""
    return "month first", (
        f"{text(int(np.argmax(a != b)))!r} may have the month or the day first, and no cell tells; read with "
        "the month first: day_first=True reads the other, day_first=False is for this one"
    )


def _moment(cell: re.Match[str], order: str) -> datetime:
    known = cell.groupdict()
    year = int(known["Y"])
    if len(known["Y"]) == 2:
        year += 2000 if year < 69 else 1900
    if known.get("named"):
        month, day = _month(known["named"]), int(known["c"])
    elif order:
        month, day = (
            (int(known["b"]), int(known["a"])) if order == "day first" else (int(known["a"]), int(known["b"]))
        )
    else:
        month, day = int(known["b"]), int(known["c"])
    start = datetime(year, month, day, tzinfo=UTC)
    return start + timedelta(seconds=_of_day(cell) - _offset(known["zone"])) if known["H"] else start


def _month(name: str) -> int:
    return [month.lower() for month in MONTHS].index(name[:3].lower()) + 1


def _of_day(cell: re.Match[str]) -> float:
    """Return the seconds since midnight of a time; a wrong one is a ValueError."""
    hour, minute, second = int(cell["H"]), int(cell["M"]), int(cell["S"] or 0)
    if cell["half"]:
        if not 1 <= hour <= 12:
            raise ValueError("no such hour")
        hour = hour % 12 + (12 if cell["half"][0] in "pP" else 0)
    if hour > 24 or minute > 59 or second > 60:
        raise ValueError("no such time")
    return 3600.0 * hour + 60.0 * minute + second + float(f"0.{cell['f'] or 0}")


def _offset(zone: str | None) -> float:
    if zone is None or zone.upper() in ("Z", "UTC", "GMT"):
        return 0.0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1.0 if zone[0] == "-" else 1.0) * (3600.0 * int(digits[:2]) + 60.0 * int(digits[2:]))


def _coarse(texts: Sequence[str], cells: Sequence[re.Match[str]]) -> Dated | None:
    """Return months, weeks and quarters as their first days."""
    try:
        days = [_first_day(cell) for cell in cells]
    except ValueError:
        return None
    seconds = np.array([(day - EPOCH).total_seconds() for day in days])
    first = "" if cells[0].groupdict().get("wd") else ", its first day"
    return Dated(seconds, "dates", "", f"{texts[0]!r} is taken as {days[0]:%d %b %Y}{first}")


def _first_day(cell: re.Match[str]) -> datetime:
    known = cell.groupdict()
    if week := known.get("w"):
        monday = date.fromisocalendar(int(known["Y"]), int(week), int(known["wd"] or 1))
        return datetime(monday.year, monday.month, monday.day, tzinfo=UTC)
    return datetime(int(known["Y"]), _first_month(cell), 1, tzinfo=UTC)


def _first_month(cell: re.Match[str]) -> int:
    known = cell.groupdict()
    if known.get("named"):
        return _month(known["named"])
    return 3 * int(known["q"]) - 2 if known.get("q") else int(known["b"])


def _clocks(texts: Sequence[str]) -> Dated | None:
    """Return times of day."""
    cells = _all(TIME, texts)
    try:
        seconds = np.array([_of_day(cell) for cell in cells or ()])
    except ValueError:
        return None
    return _told_clocks(texts[0], seconds) if cells else None


def _durations(texts: Sequence[str]) -> Dated | None:
    """Return durations: 36:15:00, 2 days 03:04:05, P1DT2H, 1h 30m, 3:25.7."""
    for pattern in (LONG, ISO, SHORT, RACE):
        cells = _all(pattern, texts)
        if cells and all(any(map(str.isdecimal, cell[0])) for cell in cells):
            seconds = np.array([_long(cell) for cell in cells])
            return Dated(seconds, "durations", "", f"{texts[0]!r} is {seconds[0]:.10g} seconds")
    return None


def _long(cell: re.Match[str]) -> float:
    known = cell.groupdict()
    units = (("d", 86400.0), ("H", 3600.0), ("M", 60.0), ("S", 1.0))
    total = sum(float(known[key]) * seconds for key, seconds in units if known.get(key))
    total += float(f"0.{known['f']}") if known.get("f") else 0.0
    return -total if known.get("minus") else total


# Typed cells


def moments_of(name: str, cells: Sequence[Any]) -> Moments | None:
    """Return Python's dates, times and durations as a column; None if a cell is something else."""
    types = {type(cell) for cell in cells if cell is not None}
    for kind, mine, seconds in KINDS:
        if types and all(issubclass(t, mine) for t in types):
            values = np.array([np.nan if cell is None else seconds(cell) for cell in cells])
            if kind == "times" and any(cell is not None and cell.tzinfo for cell in cells):
                wall = [np.nan if cell is None else seconds(cell.replace(tzinfo=None)) for cell in cells]
                return Moments(name, values, kind, "UTC", np.array(wall))
            return Moments(name, values, "dates" if kind == "times" and at_midnight(values) else kind)
    return None


def _since(moment: date) -> float:
    if isinstance(moment, datetime):
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return (aware - EPOCH).total_seconds()
    return (datetime(moment.year, moment.month, moment.day, tzinfo=UTC) - EPOCH).total_seconds()


def _clock(moment: time) -> float:
    return 3600.0 * moment.hour + 60.0 * moment.minute + moment.second + moment.microsecond / 1e6


KINDS: tuple[tuple[str, type | tuple[type, ...], Callable[[Any], float]], ...] = (
    ("times", datetime, _since),
    ("dates", date, _since),
    ("times of day", time, _clock),
    ("durations", timedelta, timedelta.total_seconds),
)


# Numbers of them


def measured(moments: Moments, unit: str | None = None) -> Numbers:
    """Return moments as numbers in a unit such as "days since 2024-01-31"; by default since the first."""
    finite = np.isfinite(moments.seconds)
    seen = moments.seconds if finite.all() else moments.seconds[finite]
    word, start = _parsed(unit) or _natural(moments, seen)
    name = f"{word} since midnight" if moments.kind == "times of day" else word
    if moments.kind in ("dates", "times"):
        name = f"{word} since {_shown(start, moments)}"
    values = moments.seconds - start
    values /= SECONDS[word]
    return Numbers(moments.name, values, unit or name)


def seconds_of(values: NDArray[np.float64], unit: str) -> NDArray[np.float64] | None:
    """Return the seconds that `measured` made numbers of; None if the unit is none of time."""
    found = _parsed(unit)
    return None if found is None else values * SECONDS[found[0]] + found[1]


def written(values: Sequence[float], unit: str) -> list[str] | None:
    """Return numbers that count from a moment as ISO 8601 writes these moments; None of other numbers."""
    seconds, start = seconds_of(np.array(values, dtype=np.float64), unit), unit.partition(" since ")[2]
    if seconds is None or not start:
        return None
    kind = "times of day" if start == "midnight" else "times" if ":" in start else "dates"
    labels = iso(Moments("", 86400.0 * np.round(seconds / 86400.0) if kind == "dates" else seconds, kind))
    zone = "Z" if start.endswith(" UTC") else ""
    return [labels.levels[code] + zone for code in labels.codes.tolist()]


def _natural(moments: Moments, seen: NDArray[np.float64]) -> tuple[str, float]:
    """Return the unit that suits, and the moment from which it counts."""
    if moments.kind == "times of day":
        return "hours", 0.0
    if moments.kind == "durations":
        typical = float(np.median(np.abs(seen))) if len(seen) else 0.0
        return next((word for word, size in SECONDS.items() if typical >= size), "seconds"), 0.0
    start = float(seen.min()) if len(seen) else 0.0
    if moments.kind == "dates":
        return "days", start
    span = float(seen.max()) - start if len(seen) else 0.0
    word = next((word for word, size in SECONDS.items() if span >= 2 * size), "seconds")
    return word, np.floor(start)


def _shown(start: float, moments: Moments) -> str:
    moment = EPOCH + timedelta(seconds=float(start))
    if moments.kind == "dates":
        return f"{moment:%Y-%m-%d}"
    return f"{moment:%Y-%m-%d %H:%M:%S} {moments.zone}".rstrip()


def _parsed(unit: str | None) -> tuple[str, float] | None:
    """Return what a unit counts and from which moment; None if it is no unit of time."""
    word, _, start = (unit or "").partition(" since ")
    if word not in SECONDS:
        return None
    if not start or start == "midnight":
        return word, 0.0
    found = dated([start.removesuffix(" UTC")])
    return (word, float(found.seconds[0])) if found else None


def parts(moments: Moments) -> Iterator[Labels | Numbers]:
    """Yield years, months, weekdays and, of times, hours; other moments are one number."""
    if moments.kind not in ("dates", "times"):
        yield measured(moments)
        return
    seen = np.isfinite(moments.seconds)
    clock = moments.seconds if moments.wall is None else moments.wall
    whole = np.where(seen, np.floor(clock), 0).astype("datetime64[s]")
    months, days = (whole.astype(f"datetime64[{unit}]").astype(np.int64) for unit in "MD")
    yield Numbers(f"{moments.name} year", np.where(seen, months // 12 + 1970, np.nan))
    yield _states(f"{moments.name} month", MONTHS, np.where(seen, months % 12, HOLE))
    yield _states(f"{moments.name} weekday", WEEKDAYS, np.where(seen, (days + 3) % 7, HOLE))
    if moments.kind == "times":
        hours = whole.astype("datetime64[h]").astype(np.int64) % 24
        yield Numbers(f"{moments.name} hour", np.where(seen, hours, np.nan))


def iso(moments: Moments) -> Labels:
    """Return moments as text: dates and times as ISO 8601 writes them."""
    numbers = Numbers(moments.name, moments.seconds).labels()
    if moments.kind == "durations":
        texts = [str(timedelta(seconds=float(second))) for second in numbers.levels]
    else:
        spoken = [EPOCH + timedelta(seconds=float(second)) for second in numbers.levels]
        form = {"dates": "%Y-%m-%d", "times of day": "%H:%M:%S"}.get(moments.kind, "%Y-%m-%d %H:%M:%S")
        texts = [moment.strftime(form) for moment in spoken]
    levels = tuple(dict.fromkeys(texts))
    where = np.array([*map(levels.index, texts), HOLE])
    return Labels(moments.name, levels, where[numbers.codes], moments.kind, declared=True)


def _states(name: str, labels: tuple[str, ...], codes: NDArray[np.int64]) -> Labels:
    return Labels(name, labels, codes, "a part of dates", declared=True, ordered=True)
