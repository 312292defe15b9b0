"""One model as a service: its answers are the verbs'."""

from __future__ import annotations

import json
from collections.abc import Iterator
from threading import Thread
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.workbench.guard import Guard
from lacunary.workbench.run import Server
from lacunary.workbench.service import Service, service
from tests.workbench.client import Client


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    app = service("asia", Service(most_questions=3, most_rows=5))
    made: Any = lambda token, hosts: Guard(app, token, hosts, origin=False)  # noqa: E731
    server = Server(made, "127.0.0.1", 0)
    thread = Thread(target=server.run)
    thread.start()
    yield Client(server.port, server.token)
    server.stop()
    thread.join(timeout=30)
    server.socket.close()


def test_queries(client: Client) -> None:
    found = client.post(
        "/api/query", {"targets": ["lung"], "given": {"smoke": "yes", "xray": {"yes": 0.9, "no": 0.2}}}
    )
    expected = lac.asia().query("lung", given={"smoke": "yes", "xray": {"yes": 0.9, "no": 0.2}})
    assert found["posterior"]["lung"] == pytest.approx(expected.to_dict(), abs=1e-12)
    assert set(client.post("/api/query", {})["posterior"]) == set(lac.asia().dag.names)


def test_many_questions_at_once(client: Client) -> None:
    questions = [{"targets": ["lung"]}, {"targets": ["nobody"]}]
    answers = client.post("/api/batch", {"questions": questions})["answers"]
    assert answers[0]["posterior"]["lung"]["yes"] == pytest.approx(lac.asia().query("lung")["yes"], abs=1e-12)
    assert "no variable 'nobody'" in answers[1]["error"]
    assert client.ask("POST", "/api/batch", {"questions": questions * 2})[0] == 422


def test_rows(client: Client) -> None:
    rows: list[dict[str, Any]] = [{"smoke": "yes", "dysp": "yes"}, {"xray": "no", "asia": None}]
    table = lac.read(
        {n: [row.get(n) for row in rows] for n in lac.asia().dag.names}, schema=lac.asia().dag.schema
    )
    found = client.post("/api/posterior", {"rows": rows, "targets": ["lung"]})["posterior"]["lung"]
    assert np.allclose(found, lac.asia().posterior(table, ["lung"])["lung"], rtol=0, atol=1e-12)
    filled = client.post("/api/impute", {"rows": rows})["rows"]
    expected = lac.impute(lac.asia(), table)
    assert [row["lung"] for row in filled] == expected["lung"].tolist()
    assert client.ask("POST", "/api/impute", {"rows": rows * 3})[0] == 422
    best = client.post("/api/explain", {"given": {"dysp": "yes"}})["explanation"]
    assert best == lac.asia().explain({"dysp": "yes"})


def test_no_origin_is_needed_and_no_other_one_taken(client: Client) -> None:
    body = json.dumps({"targets": ["lung"]}).encode()
    assert client.raw("POST", "/api/query", body, client.headers(Origin=None))[0] == 200
    assert client.raw("POST", "/api/query", body, client.headers(Origin="http://evil.example"))[0] == 403
    assert client.raw("POST", "/api/query", body, client.headers(Origin=None, Authorization=None))[0] == 401
