"""What is fuzzed: every reader, parser and grammar with some good inputs, and the two servers."""

from __future__ import annotations

import asyncio
import bz2
import contextlib
import gzip
import io
import json
import lzma
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app
from lacunary.files.native import _seal, parse
from lacunary.structure.schedule import parse_schedule
from tests.data.test_foreign import ROWS, TEXT, make_excel, make_sqlite, make_zip
from tests.files import samples
from tests.files.test_checkpoints import RUNS, Keep, altered
from tests.workbench.client import Client
from tests.workbench.fuzz import Fuzz

__all__ = ["SLOW", "Target", "requests", "targets"]

Target = Callable[[bytes, Path], None]

SLOW = {"lacunary": 20, "resumed": 40, "serve": 4, ".sav": 200, ".dta": 200, ".xpt": 200, ".por": 200}
"""For how many inputs one of a slow target stands."""


@cache
def targets() -> dict[str, tuple[list[bytes], Target]]:
    """Return every target that reads bytes: some good inputs, and what reads them."""
    found = _models() | _tables() | _grammars()
    found["lacunary"] = LINES, _prompt
    found["checkpoint"] = _checkpoints(), _file(".json", lac.load)
    found["resumed"] = _checkpoints(), _resumed
    found["serve"] = [json.dumps(question).encode() for question in QUESTIONS], _served
    return found


def _file(suffix: str, read: Callable[[Path], Any]) -> Target:
    def target(data: bytes, folder: Path) -> None:
        path = folder / f"x{suffix}"
        path.write_bytes(data)
        read(path)

    return target


def _text(read: Callable[[str], Any]) -> Target:
    return lambda data, folder: read(data.decode("utf-8", "replace")) and None


# Models


def _models() -> dict[str, tuple[list[bytes], Target]]:
    states = {"a": ["no", "yes"], "b": ["few", "some", "all"], "c": ["no", "yes"]}
    small = lac.random_network(lac.dag("a -> b; a -> c", states=states), rng=1)
    others = {
        ".bif": [samples.BIF], ".xmlbif": [samples.XMLBIF], ".net": [samples.NET, samples.NET_CLASS],
        ".dsc": [samples.DSC], ".dne": [samples.DNE], ".uai": [], ".xdsl": [], ".json": [samples.JSON],
    }  # fmt: skip
    found: dict[str, tuple[list[bytes], Target]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix, texts in others.items():
            path = Path(folder) / f"n{suffix}"
            lac.save(small, path)
            found[suffix] = [path.read_bytes(), *map(str.encode, texts)], _file(suffix, lac.load)
        lac.save(lac.fit(small.dag, small.sample(20, rng=1)), path)
        found["fit .json"] = [path.read_bytes()], _file(".json", lac.load)
        found[".json.gz"] = [gzip.compress(path.read_bytes())], _file(".json.gz", lac.load)
    return found


@cache
def _trails() -> dict[str, str]:
    """Return a checkpoint of every kind, by the kind of run."""
    found = {}
    for name, (run, rows) in RUNS.items():
        keep = Keep()
        run(rows(0), watch=keep)
        found[name] = keep.texts[len(keep.texts) // 2]
    return found


def _checkpoints() -> list[bytes]:
    return [text.encode() for text in _trails().values()]


def _resumed(data: bytes, folder: Path) -> None:
    """Alter a checkpoint of every kind by turns, seal it anew, and go on from it for a step."""
    rng = np.random.default_rng(list(data[-64:]))
    name = list(_trails())[int(rng.integers(len(RUNS)))]
    run, rows = RUNS[name]
    changed = altered(json.loads(_trails()[name]), rng)
    changed["seal"] = _seal(changed)
    with contextlib.suppress(KeyboardInterrupt), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(rows(0), trail=parse(json.dumps(changed)), watch=lambda *told: True)


# Tables


def _tables() -> dict[str, tuple[list[bytes], Target]]:
    texts = [b'a,b,c\nx,1.5,0\ny,,1\n?,2e3,0\n"q,r",-1,1\n', b"id;x\n1;2,5\n2;3,5\n", b"a\tb\n1\t2\n"]
    found = {".csv": (texts, _file(".csv", lac.read)), "examine": (texts, _file(".csv", lac.examine))}
    made = {
        ".csv.gz": gzip.compress(TEXT.encode()),
        ".csv.bz2": bz2.compress(TEXT.encode()),
        ".csv.xz": lzma.compress(TEXT.encode()),
        ".zip": _made(make_zip, ".zip"),
        ".xlsx": _made(make_excel, ".xlsx"),
        ".sqlite": _made(make_sqlite, ".sqlite"),
        ".table.json": json.dumps(ROWS).encode(),
        ".ndjson": b'{"a": 1, "b": "x"}\n{"a": 2.5}\n\n{"b": null}\n',
        **dict(_frames()),
    }
    for suffix, data in made.items():
        found[suffix] = [data], _file(suffix, lac.read)
    if ".duckdb" in made:
        found[".duckdb"] = [made[".duckdb"]], _file(".duckdb", lambda path: lac.read(f"duckdb:///{path}"))
    records = b'[{"a": 1, "b": "x"}, {"a": null, "c": true}]'
    found[".table.json"] = [made[".table.json"], records], found[".table.json"][1]
    for suffix in (".csv", ".parquet", ".feather"):
        if suffix in found:
            found[f"scan {suffix}"] = found[suffix][0], _file(suffix, _scanned)
    return found


def _made(make: Callable[[Path], Any], suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"t{suffix}"
        make(path)
        return path.read_bytes()


def _frames() -> Iterator[tuple[str, bytes]]:
    """Files that other libraries write, of the libraries that are here."""
    import polars as pl

    frame = pl.DataFrame(ROWS | {"day": ["2024-01-01"] * 6, "whole": [1, 2, 2, 1, None, 3]})
    for suffix, write in ((".parquet", frame.write_parquet), (".feather", frame.write_ipc)):
        buffer = io.BytesIO()
        write(buffer)
        yield suffix, buffer.getvalue()
    with contextlib.suppress(ImportError):
        import pandas as pd
        import pyreadstat

        table = pd.DataFrame({"name": ["a", "b", "a"], "age": [1.5, None, 2.0], "kind": [1.0, 2.0, 1.0]})
        labels: Any = {"variable_value_labels": {"kind": {1: "one", 2: "two"}}}
        yield ".sav", _made(lambda path: pyreadstat.write_sav(table, path, **labels), ".sav")
        yield ".dta", _made(lambda path: pyreadstat.write_dta(table, path, **labels), ".dta")
        yield ".xpt", _made(lambda path: pyreadstat.write_xport(table, path), ".xpt")
        yield ".por", _made(lambda path: pyreadstat.write_por(table, path), ".por")
    with contextlib.suppress(ImportError):
        import duckdb

        def make(path: Path) -> None:
            with duckdb.connect(str(path)) as link:
                link.execute("create table t as select 1 as a, 'x' as b union all select 2, null")

        yield ".duckdb", _made(make, ".duckdb")


def _scanned(path: Path) -> None:
    """Scan a file and look at its rows once."""
    lac.scan(path).whole("a look at them")


# Grammars


def _grammars() -> dict[str, tuple[list[bytes], Target]]:
    arrows = [b"a -> b; c", b"a b -> c -> d", b"'x y' -> \"z\"", b"{a, b} -> c <- d"]
    schedules = [b"((EM)^10 Ec S* M)*", b"(E M)^3 S", b"(EM)* S*"]
    return {
        "arrows": (arrows, _text(lambda text: lac.dag(text, states=2))),
        "schedule": (schedules, _text(parse_schedule)),
        "memory": ([b"2 GB", b"500MiB", b"1e9"], _text(_limited)),
    }


def _limited(text: str) -> None:
    with lac.memory(text):
        pass


# The prompt

LINES = [
    line.encode()
    for line in (
        "query asia lung --given smoke=yes",
        "query asia --marginals --json",
        "describe t.csv --holes ?",
        "fit t.csv --hidden h=2 --starts 1 --iterations 3",
        "score t.csv --hidden h=1 --method bic",
        "sample asia --rows 3 --rng 1",
        "search t.csv --max-parents 1 --rng 1",
        "dimension asia",
        "impute asia t.csv",
        "convert asia x.bif",
    )
]


def _prompt(data: bytes, folder: Path) -> None:
    """Run a command line; it must end by one of the documented codes, and never as a bug."""
    words = data.decode("utf-8", "replace").replace("\0", "").split()
    (folder / "t.csv").write_text("a,b\nx,1\ny,2\nx,\n")
    here = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            ran = CliRunner().invoke(app, words)
    finally:
        os.chdir(here)
    if ran.exit_code not in (0, 1, 2):
        raise AssertionError(f"exit code {ran.exit_code}: {ran.output[-300:]}")


# Servers, asked without a socket


class Inside(Client):
    """Requests handed to an application itself, behind its guard."""

    def __init__(self, made: Any) -> None:
        from lacunary.workbench.guard import Guard

        super().__init__(80, "token")
        self.app = Guard(made, self.token, frozenset({"127.0.0.1:80"}))

    def raw(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> tuple[int, bytes, dict[str, str]]:
        """Return status, body and headers of an answer."""
        place, _, query = path.partition("?")
        told = self.headers() if headers is None else headers
        from urllib.parse import unquote_to_bytes

        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
            "method": method, "path": unquote_to_bytes(place).decode("utf-8", "replace"),
            "raw_path": place.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in told.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        sent: list[dict[str, Any]] = []
        asyncio.run(self._asked(scope, body, sent))
        answer = b"".join(each.get("body", b"") for each in sent[1:])
        named = {n.decode("latin-1").lower(): v.decode("latin-1") for n, v in sent[0]["headers"]}
        return int(sent[0]["status"]), answer, named

    async def _asked(self, scope: dict[str, Any], body: bytes, sent: list[dict[str, Any]]) -> None:
        given = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Any:
            return given.pop() if given else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)


@contextlib.contextmanager
def requests(seed: int) -> Iterator[Fuzz]:
    """Give requests at random to a workbench on a folder that is gone afterwards."""
    from lacunary.workbench.api import application
    from lacunary.workbench.bench import Bench

    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder) / "space")
        try:
            yield Fuzz(Inside(application(bench)), seed)
        finally:
            bench.close()


QUESTIONS: list[Any] = [
    ["/api/query", {"targets": ["lung"], "given": {"smoke": "yes", "xray": {"yes": 0.3, "no": 1}}}],
    ["/api/batch", {"questions": [{"targets": [], "given": {}}, {"targets": ["x"]}]}],
    ["/api/explain", {"given": {"dysp": "no"}}],
    ["/api/posterior", {"rows": [{"smoke": "yes", "lung": None}, {}], "targets": ["lung"]}],
    ["/api/impute", {"rows": [{"smoke": "yes"}], "how": "draw", "copies": 2, "seed": 1}],
]


@cache
def _service() -> Inside:
    from lacunary.workbench.service import Service, service

    return Inside(service("asia", Service()))


def _served(data: bytes, folder: Path) -> None:
    """Ask ``lacunary serve``; where the damage left JSON, its values are made odd instead."""
    rng = np.random.default_rng(list(data[-64:]))
    path, body = QUESTIONS[int(rng.integers(len(QUESTIONS)))]
    sent = json.dumps(altered(body, rng)).encode() if rng.random() < 0.6 else data
    try:
        status, answer, _ = _service().raw("POST", path, sent)
    except Exception as problem:
        raise AssertionError(f"{path} {sent[:300]!r}: {type(problem).__name__}: {problem}") from problem
    if status >= 500:
        raise AssertionError(f"{path} {sent[:300]!r}: status {status}: {answer[:300]!r}")
