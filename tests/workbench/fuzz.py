"""Requests drawn at random, nearly right and wholly wrong: none may make the server fail (status 500)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

from tests.workbench.client import Client

TEXTS = [
    "",
    "crime",
    "party",
    "lung",
    "x" * 600,
    "\x00",
    "\ud800",
    "<b>",
    "../..",
    "é\u202e",
    "component",
    "class",
]
NUMBERS: list[Any] = [0, 1, -1, 2, 10**18, 10**400, 0.5, -0.0, 1e308, float("nan"), float("inf"), True, None]
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS"]
WORDS = [
    "given",
    "target",
    "targets",
    "kind",
    "table",
    "row",
    "state",
    "value",
    "likelihood",
    "arcs",
    "hidden",
    "drop",
]

READINGS: list[dict[str, Any]] = [
    {},
    {"encoding": "utf-16"},
    {"encoding": "klingon"},
    {"delimiter": "\t", "quote": ""},
    {"header": 0, "skip": 2, "skip_end": 10**6},
    {"header": -1},
    {"comment": "#", "thousands": ".", "ragged": True},
    {"names": ["a", "a"], "sheet": "S"},
    {"day_first": "yes", "dates": "parts"},
]


class Fuzz:
    """Draws requests about a workspace with two tables and two models."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client, self.random = client, Random(seed)
        self.tables = [
            client.post("/api/tables/shipped", {"name": n})["id"] for n in ("house_votes", "soybean")
        ]
        self.models = [client.post("/api/models/shipped", {"name": n})["id"] for n in ("asia", "alarm")]
        described = client.get("/api/openapi.json")
        paths = {path: told for path, told in described["paths"].items() if path != "/api/events"}
        self.paths = [(path, method.upper()) for path, told in paths.items() for method in told]

    def one(self) -> tuple[int, str]:
        """Send one request; return its status and what it was."""
        template, method = self.random.choice(self.paths)
        if self.random.random() < 0.1 or method == "DELETE":
            method = self.random.choice(METHODS)
        path = self._path(template)
        body = self._body(path)
        kind = self.random.choice(["application/json"] * 9 + ["application/octet-stream"])
        headers = self.client.headers(Content_Type=kind)
        try:
            status, _, _ = self.client.raw(method, path, b"" if method == "GET" else body, headers)
        except (ConnectionError, TimeoutError) as problem:
            return 599, f"{method} {path} {body[:300]!r}: {problem!r}"
        return status, f"{method} {path} {body[:300]!r}"

    def _path(self, path: str) -> str:
        keys = self.models if "models" in path else self.tables
        key = self.random.choice(keys) if self.random.random() < 0.8 else self._text()
        path = path.replace("{key}", quote(key.encode("utf-8", "replace"), safe=""))
        path = path.replace("{number}", str(self.random.choice([0, 1, -1, "x"])))
        if self.random.random() < 0.5:
            names = [
                "name",
                "variable",
                "component",
                "format",
                "start",
                "count",
                "missing",
                "table",
                "complete",
            ]
            told = [
                f"{self.random.choice(names)}={quote(str(self._leaf()).encode('utf-8', 'replace'))}"
                for _ in range(2)
            ]
            path += "?" + "&".join(told)
        return path.replace("\x00", "%00").replace(" ", "%20")

    def _body(self, path: str) -> bytes:
        if self.random.random() < 0.05:
            return self.random.randbytes(self.random.randrange(60))
        if self.random.random() < 0.03:
            return b"[" * 5000
        made = self._fitting(path) if self.random.random() < 0.7 else self._tree(3)
        return json.dumps(made).encode("utf-8", "replace")

    def _fitting(self, path: str) -> Any:
        """Return a body that has the right words, with values that may be right."""
        draw = self.random
        given = {self._name(): self._finding() for _ in range(draw.randrange(4))}
        if path.startswith("/api/jobs"):  # never one that would run: what is asked must be refused
            return {
                "kind": draw.choice(["classes", "search", "fit", "compare", "nothing"]),
                "table": self._text(),
                "to": self._leaf(),
            }
        if "shipped" in path:
            return {"name": draw.choice(["asia", "alarm", "house_votes", self._leaf()])}
        if path.startswith("/api/tables"):
            words = {
                "drop": [self._name()],
                "kinds": {self._name(): draw.choice(["discrete", "continuous", "x"])},
            }
            more = {
                "states": {self._name(): ["y", "n", self._leaf()]},
                "rename": {self._name(): self._text()},
                "holes": [self._text()],
                "decimal": draw.choice([".", ",", "x"]),
                **draw.choice(READINGS),
                "weights": self._name(),
                "ordered": [self._name()],
            }
            return {k: v for k, v in {**words, **more}.items() if draw.random() < 0.4}
        body: dict[str, Any] = {"given": given}
        if draw.random() < 0.6:
            body["target"] = self._name()
        if "script" in path:
            body = {"given": given, "targets": [self._name()]}
        if path.endswith("row"):
            body = {"table": draw.choice(self.tables), "row": draw.choice([1, 5, 435, 436, 10**12, -1])}
        if "versus" in path:
            body = {
                "table": draw.choice(self.tables),
                "a": draw.choice(self.models),
                "b": draw.choice(self.models),
            }
        return body

    def _finding(self) -> Any:
        draw = self.random
        return draw.choice(
            [
                {"state": draw.choice([0, 1, 2, 50, -1])},
                {"value": self._leaf()},
                {
                    "likelihood": [
                        draw.choice([0, 1, 0.5, 1e-300, 1e100, -1]) for _ in range(draw.randrange(5))
                    ]
                },
                {},
                None,
                {"state": 0, "value": 1.5},
                self._leaf(),
            ]
        )

    def _name(self) -> str:
        return self.random.choice(["lung", "smoke", "HR", "BP", "crime", "party", "dysp", self._text()])

    def _text(self) -> str:
        return self.random.choice(TEXTS)

    def _leaf(self) -> Any:
        return self.random.choice([*NUMBERS, *TEXTS])

    def _tree(self, depth: int) -> Any:
        if depth == 0 or self.random.random() < 0.3:
            return self._leaf()
        if self.random.random() < 0.5:
            return [self._tree(depth - 1) for _ in range(self.random.randrange(4))]
        return {
            self.random.choice([*WORDS, self._text()]): self._tree(depth - 1)
            for _ in range(self.random.randrange(4))
        }


def campaign(folder: Path, requests: int, seed: int) -> dict[int, int]:
    """Send many requests; return how often each status came, and raise at a failure."""
    from tests.workbench.client import running

    counts: dict[int, int] = {}
    with running(folder) as client:
        fuzz = Fuzz(client, seed)
        for k in range(requests):
            if k % 2000 == 1999:  # tables that were dropped or read otherwise come back
                fuzz = Fuzz(client, seed + k)
            status, told = fuzz.one()
            counts[status] = counts.get(status, 0) + 1
            assert status < 500 or status == 501, told
    return counts
