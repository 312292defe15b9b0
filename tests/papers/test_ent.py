"""ENT: its experiments do what the registration says, and verdicts follow its rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.papers import Record, Results
from lacunary.papers.ent.experiment import (
    METHODS,
    SETTINGS,
    climb,
    distances,
    draw,
    leaf_distances,
    starting_points,
    table_block,
)
from lacunary.papers.ent.judgement import Cell, rank_verdict
from lacunary.papers.ent.run import EXPERIMENTS, PAPER
from lacunary.papers.ent.small import BN1_MEDIANS, BN2_MEDIANS, bn1_block, bn1_truth, bn2_block
from lacunary.papers.ent.summary import LEAF_TIE, MEDIANS, THREE, median_found
from lacunary.papers.outcome import claims_of

ELSEWHERE = 5_000_000
"""Numbers of experiments that no run uses."""


def test_starts_are_normalised_uniform_entries() -> None:
    graph = lac.asia().dag
    points = starting_points(graph, "uniform", 4000, np.random.default_rng(1))
    theta = np.array([point.theta for point in points])
    sums = np.array([graph.layout.total(row) for row in theta])
    np.testing.assert_allclose(sums, 1.0, rtol=1e-12)
    # u / (u + v) lies below 1/4 where v > 3u: a triangle of area 1/6. A uniform share would be there in 1/4.
    share = (theta < 0.25).mean()
    # 4000 · 18 independent pairs: a standard error of 0.0014; four of them.
    assert share == pytest.approx(1 / 6, abs=0.006)


def test_a_climb_stops_on_the_score_without_constants() -> None:
    _, table, graph, rng = draw("alarm", 100, 0.6, ELSEWHERE)
    found = climb(graph, table, starting_points(graph, "uniform", 8, rng))
    for start in found.starts:
        scores = np.array(start.trace) - found.constant
        steps = np.abs(np.diff(scores)) / np.abs(scores[1:])
        assert steps[-1] < 1e-3
        assert (steps[:-1] >= 1e-3).all()
    # With the constant counted in they would have stopped earlier: it is larger than the score here.
    assert abs(found.constant) > np.abs(found.scores).max()


def test_a_block_is_the_experiment_of_section_3() -> None:
    rows, missing = 100, 0.6
    block = table_block("asia", rows, missing, ELSEWHERE, 1)
    truth, table, graph, rng = draw("asia", rows, missing, ELSEWHERE)
    found = climb(graph, table, starting_points(graph, "uniform", 30, rng))
    theta = np.array([start.network.theta for start in found.starts])
    good = found.scores >= found.scores.max() - 0.05 * abs(found.scores.max())
    entropies = np.array([-(row * np.log(row)).sum() for row in theta])
    estimates = [
        lac.Network(graph, theta.mean(axis=0)),
        lac.Network(graph, theta[np.where(good, entropies, -np.inf).argmax()].copy()),
        lac.Network(graph, theta[found.scores.argmax()].copy()),
    ]
    # The block averages by a product of matrices: rounding alone.
    np.testing.assert_allclose(block["joint"][0], distances(truth, estimates), rtol=1e-9)
    leaves = ["xray", "dysp"]
    expected = [lac.marginal_kl(truth, estimate, leaves) for estimate in estimates]
    np.testing.assert_allclose(block["leaf"][0], expected, rtol=1e-9)
    np.testing.assert_allclose(leaf_distances(truth, estimates), expected, rtol=1e-12)


def test_experiments_of_the_full_size_are_all_there_and_do_not_repeat() -> None:
    full = [unit for unit in PAPER.units("full") if unit.function is table_block]
    for network in ("asia", "alarm", "random"):
        for rows, missing in SETTINGS:
            setting = {"network": network, "rows": rows, "missing": missing}
            numbers = [
                unit.arguments["first"] + i
                for unit in full
                if setting.items() <= unit.arguments.items()
                for i in range(unit.arguments["count"])
            ]
            assert sorted(numbers) == list(range(EXPERIMENTS))
    assert {unit.key("1") for unit in PAPER.units("glance")} <= {
        unit.key("1") for unit in PAPER.units("full")
    }


def test_bn1_and_its_global_maximum() -> None:
    block = bn1_block("one", 100, ELSEWHERE, 1)
    assert block["certified"] == [True]
    assert block["gain"][0] >= -1e-9  # a share of the score: nothing scores above the global maximum
    assert 0 < block["missing"][0] <= 1
    # What lies in the tables of A and B is the same for all that EM found, and never negative.
    rest = np.array(block["joint"][0]) - np.array(block["learned"][0])
    assert (rest >= -1e-12).all()


def test_bn2_learns_a_from_complete_rows_alike() -> None:
    block = bn2_block([5, 3, 5], 300, ELSEWHERE, 1)
    rest = np.array(block["joint"][0]) - np.array(block["learned"][0])
    # average, entropy and best have the same p(A): that of the complete column.
    np.testing.assert_allclose(rest[1:], rest[1], rtol=1e-9)


def ordered(*values: float, experiments: int = 120, noise: float = 0.01) -> list[list[float]]:
    """Return experiments in which methods have these values but for a little noise."""
    rng = np.random.default_rng(3)
    noisy = np.array(values) + noise * rng.standard_normal((experiments, len(values)))
    return [list(map(float, line)) for line in noisy]


def cell(*values: float, experiments: int = 120) -> Cell:
    found = Cell.of(ordered(*values, experiments=experiments), METHODS)
    assert found is not None
    return found


def test_rare_truths_give_the_printed_share_of_holes() -> None:
    rng = np.random.default_rng(3)
    for arcs in ("one", "both"):
        shares = [bn1_truth(arcs, rng, rare=True).query("T").probabilities[1] for _ in range(40)]
        # within 10 and 20 %; the mean of forty is within four errors (0.03 / √40) of 15 %, give or take skew
        assert 0.1 < min(shares) < max(shares) < 0.2
        assert np.mean(shares) == pytest.approx(0.15, abs=0.02)


def test_verdicts_on_rankings() -> None:
    assert rank_verdict(cell(1, 2, 3), THREE) == "reproduced"
    assert rank_verdict(cell(2, 1, 3), THREE) == "not"
    assert rank_verdict(cell(1, 2, 3), LEAF_TIE) == "near"
    assert rank_verdict(cell(2, 1, 3), LEAF_TIE) == "near"
    assert rank_verdict(cell(3, 2, 1), LEAF_TIE) == "not"
    barely = Cell(np.array([[1.0, 1.1, 2.0], [1.1, 1.0, 2.0], [1.0, 1.1, 2.0]] * 40), METHODS)
    assert barely.places == (("average", "entropy"), ("best",))
    assert rank_verdict(barely, THREE) == "near"
    assert rank_verdict(barely, LEAF_TIE) == "reproduced"
    few = Cell(barely.values[:30], METHODS)
    assert rank_verdict(few, THREE) == "undecided"
    assert rank_verdict(cell(1, 2, 3, experiments=30), THREE) == "reproduced"
    assert rank_verdict(cell(2, 1, 3, experiments=30), THREE) == "not"


def test_relative_medians_and_their_error() -> None:
    rng = np.random.default_rng(0)
    values = np.exp(rng.standard_normal((400, 3)))
    ratio, error = Cell(values, METHODS).relative("average")
    medians = np.median(values, axis=0)
    assert ratio == medians[0] / medians[2]
    # The median of exp(z) has log-variance π/2 / n; a ratio of two twice that. The bootstrap of a
    # median converges slowly: a quarter either way.
    assert error == pytest.approx(ratio * np.sqrt(np.pi / 400), rel=0.25)


@pytest.mark.parametrize(
    ("printed", "note"),
    [
        (0.6, "The gain is smaller than printed: see here."),
        (0.95, "The gain is greater than printed: see here."),
        (1.5, "The loss is smaller than printed: see here."),
        (0.81, ""),
    ],
)
def test_what_is_far_from_print_is_noted(printed: float, note: str) -> None:
    cell = Cell(np.array(ordered(0.8, 0.9, 1.0)), METHODS)
    assert median_found(cell, "average", printed, "here").note == note


def test_gaps_within_chance_are_not_noted() -> None:
    values = np.exp(np.random.default_rng(0).standard_normal((50, 3)))
    cell = Cell(values, METHODS)
    value, error = cell.relative("average")
    assert error > 0.05
    assert median_found(cell, "average", value - 2 * error).note == ""
    assert median_found(cell, "average", value - 4 * error).note != ""


def test_claims_are_the_printed_numbers() -> None:
    claims = {claim.id: claim for claim in claims_of("ent")[1]}
    for network, metrics in MEDIANS.items():
        for metric, pairs in metrics.items():
            for (rows, missing), pair in zip(SETTINGS, pairs, strict=True):
                for method, printed in zip(METHODS[:2], pair, strict=True):
                    name = f"{network}-{metric}-{rows}-{round(100 * missing)}-{method}"
                    assert claims[name].printed == printed
    for prefix, medians in (("bn1", BN1_MEDIANS), ("bn2", BN2_MEDIANS)):
        for rows, by_method in medians.items():
            for method, printed in by_method.items():
                assert claims[f"{prefix}-{rows}-{method}"].printed == printed


def made_up() -> Results:
    """Return records in which average < entropy < best throughout, by 0.8, 0.9 and 1."""
    records = []

    def add(function: Any, value: Any, **arguments: Any) -> None:
        records.append(Record(function.__name__, arguments, value, 1.0))

    for network in MEDIANS:
        for rows, missing in SETTINGS:
            lines = ordered(0.8, 0.9, 1.0)
            value = {"joint": lines, "leaf": lines, "weighted": [line[0] for line in lines], "iterations": []}
            add(table_block, value, network=network, rows=rows, missing=missing)
    for rows in BN1_MEDIANS:
        lines = ordered(0.3, 0.4, 0.5, 1.0, 1.2)
        extra = {"missing": [0.8] * 120, "gain": [0.025] * 120, "certified": [True] * 120}
        add(bn1_block, {"joint": lines, "learned": lines, **extra}, arcs="one", rows=rows)
    for states, rows in (([5, 3, 5], 300), ([8, 4, 8], 500)):
        lines = ordered(0.7, 0.8, 0.9, 1.0)
        add(bn2_block, {"joint": lines, "learned": lines, "solved": []}, states=states, rows=rows)
    return Results(tuple(records))


def test_outcome_judges_what_is_there() -> None:
    found, claims = PAPER.outcome(made_up()).found, {claim.id for claim in claims_of("ent")[1]}
    assert set(found) <= claims
    assert {name for name in claims if name.endswith("-rank")} <= set(found)
    reproduced = [
        "asia-joint-rank",
        "asia-leaf-rank",
        "random-joint-rank",
        "bn1-100-rank",
        "bn2-500-rank",
        "bn1-worse",
    ]
    assert {found[name].verdict for name in reproduced} == {"reproduced"}
    assert found["alarm-leaf-rank"].verdict == "near"  # print has ties there
    assert found["asia-joint-100-60-average"].value == pytest.approx(0.8, abs=0.01)
    assert found["harder"].verdict == "not"  # the same at every share of missing cells
    assert "figure-1" not in found
    assert PAPER.outcome(Results(())).found == {}
