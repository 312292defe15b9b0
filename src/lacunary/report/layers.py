"""Where to draw the variables of a graph: in layers, causes above effects, with few crossings.

The steps of Sugiyama, Tagawa and Toda (1981): every variable goes below all of its parents; an arc that
spans several layers passes through a *bend* in each of them; layers are put in order so that arcs
cross seldom; and then everything moves towards the middle of what it is joined to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from lacunary.model.dag import Dag

__all__ = ["Layered", "layered"]

SWEEPS = 24
"""Passes down and up over the layers; the best order met is kept."""

Edges = list[tuple[int, int]]


@dataclass(frozen=True)
class Layered:
    """A graph laid out.

    Attributes
    ----------
    layers
        The nodes of each layer from left to right, bends among them.
    place
        Where the middle of each node is, from left to right, in the units of ``widths``.
    routes
        For each arc, the nodes it passes, its ends included.
    """

    layers: tuple[tuple[int, ...], ...]
    place: Mapping[int, float]
    routes: Mapping[tuple[int, int], tuple[int, ...]]


def layered(dag: Dag, widths: Sequence[float], gap: float, bend: float) -> Layered:
    """Lay a graph out; ``widths`` are those of the variables, ``bend`` that of a bend."""
    level = _levels(dag)
    layers: list[list[int]] = [[] for _ in range(max(level, default=-1) + 1)]
    for node, depth in enumerate(level):
        layers[depth].append(node)
    routes: dict[tuple[int, int], tuple[int, ...]] = {}
    edges, count = [], len(level)
    for head, tails in enumerate(dag.parent_indices):
        for tail in tails:
            bends = range(count, count + level[head] - level[tail] - 1)
            count += len(bends)
            for offset, node in enumerate(bends):
                layers[level[tail] + 1 + offset].append(node)
            routes[tail, head] = (tail, *bends, head)
            edges += list(pairwise(routes[tail, head]))
    size = [*widths, *([bend] * (count - len(level)))]
    ordered = _ordered(layers, edges, count)
    return Layered(tuple(map(tuple, ordered)), _placed(ordered, edges, size, gap), routes)


def _levels(dag: Dag) -> list[int]:
    """Return the layer of each variable: one below its lowest parent, roots just above their first child."""
    level = [0] * len(dag.names)
    for node in dag.order_indices:
        level[node] = max((level[p] + 1 for p in dag.parent_indices[node]), default=0)
    for node in reversed(dag.order_indices):
        children = dag.child_indices[node]
        if children and not dag.parent_indices[node]:
            level[node] = min(level[child] for child in children) - 1
    return level


def _ordered(layers: list[list[int]], edges: Edges, count: int) -> list[list[int]]:
    """Return the layers in an order with few crossings: each node at the mean of its neighbours."""
    above, below = _neighbours(edges, count)
    best, fewest = [list(layer) for layer in layers], _crossings(layers, below)
    current = [list(layer) for layer in layers]
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        near = above if down else below
        order = range(1, len(current)) if down else range(len(current) - 2, -1, -1)
        for depth in order:
            fixed = {node: i for i, node in enumerate(current[depth - 1 if down else depth + 1])}
            own = {node: i for i, node in enumerate(current[depth])}
            current[depth].sort(key=lambda node: _mean([fixed[o] for o in near[node]], own[node]))
        crossings = _crossings(current, below)
        if crossings < fewest:
            best, fewest = [list(layer) for layer in current], crossings
    return best


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _neighbours(edges: Edges, count: int) -> tuple[list[list[int]], list[list[int]]]:
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in edges:
        above[lower].append(upper)
        below[upper].append(lower)
    return above, below


def _crossings(layers: list[list[int]], below: list[list[int]]) -> int:
    """Count the pairs of arcs that cross between neighbouring layers."""
    total = 0
    for upper, lower in pairwise(layers):
        place = {node: i for i, node in enumerate(lower)}
        ends = [end for node in upper for end in sorted(place[o] for o in below[node])]
        total += sum(first > second for i, first in enumerate(ends) for second in ends[i + 1 :])
    return total


def _placed(layers: list[list[int]], edges: Edges, size: Sequence[float], gap: float) -> dict[int, float]:
    """Return where each node's middle goes: near its neighbours, in order, without overlap."""
    above, below = _neighbours(edges, len(size))
    place: dict[int, float] = {}
    for layer in layers:
        left = 0.0
        for node in layer:
            place[node] = left + size[node] / 2
            left += size[node] + gap
    for sweep in range(SWEEPS):
        order = layers if sweep % 2 == 0 else layers[::-1]
        near = above if sweep % 2 == 0 else below
        for layer in order:
            wish = [_mean([place[o] for o in near[node]], place[node]) for node in layer]
            for node, spot in zip(layer, _spread(layer, wish, size, gap), strict=True):
                place[node] = spot
    shift = min((place[n] - size[n] / 2 for n in place), default=0.0)
    return {node: spot - shift for node, spot in place.items()}


def _spread(layer: list[int], wish: list[float], size: Sequence[float], gap: float) -> list[float]:
    """Return places as near to those wished for as order and gaps allow, in least squares.

    With the least distances taken off, places must not fall: pool adjacent violators.
    """
    offset, taken = [], 0.0
    for before, node in zip([None, *layer], layer, strict=False):
        taken += 0.0 if before is None else size[before] / 2 + gap + size[node] / 2
        offset.append(taken)
    blocks: list[tuple[float, int]] = []
    for wanted, far in zip(wish, offset, strict=True):
        value, many = wanted - far, 1
        while blocks and blocks[-1][0] > value:
            other, others = blocks.pop()
            value = (value * many + other * others) / (many + others)
            many += others
        blocks.append((value, many))
    level = [value for value, many in blocks for _ in range(many)]
    return [value + far for value, far in zip(level, offset, strict=True)]
