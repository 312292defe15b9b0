"""The scikit-learn estimators on numbers and states together."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import lacunary as lac
from lacunary.sklearn import BayesianNetworkModel, LatentClassModel, NetworkImputer


def birds() -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Two kinds ten standard deviations apart in mass, with holes."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1], 40)
    mass = np.where(kind, 5.0, 3.0) + 0.2 * rng.normal(size=80)
    wing = 100 + 20 * mass + rng.normal(size=80)
    frame = pd.DataFrame({"mass": mass, "wing": wing, "crest": np.where(kind, "yes", "no")})
    frame.loc[rng.random(80) < 0.2, "wing"] = np.nan
    frame.loc[rng.random(80) < 0.2, "crest"] = None
    return frame, kind


def test_classes_are_found_as_the_library_finds_them() -> None:
    frame, _ = birds()
    model = LatentClassModel(2, starts=3).fit(frame)
    found = model.predict(frame)
    assert len(set(found[:40])) == len(set(found[40:])) == 1
    assert found[0] != found[-1]
    table = lac.read(frame)
    expected = lac.fit(lac.naive_bayes(table.schema, "class", 2), table, starts=3, rng=0)
    np.testing.assert_array_equal(model.network_.theta, expected.network.theta)


def test_a_classifier_and_an_imputer_take_numbers() -> None:
    frame, kind = birds()
    assert (
        BayesianNetworkModel("y -> mass crest; y mass -> wing").fit(frame, kind).predict(frame) == kind
    ).all()
    numbers = frame[["mass", "wing"]].to_numpy()
    filled = NetworkImputer("x0 -> x1", how="mean").fit_transform(numbers)
    holes = np.isnan(numbers[:, 1])
    np.testing.assert_array_equal(filled[~holes], numbers[~holes])
    # The wing is 100 + 20 mass, give or take 1: four standard deviations, and a little for the prior.
    assert np.abs(filled[holes, 1] - 100 - 20 * numbers[holes, 0]).max() < 3.0
