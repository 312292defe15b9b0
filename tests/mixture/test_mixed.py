"""Mixtures of networks with variables of both kinds, and with hidden ones: against the other engines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ParameterError, TableError
from lacunary.mixture.gaussian import Gaussian
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.mixture.noise import noise_of
from lacunary.structure.networks import Networks, Vectors
from lacunary.structure.score import Structure, total
from tests.mixture.small import continuous, owned, two_groups


def groups(rows: int = 200, seed: int = 0, holes: float = 0.1) -> Table:
    """Two groups: A → x and B in the one, x → y and A → B in the other."""
    kinds: Any = {"x": "continuous", "y": "continuous"}
    schema = lac.dag("A; B; x; y", states=2, kinds=kinds).schema
    strong = np.array([[0.95, 0.05], [0.05, 0.95]])
    first: dict[str, Any] = {
        "A": [0.5, 0.5],
        "B": [0.9, 0.1],
        "x": lac.Regression([-3.0, 3.0]),
        "y": lac.Regression(8.0),
    }
    second: dict[str, Any] = {
        "A": [0.5, 0.5],
        "B": strong,
        "x": lac.Regression(0.0),
        "y": lac.Regression(0.0, [2.0]),
    }
    texts = ("A -> x; B; y", "A -> B; x -> y")
    networks = [
        lac.Network.from_tables(lac.dag(text, schema=schema), tables)
        for text, tables in zip(texts, (first, second), strict=True)
    ]
    mixture = lac.Mixture(np.array([0.5, 0.5]), tuple(networks))
    drawn = mixture.sample(rows, rng=seed)
    return lac.make_holes(drawn, holes, rng=seed) if holes else drawn


STRUCTURES: list[Structure] = [((), (0,), (0,), (2,)), ((1,), (), (0, 1), (1, 2))]


@pytest.mark.parametrize("noise", [False, True])
def test_a_step_never_loses(noise: bool) -> None:
    table = groups(50)
    learner = MixtureLearner(Networks(table), noise_of(noise, table))
    model = learner.begin(STRUCTURES, 20.0, np.random.default_rng(0))
    before = -np.inf
    for _ in range(25):
        completed = learner.expect(model)
        now = completed.log_likelihood + learner.log_prior(model)
        assert now >= before - 1e-9 * abs(now)  # rounding of a sum over rows
        model, before = learner.maximize(completed, STRUCTURES), now


def test_on_continuous_rows_it_is_the_gaussian_engine() -> None:
    table = continuous(two_groups(40, holes=0.2))
    graphs: list[Structure] = [((), (0,), (0, 1), ()), ((3,), (), (0, 1), (1,))]
    plain, ours = Gaussian(table), Networks(table)
    drawn = plain.draw(graphs, 50.0, np.random.default_rng(1))
    thetas = [ours.scale.inward(n.dag, n.theta) for n in plain.networks(drawn)]
    same(
        MixtureLearner(plain),
        drawn,
        MixtureLearner(ours),
        Vectors(tuple(graphs), tuple(thetas)),
    )


def test_on_discrete_rows_it_is_the_discrete_engine() -> None:
    table = lac.make_holes(lac.asia().sample(150, rng=0), 0.2, rng=0).select(["asia", "tub", "lung", "xray"])
    graphs: list[Structure] = [((), (0,), (0, 1), ()), ((3,), (), (0, 1), (1,))]
    plain = Networks(table)
    drawn = plain.draw(graphs, 20.0, np.random.default_rng(1))
    same(MixtureLearner(plain), drawn, MixtureLearner(Networks(table)), drawn)


def same(plain: MixtureLearner, theirs: Any, ours: MixtureLearner, mine: Any) -> None:
    """Ask two engines for all a fit asks for, at the same models."""
    graphs, others = theirs.structures, tuple(reversed(theirs.structures))
    one, two = plain.engine, ours.engine
    close: Any = {"rtol": 1e-8, "atol": 1e-8}  # two ways through doubles, in other units
    np.testing.assert_allclose(one.log_evidence(theirs), two.log_evidence(mine), **close)
    assert one.log_prior(theirs) == pytest.approx(two.log_prior(mine), rel=1e-8)
    assert one.dimension(graphs) == two.dimension(graphs)
    shares = np.random.default_rng(2).dirichlet([1.0, 1.0], size=sum(one.row_weights.each(len)))
    left, right = one.statistics(theirs, owned(one, shares)), two.statistics(mine, owned(two, shares))
    np.testing.assert_allclose(one.fit(left, theirs), two.fit(right, mine), **close)
    for graph in (graphs, others):  # their own families, and such as are in no graph
        for a, b, parents in zip(one.scores(left), two.scores(right), graph, strict=True):
            assert total(a, parents) == pytest.approx(total(b, parents), rel=1e-8)
        best = [e.networks(e.maximize(s, graph)) for e, s in ((one, left), (two, right))]
        for a_network, b_network in zip(*best, strict=True):
            np.testing.assert_allclose(a_network.theta, b_network.theta, rtol=1e-6, atol=1e-9)


def test_groups_and_their_graphs_are_found() -> None:
    table = groups(400)
    found = lac.fit_mixture(table, components=(1, 2), starts=2)
    assert len(found.mixture.components) == 2
    skeletons = [{frozenset(arc) for arc in c.dag.arcs} for c in found.mixture.components]
    first = [frozenset("Ax") in s and frozenset("AB") not in s for s in skeletons]
    last = [frozenset("xy") in s and frozenset("AB") in s for s in skeletons]
    assert sorted(first) == sorted(last) == [False, True]
    assert first != last


def test_the_order_of_rows_changes_nothing() -> None:
    table, stop = groups(60), lac.Stop(share=1e-6, iterations=50)
    turned = table.take(np.random.default_rng(0).permutation(len(table)))
    prior = lac.NormalWishart(nu=1, tables=lac.bdeu(1))
    one, two = (
        lac.fit_mixture(rows, components=2, stop=stop, prior=prior, structure_prior=None)
        for rows in (table, turned)
    )
    assert [c.dag for c in one.mixture.components] == [c.dag for c in two.mixture.components]
    # EM stops at a millionth of its way up; what rounding moves on the way is far below that.
    assert one.estimate.value == pytest.approx(two.estimate.value, rel=1e-7)


def test_the_order_of_components_changes_nothing() -> None:
    table = groups(60)
    learner = MixtureLearner(Networks(table), noise_of(True, table))
    model = learner.begin(STRUCTURES, 20.0, np.random.default_rng(0))
    models, turned = model.models, STRUCTURES[::-1]
    other = Parameters(Vectors(tuple(turned), models.thetas[::-1]), model.weights, model.noise)
    for _ in range(2):
        one = learner.cheeseman_stutz(model, STRUCTURES).value
        assert learner.cheeseman_stutz(other, turned).value == pytest.approx(one, rel=1e-12)
        model = learner.maximize(learner.expect(model), STRUCTURES)
        other = learner.maximize(learner.expect(other), turned)


def test_one_component_without_holes_is_weighed_exactly() -> None:
    table = groups(60, holes=0.0)
    found = lac.fit_mixture(table, components=1)
    assert found.estimate.value == pytest.approx(lac.search(table).score, rel=1e-9)


def test_gibbs_predicts_as_the_belief_does() -> None:
    """With one component and no holes draws are independent, and the average is p(new, old)/p(old)."""
    table, new = groups(30, holes=0.0), groups(3, seed=5, holes=0.0)
    found = lac.fit_mixture(table, components=1, structure="empty")
    told = found.predict(new, draws=200, burn=0)
    dag, prior = found.mixture.components[0].dag, said(table)
    known = lac.score(dag, table, "exact", prior=prior).value
    exact = []
    for k in range(len(new)):
        codes, reals = np.vstack([table.codes, new.codes[k]]), np.vstack([table.reals, new.reals[k]])
        more = Table(table.schema, codes, reals)
        exact.append(lac.score(dag, more, "exact", prior=prior).value - known)
    # Five standard errors are passed once in a million.
    assert told.score == pytest.approx(np.mean(exact), abs=5 * told.stderr + 1e-6)
    assert told.stderr < 0.2


def said(table: Table) -> lac.NormalWishart:
    """The default prior of a table, in its units, so that it stays when rows come."""
    x = table.reals[:, 2:]
    means = dict(zip("xy", x.mean(axis=0).tolist(), strict=True))
    return lac.NormalWishart(1.0, means, np.diag(x.var(axis=0)), tables=lac.bdeu(1))


def test_gibbs_fills_holes_of_both_kinds() -> None:
    found = lac.fit_mixture(groups(150), components=2)
    new = groups(60, seed=3)
    told, plugged = found.predict(new, draws=20, burn=5), found.predict(new, how="plug-in")
    # 150 rows leave about d/2N of a nat between the point and the average, d = 25 parameters or so.
    assert abs(told.score - plugged.score) < 0.3


def factors(rows: int = 200, seed: int = 0) -> Table:
    rng = np.random.default_rng(seed)
    factor = rng.normal(size=(rows, 1))
    return continuous(factor * [1.0, -2.0, 1.5, 0.7] + 0.5 * rng.normal(size=(rows, 4)))


def test_one_factor_analyser_is_the_fit_of_its_network() -> None:
    table, stop = factors(60), lac.Stop(relative=1e-6, iterations=150)
    prior = lac.NormalWishart(nu=1, tables=lac.bdeu(1))
    found = lac.fit_mixture(
        table, components=1, structure="empty", hidden={"F": "continuous"}, prior=prior, stop=stop
    )
    component = found.mixture.components[0]
    assert component.dag.arcs == tuple(("F", name) for name in table.schema.names)
    fitted = lac.fit(component.dag, table, prior=prior, starts=2, stop=stop)
    # The factor's sign and scale are free but for the prior: climbs end at one height, not at one place, a
    # little below it, as they slow down; a wrong model is tens of nats away.
    assert found.mixture.log_likelihood(table) == pytest.approx(fitted.log_likelihood, abs=0.5)


def test_mixtures_of_factor_analysers() -> None:
    x = factors(80).reals.copy()
    x[:40] = x[:40] * [1.0, -1.0, 1.0, -1.0] + 8.0
    table, stop = continuous(x), lac.Stop(share=1e-4, iterations=60)
    found = lac.fit_mixture(table, components=2, structure="empty", hidden={"F": "continuous"}, stop=stop)
    assert len(found.mixture.components) == 2
    shares = found.mixture.responsibilities(table)
    assert abs(shares[:40, 0].mean() - shares[40:, 0].mean()) > 0.9
    alone = lac.fit_mixture(table, components=2, structure="empty")
    assert found.estimate.terms["log-likelihood"] > alone.estimate.terms["log-likelihood"] + 50


def test_bad_wishes() -> None:
    table = groups(20)
    with pytest.raises(ParameterError, match="NormalWishart"):
        lac.fit_mixture(table, prior=3)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="from 1 to"):
        lac.fit_mixture(table, hidden={"H": "wide"})
    empty = np.full(table.reals.shape, np.nan)
    with pytest.raises(TableError, match="nothing is observed of x"):
        lac.fit_mixture(Table(table.schema, table.codes, empty), components=1)
