"""The loop: batches, what leaves them, leaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lacunary.data.datasets import house_votes
from lacunary.data.holes import make_holes
from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError
from lacunary.files.shipped import alarm
from lacunary.infer.engine import DiscreteRows
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import fit
from lacunary.learn.start import Draws
from lacunary.learn.stop import Stop
from lacunary.model.make import dag as make_dag
from lacunary.model.make import naive_bayes

VOTES = house_votes()
BLOCS = naive_bayes(VOTES.schema, hidden="bloc", states=3)


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("method", ["ml", "map"])
def test_a_batch_is_its_starts_one_by_one(method: Any, accelerate: bool) -> None:
    starts = [random_network(BLOCS, rng=seed) for seed in range(11)]
    options: Any = {"method": method, "accelerate": accelerate, "stop": Stop(absolute=1e-3)}
    together = fit(BLOCS, VOTES, initial=starts, **options)
    assert len(together.starts) == 11
    for start, climbed in zip(starts, together.starts, strict=True):
        alone = fit(BLOCS, VOTES, initial=start, **options)
        assert alone.converged
        assert climbed.converged
        # Lanes add in another order than a single vector: rounding, which early steps may magnify.
        same = min(len(alone.trace), len(climbed.trace))
        assert np.allclose(alone.trace[: min(same, 10)], climbed.trace[: min(same, 10)], rtol=1e-9)
        assert alone.objective == pytest.approx(climbed.objective, abs=0.01)


def test_converged_starts_leave_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    plain = DiscreteRows.expect

    def counted(self: DiscreteRows, potentials: Any) -> Any:
        sizes.append(len(potentials))
        return plain(self, potentials)

    monkeypatch.setattr(DiscreteRows, "expect", counted)
    found = fit(BLOCS, VOTES, starts=9, stop=Stop(relative=1e-6))
    iterations = sorted(start.iterations for start in found.starts)
    assert iterations[0] < iterations[-1]
    # The last sweep is for the belief.
    swept = sizes[:-1]
    assert swept == [sum(i > sweep for i in iterations) for sweep in range(iterations[-1])]


def impossible_and_good() -> tuple[Table, Network, list[Network]]:
    """Rows with X=2, a start under which no hidden state allows that, and three that are well."""
    dag = make_dag("H -> X Y Z", states=3, hidden=["H"])
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, size=(200, 4))
    codes[rng.random(codes.shape) < 0.2] = HOLE
    codes[:, dag.schema.index("H")] = HOLE
    good = [random_network(dag, rng=seed) for seed in range(3)]
    closed = good[0].tables["X"].copy()
    closed[:, 2] = 0.0
    bad = Network.from_tables(dag, {**good[0].tables, "X": closed}, renormalize=True)
    return Table(dag.schema, codes.astype(np.int8)), bad, good


@pytest.mark.parametrize("accelerate", [False, True])
def test_an_impossible_start_does_not_spoil_the_others(accelerate: bool) -> None:
    table, bad, good = impossible_and_good()
    options: Any = {"method": "ml", "stop": Stop(relative=1e-6), "accelerate": accelerate}
    with_it = fit(bad.dag, table, initial=[good[0], bad, *good[1:]], **options)
    without = fit(bad.dag, table, initial=good, **options)
    spoiled = with_it.starts[1]
    assert spoiled.objective == -np.inf
    assert not spoiled.converged
    # It takes its leave once a step has shown that nothing will come of it.
    assert spoiled.iterations == 2
    for one, other in zip((with_it.starts[0], *with_it.starts[2:]), without.starts, strict=True):
        assert np.isfinite(one.trace).all()
        # The same lanes do the same sums.
        assert np.allclose(one.trace[:20], other.trace[:20], rtol=1e-12)
    assert with_it.objective == pytest.approx(without.objective, rel=1e-6)
    assert np.isfinite(with_it.belief.alpha).all()


def test_an_impossible_start_alone_names_the_row() -> None:
    table, bad, _ = impossible_and_good()
    row = int(np.flatnonzero(table.codes[:, table.schema.index("X")] == 2)[0]) + 1
    with pytest.raises(ImpossibleRowError, match=rf"row {row} has probability zero.*X=2"):
        fit(bad.dag, table, method="ml", initial=bad)


@pytest.mark.parametrize("stop", [Stop(share=1e-6), Stop(relative=1e-8)], ids=["share", "relative"])
def test_with_a_prior_an_impossible_start_recovers(stop: Stop) -> None:
    """The way up from −∞ is no measure of the rest of the climb."""
    table, bad, _ = impossible_and_good()
    found = fit(bad.dag, table, initial=bad, stop=stop)
    assert found.trace[0] == -np.inf
    assert np.isfinite(found.trace[1:]).all()
    assert found.converged
    further = fit(bad.dag, table, initial=found.network, stop=Stop(iterations=2))
    # The bound on the last change: 1e-6 of a climb of some hundred nats, or 1e-8 of some 700 nats.
    assert further.trace[1] - further.trace[0] < 1e-3


def overlapping() -> tuple[Table, Any]:
    """Eight binary children that hardly tell three hidden states apart: plain EM crawls."""
    leaves = [f"X{i}" for i in range(8)]
    dag = make_dag(f"H -> {' '.join(leaves)}", states={"H": 3, **dict.fromkeys(leaves, 2)}, hidden=["H"])
    tables: dict[str, Any] = {leaf: [[0.6, 0.4], [0.5, 0.5], [0.4, 0.6]] for leaf in leaves}
    return Network.from_tables(dag, {"H": [0.4, 0.3, 0.3], **tables}).sample(1000, rng=1), dag


@pytest.mark.parametrize("method", ["ml", "map"])
@pytest.mark.parametrize("problem", ["overlap", "alarm"])
def test_leaps_save_sweeps_and_end_at_the_same_top(method: Any, problem: str) -> None:
    if problem == "overlap":
        table, dag = overlapping()
    else:
        network = alarm()
        dag, table = network.dag, make_holes(network.sample(200, rng=2), 0.6, rng=3)
        # A column of which nothing is left would have to be hidden.
        assert not table.holes.all(axis=0).any()
    options: Any = {
        "method": method,
        "initial": [random_network(dag, rng=seed) for seed in range(2)],
        "stop": Stop(relative=1e-8, iterations=10_000),
    }
    plain, fast = (fit(dag, table, accelerate=accelerate, **options) for accelerate in (False, True))
    sweeps = [sum(start.iterations for start in found.starts) for found in (plain, fast)]
    # Measured savings are three- to fivefold; on the easy ones (ALARM with a prior) a good half.
    assert sweeps[1] < 0.75 * sweeps[0]
    for slow, quick in zip(plain.starts, fast.starts, strict=True):
        assert slow.converged
        assert quick.converged
        # Rounding of a sum of a thousand logarithms.
        assert np.diff(quick.trace).min() >= -1e-9
    # A change below 1e-8 of 5 500 nats leaves plain EM some hundredths below its top.
    assert fast.objective == pytest.approx(plain.objective, abs=0.05)


def test_a_leap_that_gains_little_is_no_convergence() -> None:
    """Where a fast fit says it has converged, a plain step gains less than the bound as well."""
    bound, slack = 1e-5, 1.2  # plain steps may grow a little before they shrink
    for seed in range(12):
        rng = np.random.default_rng(seed)
        dag = make_dag("H -> A B C D E", states={"H": 4, "A": 3, "B": 3}, hidden=["H"])
        table = make_holes(random_network(dag, rng=rng).sample(150, rng=rng), 0.2, rng=rng)
        found = fit(dag, table, method="ml", starts=Draws(8), accelerate=True, stop=Stop(relative=bound))
        on = fit(dag, table, method="ml", initial=found, stop=Stop(iterations=2))
        for start, further in zip(found.starts, on.starts, strict=True):
            assert start.converged
            assert further.trace[1] - further.trace[0] <= slack * bound * abs(start.objective)
