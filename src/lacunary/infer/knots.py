"""Families that open continuous variables tie together, as normals in each configuration of their parents."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from lacunary.infer.findings import Findings
from lacunary.maths.arrays import Array, Integers
from lacunary.model.dag import Dag

__all__ = ["Knot", "Normals"]

SOUND = 1e-5
"""A pivot of K = AᵀA, relative to its diagonal, below which A itself is decomposed, as for rows of tables."""

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Normals:
    """A knot's open variables in each configuration: means, (k, holes), and W with covariance WᵀW.

    ``log`` is the log-density of what is seen; (k,).
    """

    means: Array
    spread: Array
    log: Array

    def sds(self, at: int) -> Array:
        """Return the standard deviations of one variable; (k,)."""
        return np.asarray(np.sqrt(np.square(self.spread[:, :, at]).sum(axis=1)))


class Knot:
    """Families that open continuous variables tie together, in each configuration of their open parents.

    Attributes
    ----------
    core
        The open discrete parents; the last moves fastest in a configuration.
    holes
        The open continuous variables, by their place in the matrices.
    """

    def __init__(self, dag: Dag, families: Sequence[int], known: Findings) -> None:
        layout = dag.layout
        self.dag, self.families = dag, families
        parents = {p for i in families for p in layout.members[i][1:]}
        self.core = tuple(sorted(parents - known.states.keys()))
        every = dict.fromkeys(v for i in families for v in (*layout.regressors[i], i))
        self.holes = {v: k for k, v in enumerate(v for v in every if v not in known.values)}
        self.sizes = tuple(layout.sizes[v] for v in self.core)

    @property
    def room(self) -> float:
        """How many numbers its matrices have."""
        rows, holes = len(self.families), len(self.holes)
        return float(prod(map(float, self.sizes))) * (2.0 * rows * holes + 2.0 * holes**2 + 4.0 * rows)

    @cached_property
    def _places(self) -> tuple[Any, ...]:
        """Where parameters stand: of each family in each configuration, but for what is seen of parents.

        With that come, for parents that are seen, row, variable and step, and for regressors row, which of
        the family's parameters, and variable: those that are seen, then those that are not.
        """
        layout, at = self.dag.layout, {v: k for k, v in enumerate(self.core)}
        steps = np.zeros((len(self.families), len(self.core)), np.int64)
        seen: list[tuple[int, int, int]] = []
        slopes: tuple[list[Any], list[Any]] = ([], [])
        for row, i in enumerate(self.families):
            own_width = layout.widths[i][0]
            for v, stride in zip(layout.members[i][1:], layout.strides[i][1:], strict=True):
                if v in at:
                    steps[row, at[v]] = stride * own_width
                else:
                    seen.append((row, v, stride * own_width))
            for which, v in enumerate(layout.regressors[i], 1):
                slopes[v in self.holes].append((row, which, self.holes.get(v, v)))
        own = [(row, self.holes[i]) for row, i in enumerate(self.families) if i in self.holes]
        start = np.array([layout.start[i] for i in self.families], np.int64)[:, None]
        configurations = np.indices(self.sizes, np.int64).reshape(len(self.core), prod(self.sizes))
        width = np.array([layout.widths[i][0] for i in self.families], np.int64)[:, None]
        return (
            start + steps @ configurations, width, _columns(seen, 3), _columns(slopes[False], 3),
            _columns(slopes[True], 3), _columns(own, 2), np.array(self.families, np.int64),
        )  # fmt: skip

    def normals(self, theta: Array, codes: Integers, reals: Array) -> Normals:
        """Return what is known of it, given codes and values by variable; values are zero where open."""
        place, width, seen, shown, slopes, own, families = self._places
        if seen.size:
            place = (
                place + np.bincount(seen[0], codes[seen[1]] * seen[2], len(place)).astype(np.int64)[:, None]
            )
        deviation = np.sqrt(theta[place + width - 1])
        residual = reals[families][:, None] - theta[place]
        if shown.size:
            told = theta[place[shown[0]] + shown[1][:, None]] * reals[shown[2]][:, None]
            np.subtract.at(residual, shown[0], told)
        residual = (residual / deviation).T
        root = np.zeros((place.shape[1], len(place), len(self.holes)))
        root[:, own[0], own[1]] = (1.0 / deviation[own[0]]).T
        if slopes.size:
            slope = theta[place[slopes[0]] + slopes[1][:, None]] / deviation[slopes[0]]
            root[:, slopes[0], slopes[2]] = -slope.T
        spread, unit, log = _solved(root)
        means = -(np.swapaxes(spread, -1, -2) @ (unit @ residual[..., None]))[..., 0]
        left = residual + (root @ means[..., None])[..., 0]
        log += 0.5 * (len(self.holes) - len(place)) * LOG_2PI - np.log(deviation).sum(axis=0)
        return Normals(means, spread, log - 0.5 * np.square(left).sum(axis=1))


def _columns(rows: Sequence[tuple[int, ...]], many: int) -> Integers:
    return np.array(rows, np.int64).reshape(-1, many).T


def _solved(root: Array) -> tuple[Array, Array, Array]:
    """Return W with (AᵀA)⁻¹ = WᵀW, WAᵀ, whose rows are orthonormal, and log |W|, for each A."""
    square = np.swapaxes(root, -1, -2) @ root
    lower: Any = np.zeros_like(square)
    with suppress(np.linalg.LinAlgError):
        lower = np.linalg.cholesky(square)
    pivots = np.diagonal(lower, axis1=-2, axis2=-1)
    spread: Any
    if bool((pivots**2 > SOUND * np.diagonal(square, axis1=-2, axis2=-1)).all()):
        spread = np.linalg.inv(lower)
        unit = spread @ np.swapaxes(root, -1, -2)
    else:
        turned, upper = np.linalg.qr(root)
        spread, unit = np.swapaxes(np.linalg.inv(upper), -1, -2), np.swapaxes(turned, -1, -2)
        pivots = np.abs(np.diagonal(upper, axis1=-2, axis2=-1))
    return spread, unit, -np.log(pivots).sum(axis=-1)
