"""Hugin NET: nodes and potentials, after a ``net`` header or within a ``class``.

The values of a potential go over its parents in the order listed, the last moving fastest, and last
over the node's own states; a continuous node has a normal density for each configuration of its discrete
parents. Attributes that do not matter for the network (labels, positions) are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.family.regression import Regression
from lacunary.files.labels import nested, state_texts
from lacunary.files.normal import read_normals, written_normals
from lacunary.files.parsed import Declaration, Family, ParsedNetwork, Word
from lacunary.files.tokens import Dialect, Tokens
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["parse", "write"]

_WORD = r'[^\s{}()=;|"%]++'
_DIALECT = Dialect(re.compile(rf'%[^\n]*|("(?:[^"\\\n]|\\.)*+"?|[{{}}()=;|]|{_WORD})'), frozenset("{}()=;|"))


def parse(text: str, *, renormalize: bool = False) -> Network:
    """Return the network that a text in NET describes."""
    tokens = Tokens(text, _DIALECT)
    draft = ParsedNetwork(tokens)
    opening = tokens.take("net", "class")
    if opening == "class":
        tokens.name("the class's name")
        tokens.take("{")
        while tokens.peek() != "}":
            _element(tokens, draft, inside=True)
        tokens.take("}")
    else:
        _attributes(tokens)
    while tokens.peek():
        _element(tokens, draft, inside=False)
    return draft.network(renormalize=renormalize)


def _element(tokens: Tokens, draft: ParsedNetwork, *, inside: bool) -> None:
    """Take in a node, a potential or, inside a class, one of the class's own attributes."""
    word = tokens.name("'node' or 'potential'")
    if inside and tokens.peek() == "=":
        tokens.until(";")
        return
    continuous = word.text == "continuous"
    if word.text in ("discrete", "continuous"):
        word = Word(tokens.take("node"), word.place)
    if word.text == "node":
        draft.declarations.append(_declaration(tokens, continuous))
    elif word.text == "potential":
        draft.families.append(_family(tokens))
    elif word.text in ("decision", "utility", "function"):
        raise tokens.error(word.place, f"a {word.text} node; only chance nodes can be read")
    else:
        raise tokens.unexpected(word.place, "'node' or 'potential'")


def _attributes(tokens: Tokens) -> dict[str, range]:
    """Take a block ``{ name = value; … }`` and return the places of each value."""
    tokens.take("{")
    values: dict[str, range] = {}
    while tokens.peek() != "}":
        attribute = tokens.name("an attribute or '}'")
        tokens.take("=")
        if attribute.text in values:
            raise tokens.error(attribute.place, f"{attribute.text!r} is given twice")
        values[attribute.text] = tokens.until(";")
    tokens.take("}")
    return values


def _declaration(tokens: Tokens, continuous: bool) -> Declaration:
    name = tokens.name("a node's name")
    places = _attributes(tokens).get("states")
    if continuous:
        return Declaration(name, (), continuous=True)
    if places is None:
        raise tokens.error(name.place, f"the node {name.text!r} has no states")
    if len(places) < 2 or tokens.all[places[0]] != "(" or tokens.all[places[-1]] != ")":
        raise tokens.error(places.start, "expected the states between '(' and ')'")
    return Declaration(name, tuple(tokens.word(place, "a state") for place in places[1:-1]))


def _family(tokens: Tokens) -> Family:
    tokens.take("(")
    child = tokens.name("a node's name")
    head = tokens.until(")")
    if head and tokens.all[head[0]] != "|":
        raise tokens.unexpected(head[0], "'|' or ')', as a potential is that of one node")
    parents = tuple(tokens.word(place, "a parent's name") for place in head[1:])
    data = _attributes(tokens).get("data")
    if data is None:
        raise tokens.error(
            child.place, f"the potential of {child.text!r} has no data; a model cannot be read"
        )
    return Family(child, parents, partial(_read, tokens, data))


def _read(tokens: Tokens, data: range, child: Variable, parents: Sequence[Variable]) -> Array:
    if not child.discrete:
        return read_normals(tokens, data, child, parents)
    if not data or tokens.all[data.start] != "(":
        raise tokens.unexpected(data.start, "'('")
    places, depth = [], 0
    for place in data:
        token = tokens.all[place]
        depth += (token == "(") - (token == ")")
        if token not in "()":
            places.append(place)
        if depth == 0 and place != data[-1]:
            raise tokens.unexpected(place + 1, "';'")
    if depth:
        raise tokens.unexpected(data.stop, "')'")
    shape = [*(p.size for p in parents), child.size]
    values = tokens.numbers(places, data.stop, prod(shape), f"the potential of {child.name!r}")
    return np.array(values).reshape(shape)


def write(network: Network) -> str:
    """Return the network in NET."""
    parts = ["net\n{\n}\n"]
    for name, texts in state_texts(network, "NET", numeric=True).items():
        states = " ".join(map(_quoted, texts))
        lines = f"  states = ({states});\n" if texts else ""
        parts.append(f"{'' if texts else 'continuous '}node {_bare(name)}\n{{\n{lines}}}\n")
    for name, parents in zip(network.dag.names, network.dag.parents, strict=True):
        head = " ".join([name, *("|" if parents else ""), *parents])
        parts.append(f"potential ( {head} )\n{{\n  data = {_data(network, name)};\n}}\n")
    return "".join(parts)


def _data(network: Network, name: str) -> str:
    """Return the probabilities or the densities of a variable."""
    schema = network.dag.schema
    if schema[name].discrete:
        return nested(network.table(name), " ", "\n    ")
    if not isinstance(network.parameters_of(name), Regression):
        raise FileError(f"NET holds normal densities alone, and {name!r} has another; save it as .json")
    above = network.dag.parents_of(name)
    return written_normals(network.table(name), [parent for parent in above if not schema[parent].discrete])


def _bare(name: str) -> str:
    if not re.fullmatch(_WORD, name) or name.startswith("/*"):
        raise FileError(
            f"NET cannot hold the name {name!r}; rename the variable, or save it as .bif or .json"
        )
    return name


def _quoted(state: str) -> str:
    if '"' in state or "\n" in state or state.endswith("\\"):
        raise FileError(
            f"NET cannot hold the state {state!r} (a quote, line break or last backslash); save it as .json"
        )
    return f'"{state}"'
