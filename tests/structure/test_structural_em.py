"""Structural EM: what it must do without holes, what must never matter, and how it stops and goes on."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import FileError, ParameterError, SchemaError, TableError
from lacunary.structure.structural_em import StructuralResult, structural_em
from lacunary.structure.walk import SearchProgress, Trail

COLUMNS = ["asia", "smoke", "lung", "bronc", "either", "dysp"]


@pytest.fixture(scope="module")
def rows() -> Table:
    return lac.make_holes(lac.asia().sample(400, rng=1).select(COLUMNS), 0.35, rng=1)


@pytest.fixture(scope="module")
def found(rows: Table) -> StructuralResult:
    return structural_em(rows)


@pytest.mark.parametrize("options", [{}, {"score": "bic"}, {"score": "k2", "max_parents": 2}], ids=str)
def test_without_holes_it_is_a_plain_search(options: dict[str, Any]) -> None:
    table = lac.asia().sample(300, rng=5)
    plain = lac.search(table, method="greedy", **options)
    ours = structural_em(table, method="greedy", schedule="((EM)* Ec S* M)*", **options)
    assert ours.dag == plain.dag
    # The closed form by one route, and corrected for its fit, which is nothing without holes, by another.
    assert ours.score == pytest.approx(plain.score, rel=1e-10)
    assert structural_em(table, method="greedy", **options).score == plain.score


def test_the_order_of_rows_does_not_matter(rows: Table, found: StructuralResult) -> None:
    turned = rows.take(np.random.default_rng(0).permutation(len(rows)))
    assert structural_em(turned).rounds == found.rounds


def test_search_takes_tables_with_holes(rows: Table, found: StructuralResult) -> None:
    again = lac.search(rows)
    assert again.dag == found.dag
    assert again.score == found.score


def test_the_score_is_the_cheeseman_stutz_estimate(rows: Table, found: StructuralResult) -> None:
    fitted = lac.fit(found.dag, rows, prior=lac.bdeu(1), initial=found.network)
    estimate = lac.score(fitted, rows, "cheeseman-stutz", prior=lac.bdeu(1))
    # Both stop climbing a little before the same maximum: 1e-8 of an objective of some 900 nats a step.
    assert found.score == pytest.approx(estimate.value, abs=1e-2)
    assert found.network.log_likelihood(rows) == pytest.approx(found.rounds[-1].log_likelihood, abs=1e-2)


@pytest.mark.parametrize("seed", range(4))
def test_under_the_second_rule_the_last_score_is_the_highest(seed: int) -> None:
    network = lac.random_network(lac.random_dag(7, 0.4, states=(2, 3), rng=seed), lac.Dirichlet(0.4), seed)
    table = lac.make_holes(network.sample(300, rng=seed), 0.3, rng=seed)
    done = structural_em(table, structure_prior=None)
    scores = [each.cheeseman_stutz for each in done.rounds]
    assert done.converged
    assert done.score > scores[0]
    assert done.score >= scores[1]
    assert done.score == pytest.approx(max(scores), abs=1e-3)


def test_an_unchanged_graph_forces_em_to_converge(rows: Table) -> None:
    """TMCH98, note 4."""
    *_, before, last = structural_em(rows, escapes=0).rounds
    assert (before.changed, before.forced) == (False, False)
    assert (last.changed, last.forced) == (False, True)
    sure = structural_em(rows, schedule="((EM)* Ec S* M)*", escapes=0)
    assert not any(each.forced for each in sure.rounds)
    assert not sure.rounds[-1].changed


def test_the_first_rule_stops_when_the_graph_stays(rows: Table) -> None:
    done = structural_em(rows, until="structure")
    assert done.converged
    assert not done.rounds[-1].changed
    assert str(done.dag) == done.rounds[-1].arrows


def test_moves_can_be_counted() -> None:
    rows = lac.make_holes(lac.asia().sample(400, rng=1), 0.35, rng=1)
    schedule = "((EM)^{1,10} Ec S^{1,2} M)^2 (EM)^2 Ec S* M"
    done = structural_em(rows, schedule=schedule, escapes=0, structure_prior=None)
    assert [each.moves for each in done.rounds[:3]] == [0, 1, 2]
    assert len(done.rounds) == 4
    assert len(done.path) == sum(each.moves for each in done.rounds)


def test_a_known_graph_is_found_in_spite_of_holes() -> None:
    dag = lac.dag("A -> C <- B; C -> D", states=2)
    tables: dict[str, Any] = {
        "A": [0.5, 0.5],
        "B": [0.4, 0.6],
        "C": [[[0.95, 0.05], [0.4, 0.6]], [[0.35, 0.65], [0.1, 0.9]]],
        "D": [[0.85, 0.15], [0.1, 0.9]],
    }
    network = lac.Network.from_tables(dag, tables)
    table = lac.make_holes(network.sample(2000, rng=0), 0.3, rng=0)
    done = structural_em(table, method="exact")  # a greedy search ends with a wrong collider, holes or not
    assert lac.structural_hamming_distance(done.dag, dag) == 0
    assert set(done.strengths) == set(done.dag.arcs)
    assert min(done.strengths.values()) > 10


def test_what_is_required_and_forbidden_holds(rows: Table) -> None:
    done = structural_em(
        rows, required="asia -> dysp", forbidden="lung -> smoke; smoke -> lung", max_parents=1
    )
    assert ("asia", "dysp") in done.dag.arcs
    assert not {("lung", "smoke"), ("smoke", "lung")} & set(done.dag.arcs)
    assert max(map(len, done.dag.parents)) == 1


def stop_at(call: int, kept: list[Trail]) -> Any:
    """Return a watch that says stop when it is called for that time."""
    calls = [0]

    def watch(progress: SearchProgress) -> bool:
        calls[0] += 1
        kept.append(progress.trail())
        return calls[0] == call

    return watch


def test_escapes_lead_to_a_higher_score(rows: Table) -> None:
    how: dict[str, Any] = {"method": "greedy", "structure_prior": None}
    found, plain = (structural_em(rows, escapes=most, **how) for most in (None, 0))
    first = len(plain.rounds)
    assert found.rounds[:first] == plain.rounds
    assert found.rounds[first].escape
    assert found.rounds[first].arcs > plain.rounds[-1].arcs
    assert found.score > plain.score
    assert found.score == pytest.approx(max(each.cheeseman_stutz for each in found.rounds), abs=1e-3)
    with pytest.raises(ParameterError, match="escapes"):
        structural_em(rows, escapes=-1)


@pytest.mark.parametrize("call", [1, 3, 8, 13, 14, 15, 17])
def test_a_run_that_was_stopped_goes_on_to_the_same_end(
    call: int, rows: Table, found: StructuralResult, tmp_path: Path
) -> None:
    kept: list[Trail] = []
    part = structural_em(rows, watch=stop_at(call, kept))
    assert part.interrupted
    assert len(part.rounds) <= len(found.rounds)
    lac.save(kept[-1], tmp_path / "run.json")
    again = structural_em(rows, start=lac.load(tmp_path / "run.json"))
    assert again.rounds == found.rounds
    assert again.path == found.path
    assert again.dag == found.dag
    assert np.array_equal(again.network.theta, found.network.theta)


KILLED = f"""
import os, signal, sys
import lacunary as lac
from lacunary.structure.structural_em import structural_em
rows = lac.make_holes(lac.asia().sample(400, rng=1).select({COLUMNS}), 0.35, rng=1)
write, calls = lac.Checkpoint(sys.argv[1], seconds=0.0), 0
def watch(progress):
    global calls
    write(progress)
    calls += 1
    if calls == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
structural_em(rows, watch=watch)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal")
def test_a_run_that_was_killed_goes_on_to_the_same_end(
    rows: Table, found: StructuralResult, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), "11"], check=False)
    assert done.returncode == -9
    again = lac.search(rows, start=lac.load(path))
    assert isinstance(again, StructuralResult)
    assert again.rounds == found.rounds
    assert again.dag == found.dag


def test_a_finished_run_has_nothing_left_to_do(rows: Table, found: StructuralResult) -> None:
    kept: list[Trail] = []
    structural_em(rows, watch=stop_at(-1, kept))
    assert structural_em(rows, start=kept[-1]).rounds == found.rounds


def test_a_run_goes_on_only_with_its_own_schedule(rows: Table) -> None:
    kept: list[Trail] = []
    structural_em(rows, watch=stop_at(1, kept))
    with pytest.raises(ParameterError, match="schedule"):
        structural_em(rows, start=kept[0], schedule="((EM)* Ec S* M)*")
    with pytest.raises(ParameterError, match="one number of states"):
        structural_em(rows, start=kept[0], hidden={"H": [1, 2]})


def test_a_damaged_run_and_other_rows_are_refused(rows: Table) -> None:
    kept: list[Trail] = []
    structural_em(rows, watch=stop_at(1, kept))
    whole: Any = kept[0].memory
    for memory in (
        {},
        {**whole, "visits": [0]},
        {**whole, "rounds": [["a"]]},
        {**whole, "rounds": []},
        {**whole, "best": None},
        {**whole, "seed": 1e400},
        {**whole, "now": {"models": [], "structures": []}},
    ):
        with pytest.raises(FileError, match="this checkpoint is damaged"):
            structural_em(rows, start=replace(kept[0], memory=memory))
    with pytest.raises(ParameterError, match=r"rows were 400 .*, and are 300 "):
        structural_em(rows.take(slice(0, 300)), start=kept[0])
    with pytest.raises(ParameterError, match="method was"):
        structural_em(rows, start=kept[0], method="tabu")
    with pytest.raises(ParameterError, match="is 'greedy', of a table without holes"):
        structural_em(rows, start=replace(kept[0], method="greedy"))


def test_bad_input(rows: Table) -> None:
    with pytest.raises(ParameterError, match="character 4"):
        structural_em(rows, schedule="((EX)* Ec S* M)*")
    with pytest.raises(ParameterError, match="until"):
        structural_em(rows, until="tea")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="start"):
        structural_em(rows, start="bush")
    with pytest.raises(ParameterError, match="score"):
        structural_em(rows, score="bge")
    with pytest.raises(ParameterError, match="k2 has its own prior"):
        structural_em(rows, score="k2", prior=lac.bdeu(2))
    with pytest.raises(TableError, match="no rows"):
        structural_em(rows.take(slice(0, 0)))
    with pytest.raises(SchemaError, match="nothing is observed of asia"):
        structural_em(lac.hide(rows, ["asia"]).align(rows.schema.reveal()))
