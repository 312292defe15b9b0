"""What evidence leaves of tables beside every cell gone through; answers do not depend on the past."""

from __future__ import annotations

import copy
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacunary as lac
from lacunary.infer.asking import Eliminator
from lacunary.kernels import slices
from lacunary.kernels.orders import OPEN, SOFT

TINY = 5e-324
"""The smallest number above zero that there is."""


@given(st.data())
def test_a_slice_is_what_agrees_with_the_evidence(data: st.DataObject) -> None:
    """Found out again and again, until all of the table is known; every number is looked at by its index."""
    network = lac.random_network(lac.dag("A B C -> D", states={"A": 2, "B": 3, "C": 2, "D": 4}), rng=0)
    theta, dag = np.array(network.theta), network.dag
    numbers = st.sampled_from([0.0, TINY, 1e-200, 0.25, 1.0])
    theta[dag.layout.slice(3)] = data.draw(st.lists(numbers, min_size=48, max_size=48))
    table = dag.layout.table(theta, 3)  # by A, B, C and D
    asked = Eliminator(lac.Network(dag, theta))
    for _ in range(4):
        codes = np.array([data.draw(st.sampled_from([OPEN, SOFT, *range(n)])) for n in dag.schema.sizes])
        axes = [range(n) if code < 0 else [code] for n, code in zip(dag.schema.sizes, codes, strict=True)]
        part = [table[where] for where in product(*axes)]
        wanted = np.log(min((p for p in part if p > 0), default=1.0))
        member_at, member, stride, start, sizes = asked.families.families
        assert slices.cells(3, member_at, member, sizes, codes) == len(part)
        told: Any = (asked.tables.values, asked.tables.least, asked.tables.zero)
        low, zero = slices.look(3, member_at, member, stride, start, sizes, codes, *told)
        assert low == wanted
        assert zero == (0.0 in part)
        if not np.isnan(asked.tables.least[3]):
            assert asked.tables.least[3] == np.log(table[table > 0].min(initial=1.0))
            assert asked.tables.zero[3] == (table == 0).any()


def test_all_of_a_table_is_known_once_as_much_was_looked_at() -> None:
    network = lac.random_network(lac.dag("A -> B", states=4), rng=0)
    asked = Eliminator(network)
    for state in range(4):
        assert np.isnan(asked.tables.least[1])
        network.query("A", given={"B": state})
    assert not np.isnan(asked.tables.least[1])


@pytest.mark.parametrize("tiny", [1e-130, 1e-60])
def test_answers_do_not_depend_on_questions_before(tiny: float) -> None:
    """Products of whole tables may be too small for doubles where those of what is seen are not, or are."""
    table = [[1.0 - tiny, tiny, 0.0], [0.5, 0.25, 0.25], [0.3, 0.0, 0.7]]
    graph = lac.dag("H -> a b c d e f; g -> h", states=3)
    leaves: dict[str, Any] = dict.fromkeys("abcdef", table)
    network = lac.Network.from_tables(
        graph, leaves | {"H": [0.2, 0.3, 0.5], "g": [0.1, 0.2, 0.7], "h": table}
    )
    rng, used = np.random.default_rng(1), copy.deepcopy(network)
    for _ in range(60):
        known = {name: int(rng.integers(3)) for name in "abcdefgh" if rng.random() < 0.8}
        if known.get("g") == 0 and known.get("h") == 2:  # which cannot be
            del known["h"]
        if known.get("g") == 2 and known.get("h") == 1:
            del known["h"]
        fresh = lac.Network(lac.Dag(graph.schema, graph.parents), network.theta.copy())
        found = []
        for one in (fresh, used):
            try:
                found.append(one.query("H", given=known).probabilities.tolist())
            except lac.ImpossibleRowError:
                found.append(None)
        assert found[0] == found[1]
