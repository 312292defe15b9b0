"""Load and save things; the suffix of a file says its format."""

from __future__ import annotations

import gzip
import os
import re
import warnings
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, overload

from lacunary.budget import budgeted
from lacunary.data.bounded import Bounded
from lacunary.errors import FileError
from lacunary.files import bif, dne, dsc, native, net, uai, xdsl, xmlbif
from lacunary.files.labels import losses
from lacunary.files.whole import check_place, write_whole
from lacunary.infer.network import Network

__all__ = ["MOST_BYTES", "check_writable", "load", "save"]

T = TypeVar("T")

MOST_BYTES = 128 * 2**20
"""How large a file may be, after unpacking."""


PIECE = 2**18
"""Bytes that are read at a time."""

_SPACE = rb"(?:\xef\xbb\xbf)?(?:\s+|//[^\n]*|/\*[\s\S]*?\*/|%[^\n]*)*+"


@dataclass(frozen=True)
class _Format:
    """A format: its name, its suffixes, how it begins, and the module that reads and writes it."""

    name: str
    suffixes: tuple[str, ...]
    opening: bytes
    module: ModuleType

    def parse(self, data: bytes, renormalize: bool) -> Any:
        """Return what a file's data describe; XML says its encoding itself."""
        text = data if self.module in (xmlbif, xdsl) else _text(data)
        return self.module.parse(text, renormalize=renormalize)

    def write(self, thing: object) -> bytes:
        """Return a thing as the data of a file."""
        if self.module is not native and not isinstance(thing, Network):
            language = self.name.removeprefix("Hugin ")
            raise FileError(f"{language} holds networks, not a {type(thing).__name__}; save it as .json")
        text = self.module.write(thing)
        return text if isinstance(text, bytes) else str(text).encode()

    def begins(self, data: bytes) -> bool:
        """Tell whether data look like this format."""
        return re.match(_SPACE + self.opening, data) is not None


_FORMATS = (
    _Format("BIF", (".bif",), rb"(?:network|variable|probability)\b", bif),
    _Format("XDSL", (".xdsl",), rb"(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)?<smile\b", xdsl),
    _Format("XMLBIF", (".xmlbif", ".bifxml", ".xml"), rb"<", xmlbif),
    _Format("Hugin NET", (".net",), rb"(?:net|class)\b", net),
    _Format("UAI", (".uai",), rb"(?i:BAYES|MARKOV)\b", uai),
    _Format("DSC", (".dsc",), rb"belief\b", dsc),
    _Format("DNE", (".dne", ".dnet"), rb"bnet\b", dne),
    _Format("native JSON", (".json",), rb"\{", native),
)


@overload
def load(path: str | os.PathLike[str], *, renormalize: bool = False) -> Any: ...
@overload
def load(path: str | os.PathLike[str], kind: type[T], *, renormalize: bool = False) -> T: ...
@budgeted
def load(path: str | os.PathLike[str], kind: type[Any] = object, *, renormalize: bool = False) -> Any:
    """Return what a file holds; with ``kind`` it is of that type, to type checkers too.

    Parameters
    ----------
    path
        A file ending in ``.bif``, ``.xmlbif`` (or ``.bifxml``, ``.xml``), ``.net``, ``.xdsl``, ``.uai``,
        ``.dsc``, ``.dne`` (or ``.dnet``) or ``.json``, each also with ``.gz``. JSON holds any noun that
        `save` can write, the others a `Network`.
    kind
        What is expected, such as `Fit`; anything else is refused. By default whatever is there.
    renormalize
        Scale distributions that do not sum to one, which are otherwise an error.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.save(lac.asia(), "asia.bif")
    >>> lac.load("asia.bif", lac.Network).dag.parents_of("either")
    ('lung', 'tub')
    """
    found, packed = _format(path)
    data = _read(path, packed)
    try:
        thing = found.parse(data, renormalize)
    except FileError as problem:
        guess = _guess(data)
        if guess not in (found.name, None):
            raise FileError(
                f"{os.fspath(path)}: expected {found.name}, as its suffix says, but found {guess}; rename it"
            ) from problem
        raise FileError(f"{os.fspath(path)}: {problem}") from None
    if not isinstance(thing, kind):
        raise FileError(f"{os.fspath(path)}: expected a {kind.__name__}, not a {type(thing).__name__}")
    return thing


@budgeted
def save(thing: object, path: str | os.PathLike[str]) -> None:
    """Write a thing to a file, which then holds all of it or, on an error, what it held before.

    All formats but JSON hold networks with text for states: labels that are not text become text, and what
    they do not know (hidden, ordered, tied) is left out, as a warning says. UAI, which has no names, has them
    in comments that are read back here and that others pass over. JSON keeps everything.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.save(lac.asia(), "asia.json")               # or .bif, .xml, .net, .xdsl, .uai, .dsc, .dne
    >>> lac.load("asia.json").dag == lac.asia().dag
    True
    """
    found, packed = _format(path)
    try:
        data = found.write(thing)
    except UnicodeEncodeError as problem:
        raise FileError(
            f"cannot write {os.fspath(path)}: a name is not valid text: {problem.reason}"
        ) from None
    write_whole(path, gzip.compress(data, mtime=0) if packed else data)
    if isinstance(thing, Network) and found.module is not native:
        _tell_losses(thing, path, found)


def _tell_losses(network: Network, path: str | os.PathLike[str], found: _Format) -> None:
    if lost := "; ".join(losses(network, named=found.module is uai)):
        warnings.warn(f"{os.fspath(path)}: {found.name} does not keep {lost}. JSON keeps all", stacklevel=4)


def check_writable(path: str | os.PathLike[str], suffixes: Sequence[str]) -> None:
    """Refuse, before any work is done, a place to which nothing can be saved, or of another suffix."""
    found, _ = _format(path)
    if not set(found.suffixes) & set(suffixes):
        raise FileError(
            f"{os.fspath(path)}: the suffix must be one of {', '.join(suffixes)}, with or without .gz"
        )
    check_place(path)


def _format(path: str | os.PathLike[str]) -> tuple[_Format, bool]:
    """Return the format that a path's suffix names, and whether the file is compressed."""
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = suffixes[-1:] == [".gz"]
    suffix = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    for known in _FORMATS:
        if suffix in known.suffixes:
            return known, packed
    listed = ", ".join(s for known in _FORMATS for s in known.suffixes)
    raise FileError(f"{os.fspath(path)}: the suffix must be one of {listed}, with or without .gz")


def _read(path: str | os.PathLike[str], packed: bool) -> bytes:
    try:
        with open(path, "rb") as raw:
            plain: Any = gzip.GzipFile(fileobj=raw) if packed else raw
            bounded = Bounded(plain, Path(path), raw if packed else None, lines=False)
            data = bytearray()
            while len(data) <= MOST_BYTES and (piece := bounded.read(PIECE)):
                data += piece
    except (gzip.BadGzipFile, EOFError, zlib.error) as problem:
        raise FileError(
            f"{os.fspath(path)}: expected gzip-compressed data, as the suffix says: {problem}"
        ) from None
    except OSError as problem:
        raise FileError(f"cannot read {os.fspath(path)}: {problem.strerror or problem}") from problem
    if len(data) > MOST_BYTES:
        raise FileError(f"{os.fspath(path)}: larger than the limit of {MOST_BYTES} bytes")
    return bytes(data)


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = data.count(b"\n", 0, problem.start) + 1
        raise FileError(f"line {line}: this is not text in UTF-8 (byte {data[problem.start]:#04x})") from None


def _guess(data: bytes) -> str | None:
    """Return what some data look like, or None."""
    if not data.strip():
        return "an empty file"
    if data.startswith(b"\x1f\x8b"):
        return "gzip-compressed data"
    if b"\x00" in data[:4096]:
        return "binary data"
    return next((known.name for known in _FORMATS if known.begins(data)), None)
