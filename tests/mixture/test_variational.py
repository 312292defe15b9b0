"""Prediction by the variational posterior of a mixture: closed forms, Gibbs sampling, and the bound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.mixture.variational import posterior
from tests.mixture.small import continuous, two_groups
from tests.mixture.test_mixed import groups


def test_one_component_without_holes_predicts_exactly() -> None:
    table, new = continuous(two_groups(15)), continuous(two_groups(2, seed=7))
    prior = NormalWishart(2.0, np.array([1.0, 480.0, 2.0, 0.0]), 9.0, np.diag([1.0, 300.0, 1e-4, 9.0]))
    found = lac.fit_mixture(table, components=1, structure="complete", prior=prior)
    z = np.column_stack([np.ones(len(table)), table.reals])
    known = prior.log_evidence(z.T @ z)
    told = found.predict(new, how="variational").log_density
    for row, value in zip(new.reals, told, strict=True):
        more = np.concatenate([[1.0], row])
        # p(new | old) = p(new, old)/p(old), both in closed form.
        expected = prior.log_evidence(z.T @ z + np.outer(more, more)) - known
        assert value == pytest.approx(expected, rel=1e-8)
    origin = found.chosen.origin
    assert origin is not None
    bound = posterior(origin.learner, origin.model, origin.structures).bounds[-1]
    assert bound == pytest.approx(known, rel=1e-9)  # nothing is hidden, so the bound is the evidence


def test_discrete_components_predict_as_the_belief_does() -> None:
    table, new = lac.asia().sample(60, rng=0), lac.make_holes(lac.asia().sample(20, rng=1), 0.3, rng=1)
    found = lac.fit_mixture(table, components=1, structure="empty", prior=lac.k2())
    dag = found.mixture.components[0].dag
    counts = lac.expect(lac.random_network(dag), table).counts
    exact = lac.Belief(dag, 1.0 + counts).log_probability(new)
    np.testing.assert_allclose(found.predict(new, how="variational").log_density, exact, rtol=1e-9)


TABLES = {
    "continuous": continuous(two_groups(60, holes=0.15)),
    "mixed": groups(80),
    "discrete": lac.make_holes(lac.asia().sample(80, rng=0), 0.15, rng=0).select(["tub", "lung", "xray"]),
}


@pytest.mark.parametrize("options", [{}, {"noise": True}, {"shared": ("structure", "size")}], ids=str)
@pytest.mark.parametrize("kind", TABLES)
def test_the_bound_never_falls(kind: str, options: dict[str, Any]) -> None:
    table = TABLES[kind]
    found = lac.fit_mixture(table, components=2, structure="tree", stop=lac.Stop(share=1e-3), **options)
    origin = found.chosen.origin
    assert origin is not None
    after = posterior(origin.learner, origin.model, origin.structures, lac.Stop(iterations=12))
    # Rounding of a sum over rows.
    assert min(np.diff(after.bounds), default=0.0) >= -1e-9 * abs(after.bounds[-1])
    assert after.weights.sum() == pytest.approx(1.0)
    # The plain Cheeseman–Stutz estimate is the bound after the first update from the model's shares (BG03).
    if "noise" not in options:
        plain = origin.learner.cheeseman_stutz(origin.model, origin.structures).value
        assert after.bounds[0] >= plain - 1e-6 * abs(plain)


@pytest.mark.parametrize("holes", [0.0, 0.15], ids=["complete", "holes"])
def test_it_predicts_nearly_as_gibbs_does(holes: float) -> None:
    found = lac.fit_mixture(continuous(two_groups(60, holes=holes)), components=2)
    new = continuous(two_groups(40, seed=3, holes=holes))
    told, drawn = found.predict(new, how="variational"), found.predict(new, draws=80, burn=10)
    # Groups are far apart, so that owners are known and little is left between the two posteriors.
    assert told.score == pytest.approx(drawn.score, abs=5 * drawn.stderr + 0.02)


def test_holes_on_which_nothing_depends_cost_nothing() -> None:
    table = groups(60)
    found = lac.fit_mixture(table, components=1, structure="complete")
    reals = np.full((1, 4), np.nan)
    codes = np.full((1, 4), -1)
    codes[0, 0] = 1
    row = Table(table.schema, codes, reals)
    told = found.predict(row, how="variational").log_density[0]
    rows = [Table(table.schema, np.array([[k, -1, -1, -1]]), reals.copy()) for k in range(2)]
    both = [found.predict(each, how="variational") for each in rows]
    assert np.exp([each.log_density[0] for each in both]).sum() == pytest.approx(1.0, abs=1e-9)
    assert told < 0


def test_what_cannot_be_integrated_is_refused() -> None:
    table = continuous(two_groups(20))
    found = lac.fit_mixture(table, components=2, structure="empty", shared="EEI")
    with pytest.raises(ParameterError, match="plug-in"):
        found.predict(table, how="variational")
    with pytest.raises(ParameterError, match="'variational'"):
        found.predict(table, how="magic")  # type: ignore[arg-type]
