"""Groups of points with holes: against plain loops, and where the groups are known."""

from __future__ import annotations

import numpy as np
import pytest

from lacunary.maths.cluster import Ward, centres_of, k_means, nearest, squares


def blobs(holes: float) -> tuple[np.ndarray, np.ndarray]:
    """Return three groups far apart in four dimensions, and the group of each point."""
    rng, owner = np.random.default_rng(0), np.repeat([0, 1, 2], [30, 50, 20])
    centres = np.array([[0, 0, 0, 0], [9, 9, 9, 9], [-9, 9, -9, 9.0]])
    x = centres[owner] + rng.normal(size=(100, 4))
    x[rng.random(x.shape) < holes] = np.nan
    x[np.isnan(x).all(axis=1), 0] = 0.0  # a row that shows nothing belongs nowhere
    return x, owner


def test_distances_are_those_of_what_is_seen() -> None:
    x, _ = blobs(0.3)
    centres = np.random.default_rng(1).normal(size=(2, 4))
    found = squares(x, centres)
    for row, each in zip(x, found, strict=True):
        seen = ~np.isnan(row)
        for centre, value in zip(centres, each, strict=True):
            expected = ((row[seen] - centre[seen]) ** 2).mean() * 4
            assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_groups_far_apart_are_found(holes: float) -> None:
    x, owner = blobs(holes)
    weights = np.ones(len(x))
    by_means = nearest(x, k_means(x, weights, 3, np.random.default_rng(2)))
    merged = nearest(x, centres_of(x, weights, Ward(x).labels(3), 3))
    for labels in (by_means, merged):
        pairs = {(int(a), int(b)) for a, b in zip(owner, labels, strict=True)}
        together = [(owner == a) & (labels == b) for a, b in pairs]
        # With holes a row may show only what two groups have in common; hardly any does.
        assert sum(sorted(map(np.count_nonzero, together), reverse=True)[:3]) >= (100 if not holes else 95)


def test_centres_are_weighted_means() -> None:
    x, weights = np.array([[0.0, 1.0], [2.0, np.nan], [9.0, 9.0]]), np.array([1.0, 3.0, 2.0])
    found = centres_of(x, weights, np.array([0, 0, 2]), 3)
    np.testing.assert_allclose(found, [[1.5, 1.0], [0.0, 0.0], [9.0, 9.0]])


def test_fewer_points_than_groups() -> None:
    x = np.array([[0.0], [1.0]])
    assert set(nearest(x, k_means(x, np.ones(2), 4, np.random.default_rng(0))).tolist()) <= {0, 1, 2, 3}
