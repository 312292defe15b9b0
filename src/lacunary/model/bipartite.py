"""All graphs in which hidden variables are the parents of observed ones, up to changing places."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations_with_replacement, groupby, product
from math import comb, prod

from lacunary.data.schema import Schema, Variable
from lacunary.errors import GraphError, TooWideError
from lacunary.model.dag import Arc, Dag
from lacunary.model.make import HasSchema, States, labels

__all__ = ["bipartite"]

MOST = 100_000
"""Graphs that are written down."""


def bipartite(
    schema: Schema | HasSchema, hidden: Mapping[str, States] | None = None, *, most: int = MOST
) -> tuple[Dag, ...]:
    """Return every graph whose arcs lead from hidden to observed variables, each once.

    Hidden variables with equally many states can change places without changing what can be observed: of
    graphs that differ by this alone one is returned. With two hidden binary variables above four observed
    ones there are 136 (BG03).

    Parameters
    ----------
    schema
        The variables, or a table that has them; those that are hidden in it are among the hidden ones.
    hidden
        Further hidden variables, by name with their states; they stand at the end of the schema.
    most
        Refuse, with their number, to make more graphs than this.

    Examples
    --------
    >>> import lacunary as lac
    >>> seen = lac.Schema(tuple(lac.Variable(f"y{i}", tuple(range(5))) for i in (1, 2, 3, 4)))
    >>> graphs = lac.bipartite(seen, {"h1": 2, "h2": 2})
    >>> len(graphs), str(graphs[-2])
    (136, 'h2 -> y1; h1 h2 -> y2; h1 h2 -> y3; h1 h2 -> y4')
    """
    known = getattr(schema, "schema", schema)
    if not isinstance(known, Schema):
        raise GraphError(
            f"bipartite graphs stand over a schema or a table, not over {schema!r}; give variables, such as "
            'lac.Schema((lac.Variable("y1", (0, 1)),)), and hidden={"h": 2}'
        )
    added = [Variable(name, labels(name, states), hidden=True) for name, states in (hidden or {}).items()]
    whole = known.extend(added)
    observed = [variable.name for variable in whole if not variable.hidden]
    groups = _interchangeable(whole)
    if not groups or not observed:
        raise GraphError("bipartite graphs need hidden variables, given by hidden=…, and observed ones")
    total = prod(comb(2 ** len(observed) + len(group) - 1, len(group)) for group in groups)
    if total > most:
        raise TooWideError(
            f"there are {total} such graphs, more than the {most} allowed; name fewer variables"
        )
    return tuple(Dag.from_arcs(whole, arcs) for arcs in _arcs(groups, observed))


def _interchangeable(schema: Schema) -> list[list[str]]:
    """Return the hidden variables, those that can change places together, by first appearance."""
    kinds = {v.name: (v.kind, v.size, v.family or "") for v in schema if v.hidden}
    order = {kind: place for place, kind in reversed(list(enumerate(kinds.values())))}
    names = sorted(kinds, key=lambda name: order[kinds[name]])
    return [list(group) for _, group in groupby(names, key=lambda name: kinds[name])]


def _arcs(groups: list[list[str]], observed: list[str]) -> Iterator[list[Arc]]:
    """Go over the arcs of each graph; a hidden variable's children are the bits of a number."""
    codes = [combinations_with_replacement(range(2 ** len(observed)), len(group)) for group in groups]
    names = [name for group in groups for name in group]
    for chosen in product(*codes):
        children = zip(names, (code for part in chosen for code in part), strict=True)
        yield [(name, seen) for name, code in children for i, seen in enumerate(observed) if code >> i & 1]
