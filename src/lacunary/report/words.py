"""What a report calls the things it speaks of."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Words", "minus", "percent", "plain"]


@dataclass(frozen=True)
class Words:
    """The words for one table.

    Attributes
    ----------
    title
        What the report is about.
    row, cell
        What a row and a cell stand for; an "s" makes them plural.
    source
        Where the data come from.
    """

    title: str = "Hidden classes"
    row: str = "row"
    cell: str = "cell"
    source: str = ""


def plain(name: str) -> str:
    """Return a column's name as people write it."""
    return name.replace("_", " ")


def percent(share: float) -> str:
    """Return a share in whole percent, but never rounded to all or nothing."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def minus(value: float, digits: int = 1) -> str:
    """Return a number with thousands parted and a proper minus sign."""
    return f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}")
