"""Who may ask the server what: host, token, origin, kind and size of what is sent, and what a page may load.

A page of some other site can make a browser send requests to a server on the same machine. What it cannot do
is read our URL's fragment, set a bearer header, or fake ``Host`` and ``Origin``: each of these is asked for.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

__all__ = ["API", "CSP", "Guard", "Limits", "TooLarge", "hosts_of"]

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

API = "/api/"
"""Where everything begins that needs the token."""

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load: nothing but what this server has."""

HEADERS = {
    "content-security-policy": CSP,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}

SAFE = ("GET", "HEAD")
JSON, BYTES = "application/json", "application/octet-stream"


@dataclass(frozen=True)
class Limits:
    """How much one request may send, in bytes."""

    json: int = 4 * 2**20
    upload: int = 512 * 2**20


class TooLarge(Exception):
    """More was sent than may be."""


def hosts_of(host: str, port: int) -> frozenset[str]:
    """Return what the ``Host`` header of a request to us may say, in small letters."""
    names = {"127.0.0.1", "localhost"} if host in ("127.0.0.1", "localhost") else {host}
    names = {f"[{name}]" if ":" in name else name for name in names}
    return frozenset({f"{name}:{port}" for name in names} | (names if port == 80 else set()))


@dataclass(frozen=True)
class Guard:
    """A door in front of an application: what does not pass is answered here.

    Attributes
    ----------
    app
        The application behind it.
    token
        What everything under `API` needs as ``Authorization: Bearer``.
    hosts
        What ``Host`` may be; see `hosts_of`.
    origin
        Whether a request that is no GET needs our ``Origin``; a service that changes nothing takes requests
        without one, too, but never those of another page.
    limits
        How much may be sent.
    """

    app: App
    token: str
    hosts: frozenset[str]
    origin: bool = True
    limits: Limits = Limits()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or say why not."""
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        api = scope["path"].startswith(API)
        refusal = self._refusal(scope, api)
        if refusal is not None:
            return await _answer(send, *refusal)
        return await self._passed(scope, receive, send, api)

    async def _passed(self, scope: Scope, receive: Receive, send: Send, api: bool) -> None:
        most = self.limits.upload if _kind(_headers(scope)) == BYTES else self.limits.json
        begun, taken = False, 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > most:
                raise TooLarge
            return message

        async def dressed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                own = [*message.get("headers", []), *_encoded(HEADERS)]
                own += [(b"cache-control", b"no-store")] if api else []
                message = {**message, "headers": own}
            await send(message)

        try:
            await self.app(scope, counted, dressed)
        except TooLarge:
            if not begun:
                await _answer(send, 413, f"more than {most} bytes were sent; that is the limit")

    def _refusal(self, scope: Scope, api: bool) -> tuple[int, str] | None:
        """Return why a request may not pass, as a status and a sentence; None if it may."""
        headers, changing = _headers(scope), scope["method"] not in SAFE
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return 421, "this server answers to its own address alone"
        if headers.get("sec-fetch-site", ["none"])[-1] not in ("none", "same-origin"):
            return 403, "requests of other pages are not answered"
        if changing and not api:
            return 405, "only the programming interface takes this"
        if api and not self._knows_token(headers.get("authorization", [])):
            return 401, "the token is missing or wrong: open the address that was printed at the start"
        return self._refused_change(headers, hosts[0].lower()) if changing else None

    def _refused_change(self, headers: dict[str, list[str]], host: str) -> tuple[int, str] | None:
        origins = headers.get("origin", [])
        if (origins or self.origin) and origins != [f"http://{host}"]:
            return 403, "requests that change something need this server's own Origin"
        if _kind(headers) not in (JSON, BYTES):
            return 415, f"what is sent must be {JSON} or {BYTES}"
        most = self.limits.upload if _kind(headers) == BYTES else self.limits.json
        length = headers.get("content-length", ["0"])[-1]
        if not length.isdecimal() or int(length) > most:
            return 413, f"more than {most} bytes were announced; that is the limit"
        return None

    def _knows_token(self, given: list[str]) -> bool:
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        return scheme.lower() == "bearer" and compare_digest(token.encode(), self.token.encode())


def _headers(scope: Scope) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in scope["headers"]:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def _kind(headers: dict[str, list[str]]) -> str:
    return headers.get("content-type", [""])[-1].partition(";")[0].strip().lower()


def _encoded(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _answer(send: Send, status: int, sentence: str) -> None:
    body = json.dumps({"error": sentence}).encode()
    headers = {**HEADERS, "content-type": JSON, "content-length": str(len(body)), "cache-control": "no-store"}
    await send({"type": "http.response.start", "status": status, "headers": _encoded(headers)})
    await send({"type": "http.response.body", "body": body})
