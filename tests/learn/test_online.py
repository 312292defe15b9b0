"""Mini-batches: their steps, their fixed points, and that they are the same whatever rows lie in."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data import recipe
from lacunary.infer.batches import Batches
from lacunary.infer.rows import prepare
from lacunary.learn.em import maximize_rule
from lacunary.learn.online import Averaged
from lacunary.learn.vbem import update_rule

VOTES = lac.house_votes()
BLOCS = lac.naive_bayes(VOTES.schema, hidden="bloc", states=2)
ASIA = lac.asia()
HOLED = lac.make_holes(ASIA.sample(2000, rng=1), 0.3, rng=2)

ROUNDING = 1e-11
"""Sums of some thousand terms in another order."""


def batches(dag: lac.Dag, source: Any, size: int) -> Batches:
    rows = source.align(dag.schema)
    return Batches(dag, rows, partial(prepare, dag), size)


# -- steps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("decay", "offset"), [(0.51, 0.0), (0.7, 10.0), (1.0, 3.0)])
def test_steps_are_those_of_robbins_and_monro(decay: float, offset: float) -> None:
    online = lac.Online(learning_decay=decay, learning_offset=offset)
    steps = np.array([online.step(t) for t in range(1, 2**14 + 1)])
    assert np.all((steps > 0) & (steps <= 1))
    assert np.all(np.diff(steps) < 0)
    # Σ γ over t from T to 2T does not vanish: ∫ (offset + t)^−1 over it tends to log 2, and is the least.
    octaves = [steps[2**k : 2 ** (k + 1)].sum() for k in range(8, 14)]
    assert min(octaves) > 0.95 * np.log(2.0) - offset / 2**8
    # Σ γ² over it is at most its integral from one before, which shrinks as T^(1 − 2 decay).
    squares = [(steps[2**k : 2 ** (k + 1)] ** 2).sum() for k in range(8, 14)]
    power = 2 * decay - 1
    bounds = [((offset + 2**k) ** -power - (offset + 2 ** (k + 1)) ** -power) / power for k in range(8, 14)]
    assert np.all(np.array(squares) <= np.array(bounds))
    assert bounds[-1] < bounds[0]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"learning_decay": 0.5}, "noise never dies out"),
        ({"learning_decay": 1.01}, "steps end too early"),
        ({"learning_offset": -1.0}, "must not be negative"),
        ({"learning_offset": float("inf")}, "must not be negative"),
        ({"batch_size": 0}, "batch_size must be at least 1"),
        ({"passes": 0}, "passes must be at least 1"),
    ],
)
def test_settings_out_of_range(settings: dict[str, Any], told: str) -> None:
    with pytest.raises(lac.ParameterError, match=told):
        lac.Online(**settings)


def test_what_is_no_setting() -> None:
    with pytest.raises(lac.ParameterError, match="online must be True"):
        lac.fit(BLOCS, VOTES, online="yes")  # type: ignore[arg-type]
    with pytest.raises(lac.ParameterError, match="judged by all rows"):
        lac.fit(BLOCS, VOTES, online=True, starts=lac.Tournament(4))
    assert (
        lac.fit(BLOCS, VOTES, online=False, starts=2).objective == lac.fit(BLOCS, VOTES, starts=2).objective
    )


# -- batches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [7, 70, 300, 10**6])
def test_batches_of_a_pass_are_all_rows(size: int) -> None:
    halves = lac.Partitioned([HOLED.take(slice(0, 90)), HOLED.take(slice(0, 0)), HOLED.take(slice(90, 400))])
    theta = lac.random_network(ASIA.dag, rng=0).theta[None]
    wanted = prepare(ASIA.dag, HOLED.take(slice(0, 400))).expect(theta)
    for source in (HOLED.take(slice(0, 400)), halves):
        cut = batches(ASIA.dag, source, size)
        assert cut.many == max(1, round(400 / size)) or source is halves
        for _ in range(2):
            found = [cut.expect(theta) for _ in range(cut.many)]
            mean = sum(each.counts for each in found) / cut.many
            np.testing.assert_allclose(mean, wanted.counts, rtol=ROUNDING, atol=ROUNDING)
            log = sum(float(each.log_likelihood[0]) for each in found) / cut.many
            assert log == pytest.approx(float(wanted.log_likelihood[0]), rel=ROUNDING)


def test_passes_have_orders_of_their_own() -> None:
    cut, theta = batches(ASIA.dag, HOLED, 500), ASIA.theta[None]
    first, second = ([cut.expect(theta).counts.tobytes() for _ in range(4)] for _ in range(2))
    assert first != second
    assert sorted(first) == sorted(second)


# -- fixed points ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["ml", "map", "variational"])
def test_fixed_points_are_those_of_em(method: Any) -> None:
    found = lac.fit(BLOCS, VOTES, method=method, starts=1, stop=lac.Stop(absolute=1e-11, iterations=20_000))
    belief = lac.Dirichlet(1.0)(BLOCS)
    rule: Any = update_rule(belief, None) if method == "variational" else None
    rule = rule or maximize_rule(belief, method, "softmax", None)
    cut = batches(BLOCS, VOTES, 60)
    averaged = Averaged(rule, cut, lac.Online(learning_decay=0.6))
    rows = prepare(BLOCS, VOTES.align(BLOCS.schema))
    at = found.belief.alpha[None] if method == "variational" else found.network.theta[None]
    s = rows.expect(rule.potentials(at)).counts
    # The mean field: what batches expect, averaged over a pass, is s itself where EM stands still.
    drift = sum(cut.expect(averaged.potentials(s)).counts for _ in range(cut.many)) / cut.many - s
    assert np.abs(drift).max() < 1e-3  # EM stopped at 1e-11 nats: 1e-5 in parameters, of 435 rows
    elsewhere = s + 0.1 * rows.weight * np.linspace(0, 1, s.shape[1])
    moved = sum(cut.expect(averaged.potentials(elsewhere)).counts for _ in range(cut.many)) / cut.many
    assert np.abs(moved - elsewhere).max() > 1.0


def test_a_complete_table_is_counted_in_one_pass() -> None:
    table = ASIA.sample(1200, rng=5)
    online = lac.Online(batch_size=100, learning_decay=1.0, learning_offset=0.0, finish=False)
    # Steps of 1/t make s the mean of what was seen: after a pass, what a pass over all rows counts.
    found = lac.fit(ASIA.dag, table, online=online)
    np.testing.assert_allclose(found.network.theta, lac.fit(ASIA.dag, table).network.theta, rtol=1e-9)
    assert found.iterations == 2
    assert not found.converged


@pytest.mark.parametrize("method", ["ml", "map", "variational"])
def test_batches_then_all_rows_end_where_em_ends(method: Any) -> None:
    stop = lac.Stop(relative=1e-10)
    wanted = lac.fit(ASIA.dag, HOLED, method=method, stop=stop)
    found = lac.fit(ASIA.dag, HOLED, method=method, stop=stop, online=200)
    assert found.converged
    # Nothing is hidden, and three cells in ten are missing: one peak, of which both stop short by little.
    assert found.objective == pytest.approx(wanted.objective, abs=1e-2)
    assert np.all(np.diff(found.trace) > -1e-8)
    few = lac.fit(ASIA.dag, HOLED, method=method, online=lac.Online(200, passes=4, finish=False))
    # The noise that is left costs less than estimating the parameters does: half a nat each.
    assert wanted.objective - few.objective < ASIA.dag.free / 2


def test_regressions_by_batches() -> None:
    rng = np.random.default_rng(0)
    cells = rng.normal(size=(300, 2)) + 4 * rng.integers(2, size=(300, 1))  # two groups, well apart: one peak
    cells[rng.random(cells.shape) < 0.2] = np.nan
    table = lac.read(cells)
    graph = lac.naive_bayes(table.schema, hidden="kind", states=2)
    wanted = lac.fit(graph, table, starts=2)
    found = lac.fit(graph, table, starts=2, online=lac.Online(20, passes=3))
    assert found.objective == pytest.approx(wanted.objective, abs=1e-3)


def test_a_state_that_the_first_batches_do_not_show_stays_possible() -> None:
    rare = np.zeros((400, 2), dtype=np.int8)
    rare[7] = 1
    table = lac.Table(lac.dag("a -> b", states=2).schema, rare)
    for size in (10, 100):
        found = lac.fit("a -> b", table, method="ml", online=lac.Online(size, passes=3, finish=False))
        assert np.isfinite(found.objective)
        assert np.isfinite(lac.fit("a -> b", table, method="ml", online=size).objective)


# -- the same bits -----------------------------------------------------------------------------------------


def test_files_and_memory_change_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe, "MOST", 300)
    bits = set()
    wide = lac.random_network(lac.random_dag(12, 0.2, 2, rng=1), rng=2)
    table = lac.make_holes(wide.sample(1000, rng=3), 0.2, rng=4)
    for name, edges, memory in (("one", [0, 1000], None), ("three", [0, 10, 640, 1000], "1 kB")):
        (tmp_path / name).mkdir()
        for k, (a, b) in enumerate(pairwise(edges)):
            table.take(slice(a, b)).to_frame("polars").write_parquet(tmp_path / name / f"{k}.parquet")
        rows = lac.scan(tmp_path / name, memory=memory, schema=table.schema)
        for size in (130, 500):  # smaller and larger than a part
            found = lac.fit(wide.dag, rows, online=lac.Online(size, finish=False))
            bits.add((size, found.network.theta.tobytes()))
    assert len(bits) == 2


@pytest.mark.parametrize("stopped", [3, 12])
def test_checkpoints_go_on_to_the_same_bits(tmp_path: Path, stopped: int) -> None:
    online = lac.Online(batch_size=50, passes=1)
    wanted = lac.fit(BLOCS, VOTES, starts=2, online=online)
    keep, seen = lac.Checkpoint(tmp_path / "climbs.json", seconds=0), []

    def watch(progress: lac.Progress) -> bool:
        keep(progress)
        seen.append(progress)
        return len(seen) == stopped  # of nine batches, one more, and then sweeps

    broken = lac.fit(BLOCS, VOTES, starts=2, online=online, watch=watch)
    assert broken.interrupted
    assert np.isfinite(broken.objective)
    later = lac.fit(BLOCS, VOTES, online=online, initial=lac.load(tmp_path / "climbs.json"))
    assert later.network.theta.tobytes() == wanted.network.theta.tobytes()
    assert later.iterations == wanted.iterations
    with pytest.raises(lac.ParameterError, match="online was"):
        lac.fit(BLOCS, VOTES, online=70, initial=lac.load(tmp_path / "climbs.json"))
