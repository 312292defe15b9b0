"""Rows with holes for Gaussian components: patterns with as many holes are worked on together.

With K = AᵀA the holes h of a row have, given its observed cells, the precision K_hh and the mean
−K_hh⁻¹ K_ho z_o; see `lacunary.infer.gaussian`, which takes one pattern at a time, and its place where a
block K_hh has lost digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunary.infer.gaussian import SOUND, Forms, GaussianRows
from lacunary.maths.arrays import Array, Integers

__all__ = ["Patterns"]

LOG_2PI = float(np.log(2.0 * np.pi))

ROOM = 2**21
"""Numbers in an array of one row's slopes each that are held at a time."""


@dataclass(frozen=True, eq=False)
class _Alike:
    """Patterns with the same number of holes.

    Attributes
    ----------
    holes
        Their holes, as places in z = (1, x); (patterns, count).
    rows, pattern
        Which of the sorted rows have one of them, and which; (rows,) each.
    """

    holes: Integers
    rows: Integers
    pattern: Integers


@dataclass(frozen=True, eq=False)
class _Given:
    """Holes given observed cells, in every component.

    Attributes
    ----------
    slope
        What z is multiplied by for the means; (components, patterns, count, n + 1).
    covariance
        Of the holes; (components, patterns, count, count).
    log
        What integrating them out adds to the log-density; (components, patterns).
    """

    slope: Array
    covariance: Array
    log: Array


class Patterns:
    """Sorted rows with holes, whose patterns are grouped by how many holes they have."""

    def __init__(self, rows: GaussianRows) -> None:
        self.rows = rows
        self._last: tuple[Forms, list[_Given] | None] | None = None

    @cached_property
    def groups(self) -> list[_Alike]:
        """The patterns by number of holes; rows without any are the first group if there are such."""
        by_count: dict[int, list[int]] = {}
        for k, pattern in enumerate(self.rows.patterns):
            by_count.setdefault(len(pattern.holes), []).append(k)
        out = []
        for count, which in sorted(by_count.items()):
            some = [self.rows.patterns[k] for k in which]
            holes = np.array([p.holes for p in some], dtype=np.int64).reshape(len(some), count)
            rows = np.concatenate([np.arange(p.first, p.last) for p in some])
            number = np.repeat(np.arange(len(some)), [p.last - p.first for p in some])
            out.append(_Alike(holes, rows, number))
        return out

    def under(self, forms: Forms) -> list[_Given] | None:
        """Return what holes are given observed cells, by group of patterns; None if digits are lost.

        The last answer is kept: a step of EM asks for densities and then for moments.
        """
        if self._last is None or self._last[0] is not forms:
            square = np.swapaxes(forms.root, -1, -2) @ forms.root
            found = [_given(square, group.holes) for group in self.groups]
            sound = [given for given in found if given is not None]
            self._last = forms, sound if len(sound) == len(found) else None
        return self._last[1]

    def log_densities(self, forms: Forms) -> Array | None:
        """Return log-densities of the rows' observed cells, (rows, components); None if digits are lost."""
        known = self.under(forms)
        if known is None:
            return None
        out = np.empty((len(self.rows), len(forms.root)))
        for group, given in zip(self.groups, known, strict=True):
            for c, (root, constant) in enumerate(zip(forms.root, forms.constant, strict=True)):
                for rows, pattern, z in self._filled(group, given.slope[c]):
                    residual = z @ root.T
                    log = constant - 0.5 * np.einsum("ij,ij->i", residual, residual)
                    out[self.rows.order[rows], c] = log + given.log[c, pattern]
        return out

    def moments(self, forms: Forms, weights: Array) -> Array | None:
        """Return Σ weight · E[z zᵀ | observed], (components, n + 1, n + 1); None if digits are lost."""
        known = self.under(forms)
        if known is None:
            return None
        width = self.rows.sorted.shape[1]
        out, sorted_ = np.zeros((len(forms.root), width, width)), weights[self.rows.order]
        for group, given in zip(self.groups, known, strict=True):
            places = group.holes[:, :, None], group.holes[:, None, :]
            for c, moment in enumerate(out):
                for rows, _, z in self._filled(group, given.slope[c]):
                    rooted = z * np.sqrt(sorted_[rows, c])[:, None]
                    moment += rooted.T @ rooted
                total = np.bincount(group.pattern, sorted_[group.rows, c], minlength=len(group.holes))
                np.add.at(moment, places, total[:, None, None] * given.covariance[c])
        return out

    def _filled(self, group: _Alike, slope: Array) -> Iterator[tuple[Integers, Integers, Array]]:
        """Yield some rows of a group: their places, patterns, and z with the holes' means."""
        step = max(ROOM // max(slope[0].size, 1), 1)
        for first in range(0, len(group.rows), step):
            rows, pattern = group.rows[first : first + step], group.pattern[first : first + step]
            z = self.rows.sorted[rows]
            if slope.shape[1]:
                mean = (slope[pattern] @ z[:, :, None])[:, :, 0]
                z[np.arange(len(z))[:, None], group.holes[pattern]] = mean
            yield rows, pattern, z


def _given(square: Array, holes: Integers) -> _Given | None:
    """Return holes given observed cells from K = AᵀA; None where a factor has lost too many digits."""
    patterns, count = holes.shape
    block = square[:, holes[:, :, None], holes[:, None, :]]
    try:
        lower = np.linalg.cholesky(block)
    except np.linalg.LinAlgError:
        return None
    pivots = np.diagonal(lower, axis1=-2, axis2=-1)
    if count and not np.all(pivots**2 > SOUND * np.diagonal(block, axis1=-2, axis2=-1)):
        return None
    spread = np.linalg.inv(lower) if count else lower
    covariance = np.swapaxes(spread, -1, -2) @ spread
    beside = square[:, holes]
    beside[:, np.arange(patterns)[:, None, None], np.arange(count)[:, None], holes[:, None, :]] = 0.0
    log = 0.5 * count * LOG_2PI - np.log(pivots).sum(axis=-1)
    return _Given(-(covariance @ beside), np.asarray(covariance), np.asarray(log))
