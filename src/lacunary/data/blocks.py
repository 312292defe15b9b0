"""Cells that belong to more than one table: a second one below, and what to say then."""

from __future__ import annotations

from collections.abc import Sequence

from lacunary.data.column import parse_number

__all__ = ["has_numbers", "second_table"]

Cells = Sequence[Sequence[str | None]]


def second_table(cells: Cells, first: int, last: int) -> str:
    """Return that another table seems to begin after a blank line, and the options that read one of them.

    ``cells`` are all lines, of which those from ``first``, the line of names, up to ``last`` are the table.
    """
    told = [any(cell and cell.strip() for cell in line) for line in cells[:last]]
    for k in range(first + 3, last - 1):
        if told[k] and not told[k - 1] and told[k + 1] and _begins(cells, k, told[:k]):
            one, two = [cell for cell in cells[k] if cell and cell.strip()][:2]
            names = f"{one.strip()[:30]!r}, {two.strip()[:30]!r}"
            return (
                f"line {k + 1}, after a blank one, may name the columns of another table: {names}; "
                f"skip_end={sum(told[k:])} leaves that out, skip={k} reads it alone"
            )
    return ""


def _begins(cells: Cells, k: int, told: Sequence[bool]) -> bool:
    """Whether a line of different words stands between rows that have numbers."""
    names = [cell.strip() for cell in cells[k] if cell and cell.strip()]
    above = next(place for place in reversed(range(k)) if told[place])
    words = len(names) > 1 and len({*names}) == len(names) and not has_numbers(names)
    return words and has_numbers(cells[k + 1]) and has_numbers(cells[above])


def has_numbers(cells: Sequence[str | None]) -> bool:
    """Whether a cell is a plain number, with a point or a comma."""
    told = (cell.strip().replace(",", ".") for cell in cells if cell)
    return any(cell and parse_number(cell) is not None for cell in told)
