"""Kernels that lay a table out along a junction tree, once, before any sweep.

Words used here: a *pattern* says which variables of a row are open; restricted to its open
variables a clique may fall empty or into its neighbour, and what is left are the pattern's *nodes*.
A node filled with a row's observed cells is a *cell*; rows share the cells in which they agree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import inlined, kernel

__all__ = [
    "Forest",
    "Scopes",
    "Slab",
    "Tree",
    "count_touched",
    "distinct_lists",
    "fill_offsets",
    "lay_rows",
    "trace_patterns",
]

MIX = np.uint64(0x9E3779B97F4A7C15)


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


class Slab(NamedTuple):
    """Cells of a chunk of rows, children before parents.

    Cell c is of kind ``kind[c]``; its links' bases begin at ``base_start[c]``, those of its readouts
    at ``read_start[c]``; its children are ``child`` from ``child_start[c]`` on, each with the table
    ``above`` that leads from a configuration of c to one they share. ``weight`` sums the weights of the
    rows whose root the cell is. The roots of row r are ``root`` from ``root_start[r]`` on.
    """

    kind: NDArray[np.int32]
    base: NDArray[np.int32]
    base_start: NDArray[np.int64]
    read: NDArray[np.int32]
    read_start: NDArray[np.int64]
    child: NDArray[np.int32]
    above: NDArray[np.int64]
    child_start: NDArray[np.int64]
    weight: NDArray[np.float64]
    root: NDArray[np.int32]
    root_start: NDArray[np.int64]


@inlined
def _count_open(listed: NDArray[np.int32], first: int, last: int, is_open: NDArray[np.bool_], p: int) -> int:
    count = 0
    for k in range(first, last):
        count += is_open[p, listed[k]]
    return count


@kernel
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


@kernel
def trace_patterns(
    tree: Tree, scopes: Scopes, sizes: NDArray[np.int64], is_open: NDArray[np.bool_], out: Forest
) -> None:
    """Restrict the tree to each pattern's open variables and merge what is not worth keeping apart.

    Walking from the roots down, a clique with the same open variables as its parent's node joins that
    node; one that shares nothing with its parent starts a new island. Then a node that contains its
    neighbour takes it in if that is cheaper than passing a message. By the running intersection
    property, comparing the sizes of open sets and separators decides containment.
    """
    cliques = tree.parent.size
    node_of = np.empty(cliques, np.int64)
    touched = np.empty(scopes.home.size, np.bool_)
    links = np.empty(cliques, np.int64)
    count, load, common = (
        np.empty(cliques, np.int64),
        np.empty(cliques, np.int64),
        np.empty(cliques, np.int64),
    )
    wide = np.empty(cliques, np.float64)
    into, final = np.empty(cliques, np.int64), np.empty(cliques, np.int64)
    clique, up, edge = np.empty(cliques, np.int64), np.empty(cliques, np.int64), np.empty(cliques, np.int64)
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
        for c in range(cliques):
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
        for n in range(nodes):
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


@kernel
def fill_offsets(
    member: NDArray[np.int32],
    member_start: NDArray[np.int64],
    sizes: NDArray[np.int64],
    step: NDArray[np.int32],
    step_start: NDArray[np.int64],
    shape: NDArray[np.int64],
    out: NDArray[np.int32],
    out_start: NDArray[np.int64],
) -> None:
    """Write, for each table, where every configuration of its shape's open variables leads.

    Table t belongs to shape ``shape[t]`` and moves by ``step[step_start[t] + m]`` when the shape's
    m-th open variable goes up by one; the last variable moves fastest.
    """
    for t in range(shape.size):
        first = member_start[shape[t]]
        many = member_start[shape[t] + 1] - first
        digit = np.zeros(many, np.int64)
        at = 0
        for i in range(out_start[t], out_start[t + 1]):
            out[i] = at
            for m in range(many - 1, -1, -1):
                digit[m] += 1
                at += step[step_start[t] + m]
                if digit[m] < sizes[member[first + m]]:
                    break
                at -= step[step_start[t] + m] * digit[m]
                digit[m] = 0


@inlined
def _same(a: NDArray[np.int32], i: int, b: NDArray[np.int32], j: int, count: int) -> bool:
    alike = True
    for k in range(count):
        alike = alike and a[i + k] == b[j + k]
    return alike


@kernel
def distinct_lists(
    token: NDArray[np.int32], start: NDArray[np.int64], out: NDArray[np.int64], first: NDArray[np.int64]
) -> int:
    """Give the different lists numbers in order of first appearance; return how many there are.

    List n holds ``token[start[n]]`` … ``token[start[n + 1] − 1]``; ``out[n]`` takes its number and
    ``first[number]`` the first list of that number.
    """
    lists = start.size - 1
    room = 16
    while room < 2 * lists:
        room *= 2
    slots = np.full(room, -1, np.int64)
    found = 0
    for n in range(lists):
        length = start[n + 1] - start[n]
        h = np.uint64(length)
        for k in range(start[n], start[n + 1]):
            h = (h ^ np.uint64(token[k])) * MIX
            h ^= h >> np.uint64(29)
        slot = np.int64(h & np.uint64(room - 1))
        while slots[slot] >= 0:
            other = first[slots[slot]]
            if start[other + 1] - start[other] == length and _same(
                token, start[n], token, start[other], length
            ):
                break
            slot = (slot + 1) & (room - 1)
        if slots[slot] < 0:
            slots[slot] = found
            first[found] = n
            found += 1
        out[n] = slots[slot]
    return found


@inlined
def _lead(scopes: Scopes, codes: NDArray[np.int32], r: int, s: int) -> Any:
    """Where the observed cells of row r lead in the table of scope s."""
    at = np.int64(scopes.start[s])
    for m in range(scopes.member_start[s], scopes.member_start[s + 1]):
        code = codes[r, scopes.member[m]]
        if code > 0:
            at += code * scopes.stride[m]
    return at


@inlined
def _observed(scopes: Scopes, codes: NDArray[np.int32], r: int, s: int) -> bool:
    for m in range(scopes.member_start[s], scopes.member_start[s + 1]):
        if codes[r, scopes.member[m]] < 0:
            return False
    return True


@kernel
def lay_rows(
    forest: Forest,
    kind_of_node: NDArray[np.int64],
    above_of_node: NDArray[np.int64],
    scopes: Scopes,
    families: int,
    width: int,
    codes: NDArray[np.int32],
    weights: NDArray[np.float64],
    pattern: NDArray[np.int64],
    constant: NDArray[np.float64],
    out: Slab,
) -> int:
    """Fill every node with each row's observed cells, keeping cells that are alike once.

    Two cells are alike if they are of one kind, their links have the same bases and their children
    are the same cells: then they hold the same numbers whatever the parameters are. Scopes from
    ``families`` on are readouts, into ``width`` places that belong to the row alone. Families with no
    open variable add the row's weight to ``constant``. Returns the number of cells.
    """
    most = 0
    for p in range(forest.node_start.size - 1):
        most = max(most, forest.node_start[p + 1] - forest.node_start[p])
    cell_of = np.empty(most, np.int64)
    head = np.full(most, -1, np.int64)
    after = np.empty(most, np.int64)
    room = 16
    while room < 2 * out.kind.size:
        room *= 2
    slots = np.full(room, -1, np.int64)
    cells = np.int64(0)
    for r in range(codes.shape[0]):
        first = forest.node_start[pattern[r]]
        last = forest.node_start[pattern[r] + 1]
        roots = out.root_start[r]
        for n in range(last - 1, first - 1, -1):
            b = out.base_start[cells]
            q = out.read_start[cells]
            c = out.child_start[cells]
            h = np.uint64(kind_of_node[n])
            for k in range(forest.scope_start[n], forest.scope_start[n + 1]):
                s = forest.scope[k]
                at = _lead(scopes, codes, r, s)
                if s < families:
                    out.base[b] = at
                    b += 1
                else:
                    at += r * width
                    out.read[q] = at
                    q += 1
                h = (h ^ np.uint64(at)) * MIX
                h ^= h >> np.uint64(29)
            m = head[n - first]
            while m >= 0:
                out.child[c] = cell_of[m]
                out.above[c] = above_of_node[first + m]
                h = (h ^ np.uint64(cell_of[m])) * MIX
                h ^= h >> np.uint64(29)
                c += 1
                m = after[m]
            head[n - first] = -1
            out.kind[cells] = kind_of_node[n]
            out.base_start[cells + 1] = b
            out.read_start[cells + 1] = q
            out.child_start[cells + 1] = c
            slot = np.int64(h & np.uint64(room - 1))
            while slots[slot] >= 0 and not _alike(out, slots[slot], cells):
                slot = (slot + 1) & (room - 1)
            if slots[slot] < 0:
                slots[slot] = cells
                out.weight[cells] = 0.0
                cells += 1
            cell = slots[slot]
            cell_of[n - first] = cell
            if forest.up[n] >= 0:
                after[n - first] = head[forest.up[n]]
                head[forest.up[n]] = n - first
            else:
                out.weight[cell] += weights[r]
                out.root[roots] = cell
                roots += 1
        out.root_start[r + 1] = roots
        for s in range(families):
            if _observed(scopes, codes, r, s):
                constant[_lead(scopes, codes, r, s)] += weights[r]
    return int(cells)


@inlined
def _alike(slab: Slab, a: Any, b: Any) -> bool:
    """Whether two cells hold the same numbers whatever the parameters are."""
    children = slab.child_start[b + 1] - slab.child_start[b]
    if slab.kind[a] != slab.kind[b] or slab.child_start[a + 1] - slab.child_start[a] != children:
        return False
    for k in range(children):
        i, j = slab.child_start[a] + k, slab.child_start[b] + k
        if slab.child[i] != slab.child[j] or slab.above[i] != slab.above[j]:
            return False
    bases = slab.base_start[b + 1] - slab.base_start[b]
    reads = slab.read_start[b + 1] - slab.read_start[b]
    return _same(slab.base, slab.base_start[a], slab.base, slab.base_start[b], bases) and _same(
        slab.read, slab.read_start[a], slab.read, slab.read_start[b], reads
    )
