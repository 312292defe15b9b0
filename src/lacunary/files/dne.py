"""DNE, Netica's text form: ``bnet name { node A { states = (…); parents = (…); probs = (…); }; };``.

Numbers go over the parents in their order, the last moving fastest, and last over the node's own states. Of a
deterministic node ``functable`` names a state for each configuration. Other attributes are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from math import prod

import numpy as np

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.files.labels import nested, state_texts
from lacunary.files.parsed import Declaration, Family, ParsedNetwork, Word, certain
from lacunary.files.tokens import Dialect, Tokens
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["parse", "write"]

_DIALECT = Dialect(
    re.compile(r'//[^\n]*|("(?:[^"\\\n]|\\.)*+"?|[{}()=;,]|[^\s{}()=;,"/]++|/)'), frozenset("{}()=;,")
)
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,29}")
DEPTH = 64


def parse(text: str, *, renormalize: bool = False) -> Network:
    """Return the network that a text in DNE describes."""
    tokens = Tokens(text, _DIALECT)
    draft = ParsedNetwork(tokens)
    tokens.take("bnet")
    tokens.name("the net's name")
    tokens.take("{")
    while tokens.peek() != "}":
        word = tokens.name("'node' or '}'")
        if word.text == "node":
            _node(tokens, draft)
        else:
            _skip(tokens)
    tokens.take("}")
    return draft.network(renormalize=renormalize)


def _node(tokens: Tokens, draft: ParsedNetwork) -> None:
    name = tokens.name("a node's name")
    tokens.take("{")
    values: dict[str, range] = {}
    while tokens.peek() != "}":
        attribute = tokens.name("an attribute or '}'")
        if tokens.peek() == "=":
            tokens.take("=")
            if attribute.text in values:
                raise tokens.error(attribute.place, f"{attribute.text!r} is given twice")
            values[attribute.text] = tokens.until(";")
        else:
            _skip(tokens)
    tokens.take("}")
    if tokens.peek() == ";":
        tokens.take(";")
    kind = _word(tokens, values.get("kind")) or "NATURE"
    if kind != "NATURE":
        raise tokens.error(name.place, f"{name.text!r} is a {kind} node; only those of nature can be read")
    draft.declarations.append(Declaration(name, _states(tokens, draft, name, values)))
    parents = tuple(_listed(tokens, values.get("parents"), "a parent's name"))
    draft.families.append(Family(name, parents, partial(_table, tokens, name, values)))


def _skip(tokens: Tokens) -> None:
    """Pass over an attribute of the net, or a block such as ``visual V1 { … };``, to the end."""
    depth = 0
    while True:
        token = tokens.peek()
        if not token:
            raise tokens.unexpected(tokens.place, "';'")
        depth += (token == "{") - (token == "}")
        if depth < 0:
            raise tokens.unexpected(tokens.place, "';'")
        tokens.place += 1
        if not depth and token == ";":
            return
        if not depth and token == "}" and tokens.peek() != ";":
            return


def _word(tokens: Tokens, places: range | None) -> str:
    return tokens.all[places[0]] if places else ""


def _listed(tokens: Tokens, places: range | None, what: str) -> list[Word]:
    """Return the words between parentheses, or a single one without them."""
    if not places:
        return []
    return [tokens.word(place, what) for place in places if tokens.all[place] not in "(),"]


def _states(tokens: Tokens, draft: ParsedNetwork, name: Word, values: dict[str, range]) -> tuple[Word, ...]:
    found = _listed(tokens, values.get("states"), "a state")
    if found:
        return tuple(found)
    count = _word(tokens, values.get("numstates"))
    if not re.fullmatch(r"[0-9]{1,9}", count):
        raise tokens.error(name.place, f"the node {name.text!r} has no states")
    return draft.numbered(int(count), name.place)


def _table(
    tokens: Tokens, name: Word, values: dict[str, range], child: Variable, parents: Sequence[Variable]
) -> Array:
    shape = [*(p.size for p in parents), child.size]
    if "probs" in values:
        places = [place for place in values["probs"] if tokens.all[place] not in "(),"]
        numbers = tokens.numbers(places, values["probs"].stop, prod(shape), f"the table of {child.name!r}")
        return np.array(numbers).reshape(shape)
    if "functable" not in values:
        raise tokens.error(name.place, f"the node {child.name!r} has no probs; an equation cannot be read")
    words = _listed(tokens, values["functable"], "a state")
    if len(words) != prod(shape[:-1]):
        raise tokens.error(name.place, f"functable of {child.name!r} needs {prod(shape[:-1])} states")
    at = []
    for word in words:
        text = word.text.removeprefix("#")
        numbered = int(text) if re.fullmatch(r"[0-9]{1,9}", text) else child.size
        at.append(child.code.get(text, numbered))
        if at[-1] >= child.size:
            raise tokens.error(word.place, f"{child.name!r} has no state {text!r}")
    return certain(at, shape)


def write(network: Network) -> str:
    """Return the network in DNE."""
    parts = ["// ~->[DNET-1]->~\n\nbnet network {\n"]
    for name, texts in state_texts(network, "DNE").items():
        parents = network.dag.parents_of(name)
        states = ", ".join(map(_name, texts))
        numbers = nested(network.table(name), ", ", ", ")
        parts.append(
            f"\nnode {_name(name)} {{\n\tkind = NATURE;\n\tdiscrete = TRUE;\n\tstates = ({states});\n"
            f"\tparents = ({', '.join(map(_name, parents))});\n\tprobs = {numbers};\n\t}};\n"
        )
    return "".join([*parts, "};\n"])


def _name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise FileError(
            f"DNE cannot hold the name {name!r}: Netica's names begin with a letter and have at most 30 "
            "letters, digits and underscores; rename it, or save the network as .json"
        )
    return name
