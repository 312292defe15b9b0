"""Holes given the observed cells of a row, by pattern: means, spreads, and what integrating them out adds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.factors import SOUND
from lacunary.kernels.filling import Holes

__all__ = ["LOG_2PI", "Careful", "Given", "all_given", "careful", "given", "given_of"]

ROOM = 2**21
"""Numbers in an array of one row's slopes each that are held at a time."""

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Given:
    """Holes given observed cells: slope (configurations, holes, n + 1), zero for the holes' own columns.

    ``spread`` is R⁻¹ with covariance R⁻¹R⁻ᵀ, and ``log`` what integrating the holes out adds to log f.
    """

    slope: NDArray[np.float64]
    spread: NDArray[np.float64]
    log: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Careful:
    """Patterns of holes given observed cells: their holes, (patterns, count), and as in `Given`."""

    holes: NDArray[np.int64]
    slope: NDArray[np.float64]
    spread: NDArray[np.float64]
    log: NDArray[np.float64]


def careful(
    known: Holes, root: NDArray[np.float64], among: NDArray[np.int64]
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], Careful]]:
    """Yield some of the sorted rows, each one's pattern, z with the holes' means, and the patterns.

    Here A_h is decomposed, not K_hh: that has lost too many digits. Patterns with as many holes go together.
    """
    counts = np.diff(known.first)[known.pattern[among]]
    for count in np.unique(counts):
        mine = among[counts == count]
        present, which = np.unique(known.pattern[mine], return_inverse=True)
        step = max(1, ROOM // max(int(count) * root.shape[1], 1))
        for first in range(0, len(mine), step):
            part, low = mine[first : first + step], which[first]
            some = present[low : which[min(first + step, len(mine)) - 1] + 1]
            holes = known.holes[known.first[some][:, None] + np.arange(count)]
            unit, upper = np.linalg.qr(np.moveaxis(root[:, holes], 0, 1))
            spread = np.linalg.inv(upper)
            slope = -spread @ (np.swapaxes(unit, -1, -2) @ root)
            scale = np.log(np.abs(np.diagonal(upper, axis1=-2, axis2=-1))).sum(axis=-1)
            given = Careful(holes, slope, spread, 0.5 * int(count) * LOG_2PI - scale)
            here, z = which[first : first + step] - low, known.z[part]
            z[np.arange(len(z))[:, None], holes[here]] = np.einsum("rhn,rn->rh", slope[here], z)
            yield part, here, z, given


def given_of(
    root: NDArray[np.float64], holes: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return slope, spread and log of some holes given the other cells, for each of several roots A."""
    (known,) = all_given(root, [holes])
    return known.slope, known.spread, known.log


def all_given(root: NDArray[np.float64], patterns: Sequence[NDArray[np.int64]]) -> list[Given]:
    """Return what the holes of every pattern are given the observed cells, for each of several roots A.

    Patterns with as many holes are worked out together, by Cholesky from K = AᵀA, whose block for the holes
    is RᵀR. Where that has lost too many digits the decomposition of A itself takes its place.
    """
    out: list[Given | None] = [None] * len(patterns)
    square = np.swapaxes(root, -1, -2) @ root
    by_count: dict[int, list[int]] = {}
    for k, pattern in enumerate(patterns):
        by_count.setdefault(len(pattern), []).append(k)
    for count, which in by_count.items():
        holes = np.array([patterns[k] for k in which], dtype=np.int64).reshape(len(which), count)
        block = square[:, holes[:, :, None], holes[:, None, :]]
        try:
            lower = np.asarray(np.linalg.cholesky(block), dtype=np.float64)
        except np.linalg.LinAlgError:
            lower = np.zeros_like(block)
        pivots = np.diagonal(lower, axis1=-2, axis2=-1)
        sound = np.asarray((pivots**2 > SOUND * np.diagonal(block, axis1=-2, axis2=-1)).all(axis=(0, 2)))
        for at, k in enumerate(which):
            if count and sound[at]:
                out[k] = _from_square(square, lower[:, at], patterns[k])
            else:
                out[k] = given(root, patterns[k])
    return [given for given in out if given is not None]


def _from_square(square: NDArray[np.float64], lower: NDArray[np.float64], holes: NDArray[np.int64]) -> Given:
    """Return the same as `_given` from K = AᵀA and the factor of its block for the holes."""
    spread = np.swapaxes(np.linalg.inv(lower), -1, -2)
    slope = -spread @ (np.swapaxes(spread, -1, -2) @ square[:, holes])
    slope[:, :, holes] = 0.0
    scale = np.log(np.diagonal(lower, axis1=-2, axis2=-1)).sum(axis=-1)
    return Given(slope, spread, 0.5 * len(holes) * LOG_2PI - scale)


def given(root: NDArray[np.float64], holes: NDArray[np.int64]) -> Given:
    """Return what holes are given the observed cells, for each of several roots A."""
    if not len(holes):
        empty = np.empty((len(root), 0, root.shape[-1]))
        return Given(empty, empty[:, :, :0], np.zeros(len(root)))
    unit, upper = np.linalg.qr(root[:, :, holes])
    spread = np.linalg.inv(upper)
    seen = root.copy()
    seen[:, :, holes] = 0.0
    slope = -spread @ (np.swapaxes(unit, -1, -2) @ seen)
    scale = np.log(np.abs(np.diagonal(upper, axis1=-2, axis2=-1))).sum(axis=-1)
    return Given(slope, spread, 0.5 * len(holes) * LOG_2PI - scale)
