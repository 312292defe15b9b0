"""Complete rows, multiplied out, beside the rows' engine that takes holes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.infer.gaussian import GaussianRows
from lacunary.mixture import products
from lacunary.mixture.gaussian import Gaussian, Seen
from tests.mixture.small import owned

ROWS, WIDTH = 60, 4


@pytest.fixture
def engine() -> Gaussian:
    values = np.random.default_rng(0).normal(3.0, [0.1, 1.0, 10.0, 1000.0], (ROWS, WIDTH))
    return Gaussian(lac.read(values))


def standard(engine: Gaussian) -> NDArray[np.float64]:
    """The rows z = (1, x) in standardised columns."""
    values = engine.source.whole("a test").reals
    return np.insert((values - engine.scale.centre) / engine.scale.spread, 0, 1.0, axis=1)


def test_moments_are_sums_of_weighted_squares(engine: Gaussian) -> None:
    models = engine.draw([((),) * len(engine.schema)] * 3, 20.0, np.random.default_rng(1))
    shares = np.random.default_rng(2).dirichlet(np.ones(3), ROWS)
    z = np.insert(
        (engine.source.whole("a test").reals - engine.scale.centre) / engine.scale.spread, 0, 1.0, axis=1
    )
    expected = [
        sum(share * np.outer(row, row) for share, row in zip(own, z, strict=True)) for own in shares.T
    ]
    found = engine.statistics(models, owned(engine, shares))
    np.testing.assert_allclose(found, expected, atol=1e-12)  # sums of 60 numbers of size one


def test_narrow_models_without_arcs_have_what_their_families_need(engine: Gaussian) -> None:
    models = engine.draw([((),) * len(engine.schema)] * 3, 20.0, np.random.default_rng(1))
    shares = np.random.default_rng(2).dirichlet(np.ones(3), ROWS)
    z = standard(engine)
    found = engine.statistics(engine.narrowed(models), owned(engine, shares))
    edge = np.einsum("rc,ri->ci", shares, z)
    squares = np.einsum("rc,ri->ci", shares, z**2)
    for sums, first, diagonal in zip(found, edge, squares, strict=True):
        expected = np.diag(diagonal)
        expected[0] = expected[:, 0] = first
        np.testing.assert_allclose(sums, expected, atol=1e-12)  # sums of 60 numbers of size one


def test_narrow_models_with_arcs_have_all_moments(engine: Gaussian) -> None:
    models = engine.draw([((), (0,), (), ())] * 2, 20.0, np.random.default_rng(1))
    shares = owned(engine, np.random.default_rng(2).dirichlet(np.ones(2), ROWS))
    found = engine.statistics(engine.narrowed(models), shares)
    np.testing.assert_array_equal(found, engine.statistics(models, shares))


def test_complete_graphs_are_solved_by_one_factor(engine: Gaussian) -> None:
    """Beside least squares of every family by itself, whatever the order of the variables."""
    orders = [(0, 1, 2, 3), (2, 0, 3, 1)]
    structures = [tuple(tuple(sorted(o[: o.index(v)])) for v in range(WIDTH)) for o in orders]
    shares = np.random.default_rng(2).dirichlet(np.ones(2), ROWS)
    models = engine.maximize(
        engine.statistics(engine.draw(structures, 20.0, np.random.default_rng(1)), owned(engine, shares)),
        structures,
    )
    z, belief = standard(engine), engine.belief
    for c, structure in enumerate(structures):
        moment = (z * shares[:, c, None]).T @ z + belief.moments
        count = shares[:, c].sum() + belief.alpha - belief.size
        for child, parents in enumerate(structure):
            some = [0, *(p + 1 for p in parents)]
            slope = np.linalg.solve(moment[np.ix_(some, some)], moment[some, child + 1])
            rest = moment[child + 1, child + 1] - slope @ moment[some, child + 1]
            expected = np.zeros(WIDTH + 1)
            expected[[*some, child + 1]] = np.array([*-slope, 1.0]) / np.sqrt(rest / count)
            np.testing.assert_allclose(
                models.root[c, child], expected, rtol=1e-9, atol=1e-9
            )  # well conditioned


@pytest.mark.parametrize("narrow", [1.0, 100.0, 1e7])
def test_densities_without_arcs(engine: Gaussian, narrow: float) -> None:
    """Also where a component is so narrow that multiplying out would lose all digits."""
    models = engine.draw([((),) * len(engine.schema)] * 3, 20.0, np.random.default_rng(1))
    models = type(models)(models.structures, models.root * narrow)
    seen = only(engine)
    multiplied = seen.products.log_densities(models.forms) if seen.products else None
    assert (multiplied is None) == (narrow > products.REACH)
    z = np.insert(
        (engine.source.whole("a test").reals - engine.scale.centre) / engine.scale.spread, 0, 1.0, axis=1
    )
    residual = np.einsum("cij,lj->lci", models.root, z)
    precision = np.diagonal(models.root[:, :, 1:], axis1=1, axis2=2)
    expected = (np.log(precision) - 0.5 * np.log(2 * np.pi)).sum(axis=1) - 0.5 * (residual**2).sum(axis=2)
    expected = expected - np.log(engine.scale.spread).sum()
    # Squares up to 10^6 multiplied out, to a few units in the last place of that.
    np.testing.assert_allclose(engine.log_evidence(models), expected, rtol=1e-12, atol=1e-8)


@pytest.mark.parametrize(("slope", "offset"), [(1e3, 0.0), (1e-3, 1e4)])
def test_what_is_far_in_either_way_is_not_multiplied_out(slope: float, offset: float) -> None:
    """Rows far from a narrow component at the origin, and a component far from rows that are near."""
    forms: Any = SimpleNamespace(root=np.array([[[offset, slope]]]), constant=np.zeros(1))
    rows = products.Products(np.array([[1.0, 2.0], [1.0, -3.0]]))
    assert rows.log_densities(forms) is None
    forms.root = np.array([[[0.5, 2.0]]])
    found = rows.log_densities(forms)
    assert found is not None
    np.testing.assert_allclose(found[:, 0], [-0.5 * 4.5**2, -0.5 * 5.5**2], rtol=1e-12)


def only(engine: Gaussian) -> Seen:
    """The one part of a table."""
    found: list[Seen] = engine.seen.each(lambda part: part)
    return found[0]


def test_holes_are_not_multiplied_out() -> None:
    values = np.random.default_rng(0).normal(size=(20, 3))
    values[4, 1] = np.nan
    engine = Gaussian(lac.read(values))
    assert only(engine).products is None
    assert isinstance(only(engine).rows, GaussianRows)
