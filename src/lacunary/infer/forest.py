"""The junction tree restricted to the open variables of every hole pattern; see `lacunary.kernels.trace`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.parallel import in_parallel
from lacunary.infer.plan import JunctionTree
from lacunary.infer.shape import flat, starts
from lacunary.kernels.trace import Forest, Scopes, Tree, count_touched, trace_patterns

__all__ = ["trace"]

PATTERNS = 2048
"""Hole patterns that are traced together; others are traced at the same time."""


def trace(
    tree: JunctionTree, scopes: Scopes, sizes: NDArray[np.int64], patterns: NDArray[np.bool_]
) -> Forest:
    """Restrict the tree to the open variables of each pattern."""
    arrays = Tree(
        member=flat(tree.cliques),
        member_start=starts(tree.cliques),
        shared=flat(tree.separators),
        shared_start=starts(tree.separators),
        parent=np.array(tree.parent, dtype=np.int32),
    )
    parts = [patterns[first : first + PATTERNS] for first in range(0, len(patterns), PATTERNS)] or [patterns]
    return _joined(list(in_parallel(lambda part: _trace_some(arrays, scopes, sizes, part), parts)))


def _trace_some(tree: Tree, scopes: Scopes, sizes: NDArray[np.int64], patterns: NDArray[np.bool_]) -> Forest:
    nodes = count_touched(tree.member, tree.member_start, patterns)  # before any are merged
    out = Forest(
        member=np.zeros(int(patterns.sum(axis=0)[tree.member].sum()), dtype=np.int32),
        member_start=np.zeros(nodes + 1, dtype=np.int64),
        up=np.zeros(nodes, dtype=np.int32),
        edge=np.zeros(nodes, dtype=np.int32),
        scope=np.zeros(count_touched(scopes.member, scopes.member_start, patterns), dtype=np.int32),
        scope_start=np.zeros(nodes + 1, dtype=np.int64),
        node_start=np.zeros(len(patterns) + 1, dtype=np.int64),
    )
    trace_patterns(tree, scopes, sizes, patterns, out)
    return out


def _joined(parts: list[Forest]) -> Forest:
    """Return the nodes of several sets of patterns as one, without the room that was left over."""
    used = [int(part.node_start[-1]) for part in parts]
    nodes, scopes = np.cumsum([0, *used]), np.cumsum([0, *(len(part.scope) for part in parts)])
    opened = [int(part.member_start[n]) for part, n in zip(parts, used, strict=True)]
    members = np.cumsum([0, *opened])

    def all_of(name: str) -> NDArray[Any]:
        return np.concatenate([getattr(part, name)[:n] for part, n in zip(parts, used, strict=True)])

    return Forest(
        member=np.concatenate([part.member[:n] for part, n in zip(parts, opened, strict=True)]),
        member_start=np.concatenate(
            [p.member_start[:n] + at for p, n, at in zip(parts, used, members, strict=False)] + [members[-1:]]
        ),
        up=all_of("up"),
        edge=all_of("edge"),
        scope=np.concatenate([part.scope for part in parts]),
        scope_start=np.concatenate(
            [p.scope_start[:n] + at for p, n, at in zip(parts, used, scopes, strict=False)] + [scopes[-1:]]
        ),
        node_start=np.concatenate(
            [p.node_start[:-1] + at for p, at in zip(parts, nodes, strict=False)] + [nodes[-1:]]
        ),
    )
