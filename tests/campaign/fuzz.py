"""Damaged inputs for parsers, readers and grammars, and odd command lines: a named error or an answer."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path

import numpy as np

import lacunary as lac
from tests.campaign.run import Campaign, Found
from tests.campaign.targets import SLOW, Target, requests, targets

INPUTS = 400
"""Inputs of a piece, of a target that is fast."""

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
    names = [*targets(), "workbench"]
    name = names[index % len(names)]
    many = INPUTS // SLOW.get(name, 1)
    if name == "workbench":
        return _asked(rng)
    texts, target = targets()[name]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(many):
            data = _damaged(texts[int(rng.integers(len(texts)))], texts, rng)
            _tried(name, target, data, Path(folder))
    return Found(many)


def _tried(name: str, target: Target, data: bytes, folder: Path) -> None:
    try:
        target(data, folder)
    except lac.LacunaryError:
        pass
    except BaseException as problem:  # a panic of a library in Rust is none of Exception
        if isinstance(problem, KeyboardInterrupt):
            raise
        raise AssertionError(
            f"{name}: {type(problem).__name__}: {problem}; input {data[:300]!r}"
        ) from problem


def _asked(rng: np.random.Generator) -> Found:
    """Send requests to a workbench; none may make it fail."""
    with requests(int(rng.integers(2**31))) as fuzz:
        for _ in range(INPUTS):
            status, told = fuzz.one()
            if status >= 500 and status != 501:
                raise AssertionError(f"workbench: status {status}: {told}")
    return Found(INPUTS)


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


CAMPAIGN = Campaign(
    "fuzz",
    "Damaged files (networks in eight formats, fits, checkpoints; text, packed text, Parquet, Feather, "
    "Excel, SPSS, Stata, SAS, JSON, databases; scans), arrows, schedules, sizes of memory, command lines, "
    "and requests to the workbench and to a served model: what is wrong is told by a named error, at the "
    "prompt by a documented exit code, by the servers with a status below 500.",
    (120, 3400),
    work,
)
