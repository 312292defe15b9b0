"""Rows as points: what they are, and that nothing depends on the order of rows, parts or repetitions."""

from __future__ import annotations

import numpy as np
import pytest

import lacunary as lac
from lacunary.data import fewest
from lacunary.data.parts import itself
from lacunary.data.source import Source
from lacunary.learn.places import Places
from lacunary.maths.arrays import Integers


def rows() -> lac.Table:
    rng = np.random.default_rng(0)
    x = rng.normal(5.0, 3.0, size=60)
    y = np.where(rng.random(60) < 0.2, np.nan, 2 * x + rng.normal(size=60))
    return lac.read({"x": x, "y": y, "s": rng.choice(["u", "v", "w"], 60, p=[0.6, 0.3, 0.1])})


def test_every_variable_has_variance_one() -> None:
    points = Places(rows()).points(rows())
    assert points.shape == (60, 5)
    spread = np.nanvar(points, axis=0)
    np.testing.assert_allclose([spread[0], spread[1], spread[2:].sum()], 1.0, rtol=1e-9)
    assert np.isnan(points[:, 1]).sum() == int(rows().holes[:, 1].sum())


def test_uncorrelated_columns() -> None:
    table = lac.read({"x": rows()["x"], "y": rows()["x"] + np.linspace(-1.0, 1.0, 60)})
    points = Places(table, sphere=True).points(table)
    np.testing.assert_allclose(np.cov(points.T, bias=True), np.eye(2), atol=1e-9)


@pytest.mark.parametrize("most", [2000, 20])
def test_neither_order_nor_parts_nor_repetition_change_groups(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fewest, "DRAWN", most)
    table = rows()
    order = np.random.default_rng(3).permutation(60)
    shuffled = table.take(order)
    parted = lac.Partitioned([table.take(slice(0, 25)), table.take(slice(25, 60))])
    twice = table.take(np.repeat(np.arange(60), 2))

    def groups(source: Source) -> Integers:
        return np.concatenate(Places(source).k_means(3, np.random.default_rng(1)).each(itself))

    expected = groups(table)
    np.testing.assert_array_equal(groups(shuffled), expected[order])
    np.testing.assert_array_equal(groups(parted), expected)
    np.testing.assert_array_equal(groups(twice), np.repeat(expected, 2))
    [merged], [other] = (Places(source).merged(3).each(itself) for source in (table, shuffled))
    np.testing.assert_array_equal(other, merged[order])
