"""A server in a thread, and someone who talks to it over a real socket."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any

from lacunary.workbench.api import application
from lacunary.workbench.bench import Bench
from lacunary.workbench.guard import Guard, Limits
from lacunary.workbench.jobs import JobLimits
from lacunary.workbench.run import Server


class Client:
    """Requests as the page makes them."""

    def __init__(self, port: int, token: str) -> None:
        self.port, self.token = port, token

    def headers(self, **other: str | None) -> dict[str, str]:
        """Return what the page sends, some of it otherwise or, as None, not at all."""
        usual: dict[str, str | None] = {
            "Host": f"127.0.0.1:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Origin": f"http://127.0.0.1:{self.port}",
            "Content-Type": "application/json",
        }
        usual |= {name.replace("_", "-"): value for name, value in other.items()}
        return {name: value for name, value in usual.items() if value is not None}

    def raw(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers of an answer."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            told = self.headers() if headers is None else headers
            for name, value in told.items():
                connection.putheader(name, value)
            if (body or method not in ("GET", "HEAD")) and "Content-Length" not in told:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body or None)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, answer.read(), found
        finally:
            connection.close()

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Return status and JSON of an answer."""
        data = b"" if body is None else json.dumps(body).encode()
        status, answer, _ = self.raw(method, path, data)
        return status, json.loads(answer)

    def get(self, path: str) -> Any:
        status, answer = self.ask("GET", path)
        assert status == 200, answer
        return answer

    def post(self, path: str, body: Any) -> Any:
        status, answer = self.ask("POST", path, body)
        assert status == 200, answer
        return answer

    def upload(self, path: str, data: bytes) -> tuple[int, Any]:
        headers = self.headers(Content_Type="application/octet-stream")
        status, answer, _ = self.raw("POST", path, data, headers)
        return status, json.loads(answer)

    def ended(self, job: str, seconds: float = 1200) -> Any:
        """Return a job once it is over."""
        until = monotonic() + seconds
        while True:
            found = self.get(f"/api/jobs/{job}")
            if found["status"] in ("done", "failed", "stopped"):
                return found
            assert monotonic() < until, found
            sleep(0.1)


@contextmanager
def running(folder: Path, limits: Limits | None = None, jobs: JobLimits | None = None) -> Iterator[Client]:
    """Run a workbench on a folder."""
    bench = Bench(folder, jobs)
    made: Any = lambda token, hosts: Guard(application(bench), token, hosts, limits=limits or Limits())  # noqa: E731
    server = Server(made, "127.0.0.1", 0, lambda: bench.hub.tell({"type": "end"}))
    thread = Thread(target=server.run)
    thread.start()
    try:
        yield Client(server.port, server.token)
    finally:
        server.stop()
        thread.join(timeout=30)
        bench.close()
        server.socket.close()
