"""Mixtures in files: nothing is lost, nothing unknown is let in, and what is killed goes on."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lacunary as lac
from lacunary.errors import FileError
from lacunary.files.native import parse, write
from lacunary.infer.mixture import Mixture, Noise
from lacunary.infer.network import random_network
from tests.mixture.small import continuous, two_groups
from tests.strategies import mixed_networks, seeds


@st.composite
def mixtures(draw: st.DrawFn) -> Mixture:
    """Networks over the same variables, some without the arcs of the first, and perhaps noise."""
    first = draw(mixed_networks(4))
    schema, rng = first.dag.schema, np.random.default_rng(draw(seeds))
    bare = lac.Dag.from_parents(schema, {})
    others = [random_network(bare, rng=rng) for _ in range(draw(st.integers(0, 2)))]
    noisy = draw(st.booleans())
    low = rng.normal(size=len(schema)) * 1e6
    noise = Noise(schema, low, low + rng.uniform(1.0, 2.0, len(schema))) if noisy else None
    weights = rng.dirichlet(np.ones(1 + len(others) + noisy))
    return Mixture(weights, (first, *others), noise)


def assert_same(one: Mixture, two: Mixture) -> None:
    assert one.weights.tobytes() == two.weights.tobytes()
    assert [c.dag for c in one.components] == [c.dag for c in two.components]
    assert [c.theta.tobytes() for c in one.components] == [c.theta.tobytes() for c in two.components]
    assert (one.noise is None) == (two.noise is None)
    if one.noise is not None and two.noise is not None:
        real = [not v.discrete for v in one.schema]
        assert one.noise.low[real].tobytes() == two.noise.low[real].tobytes()
        assert one.noise.high[real].tobytes() == two.noise.high[real].tobytes()


@settings(max_examples=40)
@given(mixtures())
def test_mixtures_keep_every_bit(mixture: Mixture) -> None:
    again = parse(write(mixture))
    assert_same(again, mixture)
    assert write(again) == write(mixture)


@pytest.fixture(scope="module")
def found() -> lac.MixtureFit:
    return lac.fit_mixture(
        continuous(two_groups(30)), components=[1, 2], noise=True, starts=1, until="score", trace=True
    )


def test_what_was_found_is_kept(found: lac.MixtureFit, tmp_path: Path) -> None:
    lac.save(found, tmp_path / "found.json.gz")
    again = lac.load(tmp_path / "found.json.gz")
    assert isinstance(again, lac.MixtureFit)
    assert_same(again.mixture, found.mixture)
    assert again.estimate == found.estimate
    assert (again.structure, again.interrupted) == (found.structure, found.interrupted)
    for one, two in zip(again.path, found.path, strict=True):
        assert_same(one.mixture, two.mixture)
        assert (one.asked, one.start, one.estimate, one.converged, one.ticks) == (
            two.asked,
            two.start,
            two.estimate,
            two.converged,
            two.ticks,
        )
    assert again.chosen.asked == found.chosen.asked
    rows = continuous(two_groups(5, seed=3))
    assert again.predict(rows, how="plug-in").score == found.predict(rows, how="plug-in").score
    with pytest.raises(lac.ParameterError, match="rows this was learned from are gone"):
        again.predict(rows)


def test_the_states_that_components_stand_for_are_kept() -> None:
    votes = lac.house_votes().select(["party", "crime", "immigration"])
    found = lac.fit_mixture(votes, given="party", structure="empty")
    assert parse(write(found)).classes == found.classes == ("democrat", "republican")
    for classes in (["democrat"], [None, "a"]):
        document = json.loads(write(found)) | {"classes": classes}
        with pytest.raises(FileError, match="classes: expected"):
            parse(json.dumps(document))


def mixture(document: dict[str, Any]) -> dict[str, Any]:
    trial: dict[str, Any] = document["path"][1]["mixture"]
    return trial


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d.update(chosen=99), "chosen: expected the place of a trial"),
        (lambda d: d.update(chosen=-1), "chosen: expected the place of a trial"),
        (lambda d: d.update(path=[]), "chosen: expected the place of a trial"),
        (lambda d: d.update(colour=1), "colour: this field is not known"),
        (lambda d: d["path"][0].update(ticks=[["em", 1, 2]]), r"path\[0\].ticks: expected lists of phase"),
        (lambda d: d["path"][0].update(ticks=[["em", 1, -1, 0.0, None]]), r"path\[0\].ticks: a count was"),
        (lambda d: d["path"][0].update(ticks=[["em", 2**70, 1, 0.0, None]]), r"path\[0\].ticks: a count"),
        (lambda d: d["path"][0].update(ticks=[["em", 1, True, 0.0, None]]), r"path\[0\].ticks: expected"),
        (lambda d: d["path"][0]["estimate"].update(kind="guess"), "estimate.kind: expected one of exact"),
        (lambda d: d["path"][0]["estimate"].update(dimension=1.5), "estimate.dimension: expected a whole"),
        (lambda d: d["path"][0].update(mixture=d["path"][0]["mixture"]["components"][0]), "expected mixture"),
        (lambda d: mixture(d).update(components=[]), r"mixture.components: expected at least one"),
        (lambda d: mixture(d)["components"].pop(), "components need as many weights"),
        (lambda d: mixture(d).update(weights=[0.5, 0.1, 0.1]), "sum to one, but sum to 0.7"),
        (lambda d: mixture(d).update(weights=["a"]), "weights: expected numbers only"),
        (lambda d: mixture(d)["noise"].update(x0=[0.0]), "noise.x0: expected two numbers"),
        (lambda d: mixture(d)["noise"].update(x0=[1.0, 0.0]), "x0: noise needs bounds low < high"),
        (lambda d: mixture(d)["noise"].update(y=[1.0, 0.0]), "noise.y: this field is not known"),
        (lambda d: mixture(d)["components"][0].update(lacunary="dag"), "expected network"),
        (
            lambda d: mixture(d)["components"][0]["dag"]["schema"]["variables"].reverse(),
            "the components must have the same variables",
        ),
    ],
)
def test_hostile_files(
    found: lac.MixtureFit, change: Callable[[dict[str, Any]], object], message: str
) -> None:
    document = json.loads(write(found))
    change(document)
    with pytest.raises(FileError, match=message):
        parse(json.dumps(document))


def test_a_trail_is_kept_and_its_outside_is_checked() -> None:
    trails: list[lac.MixtureTrail] = []
    data = two_groups(20)
    lac.fit_mixture(data, components=[1, 2], watch=lambda p: trails.append(p.trail()))
    text = write(trails[-1])
    again = parse(text)
    assert write(again) == text
    assert {kept.asked for kept in again.trials} == {1, 2}
    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda d: d["fingerprint"].update(ess=1),
        lambda d: d["fingerprint"].update(ess="1"),
        lambda d: d["trials"][0].update(asked=3),
        lambda d: d["trials"][0].update(state=[]),
        lambda d: d["trials"][0]["state"].pop("ticks"),
        lambda d: d["trials"][0].update(estimate={}),
    ]
    for change in changes:
        document = json.loads(text)
        change(document)
        with pytest.raises(FileError):
            parse(json.dumps(document))


KILLED = """
import sys, time
import lacunary as lac
from tests.mixture.small import continuous, two_groups

keep = lac.Checkpoint(sys.argv[1], seconds=0.0)

def watch(progress):
    keep(progress)
    time.sleep(0.01)  # so that the kill falls in the middle, however fast the machine

lac.fit_mixture(continuous(two_groups(40, holes=0.2)), components=[1, 2], noise=True, watch=watch)
"""


def test_killed_at_random_it_goes_on_and_ends_at_the_same_mixture(tmp_path: Path) -> None:
    """Kill −9 at a random moment: the file is whole, and what follows from it is the uninterrupted run."""
    path, rng = tmp_path / "trail.json", np.random.default_rng()
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(path)], cwd=Path(__file__).parents[2])
    deadline = time.monotonic() + 60
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(rng.uniform(0.0, 0.5))
    process.send_signal(signal.SIGKILL)
    assert process.wait() in (-signal.SIGKILL, 0)
    data = continuous(two_groups(40, holes=0.2))
    how: dict[str, Any] = {"components": [1, 2], "noise": True}
    whole, again = (lac.fit_mixture(data, resume=trail, **how) for trail in (None, lac.load(path)))
    assert again.chosen.asked == whole.chosen.asked
    for one, two in zip(again.path, whole.path, strict=True):
        assert_same(one.mixture, two.mixture)
        assert one.ticks == two.ticks


def test_it_writes_when_it_is_time_or_told(tmp_path: Path) -> None:
    path = tmp_path / "trail.json"
    rarely = lac.Checkpoint(path, seconds=1e9)
    rarely.write()
    assert not path.exists()
    lac.fit_mixture(two_groups(20), components=1, watch=rarely)
    assert rarely.writings == 0
    rarely.write()
    assert rarely.writings == 1
    assert isinstance(lac.load(path), lac.MixtureTrail)
