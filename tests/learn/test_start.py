"""Where climbs begin: draws, the tournament, around a simpler fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lacunary.data.datasets import house_votes
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief, Dirichlet, bdeu, prior_network
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.network import Network, random_network
from lacunary.learn import start as starting
from lacunary.learn.around import Around
from lacunary.learn.fit import fit
from lacunary.learn.loop import Progress
from lacunary.learn.start import Draws, Tournament
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag
from lacunary.model.make import naive_bayes

VOTES = house_votes()
BLOCS = naive_bayes(VOTES.schema, hidden="bloc", states=3)


def drawn(maker: Any, belief: Belief, prior: Any = None, table: Any = None, seed: int = 0) -> Any:
    return maker.points(belief, prior, table, np.random.default_rng(seed))


def test_draws_follow_the_prior() -> None:
    """Mean α/A and variance m (1 − m)/(A + 1) of every Dirichlet, as in any textbook."""
    graph = make_dag("A -> B", states={"A": 3, "B": 2})
    belief = prior_network(random_network(graph, rng=4), 60.0)(graph)
    assert belief.alpha.min() > 1
    count = 20_000
    points = drawn(Draws(count), belief)
    total = graph.layout.total(belief.alpha)[graph.layout.group]
    mean = belief.alpha / total
    variance = mean * (1 - mean) / (total + 1)
    # Five standard errors; that of a variance is about √(2/n) of it, here with a little tail.
    assert np.all(np.abs(points.mean(axis=0) - mean) < 5 * np.sqrt(variance / count))
    assert np.all(np.abs(points.var(axis=0) / variance - 1) < 5 * np.sqrt(3 / count))
    assert np.allclose(graph.layout.total(points), 1.0, atol=1e-14)  # three rounded terms


def test_draws_of_small_hyperparameters_are_uniform() -> None:
    """Below one they are raised to one; the mean of 3 states is then 1/3 and the variance 1/18."""
    graph = make_dag("A", states=3)
    points = drawn(Draws(20_000), bdeu(0.01)(graph))
    assert np.all(np.abs(points.mean(axis=0) - 1 / 3) < 5 * np.sqrt(1 / 18 / 20_000))
    assert np.all(np.abs(points.var(axis=0) * 18 - 1) < 5 * np.sqrt(3 / 20_000))


def test_a_prior_worth_any_number_of_rows_leaves_starts_apart() -> None:
    """Classes that start alike stay alike: the likelihood's maximum is another one, whatever the prior."""
    graph = make_dag("H -> A B C", hidden=["H"])
    rows = np.array([[-1, 0, 0, 0], [-1, 1, 1, 1], [-1, 0, 0, 1]], dtype=np.int16)
    table = Table(graph.schema, rows, weights=np.array([20.0, 20.0, 2.0]))
    reached = [fit(graph, table, method="ml", prior=Dirichlet(alpha), rng=0) for alpha in (1.0, 1e12)]
    # Two classes have log-likelihood Σ w log p with every row's share; alike, they are some 40 nats short.
    assert reached[1].log_likelihood == pytest.approx(reached[0].log_likelihood, abs=0.01)


def test_the_same_seed_gives_the_same_fit() -> None:
    options: Any = {"starts": 3, "stop": Stop(iterations=3)}
    one, same, other = (fit(BLOCS, VOTES, rng=seed, **options) for seed in (7, 7, 8))
    generator = fit(BLOCS, VOTES, rng=np.random.default_rng(7), **options)
    for again in (same, generator):
        assert [start.trace for start in again.starts] == [start.trace for start in one.starts]
    assert other.starts[0].trace != one.starts[0].trace


def test_a_generator_moves_on() -> None:
    generator = np.random.default_rng(7)
    one, other = (fit(BLOCS, VOTES, starts=2, rng=generator, stop=Stop(iterations=1)) for _ in range(2))
    assert one.trace != other.trace


def test_fewer_draws_are_the_first_of_more() -> None:
    belief = Dirichlet(1.0)(BLOCS)
    assert np.array_equal(drawn(Draws(3), belief), drawn(Draws(5), belief)[:3])


@pytest.mark.parametrize("count", [64, 7, 2])
def test_the_tournament_halves_and_doubles(count: int) -> None:
    """CH96 section 3: 64 take 1 step, the better 32 two more, 16 four more, and so on."""
    seen: list[Progress] = []
    stop = Stop(relative=1e-5, iterations=200)
    found = fit(BLOCS, VOTES, starts=Tournament(count), stop=stop, watch=seen.append, rng=5)
    assert len(found.starts) == count
    draws = drawn(Draws(count), Dirichlet(1.0)(BLOCS), seed=5)
    networks = [Network(BLOCS, theta) for theta in draws]
    # The same by hand: every start climbs alone as far as any could get, and is ranked by where it stands.
    alive, steps, taken, sweeps = list(range(count)), 1, 0, 0
    longest = fit(BLOCS, VOTES, initial=networks, stop=Stop(iterations=2 * count))
    while len(alive) > 1:
        taken += steps
        sweeps += len(alive) * (steps + 1)
        ranked = sorted(alive, key=lambda s: longest.starts[s].trace[taken], reverse=True)
        alive, gone = ranked[: (len(alive) + 1) // 2], ranked[(len(alive) + 1) // 2 :]
        for start in gone:
            assert len(found.starts[start].trace) == taken + 1
            assert not found.starts[start].converged
        steps *= 2
    winner = found.starts[alive[0]]
    assert found.trace == winner.trace
    assert found.converged
    assert found.objective == max(start.objective for start in found.starts)
    # All starts have followed plain EM; lanes add in different orders.
    for climbed, alone in zip(found.starts, longest.starts, strict=True):
        same = min(len(climbed.trace), len(alone.trace))
        assert np.allclose(climbed.trace[:same], alone.trace[:same], rtol=1e-8)
    last = sum(1 for told in seen if told.most == 200)
    assert sum(start.iterations for start in found.starts) == sweeps + last


def test_a_tournament_of_one_is_a_draw() -> None:
    one, same = (fit(BLOCS, VOTES, starts=starts, rng=3) for starts in (Tournament(1), Draws(1)))
    assert one.trace == same.trace


def hidden_parent() -> tuple[Dag, Table]:
    """X has an observed and a hidden parent, H an observed one; a fifth of the cells are holes."""
    dag = make_dag("A -> X <- H; A -> H", states={"A": 2, "H": 2, "X": 3}, hidden=["H"])
    table = random_network(dag, rng=1).sample(400, rng=2)
    codes = table.codes.copy()
    codes[np.random.default_rng(3).random(codes.shape) < 0.2] = HOLE
    codes[:, table.schema.index("H")] = HOLE
    return dag, Table(dag.schema, codes)


def test_around_the_fit_without_hidden_variables() -> None:
    """TMCH98 section 5: drawn around the fit of the observed variables, hidden ones uniform."""
    dag, table = hidden_parent()
    count, ess = 4000, 200.0
    points = drawn(Around(count, ess), Dirichlet(1.0)(dag), Dirichlet(1.0), table)
    simple = fit(make_dag("A -> X", states={"A": 2, "X": 3}), table, stop=Stop(relative=1e-12)).network
    tables = {name: np.array([dag.layout.table(p, dag.schema.index(name)) for p in points]) for name in "AHX"}
    assert np.array_equal(tables["H"], np.full((count, 2, 2), 0.5))
    for name, peak in (("A", simple.table("A")), ("X", simple.table("X")[:, None, :])):
        # A Dirichlet with peak (α − 1)/(A − r), where A − r = ess, has mean (1 + ess·peak)/(r + ess).
        states = peak.shape[-1]
        mean = np.broadcast_to((1 + ess * peak) / (states + ess), tables[name].shape[1:])
        error = np.sqrt(mean * (1 - mean) / (states + ess + 1) / count)
        # Five standard errors, and what the inner fit's own stop (1e-6 of the objective) leaves.
        assert np.all(np.abs(tables[name].mean(axis=0) - mean) < 5 * error + 2e-3)
        spread = tables[name].var(axis=0) / (count * error**2)
        assert np.all(np.abs(spread - 1) < 5 * np.sqrt(3 / count))
    # Drawn anew for every configuration of the hidden parent (which is the first or the second).
    axis = dag.parents_of("X").index("H")
    one, other = (np.take(tables["X"], h, axis=1 + axis)[:, 0, 0] for h in (0, 1))
    # Five standard errors of a correlation of nothing.
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(count)


def test_around_a_fit_climbs() -> None:
    found = fit(BLOCS, VOTES, starts=Around(4, ess=200.0), stop=Stop(share=1e-6))
    assert found.converged
    assert len(found.starts) == 4
    assert len({start.trace[0] for start in found.starts}) == 4


def test_around_tied_families_lies_between_them() -> None:
    """Their common table is drawn around the mean of what each would have alone."""
    free = make_dag("H -> A B", states={"H": 2, "A": 2, "B": 2}, hidden=["H"])
    dag = Dag(free.schema, free.parents, (("A", "B"),))
    rows = {"A": [0] * 90 + [1] * 10, "B": [0] * 30 + [1] * 70}
    found = fit(dag, rows, starts=Around(200, ess=5000.0), stop=Stop(iterations=1))
    # MAP with α = 1: (91 + 31)/(2 · 102); draws spread by √(0.25/5000) = 0.007.
    mean = np.mean([start.network.table("A") for start in found.starts], axis=0)
    assert np.allclose(mean[:, 0], 61 / 102, atol=0.005)
    assert np.ptp([start.network.table("H") for start in found.starts]) == 0.0


def test_an_interrupt_while_fitting_without_hidden_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(DiscreteRows, "expect", interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(BLOCS, VOTES, starts=Around(4))


@pytest.mark.parametrize("maker", [Draws, Tournament, Around])
@pytest.mark.parametrize("count", [0, -1])
def test_no_start_at_all(maker: Any, count: int) -> None:
    with pytest.raises(ParameterError, match="at least one start"):
        maker(count)


@pytest.mark.parametrize("ess", [0.0, -1.0, float("nan"), float("inf")])
def test_a_sample_size_that_cannot_be(ess: float) -> None:
    with pytest.raises(ParameterError, match="ess must be positive"):
        Around(3, ess)


def test_available_cases() -> None:
    """Without hidden variables a fit starts from the rows in which a family is complete."""
    graph = make_dag("A -> B", states=2)
    rows = {"A": [0, 0, 1, None], "B": [0, 1, None, 1]}
    found = fit(graph, rows, stop=Stop(iterations=1))
    # A: 2 and 1 of the three rows that show it, plus α = 1 each; B: one of each given A=0, none given A=1.
    assert np.allclose(found.network.table("A"), [3 / 5, 2 / 5], atol=1e-15)
    assert np.allclose(found.network.table("B"), [[0.5, 0.5], [0.5, 0.5]], atol=1e-15)
    assert starting.available_cases(np.zeros(6), Dirichlet(1.0)(graph)).tolist() == [0.5] * 6
