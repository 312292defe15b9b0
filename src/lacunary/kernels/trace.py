"""Kernels that restrict a junction tree to the open variables of every hole pattern.

Words used here: a *pattern* says which variables are open, of a row or of one of its islands; restricted
to its open variables a clique may fall empty or into its neighbour, and what is left are the pattern's
*nodes*.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import inlined, patient
from lacunary.kernels.hashing import MIX, slots_for

__all__ = ["Forest", "Scopes", "Trees", "trace_patterns"]


class Trees(NamedTuple):
    """Junction trees end to end; ragged lists are a flat array and where each list starts.

    The cliques of tree t run from ``clique_start[t]`` on, parents first. Clique c holds ``member`` from
    ``member_start[c]`` on and shares ``shared`` with ``parent[c]``, a number within the tree (−1 for a root).
    ``home[t, s]`` is the clique, within the tree, that holds scope s; −1 if nothing of it is open.
    The other way round, variable v lies in the cliques ``holder`` from ``holder_start[t, v]`` to
    ``holder_start[t, v + 1]``, and in the separators of those from ``sharer_start[t, v]`` on.
    """

    member: NDArray[np.int32]
    member_start: NDArray[np.int64]
    shared: NDArray[np.int32]
    shared_start: NDArray[np.int64]
    parent: NDArray[np.int32]
    clique_start: NDArray[np.int64]
    home: NDArray[np.int32]
    holder: NDArray[np.int32]
    holder_start: NDArray[np.int64]
    sharer: NDArray[np.int32]
    sharer_start: NDArray[np.int64]


class Scopes(NamedTuple):
    """Families (and other sets of variables) as arrays: members, their strides, and where they begin.

    Variable v is a member of the scopes ``user`` from ``user_start[v]`` on.
    """

    member: NDArray[np.int32]
    stride: NDArray[np.int32]
    member_start: NDArray[np.int64]
    start: NDArray[np.int32]
    user: NDArray[np.int32]
    user_start: NDArray[np.int64]


class Forest(NamedTuple):
    """The nodes of all patterns, one after the other, parents before children.

    Node n is of sort ``sort[n]``; ``up`` is its parent's position within the pattern, −1 for a root. The open
    variables of a sort are ``member`` from ``member_start`` on, those it has in common with its parent
    ``joint`` from ``joint_start`` on, and its scopes ``scope`` from ``scope_start`` on.
    """

    sort: NDArray[np.int32]
    up: NDArray[np.int32]
    node_start: NDArray[np.int64]
    member: NDArray[np.int32]
    member_start: NDArray[np.int64]
    joint: NDArray[np.int32]
    joint_start: NDArray[np.int64]
    scope: NDArray[np.int32]
    scope_start: NDArray[np.int64]


@inlined
def _mixed(h: Any, token: Any) -> Any:
    """Return a hash with one more number in it."""
    h = (h ^ np.uint64(token)) * MIX
    return h ^ (h >> np.uint64(29))


@inlined
def _same_list(items: Any, start: Any, a: Any, b: Any) -> Any:
    """Whether two lists are equal."""
    many = start[b + 1] - start[b]
    alike = start[a + 1] - start[a] == many
    for k in range(many if alike else 0):
        alike = alike and items[start[a] + k] == items[start[b] + k]
    return alike


@inlined
def _absorb(small: float, large: float, load: int) -> bool:
    """Whether ``load`` factors cost less in ``large`` configurations than in ``small`` and a message."""
    return (large - small) * load <= 3 * large + 24


def trace_patterns(
    trees: Trees,
    scopes: Scopes,
    sizes: NDArray[np.int64],
    is_open: NDArray[np.bool_],
    which: NDArray[np.int64],
    out: Forest,
) -> int:
    """Restrict each pattern's tree to its open variables and merge what is not worth keeping apart.

    Returns the number of sorts of nodes.

    Walking from the roots down, a clique with the same open variables as its parent's node joins that
    node; one that shares nothing with its parent starts a new island. Then a node that contains its
    neighbour takes it in if that is cheaper than passing a message. By the running intersection
    property, comparing the sizes of open sets and separators decides containment.
    """
    cliques, many = int(np.diff(trees.clique_start).max(initial=0)), scopes.start.size
    room, wide = np.empty((13, cliques), dtype=np.int64), np.empty(cliques)
    touched = np.empty((2, many), dtype=np.int64)
    slots = slots_for(out.sort.size)
    return int(_trace_patterns(trees, scopes, sizes, is_open, which, room, wide, touched, slots, out))


@patient
def _trace_patterns(
    trees: Any,
    scopes: Any,
    sizes: Any,
    is_open: Any,
    which: Any,
    room: Any,
    wide: Any,
    touched: Any,
    slots: Any,
    out: Any,
) -> int:
    """Do what `trace_patterns` says.

    Parameters
    ----------
    trees, scopes
        Junction trees, and what lives in their cliques.
    sizes
        Numbers of states; (variables,).
    is_open, which
        Whether each variable is a hole, (patterns, variables), and each pattern's tree, (patterns,).
    room
        Room, (13, cliques): of cliques their node (−1: none), their number of open scopes, of open variables
        and of those they share with their parent; of nodes how many variables are open, how many scopes they
        hold, how many open variables they share with their parent, which node they joined, their number among
        those kept, the clique with their variables, their parent, the clique whose separator leads there,
        and where their scopes begin.
    wide
        Room: configurations of each clique and then of each node, none of which comes before its clique;
        (cliques,).
    touched
        Room: how many variables of each scope are open, and the scopes of nodes; (2, scopes).
    slots
        A hash table, empty: numbers of sorts; a power of two.
    out
        Written.
    """
    node_of, links, opened, shared = room[0], room[1], room[2], room[3]
    count, load, common, into, final = room[4], room[5], room[6], room[7], room[8]
    clique, up, edge, begin = room[9], room[10], room[11], room[12]
    held, mine = touched[0], touched[1]
    places, done, sorts = slots.size, 0, 0  # the patterns before p have ``done`` nodes of ``sorts`` sorts
    for p in range(is_open.shape[0]):
        t = which[p]
        top = trees.clique_start[t]
        cliques = trees.clique_start[t + 1] - top
        for c in range(cliques):
            links[c] = opened[c] = shared[c] = 0
            wide[c] = 1.0
        for s in range(held.size):
            held[s] = 0
        for v in range(is_open.shape[1]):
            if is_open[p, v]:
                for k in range(trees.holder_start[t, v], trees.holder_start[t, v + 1]):
                    opened[trees.holder[k]] += 1
                    wide[trees.holder[k]] *= sizes[v]
                for k in range(trees.sharer_start[t, v], trees.sharer_start[t, v + 1]):
                    shared[trees.sharer[k]] += 1
                for k in range(scopes.user_start[v], scopes.user_start[v + 1]):
                    s = scopes.user[k]
                    if held[s] == 0 and trees.home[t, s] >= 0:
                        links[trees.home[t, s]] += 1
                    held[s] += 1
        nodes = 0
        for c in range(cliques):  # the tree of cliques before c, restricted, is that of the nodes so far
            node_of[c] = -1
            if opened[c] == 0:
                continue
            above = node_of[trees.parent[top + c]] if trees.parent[top + c] >= 0 else -1
            if shared[c] > 0 and opened[c] == shared[c] == count[above]:
                node_of[c] = above
                load[above] += links[c]
                continue
            node_of[c] = nodes
            clique[nodes], count[nodes], load[nodes], common[nodes] = c, opened[c], links[c], shared[c]
            up[nodes], edge[nodes] = above if shared[c] > 0 else -1, c
            wide[nodes] = wide[c]
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
            kept += 1
        taken = 0
        for n in range(nodes):
            if into[n] == n:
                begin[n] = taken
                taken += load[n]
                load[n] = 0
        for s in range(held.size):
            if held[s] > 0 and trees.home[t, s] >= 0:
                n = into[node_of[trees.home[t, s]]]
                mine[begin[n] + load[n]] = s
                load[n] += 1
        # The first ``sorts`` sorts all differ and are in ``slots``. Each node is written behind them as if it
        # were a new sort, and counts only if none is like it.
        for n in range(nodes):
            if into[n] != n:
                continue
            h = np.uint64(load[n])
            at = out.member_start[sorts]
            for k in range(trees.member_start[top + clique[n]], trees.member_start[top + clique[n] + 1]):
                if is_open[p, trees.member[k]]:
                    out.member[at] = trees.member[k]
                    h = _mixed(h, trees.member[k])
                    at += 1
            out.member_start[sorts + 1] = at
            at = out.joint_start[sorts]
            if up[n] >= 0:
                for k in range(trees.shared_start[top + edge[n]], trees.shared_start[top + edge[n] + 1]):
                    if is_open[p, trees.shared[k]]:
                        out.joint[at] = trees.shared[k]
                        h = _mixed(h, trees.shared[k])
                        at += 1
            out.joint_start[sorts + 1] = at
            at = out.scope_start[sorts]
            for k in range(begin[n], begin[n] + load[n]):
                out.scope[at] = mine[k]
                h = _mixed(h, mine[k])
                at += 1
            out.scope_start[sorts + 1] = at
            slot = np.int64(h & np.uint64(places - 1))
            while slots[slot] >= 0 and not (
                _same_list(out.member, out.member_start, slots[slot], sorts)
                and _same_list(out.joint, out.joint_start, slots[slot], sorts)
                and _same_list(out.scope, out.scope_start, slots[slot], sorts)
            ):
                slot = (slot + 1) & (places - 1)
            if slots[slot] < 0:
                slots[slot] = sorts
                sorts += 1
            out.sort[done] = slots[slot]
            out.up[done] = up[n]
            done += 1
        out.node_start[p + 1] = done
    return sorts
