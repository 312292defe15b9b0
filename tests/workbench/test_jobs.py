"""Jobs: what they find equals the verb's, they stop and go on, and a killed server loses nothing."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep
from typing import Any

import pytest

import lacunary as lac
from lacunary.workbench.bench import Bench
from lacunary.workbench.script import script_of
from lacunary.workbench.work import _weighed
from lacunary.workbench.worker import main
from tests.workbench.client import Client, running

CLASSES = {"kind": "classes", "from": 1, "to": 2, "starts": 2, "aside": "party", "hidden": "bloc"}


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Return a workbench whose jobs wait for the test to do them."""
    monkeypatch.setattr("lacunary.workbench.jobs.Jobs._start", lambda self, key: None)
    found = Bench(tmp_path / "space")
    monkeypatch.setattr("lacunary.workbench.worker.os.nice", lambda by: by)
    monkeypatch.setattr("lacunary.workbench.worker._limit", lambda limits: None)
    return found


Do = Callable[..., dict[str, Any]]


@pytest.fixture
def do(bench: Bench) -> Do:
    """Return what does a job in this process, and returns its record."""

    def done(**asked: Any) -> dict[str, Any]:
        table = bench.shipped_table("house_votes")
        full = {"seed": 0, "table": table, **asked}
        key = bench.add_job(full)
        main(str(bench.workspace.folder / "jobs" / key))
        bench.workspace.keep("jobs", key, {"status": "running"})
        bench.jobs._settle(key)
        return bench.jobs.shown(key)

    return done


def report(bench: Bench, found: dict[str, Any]) -> str:
    """Return the page that a job wrote."""
    [file] = found["result"]["files"]
    path = bench.workspace.place("jobs", found["id"]) / str(file["file"])
    return path.read_text(encoding="utf-8")


def test_classes(bench: Bench, do: Do, capsys: pytest.CaptureFixture[str]) -> None:
    found = do(**CLASSES)
    verb = lac.classes(lac.house_votes(), [1, 2], hidden="bloc", aside="party", starts=2)
    models = [bench.model_record(key) for key in found["result"]["models"]]
    for model, candidate in zip(models, verb.candidates, strict=True):
        assert {e["method"]: e["value"] for e in model["estimates"]} == dict(candidate.log_evidence)
    best = next(model for model in models if model["best"])
    network = bench.models.asked(best["id"]).model
    assert isinstance(network, lac.Network)
    assert network.theta.tolist() == verb.network.theta.tolist()
    assert "<svg" in report(bench, found)
    assert json.loads(capsys.readouterr().out.splitlines()[0])["say"]
    script = bench.script(best["id"], {"crime": {"state": 1}}, ["bloc"])
    names: dict[str, Any] = {}
    exec(script, names)
    assert names["network"].theta.tolist() == verb.network.theta.tolist()


def test_search_with_arcs_by_hand(bench: Bench, do: Do) -> None:
    asked: dict[str, Any] = {
        "method": "greedy",
        "score": None,
        "max_parents": 1,
        "hidden": {},
        "starts": None,
    }
    arcs = {"required": [["party", "crime"]], "forbidden": [["crime", "immigration"]]}
    found = do(kind="search", **asked, **arcs)
    verb = lac.search(
        lac.house_votes(), method="greedy", max_parents=1, required=[("party", "crime")],
        forbidden=[("crime", "immigration")],
    )  # fmt: skip
    [key] = found["result"]["models"]
    assert {tuple(arc) for arc in bench.model_shown(key)["arcs"]} == set(verb.dag.arcs)
    assert {(a["tail"], a["head"]): a["nats"] for a in bench.strengths(key)} == dict(verb.strengths)
    assert "required=[('party', 'crime')]" in script_of(bench.workspace, key, {}, [])
    assert "What depends on what in" in report(bench, found)


def test_a_graph_by_hand_and_its_comparison(bench: Bench, do: Do, capsys: pytest.CaptureFixture[str]) -> None:
    arcs = [["H", "crime"], ["H", "immigration"], ["party", "crime"]]
    first = do(kind="fit", arcs=arcs, hidden={"H": 2}, method="map", starts=2)
    second = do(kind="fit", arcs=[["party", "crime"]], hidden={}, method="map", starts=None)
    keys = [first["result"]["models"][0], second["result"]["models"][0]]
    assert bench.models.asked(keys[0]).schema["H"].hidden
    weighed = do(kind="compare", models=keys, methods=["bic", "cheeseman-stutz"], held_out=False)
    known = bench.models.asked(keys[1]).parts[0].dag
    table = lac.house_votes()
    for estimate in weighed["result"]["estimates"][keys[1]]:
        assert estimate["value"] == lac.score(known, table, estimate["method"]).value
    shares = weighed["result"]["probabilities"]["bic"]
    assert sum(share["probability"] for share in shares.values()) == pytest.approx(1.0, abs=1e-12)
    names: dict[str, Any] = {}
    exec(script_of(bench.workspace, keys[0], {"crime": "y"}, []), names)
    again = bench.models.asked(keys[0]).model
    assert isinstance(again, lac.Network)
    assert names["network"].theta.tolist() == again.theta.tolist()
    said = capsys.readouterr().out  # the script weighs the model, and shows what the page does
    assert "bic" in said
    assert str(again.engine({"crime": "y"}).marginal("party")) in said


def test_evidence_is_compared_between_models_that_see_the_same(bench: Bench, do: Do) -> None:
    aside, whole = (do(**{**CLASSES, "from": 1, "to": 1, "aside": name}) for name in ("party", None))
    keys = [found["result"]["models"][0] for found in (aside, whole)]
    assert set(bench.model_record(keys[1])["columns"]) - set(bench.model_record(keys[0])["columns"]) == {
        "party"
    }
    weighed = do(kind="compare", models=keys, methods=["bic"], held_out=False)["result"]
    assert weighed["probabilities"] == {}
    assert "column" in str(
        _weighed(lac.asia().dag, lac.house_votes(), "bic", 0)
    )  # why there is none, in words
    table = str(bench.workspace.record("models", keys[0])["table"])
    versus = bench.versus(table, keys[0], keys[1], 3)
    assert versus["left_out"] == ["party"]
    assert versus["total"] == pytest.approx(0.0, abs=1e-9)  # one class: columns have no bearing on each other


def test_how_sure_of_each_arc(bench: Bench, do: Do, tmp_path: Path) -> None:
    path = tmp_path / "complete.csv"
    path.write_text("a,b,c\n" + "0,0,x\n1,1,x\n0,0,y\n1,1,y\n0,1,x\n" * 8, encoding="utf-8")
    known = lac.arc_probabilities(lac.read(path))
    asked: dict[str, Any] = dict.fromkeys(("method", "score", "max_parents", "starts"))
    table = bench.tables.add(path.name, path)
    found = do(kind="search", table=table, **asked, hidden={}, required=[], forbidden=[], sure=True)
    arcs = bench.strengths(found["result"]["models"][0])
    assert arcs
    assert all(arc["p"] == known[arc["tail"], arc["head"]] for arc in arcs)


def test_a_queue_goes_on_after_a_new_start(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    table = bench.shipped_table("house_votes")
    keys = [bench.add_job({"seed": 0, "table": table, **CLASSES}) for _ in range(2)]
    bench.workspace.keep("jobs", keys[0], {"status": "running"})
    bench.workspace.close()
    started: list[str] = []
    monkeypatch.setattr("lacunary.workbench.jobs.Jobs._start", lambda self, key: started.append(key))
    again = Bench(bench.workspace.folder)
    assert [again.jobs.shown(key)["status"] for key in keys] == ["stopped", "queued"]  # cut off, not failed
    assert started == [keys[1]]


def test_a_mixture_and_the_holes_it_fills(bench: Bench, do: Do) -> None:
    asked: dict[str, Any] = {"structure": "empty", "noise": False, "max_parents": None}
    found = do(kind="mixture", **asked, **{"from": 2, "to": 2})
    verb = lac.fit_mixture(lac.house_votes(), components=[2], structure="empty")
    [key] = found["result"]["models"]
    assert bench.model_record(key)["estimates"][0]["value"] == verb.estimate.value
    assert "2 components" in report(bench, found)
    filled = do(kind="impute", model=key, how="draw", copies=2)
    [file] = filled["result"]["files"]
    table = lac.read(bench.workspace.place("jobs", filled["id"]) / file["file"], kinds="discrete")
    assert len(table) == 2 * 435
    assert not table.holes.any()
    assert sorted(set(table["copy"])) == [1, 2]
    expected = lac.impute(verb.mixture, lac.house_votes(), how="draw", copies=2, rng=0)
    assert table["crime"].tolist() == expected["crime"].tolist()


def test_what_cannot_be_done_says_why(do: Do) -> None:
    found = do(**{**CLASSES, "hidden": "crime"})
    assert found["status"] == "failed"
    assert "crime" in found["error"]


def test_a_job_that_was_stopped_goes_on_to_the_same_end(
    bench: Bench, do: Do, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = do(**CLASSES)
    monkeypatch.setattr("lacunary.workbench.telling.CHECKPOINT", 0.0)
    monkeypatch.setattr("lacunary.workbench.telling.EVERY", 0.0)
    asked: dict[str, Any] = {"seed": 0, "table": bench.shipped_table("house_votes"), **CLASSES}
    key = bench.add_job(asked)
    folder = bench.workspace.folder / "jobs" / key
    told: list[Any] = []

    def hear(self: Any, progress: Any) -> None:
        told.append(progress)
        if len(told) == 3:
            (folder / "stop").touch()

    monkeypatch.setattr("lacunary.workbench.telling.Job.tell", hear)
    assert main(str(folder)) == 3
    bench.workspace.keep("jobs", key, {"status": "running"})
    bench.jobs._settle(key)
    assert bench.jobs.shown(key)["status"] == "stopped"
    assert bench.jobs.shown(key)["resumable"]
    bench.jobs.resume(key)
    assert main(str(folder)) == 0
    bench.workspace.keep("jobs", key, {"status": "running"})
    bench.jobs._settle(key)
    ours, theirs = (
        [bench.models.asked(model).parts[0].theta.tolist() for model in job["result"]["models"]]
        for job in (bench.jobs.shown(key), whole)
    )
    assert ours == theirs


def start(folder: Path) -> tuple[subprocess.Popen[str], Client]:
    """Start a workbench as a user does; return it and someone who talks to it."""
    command = [sys.executable, "-m", "lacunary", "workbench", "--no-browser", "--workspace", str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    lines = [process.stdout.readline().strip() for _ in range(2)]
    found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/#token=([\w-]{43})", lines[1])
    assert found, lines
    return process, Client(int(found[1]), found[2])


def test_a_killed_server_loses_nothing(tmp_path: Path) -> None:
    process, client = start(tmp_path / "space")
    try:
        table = client.post("/api/tables/shipped", {"name": "house_votes"})["id"]
        asked = {**CLASSES, "table": table, "to": 60, "starts": 300}  # longer than the test waits
        job = client.post("/api/jobs", asked)["id"]
        checkpoint = tmp_path / "space" / "jobs" / job / "checkpoint.json"
        for _ in range(9000):
            if checkpoint.exists():
                break
            sleep(0.1)
        assert checkpoint.exists()
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()
    with running(tmp_path / "space") as again:
        found = again.get(f"/api/jobs/{job}")
        assert (found["status"], found["resumable"]) == ("stopped", True)
        assert again.get(f"/api/tables/{table}")["rows"] == 435
    lac.load(checkpoint, lac.ClassesTrail)
    for _ in range(1200):  # the job's own process hears that nobody listens, and ends
        if not _alive(tmp_path / "space" / "jobs" / job):
            break
        sleep(0.1)
    assert not _alive(tmp_path / "space" / "jobs" / job)


def _alive(folder: Path) -> list[str]:
    found = []
    for entry in Path("/proc").iterdir() if Path("/proc").is_dir() else ():
        try:
            if entry.name.isdigit() and str(folder) in (entry / "cmdline").read_text(errors="replace"):
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_a_real_job_runs_in_a_process_of_its_own_and_is_heard(tmp_path: Path) -> None:
    with running(tmp_path / "space") as client:
        table = client.post("/api/tables/shipped", {"name": "house_votes"})["id"]
        job = client.post("/api/jobs", {"kind": "fit", "table": table, "arcs": [["party", "crime"]]})
        assert job["status"] in ("queued", "running")
        found = client.ended(job["id"])
        assert found["status"] == "done", found
        assert client.get("/api/workspace")["models"][0]["id"] == found["result"]["models"][0]
        status, _, _ = client.raw("DELETE", f"/api/tables/{table}", b"{}")
        assert status == 200
        assert client.get("/api/workspace")["models"] == []


def test_two_servers_do_not_share_a_workspace(tmp_path: Path) -> None:
    with running(tmp_path / "space"), pytest.raises(lac.FileError, match="in use by another"):
        Bench(tmp_path / "space")


def test_what_a_killed_writer_left_is_no_record(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "space")
    key = bench.shipped_table("house_votes")
    bench.close()
    (tmp_path / "space" / "models" / "0123456789abcdef").mkdir()
    (tmp_path / "space" / "jobs" / "0123456789abcdef").mkdir()
    (tmp_path / "space" / "jobs" / "0123456789abcdef" / "meta.json").write_text('{"kind": ', encoding="utf-8")
    again = Bench(tmp_path / "space")
    assert [record["id"] for record in again.workspace.every("tables")] == [key]
    assert again.workspace.every("jobs") == again.workspace.every("models") == []
    again.close()
