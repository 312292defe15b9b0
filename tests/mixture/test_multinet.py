"""Bayesian multinets: the class is a column, observed in some rows or in all."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import gammaln

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ParameterError, TableError
from tests.mixture.small import two_groups


def labelled(rows: int = 60, seed: int = 0, unknown: float = 0.0) -> Table:
    """Two groups of four variables with a column that names them."""
    x = two_groups(rows, seed)
    names: list[str | None] = [*["first"] * rows, *["second"] * rows]
    for k in np.flatnonzero(np.random.default_rng(seed).random(2 * rows) < unknown):
        names[k] = None
    return lac.read({**{f"x{i}": x[:, i] for i in range(4)}, "group": names})


def test_with_the_class_observed_it_is_one_search_for_each_class() -> None:
    table = labelled()
    found = lac.fit_mixture(table, given="group", prior=lac.NormalWishart(nu=1))
    assert found.classes == ("first", "second")
    whole = table.select([f"x{i}" for i in range(4)])
    means = {f"x{i}": float(whole.reals[:, i].mean()) for i in range(4)}
    prior = lac.NormalWishart(means=means, covariance=np.diag(whole.reals.var(axis=0)))
    # log p(classes) under a Dirichlet with Σα = 1, and the evidence of each class by itself (TMCH98 eq. 7).
    counts, alpha = np.array([60.0, 60.0]), np.array([0.5, 0.5])
    expected = float(gammaln(1.0) - gammaln(121.0) + (gammaln(counts + alpha) - gammaln(alpha)).sum())
    for rows, component in zip((slice(60), slice(60, 120)), found.mixture.components, strict=True):
        plain = lac.search(whole.take(rows), prior=prior)
        assert lac.equivalent(component.dag, plain.dag)
        expected += plain.score
    assert found.estimate.value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("unknown", [0.0, 0.6])
def test_new_rows_are_classified(unknown: float) -> None:
    found = lac.fit_mixture(labelled(80, unknown=unknown), given="group")
    new = labelled(100, seed=3).select([f"x{i}" for i in range(4)])
    told = found.classify(new)
    assert np.mean([a == b for a, b in zip(told, ["first"] * 100 + ["second"] * 100, strict=True)]) > 0.97
    assert found.mixture.responsibilities(new).shape == (200, 2)


def test_rows_without_a_class_count_too() -> None:
    """Few labels: the rows without help to tell the groups apart, as they do a mixture."""
    table = labelled(100, unknown=0.9)
    known = table.take(~table.holes[:, 4])
    every, few = (lac.fit_mixture(rows, given="group", structure="empty") for rows in (table, known))
    new = labelled(200, seed=7).select([f"x{i}" for i in range(4)])
    assert every.mixture.log_likelihood(new) > few.mixture.log_likelihood(new)


def test_mixed_and_discrete_columns_can_be_classified() -> None:
    votes = lac.house_votes().select(["party", "immigration", "crime", "mx_missile", "physician_fee_freeze"])
    found = lac.fit_mixture(votes, given="party", structure="tree")
    truth = [votes.schema["party"].states[c] for c in votes.codes[:, 0]]
    assert np.mean([a == b for a, b in zip(found.classify(votes), truth, strict=True)]) > 0.9


def test_gibbs_keeps_the_labels() -> None:
    found = lac.fit_mixture(labelled(30), given="group", structure="empty")
    new = labelled(20, seed=5).select([f"x{i}" for i in range(4)])
    told, plugged = found.predict(new, draws=50, burn=0), found.predict(new, how="plug-in")
    assert abs(told.score - plugged.score) < 0.3  # d/2N of a nat: 17 parameters, 60 rows


def test_bad_wishes() -> None:
    table = labelled(10)
    with pytest.raises(ParameterError, match="x0 is none"):
        lac.fit_mixture(table, given="x0")
    with pytest.raises(ParameterError, match="leave components and noise out"):
        lac.fit_mixture(table, given="group", components=3)
    with pytest.raises(TableError, match="beside group"):
        lac.fit_mixture(table.select(["group"]), given="group")
    with pytest.raises(ParameterError, match="no names"):
        lac.fit_mixture(table.select(["x0", "x1"]), components=1).classify(table)
