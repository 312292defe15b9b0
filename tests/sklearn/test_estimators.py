"""The scikit-learn estimators: its own checks, and the same numbers as the functions they call."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import CategoricalNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import check_estimator

import lacunary as lac
from lacunary.sklearn import (
    BayesianNetworkModel,
    LatentClassModel,
    MixtureOfDags,
    NetworkImputer,
    NetworkRegressor,
)
from tests import naive

ROUNDING = 1e-12

LONG = pytest.mark.skipif(
    os.environ.get("HYPOTHESIS_PROFILE") != "campaign",
    reason="takes minutes: HYPOTHESIS_PROFILE=campaign pytest tests/sklearn",
)


@pytest.fixture(scope="module")
def votes() -> pd.DataFrame:
    frame: pd.DataFrame = lac.house_votes().to_frame("pandas")
    return frame


@pytest.mark.parametrize(
    "estimator",
    [
        BayesianNetworkModel(),
        LatentClassModel(starts=1),
        NetworkImputer(),
        NetworkImputer(n_classes=2, starts=1),
        NetworkRegressor(),
        pytest.param(LatentClassModel(), marks=LONG),
        pytest.param(MixtureOfDags(), marks=LONG),
    ],
    ids=repr,
)
def test_it_passes_scikit_learn_s_checks(estimator: Any) -> None:
    """No check is expected to fail; the one on array APIs is skipped where their libraries are missing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the checks provoke warnings, and count those that matter themselves
        check_estimator(estimator, on_skip=None)


def test_latent_classes_are_those_of_the_library(votes: pd.DataFrame) -> None:
    X = votes.drop(columns="party")
    model = LatentClassModel(n_classes=3, starts=4).fit(X)
    table = lac.read(X)
    expected = lac.fit(lac.naive_bayes(table.schema, hidden="class", states=3), table, starts=4, rng=0)
    assert model.network_.theta.tobytes() == expected.network.theta.tobytes()
    posterior = expected.network.posterior(table, ["class"])["class"]
    np.testing.assert_array_equal(model.predict_proba(X), posterior)
    np.testing.assert_array_equal(model.predict(X), posterior.argmax(axis=1))
    assert model.score(X) == pytest.approx(expected.log_likelihood / len(X), rel=ROUNDING)
    rows, classes = model.sample(7)
    assert rows.shape == (7, 16)
    assert set(rows.ravel()) <= {"n", "y"}
    assert set(classes) <= {0, 1, 2}


def test_libraries_of_frames_agree(votes: pd.DataFrame) -> None:
    X = votes.drop(columns="party")
    model = LatentClassModel(starts=2).fit(X)
    from_polars = LatentClassModel(starts=2).fit(pl.from_pandas(X))
    assert model.network_.theta.tobytes() == from_polars.network_.theta.tobytes()
    assert list(from_polars.feature_names_in_) == list(X.columns)
    plain = LatentClassModel(starts=2).fit(X.astype(object).where(X.notna(), None).to_numpy())
    assert model.network_.theta.tobytes() == plain.network_.theta.tobytes()
    assert plain.schema_.names[:2] == ("x0", "x1")


def test_a_classifier_without_holes_is_naive_bayes() -> None:
    """CategoricalNB adds one to the counts, as the softmax MAP under Dirichlet(1) does, save of classes."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, (60, 4)), rng.integers(0, 2, 60)
    theirs = CategoricalNB(alpha=1.0, fit_prior=True, class_prior=[(np.sum(y == k) + 1) / 62 for k in (0, 1)])
    ours = BayesianNetworkModel(tol=1e-14).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.fit(X, y).predict_proba(X), rtol=1e-6)


def test_a_classifier_with_holes_and_a_hidden_variable_is_enumeration() -> None:
    graph = "y -> x0 x1; H -> x1 x2; x0 -> x2"
    truth = lac.random_network(lac.dag(graph, states=2, hidden={"H": 2}), rng=1)
    data = lac.make_holes(truth.sample(40, rng=0), 0.3, columns=["x0", "x1", "x2"], rng=1).to_frame("dict")
    X = np.array([data[name] for name in ("x0", "x1", "x2")], dtype=float).T
    model = BayesianNetworkModel(graph, hidden={"H": 2}, starts=2).fit(X, data["y"])
    network = model.network_
    assert network.dag.schema.hidden == ("H",)
    places = [network.dag.schema.index(name) for name in ("x0", "x1", "x2")]
    for row, probabilities in zip(X[:8], model.predict_proba(X[:8]), strict=True):
        codes = np.full(len(network.dag.schema), -1)
        codes[places] = np.where(np.isnan(row), -1, row).astype(int)
        np.testing.assert_allclose(probabilities, naive.posterior(network, codes.tolist(), ["y"]), rtol=1e-10)


def test_holes_are_filled_and_nothing_else_changes(votes: pd.DataFrame) -> None:
    imputer = NetworkImputer(n_classes=2, starts=2).set_output(transform="pandas")
    filled = imputer.fit_transform(votes)
    expected = lac.impute(imputer.network_, lac.read(votes)).to_frame("dict")
    assert list(filled.columns) == list(votes.columns)
    for name in votes.columns:
        assert filled[name].tolist() == expected[name]
        seen = votes[name].notna()
        assert filled[name][seen].tolist() == votes[name][seen].tolist()
    drawn = NetworkImputer("party -> crime", how="draw", random_state=1).fit_transform(
        votes[["party", "crime"]]
    )
    assert set(drawn[:, 1]) == {"n", "y"}


def test_numbers_stay_numbers() -> None:
    X = np.array([[0.0, 0.0], [0.0, np.nan], [1.0, 1.0], [1.0, 1.0]], dtype=np.float32)
    filled = NetworkImputer("x0 -> x1").fit_transform(X)
    assert filled.dtype == np.float32
    assert filled[1].tolist() == [0.0, 0.0]
    assert np.isnan(X[1, 1])


def test_weights_count_rows() -> None:
    rng = np.random.default_rng(0)
    X, times = rng.integers(0, 2, (30, 3)).astype(float), rng.integers(0, 3, 30)
    X[rng.random(X.shape) < 0.2] = np.nan
    weighed = LatentClassModel(starts=2).fit(X, sample_weight=times)
    repeated = LatentClassModel(starts=2).fit(np.repeat(X, times, axis=0))
    # The same sums in another order; the peak leaves the root of what it is stopped at open.
    assert weighed.fit_.objective == pytest.approx(repeated.fit_.objective, rel=1e-9)
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-3)


def test_values_never_seen() -> None:
    X = [["a", "p"], ["b", "q"], ["a", "q"]]
    strict = LatentClassModel(starts=1).fit(X)
    with pytest.raises(
        lac.StateError, match=r"x0, row 1: 'c' is none of .* fit saw, 'a', 'b'; handle_unknown='hole'"
    ):
        strict.predict([["c", "p"]])
    with pytest.raises(lac.StateError, match=r"2 columns(.|\n)*x0.*handle_unknown(.|\n)*x1.*handle_unknown"):
        strict.predict([["c", "r"]])
    lenient = LatentClassModel(starts=1, handle_unknown="hole").fit(X)
    expected = strict.predict_proba(np.array([[None, "p"]], dtype=object))
    np.testing.assert_array_equal(lenient.predict_proba([["c", "p"]]), expected)
    frame = pd.DataFrame({"u": ["a", "b"], "v": [1, 2]})
    lenient.fit(frame)
    assert lenient.predict_proba(pd.DataFrame({"u": ["z"], "v": [3]})).shape == (1, 2)
    with pytest.raises(lac.ParameterError, match="handle_unknown"):
        clone(lenient).set_params(handle_unknown="ignore").fit(frame).predict(frame)


def test_pipelines_searches_and_folds(votes: pd.DataFrame) -> None:
    X, y = votes.drop(columns="party"), votes["party"]
    model = BayesianNetworkModel(handle_unknown="hole")
    # Naive Bayes on the votes is right for nine members in ten (UCI lists 90 to 95 % for simple classifiers).
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85
    search = GridSearchCV(LatentClassModel(starts=2), {"n_classes": [1, 3]}, cv=2).fit(X)
    assert search.best_params_ == {"n_classes": 3}
    piped = make_pipeline(NetworkImputer(n_classes=2, starts=1), OneHotEncoder(sparse_output=False)).fit(X)
    assert piped.transform(X).shape == (435, 32)


def test_what_is_wrong_is_said() -> None:
    X = pd.DataFrame({"y": [0, 1], "a": [1, 0]})
    with pytest.raises(lac.SchemaError, match="like the target"):
        BayesianNetworkModel().fit(X, [0, 1])
    renamed = BayesianNetworkModel("label -> y a", target="label").fit(X, [0, 1])
    assert renamed.network_.dag.parents_of("a") == ("label",)
    wrong: list[Any] = ["probability", "guess"]
    for how in wrong:
        with pytest.raises(lac.ParameterError, match="how must be"):
            NetworkImputer(how=how).fit_transform([[0, 1], [1, 0]])
    taken = LatentClassModel(starts=1).fit(pd.DataFrame({"class": [0, 1], "a": [1, 0]}))
    assert taken.network_.dag.schema.hidden == ("class_",)


def test_a_graph_can_be_given_as_such(votes: pd.DataFrame) -> None:
    X = votes[["crime", "immigration"]]
    drawn = lac.dag("crime -> immigration", schema=lac.read(X).schema)
    by_arrows = NetworkImputer("crime -> immigration").fit(X)
    assert NetworkImputer(drawn).fit(X).network_.theta.tobytes() == by_arrows.network_.theta.tobytes()


def test_the_package_does_without_scikit_learn() -> None:
    code = "import lacunary, lacunary.cli, sys; assert 'sklearn' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_a_graph_columns_are_predicted_from_each_other() -> None:
    rows = lac.make_holes(lac.asia().sample(40, rng=0), 0.2, rng=0)
    X = rows.to_frame("pandas")
    imputer = NetworkImputer().fit(X)
    table = lac.read(X)
    expected = lac.impute(lac.learn_dependencies(table, rng=0), lac.read(X))
    assert imputer.transform(X).tolist() == [
        list(row) for row in zip(*expected.to_frame("dict").values(), strict=True)
    ]
    assert isinstance(imputer.model_, lac.DependencyNetwork)
    assert isinstance(NetworkImputer(prior=lac.k2()).fit(X).model_, lac.Ensemble)
    assert not hasattr(imputer, "network_")
