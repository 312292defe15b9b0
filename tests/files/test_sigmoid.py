"""Sigmoid and uniform families in the native format."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lacunary.errors import LacunaryError
from lacunary.files.store import load, save
from lacunary.infer.belief import NormalWeights
from lacunary.infer.network import Network, random_network
from lacunary.learn.fit import Fit, fit
from lacunary.model.dag import Dag
from lacunary.model.make import dag

GRAPH = dag("A B -> C -> D; A -> D", states={"B": 3}, hidden="C", family=dict.fromkeys("CD", "sigmoid"))


def test_graphs_and_networks_come_back(tmp_path: Path) -> None:
    save(GRAPH, tmp_path / "dag.json")
    graph = load(tmp_path / "dag.json")
    assert isinstance(graph, Dag)
    assert graph == GRAPH
    network = random_network(GRAPH, rng=1)
    save(network, tmp_path / "network.json")
    again = load(tmp_path / "network.json")
    assert isinstance(again, Network)
    assert again.dag == GRAPH
    np.testing.assert_array_equal(again.theta, network.theta)


def test_fits_come_back(tmp_path: Path) -> None:
    table = random_network(GRAPH, rng=1).sample(40, rng=1)
    found = fit(GRAPH, table, prior=NormalWeights(0.8), starts=2)
    save(found, tmp_path / "fit.json")
    again = load(tmp_path / "fit.json")
    assert isinstance(again, Fit)
    assert again.belief.weight_sd == 0.8
    np.testing.assert_array_equal(again.network.sigmoid("D").vector, found.network.sigmoid("D").vector)


def test_families_that_cannot_be(tmp_path: Path) -> None:
    path = tmp_path / "dag.json"
    save(GRAPH, path)
    written = json.loads(path.read_text())
    for family in ({"B": "sigmoid"}, {"C": "probit"}, {"Z": "sigmoid"}, {"C": 1}, ["C"]):
        path.write_text(json.dumps(written | {"family": family}))
        with pytest.raises(LacunaryError):
            load(path)


def test_a_sigmoid_becomes_a_table_elsewhere(tmp_path: Path) -> None:
    network = random_network(GRAPH, rng=2)
    with pytest.warns(UserWarning, match="the weights of 'C', 'D', which are written as tables"):
        save(network, tmp_path / "network.bif")
    again = load(tmp_path / "network.bif")
    assert isinstance(again, Network)
    assert not again.dag.family
    np.testing.assert_array_equal(again.table("D"), network.table("D"))


def test_uniform_families_come_back(tmp_path: Path) -> None:
    graph = dag("A -> X", kinds={"X": "continuous"}, family={"X": "uniform"})
    network = random_network(graph, rng=1)
    save(network, tmp_path / "network.json")
    again = load(tmp_path / "network.json")
    assert isinstance(again, Network)
    assert again.dag == graph
    np.testing.assert_array_equal(again.uniform("X").records, network.uniform("X").records)
    found = fit(graph, network.sample(30, rng=1))
    save(found, tmp_path / "fit.json")
    assert isinstance(load(tmp_path / "fit.json"), Fit)
