"""Complete rows under components of few arcs, beside plain sums over rows and cells."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.infer.gaussian import GaussianRows
from lacunary.kernels import regressions as kernel
from lacunary.mixture import gaussian, sparse
from lacunary.mixture.gaussian import Gaussian, Seen
from lacunary.structure.score import Structure, total
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


FEW: list[Structure] = [((), (0,), (0, 1), ()), ((), (), (), ()), ((3,), (), (1,), (1,))]
"""Graphs in which some pairs of variables are of one family, and others are not."""


def test_narrow_models_have_what_their_families_need(
    engine: Gaussian, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are added up in runs, of which the last is shorter; some weigh nothing, one next to nothing."""
    monkeypatch.setattr(sparse, "RUN", 25)
    monkeypatch.setattr(sparse, "RUNS", 1_000_000)
    engine = Gaussian(engine.source)
    models = engine.draw(FEW, 20.0, np.random.default_rng(1))
    shares = np.random.default_rng(2).dirichlet(np.full(3, 0.3), ROWS)
    shares[3:9] = [1.0, 0.0, 0.0]
    shares[0] = [1.0 - 1e-50, 1e-50, 0.0]
    check_narrow(engine, models, shares)


def test_blocks_of_rows_in_which_many_few_or_none_count_add_up() -> None:
    """A run has several blocks; the rows of a component are gathered where they are few."""
    rng, rows = np.random.default_rng(3), 2 * kernel.ROWS + 188
    engine = Gaussian(lac.read(rng.normal(3.0, [0.1, 1.0, 10.0, 1000.0], (rows, WIDTH))))
    models = engine.draw(FEW, 20.0, rng)
    shares = rng.dirichlet(np.ones(3), rows)
    shares[rng.random(rows) < 0.95, 1] = 0.0
    shares[kernel.ROWS : 2 * kernel.ROWS, 2] = 0.0
    check_narrow(engine, models, shares)


def check_narrow(engine: Gaussian, models: gaussian.Gaussians, shares: NDArray[np.float64]) -> None:
    """Compare with plain sums over rows, and zeros where two variables are of no one family."""
    z = standard(engine)
    found = engine.statistics(engine.narrowed(models), owned(engine, shares))
    for sums, own, graph in zip(found, shares.T, FEW, strict=True):
        asked = np.eye(WIDTH + 1, dtype=bool)
        asked[0] = asked[:, 0] = True
        for child, parents in enumerate(graph):
            places = np.array([*parents, child]) + 1
            asked[np.ix_(places, places)] = True
        # Sums of 60 to 700 numbers of size one.
        np.testing.assert_allclose(sums, np.where(asked, (z * own[:, None]).T @ z, 0.0), atol=1e-12)


@pytest.mark.parametrize(("rows", "many"), [(1, 2), (32, 1), (60, 3), (64, 9), (5_000, 4)])
def test_one_pass_over_rows_has_shares_densities_and_moments(rows: int, many: int) -> None:
    """Components without arcs, on scales from 0.1 to 1000, with rows that count twice, and not at all."""
    rng = np.random.default_rng(rows)
    values = rng.normal(3.0, [0.1, 1.0, 10.0, 1000.0], (rows, WIDTH))
    engine = Gaussian(lac.read(np.vstack([values, 2.0 * values[:1]])))
    models = engine.draw([((),) * WIDTH] * many, 20.0, rng)
    weights, log_weights = rng.integers(0, 3, rows + 1).astype(float), np.log(rng.dirichlet(np.ones(many)))
    (seen,) = engine.seen.each(lambda part: part)
    found = seen.expected(engine.narrowed(models), log_weights, weights)
    assert found is not None
    z = standard(engine)
    away = np.einsum("cki,ri->rck", models.root, z)
    logs = models.forms.constant - 0.5 * (away**2).sum(axis=2) - np.log(engine.scale.spread).sum()
    joint = logs + log_weights
    told = np.logaddexp.reduce(joint, axis=1)
    shares = np.exp(joint - told[:, None])
    sums = np.einsum("r,rc,ri,rj->cij", weights, shares, z, z)
    few = np.eye(WIDTH + 1, dtype=bool)
    few[0] = few[:, 0] = True
    # Log-densities of some tens, from numbers of size one; sums of up to 5 000 of them.
    np.testing.assert_allclose(found[0], shares, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(found[1], told, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found[2], np.where(few, sums, 0.0), rtol=1e-10, atol=1e-10)


def test_one_pass_has_the_same_bits_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "RUN", 64)
    monkeypatch.setattr(sparse, "SECONDS", 1.0)
    engine = Gaussian(lac.read(np.random.default_rng(0).normal(size=(500, WIDTH))))
    models = engine.narrowed(engine.draw([((),) * WIDTH] * 3, 20.0, np.random.default_rng(1)))
    (seen,) = engine.seen.each(lambda part: part)
    found = []
    for count in (1, 2, 5):
        with lac.threads(count):
            found.append(seen.expected(models, np.zeros(3), np.ones(500)))
    for other in found[1:]:
        for one, two in zip(other, found[0], strict=True):
            np.testing.assert_array_equal(one, two)


def test_narrow_models_of_many_arcs_have_all_moments() -> None:
    """Where many arcs make it dearer to go through families."""
    n = 40
    engine = Gaussian(lac.read(np.random.default_rng(0).normal(size=(ROWS, n))))
    full = tuple(tuple(range(child)) for child in range(n))
    models = engine.draw([full], 200.0, np.random.default_rng(1))
    shares = owned(engine, np.ones((ROWS, 1)))
    assert not models.sparse
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
def test_densities(engine: Gaussian, narrow: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a component is narrow, and where rows are cut into runs."""
    monkeypatch.setattr(sparse, "RUN", 25)
    monkeypatch.setattr(sparse, "RUNS", 1_000_000)
    engine = Gaussian(engine.source)
    models = engine.draw(FEW, 20.0, np.random.default_rng(1))
    models = type(models)(models.structures, models.root * narrow)
    assert models.sparse
    residual = np.einsum("cij,lj->lci", models.root, standard(engine))
    precision = np.diagonal(models.root[:, :, 1:], axis1=1, axis2=2)
    expected = (np.log(precision) - 0.5 * np.log(2 * np.pi)).sum(axis=1) - 0.5 * (residual**2).sum(axis=2)
    expected = expected - np.log(engine.scale.spread).sum()
    # Residuals are differences of up to five numbers, to a few units in the last place of the largest.
    np.testing.assert_allclose(engine.log_evidence(models), expected, rtol=1e-12, atol=1e-8)


def test_an_outlier_has_a_density_however_far() -> None:
    values = np.random.default_rng(0).normal(size=(20, 2))
    engine = Gaussian(lac.read(values))
    models = engine.draw([((), ())], 20.0, np.random.default_rng(1))
    models = type(models)(models.structures, models.root * 1e160)
    assert np.all(np.isfinite(engine.log_evidence(models)))


def test_evidence_of_expected_data_is_the_sum_over_families(engine: Gaussian) -> None:
    """By one factor a family, beside the score of a search, which sweeps parents out."""
    models = engine.draw(FEW, 20.0, np.random.default_rng(1))
    shares = np.random.default_rng(2).dirichlet(np.ones(3), ROWS)
    statistics = engine.statistics(models, owned(engine, shares))
    expected = sum(total(score, graph) for score, graph in zip(engine.scores(statistics), FEW, strict=True))
    assert engine.log_complete_evidence(statistics, FEW) == pytest.approx(expected, rel=1e-11)


def test_evidence_where_a_parent_is_redundant(engine: Gaussian, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one factor does not do, the score of a search has the word on it."""
    models = engine.draw(FEW, 20.0, np.random.default_rng(1))
    statistics = engine.statistics(models, owned(engine, np.full((ROWS, 3), 0.25)))
    prior, evidence = engine.log_prior(models), engine.log_complete_evidence(statistics, FEW)
    monkeypatch.setattr(gaussian, "log_normalizers", lambda *_: False)
    again = Gaussian(engine.source)
    assert again.log_complete_evidence(statistics, FEW) == pytest.approx(evidence, rel=1e-11)
    assert again.log_prior(models) == pytest.approx(prior, rel=1e-11)


def only(engine: Gaussian) -> Seen:
    """The one part of a table."""
    found: list[Seen] = engine.seen.each(lambda part: part)
    return found[0]


def test_rows_with_holes_go_another_way() -> None:
    values = np.random.default_rng(0).normal(size=(20, 3))
    values[4, 1] = np.nan
    engine = Gaussian(lac.read(values))
    assert only(engine).sparse is None
    assert isinstance(only(engine).rows, GaussianRows)
