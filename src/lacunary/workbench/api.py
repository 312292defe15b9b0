"""What the page talks to: tables, jobs, models and questions, as a documented interface under ``/api``."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Body, FastAPI, Query, Request
from fastapi.responses import FileResponse, Response, StreamingResponse

import lacunary as lac
from lacunary.workbench import words
from lacunary.workbench.asking import Models
from lacunary.workbench.bench import Bench
from lacunary.workbench.page import STATIC
from lacunary.workbench.replies import Plain, complaints
from lacunary.workbench.workspace import Unknown

__all__ = ["STATIC", "application"]


TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
BEAT = 15.0
"""Seconds after which a stream in which nothing happens shows that it lives."""

JobAsked = Annotated[
    words.ClassesAsked
    | words.SearchAsked
    | words.MixtureAsked
    | words.FitAsked
    | words.CompareAsked
    | words.ImputeAsked,
    Body(discriminator="kind"),
]


def application(bench: Bench) -> FastAPI:
    """Return the application, behind which stands one workspace; `Guard` goes in front of it."""
    app = FastAPI(
        title="lacunary workbench",
        version=lac.__version__,
        description="Tables with holes, jobs that learn from them, and models that answer.",
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        default_response_class=Plain,
    )
    complaints(app)
    for router in (_tables(bench), _jobs(bench), _models(bench), _questions(bench), _whole(bench)):
        app.include_router(router, prefix="/api")
    app.add_api_route("/{name:path}", _static, methods=["GET", "HEAD"], include_in_schema=False)
    return app


def _static(name: str) -> Response:
    """Return one of the page's own files; no other is there."""
    wanted = name or "index.html"
    known = {path.name for path in STATIC.iterdir() if path.suffix in TYPES}
    if wanted not in known:
        return Plain({"error": "there is no such page"}, 404)
    return FileResponse(
        STATIC / wanted, media_type=TYPES[Path(wanted).suffix], headers={"cache-control": "no-cache"}
    )


def _tables(bench: Bench) -> APIRouter:
    route = APIRouter(tags=["tables"])

    @route.post("/tables", summary="Upload a table: its bytes, and the file's name")
    async def upload(request: Request, name: Annotated[str, Query(max_length=300)]) -> Any:
        path = await _received(bench, request)
        try:
            key = await _aside(bench.tables.add, name, path)
            return await _aside(bench.tables.shown, key)
        finally:
            path.unlink(missing_ok=True)

    @route.post("/tables/shipped", summary="Open a table that comes with the package")
    def shipped(asked: words.Named) -> Any:
        return bench.tables.shown(bench.shipped_table(asked.name))

    @route.get("/tables/{key}", summary="Columns, patterns of missing cells, notes of doubt")
    def shown(key: str) -> Any:
        return bench.tables.shown(key)

    @route.put("/tables/{key}", summary="Read a table otherwise")
    def change(key: str, settings: words.Settings) -> Any:
        bench.tables.change(key, settings.model_dump(exclude_defaults=True))
        bench.hub.tell({"type": "table", "id": key})
        return bench.tables.shown(key)

    @route.delete("/tables/{key}", summary="Forget a table, its models and its jobs")
    def drop(key: str) -> Any:
        bench.drop_table(key)
        return {"gone": key}

    @route.get("/tables/{key}/rows", summary="Some rows")
    def rows(
        key: str,
        start: Annotated[int, Query(ge=0, le=2**40)] = 0,
        count: Annotated[int, Query(ge=1, le=500)] = 50,
        missing: Annotated[list[str] | None, Query(max_length=5000)] = None,
        complete: bool = False,
    ) -> Any:
        return bench.tables.rows(key, start, count, [] if complete else missing)

    return route


def _jobs(bench: Bench) -> APIRouter:
    route = APIRouter(tags=["jobs"])

    @route.post("/jobs", summary="Put work in the queue")
    def add(asked: JobAsked) -> Any:
        return bench.jobs.shown(bench.add_job(asked.model_dump(by_alias=True)))

    @route.get("/jobs/{key}", summary="A job, with its progress")
    def shown(key: str) -> Any:
        return bench.jobs.shown(key)

    @route.post("/jobs/{key}/stop", summary="Stop a job; a checkpoint is kept")
    def stop(key: str) -> Any:
        bench.jobs.stop(key)
        return bench.jobs.shown(key)

    @route.post("/jobs/{key}/resume", summary="Take up a job that was stopped")
    def resume(key: str) -> Any:
        bench.jobs.resume(key)
        return bench.jobs.shown(key)

    @route.delete("/jobs/{key}", summary="Forget a job; its models stay")
    def drop(key: str) -> Any:
        bench.jobs.drop(key)
        return {"gone": key}

    @route.get("/jobs/{key}/files/{number}", summary="A file that a job wrote")
    def file(key: str, number: int) -> Response:
        files = (bench.workspace.record("jobs", key).get("result") or {}).get("files", [])
        if not 0 <= number < len(files):
            raise Unknown("the job wrote no such file")
        return _download(bench.workspace.place("jobs", key) / files[number]["file"], files[number]["name"])

    @route.get("/events", summary="What happens, as server-sent events")
    async def events(request: Request) -> Response:
        return StreamingResponse(_stream(bench, request), media_type="text/event-stream")

    return route


def _models(bench: Bench) -> APIRouter:
    route = APIRouter(tags=["models"])

    @route.post("/models", summary="Upload a model: its bytes, and the file's name")
    async def upload(
        request: Request,
        name: Annotated[str, Query(max_length=300)],
        table: Annotated[str | None, Query()] = None,
    ) -> Any:
        path = await _received(bench, request)
        try:
            return bench.model_shown(await _aside(bench.add_model, name, path, table))
        finally:
            path.unlink(missing_ok=True)

    @route.post("/models/shipped", summary="Open a network that comes with the package")
    def shipped(asked: words.Named) -> Any:
        return bench.model_shown(bench.shipped_model(asked.name))

    @route.get("/models/{key}", summary="Variables, arcs, estimates")
    def shown(key: str) -> Any:
        return bench.model_shown(key)

    @route.put("/models/{key}", summary="Give a model another name")
    def rename(key: str, asked: words.Renamed) -> Any:
        bench.workspace.record("models", key)
        bench.workspace.keep("models", key, {"name": asked.name})
        bench.hub.tell({"type": "model", "id": key})
        return bench.model_shown(key)

    @route.delete("/models/{key}", summary="Forget a model")
    def drop(key: str) -> Any:
        bench.workspace.drop("models", key)
        bench.models.forget([key])
        bench.hub.tell({"type": "gone", "kind": "models", "id": key})
        return {"gone": key}

    @route.get("/models/{key}/export", summary="The model as a file of some format, or as a page")
    def export(
        key: str, format: Annotated[str, Query(pattern="^(json|bif|xmlbif|net|xdsl|uai|dsc|dne|html)$")]
    ) -> Response:
        path, name = bench.exported(key, format)
        return _download(path, name, after=lambda: shutil.rmtree(path.parent, ignore_errors=True))

    @route.post("/models/{key}/script", summary="The Python script that does again what was clicked")
    def script(key: str, asked: words.ScriptAsked) -> Any:
        return {"script": bench.script(key, words.given_of(asked.given), asked.targets)}

    return route


def _questions(bench: Bench) -> APIRouter:
    route = APIRouter(tags=["questions"])
    models: Models = bench.models

    @route.post("/models/{key}/ask", summary="Every posterior under what is given")
    def ask(key: str, asked: words.Ask) -> Any:
        model = models.asked(key)
        return model.ask(model.findings(words.given_of(asked.given)))

    @route.post("/models/{key}/explain", summary="The most probable explanation of what is given")
    def explain(key: str, asked: words.Ask) -> Any:
        model = models.asked(key)
        return model.explain(model.findings(words.given_of(asked.given)))

    @route.post("/models/{key}/sensitivity", summary="Which finding moves a variable most")
    def sensitivity(key: str, asked: words.TargetAsked) -> Any:
        return {"findings": bench.insight("moved_by", key, words.given_of(asked.given), asked.target)}

    @route.post("/models/{key}/telling", summary="Which observation would tell most of a variable")
    def telling(key: str, asked: words.TargetAsked) -> Any:
        return {"variables": bench.insight("telling", key, words.given_of(asked.given), asked.target)}

    @route.get("/models/{key}/family", summary="A variable's table or regression")
    def family(
        key: str,
        variable: Annotated[str, Query(max_length=500)],
        component: Annotated[int, Query(ge=0, le=10_000)] = 0,
    ) -> Any:
        model = models.asked(key)
        if component >= len(model.parts):
            raise Unknown(f"there are components 0 to {len(model.parts) - 1}")
        return model.family(variable, component)

    @route.get("/models/{key}/strengths", summary="What each arc tells, in nats")
    def strengths(key: str) -> Any:
        return {"arcs": bench.strengths(key)}

    @route.post(
        "/models/{key}/row", summary="What the holes of a row hold, and to which class it belongs and why"
    )
    def row(key: str, asked: words.RowAsked) -> Any:
        return bench.row(key, asked.table, asked.row, asked.target)

    @route.post("/versus", summary="The rows that speak most for one model against another")
    def versus(asked: words.VersusAsked) -> Any:
        return bench.versus(asked.table, asked.a, asked.b, asked.count)

    return route


def _whole(bench: Bench) -> APIRouter:
    route = APIRouter(tags=["workspace"])

    @route.get("/workspace", summary="Everything there is, in short")
    def whole() -> Any:
        return bench.shown()

    return route


def _download(path: Path, name: str, after: Callable[[], None] | None = None) -> Response:
    """Return a file to be kept, never to be shown as a page of ours."""
    data = path.read_bytes()
    if after is not None:
        after()
    told = f"attachment; filename*=UTF-8''{quote(name.encode('utf-8', 'replace'), safe='')}"
    headers = {"content-disposition": told, "content-security-policy": "sandbox"}
    return Response(data, media_type="application/octet-stream", headers=headers)


async def _received(bench: Bench, request: Request) -> Path:
    """Return a file with what is sent, which never stands in memory as a whole."""
    path = bench.workspace.folder / f"upload-{secrets.token_hex(8)}"
    try:
        with open(path, "wb") as file:
            async for chunk in request.stream():
                file.write(chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


async def _aside(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function says, without keeping others waiting."""
    return await asyncio.get_running_loop().run_in_executor(None, lambda: function(*arguments))


async def _stream(bench: Bench, request: Request) -> AsyncIterator[bytes]:
    """Go over what happens, as server-sent events; every page hears all of it."""
    with bench.hub.listening() as queue:
        yield b": listening\n\n"
        while not await request.is_disconnected():
            try:
                event = await asyncio.wait_for(queue.get(), BEAT)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if event["type"] == "end":
                return
            yield f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()
