"""What a report calls the things it speaks of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, isfinite, log10

from lacunary.data.schema import Variable

__all__ = [
    "EVIDENCE",
    "Words",
    "agreement",
    "give_or_take",
    "joined",
    "method",
    "minus",
    "percent",
    "shortened",
    "significant",
    "with_unit",
]

PLAIN = 12
"""Numbers with more digits before the point have a power of ten."""

EVIDENCE = (
    "Estimates of the log marginal likelihood, in nats; higher is better. BIC, which charges log N / 2 for "
    "each free parameter at the maximum of the likelihood, is the roughest; the variational bound is never "
    "too high, and what lies below it (↓) is wrong."
)
NAMES = {
    "bic": "BIC",
    "sbic": "sBIC",
    "wbic": "WBIC",
    "cheeseman-stutz": "Cheeseman\N{EN DASH}Stutz",
    "laplace": "Laplace",
    "mled": "MLED",
    "ais": "AIS",
}
NUMBERS = ("no", "the one", "both", "all three", "all four", "all five", "all six")


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


def shortened(text: str, most: int) -> str:
    """Return a text of at most so many characters, with an ellipsis where it goes on."""
    return text if len(text) <= most else text[: most - 1] + "…"


def percent(share: float) -> str:
    """Return a share in whole percent, but never rounded to all or nothing."""
    if 0 < share < 0.005:
        return "<1%"
    return ">99%" if 0.995 <= share < 1 else f"{share:.0%}"


def give_or_take(mean: float, sd: float) -> str:
    """Return a mean and a standard deviation, both to the second digit of the latter."""
    digits = max(1 - floor(log10(sd)), 0) if sd > 0 else 0
    return f"{minus(mean, min(digits, 12))} ± {minus(sd, min(digits, 12))}"


def with_unit(variable: Variable) -> str:
    """Return a variable's name, and what it is measured in where that is known."""
    return f"{variable.name} ({variable.unit})" if variable.unit else variable.name


def minus(value: float, digits: int = 1) -> str:
    """Return a number with thousands parted and a proper minus sign."""
    return f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def significant(value: float, digits: int) -> str:
    """Return a number to so many digits; only of very large and very small ones with a power of ten."""
    size = floor(log10(abs(value))) if value and isfinite(value) else 0
    if not -digits <= size < PLAIN:
        return f"{value:.{digits}g}".replace("-", "\N{MINUS SIGN}")
    text = minus(value, max(digits - 1 - size, 0))
    return text.rstrip("0").rstrip(".") if "." in text else text


def method(name: str) -> str:
    """Return an estimate's name as people write it."""
    return NAMES.get(name, name)


def joined(words: Sequence[str]) -> str:
    """Return words with commas and an "and" between."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def agreement(favourites: Mapping[str, Sequence[str]]) -> str:
    """Say which estimates speak for which model."""
    groups = list(favourites.values())
    count = sum(map(len, groups))
    if not groups:
        return "No estimate can tell the models apart."
    if len(groups) == 1:
        all_of_them = NUMBERS[count] if count < len(NUMBERS) else f"all {count}"
        said = f"{all_of_them} estimate{'s speak' if count > 1 else ' speaks'} for {next(iter(favourites))}"
    else:
        said = "; ".join(
            f"{joined([method(m) for m in methods])} speak{'s' if len(methods) == 1 else ''} for {name}"
            for name, methods in sorted(favourites.items(), key=lambda item: -len(item[1]))
        )
    return f"{said[0].upper()}{said[1:]}."
