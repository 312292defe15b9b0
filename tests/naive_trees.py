"""Regression trees the plain way: every feature, every cut, every sum anew."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["grown", "leaf"]


def grown(bins: Any, targets: Any, rows: list[int], least: int) -> Any:
    """Return a tree: (means,) of a leaf, or (feature, cut, left, right)."""
    best, worth = None, _worth(targets, rows) + 1e-9
    for feature in range(bins.shape[1]):
        for cut in range(int(bins.max())):
            left = [row for row in rows if bins[row, feature] <= cut]
            right = [row for row in rows if bins[row, feature] > cut]
            if min(len(left), len(right)) < least:
                continue
            now = _worth(targets, left) + _worth(targets, right)
            if now > worth:
                best, worth = (feature, cut, left, right), now
    if best is None:
        return (targets[rows].mean(axis=0),)
    feature, cut, left, right = best
    return feature, cut, grown(bins, targets, left, least), grown(bins, targets, right, least)


def leaf(tree: Any, row: Any) -> Any:
    """Return the means of the leaf that a row comes to."""
    while len(tree) > 1:
        feature, cut, left, right = tree
        tree = left if row[feature] <= cut else right
    return tree[0]


def _worth(targets: Any, rows: list[int]) -> float:
    """Return what the means of these rows take off the sum of squares."""
    return float(len(rows) * (np.asarray(targets)[rows].mean(axis=0) ** 2).sum())
