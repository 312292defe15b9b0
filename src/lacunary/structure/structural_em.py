"""Structural EM by its own name: `search` runs it wherever something is missing (TMCH98 section 5)."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from lacunary.structure.result import StructuralResult
from lacunary.structure.search import search

__all__ = ["StructuralResult", "structural_em"]

P = ParamSpec("P")
R = TypeVar("R")


def _signed(verb: Callable[P, R]) -> Callable[[Callable[..., R]], Callable[P, R]]:
    """Return a decorator that gives a function the signature of another, to readers and type checkers."""
    return lambda function: wraps(verb, assigned=())(function)


@_signed(search)
def structural_em(*args: Any, **options: Any) -> StructuralResult:
    """Return the graph that explains a table with holes best, found by turns of EM and search.

    It is `search` under the name of its algorithm, with the same parameters.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(1000, rng=0), 0.1, rng=0)
    >>> found = structural_em(rows, max_parents=3)
    >>> found.rounds[-1].cheeseman_stutz >= found.rounds[0].cheeseman_stutz
    True
    """
    return search(*args, **options)
