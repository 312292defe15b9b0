"""The dimension that rows can show: which variables are observed together decides what is identifiable.

Rows with the same holes show one marginal distribution of the observed variables. What can be learned of
the parameters is what moves some of these marginals, so that the rank is that of all of them together: a
row of the Jacobian is a sum of one random functional of each. A marginal of another one adds nothing and is
left out.
"""

from __future__ import annotations

from collections.abc import Iterable

from lacunary.model.dag import Dag
from lacunary.rank.district import District

__all__ = ["Pattern", "marginal_districts", "widest"]

Pattern = frozenset[int]


def widest(patterns: Iterable[Pattern]) -> list[Pattern]:
    """Return the patterns that lie in no other, in the order of their first variables."""
    every = set(patterns)
    kept = (p for p in every if not any(p < other for other in every))
    return sorted(kept, key=sorted)


def marginal_districts(dag: Dag, patterns: Iterable[Pattern]) -> tuple[District, ...]:
    """Return the marginals as factors that share parameters: all else is summed over."""
    return tuple(_district(dag, seen) for seen in widest(patterns) if seen)


def _district(dag: Dag, seen: Pattern) -> District:
    relevant = dag.ancestors(seen)
    families = tuple(i for i in dag.order_indices if i in relevant)
    hidden = frozenset(i for i in relevant - seen if dag.schema.sizes[i] > 1)
    return District(families, hidden, (), tuple(sorted(seen)))
