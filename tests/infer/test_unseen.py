"""Configurations of discrete parents that no row shows, or that no row even allows, whichever they are.

Tables with rare levels are full of them. Nothing may crash on them, every number is what the definitions
say, and none changes when states change their names.
"""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import multivariate_t, t

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.errors import NoEstimateError
from lacunary.infer.expect import expect
from lacunary.infer.mixed import prepare_mixed
from lacunary.infer.mixed_complex import complex_expect
from tests import naive_mixed, naive_structure
from tests.naive import log_sum
from tests.strategies import seeds

CLOSE = 1e-8
"""Two ways through doubles: conditioning loses the digits that the covariances' condition takes."""

CLIMBED = 1e-6
"""Climbs of a few steps, each of which adds in another order: rounding grows, but not by this much."""

FEW = lac.Stop(iterations=6)
"""As equal as two climbs are after all, they are after six steps."""

BRIEF: dict[str, Any] = {"stop": FEW, "schedule": "(EM)^2 Ec S* M"}
"""What is true of a mixture is true of one that was left after one turn of steps and search."""

WORTH_ONE = lac.NormalWishart(nu=1.0, means=0.0, covariance=1.0)
"""Of one continuous variable: two degrees of freedom, so that the evidence of rows is a Student t's."""


WHOLE = 2
"""Rows without holes, which count: learners refuse columns without any value, or all of one value."""


class Unseen(NamedTuple):
    """A graph, a table, and for each discrete variable the new number of each of its states."""

    dag: lac.Dag
    table: lac.Table
    names: dict[str, NDArray[np.int64]]

    def relabelled(self) -> lac.Table:
        """The same rows, their states by the new numbers."""
        codes = self.table.codes.copy()
        for name, new in self.names.items():
            column = codes[:, self.dag.schema.index(name)]
            column[:] = np.where(column == HOLE, HOLE, new[column])
        return lac.Table(self.dag.schema, codes, self.table.reals, self.table.weights)

    def back(self, name: str, family: NDArray[np.float64]) -> NDArray[np.float64]:
        """What a family's table says of the relabelled rows, by the old numbers."""
        members = [m for m in (*self.dag.parents_of(name), name) if m in self.names]
        return family[np.ix_(*(self.names[m] for m in members))]


@st.composite
def unseen(draw: st.DrawFn, more: str = "", rows: int = 12, continuous_holes: bool = True) -> Unseen:
    """Two or three discrete parents of x, of whose configurations any are never seen, or not even allowed."""
    sizes = draw(st.lists(st.integers(1, 3), min_size=2, max_size=3))
    discrete = ["p", "q", "r"][: len(sizes)]
    continuous = ["x", *(["y"] if "y" in more else [])]
    schema = lac.Schema(
        (
            *(lac.Variable(name, tuple(range(k))) for name, k in zip(discrete, sizes, strict=True)),
            *(lac.Variable(name, kind="continuous") for name in continuous),
        )
    )
    dag = lac.dag(f"{' '.join(discrete)} -> x{more}", schema=schema)
    every = list(product(*map(range, sizes)))
    shown = sorted(draw(st.sets(st.sampled_from(every), min_size=1)))
    allowed = set(shown) if draw(st.booleans()) else set(every)
    rng, many = np.random.default_rng(draw(seeds)), draw(st.integers(WHOLE + 1, rows))
    codes = np.full((many, len(schema)), HOLE, dtype=np.int16)
    reals = np.full((many, len(schema)), np.nan)
    for row, (code, real) in enumerate(zip(codes, reals, strict=True)):
        chosen = np.array(shown[rng.integers(len(shown))])
        holes = (row >= WHOLE) & _holes(chosen, sizes, allowed, rng)
        code[: len(sizes)] = np.where(holes, HOLE, chosen)
        real[len(sizes) :] = rng.normal(size=len(continuous)) + chosen.sum()
        if continuous_holes and row >= WHOLE:
            real[rng.random(len(schema)) < 0.2] = np.nan
    if continuous_holes and len(allowed) == len(every) and draw(st.booleans()):
        codes[-1], reals[-1] = HOLE, np.nan
    weights = np.ones(many)
    weights[WHOLE:] = rng.integers(0, 3, many - WHOLE) if draw(st.booleans()) else 1
    names = {name: rng.permutation(k) for name, k in zip(discrete, sizes, strict=True)}
    return Unseen(dag, lac.Table(schema, codes, reals, weights), names)


def _holes(
    chosen: NDArray[np.int64], sizes: list[int], allowed: set[tuple[int, ...]], rng: np.random.Generator
) -> NDArray[np.bool_]:
    """Some holes through which only such configurations can be seen."""
    holes = rng.random(len(sizes)) < 0.4
    for k in rng.permutation(len(sizes)):
        ways = product(*(range(n) if h else (c,) for n, h, c in zip(sizes, holes, chosen, strict=True)))
        if not set(ways) <= allowed:
            holes[k] = False
    return holes


def slow_log_evidence(model: lac.Network, table: lac.Table) -> NDArray[np.float64]:
    rows = zip(table.codes, table.reals, strict=True)
    return np.array([naive_mixed.log_evidence(model, c, r) for c, r in rows])


FAMILIES = "; p x -> y; p -> q"


@settings(max_examples=60)
@given(unseen(FAMILIES), seeds)
def test_rows_are_as_the_dense_normals_see_them(case: Unseen, seed: int) -> None:
    network = lac.random_network(case.dag, rng=seed)
    slow = slow_log_evidence(network, case.table)
    assert network.log_probability(case.table) == pytest.approx(slow, rel=CLOSE, abs=CLOSE)
    found, prepared = expect(network, case.table), prepare_mixed(case.dag, case.table)
    steps, log = complex_expect(prepared, network.theta[None].astype(np.complex128))
    assert log[0].real == pytest.approx(case.table.weights @ slow, rel=CLOSE, abs=CLOSE)
    assert steps[0].real == pytest.approx(found.counts, rel=CLOSE, abs=CLOSE * np.abs(found.counts).max())
    for name, statistic in naive_mixed.statistics(network, case.table).items():
        scale = max(1.0, float(np.abs(statistic).max()))
        assert found.table(name) == pytest.approx(statistic, rel=CLOSE, abs=CLOSE * scale)


@settings(max_examples=40)
@given(unseen(FAMILIES), seeds)
def test_posteriors_and_what_fills_holes(case: Unseen, seed: int) -> None:
    network, table = lac.random_network(case.dag, rng=seed), case.table
    posterior = network.posterior(table)
    filled = {how: lac.impute(network, table, how=how, rng=seed) for how in ("mode", "mean", "draw")}
    odds = lac.impute(network, table, how="probability")
    continuous = [v.name for v in case.dag.schema if not v.discrete]
    for row, (codes, reals) in enumerate(zip(table.codes, table.reals, strict=True)):
        ways = naive_mixed.shares(network, codes, reals)
        for name in case.names:
            slow = np.zeros(case.dag.schema[name].size)
            for share, way in ways:
                slow[way.states[name]] += share
            assert posterior[name][row] == pytest.approx(slow, rel=CLOSE, abs=CLOSE)
            mine = [odds.reals[row, odds.schema.index(f"{name}={k}")] for k in range(len(slow))]
            assert mine == pytest.approx(slow, rel=CLOSE, abs=CLOSE)
            state = filled["mode"].codes[row, case.dag.schema.index(name)]
            assert slow[state] == pytest.approx(slow.max(), rel=CLOSE)
        for k, name in enumerate(continuous):
            mean = sum(share * way.mean[k] for share, way in ways)
            assert np.asarray(posterior[name][row].mean) == pytest.approx(mean, rel=CLOSE, abs=CLOSE)
            square = sum(share * (way.mean[k] ** 2 + way.covariance[k, k]) for share, way in ways)
            slow_sd = np.sqrt(max(square - mean**2, 0.0))  # loses half the digits where it is small
            assert np.asarray(posterior[name][row].sd) == pytest.approx(slow_sd, rel=1e-6, abs=1e-6)
            value = filled["mean"].reals[row, case.dag.schema.index(name)]
            assert value == pytest.approx(mean, rel=CLOSE, abs=CLOSE)
    for rows in filled.values():
        kept = table.codes != HOLE
        assert np.array_equal(rows.codes[kept], table.codes[kept])
        assert (rows.codes[:, : len(case.names)] != HOLE).all()
        assert np.isfinite(rows.reals[:, len(case.names) :]).all()


SOUND = 1e-6
"""Few rows leave maximum likelihood a variance near its floor; the oracle inverts covariances, and cannot."""


@pytest.mark.parametrize("method", ["ml", "map", "variational"])
@settings(max_examples=15)
@given(case=unseen(FAMILIES))
def test_fits_follow_the_names_of_states(method: Any, case: Unseen) -> None:
    one = lac.fit(case.dag, case.table, method=method, stop=FEW)
    other = lac.fit(case.dag, case.relabelled(), method=method, stop=FEW)
    assert one.objective == pytest.approx(other.objective, rel=CLIMBED, abs=CLIMBED)
    for name in case.dag.names:
        moved = case.back(name, other.network.table(name))
        assert moved == pytest.approx(one.network.table(name), rel=CLIMBED, abs=CLIMBED)
    if method == "variational":  # whose objective is a bound, and whose network is a mean
        return
    numbers = [name for name in case.dag.names if not case.dag.schema[name].discrete]
    least = min((float(one.network.table(name)[..., -1].min()) for name in numbers), default=1.0)
    if least > SOUND:
        slow = slow_log_evidence(one.network, case.table)
        slow = case.table.weights @ np.where(case.table.weights > 0, slow, 0.0)
        assert one.log_likelihood == pytest.approx(slow, rel=CLIMBED, abs=CLIMBED)


SMOOTH = ("map", "bic", "draper", "laplace", "mled", "cheeseman-stutz", "variational")


@pytest.mark.parametrize("method", SMOOTH)
@settings(max_examples=8)
@given(case=unseen(FAMILIES, rows=8))
def test_estimates_do_not_hang_on_the_names_of_states(method: str, case: Unseen) -> None:
    if method == "draper" and case.table.weights.sum() < 2 * np.pi:  # above the likelihood: refused
        for table in (case.table, case.relabelled()):
            with pytest.raises(NoEstimateError, match="seven rows"):
                lac.score(case.dag, table, method, stop=FEW)
        return
    one = lac.score(case.dag, case.table, method, stop=FEW)
    other = lac.score(case.dag, case.relabelled(), method, stop=FEW)
    assert np.isfinite(one.value)
    assert other.value == pytest.approx(one.value, rel=CLIMBED, abs=CLIMBED)


@settings(max_examples=3)
@given(unseen(rows=6))
def test_samplers_go_through(case: Unseen) -> None:
    options: dict[str, Any] = {"chains": 2, "steps": 16}
    assert np.isfinite(lac.score(case.dag, case.table, "ais", rng=0, **options).value)


def complete_evidence(dag: lac.Dag, table: lac.Table) -> float:
    """Log p(complete rows of weight one): Dirichlets of ones, and of x a Student t in each configuration."""
    where, x = dag.schema.index("x"), table.reals[:, dag.schema.index("x")]
    members = dag.parent_indices
    out = sum(
        naive_structure.bd(table, i, members[i], lambda _: 1.0)
        for i, v in enumerate(dag.schema)
        if v.discrete
    )
    for chosen in set(map(tuple, table.codes[:, members[where]].tolist())):
        mine = x[(table.codes[:, members[where]] == np.array(chosen)).all(axis=1)]
        shape = 0.5 * (np.eye(len(mine)) + np.ones((len(mine), len(mine))))
        out += float(multivariate_t(np.zeros(len(mine)), shape, df=2.0).logpdf(mine))
    return float(out)


@settings(max_examples=25)
@given(unseen("; p -> q", rows=5, continuous_holes=False))
def test_exact_evidence_sums_over_every_way_to_fill_the_holes(case: Unseen) -> None:
    table = lac.Table(case.dag.schema, case.table.codes, case.table.reals)
    sizes = case.dag.schema.sizes
    where = [(r, c) for r, c in np.argwhere(table.codes == HOLE).tolist() if sizes[c]]
    logs = []
    for states in product(*(range(sizes[c]) for _, c in where)):
        codes = table.codes.copy()
        for (r, c), state in zip(where, states, strict=True):
            codes[r, c] = state
        logs.append(complete_evidence(case.dag, lac.Table(case.dag.schema, codes, table.reals)))
    exact = lac.score(case.dag, table, "exact", prior=WORTH_ONE).value
    assert exact == pytest.approx(log_sum(logs), rel=CLOSE)
    bound = lac.score(case.dag, table, "variational", prior=WORTH_ONE).value
    assert bound <= exact + CLOSE * abs(exact)


@settings(max_examples=10)
@given(unseen(rows=20, continuous_holes=False))
def test_search_of_complete_rows_finds_evidence_by_definition(case: Unseen) -> None:
    codes = np.where(case.table.codes == HOLE, 0, case.table.codes)
    codes[:, -1] = HOLE  # x has no states
    case = case._replace(table=lac.Table(case.dag.schema, codes, case.table.reals))
    one = lac.search(case.table, prior=WORTH_ONE)
    other = lac.search(case.relabelled(), prior=WORTH_ONE)
    assert one.score == pytest.approx(complete_evidence(one.dag, case.table), rel=CLOSE)
    assert other.score == pytest.approx(one.score, rel=CLOSE)


@settings(max_examples=10)
@given(unseen(FAMILIES, rows=20))
def test_search_with_holes_by_bic_where_configurations_have_too_few_rows(case: Unseen) -> None:
    """What rows are expected to show changes: a family may have had rows enough, and have no score now."""
    assert np.isfinite(lac.search(case.table, score="bic", escapes=1).score)


@settings(max_examples=4)
@given(unseen(FAMILIES))
def test_search_with_holes_does_not_hang_on_the_names_of_states(case: Unseen) -> None:
    one, other = lac.search(case.table, escapes=1), lac.search(case.relabelled(), escapes=1)
    assert other.score == pytest.approx(one.score, rel=CLIMBED, abs=CLIMBED)
    assert str(other.dag) == str(one.dag)


@pytest.mark.parametrize("structure", ["empty", "tree", "learn"])
@settings(max_examples=4)
@given(case=unseen(FAMILIES))
def test_mixtures_are_sums_of_their_components(structure: Any, case: Unseen) -> None:
    found = lac.fit_mixture(case.table, components=2, structure=structure, starts=1, **BRIEF).mixture
    slow = np.array([slow_log_evidence(part, case.table) for part in found.components])
    check_sum(found, found.weights, slow, case)


@settings(max_examples=4)
@given(case=unseen(FAMILIES))
def test_multinets_are_sums_of_their_components(case: Unseen) -> None:
    for name in (name for name, states in case.names.items() if len(states) > 1):
        found = lac.fit_mixture(case.table, given=name, starts=1, **BRIEF).mixture
        rest = case.table.select(found.schema.names)  # what the components speak of: all but the column given
        slow = np.array([slow_log_evidence(part, rest) for part in found.components])
        check_sum(found, found.weights, slow, case)


@settings(max_examples=5)
@given(case=unseen())
def test_averages_of_graphs_are_averages(case: Unseen) -> None:
    found = lac.average_graphs(case.table, draws=2, burn=2)
    rows = list(zip(case.table.codes, case.table.reals[:, -1], strict=True))
    slow = np.array([[predicted(belief, c, x) for c, x in rows] for belief in found.models])
    check_sum(found, found.weights, slow, case)


def predicted(belief: Any, codes: NDArray[np.integer], x: float) -> float:
    """Log p(row) of a belief, by every way to fill discrete holes: expected tables, and a Student t of x."""
    dag, last = belief.dag, len(codes) - 1
    tables = lac.Network(dag, belief.parameters())
    moments, dofs = dag.layout.moments(belief.alpha, last), belief.dof(last)
    logs = []
    for way in product(
        *(range(n) if c == HOLE else (c,) for c, n in zip(codes, dag.schema.sizes[:-1], strict=False))
    ):
        log = sum(
            np.log(tables.table(n)[(*(way[p] for p in dag.parent_indices[i]), way[i])])
            for i, n in enumerate(dag.names[:-1])
        )
        if not np.isnan(x):
            j = (
                np.ravel_multi_index(
                    [way[p] for p in dag.parent_indices[last]],
                    [dag.schema.sizes[p] for p in dag.parent_indices[last]],
                )
                if dag.parent_indices[last]
                else 0
            )
            (n, total), (_, square) = moments[j]
            scale = np.sqrt((square - total**2 / n) / dofs[j] * (1 + 1 / n))
            log += t.logpdf(x, dofs[j], total / n, scale)
        logs.append(float(log))
    return log_sum(logs)


def check_sum(found: Any, weights: NDArray[np.float64], slow: NDArray[np.float64], case: Unseen) -> None:
    """The log-density of rows is that of all parts, (parts, rows), weighted; and holes are filled."""
    with np.errstate(divide="ignore"):
        whole = np.logaddexp.reduce(np.log(weights[: len(slow)])[:, None] + slow, axis=0)
    assert found.log_probability(case.table) == pytest.approx(whole, rel=CLIMBED, abs=CLIMBED)
    for how in ("mode", "mean", "draw"):
        assert not lac.impute(found, case.table, how=how, rng=0).holes.any()
    odds = lac.impute(found, case.table, how="probability")
    for name, holes in zip(odds.schema.names, odds.holes.T, strict=True):
        if name.endswith(" sd"):  # two degrees of freedom, a belief's where nothing was seen, have none
            assert np.array_equal(holes, np.isinf(found.posterior(case.table, [name[:-3]])[name[:-3]].sd))
        else:
            assert not holes.any()


@settings(max_examples=4)
@given(unseen(FAMILIES))
def test_dimension_counts_every_configuration_seen_or_not(case: Unseen) -> None:
    """Without hidden variables all parameters can be told, whatever rows showed of them."""
    dag = case.dag
    free = sum(dag.layout.configurations[i] * per(dag, i) for i in range(len(dag.names)))
    network = lac.fit(case.dag, case.table, stop=FEW).network
    assert lac.dimension(case.dag).rank == free
    assert lac.dimension(case.dag, at=network).rank == free


def per(dag: lac.Dag, i: int) -> int:
    """How many parameters a family has in each configuration of its discrete parents."""
    size = dag.schema.sizes[i]
    return size - 1 if size else 2 + sum(not dag.schema.sizes[p] for p in dag.parent_indices[i])
