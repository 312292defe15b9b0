"""What must hold of learning, whatever the network, the rows and the holes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lacunary.data.schema import Schema
from lacunary.data.table import HOLE, Table
from lacunary.infer.belief import Dirichlet
from lacunary.infer.expect import expect
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import Fit, fit
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag
from tests.learn import twin
from tests.learn.twin import PROBLEMS, Problem, learnable
from tests.strategies import Case

Trace = tuple[float, ...]

problems = st.sampled_from(PROBLEMS)

NEVER = Stop(absolute=0.0)
"""Stops only where nothing changes any more."""


def climb(start: Network | list[Network], table: Table, problem: Problem, **options: Any) -> Fit:
    dag = start.dag if isinstance(start, Network) else start[0].dag
    return fit(
        dag,
        table,
        method=problem.method,  # type: ignore[arg-type]
        basis=problem.basis,  # type: ignore[arg-type]
        prior=Dirichlet(problem.alpha),
        fixed=problem.fixed,
        initial=start,
        **options,
    )


def shorter(one: Trace, other: Trace) -> tuple[Trace, Trace]:
    """Two traces as far as both go: one may end earlier, where the last bit happens not to change."""
    length = min(len(one), len(other))
    return one[:length], other[:length]


@settings(max_examples=200)
@given(learnable(), problems, st.booleans())
def test_the_objective_never_falls(case: Case, problem: Problem, accelerate: bool) -> None:
    start, table = case
    others = [random_network(start.dag, rng=seed) for seed in range(2)]
    found = climb([start, *others], table, problem, accelerate=accelerate, stop=replace(NEVER, iterations=60))
    for climbed in found.starts:
        assert np.diff(climbed.trace).min(initial=0.0) >= -twin.rounding(climbed.network, table, problem)
    assert found.objective == max(climbed.objective for climbed in found.starts)


@settings(max_examples=60)
@given(learnable(max_variables=4, max_rows=8), problems)
def test_the_objective_has_every_constant(case: Case, problem: Problem) -> None:
    start, table = case
    found = climb(start, table, problem, stop=Stop(iterations=1))
    expected = twin.objective(start, table, problem)
    assert abs(found.objective - expected) <= twin.rounding(start, table, problem)


@settings(max_examples=40)
@given(learnable(max_variables=4, max_rows=6), problems)
def test_every_step_is_that_of_slow_em(case: Case, problem: Problem) -> None:
    start, table = case
    found = climb(start, table, problem, stop=Stop(iterations=6))
    # A fit may end early, where nothing changes any more.
    expected, end = twin.trace(start, table, problem, len(found.trace))
    # Six steps of a few hundred operations each, on numbers of moderate size.
    assert np.allclose(found.trace, expected, rtol=1e-10, atol=1e-10)
    assert np.allclose(found.network.theta, end.theta, rtol=1e-8, atol=1e-10)


@settings(max_examples=100)
@given(learnable(max_hidden=0, hole_shares=(0.0,)), problems)
def test_without_holes_one_step_is_the_closed_form(case: Case, problem: Problem) -> None:
    start, table = case
    found = climb(start, table, problem, stop=Stop(iterations=2))
    for i, name in enumerate(start.dag.names):
        counts = np.zeros(start.table(name).shape)
        for row, weight in zip(table.codes, table.weights, strict=True):
            counts[tuple(row[[*start.dag.parent_indices[i], i]])] += weight
        # Counts and sums of a dozen numbers.
        assert np.allclose(found.network.table(name), twin.closed_form(counts, problem.pseudo), atol=1e-14)
    # Nothing changes any more but by arithmetic; the objective itself may be near zero.
    near = twin.rounding(found.network, table, problem)
    further = climb(found.network, table, problem, stop=Stop(absolute=near))
    assert further.converged
    assert further.iterations == 2


def softmax_gradient(network: Network, table: Table, alpha: float) -> np.ndarray[Any, Any]:
    """E[N_ijk] + α − θ_ijk Σ_k (E[N_ijk] + α): the gradient in the coordinates log θ_ijk + constant."""
    layout = network.dag.layout
    raised = expect(network, table).counts + alpha
    return np.asarray(raised - network.theta * layout.total(raised)[layout.group])


@settings(max_examples=20)
@given(learnable(max_variables=4, max_rows=8), st.sampled_from((0.5, 1.0, 2.0)), st.integers(0, 2**32 - 1))
def test_finite_differences_of_the_objective_are_its_gradient(case: Case, alpha: float, seed: int) -> None:
    start, table = case
    layout = start.dag.layout
    direction, width = np.random.default_rng(seed).normal(size=layout.size), 1e-4

    def height(distance: float) -> float:
        moved = Network(start.dag, layout.normalize(start.theta * np.exp(distance * direction)))
        return climb(moved, table, Problem(alpha=alpha), stop=Stop(iterations=1)).objective

    slope = (height(width) - height(-width)) / (2 * width)
    exact = softmax_gradient(start, table, alpha) @ direction
    # The third derivative is of the size of (N + α per parameter) times the cube of the direction.
    scale = (table.size + alpha * layout.size) * np.abs(direction).max() ** 3
    assert abs(slope - exact) <= 10 * scale * width**2 + 1e-10 * scale / width


@settings(max_examples=25)
@given(learnable(max_rows=10), st.sampled_from((0.5, 1.0, 2.0)), st.booleans())
def test_at_the_top_the_gradient_vanishes(case: Case, alpha: float, accelerate: bool) -> None:
    start, table = case
    problem = Problem(alpha=alpha)
    found = climb(start, table, problem, accelerate=accelerate, stop=replace(NEVER, iterations=5000))
    # Rounding may make the last bits flicker for ever; a climb that still gains is not at the top.
    assume(found.converged or np.ptp(found.trace[-5:]) <= twin.rounding(found.network, table, problem))
    # Where the objective is flat to 1e-16 of its size, a quadratic top leaves 1e-8 of it in the slope; slow
    # directions leave more.
    assert np.abs(softmax_gradient(found.network, table, alpha)).max() <= 1e-4 * (table.size + alpha)


@settings(max_examples=40)
@given(learnable(), problems, st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_nothing(case: Case, problem: Problem, random: Any) -> None:
    start, table = case
    order = list(range(len(table)))
    random.shuffle(order)
    one, other = (
        climb(start, rows, problem, stop=Stop(iterations=8)) for rows in (table, table.take(np.array(order)))
    )
    # Ten sums in another order.
    assert np.allclose(*shorter(one.trace, other.trace), rtol=1e-11, atol=1e-11)


@settings(max_examples=40)
@given(learnable(), problems)
def test_a_weight_is_a_row_repeated(case: Case, problem: Problem) -> None:
    start, table = case
    times = np.arange(1, len(table) + 1) % 4 + 1
    weighted = Table(table.schema, table.codes.copy(), weights=times.astype(float))
    repeated = Table(table.schema, np.repeat(table.codes, times, axis=0))
    one, other = (climb(start, rows, problem, stop=Stop(iterations=8)) for rows in (weighted, repeated))
    # Ten sums in another order.
    assert np.allclose(*shorter(one.trace, other.trace), rtol=1e-11, atol=1e-11)


def relabelled(network: Network, names: set[str]) -> Network:
    """The same network with the states of some variables declared in the opposite order."""
    old = network.dag
    schema = Schema(
        tuple(replace(v, states=v.states[::-1]) if v.name in names else v for v in old.schema.variables)
    )
    tables = {}
    for name in old.names:
        axes = tuple(a for a, member in enumerate((*old.parents_of(name), name)) if member in names)
        tables[name] = np.flip(network.table(name), axes)
    return Network.from_tables(Dag(schema, old.parents, old.tied), tables)


@settings(max_examples=40)
@given(learnable(), problems, st.data())
def test_the_order_of_states_changes_nothing(case: Case, problem: Problem, data: st.DataObject) -> None:
    """Observed or hidden: a start whose hidden states are permuted gives the permuted result."""
    start, table = case
    names = data.draw(st.sets(st.sampled_from(start.dag.names)))
    one = climb(start, table, problem, stop=Stop(iterations=8))
    other = climb(relabelled(start, names), table, problem, stop=Stop(iterations=8))
    # Ten sums in another order.
    assert np.allclose(*shorter(one.trace, other.trace), rtol=1e-11, atol=1e-11)
    assert np.allclose(relabelled(one.network, names).theta, other.network.theta, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("hidden", [False, True])
def test_tied_and_fixed_families_follow_slow_em(problem: Problem, hidden: bool) -> None:
    """Two pairs of families share tables, a third is known; with and without a hidden root."""
    free = make_dag(
        "H -> A B; A -> C; B -> D; C D -> E", states={"H": 2, "A": 3, "B": 3}, hidden=["H"] * hidden
    )
    tied = Dag(free.schema, free.parents, (("B", "A"), ("C", "D")))
    rng = np.random.default_rng(3)
    known = rng.dirichlet(np.ones(2), size=(2, 2))
    problem = replace(problem, fixed={"E": known})
    start = random_network(tied, rng=rng)
    codes = rng.integers(0, np.array(tied.schema.sizes), size=(25, 6))
    codes[rng.random(codes.shape) < 0.3] = HOLE
    if hidden:
        codes[:, tied.schema.index("H")] = HOLE
    table = Table(tied.schema, codes.astype(np.int8), weights=rng.uniform(0, 2, size=25))
    begin = Network.from_tables(tied, start.tables | {"E": known})
    found = climb(start, table, problem, stop=Stop(iterations=6))
    expected, end = twin.trace(begin, table, problem, 6)
    # Six steps of a few hundred operations each, on numbers of moderate size.
    assert np.allclose(found.trace, expected, rtol=1e-10)
    assert np.allclose(found.network.theta, end.theta, atol=1e-10)
    assert np.array_equal(found.network.table("A"), found.network.table("B"))
    assert np.array_equal(found.network.table("E"), known)
    assert not np.array_equal(found.network.table("C"), start.table("C"))
