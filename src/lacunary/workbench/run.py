"""Starting the server: a port on this machine, a token, an address on a line of its own."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Thread, Timer
from typing import Any

import uvicorn

import lacunary as lac
from lacunary.workbench.api import application
from lacunary.workbench.bench import Bench
from lacunary.workbench.guard import Guard, Limits, hosts_of
from lacunary.workbench.jobs import JobLimits
from lacunary.workbench.service import Service, service

__all__ = ["LOOPBACK", "Server", "serve_model", "workbench"]

LOOPBACK = ("127.0.0.1", "localhost")
WARM = (
    ("warm-up", "--only", "query"),
    ("classes", "house_votes", "--components", "2", "--starts", "2"),
)
"""Commands that compile the kernels which clicks and first jobs need, each in a process of its own."""


class _Ending(uvicorn.Server):
    """A server that says beforehand that it ends, so that streams do not keep it waiting."""

    def __init__(self, config: uvicorn.Config, ending: Callable[[], None]) -> None:
        super().__init__(config)
        self.ending = ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End all streams, and then the server."""
        self.ending()
        logging.getLogger("uvicorn.error").disabled = True  # what is cut off now is no error
        await asyncio.sleep(0.05)
        await super().shutdown(sockets)


class Server:
    """A server that listens already, and its address; `run` answers until it is ended."""

    def __init__(
        self,
        make: Callable[[str, frozenset[str]], Any],
        host: str,
        port: int,
        ending: Callable[[], None] = lambda: None,
    ) -> None:
        self.token = secrets.token_urlsafe(32)
        self.socket = _listening(host, port)
        self.host, self.port = host, int(self.socket.getsockname()[1])
        app = make(self.token, hosts_of(host, self.port))
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=2,
            lifespan="off", ws="none", timeout_keep_alive=30, h11_max_incomplete_event_size=64 * 1024,
        )  # fmt: skip
        self.server = _Ending(config, ending)

    @property
    def address(self) -> str:
        """Where it answers."""
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}/"

    def run(self) -> None:
        """Answer until ended, by a signal or by `stop`."""
        with suppress(KeyboardInterrupt):
            self.server.run(sockets=[self.socket])

    def stop(self) -> None:
        """Have `run` return soon."""
        self.server.should_exit = True


def _listening(host: str, port: int) -> socket.socket:
    try:
        # Named as TCP, or asyncio leaves Nagle's algorithm on, and answers wait 40 ms now and then.
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
        found.listen(128)  # whoever comes before all is loaded waits, and is answered
    except (OSError, OverflowError) as problem:
        raise lac.ParameterError(
            f"cannot listen on {host}:{port}: {problem}; name another --port, or none to have a free one"
        ) from None
    return found


def workbench(
    files: list[str],
    folder: Path,
    host: str,
    port: int,
    browser: bool,
    say: Callable[[str], None],
    limits: JobLimits | None = None,
) -> None:
    """Open files in a workspace and answer its page until interrupted."""
    bench = Bench(folder, limits)
    try:
        where = [_opened(bench, name) for name in files]
        make: Any = lambda token, hosts: Guard(application(bench), token, hosts)  # noqa: E731
        server = Server(make, host, port, lambda: bench.hub.tell({"type": "end"}))
        url = f"{server.address}#token={server.token}" + (f"&open={where[0]}" if where else "")
        say(f"workspace: {bench.workspace.folder}")
        say(url)
        _warm()
        if browser:
            timer = Timer(0.3, webbrowser.open, [url])
            timer.daemon = True
            timer.start()
        server.run()
    finally:
        bench.close()


def _opened(bench: Bench, name: str) -> str:
    if not os.path.exists(name) and name in ("house_votes", "soybean"):
        return f"table/{bench.shipped_table(name)}"
    if not os.path.exists(name) and name in ("asia", "alarm"):
        return f"graph/{bench.shipped_model(name)}"
    return bench.open(Path(name))


def _warm() -> None:
    """Have another process compile what answers clicks, so that nobody waits for it; then load it here."""

    def warm() -> None:
        for words in WARM:
            program = [sys.executable, "-m", "lacunary", *words]
            if subprocess.run(program, capture_output=True, check=False).returncode != 0:
                return
        from lacunary.workbench.asking import Asked

        for _ in range(200):  # for so long that what is compiled is loaded
            Asked(lac.asia()).ask({"smoke": "yes"})

    Thread(target=warm, daemon=True).start()


def serve_model(model: str, host: str, port: int, say: Callable[[str], None], limits: Any = None) -> None:
    """Answer questions about one model until interrupted."""
    bounds = limits or Service()
    app = service(model, bounds)
    make: Any = lambda token, hosts: Guard(  # noqa: E731
        app, token, hosts, origin=False, limits=Limits(json=bounds.most_bytes, upload=0)
    )
    server = Server(make, host, port)
    say(f"{server.address}api/")
    say(f"Authorization: Bearer {server.token}")
    server.run()
