"""Rows of a uniform variable: as if normal with its mean and variance, but for how probable values are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.gaussian import Forms, GaussianRows, Posed
from lacunary.model.uniform import SLACK

__all__ = ["UniformPosed", "UniformRows"]


class UniformRows(GaussianRows):
    """Rows of one uniform variable; forms are those of the normal density with its mean and variance."""

    def under(self, forms: Forms) -> Posed:
        """Return the rows as these densities see them."""
        return UniformPosed(self, forms)


class UniformPosed(Posed):
    """Rows under some uniform densities. What fills holes has the right mean and variance."""

    def bounds(self, c: int) -> tuple[float, float]:
        """Return the bounds of configuration c."""
        shift, scale = self.forms.root[c, 0]
        half = np.sqrt(3.0) / scale
        return float(-shift / scale - half), float(-shift / scale + half)

    def log_evidence(self) -> NDArray[np.float64]:
        """Return −log(high − low) within the bounds, −∞ outside, and zero for a hole; (rows, columns)."""
        out = np.full((self.width, len(self.rows)), -np.inf)
        hole = np.zeros(len(self.rows), dtype=bool)
        for pattern in self.rows.patterns:
            hole[pattern.first : pattern.last] = len(pattern.holes) > 0
        for c in range(len(self.forms.root)):
            low, high = self.bounds(c)
            x, width = self.rows.sorted[:, 1], high - low
            inside = (x >= low - SLACK * width) & (x <= high + SLACK * width)
            log = np.where(hole, 0.0, np.where(inside, -np.log(width), -np.inf))
            places = self._places(c)
            where = slice(None) if places is None else places
            out[self.columns[c], where] = log[where]
        back = np.empty_like(out.T)
        back[self.rows.order] = out.T
        return back
