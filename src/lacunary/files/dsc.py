"""DSC, the text form of Microsoft's MSBNx: nodes with their types, and probabilities by configuration.

``node A { type: discrete[2] = {"yes", "no"}; }`` and ``probability(A | B, C) { (0, 1): 0.2, 0.8; … }``, where
states of parents are given by their numbers, or all numbers follow one another.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.files.labels import state_texts
from lacunary.files.parsed import Declaration, Family, ParsedNetwork
from lacunary.files.tokens import Dialect, Tokens
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["parse", "write"]

_DIALECT = Dialect(
    re.compile(r'//[^\n]*|("(?:[^"\\\n]|\\.)*+"?|[{}()\[\]=;,:|]|[^\s{}()\[\]=;,:|"/]++|/)'),
    frozenset("{}()[]=;,:|"),
)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def parse(text: str, *, renormalize: bool = False) -> Network:
    """Return the network that a text in DSC describes."""
    tokens = Tokens(text, _DIALECT)
    draft = ParsedNetwork(tokens)
    tokens.take("belief")
    tokens.take("network")
    if tokens.peek() not in ("node", "probability", "properties", ""):
        tokens.name("the network's name")
    while tokens.peek():
        word = tokens.take("node", "probability", "properties", ";")
        if word == "node":
            draft.declarations.append(_declaration(tokens))
        elif word == "probability":
            draft.families.append(_family(tokens))
        elif word == "properties":
            _block(tokens)
    return draft.network(renormalize=renormalize)


def _block(tokens: Tokens) -> range:
    """Take a block in braces; return the places inside."""
    tokens.take("{")
    start, depth = tokens.place, 1
    while depth:
        token = tokens.peek()
        if not token:
            raise tokens.unexpected(tokens.place, "'}'")
        depth += (token == "{") - (token == "}")
        tokens.place += 1
    return range(start, tokens.place - 1)


def _declaration(tokens: Tokens) -> Declaration:
    name = tokens.name("a node's name")
    inside = _block(tokens)
    kind = tokens.find("type", inside.start, inside.stop)
    after = tokens.all[kind + 1 : kind + 3]
    if after not in ([":", "discrete"], ["=", "discrete"]):
        raise tokens.error(kind, f"the node {name.text!r} is not discrete; only such nodes can be read")
    start = tokens.find("{", kind, inside.stop)
    stop = tokens.find("}", start, inside.stop)
    places = [place for place in range(start + 1, stop) if tokens.all[place] != ","]
    return Declaration(name, tuple(tokens.word(place, "a state") for place in places))


def _family(tokens: Tokens) -> Family:
    tokens.take("(")
    child = tokens.name("a node's name")
    head = tokens.until(")")
    if head and tokens.all[head[0]] != "|":
        raise tokens.unexpected(head[0], "'|' or ')'")
    parents = tuple(tokens.word(p, "a parent's name") for p in head[1:] if tokens.all[p] != ",")
    return Family(child, parents, partial(_read, tokens, _block(tokens)))


def _read(tokens: Tokens, inside: range, child: Variable, parents: Sequence[Variable]) -> Array:
    """Return the table, from rows that name their configuration or from numbers one after the other."""
    shape = [*(p.size for p in parents), child.size]
    what = f"the table of {child.name!r}"
    if (
        "(" not in tokens.all[inside.start : inside.stop]
        and "default" not in tokens.all[inside.start : inside.stop]
    ):
        places = [place for place in inside if tokens.all[place] not in ",;"]
        return np.array(tokens.numbers(places, inside.stop, prod(shape), what)).reshape(shape)
    out = np.full(shape, np.nan)
    default: list[float] | None = None
    place = inside.start
    while place < inside.stop:
        stop = tokens.find(";", place, inside.stop)
        if tokens.all[place] == "default":
            if default is not None:
                raise tokens.error(place, f"{what} has two defaults")
            places = [p for p in range(place + 1, stop) if tokens.all[p] not in ",:="]
            default = tokens.numbers(places, stop, child.size, what)
        else:
            _row(tokens, place, stop, out, what)
        place = stop + 1
    left_out = np.isnan(out).any(axis=-1)
    if default is not None:
        out[left_out] = default
    elif left_out.any():
        raise tokens.error(inside.start, f"{what} leaves configurations of its parents out")
    return out


def _row(tokens: Tokens, start: int, stop: int, out: Array, what: str) -> None:
    """Take in one row: (states of the parents): numbers."""
    if tokens.all[start] != "(":
        raise tokens.unexpected(start, "'(' or 'default'")
    end = tokens.find(")", start, stop)
    at: list[int] = []
    for place in (p for p in range(start + 1, end) if tokens.all[p] != ","):
        text = tokens.all[place]
        size = out.shape[len(at)] if len(at) < out.ndim - 1 else 0
        if not re.fullmatch(r"[0-9]{1,9}", text) or int(text) >= size:
            raise tokens.error(place, f"{text!r} is not the number of a parent's state")
        at.append(int(text))
    if len(at) != out.ndim - 1:
        raise tokens.error(start, f"{what} has {out.ndim - 1} parents, not {len(at)}")
    if end + 1 >= stop or tokens.all[end + 1] not in (":", "="):
        raise tokens.unexpected(end + 1, "':'")
    if not np.isnan(out[tuple(at)]).any():
        raise tokens.error(start, f"{what} has this configuration twice")
    places = [p for p in range(end + 2, stop) if tokens.all[p] != ","]
    out[tuple(at)] = tokens.numbers(places, stop, out.shape[-1], what)


def write(network: Network) -> str:
    """Return the network in DSC."""
    parts = ['belief network "network"\n']
    for name, texts in state_texts(network, "DSC").items():
        states = ", ".join(map(_quoted, texts))
        parts.append(f"node {_name(name)} {{\n  type : discrete[{len(texts)}] = {{ {states} }};\n}}\n")
    for name, parents in zip(network.dag.names, network.dag.parents, strict=True):
        table = network.table(name)
        head = f"{name} | {', '.join(parents)}" if parents else name
        rows = [
            (f"({', '.join(map(str, at))}) : " if parents else "") + ", ".join(map(repr, table[at].tolist()))
            for at in np.ndindex(*table.shape[:-1])
        ]
        parts.append(f"probability({head}) {{\n" + "".join(f"  {row};\n" for row in rows) + "}\n")
    return "".join(parts)


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise FileError(f"DSC cannot hold the name {name!r}; rename the variable, or save it as .json")
    return name


def _quoted(state: str) -> str:
    if '"' in state or "\n" in state or state.endswith("\\"):
        raise FileError(f"DSC cannot hold the state {state!r} (a quote or line break); save it as .json")
    return f'"{state}"'
