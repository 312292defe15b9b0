"""The arrow notation: a graph as people write it in a line of text.

Statements are separated by ``;`` or a new line. A statement is a chain of groups of names joined by
``->`` and ``<-`` (or ``→`` and ``←``), and an arrow joins every name of the group at its tail to every
name of the group at its head::

    A -> C <- H -> D <- B
    H -> X1 X2 X3; X1 -> X2
    A B -> C; "a lone name, declared without arcs"

A name is any run of characters without spaces, quotes, commas, semicolons and arrows; a hyphen may
stand inside it (``water-project``). Any other name goes in double quotes, with each quote inside it
doubled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

from lacunary.errors import GraphError

__all__ = ["MAX_ARCS", "MAX_CHARACTERS", "Arc", "Arrows", "parse", "write"]

Arc = tuple[str, str]

MAX_CHARACTERS = 1_000_000
"""Longest text `parse` reads; larger graphs are built with `Dag.from_arcs`."""

MAX_ARCS = 1_000_000
"""Most arcs a text may stand for: two fans of a thousand names would make a million."""

# Every alternative starts with a different character and the quoted one never gives back what it
# took, so the scan is linear in the text.
_RUN = r"""[^\s";,<>→←-]+"""
_TOKEN = re.compile(
    rf"""(?P<space>[^\S\n]+)
      |  (?P<stop>[;\n])
      |  (?P<right>->|→)
      |  (?P<left><-|←)
      |  (?P<name>{_RUN}(?:-{_RUN})*)
      |  "(?P<quoted>(?:[^"]|"")*+)" """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class Arrows:
    """What a text in the arrow notation says.

    Attributes
    ----------
    text
        The text itself.
    places
        Every name, in the order of first appearance, and where in the text that was.
    arcs
        The arcs (from, to), in the order in which they are written.
    """

    text: str
    places: Mapping[str, int]
    arcs: tuple[Arc, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names, in the order of first appearance."""
        return tuple(self.places)

    def mark(self, name: str, message: str) -> str:
        """Return the message with the line in which the name first appears, and a caret under it."""
        return _marked(self.text, self.places[name], message)


class _Name(NamedTuple):
    text: str
    place: int


def parse(text: str) -> Arrows:
    """Read the arrow notation; whatever is wrong is shown with a caret under the place.

    Time is linear in the text and the arcs it stands for, both of which are bounded.
    """
    if not isinstance(text, str):
        raise GraphError(f"the arrow notation is a text such as 'A -> B', not {type(text).__name__}")
    if len(text) > MAX_CHARACTERS:
        raise GraphError(
            f"the arrows take {len(text)} characters, more than {MAX_CHARACTERS}; use Dag.from_arcs"
        )
    places: dict[str, int] = {}
    arcs: dict[Arc, None] = {}
    before: list[_Name] = []
    group: list[_Name] = []
    arrow = ""
    for kind, name in _tokens(text):
        if kind == "name":
            group.append(name)
            places.setdefault(name.text, name.place)
            continue
        if not group and (arrow or kind in ("right", "left")):
            side = f"after {arrow!r}" if arrow else f"before {name.text!r}"
            raise GraphError(_marked(text, name.place, f"a name is needed {side}"))
        if arrow:
            _join(text, arcs, *((before, group) if arrow in ("->", "→") else (group, before)))
        before, group, arrow = group, [], "" if kind == "stop" else name.text
    return Arrows(text, places, tuple(arcs))


def write(names: Iterable[str], parents: Iterable[Iterable[str]]) -> str:
    """Return the arrows of a graph, one statement a child; `parse` reads them back.

    ``parents`` gives the parents of each name, in the order of ``names``.
    """
    families = [(name, tuple(ps)) for name, ps in zip(names, parents, strict=True)]
    joined = {name for child, ps in families if ps for name in (child, *ps)}
    fans = [f"{' '.join(map(_quote, ps))} -> {_quote(child)}" for child, ps in families if ps]
    return "; ".join(fans + [_quote(name) for name, _ in families if name not in joined])


def _tokens(text: str) -> Iterator[tuple[str, _Name]]:
    """Yield kind, text and place of each token: names, arrows (right, left) and stops, one at the end."""
    place = 0
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise GraphError(_marked(text, place, _complaint(text[place])))
        kind = match.lastgroup or ""
        if kind == "quoted":
            if not match["quoted"]:
                raise GraphError(_marked(text, place, "a name cannot be empty"))
            yield "name", _Name(match["quoted"].replace('""', '"'), place)
        elif kind != "space":
            yield kind, _Name(match[0], place)
        place = match.end()
    yield "stop", _Name("", len(text))


def _complaint(character: str) -> str:
    if character == '"':
        return "this quote is never closed"
    if character == ",":
        return "names are separated by spaces, not commas; quote a name that holds a comma"
    return f"{character!r} is no arrow; write '->' or '<-', or quote the name it belongs to"


def _join(text: str, arcs: dict[Arc, None], tails: list[_Name], heads: list[_Name]) -> None:
    """Add an arc from every tail to every head."""
    if len(arcs) + len(tails) * len(heads) > MAX_ARCS:
        raise GraphError(_marked(text, heads[0].place, f"these are more than {MAX_ARCS} arcs"))
    for tail, head in product(tails, heads):
        arc, place = (tail.text, head.text), max(tail.place, head.place)
        if tail.text == head.text:
            raise GraphError(_marked(text, place, f"{tail.text} cannot be its own parent"))
        if arc in arcs:
            raise GraphError(_marked(text, place, f"the arc {tail.text} -> {head.text} is written twice"))
        arcs[arc] = None


def _quote(name: str) -> str:
    """Return the name as the notation writes it."""
    match = _TOKEN.fullmatch(name)
    if match and match.lastgroup == "name":
        return name
    return '"' + name.replace('"', '""') + '"'


def _marked(text: str, place: int, message: str, before: int = 60, after: int = 40) -> str:
    """Return the message, the line around ``place`` and a caret under it."""
    start = text.rfind("\n", 0, place) + 1
    stop = text.find("\n", place)
    left, right = max(start, place - before), min(len(text) if stop < 0 else stop, place + after)
    shown = "".join(c if c.isprintable() else " " for c in text[left:right])
    where = f"line {text.count(chr(10), 0, place) + 1}, column {place - start + 1}"
    return f"{message} ({where})\n  {shown}\n  {' ' * (place - left)}^"
