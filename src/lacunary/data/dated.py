"""Numbers that files of SPSS, Stata and SAS mean as dates and times, as the format of their column says.

These packages keep moments as numbers: SAS days or seconds, Stata days, milliseconds, weeks, months, quarters
or half-years since 1960, SPSS seconds since 1582.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta

__all__ = ["dated"]

Moment = date | datetime | time
_FIRST, _SPSS = datetime(1960, 1, 1), datetime(1582, 10, 14)

_SAS_DAYS = (
    r"DATE|DAY|DOWNAME|(?:DDMMYY|MMDDYY|YYMMDD)[BCDNPS]?|(?:MMYY|YYMM)[CDNPS]?|YYMON|MONYY|MONNAME|MONTH|QTRR?|"
    r"YYQ[CDNPSZ]?|YYQR[CDNPS]?|YEAR|YYWEEK[UVW]|JULIAN|JULDAY|WEEKDAT[EX]|WEEKDAY|WEEK[UVW]|WORDDAT[EX]|NENGO|"
    r"MINGUO|HDATE|HEBDATE|NLDATE\w*|[BE]8601DA|IS8601DA|[A-Z]{3}DF(?!DT)\w+"
)
_SAS_SECONDS = (
    r"DATETIME|DATEAMPM|DTDATE|DTMONYY|DTWKDATX|DTYEAR|DTYYQC|MDYAMPM|NLDATM\w*|[BE]8601(?:D[NTXZ]|LX)|IS8601D[TZ]|"
    r"[A-Z]{3}DFDT|YMDDTTM"
)
_CLOCK = r"TIME|TIMEAMPM|HHMM|HOUR|MMSS|NLTIM\w*|[BE]8601(?:T[MXZ]|LZ)|IS8601T[MZ]"


def _days(number: float) -> date:
    return (_FIRST + timedelta(days=number)).date()


def _seconds(number: float) -> datetime:
    return _FIRST + timedelta(seconds=number)


def _clock(number: float) -> time:
    if not 0 <= number < 86400:
        raise ValueError("longer than a day, and so no time of day")
    return _seconds(number).time()


def _months(each: int) -> Callable[[float], date]:
    def first(number: float) -> date:
        year, month = divmod(int(number) * each, 12)
        return date(1960 + year, month + 1, 1)

    return first


def _weeks(number: float) -> date:
    """Return the first day of a week: every year has 52 in Stata, the last one longer."""
    year, week = divmod(int(number), 52)
    return date(1960 + year, 1, 1) + timedelta(weeks=week)


_MEANT: dict[str, tuple[tuple[str, Callable[[float], Moment]], ...]] = {
    "sas": (
        (rf"(?:{_SAS_DAYS})\d*\.?\d*", _days),
        (rf"(?:{_SAS_SECONDS})\d*\.?\d*", _seconds),
        (rf"(?:{_CLOCK})\d*\.?\d*", _clock),
    ),
    "dta": (
        (r"%-?t?d.*", _days),
        (r"%-?t[cC].*", lambda number: _seconds(number / 1000)),
        (r"%-?tw.*", _weeks),
        (r"%-?tm.*", _months(1)),
        (r"%-?tq.*", _months(3)),
        (r"%-?th.*", _months(6)),
    ),
    "sav": (
        (r"(?:[AEJS]?DATE|MOYR|QYR|WKYR)\d*", lambda number: (_SPSS + timedelta(seconds=number)).date()),
        (r"(?:DATETIME|YMDHMS)\d*\.?\d*", lambda number: _SPSS + timedelta(seconds=number)),
        (r"(?:TIME|MTIME)\d*\.?\d*", _clock),
    ),
}
_MEANT |= {"sas7bdat": _MEANT["sas"], "xport": _MEANT["sas"], "por": _MEANT["sav"]}


def dated(values: Sequence[float | None], form: str, package: str) -> list[Moment | None] | None:
    """Return what numbers mean in a column of a format; None where that is no moment, or one is none.

    Examples
    --------
    >>> dated([23406.0, None], "MONYY7.", "sas7bdat")
    [datetime.date(2024, 1, 31), None]
    >>> dated([768.0], "%tm", "dta"), dated([1.5], "BEST12.", "sas7bdat")
    ([datetime.date(2024, 1, 1)], None)
    """
    meant = next((m for what, m in _MEANT.get(package, ()) if re.fullmatch(what, form, re.IGNORECASE)), None)
    if meant is None:
        return None
    try:
        return [None if value is None else meant(value) for value in values]
    except (OverflowError, ValueError):
        return None
