"""Jobs: a queue, a process for each that runs, and what is told of them to everyone who listens."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import RLock, Thread, Timer
from time import time
from typing import Any

import lacunary as lac
from lacunary.workbench.tables import Tables
from lacunary.workbench.workspace import Workspace

__all__ = ["Hub", "JobLimits", "Jobs"]

GRACE = 20.0
"""Seconds in which a job that was asked to stop may come to a place where it can."""

LISTENERS = 32
OVER = ("done", "failed", "stopped")


@dataclass(frozen=True)
class JobLimits:
    """How many jobs run at a time, and the most memory (bytes) and processor time (seconds) of each."""

    at_once: int = 2
    memory: int = 16 * 2**30
    seconds: int = 24 * 3600
    waiting: int = 50


class Hub:
    """Everyone who listens: each has a queue of events, from which the oldest fall out if nobody reads."""

    def __init__(self) -> None:
        self._queues: dict[asyncio.Queue[dict[str, Any]], asyncio.AbstractEventLoop] = {}
        self._lock = RLock()

    @contextmanager
    def listening(self) -> Iterator[asyncio.Queue[dict[str, Any]]]:
        """Give a queue of all that is told from now on."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue(maxsize=200)
        with self._lock:
            if len(self._queues) >= LISTENERS:
                raise lac.ParameterError(f"{LISTENERS} pages listen already; close one")
            self._queues[queue] = asyncio.get_running_loop()
        try:
            yield queue
        finally:
            with self._lock:
                del self._queues[queue]

    def tell(self, event: dict[str, Any]) -> None:
        """Tell everyone, from any thread."""
        with self._lock:
            for queue, loop in self._queues.items():
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(_put, queue, event)


def _put(queue: asyncio.Queue[dict[str, Any]], event: dict[str, Any]) -> None:
    while queue.full():
        queue.get_nowait()
    queue.put_nowait(event)


class Jobs:
    """The jobs of a workspace."""

    def __init__(self, workspace: Workspace, tables: Tables, hub: Hub, limits: JobLimits) -> None:
        self.workspace, self.tables, self.hub, self.limits = workspace, tables, hub, limits
        self._running: dict[str, subprocess.Popen[str]] = {}
        self._progress: dict[str, dict[str, Any]] = {}
        self._lock = RLock()
        self._closed = False
        for record in workspace.every("jobs"):
            if record["status"] not in OVER:
                self._settle(record["id"], cut_off=True)
        self._next()

    def shown(self, key: str) -> dict[str, Any]:
        """Return a job, with its progress."""
        record = self.workspace.record("jobs", key)
        names = ("id", "kind", "table", "table_name", "title", "status", "say", "error", "created", "ended")
        out = {name: record.get(name) for name in names}
        folder = self.workspace.folder / "jobs" / key
        out |= {
            "options": record.get("options", {}),
            "progress": self._progress.get(key),
            "resumable": record["status"] == "stopped" and (folder / "checkpoint.json").exists(),
            "result": record.get("result"),
        }
        return out

    def every(self) -> list[dict[str, Any]]:
        """Return all jobs, the oldest first."""
        return [self.shown(record["id"]) for record in self.workspace.every("jobs")]

    def add(self, kind: str, table: str, options: dict[str, Any], title: str) -> str:
        """Put a job in the queue; return its key."""
        record = self.workspace.record("tables", table)
        waiting = sum(r["status"] in ("queued", "running") for r in self.workspace.every("jobs"))
        if waiting >= self.limits.waiting:
            raise lac.ParameterError(f"{waiting} jobs are waiting; let some end first")
        key, folder = self.workspace.new("jobs")
        asked = {
            "kind": kind,
            "options": options,
            "table_path": str(self.tables.path(table)),
            "table_settings": record["settings"],
            "table_name": record["name"],
            "limits": {"memory": self.limits.memory, "seconds": self.limits.seconds},
        }
        lac.write_whole(folder / "job.json", json.dumps(asked, indent=1))
        meta = {
            "kind": kind,
            "table": table,
            "table_name": record["name"],
            "title": title,
            "options": options,
        }
        self._change(key, {**meta, "status": "queued", "settings": record["settings"]})
        self._next()
        return key

    def stop(self, key: str) -> None:
        """Have a job stop where it is; it can be taken up again if it has got anywhere."""
        with self._lock:
            record = self.workspace.record("jobs", key)
            if record["status"] == "queued":
                self._change(key, {"status": "stopped", "ended": time()})
            process = self._running.get(key)
            if process is not None:
                (self.workspace.folder / "jobs" / key / "stop").touch()
                timer = Timer(GRACE, process.kill)
                timer.daemon = True
                timer.start()

    def resume(self, key: str) -> None:
        """Take up a job that was stopped; it ends where it would have ended."""
        with self._lock:
            record = self.workspace.record("jobs", key)
            if record["status"] not in ("stopped", "failed"):
                raise lac.ParameterError(
                    f"the job is {record['status']}; only one that was stopped can go on"
                )
            folder = self.workspace.folder / "jobs" / key
            asked = json.loads((folder / "job.json").read_text(encoding="utf-8"))
            lac.write_whole(folder / "job.json", json.dumps({**asked, "resume": True}, indent=1))
            for name in ("stop", "problem.json"):
                (folder / name).unlink(missing_ok=True)
            self._change(key, {"status": "queued", "error": None, "ended": None})
        self._next()

    def drop(self, key: str) -> None:
        """Forget a job; one that runs is ended."""
        with self._lock:
            process = self._running.pop(key, None)
            if process is not None:
                process.kill()
            self.workspace.drop("jobs", key)
            self._progress.pop(key, None)
        self.hub.tell({"type": "gone", "kind": "jobs", "id": key})
        self._next()

    def close(self) -> None:
        """Stop all that runs; checkpoints are kept."""
        with self._lock:
            self._closed = True
            for key in self._running:
                (self.workspace.folder / "jobs" / key / "stop").touch()
            waited = list(self._running.values())
        for process in waited:
            try:
                process.wait(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()

    def _next(self) -> None:
        """Start what waits, as far as there is room."""
        with self._lock:
            for record in self.workspace.every("jobs"):
                if self._closed or len(self._running) >= self.limits.at_once:
                    return
                if record["status"] == "queued" and record["id"] not in self._running:
                    self._start(record["id"])

    def _start(self, key: str) -> None:
        folder = self.workspace.folder / "jobs" / key
        command = [sys.executable, "-m", "lacunary.workbench.worker", str(folder)]
        log = open(folder / "log.txt", "w", encoding="utf-8")  # noqa: SIM115 - the process keeps it
        environment = {**os.environ, "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1")}
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True, env=environment
        )
        log.close()
        self._running[key] = process
        self._change(key, {"status": "running", "began": time()})
        Thread(target=self._listen, args=(key, process), daemon=True).start()

    def _listen(self, key: str, process: subprocess.Popen[str]) -> None:
        """Hear what a job tells until it ends."""
        assert process.stdout is not None
        for line in process.stdout:
            try:
                self._progress[key] = json.loads(line)
            except ValueError:
                continue
            self.hub.tell({"type": "progress", "id": key, "progress": self._progress[key]})
        process.stdout.close()
        process.wait()
        with self._lock:
            mine = self._running.pop(key, None)
            if mine is not None and not self._closed and self.workspace.has("jobs", key):
                self._settle(key)
        if mine is not None:
            self._next()

    def _settle(self, key: str, cut_off: bool = False) -> None:
        """Say how a job that runs no more has ended, by what it left; take in the models it found.

        A job that was ``cut_off``, because its server ended, has not failed.
        """
        folder = self.workspace.folder / "jobs" / key
        record = self.workspace.record("jobs", key)
        if record["status"] == "queued" and not (folder / "result.json").exists():
            return
        result, problem = _loaded(folder / "result.json"), _loaded(folder / "problem.json")
        if result is not None:
            models = [self._take(key, i, one, record) for i, one in enumerate(result.get("models", []))]
            kept = {**result, "models": models}
            self._change(key, {"status": "done", "say": result.get("say"), "result": kept, "ended": time()})
        elif problem is not None:
            self._change(key, {"status": "failed", "error": problem.get("error"), "ended": time()})
        elif cut_off or (folder / "stop").exists() or (folder / "checkpoint.json").exists():
            self._change(key, {"status": "stopped", "ended": time()})
        else:
            said = _last(folder / "log.txt") or "it ended without a word; it may have taken too much memory"
            self._change(key, {"status": "failed", "error": said, "ended": time()})

    def _take(self, job: str, i: int, one: dict[str, Any], record: dict[str, Any]) -> str:
        """Take a model that a job found into the workspace; the same once again if it was taken before."""
        key, place = self.workspace.new("models", f"{job}{i:02x}")
        source = self.workspace.folder / "jobs" / job / str(one["file"])
        if source.exists():
            shutil.move(source, place / "model.json")
        about = {name: value for name, value in one.items() if name != "file"}
        made = {
            "job": job,
            "table": record["table"],
            "table_name": record["table_name"],
            "by": record["kind"],
        }
        self.workspace.keep("models", key, {**about, **made})
        self.hub.tell({"type": "model", "id": key})
        return key

    def _change(self, key: str, change: dict[str, Any]) -> None:
        self.workspace.keep("jobs", key, change)
        self.hub.tell({"type": "job", "id": key})


def _loaded(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return found if isinstance(found, dict) else None
    except (OSError, ValueError):
        return None


def _last(path: Path) -> str:
    """Return the last line that a job wrote as it failed."""
    with suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1][:500] if lines else ""
    return ""
