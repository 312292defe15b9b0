"""How many parameter vectors say the same, because nobody sees what hidden states and variables are called.

Renaming the k states of a hidden variable gives k! of them, and hidden variables that stand in the same
place of the graph can be swapped. A generic peak of the posterior thus comes with that many equal ones,
provided that the prior does not tell them apart: priors that give all states of a hidden variable the
same hyperparameters, as the uniform ones do, do not. (Where a swap would turn arcs between hidden
variables round, new parameters can make up for it, but they are not the old ones in another order and
most priors do tell them apart: such swaps are not counted.)
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise, permutations
from math import lgamma, log

import numpy as np

from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag
from lacunary.model.graph import merged
from lacunary.model.swaps import Swaps

__all__ = ["check_symmetric", "log_symmetry"]

OCCUPIED = 0.5
"""Rows that must be expected in a state for it to count as occupied."""

MOVABLE = 6
"""Hidden variables, some of them continuous, whose exchanges are all tried; with more, none are."""


def log_symmetry(dag: Dag, counts: Array | None = None) -> float:
    """Return the log of the number of relabellings that leave the observable distribution as it is.

    They are the renamings of each hidden variable's states, the mirror image of each hidden variable that is
    continuous, and the permutations of hidden variables with equally many states that keep every arc.
    Variables with one state count for nothing, nor do hidden ones without observed descendants: their
    posterior is their prior, with one peak. Where tied families share a table, only relabellings that do the
    same to both are possible. With continuous variables, permutations of more than six hidden ones are not
    counted.

    With expected ``counts`` only states that rows are in count: empty ones are all alike, and k states of
    which m are occupied have k!/(k − m)! different labellings and not k!.
    """
    seen = _seen(dag)
    kept = {v for v in seen if dag.schema.sizes[v] > 1}
    graph = Swaps(dag, kept)
    full = {v: dag.schema.sizes[v] if counts is None else _occupied(dag, counts, v) for v in graph.hidden}
    if not dag.continuous:
        return _log_renamings(graph, full) + graph.log_count()
    hidden = [v for v in kept if dag.schema.variables[v].hidden]
    mirrored = [v for v in seen if dag.schema.variables[v].hidden and not dag.schema.sizes[v]]
    return _log_renamings(graph, full) + len(mirrored) * log(2) + _log_places(dag, [*hidden, *mirrored])


def check_symmetric(belief: Belief) -> None:
    """Refuse a belief that tells a hidden variable's states apart: relabelled peaks are not equal then."""
    layout, schema = belief.dag.layout, belief.dag.schema
    for name in schema.hidden:
        v = schema.index(name)
        for i, members in enumerate(layout.members):
            if v not in members or not layout.sizes[v]:
                continue
            sizes = [layout.sizes[m] for m in members if layout.sizes[m]]
            axis = [m for m in members if layout.sizes[m]].index(v)
            if layout.sizes[i]:
                table = belief.alpha[layout.slice(i)].reshape(sizes)
            else:
                table = belief.hyper(i).reshape([*sizes, layout.widths[i][1]])
            if not np.allclose(table, table.mean(axis=axis, keepdims=True), rtol=1e-9, atol=0.0):
                raise ParameterError(
                    f"the prior tells the states of {name} apart, so that peaks with its states renamed are "
                    "not equally high and cannot be counted; leave symmetry out, or use a prior such as "
                    "Dirichlet(1) or bdeu(1)"
                )
    _check_mirrored(belief)


def _check_mirrored(belief: Belief) -> None:
    """Refuse a belief that tells a hidden continuous variable from its negative."""
    layout, schema = belief.dag.layout, belief.dag.schema
    for i, family in belief.dag.numeric:
        if not family.linear:
            continue
        names = [*layout.regressors[i], i]
        for k, v in enumerate(names):
            moments = layout.moments(belief.alpha, i)[:, k + 1]
            if schema.variables[v].hidden and np.any(np.delete(moments, k + 1, axis=1) != 0.0):
                raise ParameterError(
                    f"the prior tells {schema.names[v]} from its mirror image, so that peaks with its sign "
                    "turned are not equally high and cannot be counted; leave symmetry out, or use a prior "
                    "in which it has mean zero and no correlation"
                )


def _log_places(dag: Dag, hidden: list[int]) -> float:
    """Return the log of the number of ways for hidden variables to change places; none if they are many."""
    parents = [frozenset(ps) for ps in dag.parent_indices]

    def keeps(swap: dict[int, int]) -> bool:
        sizes = all(dag.schema.sizes[a] == dag.schema.sizes[b] for a, b in swap.items())
        moved = (frozenset(swap.get(p, p) for p in ps) for ps in parents)
        return sizes and all(ps == parents[swap.get(i, i)] for i, ps in enumerate(moved))

    places = permutations(hidden) if len(hidden) <= MOVABLE else [tuple(hidden)]
    return log(sum(keeps(dict(zip(hidden, order, strict=True))) for order in places))


def _seen(dag: Dag) -> set[int]:
    """Return the variables that are observed or have observed descendants."""
    return dag.ancestors(i for i, variable in enumerate(dag.schema) if not variable.hidden)


def _occupied(dag: Dag, counts: Array, v: int) -> int:
    """Return how many states of a variable some row is in."""
    by_state = dag.layout.states_first(counts, v).reshape(dag.schema.sizes[v], -1).sum(axis=1)
    return int((by_state > OCCUPIED).sum())


def _log_renamings(graph: Swaps, full: Mapping[int, int]) -> float:
    """Return Σ log k!/(k − m)! with m ``full`` states, hidden variables that ties hold together as one."""
    pairs = [
        {a, b}
        for group in graph.tied
        for one, other in pairwise(group)
        for a, b in zip(graph.families[one], graph.families[other], strict=True)
    ]
    together = merged([*pairs, *({v} for v in graph.families)])
    moving = [group for group in together if group <= set(graph.hidden)]
    return sum(
        lgamma(graph.sizes[min(group)] + 1)
        - lgamma(graph.sizes[min(group)] - max(full[v] for v in group) + 1)
        for group in moving
    )
