"""How many hidden variables there are: by trial, one more as long as the evidence rises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lacunary.budget import budgeted
from lacunary.data.read import read
from lacunary.errors import ParameterError
from lacunary.structure.result import StructuralResult, Trial
from lacunary.structure.search import search

__all__ = ["search_hidden"]


@budgeted
def search_hidden(
    table: Any, *, most: int = 2, states: Sequence[int] = (2, 3), name: str = "H", **options: Any
) -> StructuralResult:
    """Return the best graph with hidden variables: none, one, two, as long as the evidence rises.

    Each further hidden variable, ``H1``, ``H2``, …, is tried with every number of ``states``; those
    before it keep theirs (TMCH98 section 5). The evidence is estimated as ``choose`` says.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path.
    most
        How many hidden variables are tried at most.
    states
        The numbers of states to try.
    name
        What hidden variables are called, before their number.
    **options
        As of `search`; ``trials`` of the result holds the score of every choice.

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("H -> A B C D", hidden="H")
    >>> strong = {name: [[0.9, 0.1], [0.1, 0.9]] for name in "ABCD"}
    >>> rows = lac.Network.from_tables(graph, {"H": [0.5, 0.5], **strong}).sample(300, rng=0)
    >>> found = lac.search_hidden(rows.select(["A", "B", "C", "D"]), most=1, states=(2,))
    >>> len(found.dag.names)
    5
    """
    if isinstance(most, bool) or int(most) != most or most < 0:
        raise ParameterError(f"most must be a whole number, zero or more, not {most!r}")
    if "hidden" in options:
        raise ParameterError("hidden variables are what is searched for; give either hidden or most")
    rows = read(table)
    taken = [f"{name}{k + 1}" for k in range(most) if f"{name}{k + 1}" in rows.schema]
    if taken:
        raise ParameterError(f"there is a variable {taken[0]} already; give another name than {name!r}")
    if not states:
        raise ParameterError("states must name at least one number of states to try")
    kept: dict[str, int] = {}
    tried: dict[Trial, float] = {}
    found = search(rows, **options) if most == 0 else None
    for k in range(1, most + 1):
        # With one state the variable is absent, so that the model without it is among the trials.
        found = search(rows, hidden={**kept, f"{name}{k}": (1, *states)}, **options)
        assert found.trials is not None
        tried |= found.trials
        kept = found.chosen
        if found.interrupted or kept[f"{name}{k}"] == 1:
            break
    assert found is not None
    return replace(found, trials=tried)
