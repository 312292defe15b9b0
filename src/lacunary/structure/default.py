"""Which search is the default: for the best graph there is, wherever finding it is cheap."""

from __future__ import annotations

from math import log, prod

from lacunary.data.source import Source
from lacunary.structure.constraints import Constraints
from lacunary.structure.exact import Exact, asked_size
from lacunary.structure.method import SearchMethod
from lacunary.structure.reinsert import Reinsert
from lacunary.structure.scatter import Scatter
from lacunary.structure.tree import Tree

__all__ = ["default_method", "exact_seconds", "last_method"]

CHEAP = 10.0
"""Seconds the best graph is worth, by an estimate: the same call finds the same graph."""

MOST = 16
"""Variables above which exact search is not the default, however few their families."""

TURNS = 10
"""About how many searches structural EM takes."""

REPEATED = 2
"""About how many searches for the best of all graphs of a mixture it takes until none changes."""


def default_method(source: Source, constraints: Constraints) -> SearchMethod:
    """Return the search that is meant where none is named.

    With one parent at most the best graph is a forest, found at once. Elsewhere it is found by dynamic
    programming where that is cheap; else variables are taken out and put back.
    """
    if constraints.max_parents <= 1:
        return Tree()
    turns = TURNS if source.facts.holes.any() else 1
    few = len(constraints.schema) <= MOST
    return Exact() if few and turns * exact_seconds(source, constraints) <= CHEAP else Reinsert()


def last_method(source: Source, constraints: Constraints, networks: int) -> SearchMethod | None:
    """Return the search with which the graphs of so many networks end, where one is cheap; else none.

    The best of all graphs, or the best of those that reinsertion comes to from random graphs.
    """
    n = len(constraints.schema)
    if constraints.max_parents <= 1:
        return None
    if n <= MOST and REPEATED * networks * exact_seconds(source, constraints, shared=True) <= CHEAP:
        return Exact()
    scatter = Scatter()
    asked = 2.0 * n**2 * scatter.starts * networks  # families at most, by trial
    return scatter if asked * _ask_seconds(source, constraints.max_parents, shared=True) <= CHEAP else None


def exact_seconds(source: Source, constraints: Constraints, shared: bool = False) -> float:
    """Return about how long exact search takes, from the numbers of variables, parents, states and rows.

    Rows are ``shared`` where components of a mixture have parts of them.
    """
    n, most = len(constraints.schema), constraints.max_parents
    asked = sum(asked_size(int(many), most) for many in constraints.free.sum(axis=0))
    return asked * _ask_seconds(source, most, shared) + 2e-8 * n * 2.0**n * log(n + 1.0)


def _ask_seconds(source: Source, most: int, shared: bool) -> float:
    """Return about how long a score takes for a family and all that differ from it by one parent."""
    sizes = [variable.size for variable in source.schema if variable.discrete]
    rows, n = float(len(source)), len(source.schema)
    part = min(0.5, most / n)  # a family has half the variables, if it may
    configurations = float(prod(size**part for size in sizes))
    if len(sizes) < n:
        return 5e-5 + (1e-4 + 5e-9 * rows + 5e-6 * configurations if sizes else 0.0)
    if source.facts.holes.any():
        return 1e-3 + 1.5e-7 * rows * len(sizes)
    counted = min(rows, configurations) * sum(sizes)
    return 5e-5 + 2.5e-8 * counted + 1e-9 * rows if shared else 3e-5 + 6e-9 * counted + 1e-9 * rows
