"""Fits as files: exact round trips, checkpoints, and going on after an interrupt or a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.files import Checkpoint
from lacunary.learn.found import Climbs

ROUNDING = 1e-9
"""Relative; a batch of another size may add in another order, and a climb repeats that some hundred times."""


def votes(states: int = 3) -> tuple[lac.Dag, lac.Table]:
    table = lac.house_votes()
    return lac.naive_bayes(table.schema, hidden="bloc", states=states), table


@pytest.fixture(scope="module")
def found() -> lac.Fit:
    dag, table = votes()
    return lac.fit(dag, table, starts=4, rng=3)


def same_ends(a: lac.Fit | lac.Start, b: lac.Fit | lac.Start) -> None:
    assert a.network.theta.tobytes() == b.network.theta.tobytes()
    for name in ("objective", "log_likelihood", "trace", "iterations", "converged"):
        assert getattr(a, name) == getattr(b, name), name


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_round_trip_is_exact(found: lac.Fit, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"fit{suffix}"
    lac.save(found, path)
    again = lac.load(path)
    assert type(again) is lac.Fit
    same_ends(again, found)
    assert again.belief.alpha.tobytes() == found.belief.alpha.tobytes()
    assert (again.method, again.basis, again.interrupted) == (found.method, found.basis, found.interrupted)
    assert again.dag == found.dag
    assert len(again.starts) == 4
    for one, other in zip(again.starts, found.starts, strict=True):
        same_ends(one, other)


def test_minus_infinity_survives(found: lac.Fit, tmp_path: Path) -> None:
    lost = replace(found.starts[0], objective=-inf, log_likelihood=-inf, trace=(-inf, -5.0, -inf))
    lac.save(replace(found, starts=(lost,), interrupted=True), tmp_path / "fit.json")
    again = lac.load(tmp_path / "fit.json")
    assert again.interrupted
    same_ends(again.starts[0], lost)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"trace": "long"}, "trace: expected a list"),
        ({"trace": [1.0, "x"]}, "trace: expected numbers only"),
        ({"iterations": 1.5}, "iterations: expected a whole number"),
        ({"objective": True}, "objective: expected numbers only"),
        ({"color": "red"}, "color: this field is not known here"),
        ({"method": None}, "method: expected a text"),
        ({"starts": [{}]}, "there is no field 'tables'"),
    ],
)
def test_a_wrong_field_is_named(found: lac.Fit, tmp_path: Path, change: dict[str, Any], message: str) -> None:
    path = tmp_path / "fit.json"
    lac.save(found, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(lac.FileError, match=message.replace("[", r"\[")):
        lac.load(path)


def test_starts_hold_distributions(found: lac.Fit, tmp_path: Path) -> None:
    path = tmp_path / "fit.json"
    lac.save(found, path)
    document = json.loads(path.read_text())
    document["starts"][1]["tables"]["bloc"] = [0.5, 0.5, 0.5]
    path.write_text(json.dumps(document))
    with pytest.raises(lac.FileError, match=r"starts\[1\].tables: .*sum to one"):
        lac.load(path)


def test_other_formats_say_they_hold_networks(found: lac.Fit, tmp_path: Path) -> None:
    with pytest.raises(lac.FileError, match="holds networks, not a Fit"):
        lac.save(found, tmp_path / "fit.bif")


def test_resuming_an_interrupted_fit_ends_where_an_uninterrupted_one_does(tmp_path: Path) -> None:
    dag, table = votes()
    whole = lac.fit(dag, table, starts=4, rng=3)
    broken = lac.fit(dag, table, starts=4, rng=3, watch=lambda progress: progress.iteration == 5)
    assert broken.interrupted
    lac.save(broken, tmp_path / "fit.json")
    resumed = lac.fit(dag, table, initial=lac.load(tmp_path / "fit.json"))
    assert resumed.converged
    assert not resumed.interrupted
    for one, other in zip(resumed.starts, whole.starts, strict=True):
        assert one.objective == pytest.approx(other.objective, rel=ROUNDING)
        # 5 sweeps were done before; the last place is swept once more to go on from it.
        assert one.iterations + 5 - 1 == other.iterations
        np.testing.assert_allclose(one.network.theta, other.network.theta, atol=1e-6)


def test_checkpoint_waits_and_writes(tmp_path: Path) -> None:
    dag, table = votes()
    often = Checkpoint(tmp_path / "often.json", seconds=0.0)
    never = Checkpoint(tmp_path / "never.json", seconds=3600.0)

    def both(progress: lac.Progress) -> None:
        often(progress)
        never(progress)

    done = lac.fit(dag, table, starts=3, watch=both)
    assert often.writings == max(start.iterations for start in done.starts)
    assert never.writings == 0
    assert not (tmp_path / "never.json").exists()
    kept = lac.load(tmp_path / "often.json")
    assert type(kept) is Climbs
    assert len(kept) == 3
    assert kept.dag == dag
    for network, start in zip(kept, done.starts, strict=True):
        assert network.theta.tobytes() == start.network.theta.tobytes()
    same_ends(kept.starts[2], done.starts[2])


KILLED = """
import sys
import lacunary as lac
from lacunary.files import Checkpoint
table = lac.house_votes()
dag = lac.naive_bayes(table.schema, hidden="bloc", states=3)
keep = Checkpoint(sys.argv[1], seconds=0.0)

def watch(progress):
    keep(progress)
    if progress.iteration == 6:
        print("ready", flush=True)
        sys.stdin.read()

lac.fit(dag, table, starts=4, rng=3, watch=watch)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="only POSIX kills so")
def test_a_killed_fit_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "climbs.json"
    child = subprocess.Popen(
        [sys.executable, "-c", KILLED, os.fspath(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child.stdin, child.stdout:
        assert child.stdout.readline() == b"ready\n"
        child.kill()
        assert child.wait(timeout=60) == -signal.SIGKILL
    assert [p.name for p in tmp_path.iterdir()] == ["climbs.json"]
    dag, table = votes()
    whole = lac.fit(dag, table, starts=4, rng=3)
    kept = lac.load(path)
    assert {start.iterations for start in kept.starts} == {6}
    resumed = lac.fit(dag, table, initial=kept)
    assert resumed.objective == pytest.approx(whole.objective, rel=ROUNDING)


def test_resuming_needs_the_same_graph(found: lac.Fit) -> None:
    dag, table = votes(states=2)
    with pytest.raises(lac.ParameterError, match="initial must have"):
        lac.fit(dag, table, initial=found)


def test_loading_many_starts_takes_no_time(tmp_path: Path) -> None:
    """Linear in the size of the file: 100 starts of ALARM, 5 MB, well under the seconds a person waits."""
    network = lac.alarm()
    start = lac.Start(network, -1.0, -1.0, (-2.0, -1.0), 2, True)
    lac.save(Climbs(network.dag, (start,) * 100), tmp_path / "climbs.json")
    began = time.process_time()
    assert len(lac.load(tmp_path / "climbs.json")) == 100
    assert time.process_time() - began < 5.0  # measured: 0.2 s; the rest is for slow machines
