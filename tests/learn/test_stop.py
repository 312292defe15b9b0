"""Stopping rules, on made-up traces and in fits."""

from __future__ import annotations

import numpy as np
import pytest

from lacunary.data.datasets import house_votes
from lacunary.errors import ParameterError
from lacunary.infer.network import random_network
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.model.make import dag as make_dag
from lacunary.model.make import naive_bayes

TRACE = (-1000.0, -500.0, -499.0, -498.99, -498.9899, -498.9899)
"""Changes of 500, 1, 0.01, 0.0001 and nothing at all."""

RULES = {
    # 1e-4 of the objective is 0.05 nats.
    "relative": (Stop(relative=1e-4), 3),
    # 1e-4 of the climb is 0.05 nats, and 1e-6 of it 0.0005.
    "share": (Stop(share=1e-4), 3),
    "smaller share": (Stop(share=1e-6), 4),
    # The objective's size is that of the last: 0.0015 of 499 nats is less than one, of 1 000 it is not.
    "relative to the last": (Stop(relative=0.0015), 3),
    # The climb includes the last change: 500 nats are 500/500 at first, and 1/501 then.
    "share of all": (Stop(share=1 / 500.5), 2),
    "absolute": (Stop(absolute=0.5), 3),
    # 1 nat is not below 1 nat.
    "absolute, on the bound": (Stop(absolute=1.0), 3),
    "whichever comes first": (Stop(relative=1e-9, absolute=2.0), 2),
    "nothing changes": (Stop(absolute=0.0), 5),
    "no bound": (Stop(), 5),
}


def first_met(stop: Stop, trace: tuple[float, ...]) -> int:
    """The position in the trace at which the rule is first met; −1 if never."""
    for position in range(1, len(trace)):
        if stop.met(trace[0], trace[position - 1], trace[position]):
            return position
    return -1


@pytest.mark.parametrize(("stop", "where"), RULES.values(), ids=RULES)
def test_where_a_made_up_trace_stops(stop: Stop, where: int) -> None:
    assert first_met(stop, TRACE) == where


@pytest.mark.parametrize(
    "stop",
    [Stop(relative=1e-5), Stop(share=1e-6), Stop(absolute=0.01), Stop(relative=1e-4, share=1e-9)],
    ids=str,
)
def test_fits_stop_where_the_definition_says(stop: Stop) -> None:
    votes = house_votes()
    found = fit(naive_bayes(votes.schema, hidden="bloc", states=3), votes, starts=4, stop=stop, rng=1)
    for start in found.starts:
        t = start.trace
        change, gain = np.abs(np.diff(t)), np.abs(np.array(t[1:]) - t[0])
        met = np.zeros(len(change), dtype=bool)
        met |= change < (stop.relative or 0.0) * np.abs(t[1:])
        met |= change < (stop.share or 0.0) * gain
        met |= change < (stop.absolute or 0.0)
        assert start.converged
        assert np.flatnonzero(met).tolist() == [len(change) - 1]
        assert start.iterations == len(t)


@pytest.mark.parametrize("iterations", [1, 2, 7])
def test_out_of_iterations_is_not_converged(iterations: int) -> None:
    votes = house_votes()
    dag = naive_bayes(votes.schema, hidden="bloc", states=3)
    found = fit(dag, votes, starts=2, stop=Stop(absolute=1e-9, iterations=iterations))
    assert not found.converged
    assert not found.interrupted
    assert [len(start.trace) for start in found.starts] == [iterations] * 2
    assert "not converged" in str(found)


def test_an_objective_near_zero_stops() -> None:
    """The likelihood tends to one, so that no change is small beside the objective."""
    rows = {"A": ["x"] * 5, "B": ["x"] * 4 + [None]}
    graph = make_dag("A -> B", states={"A": ["x", "y"], "B": ["x", "y"]})
    found = fit(graph, rows, method="ml", initial=random_network(graph))
    assert found.converged
    # The top is 0, reached to rounding; the last hole is filled geometrically.
    assert found.objective == pytest.approx(0.0, abs=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [{"relative": -1.0}, {"share": -1e-9}, {"absolute": float("nan")}, {"iterations": 0}],
    ids=str,
)
def test_impossible_rules_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match="stop: "):
        Stop(**wrong)  # type: ignore[arg-type]
