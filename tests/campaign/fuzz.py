"""Damaged inputs for parsers, readers and grammars, and odd command lines: a named error or an answer."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app
from lacunary.structure.schedule import parse_schedule
from tests.campaign.run import Campaign, Found

INPUTS = 400
"""Inputs of a piece; command lines count twenty of them each."""

SLOW = 20

TOKENS = [
    b"",
    b"\x00",
    b"\xff\xfe",
    b"\r\n",
    *(bytes([c]) for c in b"\n\"',;\t{}[]()<>|?"),
    *(b"->", b"<-", b"--", b"NaN", b"inf", b"-inf", b"1e309", b"-1", b"0", b"1e-320", b"9" * 20, b"null"),
    *(b"&amp;", b"&x;", b"<!DOCTYPE", b"<![CDATA[", b"probability", b"variable", b"states", b"=1+1"),
    *(b"S*", b"(EM)^", b"^10", b"M", b"\xef\xbb\xbf", b"\xe2\x80\xae", b"\xd9\xa1"),
    *(character * 300 for character in (b"(", b"[", b"*", b"{")),
]


def work(rng: np.random.Generator, index: int) -> Found:
    """Try some inputs on one target; each piece has the next target's turn."""
    targets = _targets()
    name = list(targets)[index % len(targets)]
    texts, target = targets[name]
    many = INPUTS // SLOW if name.startswith("lacunary") else INPUTS
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(many):
            data = _damaged(texts[int(rng.integers(len(texts)))], texts, rng)
            try:
                target(data, Path(folder))
            except lac.LacunaryError:
                pass
            except Exception as problem:
                raise AssertionError(
                    f"{name}: {type(problem).__name__}: {problem}; input {data[:300]!r}"
                ) from problem
    return Found(many)


def _damaged(data: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return some bytes with a few changes: flips, cuts, repeats, tokens put in, pieces of other inputs."""
    out = bytearray(data)
    for _ in range(int(rng.integers(1, 5))):
        at = int(rng.integers(len(out) + 1))
        length = int(rng.integers(1, 1 + max(1, min(40, len(out)))))
        what = int(rng.integers(7))
        if what == 0 and out:
            out[at % len(out)] = int(rng.integers(256))
        elif what == 1:
            del out[at : at + length]
        elif what == 2:
            out[at:at] = out[at : at + length] * int(rng.integers(1, 4))
        elif what == 3:
            del out[at:]
        elif what == 4:
            other = others[int(rng.integers(len(others)))]
            start = int(rng.integers(len(other) + 1))
            out[at:at] = other[start : start + length]
        else:
            out[at:at] = TOKENS[int(rng.integers(len(TOKENS)))]
    return bytes(out)


def _file(suffix: str, read: Callable[[Path], Any]) -> Callable[[bytes, Path], None]:
    def target(data: bytes, folder: Path) -> None:
        path = folder / f"x{suffix}"
        path.write_bytes(data)
        read(path)

    return target


def _text(read: Callable[[str], Any]) -> Callable[[bytes, Path], None]:
    return lambda data, folder: read(data.decode("utf-8", "replace")) and None


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


@cache
def _targets() -> dict[str, tuple[list[bytes], Callable[[bytes, Path], None]]]:
    """Every target: some good inputs, and what reads them."""
    small = lac.random_network(lac.dag("a -> b; a -> c", states={"a": 2, "b": 3}), rng=1)
    table = b'a,b,c\nx,1.5,0\ny,,1\n?,2e3,0\n"q,r",-1,1\n'
    targets: dict[str, tuple[list[bytes], Callable[[bytes, Path], None]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".json", ".bif", ".xmlbif", ".net"):
            lac.save(small, Path(folder) / f"n{suffix}")
            targets[suffix] = [(Path(folder) / f"n{suffix}").read_bytes()], _file(suffix, lac.load)
        rows = small.sample(20, rng=1)
        lac.save(lac.fit(small.dag, rows), Path(folder) / "f.json")
        targets["fit .json"] = [(Path(folder) / "f.json").read_bytes()], targets[".json"][1]
        try:
            rows.to_frame("pandas").astype(str).to_parquet(Path(folder) / "t.parquet")
            parquet = [(Path(folder) / "t.parquet").read_bytes()]
            targets[".parquet"] = parquet, _file(".parquet", lac.read)
        except ImportError:  # pragma: no cover - without pyarrow
            pass
    targets[".csv"] = [table, b"id;x\n1;2,5\n2;3,5\n", b"a\tb\n1\t2\n"], _file(".csv", lac.read)
    targets["examine"] = targets[".csv"][0], _file(".csv", lac.examine)
    arrows = [b"a -> b; c", b"a b -> c -> d", b"'x y' -> \"z\"", b"{a, b} -> c <- d"]
    targets["arrows"] = arrows, _text(lambda text: lac.dag(text, states=2))
    targets["schedule"] = [b"((EM)^10 Ec S* M)*", b"(E M)^3 S", b"(EM)* S*"], _text(parse_schedule)
    targets["memory"] = [b"2 GB", b"500MiB", b"1e9"], _text(_limited)
    targets["lacunary"] = LINES, _prompt
    return targets


def _limited(text: str) -> None:
    with lac.memory(text):
        pass


CAMPAIGN = Campaign(
    "fuzz",
    "Damaged files (JSON, BIF, XMLBIF, NET, CSV, Parquet), arrows, schedules, sizes of memory and command "
    "lines: what is wrong is told by a named error, or at the prompt by a documented exit code.",
    (120, 2600),
    work,
)
