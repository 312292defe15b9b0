"""EM in plain NumPy for one model only: a hidden class with binary children.

What a careful person would write by hand: two matrix products an iteration, the classes in the first
axis so that every reduction runs along contiguous memory, rows in blocks that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

__all__ = ["BLOCK", "HiddenRoot", "em"]

BLOCK = 4_000
"""Rows at a time; of 200 to 100 000 the fastest where it was tuned."""

Array = NDArray[np.float64]
HiddenRoot = tuple[Array, Array]
"""p(class), (classes,), and p(child = 1 | class), (classes, children)."""


def em(codes: NDArray[np.int8], start: HiddenRoot) -> Iterator[float]:
    """Iterate from this start without end, giving the log-likelihood that each iteration set out from.

    ``codes`` holds 0, 1 and −1 for a hole; (rows, children). A hole counts as its expectation, as in
    EM for any network, so that the iterates are comparable.
    """
    blocks = [_design(codes[first : first + BLOCK]) for first in range(0, len(codes), BLOCK)]
    weights, ones = start
    while True:
        mass, counts, log_likelihood = _expect(blocks, weights, ones)
        holes = counts.shape[1] > ones.shape[1]
        seen_ones, seen = np.hsplit(counts, 2) if holes else (counts, mass[:, None])
        weights = mass / mass.sum()
        ones = (seen_ones + (mass[:, None] - seen) * ones) / mass[:, None]
        yield log_likelihood


def _design(codes: NDArray[np.int8]) -> Array:
    """Indicators of a one and, if there are holes, of being observed; (children or twice that, rows)."""
    indicators = [codes.T == 1] if np.all(codes >= 0) else [codes.T == 1, codes.T >= 0]
    return np.ascontiguousarray(np.vstack(indicators), dtype=np.float64)


def _expect(blocks: list[Array], weights: Array, ones: Array) -> tuple[Array, Array, float]:
    """Return the expected rows in each class, their sums of the design, and the log-likelihood."""
    log_zero = np.log1p(-np.clip(ones, 0.0, 1.0 - 1e-15))
    log_odds = np.log(np.maximum(ones, 1e-15)) - log_zero
    holes = len(blocks[0]) > ones.shape[1]
    slope = np.hstack([log_odds, log_zero]) if holes else log_odds
    level = np.log(weights) if holes else np.log(weights) + log_zero.sum(axis=1)
    mass, counts, log_likelihood = np.zeros_like(weights), np.zeros_like(slope), 0.0
    for design in blocks:
        share = slope @ design
        share += level[:, None]
        top = share.max(axis=0)
        share -= top
        np.exp(share, out=share)
        total = share.sum(axis=0)
        share /= total
        log_likelihood += float(top.sum() + np.log(total).sum())
        mass += share.sum(axis=1)
        counts += share @ design.T
    return mass, counts, log_likelihood
