"""XMLBIF 0.3: BIF's contents in XML.

The values of a ``TABLE`` go over the ``GIVEN`` variables in the order listed, the last moving
fastest, and last over the ``FOR`` variable's own states. A document may bring its grammar along but
no entities: nothing in it expands, and nothing outside it is fetched.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from html import escape

from lacunary.errors import FileError
from lacunary.files.elements import Document
from lacunary.files.labels import state_texts
from lacunary.files.parsed import Declaration, Family, Word
from lacunary.infer.network import Network

__all__ = ["parse", "write"]

_VARIABLE, _DEFINITION = ("VARIABLE",), ("DEFINITION", "PROBABILITY")
_NOT_XML = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def parse(data: bytes, *, renormalize: bool = False) -> Network:
    """Return the network that an XMLBIF document describes."""
    return _Document.parse(data, renormalize=renormalize)


@dataclass
class _Element:
    """An element that is open: its name, its place, its text, and the texts of its children by their name."""

    name: str
    place: int
    pieces: list[str] = field(default_factory=list)
    children: dict[str, list[Word]] = field(default_factory=dict)


class _Document(Document):
    """What is known of an XMLBIF document while it is read."""

    root, depth = "BIF", 16

    def __init__(self) -> None:
        super().__init__()
        self.open: list[_Element] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        place = self.placed(name, within=len(self.open))
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
            table = self._one(element, "TABLE")
            parents = tuple(element.children.get("GIVEN", ()))
            read = partial(self.table, table.text, table.place)
            self.draft.families.append(Family(self._one(element, "FOR"), parents, read))

    def _one(self, element: _Element, name: str) -> Word:
        found = element.children.get(name, [])
        if len(found) != 1:
            raise self.error(element.place, f"<{element.name}> needs one <{name}>, not {len(found)}")
        return found[0]


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
