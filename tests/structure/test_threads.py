"""Searches on several threads: the same bits, whoever scores which family."""

from __future__ import annotations

from functools import partial
from threading import get_ident
from typing import Literal

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import Table
from lacunary.infer import gaussian, islands, parallel
from lacunary.infer.engine import prepare_discrete
from lacunary.mixture import learner
from lacunary.mixture.engine import engine_of
from lacunary.mixture.learner import MixtureLearner
from lacunary.structure import board, counter, networks
from lacunary.structure.cache import Cache
from lacunary.structure.discrete import BD, BIC
from lacunary.structure.expected import ExpectedCounts
from lacunary.structure.walk import dag_of

THREADS = (1, 2, 4)


@pytest.fixture(autouse=True)
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Share the least work among threads."""
    for where, name, least in (
        (parallel, "WORTH", 1e-12),
        (islands, "ROWS_AT_ONCE", 16),
        (gaussian, "ALONE", 0),
        (gaussian, "TASK", 64),
        (learner, "SHARED", 0.0),
        (board, "APART", 0.0),
        (networks, "CELL", 1.0),
    ):
        monkeypatch.setattr(where, name, least)


@pytest.mark.parametrize("bits", [False, True])
@pytest.mark.parametrize("weights", ["one", "whole", "any"])
def test_families_of_a_complete_table(bits: bool, weights: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With weights that are no whole numbers, sums depend on their order."""
    monkeypatch.setattr(counter, "WORD", 0.0 if bits else 1e9)
    table, rng = lac.asia().sample(300, rng=0), np.random.default_rng(1)
    drawn = {"one": np.ones(300), "whole": rng.integers(0, 5, 300).astype(float), "any": rng.random(300)}
    table = Table(table.schema, table.codes, table.reals, drawn[weights])
    found = []
    for many in THREADS:
        with lac.threads(many):
            scores = BD(table), BIC(table)
            found.append([score.terms(c, (p,)) for score in scores for c in range(8) for p in {0, 5} - {c}])
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


def test_families_of_a_table_with_holes() -> None:
    network = lac.asia()
    table = lac.make_holes(network.sample(150, rng=0), 0.2, rng=1)
    known = prepare_discrete(network.dag, table).families(np.array(network.theta))
    assert known.distinct > 3 * islands.ROWS_AT_ONCE
    families = [(0, (1, 4)), (2, (4, 7)), (5, (1, 6)), (6, ())]
    found = []
    for many in THREADS:
        with lac.threads(many):
            score = ExpectedCounts(known)
            store = Cache(score)
            store.fetch(families, toggled=True)
            found.append([np.append(store.toggled(*one), store.family(*one)) for one in families])
            assert [store.family(*one) for one in families] == [score.family(*one) for one in families]
    for other in found[1:]:
        np.testing.assert_array_equal(other, found[0])


@pytest.mark.parametrize("criterion", ["bd", "bic"])
def test_families_are_scored_alike_together_alone_and_from_their_counts(
    criterion: Literal["bd", "bic"],
) -> None:
    """One kernel counts and scores many; the other way has the counts first, whose rows threads share."""
    network = lac.asia()
    table = lac.make_holes(network.sample(150, rng=0), 0.2, rng=1)
    score = ExpectedCounts(prepare_discrete(network.dag, table).families(np.array(network.theta)), criterion)
    families = [(child, tuple(p for p in (1, 4, 6) if p != child)) for child in range(8)] + [(3, ())]
    for many in THREADS:
        with lac.threads(many):
            together = score.several(families)
            alone = [score.several([one])[0] for one in families]
            by_counts = [score._terms(*one) for one in families]
        np.testing.assert_array_equal(together, by_counts)
        np.testing.assert_array_equal(alone, by_counts)


def test_statistics_of_graphs_are_the_same_whatever_was_asked_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """What graphs have in common is kept, until there is too much of it."""
    network = lac.asia()
    table = lac.make_holes(network.sample(150, rng=0), 0.2, rng=1)
    rows = prepare_discrete(network.dag, table)
    other = lac.random_dag(8, 0.3, 2, rng=1).parent_indices
    graphs = [network.dag, dag_of(network.dag.schema, other), network.dag]
    found = []
    for many in THREADS:
        for room in (10**6, 30):
            monkeypatch.setattr(islands, "ROOM", room)
            with lac.threads(many):
                known = rows.families(np.array(network.theta))
                found.append([known.statistics(graph) for graph in graphs])
                assert sum(counts.size for counts in known._known.values()) <= max(room, 80)
    fresh = [rows.families(np.array(network.theta)).statistics(graph) for graph in graphs]
    for each in found:
        for one, wanted in zip(each, fresh, strict=True):
            np.testing.assert_array_equal(one, wanted)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_a_search_goes_the_same_way(share: float) -> None:
    table = lac.random_network(lac.dag("a -> b -> c; a -> d"), rng=1).sample(150, rng=2)
    table = lac.make_holes(table, share, rng=3) if share else table
    found = []
    for many in THREADS:
        with lac.threads(many):
            one = lac.search(table, method="greedy")
        found.append((one.dag, one.path, one.score, one.strengths, one.network.theta.tobytes()))
    assert found[1:] == found[:1] * (len(THREADS) - 1)


@pytest.mark.parametrize(("rows", "share"), [(500, 0.0), (60, 0.05)])
def test_variables_are_put_back_at_once_as_one_by_one(rows: int, share: float) -> None:
    """Trials behind one that found a better graph are made again; the path has every move of the others."""
    network = lac.alarm() if not share else lac.asia()
    table = network.sample(rows, rng=2)
    table = lac.make_holes(table, share, rng=3) if share else table
    found = []
    for many in THREADS:
        with lac.threads(many):
            one = lac.search(table, method="reinsert")
        found.append((one.dag, one.path, one.score, one.network.theta.tobytes()))
    assert found[1:] == found[:1] * (len(THREADS) - 1)


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_steps_of_a_mixture(share: float) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(100, 3)), 2.0 + rng.normal(size=(100, 3)) @ rng.normal(size=(3, 3))])
    x[rng.random(x.shape) < share] = np.nan
    mixture, structures = MixtureLearner(engine_of(lac.read(x), None)), (((), (0,), (0, 1)),) * 2
    found = []
    for many in THREADS:
        with lac.threads(many):
            model = mixture.begin(structures, 20.0, np.random.default_rng(1))
            for _ in range(3):
                completed = mixture.expect(model)
                model = mixture.maximize(completed, structures)
        found.append((completed.log_likelihood, model.models.root.tobytes(), model.weights.tobytes()))
    assert found[1:] == found[:1] * (len(THREADS) - 1)


@pytest.mark.parametrize("structure", ["complete", "tree", "learn"])
def test_mixtures_whose_entrants_climb_at_once(structure: str) -> None:
    rng = np.random.default_rng(0)
    blobs = np.concatenate([rng.normal(2.0 * c, 1.0, (60, 3)) @ rng.normal(size=(3, 3)) for c in range(2)])
    blobs[rng.random(blobs.shape) < 0.1] = np.nan
    found = []
    for many in THREADS:
        with lac.threads(many):
            fit = lac.fit_mixture(blobs, components=[1, 2], structure=structure)
            found.append((fit.chosen.value, [(t.how, t.value, len(t.ticks)) for t in fit.path]))
    assert found[1] == found[0]
    assert found[2] == found[0]


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_mixtures_of_discrete_columns(share: float) -> None:
    rng = np.random.default_rng(0)
    of = rng.integers(2, size=200)
    columns = {f"x{i}": np.array(list("abc"))[(rng.random(200) * (1 + of * 2)).astype(int)] for i in range(4)}
    table = lac.read(columns)
    table = lac.make_holes(table, share, rng=1) if share else table
    found = []
    for many in THREADS:
        with lac.threads(many):
            fit = lac.fit_mixture(table, components=[1, 2])
            found.append((fit.chosen.value, [(t.how, t.value, len(t.ticks)) for t in fit.path]))
    assert found[1:] == found[:1] * (len(THREADS) - 1)


@pytest.mark.parametrize("kind", ["continuous", "discrete"])
def test_annealing(kind: str) -> None:
    """Chains have streams of their own, and whoever watches is told between them."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(4.0 * c, 1.0, (25, 2)) for c in range(2)])
    table = x if kind == "continuous" else {"a": (x[:, 0] > 2).astype(str), "b": (x[:, 1] > 1).astype(str)}
    found = []
    for many in THREADS:
        told: list[str] = []
        with lac.threads(many):
            fit = lac.fit_mixture(
                table,
                components=2,
                structure="empty",
                choose="ais",
                watch=partial(_told, told),
            )
        found.append([(t.how, t.value, t.estimate.error) for t in fit.path])
        assert told.count("anneal") >= 16 // many  # sixteen chains, of which each thread has one
    assert found[1:] == found[:1] * (len(THREADS) - 1)


def _told(phases: list[str], progress: lac.MixtureProgress) -> None:
    phases.append(progress.tick.phase)


def test_who_watches_a_mixture_is_told_in_the_thread_that_asks() -> None:
    rng = np.random.default_rng(0)
    blobs = np.concatenate([rng.normal(3.0 * c, 1.0, (60, 3)) for c in range(2)])
    told: list[int] = []
    with lac.threads(2):
        quiet = lac.fit_mixture(blobs, components=[1, 2])
        seen = lac.fit_mixture(blobs, components=[1, 2], watch=lambda _: told.append(get_ident()))
    assert set(told) == {get_ident()}
    assert seen.chosen.value == quiet.chosen.value
