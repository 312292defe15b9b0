"""Requests that Schemathesis draws from the interface's own description: of the workbench, of the service."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from lacunary.workbench.api import application
from lacunary.workbench.bench import Bench
from lacunary.workbench.service import Service, service

schemathesis: Any = pytest.importorskip("schemathesis", reason="it needs later versions than we do")

FEW = 3
"""Requests drawn for each path; the campaign's profile draws a hundred."""

many = settings(
    max_examples=100 if os.environ.get("HYPOTHESIS_PROFILE") == "campaign" else FEW,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def send_all(app: Any) -> int:
    """Send requests to every path that an application describes; return how many paths there are.

    A failure of the server is an error. The stream of events is left out, as it never ends.
    """
    schema: Any = schemathesis.openapi.from_asgi("/api/openapi.json", app).exclude(path="/api/events")
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in operations:

        @many
        @given(case=operation.as_strategy())
        def send(case: Any) -> None:
            case.validate_response(case.call(timeout=600), checks=[schemathesis.checks.not_a_server_error])

        send()
    return len(operations)


def test_the_workbench_answers_what_it_describes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lacunary.workbench.jobs.Jobs._start", lambda self, key: None)  # none is to run
    bench = Bench(tmp_path / "space")
    assert send_all(application(bench)) > 25
    bench.close()


def test_the_service_answers_what_it_describes() -> None:
    assert send_all(service("asia", Service())) >= 5
