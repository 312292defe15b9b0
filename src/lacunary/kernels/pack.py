"""Kernels that lay a table out along a junction tree, once, before any sweep.

A node of an island (see `lacunary.kernels.trace`) filled with a row's observed cells is a *cell*; rows share
the cells in which they agree. Kernels make no arrays: what they need is made by the function that calls
them, as compiled code that makes arrays is slower to compile and to load.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import inlined, patient
from lacunary.kernels.hashing import LOW, MIX, grown, slots_for, spare_slots
from lacunary.kernels.trace import Forest, Scopes

__all__ = ["Slab", "distinct_lists", "fill_offsets", "lay_rows"]


class Slab(NamedTuple):
    """Cells of a chunk of rows, children before parents.

    Cell c is of kind ``kind[c]``; its links' bases begin at ``base_start[c]``, those of its readouts
    at ``read_start[c]``; its children are ``child`` from ``child_start[c]`` on, each with the table
    ``above`` that leads from a configuration of c to one they share. ``weight`` sums the weights of the
    rows whose root the cell is. The roots of row r are ``root`` from ``root_start[r]`` on.
    """

    kind: NDArray[np.int32]
    base: NDArray[np.int32]
    base_start: NDArray[np.int32]
    read: NDArray[np.int32]
    read_start: NDArray[np.int32]
    child: NDArray[np.int32]
    above: NDArray[np.int32]
    child_start: NDArray[np.int32]
    weight: NDArray[np.float64]
    root: NDArray[np.int32]
    root_start: NDArray[np.int32]


@patient
def fill_offsets(
    member: Any, member_start: Any, sizes: Any, step: Any, step_start: Any, shape: Any, run: Any,
    out: Any, out_start: Any,
) -> None:  # fmt: skip
    """Write, for each table, where every configuration of its shape's open variables leads.

    Table t belongs to shape ``shape[t]`` and moves by ``step[step_start[t] + m]`` when the shape's
    m-th open variable goes up by one; the last variable moves fastest. Behind it come the offsets of every
    ``run[t]``-th configuration, unless that is zero. A table without room is not written.
    """
    for t in range(shape.size):
        first, begin = member_start[shape[t]], out_start[t]
        if begin == out_start[t + 1]:
            continue
        out[begin] = 0
        written = 1
        for m in range(member_start[shape[t] + 1] - first - 1, -1, -1):
            for k in range(1, sizes[member[first + m]]):  # of k states of variable m and all behind it
                more, to = k * step[step_start[t] + m], begin + k * written
                for i in range(written):
                    out[to + i] = out[begin + i] + more
            written *= sizes[member[first + m]]
        for r in range(out_start[t + 1] - begin - written):
            out[begin + written + r] = out[begin + r * run[t]]


@inlined
def _same(a: NDArray[np.int32], i: int, b: NDArray[np.int32], j: int, count: int) -> bool:
    alike = True
    for k in range(count):
        alike = alike and a[i + k] == b[j + k]
    return alike


def distinct_lists(
    token: NDArray[np.int32], start: NDArray[np.int64], out: NDArray[np.int64], first: NDArray[np.int64]
) -> int:
    """Give the different lists numbers in order of first appearance; return how many there are.

    List n holds ``token[start[n]]`` … ``token[start[n + 1] − 1]``; ``out[n]`` takes its number and
    ``first[number]`` the first list of that number.
    """
    return _distinct_lists(token, start, out, first, slots_for(start.size - 1))


@patient
def _distinct_lists(token: Any, start: Any, out: Any, first: Any, slots: Any) -> int:
    found, room = 0, slots.size
    for n in range(start.size - 1):
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


def lay_rows(
    forest: Forest,
    kind_of_node: NDArray[np.int64],
    above_of_node: NDArray[np.int64],
    scopes: Scopes,
    factors: int,
    codes: NDArray[np.signedinteger],
    holes: NDArray[np.int64],
    width: int,
    weights: NDArray[np.float64],
    islands: tuple[NDArray[np.int32], NDArray[np.int64]],
    constant: NDArray[np.float64],
    out: Slab,
) -> int:
    """Fill every node with each row's observed cells, keeping cells that are alike once.

    Two cells are alike if they are of one kind, their links have the same bases and their children
    are the same cells: then they hold the same numbers whatever the parameters are. Scopes behind the
    factors are readouts, into ``width`` places that belong to the row alone. Factors with no
    open variable add the row's weight to ``constant``. A hole of variable v is the state ``holes[v]``, or
    open where that is negative. Returns the number of cells.
    """
    nodes = np.full((3, int(np.diff(forest.node_start).max(initial=0))), -1, dtype=np.int64)
    island, start = islands
    return _lay_rows(
        forest,
        kind_of_node,
        above_of_node,
        scopes,
        factors,
        codes,
        holes,
        width,
        weights,
        island,
        start,
        constant,
        out,
        nodes,
        np.empty((3, max(len(scopes.start), len(holes))), dtype=np.int64),
        *spare_slots(out.kind.size),
    )


@patient
def _lay_rows(
    forest: Any,
    kind_of_node: Any,
    above_of_node: Any,
    scopes: Any,
    factors: int,
    codes: Any,
    holes: Any,
    width: int,
    weights: Any,
    island: Any,
    island_start: Any,
    constant: Any,
    out: Any,
    nodes: Any,
    row: Any,
    slots: Any,
    key: Any,
) -> int:
    """Do what `lay_rows` says.

    Parameters
    ----------
    forest, kind_of_node, above_of_node
        The nodes of all islands; the kind of each, and the table that leads to it from its parent; (nodes,).
    scopes, factors
        So many factors, of which each is the families of one variable or two, and readouts behind them.
    codes, holes
        States of rows, negative for a hole, (rows, variables); the state that a hole is, or −1; (variables,).
    weights, island, island_start
        Weights of rows; row r has the islands ``island`` from ``island_start[r]`` on.
    constant
        Weight of rows in each place of factors without a hole, added to; (size,).
    out
        Written: the cells, with the roots of each row.
    nodes
        Room, −1: by node of an island its cell, its first child, and its parent's next; (3, most nodes).
    row
        Room: states of the row at hand, zero where open, and whether they are open, by variable; and by scope
        where its observed cells lead; (3, variables or scopes).
    slots, key
        A hash table that grows, empty, and room for the keys of cells.
    """
    cell_of, head, after = nodes[0], nodes[1], nodes[2]  # of the island at hand; children as linked lists
    state, is_open, lead = row[0], row[1], row[2]
    cells, roots, mask = np.int64(0), np.int64(0), np.int64(15)
    # The first ``cells`` cells all differ and are in ``slots``. Each node is written behind them as if it
    # were a new cell, and counts only if none is like it. ``head`` is −1 everywhere between islands.
    for r in range(weights.size):
        for v in range(holes.size):
            code = np.int64(codes[r, v])
            code = holes[v] if code < 0 else code
            state[v] = max(code, 0)
            is_open[v] = code < 0
        for s in range(scopes.start.size):
            at, opened = np.int64(scopes.start[s]), np.int64(0)
            for k in range(scopes.member_start[s], scopes.member_start[s + 1]):
                at += state[scopes.member[k]] * scopes.stride[k]
                opened += is_open[scopes.member[k]]
            lead[s] = at
            if s < factors and opened == 0:
                constant[at] += weights[r]
        for i in range(island_start[r], island_start[r + 1]):
            first = forest.node_start[island[i]]
            last = forest.node_start[island[i] + 1]
            for n in range(last - 1, first - 1, -1):
                b = out.base_start[cells]
                q = out.read_start[cells]
                c = out.child_start[cells]
                h = np.uint64(kind_of_node[n])
                sort = forest.sort[n]
                for k in range(forest.scope_start[sort], forest.scope_start[sort + 1]):
                    s = forest.scope[k]
                    at = lead[s]
                    if s < factors:
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
                low = np.int64(h & LOW)
                slot = low & mask
                while slots[slot] >= 0 and not (key[slots[slot]] == low and _alike(out, slots[slot], cells)):
                    slot = (slot + 1) & mask
                cell = np.int64(slots[slot])
                if cell < 0:
                    cell = cells
                    slots[slot] = cells
                    key[cells] = low
                    out.weight[cells] = 0.0
                    cells += 1
                    if 2 * cells > mask:
                        mask = grown(slots, key, cells, mask)
                cell_of[n - first] = cell
                if forest.up[n] >= 0:
                    after[n - first] = head[forest.up[n]]
                    head[forest.up[n]] = n - first
                else:
                    out.weight[cell] += weights[r]
                    out.root[roots] = cell
                    roots += 1
        out.root_start[r + 1] = roots
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
