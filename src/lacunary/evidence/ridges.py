"""Moves along what no rows can tell: other parameters, the same distribution of all that is observed.

A hidden root with two children makes of their tables A and B the product Σ_h p_h A_h B_hᵀ, in every
configuration of their other parents, and other factors have the same product: two classes may differ more in
A if they differ less in B, or one may take in part of the other. With one child alone A is told even less.
Each of these is a group with one parameter t that adds up, along which the likelihood is constant: what is
left is the prior's density and the stretch of volumes. Of a lattice of t where all are probabilities, which
has the point where a particle stands, one is drawn in proportion. No leap is needed and none is refused,
however long and curved the ridge. docs/derivations/sampled.md has the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from lacunary.data.table import HOLE
from lacunary.maths.arrays import Array, Integers
from lacunary.model.dag import Dag

__all__ = ["Ridge", "along", "ridges"]

POINTS = 8
"""Points of a lattice at least; up to twice as many."""

FARTHEST = 20.0
"""How far a class may shrink in one move, as a log, where nothing else ends the way."""

LEAST = 1e-300
"""Probabilities that rounding makes less are made this."""


@dataclass(frozen=True, eq=False)
class Ridge:
    """Where the tables of a hidden root and its one or two children stand.

    Attributes
    ----------
    weights
        The places of p_h; (states of the root,).
    sides
        For each child the places of its table; (states of the root, configurations of the other parents that
        the children share, those of the parents that they do not share, states of the child).
    """

    weights: Integers
    sides: tuple[Integers, ...]


class _Way(NamedTuple):
    """A group's orbit through each particle, from ``low`` to ``high``; it stands at t = 0.

    ``stretch`` is the log of how much volumes are stretched at t; (particles, points) both. ``at`` are the
    probabilities in some ``places`` there; (particles, points, places).
    """

    low: Array
    high: Array
    stretch: Callable[[Array], Array]
    places: Integers
    at: Callable[[Array], Array]


def ridges(dag: Dag, codes: Integers) -> list[Ridge]:
    """Return the hidden roots with one or two children, whose tables rows with these codes cannot tell."""
    if dag.tied or dag.numeric or dag.implied:
        return []
    parents, found = dag.parent_indices, []
    for h in np.flatnonzero((codes == HOLE).all(axis=0)).tolist():
        children = [c for c, own in enumerate(parents) if h in own]
        married = any(c in parents[d] for c in children for d in children)
        if parents[h] or not 1 <= len(children) <= 2 or married or dag.layout.sizes[h] < 2:
            continue
        others = [set(parents[c]) - {h} for c in children]
        shared = sorted(set.intersection(*others))
        sides = (
            _places(dag, c, [[h], shared, sorted(own - set(shared)), [c]])
            for c, own in zip(children, others, strict=True)
        )
        found.append(Ridge(_places(dag, h, [[h]]), tuple(sides)))
    return found


def _places(dag: Dag, child: int, axes: list[list[int]]) -> Integers:
    """Return where a table's entries stand, an axis for the configurations of each group of variables."""
    layout = dag.layout
    stride = dict(zip(layout.members[child], layout.strides[child], strict=True))
    out = np.array(layout.start[child], dtype=np.int64)
    for variables in axes:
        grid = product(*(range(layout.sizes[v]) for v in variables))
        steps = [sum(s * stride[v] for s, v in zip(one, variables, strict=True)) for one in grid]
        out = out[..., None] + np.array(steps, dtype=np.int64)
    return out


def along(found: list[Ridge], theta: Array, alpha: Array, rng: np.random.Generator) -> Array:
    """Return parameters moved once along every way of every ridge; (particles, size).

    Dirichlets with hyperparameters α, times any likelihood of what is observed, are left as they are.
    """
    theta = theta.copy()
    for ridge in found:
        a, b = rng.permutation(len(ridge.weights))[:2].tolist()
        for way in _ways(ridge, theta, a, b, rng):
            t = _drawn(way, alpha[way.places], rng)
            theta[:, way.places] = np.maximum(way.at(t[:, None])[:, 0], LEAST)
    return theta


def _ways(ridge: Ridge, theta: Array, a: int, b: int, rng: np.random.Generator) -> Iterator[_Way]:
    """Go through the ways of two classes, each from where the last has led."""
    first = ridge.sides[0]
    for j in range(first.shape[1]):
        if len(ridge.sides) == 2:
            yield _contrast(theta, ridge.weights, first[:, j], ridge.sides[1][:, j], (a, b))
        else:
            yield _tilt(theta, ridge.weights, first[:, j], (a, b), rng)
    for one, other in (ridge.sides, ridge.sides[::-1]) if len(ridge.sides) == 2 else ((first, None),):
        for pair in ((a, b), (b, a)):
            yield _shift(theta, ridge.weights, one, other, pair)


def _contrast(theta: Array, weights: Integers, one: Integers, other: Integers, pair: tuple[int, int]) -> _Way:
    """Two classes differ e^t times as much in one child and e^−t times in the other, about the same mean.

    The sum over the pair is P Ā B̄ᵀ + p_a p_b / P · (A_a − A_b)(B_a − B_b)ᵀ.
    """
    a, b = pair
    share = theta[:, weights[[a, b]]]
    share = share / share.sum(axis=1, keepdims=True)
    means, differ, ends, places, free = [], [], [], [], []
    for side in (one, other):
        x, y = theta[:, side[a].ravel()], theta[:, side[b].ravel()]
        mean, far = share[:, :1] * x + share[:, 1:] * y, x - y
        up, down = share[:, 1:] * far, -share[:, :1] * far
        ends.append(np.log(np.minimum(_room(mean, up), _room(mean, down))))
        means.append(np.concatenate([mean, mean], axis=1))
        differ.append(np.concatenate([up, down], axis=1))
        places.append(np.concatenate([side[a].ravel(), side[b].ravel()]))
        free.append(side[a].size - side[a].size // side.shape[-1])

    def at(t: Array) -> Array:
        both = zip(means, differ, (t, -t), strict=True)
        return np.concatenate([m[:, None] + np.exp(s)[..., None] * d[:, None] for m, d, s in both], axis=-1)

    def stretch(t: Array) -> Array:
        return np.asarray((free[0] - free[1]) * t)

    return _Way(-ends[1], ends[0], stretch, np.concatenate(places), at)


def _shift(
    theta: Array, weights: Integers, one: Integers, other: Integers | None, pair: tuple[int, int]
) -> _Way:
    """Class a becomes e^t times as large and takes in part of b: A_a goes towards A_b, B_b away from B_a.

    A_b and B_a stay as they are, and so does the sum of the two classes' p B.
    """
    a, b = pair
    p, q = theta[:, weights[a]], theta[:, weights[b]]
    x, y = theta[:, one[a].ravel()], theta[:, one[b].ravel()]
    there = np.zeros(0, dtype=np.int64) if other is None else other[b].ravel()
    z = np.ones((len(theta), 0)) if other is None else theta[:, other[a].ravel()]
    whole = p[:, None] * z + q[:, None] * theta[:, there]
    high = np.log(np.minimum(_room(whole, -p[:, None] * z), (p + q) / p))
    low = np.maximum(-np.log(_room(y, x - y)), -FARTHEST)
    told = 1 - (x.shape[1] - x.shape[1] // one.shape[-1])
    free = 0 if other is None else len(there) - len(there) // other.shape[-1]

    def sizes(t: Array) -> tuple[Array, Array]:
        mine = p[:, None] * np.exp(t)
        return mine, np.maximum((p + q)[:, None] - mine, LEAST)

    def at(t: Array) -> Array:
        mine, rest = (size[..., None] for size in sizes(t))
        near = y[:, None] + np.exp(-t)[..., None] * (x - y)[:, None]
        return np.concatenate([mine, rest, near, (whole[:, None] - mine * z[:, None]) / rest], axis=-1)

    def stretch(t: Array) -> Array:
        return np.asarray(told * t + free * (np.log(q)[:, None] - np.log(sizes(t)[1])))

    places = np.concatenate([weights[[a, b]], one[a].ravel(), there])
    return _Way(low, high, stretch, places, at)


def _tilt(
    theta: Array, weights: Integers, one: Integers, pair: tuple[int, int], rng: np.random.Generator
) -> _Way:
    """Two classes differ otherwise in their only child, about the same mean; which way is drawn."""
    (a, b), (rest, states) = pair, one.shape[1:]
    v = rng.standard_normal((len(theta), rest, states))
    v = (v - v.mean(axis=-1, keepdims=True)).reshape(len(theta), -1)
    here = theta[:, np.concatenate([one[a].ravel(), one[b].ravel()])]
    step = np.concatenate([v / theta[:, weights[[a]]], -v / theta[:, weights[[b]]]], axis=1)

    def at(t: Array) -> Array:
        return np.asarray(here[:, None] + t[..., None] * step[:, None])

    places = np.concatenate([one[a].ravel(), one[b].ravel()])
    return _Way(-_room(here, -step), _room(here, step), np.zeros_like, places, at)


def _room(here: Array, step: Array) -> Array:
    """Return how many steps may be taken until the first of some numbers is zero; (particles,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        many = np.where(step < 0.0, here / -step, np.inf)
    return np.asarray(many.min(axis=1, initial=np.inf))


def _drawn(way: _Way, alpha: Array, rng: np.random.Generator) -> Array:
    """Return a point t of each particle's way, drawn from a lattice through 0; (particles,).

    The lattice is the same from wherever on it one looks: its step depends on the length of the way, which is
    the same, and on chance. What has no room stays where it is.
    """
    length = way.high - way.low
    able = np.isfinite(length) & (way.low < 0.0) & (way.high > 0.0)
    step = np.where(able, length, 1.0) / POINTS * 2.0 ** -rng.random(len(length))
    first = np.where(able, np.ceil(np.where(able, way.low, 0.0) / step), 0.0)
    count = first[:, None] + np.arange(2 * POINTS + 1)
    t = count * step[:, None]
    inside = (count == 0.0) | ((t > way.low[:, None]) & (t < way.high[:, None]) & able[:, None])
    t = np.where(inside, t, 0.0)
    height = way.stretch(t)
    if np.any(alpha != 1.0):
        height = height + np.log(np.maximum(way.at(t), LEAST)) @ (alpha - 1.0)
    height = np.where(inside, height, -np.inf)
    reach = np.cumsum(np.exp(height - height.max(axis=1, keepdims=True)), axis=1)
    which = (rng.random((len(t), 1)) * reach[:, -1:] >= reach).sum(axis=1)
    return np.asarray(t[np.arange(len(t)), which])
