"""Numbers as people write them: with thousands apart, currencies, per cent signs, units, in parentheses.

A column is read by one rule: every cell must be a number in the same dress, or none is. What the cells leave
open, as ``1,234`` does, is decided by custom and comes with a doubt.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.data.column import CODE
from lacunary.errors import ParameterError

__all__ = ["THOUSANDS", "Spelled", "Spelling", "different_units", "looks_pointed", "spelled"]

SAMPLE = 200
"""Texts that are looked at before all are."""

SINGLE = frozenset("mgshldkWVNJ%‰°€£¥₹₽₩₺₪₫฿₴₦₱$")
"""Units of one letter; others, as in 5A and 7A, are parts of a code where no number has decimals."""

ORDINALS = frozenset({"st", "nd", "rd", "th", "none"})

SCALES = {"k": 1e3, "K": 1e3, "M": 1e6, "B": 1e9, "bn": 1e9}
"""What letters behind numbers multiply them by."""

THOUSANDS = (",", ".", " ", "'", "")
"""What may part thousands; nothing, if no sign does."""

ALIKE = str.maketrans({**dict.fromkeys("\xa0\u202f\u2009", " "), "\u2019": "'", "\u2212": "-", "\u2013": "-"})
"""Blanks, apostrophes and minus signs that look alike and are."""

CODES = (
    "AED ARS AUD BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP HKD HUF IDR ILS INR ISK JPY KES KRW MAD MXN "
    "MYR NGN NOK NZD PEN PHP PKR PLN RON RSD RUB SAR SEK SGD THB TRY TWD UAH USD VND ZAR"
)
CURRENCY = rf"(?:US|AU|CA|NZ|HK|A|C|S|R)?\$|[€£¥₹₽₩₺₪₫฿₴₦₱]|zł|kr\.?|Kč|Fr\.?|{CODES.replace(' ', '|')}"
UNIT = r"[^\W\d_]|[%‰°€$£¥₹₽₩₺₪₫฿₴₦₱]"
CELL = re.compile(
    rf"(?:(?P<lead>{CURRENCY})\s*(?=\())?"
    rf"(?P<open>\()?\s*(?P<minus>[+-])?\s*(?P<money>{CURRENCY})?\s*(?P<minus2>[+-])?\s*"
    rf"(?P<body>\d[\d.,' ]*(?:(?:[eE][+-]?|[dD][+-])\d+(?![^\W_]))?|[.,]\d+)\s*"
    rf"(?P<unit>(?:{UNIT})[^\s()]{{0,11}}(?: [^\W\d_]{{1,11}})?)?\s*(?P<after>-)?\s*(?(open)\))"
)
"""A number in its dress: parentheses, sign, currency, digits with signs between, unit, minus at the end."""

COMMAS = re.compile(r"(?:-?(?:0|[1-9][0-9]{0,14})(?:,[0-9]{1,40})?(?:\n|\Z))+")
NO_THOUSANDS = re.compile(r",(?:[0-9]{1,2}|[0-9]{4,})(?:\n|\Z)")
"""Numbers a line, of which one shows that a comma does not part thousands."""


@dataclass(frozen=True)
class Spelling:
    """How numbers and dates are written, as far as that is said; see `lacunary.read`."""

    decimal: str | None = None
    thousands: str | None = None
    dates: str | Mapping[str, str] = "days"
    day_first: bool | None = None

    def __post_init__(self) -> None:
        if self.decimal not in (".", ",", None):
            raise ParameterError(f"decimal must be '.' or ',', not {self.decimal!r}")
        if self.thousands not in (*THOUSANDS, None):
            raise ParameterError(
                f"thousands must be one of {', '.join(map(repr, THOUSANDS))}, not {self.thousands!r}"
            )
        if self.thousands and self.thousands == self.decimal:
            raise ParameterError(f"{self.decimal!r} cannot both part thousands and come before decimals")
        modes = [self.dates] if isinstance(self.dates, str) else self.dates.values()
        for mode in modes:
            if mode not in ("days", "parts", "text"):
                raise ParameterError(f"dates must be 'days', 'parts' or 'text', not {mode!r}")

    def dates_of(self, name: str) -> str:
        """Return what becomes of the dates of a column: "days", "parts" or "text"."""
        return self.dates if isinstance(self.dates, str) else self.dates.get(name, "days")


class Dialect(NamedTuple):
    """What parts thousands, and what comes before decimals."""

    group: str
    decimal: str


class Spelled(NamedTuple):
    """The numbers that texts stand for.

    Attributes
    ----------
    values
        The numbers.
    unit
        The unit or currency that all texts have, if any.
    said
        How texts were read, by an example or two.
    doubt
        What else they might be, and what to say then; empty if nothing is open.
    dialect
        What parts thousands, and what comes before decimals.
    """

    values: NDArray[np.float64]
    unit: str
    said: str
    doubt: str = ""
    dialect: Dialect = Dialect("", ".")


DIALECTS = [
    Dialect("", "."), Dialect(",", "."), Dialect("", ","), Dialect(".", ","), Dialect(" ", "."),
    Dialect(" ", ","), Dialect("'", "."), Dialect("'", ","),
]  # fmt: skip


def spelled(texts: Sequence[str], how: Spelling) -> Spelled | None:
    """Return the numbers that texts stand for; None if one stands for none, or their units differ."""
    if (plain := _with_commas(texts, how)) is not None:
        return plain
    if len(texts) > 2 * SAMPLE and spelled(texts[:SAMPLE], how) is None:
        return None  # most columns of many texts are none, and their first texts show it
    cells = _cells(texts)
    unit = _one_unit(cells) if cells else None
    scales = _scales(cells) if cells else None
    if not cells or (unit is None and scales is None) or _is_a_code(unit or "", cells):
        return None
    unit = "" if scales is not None else unit or ""
    bodies = [cell["body"].strip() for cell in cells]
    fits = [dialect for dialect in _allowed(how) if all(map(_number(*dialect).fullmatch, bodies))]
    if not fits or (not unit and any(map(CODE.match, bodies))):
        return None
    signs = np.array([_sign(cell) for cell in cells])
    readings = [signs * _values(bodies, dialect) for dialect in fits]
    if scales is not None:
        readings = [values * scales for values in readings]
    chosen = _customary(fits, money=bool(re.fullmatch(CURRENCY, unit)))
    values = readings[chosen]
    other = next((k for k, found in enumerate(readings) if not np.array_equal(found, values)), None)
    doubt = ""
    if other is not None and not _told(bodies, fits[chosen]):
        doubt = _doubt(texts, values, readings[other], fits[other])
    if not doubt and how.decimal == "," and fits[chosen].group == "" and _looks_grouped(bodies):
        doubt = f"{texts[0]!r} is read as {values[0]:.12g}, with a decimal comma; thousands=',' reads whole"
        doubt += " thousands"
    return Spelled(values, unit, _examples(texts, values, cells), doubt, fits[chosen])


def _with_commas(texts: Sequence[str], how: Spelling) -> Spelled | None:
    """Return numbers that have a decimal comma and no other dress, at once; None of others, and in doubt."""
    if how.decimal == "." or how.thousands == ",":
        return None
    joined = "\n".join(texts)
    if not COMMAS.fullmatch(joined) or not NO_THOUSANDS.search(joined):
        return None
    values = np.array(list(map(float, joined.replace(",", ".").split("\n"))))
    return Spelled(values, "", _examples(texts, values, ()), dialect=Dialect("", ","))


def different_units(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the units of texts that are all numbers, if these are not the same."""
    cells = _cells(texts)
    if not cells or _one_unit(cells) is not None:
        return ()
    units = tuple(dict.fromkeys(_unit(cell) or "none" for cell in cells))
    named = {*units} <= ORDINALS or any(any(map(str.isdecimal, unit)) for unit in units)  # 1st, 0x1F
    return () if named else units


def _cells(texts: Iterable[str]) -> list[re.Match[str]] | None:
    """Return the parts of all cells; None as soon as one is no number."""
    found: list[re.Match[str]] = []
    for text in texts:
        if len(text) > 60 or not (cell := CELL.fullmatch(text.translate(ALIKE))):
            return None
        signs = [cell["open"], cell["minus"], cell["minus2"], cell["after"]]
        units = [cell["lead"], cell["money"], cell["unit"]]
        if not cell["body"].isascii() or sum(map(bool, signs)) > 1 or sum(map(bool, units)) > 1:
            return None
        found.append(cell)
    return found


def _one_unit(cells: Sequence[re.Match[str]]) -> str | None:
    """Return the unit that all numbers have, zeros aside; empty if none has one, None if they differ."""
    units = {
        _unit(cell): cell for cell in cells if not (cell["body"].strip("0., ") == "" and not _unit(cell))
    }
    known = list(units) or [""]
    if len(known) == 2 and known[0].rstrip("s") == known[1].rstrip("s"):
        return max(known, key=len)  # one year, two years
    return known[0] if len(known) == 1 else None


def _scales(cells: Sequence[re.Match[str]]) -> NDArray[np.float64] | None:
    """Return by what k, M or bn behind numbers multiply them; None if there are others, or none."""
    units = [_unit(cell) for cell in cells]
    if not set(units) <= {*SCALES, ""} or set(units) <= {"", "K"}:
        return None
    return np.array([SCALES.get(unit, 1.0) for unit in units])


def _is_a_code(unit: str, cells: Sequence[re.Match[str]]) -> bool:
    return (
        len(unit) == 1 and unit not in SINGLE and not any("." in c["body"] or "," in c["body"] for c in cells)
    )


def _unit(cell: re.Match[str]) -> str:
    return (cell["lead"] or cell["money"] or cell["unit"] or "").strip()


def _sign(cell: re.Match[str]) -> float:
    return -1.0 if cell["open"] or "-" in (cell["minus"], cell["minus2"], cell["after"]) else 1.0


def _allowed(how: Spelling) -> Iterator[Dialect]:
    for dialect in DIALECTS:
        if how.thousands is not None and dialect.group not in (how.thousands, ""):
            continue
        if how.thousands and dialect.decimal == how.thousands:
            continue
        if how.decimal is None or dialect.decimal == how.decimal:
            yield dialect


@cache
def _number(group: str, decimal: str) -> re.Pattern[str]:
    point = re.escape(decimal)
    whole = r"\d+"
    if group == ",":
        whole = r"(?:[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d?(?:,\d{2})+,\d{3}|\d+)"  # as in India, too
    elif group:
        whole = rf"(?:[1-9]\d{{0,2}}(?:{re.escape(group)}\d{{3}})+|\d+)"
    return re.compile(
        rf"(?:{whole}(?:{point}\d*)?|{point}\d+)(?:(?:[eE][+-]?|[dD][+-])\d+)?"
    )  # D as Fortran has it


def _values(bodies: Sequence[str], dialect: Dialect) -> NDArray[np.float64]:
    table = str.maketrans({dialect.group or "\0": "", dialect.decimal: ".", "d": "e", "D": "e"})
    return np.array([float(body.translate(table)) for body in bodies])


def _customary(fits: Sequence[Dialect], money: bool) -> int:
    """Return which reading is usual: a point is decimal, a comma parts thousands; of amounts both do."""
    if len(fits) > 1 and fits[0] == ("", ".") and money and Dialect(".", ",") in fits:
        return fits.index(Dialect(".", ","))
    return 0


def _told(bodies: Sequence[str], dialect: Dialect) -> bool:
    """Whether cells without any sign between show that the others' sign parts thousands."""
    return bool(dialect.group) and any(body.isdecimal() and len(body) <= 3 for body in bodies)


def _looks_grouped(bodies: Sequence[str]) -> bool:
    grouped = re.compile(r"[1-9]\d{0,2},\d{3}")
    return all(body.isdecimal() or grouped.fullmatch(body) for body in bodies) and any(
        "," in b for b in bodies
    )


def looks_pointed(texts: Sequence[str]) -> bool:
    """Whether plain numbers may have points between thousands: 1.234 beside 999, and nothing else."""
    return may_be_pointed(texts) and len({"." in text for text in texts}) == 2


def may_be_pointed(texts: Sequence[str]) -> bool:
    """Whether each of plain numbers is written as if points parted thousands."""
    pointed = re.compile(r"-?(?:[1-9][0-9]{0,2}\.[0-9]{3}|[0-9]{1,3})")
    return all(map(pointed.fullmatch, texts))


def _doubt(
    texts: Sequence[str], values: NDArray[np.float64], others: NDArray[np.float64], other: Dialect
) -> str:
    place = int(np.argmax(values != others))
    return (
        f"{texts[place]!r} may be {values[place]:.12g} or {others[place]:.12g}, and no cell tells; read as "
        f"{values[place]:.12g}: decimal={other.decimal!r} reads the other, "
        f"decimal={'.' if other.decimal == ',' else ','!r} is for this one"
    )


def _examples(texts: Sequence[str], values: NDArray[np.float64], cells: Sequence[re.Match[str]]) -> str:
    """Return how texts were read, by the longest one and by one that is negative in its own way."""
    chosen = [max(range(len(texts)), key=lambda k: len(texts[k]))]
    odd = (k for k, cell in enumerate(cells) if (cell["open"] or cell["after"]) and k not in chosen)
    shown = [*chosen, *([k] if (k := next(odd, None)) is not None else [])]
    return ", ".join(f"{texts[k]!r} is read as {values[k]:.12g}" for k in shown)
