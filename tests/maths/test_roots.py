"""Triangular roots have the covariances that they stand for."""

from __future__ import annotations

import numpy as np

from lacunary.maths.roots import triangular

ROUNDING = 1e-12
"""Of products of a few numbers around one."""


def test_roots_are_lower_triangular_and_know_what_is_known() -> None:
    random = np.random.default_rng(0)
    wide = random.normal(size=(6, 4, 7))
    wide[1, 0] = wide[2, 2] = wide[3, [1, 3]] = 0.0
    wide[4] = 0.0
    found = triangular(wide)
    np.testing.assert_allclose(found @ found.swapaxes(1, 2), wide @ wide.swapaxes(1, 2), atol=ROUNDING)
    assert (np.triu(found, 1) == 0).all()
    assert (np.diagonal(found, axis1=1, axis2=2) >= 0).all()
    for part, known in ((1, 0), (2, 2), (3, 1), (3, 3)):
        assert (found[part, known] == 0).all()
        assert (found[part, :, known] == 0).all()


def test_nothing_varies_where_there_are_no_columns() -> None:
    np.testing.assert_array_equal(triangular(np.zeros((2, 3, 0))), np.zeros((2, 3, 3)))
