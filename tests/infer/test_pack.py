"""What may be packed, what is refused, and what is counted but once."""

from __future__ import annotations

import copy
import math
import time
import tracemalloc
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.budget import said
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.errors import TooWideError
from lacunary.infer import pack as packing
from lacunary.infer.engine import prepare_discrete as prepare
from lacunary.infer.network import Network, random_network
from lacunary.infer.pack import pack
from lacunary.model.dag import Dag
from lacunary.model.make import random_dag
from tests import naive


def joined(hidden: int) -> tuple[Dag, Table]:
    """Hidden binary causes, each two with an observed effect in common: one clique of them all."""
    causes = [f"H{i}" for i in range(hidden)]
    pairs = list(combinations(causes, 2))
    effects = [f"{one}{two}" for one, two in pairs]
    schema = Schema(
        (*(Variable(c, (0, 1), hidden=True) for c in causes), *(Variable(e, (0, 1)) for e in effects))
    )
    graph = Dag.from_parents(schema, dict(zip(effects, pairs, strict=True)))
    row = np.array([[HOLE] * hidden + [0] * len(effects)], dtype=np.int8)
    return graph, Table(schema, row)


@pytest.mark.parametrize(("hidden", "needed"), [(40, 2.0**40 * 8), (70, 2.0**70 * 8)])
def test_a_clique_that_is_too_wide_is_refused_before_it_is_allocated(hidden: int, needed: float) -> None:
    """Eight bytes a configuration, as one parameter vector needs."""
    graph, table = joined(hidden)
    tracemalloc.start()
    with pytest.raises(TooWideError) as refused:
        prepare(graph, table, budget=4 * 10**9)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    message = str(refused.value)
    assert f"about {said(needed)}, more than the 4 GB allowed" in message
    assert f"{hidden} variables are open together" in message
    assert f"(H{hidden - 1}, " in message or "(H0, " in message
    assert peak < 100e6


def test_the_budget_can_be_set() -> None:
    graph, table = joined(12)
    prepare(graph, table)
    with pytest.raises(TooWideError, match=r"about 32.8 kB"):  # 2¹² · 8 bytes
        prepare(graph, table, budget=2**12 * 8 - 1)


def test_many_cliques_are_refused_together() -> None:
    """Each is small, but a row needs all of them at once: 200 cliques of 2⁹ configurations, 8 bytes each."""
    names = [f"X{i}" for i in range(208)]
    schema = Schema(tuple(Variable(name, (0, 1)) for name in names))
    graph = Dag.from_parents(schema, {name: names[max(i - 8, 0) : i] for i, name in enumerate(names)})
    table = Table(schema, np.full((1, len(names)), HOLE, dtype=np.int8))
    prepare(graph, table)
    with pytest.raises(TooWideError):
        prepare(graph, table, budget=200 * 2**9 * 8)


def test_observed_variables_do_not_widen_a_clique() -> None:
    """The same graph, too wide if all causes are hidden, is nothing but constants once they are observed."""
    graph, table = joined(40)
    packed = pack(graph, np.zeros_like(table.codes), np.ones(1))
    assert packed.constant.sum() == len(graph.names)
    assert all(len(chunk.slab.kind) == 0 for chunk in packed.chunks)


def test_cliques_of_any_width_if_few_are_open_in_a_row() -> None:
    """Every cause is open in some row, which joins all 70; but no row leaves more than four open."""
    graph, table = joined(70)
    network, rng = random_network(graph, rng=1), np.random.default_rng(2)
    codes = rng.integers(0, 2, size=(140, table.codes.shape[1])).astype(np.int8)
    for row, holes in enumerate(rng.permuted(np.tile(np.arange(70), (140, 1)), axis=1)[:, :3]):
        codes[row, holes] = HOLE
    codes[:70][np.eye(70, codes.shape[1], dtype=bool)] = HOLE
    few = [0, 77, 139]
    found = prepare(graph, Table(graph.schema, codes)).log_evidence(network.theta[None])[0, few]
    wanted = [log_evidence(network, codes[row].tolist()) for row in few]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)  # sums of 2 485 logs


def log_evidence(network: Network, row: list[int]) -> float:
    """By enumeration of the holes, in logarithms."""
    holes, index = [i for i, code in enumerate(row) if code == HOLE], network.dag.schema.index
    logs = []
    for states in product((0, 1), repeat=len(holes)):
        full = dict(enumerate(row)) | dict(zip(holes, states, strict=True))
        log = 0.0
        for i, name in enumerate(network.dag.names):
            log += math.log(network.table(name)[*(full[index(p)] for p in network.dag.parents[i]), full[i]])
        logs.append(log)
    return naive.log_sum(logs)


def test_rows_that_are_alike_are_packed_once() -> None:
    graph = random_dag(10, 0.3, max_parents=3, states=2, rng=1)
    codes = np.random.default_rng(0).integers(-1, 2, size=(3, 10)).astype(np.int8)
    table = Table(graph.schema, np.tile(codes, (1000, 1)))
    prepared = prepare(graph, table)
    assert len(prepared.packed.codes) == 3
    assert prepared.packed.weights.tolist() == [1000.0] * 3
    assert prepared.log_evidence(random_network(graph).theta[None]).shape == (1, 3000)


def test_packing_is_linear_in_the_number_of_children() -> None:
    """20 000 children of a hidden root: what is quadratic would take minutes."""
    names = [f"X{i}" for i in range(20_000)]
    schema = Schema((Variable("H", (0, 1), hidden=True), *(Variable(name, (0, 1)) for name in names)))
    graph = Dag.from_parents(schema, dict.fromkeys(names, ("H",)))
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, size=(4, len(schema)))
    codes[rng.random(codes.shape) < 0.3] = HOLE
    codes[:, 0] = HOLE
    start = time.process_time()
    prepare(graph, Table(schema, codes.astype(np.int8)))
    assert time.process_time() - start < 20


def test_the_recipe_that_a_graph_keeps_is_that_of_its_rows() -> None:
    """Rows that open other variables, or are asked otherwise, are laid out as for a graph of its own."""
    network = lac.asia()
    tables = [
        lac.make_holes(network.sample(60, rng=k), share, rng=k) for k, share in enumerate([0.3, 0.0, 0.05])
    ]
    asked: list[dict[str, Any]] = [{}, {"targets": [(1, 2)]}, {"whole": True}, {}]
    for table in (*tables, tables[0]):
        for how in asked:
            kept = pack(network.dag, table.codes, table.weights, **how)
            alone = pack(copy.deepcopy(network.dag), table.codes, table.weights, **how)
            for one, other in zip(kept.chunks, alone.chunks, strict=True):
                assert np.array_equal(one.kinds_arena, other.kinds_arena)
                assert np.array_equal(one.arena, other.arena)
            assert np.array_equal(kept.counted, alone.counted)
            assert pack(network.dag, table.codes, table.weights, **how).recipe.ground is kept.recipe.ground


def test_rows_are_divided_in_runs_as_they_are_together(monkeypatch: pytest.MonkeyPatch) -> None:
    network = lac.alarm()
    table = lac.make_holes(network.sample(300, rng=1), 0.4, rng=2)
    recipe = pack(network.dag, table.codes, table.weights).recipe
    together: Any = recipe.divided(table.codes)
    for run in (1, 7, 299):
        monkeypatch.setattr(packing, "RUN", run)
        found: Any = recipe.divided(table.codes)
        for one, other in zip(found, together, strict=True):
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)
