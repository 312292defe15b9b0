"""XMLBIF 0.3: BIF's contents in XML.

The values of a ``TABLE`` go over the ``GIVEN`` variables in the order listed, the last moving
fastest, and last over the ``FOR`` variable's own states. A document may bring its grammar along but
no entities: nothing in it expands, and nothing outside it is fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from math import prod
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.files.elements import parse_events
from lacunary.files.labels import state_texts
from lacunary.files.parsed import Declaration, Family, ParsedNetwork, Word
from lacunary.files.tokens import as_numbers
from lacunary.infer.network import Network

__all__ = ["parse", "write"]

_DEPTH = 16
_VARIABLE, _DEFINITION = ("VARIABLE",), ("DEFINITION", "PROBABILITY")
_NOT_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def parse(data: bytes, *, renormalize: bool = False) -> Network:
    """Return the network that an XMLBIF document describes."""
    document = _Document()
    parse_events(document, data)
    return document.draft.network(renormalize=renormalize)


@dataclass
class _Element:
    """An element that is open: its name, its place, its text, and the texts of its children by their name."""

    name: str
    place: int
    pieces: list[str] = field(default_factory=list)
    children: dict[str, list[Word]] = field(default_factory=dict)


class _Document:
    """What is heard of a document while it is read; knows the line and column of every element."""

    def __init__(self) -> None:
        self.draft = ParsedNetwork(self)
        self.here: Callable[[], tuple[int, int]] = lambda: (1, 1)
        self.places: list[tuple[int, int]] = []
        self.open: list[_Element] = []

    def error(self, place: int, message: str) -> FileError:
        """Return the error with the line and column of an element."""
        line, column = self.places[place] if self.places else (1, 1)
        return FileError(f"line {line}, column {column}: {message}")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        place = len(self.places)
        self.places.append(self.here())
        if not self.open and name != "BIF":
            raise self.error(place, f"expected <BIF>, but found <{name}>")
        if len(self.open) >= _DEPTH:
            raise self.error(place, f"elements within elements, more than {_DEPTH} deep")
        if name in _VARIABLE and attributes.get("TYPE", "nature") != "nature":
            raise self.error(place, f"a {attributes['TYPE']} variable; only those of type nature can be read")
        self.open.append(_Element(name, place))

    def text(self, piece: str) -> None:
        """Take in text of the innermost open element."""
        self.open[-1].pieces.append(piece)

    def end(self, name: str) -> None:
        """Close the innermost element."""
        element = self.open.pop()
        if self.open:
            word = Word("".join(element.pieces).strip(), element.place)
            self.open[-1].children.setdefault(name, []).append(word)
        if name in _VARIABLE:
            states = tuple(element.children.get("OUTCOME", ()))
            self.draft.declarations.append(Declaration(self._one(element, "NAME"), states))
        elif name in _DEFINITION:
            read = partial(self._read, self._one(element, "TABLE"))
            parents = tuple(element.children.get("GIVEN", ()))
            self.draft.families.append(Family(self._one(element, "FOR"), parents, read))

    def entity(self, name: str, *_: object) -> NoReturn:
        """Refuse an entity: it could expand without end, or read other files."""
        line, column = self.here()
        raise FileError(
            f"line {line}, column {column}: the entity {name!r} is declared; entities are not allowed"
        )

    def _one(self, element: _Element, name: str) -> Word:
        found = element.children.get(name, [])
        if len(found) != 1:
            raise self.error(element.place, f"<{element.name}> needs one <{name}>, not {len(found)}")
        return found[0]

    def _read(self, table: Word, child: Variable, parents: Sequence[Variable]) -> NDArray[np.float64]:
        values = as_numbers(table.text.split())
        if values is None:
            raise self.error(
                table.place, f"the table of {child.name!r} holds something that is not a probability"
            )
        shape = [*(p.size for p in parents), child.size]
        if len(values) != prod(shape):
            raise self.error(
                table.place, f"the table of {child.name!r} needs {prod(shape)} values, not {len(values)}"
            )
        return np.array(values).reshape(shape)


def write(network: Network) -> bytes:
    """Return the network in XMLBIF, encoded in UTF-8."""
    states = state_texts(network, "XMLBIF")
    parts = ['<?xml version="1.0" encoding="UTF-8"?>\n<BIF VERSION="0.3">\n<NETWORK>\n<NAME>unknown</NAME>\n']
    for name, texts in states.items():
        outcomes = "".join(f"  {_element('OUTCOME', text)}\n" for text in texts)
        parts.append(f'<VARIABLE TYPE="nature">\n  {_element("NAME", name)}\n{outcomes}</VARIABLE>\n')
    for name, parents in zip(network.dag.names, network.dag.parents, strict=True):
        heads = [_element("FOR", name), *(_element("GIVEN", parent) for parent in parents)]
        rows = network.table(name).reshape(-1, len(states[name])).tolist()
        table = "\n    ".join(" ".join(map(repr, row)) for row in rows)
        parts.append("<DEFINITION>\n" + "".join(f"  {head}\n" for head in heads))
        parts.append(f"  <TABLE>\n    {table}\n  </TABLE>\n</DEFINITION>\n")
    return "".join([*parts, "</NETWORK>\n</BIF>\n"]).encode()


def _element(name: str, text: str) -> str:
    if text != text.strip() or _NOT_XML.search(text):
        raise FileError(
            f"XMLBIF cannot hold the name {text!r}: control characters or outer spaces; save it as .json"
        )
    return f"<{name}>{escape(text, quote=False)}</{name}>"
