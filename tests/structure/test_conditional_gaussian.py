"""Scores of mixed networks, against sums over configurations written out."""

from __future__ import annotations

from importlib import import_module
from itertools import product
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.errors import ParameterError, TableError
from lacunary.maths.moments import moments
from lacunary.maths.normal_wishart import NormalWishart
from lacunary.structure import conditional_gaussian_moments
from lacunary.structure.conditional_gaussian import ConditionalGaussian, ConditionalGaussianBIC
from lacunary.structure.discrete import BD, BIC
from lacunary.structure.gaussian import BGe, GaussianBIC
from lacunary.structure.score import FamilyScore, Parents, toggle, total

Array = NDArray[np.float64]

NAMES = ("a", "x", "b", "y", "z")  # a, b discrete with 2 and 3 states, in the midst of continuous ones
DISCRETE, CONTINUOUS = (0, 2), (1, 3, 4)


def columns(rows: int = 60, seed: int = 0) -> dict[str, NDArray[Any]]:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(2, size=rows), rng.integers(3, size=rows)
    x = rng.normal(size=rows) + 2 * a
    y = (1 + b) * x + rng.normal(size=rows)
    z = x - y + rng.normal(size=rows) * (1 + a)
    return {"a": a, "x": x, "b": b, "y": y, "z": z}


def table(rows: int = 60, seed: int = 0) -> lac.Table:
    kinds: dict[str, Literal["discrete", "continuous"]] = {
        name: "discrete" if name in "ab" else "continuous" for name in NAMES
    }
    return lac.read(columns(rows, seed), kinds=kinds)


def reals(rows: lac.Table) -> Array:
    return np.asarray(rows.reals[:, CONTINUOUS])


def groups(rows: lac.Table, discrete: Parents) -> list[NDArray[np.bool_]]:
    """Which rows have each configuration; configurations without rows are there too."""
    states = [range(rows.schema.sizes[d]) for d in discrete]
    return [np.all(rows.codes[:, discrete] == np.array(c), axis=1) for c in product(*states)]


def evidence(rows: lac.Table, prior: NormalWishart, child: int, parents: Parents) -> float:
    """The sum over configurations of discrete parents of p(child, parents)/p(parents)."""
    inner = [CONTINUOUS.index(p) for p in parents if p in CONTINUOUS]
    whole = [*inner, CONTINUOUS.index(child)]
    out = 0.0
    for chosen in groups(rows, tuple(p for p in parents if p in DISCRETE)):
        part = reals(rows)[chosen]
        out += prior.marginal(whole).log_evidence(moments(part[:, whole]))
        out -= prior.marginal(inner).log_evidence(moments(part[:, inner])) if inner else 0.0
    return out


def subsets(child: int) -> list[Parents]:
    others = [v for v in range(5) if v != child]
    return [
        tuple(o for o, kept in zip(others, bits, strict=True) if kept) for bits in product((0, 1), repeat=4)
    ]


@pytest.mark.parametrize("child", CONTINUOUS)
def test_continuous_families_are_sums_over_configurations(child: int) -> None:
    rows = table()
    prior = NormalWishart(1.5, np.array([0.5, 1.0, -1.0]), 4.0, np.diag([2.0, 3.0, 1.0]) + 0.2)
    score = ConditionalGaussian.of(rows, prior)
    for parents in subsets(child):
        expected = evidence(rows, prior, child, parents)
        # Sums of a dozen log-determinants of size 100.
        assert score.family(child, parents) == pytest.approx(expected, abs=1e-9)
        toggled = score.toggled(child, parents)
        for other in set(range(5)) - {child}:
            assert toggled[other] == pytest.approx(
                evidence(rows, prior, child, toggle(parents, other)), abs=1e-9
            )
        assert toggled[child] == -np.inf


def test_discrete_families_are_those_of_the_discrete_table() -> None:
    rows = table()
    alone = rows.select(["a", "b"])
    for score, other in [
        (ConditionalGaussian.of(rows), BD(alone)),
        (ConditionalGaussian.of(rows, dirichlet=lac.k2()), BD(alone, lac.k2())),
        (ConditionalGaussian.of(rows, lac.k2()), BD(alone, lac.k2())),
        (ConditionalGaussianBIC.of(rows), BIC(alone)),
    ]:
        assert score.family(2, (0,)) == other.family(1, (0,))
        toggled = score.toggled(0, (2,))
        assert toggled[2] == other.family(0, ())
        assert np.all(toggled[[0, 1, 3, 4]] == -np.inf)
        assert score.family(0, (1,)) == -np.inf  # no continuous parent of a discrete child


def test_markov_equivalent_graphs_score_equally() -> None:
    """x → y turned, both with parent a; a → b turned: a covered arc each."""
    score = ConditionalGaussian.of(table())
    one = total(score, [(), (0,), (0,), (0, 1), (1, 3)])
    for other in ([(), (0, 3), (0,), (0,), (1, 3)], [(2,), (0,), (), (0, 1), (1, 3)]):
        assert total(score, other) == pytest.approx(one, abs=1e-9)
    assert abs(total(score, [(), (), (0,), (0, 1), (1, 3)]) - one) > 1e-3


def test_without_discrete_variables_it_is_the_gaussian_score() -> None:
    rows = table().select(["x", "y", "z"])
    pairs: list[tuple[FamilyScore, FamilyScore]] = [
        (ConditionalGaussian.of(rows), BGe.of(rows)),
        (ConditionalGaussianBIC.of(rows), GaussianBIC.of(rows)),
    ]
    for mixed, plain in pairs:
        np.testing.assert_allclose(mixed.toggled(2, (0,)), plain.toggled(2, (0,)), rtol=1e-12)
        assert mixed.family(0, (1, 2)) == pytest.approx(plain.family(0, (1, 2)), rel=1e-12)


def test_without_continuous_variables_it_is_the_discrete_score() -> None:
    rows = table().select(["a", "b"])
    np.testing.assert_array_equal(ConditionalGaussian.of(rows).toggled(1, ()), BD(rows).toggled(1, ()))


def test_moments_do_in_place_of_rows() -> None:
    """Triples for each configuration of all discrete variables say all there is to say."""
    rows = table()
    prior = NormalWishart(1.0, np.zeros(3), 4.0, np.eye(3))
    states = list(product(range(2), range(3), range(2)))[::2]  # (a, b), every pair once
    codes = np.array([s[:2] for s in states])
    triples = np.stack([moments(reals(rows)[g]) for g in groups(rows, DISCRETE)])
    one = ConditionalGaussian.of(rows, prior)
    two = ConditionalGaussian.of_moments(rows.schema, codes, triples, prior)
    three = ConditionalGaussianBIC.of(rows)
    four = ConditionalGaussianBIC.of_moments(rows.schema, codes, triples)
    for child, parents in [(0, (2,)), (1, ()), (3, (0, 1)), (4, (0, 1, 2, 3))]:
        np.testing.assert_allclose(two.toggled(child, parents), one.toggled(child, parents), rtol=1e-9)
        np.testing.assert_allclose(four.toggled(child, parents), three.toggled(child, parents), rtol=1e-9)
    with pytest.raises(ParameterError, match="do not fit"):
        ConditionalGaussian.of_moments(rows.schema, codes[1:], triples, prior)


def test_units_of_moments() -> None:
    """Moments of x/2 with log 2 said: the evidence of x."""
    rows, prior = table(), NormalWishart(1.0, np.zeros(3), 4.0, np.eye(3))
    codes = np.array(list(product(range(2), range(3))))
    whole = np.stack([moments(reals(rows)[g]) for g in groups(rows, DISCRETE)])
    half = np.stack([moments(reals(rows)[g] / 2) for g in groups(rows, DISCRETE)])
    one = ConditionalGaussian.of_moments(rows.schema, codes, whole, prior)
    two = ConditionalGaussian.of_moments(
        rows.schema, codes, half, prior.moved(0.0, 2.0), log_scale=np.log(2.0)
    )
    assert two.family(3, (0, 1)) == pytest.approx(one.family(3, (0, 1)), rel=1e-10)


def test_bic_by_least_squares_in_each_configuration() -> None:
    rows = table(90)
    score = ConditionalGaussianBIC.of(rows)
    for parents in [(), (0,), (0, 1), (1, 2), (0, 1, 2)]:
        inner = [CONTINUOUS.index(p) for p in parents if p in CONTINUOUS]
        chosen = groups(rows, tuple(p for p in parents if p in DISCRETE))
        expected = -0.5 * np.log(90) * (len(inner) + 2) * len(chosen)
        for group in chosen:
            part = reals(rows)[group]
            u = np.column_stack([np.ones(len(part)), part[:, inner]])
            error = part[:, 1] - u @ np.linalg.lstsq(u, part[:, 1], rcond=None)[0]
            expected -= 0.5 * len(part) * (np.log(2 * np.pi * np.mean(error**2)) + 1)
        assert score.family(3, parents) == pytest.approx(float(expected), rel=1e-9)


def test_bic_of_another_program() -> None:
    """PyBNesian, where it is installed; it divides by N − k, for k coefficients, where the likelihood has N.

    That costs it N/2 log(N/(N − k)) − k/2 in every configuration.
    """
    pybnesian, pandas = pytest.importorskip("pybnesian"), import_module("pandas")
    rows, frame = table(90), pandas.DataFrame(columns(90))
    for name in "ab":
        frame[name] = frame[name].astype(str).astype("category")
    kinds = [(name, pybnesian.DiscreteFactorType()) for name in "ab"]
    kinds += [(name, pybnesian.LinearGaussianCPDType()) for name in "xyz"]
    other, network = pybnesian.BIC(frame), pybnesian.CLGNetwork(list(NAMES), node_types=kinds)
    score = ConditionalGaussianBIC.of(rows)
    for child, parents in [(3, ()), (3, (1,)), (3, (0,)), (3, (0, 1)), (4, (0, 1, 2, 3)), (2, (0,)), (0, ())]:
        expected = other.local_score(network, NAMES[child], [NAMES[p] for p in parents])
        if child in CONTINUOUS:
            k = 1 + sum(p in CONTINUOUS for p in parents)
            counts = [int(g.sum()) for g in groups(rows, tuple(p for p in parents if p in DISCRETE))]
            expected += sum(n / 2 * np.log(n / (n - k)) - k / 2 for n in counts)
        assert score.family(child, parents) == pytest.approx(expected, rel=1e-9)


def test_bic_charges_for_configurations_without_rows_and_refuses_those_with_few() -> None:
    """The states of b are declared as four, one of which no row has."""
    data = columns()
    whole = table()
    four = [
        lac.Variable(v.name, ("0", "1", "2", "3") if v.name == "b" else v.states, v.kind)
        for v in whole.schema
    ]
    wide = lac.Table(lac.Schema(tuple(four)), np.array(whole.codes), np.array(whole.reals))
    gap = ConditionalGaussianBIC.of(whole).family(3, (1, 2)) - ConditionalGaussianBIC.of(wide).family(
        3, (1, 2)
    )
    assert gap == pytest.approx(0.5 * np.log(60) * 3, rel=1e-9)
    same = ConditionalGaussian.of(whole).family(3, (1, 2)) - ConditionalGaussian.of(wide).family(3, (1, 2))
    assert same == pytest.approx(0.0, abs=1e-9)
    few = table(60).take(np.flatnonzero((data["b"] > 0) | (np.cumsum(data["b"] == 0) <= 2)))
    assert ConditionalGaussianBIC.of(few).family(3, (1, 2)) == -np.inf
    assert np.isfinite(ConditionalGaussianBIC.of(few).family(3, (1,)))


def test_too_many_configurations_are_not_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = table()
    monkeypatch.setattr(conditional_gaussian_moments, "LARGEST", 5 * 16)
    score = ConditionalGaussian.of(rows)
    assert np.isfinite(score.family(1, (2,)))  # 3 configurations of 4 × 4 numbers
    assert score.family(1, (0, 2)) == -np.inf
    assert score.toggled(1, (2,))[0] == -np.inf


def test_a_prior_of_another_kind_and_holes_are_refused() -> None:
    with pytest.raises(ParameterError, match="two rules"):
        ConditionalGaussian.of(table(), lac.k2(), lac.k2())
    with pytest.raises(ParameterError, match="is a NormalWishart, not a"):
        BGe.of(table().select(["x", "y"]), lac.k2())  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="3 continuous variables"):
        ConditionalGaussian.of(table(), NormalWishart(1.0, np.zeros(2), 3.0, np.eye(2)))
    data = {"a": ["u", None, "v", "v"], "x": [0.1, 0.7, 0.3, 0.2]}
    with pytest.raises(TableError, match="a has 1 missing"):
        ConditionalGaussian.of(lac.read(data, kinds={"a": "discrete", "x": "continuous"}))
