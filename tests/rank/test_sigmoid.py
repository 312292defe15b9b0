"""The dimension of networks whose graphs say that families are sigmoid (GHM96 section 8)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lacunary.family.sigmoid import Sigmoid
from lacunary.infer.network import Network, random_network
from lacunary.model.dag import Dag
from lacunary.model.make import dag
from lacunary.rank.dimension import dimension

TWO = "H -> A B C D; G -> A B C D"


@pytest.mark.parametrize(
    ("arrows", "hidden", "rank", "parameters"),
    [(TWO, "HG", 14, 14), (f"R -> H G; {TWO}", "RHG", 15, 17), (f"H -> G; {TWO}", "HG", 15, 15)],
)
def test_the_networks_of_ghm96(arrows: str, hidden: str, rank: int, parameters: int) -> None:
    model = dag(arrows, hidden=list(hidden), family="sigmoid")
    found = dimension(model)
    assert (found.rank, found.parameters, model.free) == (rank, parameters, parameters)
    at = dimension(model, at=random_network(model, rng=3))  # at a generic point, in floating point
    assert (at.rank, at.parameters) == (rank, parameters)


def jacobian_rank(model: Dag, network: Network, step: float = 1e-5) -> int:
    """Rank of the derivatives of the observable distribution by the weights, from central differences."""
    families = {
        name: network.sigmoid(name).vector for name in model.names if model.family_of(name) == "sigmoid"
    }
    shown = [name for name in model.names if not model.schema[name].hidden]
    columns = []
    for name, vector in families.items():
        for k in range(len(vector)):
            ends = []
            for sign in (1, -1):
                moved = vector.copy()
                moved[k] += sign * step
                tables: dict[str, Any] = {**network.tables, name: Sigmoid.of(moved)}
                ends.append(Network.from_tables(model, tables).query(*shown).probabilities.ravel())
            columns.append((ends[0] - ends[1]) / (2 * step))
    values = np.linalg.svd(np.array(columns), compute_uv=False)
    # Differences are off by about step² = 1e-10; generic singular values here are above 1e-5.
    return int((values > 1e-8 * values[0]).sum())


@pytest.mark.parametrize("arrows", ["K -> A B C; G -> A B", "K -> G; K -> A B; G -> A B C"])
def test_parents_with_more_states(arrows: str) -> None:
    """The state k of a parent has a weight of its own, k > 0: counted and ranked by differences."""
    everywhere = dict.fromkeys([*"ABC", "G"], "sigmoid")
    model = dag(arrows, states={"K": 3}, hidden=["G"], family=everywhere)
    network = random_network(model, rng=1)
    weights = sum(len(network.sigmoid(name).vector) for name in everywhere)
    found = dimension(model)
    assert found.parameters == model.free == weights + 2  # K itself is a table with two free entries
    assert found.rank == jacobian_rank(model, network) + 2  # K is observed, and its table apart
