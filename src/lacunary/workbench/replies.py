"""How requests are answered: JSON that any reader takes, and what went wrong in a sentence."""

from __future__ import annotations

import json
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

import lacunary as lac
from lacunary.workbench.guard import TooLarge
from lacunary.workbench.plain import plain
from lacunary.workbench.workspace import Unknown

__all__ = ["Plain", "complaints"]


class Plain(Response):
    """JSON in ASCII, so that a name with half a letter in it can be sent as well."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Return the bytes that are sent."""
        return json.dumps(plain(content), ensure_ascii=True, separators=(",", ":")).encode()


def complaints(app: FastAPI) -> None:
    """Have what a client can put right told in a sentence."""

    @app.exception_handler(Unknown)
    def unknown(request: Request, problem: Exception) -> Response:
        return Plain({"error": str(problem)}, 404)

    @app.exception_handler(TooLarge)
    def large(request: Request, problem: Exception) -> Response:
        return Plain({"error": "more was sent than the limit allows"}, 413)

    @app.exception_handler(ClientDisconnect)
    def gone(request: Request, problem: Exception) -> Response:
        return Plain({"error": "what was sent ends before its end"}, 400)  # which nobody hears any more

    @app.exception_handler(lac.LacunaryError)
    def wrong(request: Request, problem: Exception) -> Response:
        return Plain({"error": str(problem)}, 422)

    @app.exception_handler(RequestValidationError)
    def malformed(request: Request, problem: Any) -> Response:
        told = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in problem.errors()[:5])
        return Plain({"error": told[:2000]}, 422)
