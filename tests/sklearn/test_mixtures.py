"""The mixture as a scikit-learn estimator: its own checks, and the same numbers as the function it calls."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

import lacunary as lac
from lacunary.sklearn import MixtureOfDags
from tests.mixture.small import two_groups


def test_it_passes_scikit_learn_s_checks() -> None:
    """No check is expected to fail; the one on array APIs is skipped where their libraries are missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings, and count those that matter themselves
        check_estimator(MixtureOfDags(n_components=2, structure="empty", max_iter=5), on_skip=None)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.DataFrame(two_groups(50, holes=0.1), columns=list("abcd"))


def test_it_is_the_mixture_of_the_library(frame: pd.DataFrame) -> None:
    model = MixtureOfDags([1, 2], noise=True, forbidden="a -> b", random_state=3).fit(frame)
    table = lac.read(frame)
    expected = lac.fit_mixture(table, components=[1, 2], noise=True, forbidden="a -> b", rng=3)
    assert model.n_components_ == 2
    assert [c.theta.tobytes() for c in model.mixture_.components] == [
        c.theta.tobytes() for c in expected.mixture.components
    ]
    shares = expected.mixture.responsibilities(table)
    np.testing.assert_array_equal(model.predict_proba(frame), shares)
    np.testing.assert_array_equal(model.predict(frame), shares.argmax(axis=1))
    np.testing.assert_array_equal(model.score_samples(frame), expected.mixture.log_probability(table))
    assert model.converged_ == expected.converged
    # The groups lie six standard deviations apart.
    first, second = model.predict(frame)[:50], model.predict(frame)[50:]
    assert len(set(first)) == len(set(second)) == 1
    assert first[0] != second[0]


def test_rows_are_drawn_with_their_components(frame: pd.DataFrame) -> None:
    model = MixtureOfDags(2).fit(frame)
    rows, came = model.sample(400)
    assert rows.shape == (400, 4)
    # A draw is told by the density of the mixture itself: groups are far apart.
    assert np.mean(model.predict(pd.DataFrame(rows, columns=list("abcd"))) == came) > 0.99
    share = np.mean(came == 0)
    assert abs(share - model.weights_[0]) < 5 * np.sqrt(0.25 / 400)  # five standard errors
    votes = MixtureOfDags(2, structure="tree").fit(lac.house_votes().to_frame("pandas"))
    drawn, _ = votes.sample(3)
    assert set(drawn[:, 1:].ravel()) <= {"n", "y"}


def test_weights_count_rows() -> None:
    rng = np.random.default_rng(0)
    X, times = two_groups(30), rng.integers(0, 3, 60)
    weighed = MixtureOfDags(2, structure="empty").fit(X, sample_weight=times)
    repeated = MixtureOfDags(2, structure="empty").fit(np.repeat(X, times, axis=0))
    # The same sums in another order, from starts that differ by rounding.
    assert weighed.fit_.estimate.value == pytest.approx(repeated.fit_.estimate.value, rel=1e-6)


def test_with_many_rows_full_covariances_are_those_of_gaussian_mixture() -> None:
    """With many rows the prior worth one row moves little: log-densities near those of maximum likelihood."""
    X = two_groups(300)
    theirs = GaussianMixture(2, covariance_type="full", random_state=0).fit(X)
    ours = MixtureOfDags(2, structure="complete").fit(X)
    # Per row the prior is worth 1/300 of the evidence, about 14 parameters a group: 2 · 14/600 nats at most.
    assert abs(ours.score(X) - theirs.score(X)) < 0.05


def test_it_can_be_searched(frame: pd.DataFrame) -> None:
    search = GridSearchCV(MixtureOfDags(structure="empty"), {"n_components": [1, 2]}, cv=2)
    assert search.fit(frame.sample(frac=1.0, random_state=0)).best_params_ == {"n_components": 2}
