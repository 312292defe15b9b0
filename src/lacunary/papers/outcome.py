"""What comes out of a paper's work: listings, drawings and answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from lacunary.papers.claims import Found
from lacunary.papers.unit import Results, Unit

__all__ = ["Drawing", "Listing", "Outcome", "Paper", "Size"]

Size = Literal["tiny", "glance", "full"]
"""How much of the work: what tests can afford, a few minutes, or all of it."""

Cell = str | int | float | None


@dataclass(frozen=True)
class Listing:
    """A table as it stands in a paper.

    Attributes
    ----------
    name
        What its files are called.
    title
        What it shows.
    columns
        The heads of its columns.
    rows
        The cells; None is empty, numbers are shown with four significant digits unless they are text.
    note
        What a reader should know.
    """

    name: str
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    note: str = ""


@dataclass(frozen=True)
class Drawing:
    """A figure; ``figure`` is matplotlib's."""

    name: str
    title: str
    caption: str
    figure: Any


@dataclass(frozen=True)
class Outcome:
    """All that is shown of a paper; ``found`` by the id of the claim, ``notes`` as paragraphs."""

    listings: Sequence[Listing] = ()
    drawings: Sequence[Drawing] = ()
    found: Mapping[str, Found] = field(default_factory=dict)
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Paper:
    """How a paper is reproduced."""

    units: Callable[[Size], Sequence[Unit]]
    outcome: Callable[[Results], Outcome]
    edition: int = 1
