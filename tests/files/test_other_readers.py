"""Another program reads what is written here, and reads what was written elsewhere as it is read here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lacunary.files import load, save
from lacunary.files.bif import parse
from lacunary.infer.network import Network, random_network
from tests.files.samples import BIF
from tests.reference.agrum import pyagrum

# pyAgrum keeps numbers read from BIF and NET in single precision: half a unit in the last place below one.
SINGLE = 2.0**-24


def assert_same(ours: Network, theirs: Any, tolerance: float = SINGLE) -> None:
    assert set(theirs.names()) == set(ours.dag.names)
    for name in ours.dag.names:
        assert theirs.variable(name).labels() == ours.dag.schema[name].states
        table = theirs.cpt(name)
        axes = [*ours.dag.parents_of(name), name]
        order = [axes.index(other) for other in reversed(table.names)]
        np.testing.assert_allclose(
            table.toarray(), np.transpose(ours.table(name), order), rtol=0, atol=tolerance
        )


def garden() -> Network:
    """The sample's graph, its node with a number for a name renamed, with drawn parameters."""
    text = BIF.replace("variable 3", "variable grass").replace("( 3 |", "( grass |")
    return random_network(parse(text).dag, rng=5)


@pytest.mark.parametrize("suffix", [".bif", ".net", ".bifxml"])
def test_pyagrum_reads_what_is_written(tmp_path: Path, suffix: str) -> None:
    network = garden()
    save(network, tmp_path / f"garden{suffix}")
    assert_same(network, pyagrum.loadBN(str(tmp_path / f"garden{suffix}")))


@pytest.mark.parametrize("suffix", [".bif", ".net", ".bifxml"])
def test_what_pyagrum_writes_is_read(tmp_path: Path, suffix: str) -> None:
    pyagrum.initRandom(7)
    theirs = pyagrum.fastBN("a{yes|no}->b[3]->d{low|mid|high};c{x|y}->b;a->d")
    path = tmp_path / f"x{suffix}"
    pyagrum.saveBN(theirs, str(path))
    # It writes XMLBIF with six digits: three states miss one by up to 3 · 5e-7; scaling moves them by that.
    six_digits = suffix == ".bifxml"
    assert_same(
        load(path, renormalize=six_digits), pyagrum.loadBN(str(path)), 1.5e-6 if six_digits else SINGLE
    )


@pytest.mark.parametrize("name", ["asia", "alarm"])
def test_the_networks_that_are_shipped(name: str) -> None:
    datasets = pytest.importorskip("lacunary.data.datasets")
    path = datasets.dataset_path(name)
    assert_same(load(path), pyagrum.loadBN(str(path)))
