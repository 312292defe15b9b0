"""Where mixtures begin: splits, merges, tournaments, and that the answer is no lower than its members."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_iris

import lacunary as lac
from lacunary.data.parts import itself
from lacunary.mixture.begin import Beginnings, Entrant, _exchanged, halved
from lacunary.mixture.engine import engine_of
from lacunary.mixture.learner import MixtureLearner
from lacunary.structure.plan import State
from lacunary.structure.shares import Shares
from tests.mixture.small import continuous, owned, two_groups


@pytest.mark.parametrize("edges", [(0, 180), (0, 50, 120, 180)])
def test_the_component_that_holds_two_groups_is_split(edges: tuple[int, ...]) -> None:
    x = np.vstack([two_groups(60), two_groups(60)[:60] + np.array([40.0, 0.0, 0.0, 0.0])])
    source = lac.Partitioned(continuous(x).take(slice(a, b)) for a, b in pairwise(edges))
    learner = MixtureLearner(engine_of(source, None))
    begin = Beginnings(learner, source, 200.0, 0)
    owner = np.repeat([0, 1, 1], 60)  # the second component holds the second and third group
    model, _ = learner.given(begin.drawn([((),) * 4] * 2, 0), owned(learner.engine, np.eye(2)[owner]), 1)
    split = next(begin.split(model, 1))
    shares = np.concatenate(split.shares.each(itself))
    assert shares.shape == (180, 3)
    assert split.many == 3
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    halves = {tuple(row) for row in np.round(shares[60:, 1:])}
    assert halves == {(1.0, 0.0), (0.0, 1.0)}
    apart = np.abs(shares[60:120].mean(axis=0) - shares[120:].mean(axis=0))
    assert apart[1] == pytest.approx(1.0, abs=0.05)  # a row or two may lie between
    known = learner.shared(split.shares)
    merged = next(begin.merged(learner.given(begin.drawn([((),) * 4] * 3, 0), known, 1)[0], 1))
    assert np.concatenate(merged.shares.each(itself)).shape == (180, 2)
    assert merged.structures == (((),) * 4,) * 2


def test_states_have_no_sphere() -> None:
    begin = object.__new__(Beginnings)
    for columns, there in (
        ({"a": ["x", "y"], "b": ["u", "v"]}, False),
        ({"x": [0.5, 1.5], "y": [2.5, 1]}, True),
    ):
        begin.__dict__.pop("sphered", None)
        begin.source = lac.read(columns, kinds="continuous" if there else "discrete")
        assert (begin.sphered is not None) == there


def test_two_halves_are_what_two_means_leave() -> None:
    """Points at −2, −1, 1, 2: of squares 10 about the mean, 1 is left about −1.5 and 1.5."""
    begin = object.__new__(Beginnings)
    begin.seed = 0
    points = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    left, centres = begin._halves(points, np.ones(4), np.zeros(1), np.ones(1), 0, 1)
    assert left == pytest.approx(0.1)
    np.testing.assert_allclose(np.sort(centres[:, 0]), [-1.5, 1.5])


def test_rows_at_the_edge_stay_and_none_is_lost() -> None:
    shares = Shares(np.array([[1.0, 0.0], [0.25, 0.75], [0.5, 0.5]]), np.ones(3))
    found = _exchanged(np.array([1.0]), 2.0, 0, 1, np.array([[1.0], [2.0], [3.0]]), shares)
    np.testing.assert_array_equal(found, [[1.0, 0.0], [0.25, 0.75], [0.0, 1.0]])


def test_a_tournament_keeps_the_best_and_counts_what_met() -> None:
    entrants = [Entrant(str(k), State(None, ())) for k in range(9)]
    values = dict(zip("012345678", [3.0, 9.0, 1.0, 9.0, 7.0, 2.0, 4.0, 5.0, 6.0], strict=True))
    legs: list[int] = []

    def leg(entrant: Entrant, steps: int) -> Entrant:
        legs.append(steps)
        return Entrant(entrant.how, entrant.state, values[entrant.how], entrant.met)

    best, second = halved(entrants, 2, leg)
    assert (best.value, best.met, second.value) == (9.0, 2, 7.0)
    assert legs[:9] == [2] * 9


@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_no_answer_is_below_the_classes_that_are_members(holes: float) -> None:
    table = continuous(two_groups(30, seed=5, holes=holes))
    learned = lac.fit_mixture(table, components=[1, 2], noise=True)
    for structure in ("empty", "tree", "complete"):
        member = lac.fit_mixture(table, components=[1, 2], noise=True, structure=structure)
        # Members climb to within 1e-4 of their way before structures are learned.
        assert learned.estimate.value >= member.estimate.value - 0.05


def test_groups_that_begin_lower_and_end_higher_are_found() -> None:
    """Three full Gaussians on iris: mclust and scikit-learn reach −180.185.

    Groups of uncorrelated columns are 13 nats ahead after two steps of EM, and end 6 below.
    """
    rows = continuous(load_iris().data)
    found = lac.fit_mixture(rows, components=3, structure="complete", method="ml")
    assert found.mixture.log_probability(rows).sum() == pytest.approx(-180.1855, abs=1e-3)


def test_stability_is_said() -> None:
    found = lac.fit_mixture(continuous(two_groups(60)), components=[1, 2])
    top = found.stability(2)
    assert 1 <= top.met <= top.starts
    assert found.met == found.stability(found.chosen.asked).met
    assert "met at the top" in str(found)
    assert all(trial.how for trial in found.path)


def test_the_next_best_number_and_the_prior_of_graphs_are_said() -> None:
    found = lac.fit_mixture(continuous(two_groups(60)), components=[1, 2])
    one, two = (max(t.value for t in found.path if t.asked == many) for many in (1, 2))
    said = str(found)
    assert f"log prior of the graphs {found.log_structure_prior:.2f}" in said
    assert f"the next best number, 1 component, is {two - one:.2f} nats below, prior counted" in said
    alone = str(lac.fit_mixture(continuous(two_groups(60)), components=1, structure="empty"))
    assert "one start" in alone
    assert "next best" not in alone


def test_noise_does_not_take_every_row() -> None:
    """Few rows in many columns: noise that begins with as much as a component would take them all."""
    rng = np.random.default_rng(0)
    mix = rng.normal(size=(18, 18)) / 4
    x = rng.normal(size=(130, 18)) @ mix
    bounds = (float(x.min()) - 0.1, float(x.max()) + 0.1)
    found = lac.fit_mixture(x, components=[1, 2], noise=bounds)
    assert found.mixture.weights[-1] < 0.2
