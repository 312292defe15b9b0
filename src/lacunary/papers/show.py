"""Numbers and tables as people read them."""

from __future__ import annotations

from textwrap import fill

from lacunary.papers.claims import Judged
from lacunary.papers.outcome import Cell, Listing

__all__ = ["cell", "error_text", "in_columns", "minus", "time_text", "told", "value_text"]


def minus(text: str) -> str:
    """Return a text with true minus signs for its hyphens."""
    return text.replace("-", "\N{MINUS SIGN}")


def cell(value: Cell) -> str:
    """Return a cell: text as it is, numbers with four significant digits, nothing for None."""
    if value is None:
        return ""
    if isinstance(value, bool | str | int):
        return minus(str(value)) if isinstance(value, int) else str(value)
    return minus(f"{value:.4g}" if abs(value) < 1e4 else f"{value:.1f}")


def value_text(judged: Judged) -> str:
    """Return what was found."""
    return "" if judged.found is None else cell(judged.found.value)


def error_text(judged: Judged) -> str:
    """Return the standard error of what was found."""
    found = judged.found
    return "" if found is None or found.error is None else f"± {found.error:.2g}"


def time_text(judged: Judged) -> str:
    """Return how long it took us."""
    found = judged.found
    if found is None or found.seconds is None:
        return ""
    seconds = found.seconds
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def told(judged: Judged) -> str:
    """Return a claim, its verdict and the evidence as a paragraph."""
    claim = judged.claim
    where = f" ({claim.where})" if claim.where else ""
    numbers = [
        f"printed {cell(claim.printed)}" if claim.printed != "" else "",
        f"ours {value_text(judged)} {error_text(judged)}".strip() if judged.found else "",
        f"allowed ± {cell(judged.margin)}" if judged.margin is not None else "",
        f"then {claim.then}" if claim.then else "",
        f"now {time_text(judged)}" if time_text(judged) else "",
    ]
    lines = [
        f"{judged.verdict.upper()}: {claim.says}{where} [{claim.id}]",
        "; ".join(number for number in numbers if number),
        claim.why and f"Tolerance: {claim.why}.",
        judged.note,
    ]
    return "".join(
        fill(line, 110, initial_indent=indent, subsequent_indent="    ") + "\n"
        for line, indent in zip(lines, ("", "    ", "    ", "    "), strict=True)
        if line
    )


def in_columns(listing: Listing) -> str:
    """Return a listing as text with its columns under one another."""
    grid = [list(listing.columns), *([cell(value) for value in row] for row in listing.rows)]
    widths = [max(len(row[i]) for row in grid) for i in range(len(listing.columns))]
    numbers = [
        all(value is None or not isinstance(value, str) for value in column)
        for column in (zip(*listing.rows, strict=True) if listing.rows else [[]] * len(listing.columns))
    ]
    lines = [
        "  ".join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numbers, strict=True)
        ).rstrip()
        for row in grid
    ]
    return "\n".join([listing.title, "", *lines, *(["", listing.note] if listing.note else []), ""])
