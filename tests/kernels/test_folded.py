"""Cells in few bytes are the same cells when they are laid out in full."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.infer import pack as packing
from lacunary.infer.engine import DiscreteRows, prepare_discrete
from lacunary.infer.network import random_network
from lacunary.kernels import folded

GRAPH = "A -> B C; B C -> D; A D -> E; B E -> F; C F -> G"


def prepared(monkeypatch: pytest.MonkeyPatch, network: lac.Network, *, few: bool) -> DiscreteRows:
    """The same rows with cells in few bytes wherever that is possible, or nowhere."""
    codes = np.array(network.sample(300, rng=2).codes)
    codes[np.random.default_rng(3).random(codes.shape) < 0.5] = HOLE
    monkeypatch.setattr(packing, "MANY_CELLS", 0 if few else 10**9)
    monkeypatch.setattr(packing, "LARGE", 0)
    return prepare_discrete(copy.deepcopy(network.dag), Table(network.dag.schema, codes))


@pytest.mark.parametrize("states", [2, 5])
def test_the_same_cells(monkeypatch: pytest.MonkeyPatch, states: int) -> None:
    """Bit by bit, and so all that is made of them; with five states some cells are large."""
    network = random_network(lac.dag(GRAPH, states=dict.fromkeys("ABCDEFG", states)), rng=1)
    few, full = (prepared(monkeypatch, network, few=which) for which in (True, False))
    assert len(few.packed.chunks) == len(full.packed.chunks)
    for one, other in zip(few.packed.chunks, full.packed.chunks, strict=True):
        assert (one.folded, other.folded) == (True, False)
        for a, b in zip((*one.slab, *one.spots), (*other.slab, *other.spots), strict=True):
            np.testing.assert_array_equal(a, b, strict=True)
        assert one.cells.nbytes < 0.6 * other.cells.nbytes  # half of what is kept, and more is left out
    theta = network.theta[None]
    for rows in (few, pickle.loads(pickle.dumps(few))):
        assert rows.expect(theta).counts.tobytes() == full.expect(theta).counts.tobytes()
        assert rows.log_evidence(theta).tobytes() == full.log_evidence(theta).tobytes()
    weights = np.random.default_rng(4).random(300)
    twice = [rows.weighed(weights).expect(theta).counts.tobytes() for rows in (few, full)]
    assert twice[0] == twice[1]


@pytest.mark.parametrize("limit", ["MOST", "FEW"])
def test_what_is_too_long_stays_as_it_is(monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    """Where a number would not fit into its bytes nothing is folded."""
    network = random_network(lac.dag(GRAPH), rng=1)
    monkeypatch.setattr(folded, limit, 1)
    rows = prepared(monkeypatch, network, few=True)
    assert not any(chunk.folded for chunk in rows.packed.chunks)


def test_small_tables_stay_as_they_are() -> None:
    """Their sweeps take less time than to lay cells out."""
    rows = prepare_discrete(lac.asia().dag, lac.make_holes(lac.asia().sample(200, rng=1), 0.3, rng=2))
    assert not any(chunk.folded for chunk in rows.packed.chunks)
