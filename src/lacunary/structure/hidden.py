"""Hidden variables in a search: what they are called, how many states they have, where they point first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from lacunary.data.schema import Schema, Variable
from lacunary.data.source import Source
from lacunary.errors import ParameterError
from lacunary.model.dag import Dag
from lacunary.structure.constraints import Constraints
from lacunary.structure.result import Trial
from lacunary.structure.sketch import Sketch
from lacunary.structure.walk import dag_of

__all__ = ["Hidden", "Trial", "start_of", "trials", "with_hidden"]

Hidden = Mapping[str, int | Iterable[int]] | Sequence[str]
"""Hidden variables: the number of states of each, or the numbers to try; names alone have two states."""

MOST_STATES, MOST_TRIALS = 1000, 1000


def trials(hidden: Any) -> list[Trial]:
    """Return every choice of numbers of states, as a product over the hidden variables.

    >>> trials({"H": [1, 2], "G": 2})
    [(('H', 1), ('G', 2)), (('H', 2), ('G', 2))]
    """
    if hidden is None:
        return [()]
    if isinstance(hidden, str):
        hidden = [hidden]
    if not isinstance(hidden, Mapping):
        try:
            hidden = dict.fromkeys(hidden, 2)
        except TypeError:
            raise ParameterError(
                f"hidden is a mapping from names to states, such as {{'H': 3}}, not {hidden!r}"
            ) from None
    choices = [[(name, k) for k in _numbers(name, states)] for name, states in hidden.items()]
    if np.prod([float(len(each)) for each in choices]) > MOST_TRIALS:
        raise ParameterError(f"more than {MOST_TRIALS} choices of hidden states; try fewer at a time")
    return list(product(*choices))


def _numbers(name: str, states: Any) -> list[int]:
    if not isinstance(name, str):
        raise ParameterError(f"a hidden variable is called by a text, not {name!r}")
    given = [states] if isinstance(states, int | np.integer) else states
    try:
        out = [int(k) for k in given]
        whole = all(k == number for k, number in zip(out, given, strict=True)) and not isinstance(given, str)
    except (TypeError, ValueError):
        whole = False
    if not whole or not out or not all(1 <= k <= MOST_STATES for k in out):
        raise ParameterError(
            f"{name}: the states of a hidden variable are a number from 1 to {MOST_STATES}, "
            f"or several to try, not {states!r}"
        )
    return out


def with_hidden(source: Source, trial: Trial) -> Source:
    """Return the rows with hidden variables at their end; those of one state are left out."""
    new = [Variable(name, tuple(range(k)), hidden=True) for name, k in trial if k > 1]
    return source.align(source.schema.extend(new)) if new else source


def start_of(constraints: Constraints, given: Dag | None) -> Dag:
    """Return the initial graph: the one given, or an arc from every hidden variable to every observable.

    TMCH98 section 5: from a graph without arcs nothing would ever be joined to a hidden variable.
    What the constraints forbid is left out, and so are arcs for which a variable has no room.
    """
    schema = constraints.schema
    if given is not None:
        return dag_of(schema, constraints.start(_over(schema, given)))
    graph = Sketch(constraints.start(None))
    for tail, variable in enumerate(schema):
        for head, other in enumerate(schema):
            room = graph.many[head] < constraints.max_parents
            wanted = variable.hidden and not other.hidden and constraints.free[tail, head]
            if wanted and room and graph.may_add(tail, head):
                graph.add(tail, head)
    return dag_of(schema, graph.parents)


def _over(schema: Schema, dag: Dag) -> Dag:
    """Return a graph over some of the variables as one over all; new hidden ones point at all others."""
    arcs = list(dag.arcs)
    fresh = [v.name for v in schema if v.hidden and v.name not in dag.schema]
    arcs += [(name, v.name) for name in fresh for v in schema if not v.hidden]
    return Dag.from_arcs(schema, arcs)
