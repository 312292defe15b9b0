"""What is saved is what is loaded, to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lacunary.data.schema import Schema, Variable
from lacunary.errors import FileError
from lacunary.files import bif, load, native, net, save, xmlbif
from lacunary.infer.belief import Belief
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from tests.strategies import networks

names = st.text(min_size=1, max_size=6)
labels = (
    st.text(max_size=6) | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
)


@st.composite
def renamed(draw: st.DrawFn) -> Network:
    """A network whose names and states are any texts and numbers, some of its variables hidden or ordered."""
    network = draw(networks(max_hidden=2))
    dag = network.dag
    words = draw(st.lists(names, unique=True, min_size=len(dag.names), max_size=len(dag.names)))
    new = dict(zip(dag.names, words, strict=True))
    variables = tuple(
        Variable(
            new[v.name],
            tuple(draw(st.lists(labels, unique=True, min_size=v.size, max_size=v.size))),
            ordered=draw(st.booleans()),
            hidden=v.hidden,
        )
        for v in dag.schema
    )
    parents = tuple(tuple(new[p] for p in ps) for ps in dag.parents)
    return Network(Dag(Schema(variables), parents), network.theta)


@settings(max_examples=60)
@given(network=renamed())
def test_native_networks_are_kept_exactly(network: Network) -> None:
    again = native.parse(native.write(network))
    assert repr(again.dag) == repr(network.dag)  # 1, 1.0 and True are equal, but not alike
    assert again.dag == network.dag
    np.testing.assert_array_equal(again.theta, network.theta)


@given(network=networks(), scale=st.floats(1e-300, 1e300))
def test_native_beliefs_are_kept_exactly(network: Network, scale: float) -> None:
    belief = Belief(network.dag, np.maximum(network.theta * scale, 5e-324))
    again = native.parse(native.write(belief))
    assert again.dag == belief.dag
    np.testing.assert_array_equal(again.alpha, belief.alpha)


@pytest.mark.filterwarnings("ignore:.*does not keep")
@pytest.mark.parametrize("suffix", [".bif", ".xmlbif", ".net", ".bif.gz"])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(network=networks())
def test_other_formats_keep_graph_and_numbers_exactly(tmp_path: Path, suffix: str, network: Network) -> None:
    path = tmp_path / f"x{suffix}"
    save(network, path)
    again = load(path)
    assert again.dag.names == network.dag.names
    assert again.dag.parents == network.dag.parents
    assert [v.states for v in again.dag.schema] == [tuple(map(str, v.states)) for v in network.dag.schema]
    np.testing.assert_array_equal(again.theta, network.theta)


LANGUAGES: dict[str, tuple[Callable[[Network], Any], Callable[[Any], Network]]] = {
    "bif": (bif.write, bif.parse),
    "net": (net.write, net.parse),
    "xmlbif": (xmlbif.write, xmlbif.parse),
}


@pytest.mark.parametrize("language", LANGUAGES)
@settings(max_examples=60)
@given(network=renamed())
def test_names_come_back_as_they_were_or_are_refused(language: str, network: Network) -> None:
    write, parse = LANGUAGES[language]
    try:
        text = write(network)
    except FileError:
        return
    again = parse(text)
    assert again.dag.names == network.dag.names
    assert again.dag.parents == network.dag.parents
    assert [v.states for v in again.dag.schema] == [tuple(map(str, v.states)) for v in network.dag.schema]
    np.testing.assert_array_equal(again.theta, network.theta)
