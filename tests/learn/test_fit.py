"""`fit`: what it takes, what it gives back, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lacunary.data.datasets import house_votes
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError, ParameterError, SchemaError, StateError, TableError
from lacunary.infer.belief import Dirichlet
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import fit
from lacunary.learn.loop import Progress
from lacunary.learn.start import Draws, Tournament
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag
from lacunary.model.make import naive_bayes
from tests import naive

VOTES = house_votes()
BLOCS = naive_bayes(VOTES.schema, hidden="bloc", states=3)
PAIR = make_dag("A -> B", states=2)
ROWS = {"A": [0, 0, 1, None], "B": [0, 1, None, 1]}


def test_what_a_fit_holds() -> None:
    found = fit(BLOCS, VOTES, starts=4)
    assert found.dag == BLOCS
    assert (found.method, found.basis, found.interrupted) == ("map", "softmax", False)
    best = max(found.starts, key=lambda start: start.objective)
    assert found.network is best.network
    assert (found.trace, found.iterations, found.converged) == (best.trace, best.iterations, best.converged)
    for start in found.starts:
        assert start.trace[-1] == start.objective
        # The same sum, in another order of rows and lanes.
        assert start.network.log_likelihood(VOTES) == pytest.approx(start.log_likelihood, rel=1e-12)


def test_the_belief_is_the_prior_and_the_expected_counts() -> None:
    found = fit(PAIR, ROWS, prior=Dirichlet(0.7))
    table = Table(PAIR.schema, np.array([[0, 0], [0, 1], [1, HOLE], [HOLE, 1]], dtype=np.int8))
    for i, counts in enumerate(naive.expected_counts(found.network, table).values()):
        # Four rows.
        assert np.allclose(PAIR.layout.table(found.belief.alpha, i), 0.7 + counts, atol=1e-13)


def test_default_starts() -> None:
    assert len(fit(PAIR, ROWS).starts) == 1
    assert len(fit(BLOCS, VOTES, stop=Stop(iterations=1)).starts) == 20
    assert len(fit(PAIR, ROWS, starts=np.int64(3)).starts) == 3  # type: ignore[arg-type]


def test_a_configuration_without_rows_is_uniform_under_ml() -> None:
    found = fit(PAIR, {"A": [0, 0, 0], "B": [1, 1, 0]}, method="ml")
    assert found.network.table("A").tolist() == [1.0, 0.0]
    # Two thirds, divided once.
    assert np.allclose(found.network.table("B"), [[1 / 3, 2 / 3], [0.5, 0.5]], atol=1e-15)
    assert found.objective == pytest.approx(np.log(4 / 27), abs=1e-14)
    assert np.isfinite(found.belief.alpha).all()


class TestFixed:
    def test_a_deterministic_and(self) -> None:
        """C is known to be A and B, so a row shows A and B where C is true: plain counts."""
        graph = make_dag("A B -> C", states=2)
        conjunction = np.zeros((2, 2, 2))
        conjunction[..., 0] = 1.0
        conjunction[1, 1] = [0.0, 1.0]
        rows = {"A": [None, 1, 0, 0, 1], "B": [None, 0, 1, 0, None], "C": [1, 0, None, 0, 1]}
        found = fit(graph, rows, method="ml", fixed={"C": conjunction})
        assert np.array_equal(found.network.table("C"), conjunction)
        # Rows 1 and 5 have A = B = 1: three of five rows each.
        assert np.allclose(found.network.table("A"), [2 / 5, 3 / 5], atol=1e-14)
        assert np.allclose(found.network.table("B"), [2 / 5, 3 / 5], atol=1e-14)
        # Four rows show A and B, and row 3 leaves C to the conjunction.
        assert found.objective == pytest.approx(2 * (3 * np.log(3 / 5) + 2 * np.log(2 / 5)), abs=1e-13)

    def test_a_row_it_excludes_is_named(self) -> None:
        graph = make_dag("A -> B", states=2)
        with pytest.raises(ImpossibleRowError, match=r"row 3 has probability zero.*A=1, B=0"):
            fit(graph, {"A": [0, 1, 1], "B": [0, 1, 0]}, fixed={"B": np.eye(2)})

    def test_hidden_tables(self) -> None:
        half = np.full(3, 1 / 3)
        found = fit(BLOCS, VOTES, starts=3, fixed={"bloc": half}, stop=Stop(iterations=5))
        assert all(np.array_equal(start.network.table("bloc"), half) for start in found.starts)
        assert found.trace[-1] > found.trace[0] + 1

    @pytest.mark.parametrize(
        ("fixed", "message"),
        [
            ({"Z": [1.0]}, "no variable 'Z'"),
            ({"A": [0.5, 0.4]}, r"sums to 0\.9"),
            ({"A": [0.5, 0.25, 0.25]}, r"shape \(2,\), not \(3,\)"),
            ({"A": [1.5, -0.5]}, "not a probability"),
            ({"B": [0.5, 0.5]}, r"shape \(2, 2\)"),
        ],
    )
    def test_wrong_tables(self, fixed: dict[str, Any], message: str) -> None:
        with pytest.raises((ParameterError, SchemaError), match=message):
            fit(PAIR, ROWS, fixed=fixed)


class TestInitial:
    def test_one_and_many(self) -> None:
        networks = [random_network(BLOCS, rng=seed) for seed in range(3)]
        one = fit(BLOCS, VOTES, initial=networks[1], stop=Stop(iterations=4))
        many = fit(BLOCS, VOTES, initial=networks, stop=Stop(iterations=4))
        assert len(one.starts) == 1
        assert len(many.starts) == 3
        # Lanes add in another order than a single vector.
        assert np.allclose(one.trace, many.starts[1].trace, rtol=1e-12)

    def test_going_on_is_never_having_stopped(self) -> None:
        first = fit(BLOCS, VOTES, starts=3, stop=Stop(iterations=6))
        second = fit(BLOCS, VOTES, initial=first, stop=Stop(iterations=7))
        whole = fit(BLOCS, VOTES, starts=3, stop=Stop(iterations=12))
        for early, late, both in zip(first.starts, second.starts, whole.starts, strict=True):
            # A network's distributions are scaled to one again when it is taken up.
            assert np.allclose(early.trace + late.trace[1:], both.trace, rtol=1e-11)

    def test_which_variables_are_hidden_does_not_matter(self) -> None:
        shown = naive_bayes(VOTES.schema, hidden="bloc", states=3)
        network = random_network(Dag(shown.schema.reveal(), shown.parents), rng=0)
        assert len(fit(BLOCS, VOTES, initial=network, stop=Stop(iterations=1)).trace) == 1

    @pytest.mark.parametrize(
        "other",
        [
            make_dag("B -> A", states=2),
            make_dag("A -> B", states={"A": 2, "B": 3}),
            make_dag("A -> B", states={"A": 2, "B": ["x", "y"]}),
            make_dag("A -> B; A -> C", states=2),
            Dag(make_dag("A; B", states=2).schema, ((), ()), (("A", "B"),)),
        ],
        ids=str,
    )
    def test_another_graph(self, other: Dag) -> None:
        with pytest.raises(ParameterError, match="initial must have the variables"):
            fit(PAIR, ROWS, initial=[random_network(PAIR), random_network(other)])

    @pytest.mark.parametrize(
        ("initial", "message"),
        [([], "at least one"), ("A -> B", "must be a network"), ([PAIR], "must be a network")],
    )
    def test_no_networks(self, initial: Any, message: str) -> None:
        with pytest.raises(ParameterError, match=message):
            fit(PAIR, ROWS, initial=initial)

    def test_not_with_starts(self) -> None:
        with pytest.raises(ParameterError, match="either starts or initial"):
            fit(PAIR, ROWS, initial=random_network(PAIR), starts=3)


class TestWatch:
    def test_called_after_every_sweep(self) -> None:
        seen: list[Progress] = []
        found = fit(BLOCS, VOTES, starts=3, watch=seen.append, stop=Stop(relative=1e-5))
        assert [told.iteration for told in seen] == list(range(1, len(seen) + 1))
        assert len(seen) == max(start.iterations for start in found.starts)
        assert [told.best for told in seen] == sorted(told.best for told in seen)
        assert seen[-1].best == found.objective
        assert seen[-1].active == 0
        assert {told.most for told in seen} == {2000}
        assert [climb.trace for climb in seen[-1].climbs()] == [start.trace for start in found.starts]

    @pytest.mark.parametrize("answer", [True, np.True_])
    def test_a_true_answer_ends_it(self, answer: object) -> None:
        found = fit(BLOCS, VOTES, starts=3, watch=lambda told: answer if told.iteration == 4 else None)
        assert found.interrupted
        assert not found.converged
        assert [start.iterations for start in found.starts] == [4, 4, 4]

    @pytest.mark.parametrize("answer", [None, False, 17, "written"])
    def test_any_other_answer_does_not(self, answer: object) -> None:
        """What a write returns is true, and means nothing."""
        found = fit(PAIR, ROWS, watch=lambda _: answer)
        assert found.converged
        assert not found.interrupted

    def test_the_climbs_are_a_checkpoint(self) -> None:
        kept: list[Network] = []

        def keep(told: Progress) -> None:
            kept[:] = [Network(BLOCS, climb.theta) for climb in told.climbs()]

        found = fit(BLOCS, VOTES, starts=2, watch=keep, stop=Stop(iterations=5))
        assert [n.theta.tolist() for n in kept] == [s.network.theta.tolist() for s in found.starts]

    @pytest.mark.parametrize("at", [2, 5])
    @pytest.mark.parametrize("accelerate", [False, True])
    def test_an_interrupt_gives_the_best_so_far(
        self, monkeypatch: pytest.MonkeyPatch, at: int, accelerate: bool
    ) -> None:
        interrupt_sweep(monkeypatch, at)
        found = fit(BLOCS, VOTES, starts=3, accelerate=accelerate)
        monkeypatch.undo()
        assert found.interrupted
        assert not found.converged
        assert "interrupted" in str(found)
        assert found.iterations == at - 1
        # The same sum, in another order of rows and lanes.
        assert found.network.log_likelihood(VOTES) == pytest.approx(found.log_likelihood, rel=1e-12)
        again = fit(BLOCS, VOTES, initial=found, stop=Stop(iterations=1))
        assert again.objective == pytest.approx(found.objective, rel=1e-12)

    def test_an_interrupt_before_anything_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        interrupt_sweep(monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            fit(BLOCS, VOTES, starts=3)

    @pytest.mark.parametrize("at", [2, 3, 4, 6])
    def test_an_interrupt_of_a_tournament(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        """Rounds of 8, 4 and 2 take 2, 3 and 5 sweeps: the third and sixth are the first of a round."""
        interrupt_sweep(monkeypatch, at)
        found = fit(BLOCS, VOTES, starts=Tournament(8))
        monkeypatch.undo()
        assert found.interrupted
        assert len(found.starts) == 8
        assert np.isfinite([start.objective for start in found.starts]).all()
        everyone = fit(BLOCS, VOTES, starts=Draws(8), stop=Stop(iterations=2 if at > 2 else 1))
        assert found.objective >= everyone.objective - 1e-9  # lanes add in another order


def interrupt_sweep(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Let the user press Ctrl-C during one sweep."""
    sweeps = 0
    plain = DiscreteRows.expect

    def expect(self: DiscreteRows, potentials: Any) -> Any:
        nonlocal sweeps
        sweeps += 1
        if sweeps == at:
            raise KeyboardInterrupt
        return plain(self, potentials)

    monkeypatch.setattr(DiscreteRows, "expect", expect)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "mle"}, "method must be"),
        ({"select": "worst"}, "select must be"),
        ({"basis": "logit"}, "basis must be"),
        ({"basis": "logit", "method": "ml"}, "basis must be"),
        ({"basis": "probability", "prior": Dirichlet(0.5)}, "basis='softmax'"),
        ({"starts": 0}, "at least one start"),
        ({"starts": -3}, "at least one start"),
        ({"starts": 2.5}, "starts must be a number"),
        ({"starts": "many"}, "starts must be a number"),
    ],
    ids=str,
)
def test_settings_that_cannot_be(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        fit(PAIR, ROWS, **options)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        ({"A": [0, 1]}, SchemaError, "'B' is not a column"),
        ({"A": [0, 1], "B": [None, None]}, SchemaError, "nothing is observed of B; declare it hidden"),
        ({"A": [0, 1], "B": [0, 5]}, StateError, "B, row 2.*5"),
        (Table(PAIR.schema, np.zeros((0, 2), np.int8)), TableError, "no rows"),
        (
            Table(PAIR.schema, np.zeros((2, 2), np.int8), weights=np.zeros(2)),
            TableError,
            "all rows have weight zero",
        ),
    ],
    ids=["column", "holes", "state", "no rows", "no weight"],
)
def test_rows_that_cannot_be(rows: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fit(PAIR, rows)


@pytest.mark.parametrize("method", ["ml", "map"])
def test_a_hidden_variable_with_one_state_changes_nothing(method: Any) -> None:
    rows = {"A": [0, 0, 1, None, 1], "B": [0, 1, None, 1, 1]}
    apart = make_dag("A; B", states=2)
    with_it = make_dag("H -> A B", states={"H": 1, "A": 2, "B": 2}, hidden=["H"])
    one, other = (fit(graph, rows, method=method, stop=Stop(relative=1e-12)) for graph in (apart, with_it))
    assert len(other.starts) == 20
    for start in other.starts:
        # A geometric climb that ends when a step gains less than 1e-12 of it.
        assert start.objective == pytest.approx(one.objective, abs=1e-9)
    for name in "AB":
        assert np.allclose(other.network.table(name)[0], one.network.table(name), atol=1e-5)


@pytest.mark.parametrize("method", ["ml", "map"])
def test_variables_with_one_state(method: Any) -> None:
    graph = Dag.from_parents(Schema((Variable("A", ("x",)), Variable("B", ("x",)))), {"B": ["A"]})
    found = fit(graph, {"A": ["x", None], "B": ["x", "x"]}, method=method)
    assert found.converged
    assert (found.objective, found.log_likelihood) == (0.0, 0.0)
    assert found.network.theta.tolist() == [1.0, 1.0]


def test_one_row() -> None:
    found = fit(PAIR, {"A": [1], "B": [0]}, prior=Dirichlet(0.5))
    assert found.converged
    # (0 + α, 1 + α) over 1 + 2α.
    assert np.allclose(found.network.table("A"), [0.25, 0.75], atol=1e-15)
    assert np.allclose(found.network.table("B"), [[0.5, 0.5], [0.75, 0.25]], atol=1e-15)


def test_tiny_weights() -> None:
    """Only their ratios matter to maximum likelihood, down to weights that vanish beside one."""
    weights = np.array([3.0, 1.0, 2.0, 2.0])
    codes = np.array([[0, 0], [0, 1], [1, HOLE], [HOLE, 1]], dtype=np.int8)
    start = random_network(PAIR, rng=0)
    plain, tiny = (
        fit(
            PAIR,
            Table(PAIR.schema, codes.copy(), weights=weights * scale),
            method="ml",
            initial=start,
            stop=Stop(iterations=9),
        )
        for scale in (1.0, 1e-200)
    )
    # Rounding of nine steps.
    assert np.allclose(plain.network.theta, tiny.network.theta, rtol=1e-12)
    assert np.allclose(np.array(tiny.trace) * 1e200, plain.trace, rtol=1e-12)


def test_rows_of_no_weight_do_not_count_even_if_impossible() -> None:
    start = Network.from_tables(PAIR, {"A": [0.5, 0.5], "B": [[1.0, 0.0], [0.5, 0.5]]})
    codes = np.array([[0, 0], [0, 1], [1, HOLE]], dtype=np.int8)
    found = fit(
        PAIR,
        Table(PAIR.schema, codes, weights=np.array([1.0, 0.0, 1.0])),
        method="ml",
        initial=start,
    )
    assert found.converged
    # p(A=0, B=0) p(A=1) = 1/4 at the top, which the first step reaches.
    assert found.objective == pytest.approx(np.log(1 / 4), abs=1e-14)


def test_frames_arrays_and_extra_columns() -> None:
    expected = fit(PAIR, ROWS).objective
    assert fit(PAIR, {**ROWS, "C": ["p", "q", "r", "s"]}).objective == expected
    array = np.array([[0, 0], [0, 1], [1, np.nan], [np.nan, 1]])
    assert fit(PAIR, array).objective == expected


def test_a_fit_says_how_many_starts_met_and_its_prior() -> None:
    found = fit(BLOCS, VOTES, starts=5, prior=Dirichlet(2.0))
    near = sum(found.objective - start.objective <= 0.1 for start in found.starts)
    first, second = str(found).splitlines()
    assert first.endswith(f"best of 5 starts, {near} within 0.1 nats of it")
    assert second == "prior of parameters: Dirichlet(alpha=2.0)"
    assert "prior" not in str(fit(PAIR, ROWS, method="ml"))
