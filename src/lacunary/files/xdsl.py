"""XDSL, the XML of GeNIe and SMILE: ``cpt`` and ``deterministic`` nodes.

Probabilities go over the parents in the order listed, the last moving fastest, and last over the node's own
states. Entities are refused: nothing expands, and nothing outside is fetched. What only GeNIe's screen needs
is passed over; decisions, utilities, equations and noisy tables are refused by name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from math import prod

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.files.elements import Document
from lacunary.files.labels import state_texts
from lacunary.files.parsed import Declaration, Family, Word, certain
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["parse", "write"]

_NODES = ("cpt", "deterministic")
_REFUSED = ("decision", "utility", "mau", "equation", "noisymax", "noisyadder", "demorgan", "truthtable")
_ID = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse(data: bytes, *, renormalize: bool = False) -> Network:
    """Return the network that an XDSL document describes."""
    return _Document.parse(data, renormalize=renormalize)


@dataclass
class _Node:
    """A node that is open: its name, states, and the texts of its parts."""

    kind: str
    name: Word
    states: list[Word] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)

    def said(self, part: str) -> str:
        """Return the text of one of its parts."""
        return "".join(self.texts.get(part, ()))


class _Document(Document):
    """What is known of an XDSL document while it is read."""

    root, depth = "smile", 32

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.node: _Node | None = None

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        place = self.placed(name, within=len(self.open))
        inside = "nodes" in self.open and "extensions" not in self.open
        if inside and name in _REFUSED:
            raise self.error(place, f"a {name} node; only cpt and deterministic nodes can be read")
        if inside and name in _NODES:
            if self.node is not None:
                raise self.error(place, "a node within a node")
            self.node = _Node(name, Word(attributes.get("id", ""), place))
        elif name == "state" and self.node is not None:
            self.node.states.append(Word(attributes.get("id", ""), place))
        self.open.append(name)

    def text(self, piece: str) -> None:
        """Take in text of the innermost open element."""
        if self.node is not None:
            self.node.texts.setdefault(self.open[-1], []).append(piece)

    def end(self, name: str) -> None:
        """Close the innermost element."""
        self.open.pop()
        if self.node is None or name not in _NODES or name != self.node.kind:
            return
        node, self.node = self.node, None
        self.draft.declarations.append(Declaration(node.name, tuple(node.states)))
        words = tuple(Word(parent, node.name.place) for parent in node.said("parents").split())
        self.draft.families.append(Family(node.name, words, partial(self._read, node)))

    def _read(self, node: _Node, child: Variable, parents: Sequence[Variable]) -> Array:
        place = node.name.place
        if node.kind != "deterministic":
            return self.table(node.said("probabilities"), place, child, parents)
        shape, named = [*(p.size for p in parents), child.size], node.said("resultingstates").split()
        if len(named) != prod(shape[:-1]) or any(state not in child.code for state in named):
            raise self.error(place, f"{child.name!r} needs {prod(shape[:-1])} resulting states of its own")
        return certain([child.code[state] for state in named], shape)


_OPENING = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<smile version="1.0" id="network" numsamples="10000">\n<nodes>\n'
)


def write(network: Network) -> bytes:
    """Return the network in XDSL, encoded in UTF-8."""
    texts = state_texts(network, "XDSL")
    parts = [_OPENING]
    for name in network.dag.order:
        parents, rows = network.dag.parents_of(name), network.table(name).reshape(-1).tolist()
        states = "".join(f'    <state id="{_id(text)}" />\n' for text in texts[name])
        above = f"    <parents>{' '.join(map(_id, parents))}</parents>\n" if parents else ""
        numbers = " ".join(map(repr, rows))
        parts.append(f'  <cpt id="{_id(name)}">\n{states}{above}')
        parts.append(f"    <probabilities>{numbers}</probabilities>\n  </cpt>\n")
    return "".join([*parts, "</nodes>\n", _screen(network), "</smile>\n"]).encode()


def _screen(network: Network) -> str:
    """Return what GeNIe and other readers want to know for their screen: a name and a place for each node."""
    parts = ['<extensions>\n<genie version="1.0" app="lacunary" name="network">\n']
    for k, name in enumerate(network.dag.names):
        left, top = 40 + 160 * (k % 6), 40 + 100 * (k // 6)
        parts.append(
            f'  <node id="{name}"><name>{name}</name><interior color="e5f6f7" />'
            f'<outline color="000080" /><font color="000000" name="Arial" size="8" />'
            f"<position>{left} {top} {left + 100} {top + 50}</position></node>\n"
        )
    return "".join([*parts, "</genie>\n</extensions>\n"])


def _id(name: str) -> str:
    if not _ID.fullmatch(name):
        raise FileError(
            f"XDSL cannot hold the name {name!r}: GeNIe's ids are letters, digits and underscores, no digit "
            "first; rename it, or save the network as .json"
        )
    return name
