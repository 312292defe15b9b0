"""Components that share structure, size, volume, shape or orientation: against others' programs."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.mixture import GaussianMixture

import lacunary as lac
from lacunary.errors import ParameterError
from lacunary.maths.moments import joined
from lacunary.mixture.engine import engine_of
from lacunary.mixture.gaussian import Gaussian
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.mixture.noise import noise_of
from lacunary.mixture.sharing import Sharing
from lacunary.mixture.tied import variances
from lacunary.structure.score import Structure
from tests.mixture.small import continuous, two_groups

EMPTY: Structure = ((), (), (), ())
COMPLETE: Structure = ((), (0,), (0, 1), (0, 1, 2))
LIGHT = lac.NormalWishart(nu=1e-9)
"""A prior worth next to nothing: the limit of maximum likelihood."""


def ours(x: np.ndarray, code: str, structure: Structure, means: np.ndarray, steps: int) -> float:
    """Return the log-likelihood after steps of EM from these means and the data's variances."""
    table = continuous(x)
    learner = MixtureLearner(engine_of(table, LIGHT, Sharing.of(code)), table.weights, ess=1e-9)
    plain = Gaussian(table, LIGHT)
    centred = (means - plain.scale.centre) / plain.scale.spread
    spread = np.diag(x.var() / plain.scale.spread**2)
    begin = plain.maximize(joined(np.ones(2), centred, np.stack([spread] * 2)), [structure] * 2)
    model = Parameters(begin, np.array([0.5, 0.5]), None)
    for _ in range(steps):
        model = learner.maximize(learner.expect(model), [structure] * 2)
    return learner.expect(model).log_likelihood


@pytest.mark.filterwarnings("ignore:.*did not converge.*")
@pytest.mark.parametrize(
    ("code", "structure", "kind"),
    [
        ("VII", EMPTY, "spherical"),
        ("VVI", EMPTY, "diag"),
        ("EEE", COMPLETE, "tied"),
        ("VVV", COMPLETE, "full"),
    ],
)
def test_the_likelihoods_are_those_of_scikit_learn(code: str, structure: Structure, kind: str) -> None:
    x = two_groups(60) * [1.0, 0.1, 200.0, 1.0]  # columns of unlike size, but none that drowns the others
    means = x[[5, 100]]
    precisions: dict[str, Any] = {
        "spherical": np.full(2, 1 / x.var()),
        "diag": np.full((2, 4), 1 / x.var()),
        "tied": np.eye(4) / x.var(),
        "full": np.stack([np.eye(4) / x.var()] * 2),
    }
    theirs = GaussianMixture(
        2,
        covariance_type=kind,
        tol=0.0,
        reg_covar=0.0,
        max_iter=15,
        init_params="random_from_data",
        random_state=0,
        weights_init=[0.5, 0.5],
        means_init=means,
        precisions_init=precisions[kind],
    ).fit(x)
    found = ours(x, code, structure, means, 15)
    # The prior worth 1e-9 rows and rounding in other units are all that is between them.
    assert found / len(x) == pytest.approx(theirs.score(x), abs=1e-6)


CODES = ["".join(code) for code in product("EV", "EVI", "EV")]


@pytest.mark.parametrize("code", CODES)
def test_a_step_never_loses(code: str) -> None:
    table = continuous(two_groups(20, holes=0.15))
    structures: list[Structure] = [((), (0,), (0, 1), (2,))] * 3
    learner = MixtureLearner(
        engine_of(table, None, Sharing.of(code)), table.weights, noise_of(True, table), equal=True
    )
    model, before = learner.begin(structures, 50.0, np.random.default_rng(1)), -np.inf
    for _ in range(12):
        completed = learner.expect(model)
        now = completed.log_likelihood + learner.log_prior(model)
        assert now >= before - 1e-9 * abs(now)  # rounding of a sum over rows
        model, before = learner.maximize(completed, structures), now
    np.testing.assert_allclose(model.weights[:3], model.weights[0], rtol=1e-12)


@pytest.mark.parametrize("code", [code for code in CODES if code[2] == "V" and code != "VVV"])
def test_variances_are_the_best(code: str) -> None:
    """Against a general optimiser over log volumes and log shapes."""
    rng = np.random.default_rng(3)
    sharing = Sharing.of(code)
    left, rows = rng.gamma(2.0, size=(3, 4)), np.array([5.0, 9.0, 2.0])
    sphere = np.array([2.0, 0.5, 0.25, 4.0]) if sharing.sphere else None

    def value(log: np.ndarray) -> float:
        return float(0.5 * (rows[:, None] * log + left / np.exp(log)).sum())

    def logs(free: np.ndarray) -> np.ndarray:
        volume = free[:1] if sharing.volume else free[:3]
        shape = np.zeros((1, 4)) if sphere is None else np.log(sphere)[None]
        if sphere is None:
            raw = free[len(volume) :].reshape(-1, 4)
            shape = raw - raw.mean(axis=1, keepdims=True)
        return np.asarray(np.broadcast_to(volume[:, None] + shape, (3, 4)))

    size = (1 if sharing.volume else 3) + (0 if sphere is not None else 4 if sharing.shape else 12)
    slow = minimize(lambda free: value(logs(free)), np.zeros(size), tol=1e-12)
    found = value(np.log(variances(left, rows, sharing, sphere)))
    assert found == pytest.approx(slow.fun, abs=1e-7)  # where the optimiser ends, on a scale of tens


def test_shared_parameters_are_the_same_in_the_networks() -> None:
    table = continuous(two_groups(60, holes=0.1))
    found = lac.fit_mixture(table, components=2, structure="complete", shared="EEE").mixture
    one, two = (c.regression("x3") for c in found.components)
    np.testing.assert_allclose(one.coefficients, two.coefficients, rtol=1e-9)
    np.testing.assert_allclose(one.variance, two.variance, rtol=1e-9)
    assert abs(one.intercept - two.intercept) > 1.0
    sphere = lac.fit_mixture(table, components=2, structure="empty", shared="VII").mixture.components[0]
    noise = [float(sphere.regression(name).variance) for name in table.schema.names]
    np.testing.assert_allclose(noise, noise[0], rtol=1e-9)


def test_dimensions_are_counted() -> None:
    table = continuous(two_groups(40))
    expected = {"EEE": 2 * 4 + 10 + 1, "VVV": 2 * 14 + 1, "VEE": 2 * 4 + 6 + 3 + 2 + 1}
    for code, free in expected.items():
        found = lac.fit_mixture(table, components=2, structure="complete", shared=code, choose="bic")
        assert found.estimate.dimension == free
        assert found.estimate.method == "bic"


def test_one_structure_for_all_components() -> None:
    away = np.array([9.0, 0.0, 0.0, 30.0])
    x = np.vstack([two_groups(150)[:150], two_groups(150, seed=4)[:150] + away])
    found = lac.fit_mixture(continuous(x), components=2, shared="structure")
    first, second = found.mixture.components
    assert first.dag == second.dag
    arcs = {frozenset(arc) for arc in first.dag.arcs}
    assert {frozenset(("x0", "x1")), frozenset(("x1", "x2"))} <= arcs
    tree = lac.fit_mixture(continuous(x), components=2, shared="structure", structure="tree")
    assert tree.mixture.components[0].dag == tree.mixture.components[1].dag
    votes = lac.house_votes().take(slice(60)).select(["party", "immigration", "crime", "mx_missile"])
    same = lac.fit_mixture(votes, components=2, shared=("structure", "size"))
    assert same.mixture.components[0].dag == same.mixture.components[1].dag
    assert same.mixture.weights == pytest.approx([0.5, 0.5])


def test_bad_wishes() -> None:
    table = continuous(two_groups(20))
    with pytest.raises(ParameterError, match="not 'colour'"):
        lac.fit_mixture(table, shared=["colour"])
    with pytest.raises(ParameterError, match="choose='bic'"):
        lac.fit_mixture(table, shared="EEE", choose="cheeseman-stutz")
    with pytest.raises(ParameterError, match="'structure' and 'size' alone"):
        lac.fit_mixture(lac.asia().sample(20, rng=0), shared="volume")
    found = lac.fit_mixture(table, components=2, shared="EEE", structure="empty")
    with pytest.raises(ParameterError, match="plug-in"):
        found.predict(table)
