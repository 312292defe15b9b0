"""Which papers there are, and what comes out of a paper's work: listings, drawings and answers."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from lacunary import ParameterError
from lacunary.papers.claims import Claim, Found, read_claims
from lacunary.papers.work import Results, Unit

__all__ = ["Drawing", "Listing", "Outcome", "Paper", "Size", "claims_of", "keys", "paper"]

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
    """All that is shown of a paper; ``found`` by the id of the claim."""

    listings: Sequence[Listing] = ()
    drawings: Sequence[Drawing] = ()
    found: Mapping[str, Found] = field(default_factory=dict)


@dataclass(frozen=True)
class Paper:
    """How a paper is reproduced: ``plan`` gives the work of a size, ``outcome`` what the records show."""

    plan: Callable[[Size], Iterable[Unit]]
    outcome: Callable[[Results], Outcome]
    edition: int = 1

    def units(self, size: Size) -> list[Unit]:
        """Return the work for a size, in the order in which it is begun."""
        return list(self.plan(size))


HERE = Path(__file__).parent


def keys() -> list[str]:
    """Return the keys of all papers that can be reproduced."""
    found = (module.name for module in pkgutil.iter_modules([str(HERE)]) if module.ispkg)
    return sorted(key for key in found if (HERE / key / "run.py").exists())


def paper(key: str) -> Paper:
    """Return how a paper is reproduced."""
    if key not in keys():
        raise ParameterError(f"there is no paper {key!r}; there are {', '.join(keys())}")
    found: Paper = import_module(f"lacunary.papers.{key}.run").PAPER
    return found


def claims_of(key: str) -> tuple[Mapping[str, Any], tuple[Claim, ...]]:
    """Return the head of a paper and what it claims."""
    return read_claims(HERE / key / "claims.toml")
