"""Islands, their tables and the counts read off them, beside sets of variables and enumeration."""

from __future__ import annotations

import math
from collections.abc import Set
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.infer.island_chart import find_islands
from lacunary.infer.islands import Islands, chart
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from tests import naive

TOLERANCE = 1e-10
"""Products and sums of some hundred numbers near one."""


def components(dag: Dag, among: Set[int]) -> set[frozenset[int]]:
    """What hangs together in the moral graph, of these variables alone."""
    found = [{v} for v in among]
    for family in dag.layout.members:
        here = set(family) & among
        joined = [one for one in found if one & here]
        if joined:
            found = [one for one in found if not one & here] + [set().union(*joined)]
    return set(map(frozenset, found))


def cost(dag: Dag, island: Set[int], cut: int) -> int:
    """States of a variable times configurations of the largest piece that is left without it."""
    sizes = dag.schema.sizes
    pieces = components(dag, island - {cut})
    return sizes[cut] * max((math.prod(sizes[v] for v in piece) for piece in pieces), default=1)


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 8, 40]), st.sampled_from([20, 10**9]))
@settings(max_examples=50, deadline=None)
def test_chart_islands(seed: int, cap: int, limit: int) -> None:
    rng = np.random.default_rng(seed)
    dag = lac.random_dag(8, 0.3, 3, states=(2, 3), rng=seed)
    patterns = rng.random((4, 8)) < 0.7
    (island_start, part_start, member_start, member), log_size, tree = find_islands(dag, patterns, cap, limit)
    sizes = np.array(dag.schema.sizes)
    parts = [member[a:b].tolist() for a, b in pairwise(member_start.tolist())]
    np.testing.assert_allclose(log_size, [math.log(math.prod(sizes[part])) for part in parts], atol=1e-12)
    for p, pattern in enumerate(patterns):
        islands = range(island_start[p], island_start[p + 1])
        split = [parts[part_start[i] : part_start[i + 1]] for i in islands]
        whole = [frozenset(v for part in one for v in part) for one in split]
        assert set(whole) == components(dag, set(np.flatnonzero(pattern).tolist()))
        numbered = [int(tree[i]) for i in islands if tree[i] >= 0]
        assert numbered == list(range(len(numbered)))
        for i, (cut, *rest), variables in zip(islands, split, whole, strict=True):
            if tree[i] >= 0:
                assert (cut, len(rest)) == ([], 1)
                continue
            # Without the cut the island falls into its parts, none of several variables too large.
            assert set(map(frozenset, rest)) == components(dag, variables - set(cut))
            assert all(len(part) == 1 or math.prod(sizes[part]) <= cap for part in rest)
            if cut:  # the first cut is the best there is, and the last was needed
                costs = {v: cost(dag, variables, v) for v in variables}
                assert costs[cut[0]] <= min(costs.values()) * (1 + 1e-9)
                before = components(dag, variables - set(cut[:-1]))
                assert any(len(one) > 1 and math.prod(sizes[list(one)]) > cap for one in before)
                assert math.prod(sizes[cut]) * (1 + sum(math.prod(sizes[r]) for r in rest)) <= limit * 1.001


@pytest.fixture(scope="module")
def holey() -> tuple[Network, Table]:
    network = lac.random_network(lac.dag("A B -> C; C -> D E; E F -> G", states=2), rng=3)
    codes = np.array(network.sample(12, rng=1).codes)
    codes[np.random.default_rng(5).random(codes.shape) < 0.6] = HOLE
    return network, Table(network.dag.schema, codes, weights=np.arange(1.0, 13.0))


@pytest.mark.parametrize("cap", [1, 4, 128])
def test_fill_tables(holey: tuple[Network, Table], cap: int) -> None:
    """Cut times parts is the posterior of an island's members; shares are the posterior of each."""
    network, table = holey
    islands = chart(network.dag, table.codes, cap=cap, limit=10**9).under(network.theta, table.weights)
    laid, rows, names = islands.charted.chart, islands.charted.rows, network.dag.names
    for r, row in enumerate(rows.codes.tolist()):
        p = rows.pattern[r]
        for i in range(laid.island_start[p], laid.island_start[p + 1]):
            parts = range(laid.part_start[i], laid.part_start[i + 1])
            members = [laid.member[laid.member_start[q] : laid.member_start[q + 1]].tolist() for q in parts]
            every = [v for part in members for v in part]
            wanted = naive.posterior(network, row, [names[v] for v in every])
            found = np.empty_like(wanted)
            start = rows.table_start[r] + laid.table_at[i]
            for states in product(range(2), repeat=len(every)):
                at = dict(zip(every, states, strict=True))
                numbers = [int("0" + "".join(str(at[v]) for v in part), 2) for part in members]
                place = start + laid.size[parts[0]] + numbers[0] * laid.block[i]
                found[states] = islands.table[start + numbers[0]]
                for q, number in zip(parts[1:], numbers[1:], strict=True):
                    found[states] *= islands.table[place + number]
                    place += laid.size[q]
            np.testing.assert_allclose(found, wanted, atol=TOLERANCE)
            for m in range(laid.member_start[parts[0]], laid.member_start[parts[-1] + 1]):
                at_share = rows.share_start[r] + laid.share_at[m]
                share = islands.share[at_share : at_share + 2]
                alone = naive.posterior(network, row, [names[laid.member[m]]])
                np.testing.assert_allclose(share, alone, atol=TOLERANCE)


@pytest.mark.parametrize(("cap", "limit"), [(1, 1), (4, 10**9), (128, 10**9)])
@pytest.mark.parametrize("members", [[2], [0, 3], [6, 1, 4]])
def test_count_families(holey: tuple[Network, Table], cap: int, limit: int, members: list[int]) -> None:
    network, table = holey
    charted = chart(network.dag, table.codes, cap=cap, limit=limit)
    islands: Islands = charted.under(network.theta, table.weights)
    found, column = islands.counts_with_others(members), islands.column
    alone = naive.joint_counts(network, table, members)
    np.testing.assert_allclose(found[:, -1], alone.ravel(), atol=TOLERANCE * 78)  # the weights sum to 78
    for v in set(range(7)) - set(members):
        wanted = naive.joint_counts(network, table, [*members, v]).reshape(-1, 2)
        np.testing.assert_allclose(found[:, column[v] : column[v] + 2], wanted, atol=TOLERANCE * 78)
