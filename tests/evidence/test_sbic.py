"""sBIC of classes, mixtures and factors: the family it fits, the coefficients it takes, what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.evidence import problem as module
from lacunary.evidence.nested import nested
from lacunary.evidence.score import pose
from lacunary.learn.fit import fit


def two_groups(rows: int = 80, seed: int = 0) -> lac.Table:
    """Rows of two classes of six binary items."""
    rng = np.random.default_rng(seed)
    chance = np.where(rng.random(rows)[:, None] < 0.4, 0.15, 0.8)
    schema = lac.Schema(tuple(lac.Variable(f"x{i}", (0, 1)) for i in range(6)))
    return lac.Table(schema, (rng.random((rows, 6)) < chance).astype(int))


def test_it_takes_the_likelihoods_and_the_bounds_of_all_smaller_models() -> None:
    table = two_groups()
    dags = [lac.naive_bayes(table.schema, "c", k) for k in (1, 2, 3)]
    logs = [lac.fit(dag, table, method="ml", accelerate=True).log_likelihood for dag in dags]
    coefficients = np.full((3, 3), np.nan)
    for i in range(3):
        for j in range(i + 1):  # r = 6 items, φ = 3.5
            i1, j1 = i + 1, j + 1
            coefficients[i, j] = 0.5 * min(6 * j1 + j1 - 1 + 3.5 * (i1 - j1), 6 * i1 + j1 - 1)
    expected = lac.sbic(logs, coefficients, 80)
    found = [lac.score(dag, table, "sbic") for dag in dags]
    # Climbs stop within 1e-8 of a log-likelihood of 300.
    assert [f.value for f in found] == pytest.approx(expected, abs=1e-4)
    assert found[2].details["coefficients"] == pytest.approx(coefficients[2])
    assert sum(found[2].terms.values()) == pytest.approx(found[2].value)
    assert found[2].details["exact"].tolist() == [False, False, True]


def test_a_comparison_fits_each_number_of_classes_once(monkeypatch: pytest.MonkeyPatch) -> None:
    table, fitted = two_groups(40), []

    def counted(dag: lac.Dag, *given: Any, **options: Any) -> lac.Fit:
        fitted.append(dag.schema["c"].size)
        return fit(dag, *given, **options)

    monkeypatch.setattr(module, "fit", counted)
    dags = [lac.naive_bayes(table.schema, "c", k) for k in (4, 2, 3)]
    found = lac.compare(dags, table, ["sbic"], starts=2)
    assert sorted(fitted) == [1, 2, 3, 4]
    alone = lac.score(lac.naive_bayes(table.schema, "c", ["a", "b", "z"]), table, "sbic", starts=2)
    assert alone.value == pytest.approx(found.values("sbic")[2], abs=1e-9)


def test_without_anything_hidden_it_is_bic_at_the_maximum() -> None:
    table = two_groups()
    dag = lac.dag("x0 -> x1 x2", schema=table.schema)
    top = lac.fit(dag, table, method="ml")
    assert lac.score(dag, table, "sbic").value == pytest.approx(lac.score(top, table, "bic").value)


def test_a_fit_is_climbed_on_from() -> None:
    table = two_groups()
    dag = lac.naive_bayes(table.schema, "c", 2)
    given = lac.fit(dag, table, starts=3)
    assert lac.score(given, table, "sbic").value == pytest.approx(
        lac.score(dag, table, "sbic").value, abs=1e-4
    )


def test_exact_coefficients_know_the_pairs_between_independence_and_two_classes() -> None:
    table = two_groups().select(["x0", "x1", "x2", "x3"])
    dag = lac.naive_bayes(table.schema, "c", 2)
    family = nested(pose(dag, table), "default", "exact")
    assert len(family.dags) == 1 + 6 + 1
    assert family.coefficients[-1, [0, 1, -1]].tolist() == [2.5, 3.5, 4.5]  # (n+1)/2, (2n−1)/2, (2n+1)/2
    assert np.isnan(family.coefficients[2, 1])  # no pair lies in another
    assert family.coefficients[1, [0, 1]].tolist() == [2.5, 2.5]
    found = lac.score(dag, table, "sbic", coefficients="exact")
    assert found.details["exact"].all()
    # The pair's likelihood in closed form: its four cells, and the others by themselves.
    codes = table.codes
    cells = np.unique(codes[:, :2], axis=0, return_counts=True)[1]
    alone = [np.bincount(codes[:, i]) for i in (2, 3)]
    log = sum(float((n * np.log(n / 80)).sum()) for n in (cells, *alone))
    assert found.details["log_likelihoods"][1] == pytest.approx(log, abs=1e-6)


def test_the_dirichlet_weight_can_be_that_of_the_prior() -> None:
    table = two_groups()
    dag = lac.naive_bayes(table.schema, "c", 3)
    options: dict[str, Any] = {"starts": 2, "prior": lac.Dirichlet(0.5)}
    own = lac.score(dag, table, "sbic", phi="prior", **options)
    assert own.value == lac.score(dag, table, "sbic", phi=0.5, **options).value
    assert own.details["coefficients"][0] == 0.5 * (6 + 2 * 0.5)


def test_densities_are_taken_at_the_map() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-3, 1, (40, 2)), rng.normal(3, 1, (40, 2))])
    schema = lac.Schema(tuple(lac.Variable(n, kind="continuous") for n in "xy"))
    table = lac.Table(schema, np.full((80, 2), -1), x)
    found = lac.compare([lac.naive_bayes(schema, "c", k) for k in (1, 2, 3)], table, ["sbic"], starts=4)
    assert found.best() == "c=2"
    two = found.estimates["c=2"]["sbic"]
    assert "no maximum" in str(two.where)
    assert two.details["coefficients"].tolist() == [0.5 * min(4 + 2.5, 8), 4.5]  # r = 4, φ = 2.5


def test_factors_are_counted() -> None:
    rng = np.random.default_rng(1)
    loadings = np.zeros((2, 6))
    loadings[0, :3] = loadings[1, 3:] = 0.9
    x = rng.normal(size=(300, 2)) @ loadings + 0.45 * rng.normal(size=(300, 6))
    names = [f"x{i}" for i in range(6)]
    schema = lac.Schema(tuple(lac.Variable(n, kind="continuous") for n in names))
    table = lac.Table(schema, np.full((300, 6), -1), x)
    dags = {
        str(k): lac.dag(
            "; ".join(f"f{i} -> {' '.join(names)}" for i in range(k)) or "; ".join(names),
            schema=schema,
            hidden=[f"f{i}" for i in range(k)],
            kinds={f"f{i}": "continuous" for i in range(k)},
        )
        for k in (0, 1, 2, 3)
    }
    found = lac.compare(dags, table, ["sbic"], starts=4)
    assert found.best() == "2"
    three = found.estimates["3"]["sbic"].details["coefficients"]
    assert three.tolist() == [3 + v for v in (15 / 2, 17 / 2, 19 / 2, 21 / 2)]  # and six means


@pytest.mark.parametrize(
    ("arrows", "hidden", "what"),
    [
        ("h -> x0 x1; g -> x0 x1", {"h": 2, "g": 2}, "not 2 variables"),
        ("x0 -> h -> x1 x2", {"h": 2}, "no parents"),
    ],
)
def test_other_models_are_refused_with_what_can(arrows: str, hidden: dict[str, int], what: str) -> None:
    table = two_groups()
    with pytest.raises(lac.ParameterError, match=rf"{what}.*'variational'"):
        lac.score(lac.dag(arrows, schema=table.schema, hidden=hidden), table, "sbic")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"coefficients": "exact"}, "at most two hidden classes"),
        ({"coefficients": "best"}, "'bound' or 'exact'"),
        ({"phi": 0.0}, "positive number"),
        ({"phi": "one"}, "positive number"),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], what: str) -> None:
    table = two_groups()
    with pytest.raises(lac.ParameterError, match=what):
        lac.score(lac.naive_bayes(table.schema, "c", 3), table, "sbic", **options)
