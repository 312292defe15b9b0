"""Posteriors and likelihoods of larger networks, beside pyAgrum's lazy propagation.

Its networks are built from our tables, so both compute with the same numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lacunary.data.datasets import dataset_path
from lacunary.data.table import HOLE, Table
from lacunary.files import load
from lacunary.infer.expect import expect
from lacunary.infer.network import Network, random_network
from lacunary.model.make import random_dag
from tests.reference.agrum import pyagrum, to_pyagrum

# Both sum the same positive products in orders of their own: some hundred roundings each.
RELATIVE = 1e-8

ROWS = 25


def reference_networks() -> dict[str, Network]:
    networks = {name: load(dataset_path(name)) for name in ("asia", "alarm")}
    for seed, (variables, density) in enumerate([(60, 0.04), (60, 0.06), (100, 0.02)]):
        graph = random_dag(variables, density, max_parents=3, rng=seed)
        networks[f"{variables} variables, seed {seed}"] = random_network(graph, rng=seed)
    return networks


NETWORKS = reference_networks()


def rows_with_holes(network: Network, share: float) -> Table:
    table = network.sample(ROWS, rng=1)
    holes = np.random.default_rng(2).random(table.codes.shape) < share
    return Table(table.schema, np.where(holes, HOLE, table.codes))


def asked(theirs: Any, network: Network, row: np.ndarray[Any, Any]) -> Any:
    """Their inference with a row's observed cells as evidence."""
    inference = pyagrum.LazyPropagation(theirs)
    names = network.dag.names
    inference.setEvidence({names[i]: int(code) for i, code in enumerate(row) if code != HOLE})
    return inference


@pytest.mark.parametrize("share", [0.3, 0.8], ids=["30%", "80%"])
@pytest.mark.parametrize("name", NETWORKS)
def test_posteriors_and_likelihoods(name: str, share: float) -> None:
    network = NETWORKS[name]
    theirs = to_pyagrum(network)
    table = rows_with_holes(network, share)
    posteriors, log_probability = network.posterior(table), network.log_probability(table)
    total = 0.0
    for r, row in enumerate(table.codes):
        inference = asked(theirs, network, row)
        inference.makeInference()
        log_evidence = math.log(inference.evidenceProbability())
        assert log_probability[r] == pytest.approx(log_evidence, rel=RELATIVE)
        total += log_evidence
        for target in network.dag.names:
            np.testing.assert_allclose(
                posteriors[target][r], inference.posterior(target).toarray(), rtol=RELATIVE, atol=1e-300
            )
    assert network.log_likelihood(table) == pytest.approx(total, rel=RELATIVE)


@pytest.mark.parametrize("name", NETWORKS)
def test_expected_counts_of_families(name: str) -> None:
    network = NETWORKS[name]
    theirs = to_pyagrum(network)
    table = rows_with_holes(network, 0.4).take(np.arange(8))
    stats = expect(network, table)
    sums = {target: np.zeros_like(network.table(target)) for target in network.dag.names}
    for row in table.codes:
        inference = asked(theirs, network, row)
        families = {target: [*network.dag.parents_of(target), target] for target in network.dag.names}
        for family in families.values():
            inference.addJointTarget(set(family))
        inference.makeInference()
        for target, family in families.items():
            joint = inference.jointPosterior(set(family))
            order = [list(reversed(joint.names)).index(member) for member in family]
            sums[target] += np.transpose(joint.toarray(), order)
    for target, wanted in sums.items():
        np.testing.assert_allclose(stats.table(target), wanted, rtol=RELATIVE, atol=1e-300)


def test_a_joint_posterior_across_the_network() -> None:
    """Of variables that share no family: ALARM's far ends."""
    network = NETWORKS["alarm"]
    targets = ("HISTORY", "BP", "PRESS")
    table = rows_with_holes(network, 0.7).take(np.arange(5))
    ours = network.posterior(table, [targets])[targets]
    theirs = to_pyagrum(network)
    for r, row in enumerate(table.codes):
        inference = asked(theirs, network, row)
        inference.addJointTarget(set(targets))
        inference.makeInference()
        joint = inference.jointPosterior(set(targets))
        order = [list(reversed(joint.names)).index(member) for member in targets]
        np.testing.assert_allclose(ours[r], np.transpose(joint.toarray(), order), rtol=RELATIVE, atol=1e-300)
