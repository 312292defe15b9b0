"""One job in a process of its own: ``python -m lacunary.workbench.worker FOLDER``.

It reads ``job.json``, tells of its progress on the standard output, a line of JSON each, writes checkpoints,
and at the end ``result.json``. It stops when a file ``stop`` appears, or when nobody listens any more: a
server that was killed leaves no process behind and loses nothing.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from time import sleep
from typing import Any

import lacunary as lac
from lacunary.workbench.plain import plain
from lacunary.workbench.telling import Job, Stopped
from lacunary.workbench.work import WORK

__all__ = ["main"]

LOOK, GRACE = 1.0, 20.0
"""Seconds between two looks for the server, and in which a job without one may come to a place to stop."""


def _limit(limits: dict[str, Any]) -> None:
    """Have the system end this process if it takes more memory or time than it may."""
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows has no such limits
        return
    for kind, most in (
        (resource.RLIMIT_AS, limits.get("memory")),
        (resource.RLIMIT_CPU, limits.get("seconds")),
    ):
        if most:
            hard = resource.getrlimit(kind)[1]
            with suppress(ValueError, OSError):
                soft = int(most) if hard == resource.RLIM_INFINITY else min(int(most), hard)
                resource.setrlimit(kind, (soft, hard))


def _end_with(server: int) -> None:
    """Have this process end soon after its server has, even if it has nothing to tell meanwhile."""

    def watch() -> None:
        while os.getppid() == server:
            sleep(LOOK)
        os.kill(os.getpid(), signal.SIGINT)
        sleep(GRACE)
        os._exit(3)

    Thread(target=watch, daemon=True).start()


def main(folder: str) -> int:
    """Do a job; return 0 if it was done, 3 if it was stopped, 1 if it cannot be done."""
    place = Path(folder)
    job = Job(place)
    _limit(job.asked.get("limits", {}))
    with suppress(OSError):
        os.nice(5)  # clicks are answered first
    try:
        result = WORK[job.asked["kind"]](job)
    except (Stopped, KeyboardInterrupt):
        job.checkpoint.write()
        return 3
    except (lac.LacunaryError, MemoryError, OSError) as problem:
        said = (
            "it needs more memory than a job may have" if isinstance(problem, MemoryError) else str(problem)
        )
        lac.write_whole(place / "problem.json", json.dumps({"error": said}))
        return 1
    done = {**plain(result), "models": plain(job.models), "files": job.files}
    lac.write_whole(place / "result.json", json.dumps(done) + "\n")
    return 0


if __name__ == "__main__":
    _end_with(os.getppid())
    raise SystemExit(main(sys.argv[1]))
