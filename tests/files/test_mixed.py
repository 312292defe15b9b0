"""Continuous variables in the native format: nothing is lost, and nothing that is no network is let in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.files import Checkpoint, native
from lacunary.infer.belief import Belief
from lacunary.infer.network import Network
from tests.files.test_fuzz import SOON, _put, damaged
from tests.strategies import mixed_networks

# Chosen by hand: mass on species, wing on mass and species, in an order of parents that is not the schema's.
GARDEN = json.dumps(
    {
        "lacunary": "network",
        "version": 1,
        "dag": {
            "lacunary": "dag",
            "version": 1,
            "schema": {
                "lacunary": "schema",
                "version": 1,
                "variables": [
                    {"name": "mass", "kind": "continuous", "bounds": [0, None]},
                    {"name": "species", "states": ["a", "b"]},
                    {"name": "wing", "kind": "continuous"},
                ],
            },
            "parents": {"mass": ["species"], "species": [], "wing": ["mass", "species"]},
        },
        "tables": {
            "mass": [3, 0.25, 5, 0.5],
            "species": [0.25, 0.75],
            "wing": [100, 20, 9, 120, 18, 16],
        },
    },
    indent=1,
)
BELIEF = native.write(lac.NormalWishart(nu=2.0, alpha=5.5)(native.parse(GARDEN).dag))


@pytest.fixture(scope="module")
def found() -> lac.Fit:
    network = native.parse(GARDEN)
    table = lac.make_holes(network.sample(60, rng=0), 0.2, rng=1)
    return lac.fit(network.dag, table, starts=2)


def test_numbers_are_where_the_page_says() -> None:
    network = native.parse(GARDEN)
    wing, mass = network.regression("wing"), network.regression("mass")
    assert wing.intercept.tolist() == [100, 120]
    assert wing.coefficients.tolist() == [[20], [18]]
    assert wing.variance.tolist() == [9, 16]
    assert (mass.intercept.tolist(), mass.variance.tolist()) == ([3, 5], [0.25, 0.5])
    assert network.dag.schema["mass"].bounds == (0, np.inf)


@settings(max_examples=60, deadline=None)
@given(network=mixed_networks())
def test_networks_are_kept_exactly(network: Network) -> None:
    again = native.parse(native.write(network))
    assert again.dag == network.dag
    assert again.theta.tobytes() == network.theta.tobytes()


@settings(max_examples=60, deadline=None)
@given(
    network=mixed_networks(max_hidden=0),
    nu=st.floats(1e-3, 1e3),
    more=st.floats(0, 10),
    rows=st.integers(0, 5),
    told=st.booleans(),
)
def test_beliefs_are_kept_exactly(network: Network, nu: float, more: float, rows: int, told: bool) -> None:
    n = len(network.dag.continuous)
    centre: dict[str, Any] = {"means": 1e3, "covariance": 0.1} if told else {}
    belief = lac.NormalWishart(nu=nu, alpha=nu + n + more, **centre)(network.dag)
    if rows:
        counts = lac.expect(network, network.sample(rows, rng=0)).counts
        belief = Belief(belief.dag, belief.alpha + counts, belief.surplus, belief.standard)
    again = native.parse(native.write(belief))
    assert again.dag == belief.dag
    assert again.alpha.tobytes() == belief.alpha.tobytes()
    assert (again.surplus, again.standard) == (belief.surplus, belief.standard)


def test_a_fit_is_kept_exactly(found: lac.Fit, tmp_path: Path) -> None:
    lac.save(found, tmp_path / "fit.json")
    again = lac.load(tmp_path / "fit.json")
    assert again.network.theta.tobytes() == found.network.theta.tobytes()
    assert again.belief.alpha.tobytes() == found.belief.alpha.tobytes()
    assert (again.belief.surplus, again.belief.standard) == (found.belief.surplus, found.belief.standard)
    for one, other in zip(again.starts, found.starts, strict=True):
        assert one.network.theta.tobytes() == other.network.theta.tobytes()


def test_checkpoints_hold_the_units_of_the_data(found: lac.Fit, tmp_path: Path) -> None:
    """Wings are some 200 long; a checkpoint of standardised columns would go on from nowhere."""
    network = native.parse(GARDEN)
    table = lac.make_holes(network.sample(60, rng=0), 0.2, rng=1)
    keep = Checkpoint(tmp_path / "climbs.json", seconds=0.0)
    done = lac.fit(network.dag, table, starts=2, watch=keep)
    for kept, start in zip(lac.load(tmp_path / "climbs.json"), done.starts, strict=True):
        np.testing.assert_array_equal(kept.theta, start.network.theta)


@pytest.mark.parametrize("suffix", [".bif", ".xmlbif"])
def test_discrete_formats_name_the_continuous_variable(suffix: str, tmp_path: Path) -> None:
    with pytest.raises(lac.FileError, match=r"continuous variable 'mass'.*\.json"):
        lac.save(native.parse(GARDEN), tmp_path / f"x{suffix}")


@pytest.mark.parametrize(
    ("name", "numbers", "message"),
    [
        ("wing", [100, 20, 9], r"tables\.wing: expected 6 numbers, not 3"),
        ("wing", [100, 20, 0, 120, 18, 16], "variance that is not positive"),
        ("wing", [100, 20, -1, 120, 18, 16], "variance that is not positive"),
        ("mass", [3, 0.25, 5, "x"], r"tables\.mass: expected numbers only"),
        ("species", [0.25, 0.5], "sums to 0.75"),
        ("other", [1], r"tables\.other: this field is not known here"),
    ],
)
def test_what_is_no_network_is_refused(name: str, numbers: list[Any], message: str) -> None:
    document = json.loads(GARDEN)
    document["tables"][name] = numbers
    with pytest.raises(lac.FileError, match=message):
        native.parse(json.dumps(document))


def test_renormalizing_leaves_regressions_alone() -> None:
    document = json.loads(GARDEN)
    document["tables"]["species"] = [1, 3]
    again = native.parse(json.dumps(document), renormalize=True)
    np.testing.assert_array_equal(again.theta, native.parse(GARDEN).theta)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"surplus": "much"}, "surplus: expected numbers only"),
        ({"surplus": -100}, "degrees of freedom"),
        ({"standard": 1}, "standard: expected true or false"),
    ],
)
def test_what_is_no_belief_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(lac.FileError, match=message):
        native.parse(json.dumps(json.loads(BELIEF) | change))


@pytest.mark.parametrize(
    "moments", [[1, 2, 2, 1], [1, 0, 1, 1], [1, 0, 0, -1], [-1, 0, 0, 1]], ids=["wide", "skew", "low", "few"]
)
def test_moments_that_no_rows_have_are_refused(moments: list[float]) -> None:
    document = json.loads(BELIEF)
    document["alpha"]["mass"] = moments * 2
    with pytest.raises(lac.FileError, match=r"alpha\.mass: expected symmetric matrices"):
        native.parse(json.dumps(document))


def test_a_belief_that_could_not_be_read_is_not_written() -> None:
    belief = native.parse(BELIEF)
    alpha = np.array(belief.alpha)
    belief.dag.layout.moments(alpha, 0)[:, 0, 1] += 100.0
    with pytest.raises(lac.FileError, match="about mass is not one"):
        native.write(Belief(belief.dag, alpha))


def test_regressions_that_nothing_can_hold_are_refused_before_they_are_laid_out() -> None:
    document = json.loads(GARDEN)
    variables = document["dag"]["schema"]["variables"]
    names = [f"x{i}" for i in range(30)]
    variables += [{"name": name, "states": list(range(9))} for name in names]
    document["dag"]["parents"] |= {name: [] for name in names} | {"wing": names}
    with pytest.raises(lac.FileError, match=r"tables\.wing: .*limit"):
        native.parse(json.dumps(document))


def read(text: str) -> None:
    """Read a text: the outcome is an error of ours, or a thing that can be written and read again."""
    try:
        thing = native.parse(text)
    except lac.FileError:
        return
    written = native.write(thing)
    assert native.write(native.parse(written)) == written


@SOON
@given(text=damaged((GARDEN, BELIEF)))
def test_damaged_files(text: str) -> None:
    read(text)


@SOON
@given(data=st.data())
def test_any_value_in_any_place(data: st.DataObject) -> None:
    document = json.loads(data.draw(st.sampled_from((GARDEN, BELIEF))))
    for _ in range(data.draw(st.integers(1, 3))):
        _put(data, document)
    read(json.dumps(document))
