"""Kernels that restrict a junction tree to the open variables of every hole pattern.

Words used here: a *pattern* says which variables of a row are open; restricted to its open
variables a clique may fall empty or into its neighbour, and what is left are the pattern's *nodes*.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import bare, inlined

__all__ = ["Forest", "Scopes", "Tree", "count_touched", "trace_patterns"]


class Tree(NamedTuple):
    """A junction tree as arrays; ragged lists are a flat array and where each list starts."""

    member: NDArray[np.int32]
    member_start: NDArray[np.int64]
    shared: NDArray[np.int32]
    shared_start: NDArray[np.int64]
    parent: NDArray[np.int32]


class Scopes(NamedTuple):
    """Families (and other sets of variables) as arrays: members, their strides, and their clique."""

    member: NDArray[np.int32]
    stride: NDArray[np.int32]
    member_start: NDArray[np.int64]
    start: NDArray[np.int32]
    home: NDArray[np.int32]


class Forest(NamedTuple):
    """The nodes of all patterns, one after the other, parents before children.

    The open variables of a node are ``member`` from ``member_start`` on; ``up`` is the parent's position
    within the pattern (−1 for a root), ``edge`` the clique whose separator joins them; ``scope``
    lists the scopes of each node from ``scope_start`` on.
    """

    member: NDArray[np.int32]
    member_start: NDArray[np.int64]
    up: NDArray[np.int32]
    edge: NDArray[np.int32]
    scope: NDArray[np.int32]
    scope_start: NDArray[np.int64]
    node_start: NDArray[np.int64]


@inlined
def _count_open(listed: NDArray[np.int32], first: int, last: int, is_open: NDArray[np.bool_], p: int) -> int:
    count = 0
    for k in range(first, last):
        count += is_open[p, listed[k]]
    return count


@bare
def count_touched(
    member: NDArray[np.int32], member_start: NDArray[np.int64], is_open: NDArray[np.bool_]
) -> int:
    """Count the lists of variables, over all patterns, in which some variable is open."""
    touched = 0
    for p in range(is_open.shape[0]):
        for n in range(member_start.size - 1):
            touched += _count_open(member, member_start[n], member_start[n + 1], is_open, p) > 0
    return touched


@inlined
def _absorb(small: float, large: float, load: int) -> bool:
    """Whether ``load`` factors cost less in ``large`` configurations than in ``small`` and a message."""
    return (large - small) * load <= 3 * large + 24


def trace_patterns(
    tree: Tree, scopes: Scopes, sizes: NDArray[np.int64], is_open: NDArray[np.bool_], out: Forest
) -> None:
    """Restrict the tree to each pattern's open variables and merge what is not worth keeping apart.

    Walking from the roots down, a clique with the same open variables as its parent's node joins that
    node; one that shares nothing with its parent starts a new island. Then a node that contains its
    neighbour takes it in if that is cheaper than passing a message. By the running intersection
    property, comparing the sizes of open sets and separators decides containment.
    """
    cliques, many = tree.parent.size, scopes.home.size
    room, wide = np.empty((10, cliques), dtype=np.int64), np.empty(cliques)
    _trace_patterns(tree, scopes, sizes, is_open, room, wide, np.empty(many, dtype=np.bool_), out)


@bare
def _trace_patterns(
    tree: Any, scopes: Any, sizes: Any, is_open: Any, room: Any, wide: Any, touched: Any, out: Any
) -> None:
    """Do what `trace_patterns` says.

    Parameters
    ----------
    tree, scopes
        The junction tree, parents before children, and what lives in its cliques.
    sizes
        Numbers of states; (variables,).
    is_open
        Whether each variable is a hole; (patterns, variables).
    room
        Room, (10, cliques): of cliques their node (−1: none) and their number of open scopes; of nodes how
        many variables are open, how many scopes they hold, how many open variables they share with their
        parent, which node they joined, their number among those kept, the clique with their variables, their
        parent and the clique whose separator leads there.
    wide
        Room: configurations of each node; (cliques,).
    touched
        Room: whether each scope has an open variable; (scopes,).
    out
        Written.
    """
    cliques = tree.parent.size
    node_of, links = room[0], room[1]
    count, load, common, into, final = room[2], room[3], room[4], room[5], room[6]
    clique, up, edge = room[7], room[8], room[9]
    # The patterns before p have ``done`` nodes with ``listed`` variables and ``taken`` scopes.
    done = taken = listed = 0
    for p in range(is_open.shape[0]):
        for c in range(cliques):
            links[c] = 0
        for s in range(scopes.home.size):
            first, last = scopes.member_start[s], scopes.member_start[s + 1]
            touched[s] = scopes.home[s] >= 0 and _count_open(scopes.member, first, last, is_open, p) > 0
            if touched[s]:
                links[scopes.home[s]] += 1
        nodes = 0
        for c in range(cliques):  # the tree of cliques before c, restricted, is that of the nodes so far
            first, last = tree.member_start[c], tree.member_start[c + 1]
            opened = _count_open(tree.member, first, last, is_open, p)
            node_of[c] = -1
            if opened == 0:
                continue
            shared = 0
            above = -1
            if tree.parent[c] >= 0:
                above = node_of[tree.parent[c]]
                shared = _count_open(tree.shared, tree.shared_start[c], tree.shared_start[c + 1], is_open, p)
            if shared > 0 and opened == shared == count[above]:
                node_of[c] = above
                load[above] += links[c]
                continue
            node_of[c] = nodes
            clique[nodes], count[nodes], load[nodes], common[nodes] = c, opened, links[c], shared
            up[nodes], edge[nodes] = above if shared > 0 else -1, c
            wide[nodes] = 1.0
            for k in range(first, last):
                if is_open[p, tree.member[k]]:
                    wide[nodes] *= sizes[tree.member[k]]
            nodes += 1
        kept = 0
        for n in range(nodes):  # ``into`` of nodes before n is a node that stays; ``kept`` of them do
            into[n] = n
            if up[n] >= 0:
                u = into[up[n]]
                if common[n] == count[n] and _absorb(wide[n], wide[u], load[n]):
                    into[n] = u
                elif common[n] == count[u] and _absorb(wide[u], wide[n], load[u]):
                    into[n] = u
                    clique[u], count[u], wide[u] = clique[n], count[n], wide[n]
                if into[n] == u:
                    load[u] += load[n]
                    continue
                up[n] = final[u]
            final[n] = kept
            out.up[done + kept] = up[n]
            out.edge[done + kept] = edge[n] if up[n] >= 0 else -1
            kept += 1
        for n in range(nodes):
            if into[n] != n:
                continue
            f = done + final[n]
            for k in range(tree.member_start[clique[n]], tree.member_start[clique[n] + 1]):
                if is_open[p, tree.member[k]]:
                    out.member[listed] = tree.member[k]
                    listed += 1
            out.member_start[f + 1] = listed
            out.scope_start[f] = taken
            taken += load[n]
            load[n] = 0
        for s in range(scopes.home.size):
            if touched[s]:
                n = into[node_of[scopes.home[s]]]
                out.scope[out.scope_start[done + final[n]] + load[n]] = s
                load[n] += 1
        done += kept
        out.node_start[p + 1] = done
    out.scope_start[done] = taken
