"""BIF, the interchange format of the Bayesian network repositories.

Commas and bars between names mean nothing in BIF. A ``table`` lists the variable's first state for
all configurations of the parents, then its second, the last parent moving fastest; the rows that
name a configuration list the variable's states.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import product
from math import prod

import numpy as np

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.files.labels import state_texts
from lacunary.files.parsed import Declaration, Family, ParsedNetwork, Word
from lacunary.files.tokens import Dialect, Tokens
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["parse", "write"]

_WORD = r'(?:[^\s{}()\[\];|,"/]++|/(?![/*]))++'
_DIALECT = Dialect(
    re.compile(rf'//[^\n]*|/\*[\s\S]*?\*/|(/\*[\s\S]*|"[^"\n]*"?|[{{}}()\[\];]|{_WORD})'),
    frozenset("{}()[];"),
)


def parse(text: str, *, renormalize: bool = False) -> Network:
    """Return the network that a text in BIF describes."""
    tokens = Tokens(text, _DIALECT)
    draft = ParsedNetwork(tokens)
    while not draft.declarations or tokens.peek():
        block = tokens.take("network", "variable", "probability")
        if block == "network":
            if tokens.peek() != "{":
                tokens.name("the network's name")
            tokens.take("{")
            tokens.until("}")
        elif block == "variable":
            draft.declarations.append(_declaration(tokens))
        else:
            draft.families.append(_family(tokens))
    return draft.network(renormalize=renormalize)


def _declaration(tokens: Tokens) -> Declaration:
    name = tokens.name("a variable's name")
    tokens.take("{")
    states: tuple[Word, ...] = ()
    while (entry := tokens.take("type", "property", "}")) != "}":
        if entry == "type":
            states = _states(tokens, name)
        else:
            tokens.until(";")
    if not states:
        raise tokens.error(name.place, f"the variable {name.text!r} has no states")
    return Declaration(name, states)


def _states(tokens: Tokens, name: Word) -> tuple[Word, ...]:
    tokens.take("discrete")
    tokens.take("[")
    declared = tokens.name("the number of states")
    tokens.take("]")
    tokens.take("{")
    states = tuple(tokens.word(place, "a state") for place in tokens.until("}"))
    tokens.take(";")
    if declared.text != str(len(states)):
        raise tokens.error(
            declared.place,
            f"{name.text!r} is declared with {declared.text} states, but {len(states)} are listed",
        )
    return states


def _family(tokens: Tokens) -> Family:
    tokens.take("(")
    child = tokens.name("a variable's name")
    parents = tuple(tokens.word(place, "a parent's name") for place in tokens.until(")"))
    tokens.take("{")
    return Family(child, parents, partial(_read, tokens, tokens.until("}")))


def _read(tokens: Tokens, body: range, child: Variable, parents: Sequence[Variable]) -> Array:
    """Return the table that the entries of a probability block make together."""
    rows = _Rows(tokens, child, parents)
    place = body.start
    while place < body.stop:
        end = tokens.find(";", place, body.stop)
        rows.add(place, end)
        place = end + 1
    return rows.table(body.stop)


class _Rows:
    """The distributions of one family, filled entry by entry."""

    def __init__(self, tokens: Tokens, child: Variable, parents: Sequence[Variable]) -> None:
        self.tokens, self.child, self.parents = tokens, child, parents
        self.values: list[list[float] | None] = [None] * prod(p.size for p in parents)
        self.default: list[float] | None = None
        # A state's code, whether it is written with quotes or without.
        self.codes = [{text: c for s, c in p.code.items() for text in (s, f'"{s}"')} for p in parents]

    def add(self, place: int, end: int) -> None:
        """Take in one entry, from its first place to its semicolon."""
        entry = self.tokens.all[place]
        if entry == "(":
            close = self.tokens.find(")", place, end)
            self._fill(self._configuration(place + 1, close), self._numbers(close + 1, end), place)
        elif entry == "table":
            flat = self.tokens.numbers(
                range(place + 1, end), end, self.child.size * len(self.values), "this table"
            )
            for configuration in range(len(self.values)):
                self._fill(configuration, flat[configuration :: len(self.values)], place)
        elif entry == "default":
            if self.default is not None:
                raise self.tokens.error(place, f"{self.child.name!r} is given a default twice")
            self.default = self._numbers(place + 1, end)
        elif entry != "property":
            raise self.tokens.unexpected(place, "'(' or 'table' or 'default' or 'property'")

    def _numbers(self, start: int, end: int) -> list[float]:
        return self.tokens.numbers(range(start, end), end, self.child.size, f"a row of {self.child.name!r}")

    def _configuration(self, start: int, close: int) -> int:
        if close - start != len(self.parents):
            raise self.tokens.error(
                start,
                f"this row names {close - start} states; {self.child.name!r} has {len(self.parents)} parents",
            )
        number = 0
        for place, parent, codes in zip(range(start, close), self.parents, self.codes, strict=True):
            code = codes.get(self.tokens.all[place])
            if code is None:
                raise self.tokens.error(place, f"{parent.name!r} has no state {self.tokens.all[place]!r}")
            number = number * parent.size + code
        return number

    def _fill(self, configuration: int, row: list[float], place: int) -> None:
        if self.values[configuration] is not None:
            raise self.tokens.error(place, f"{self.child.name!r} is given this configuration twice")
        self.values[configuration] = row

    def table(self, end: int) -> Array:
        """Return the values, the parents first and the child last."""
        missing = sum(row is None for row in self.values)
        if missing and self.default is None:
            raise self.tokens.error(
                end, f"{self.child.name!r} lacks {missing} of its {len(self.values)} configurations"
            )
        rows = [self.default if row is None else row for row in self.values]
        return np.array(rows, dtype=np.float64).reshape([p.size for p in self.parents] + [self.child.size])


def write(network: Network) -> str:
    """Return the network in BIF."""
    states = {name: [_quoted(s) for s in texts] for name, texts in state_texts(network, "BIF").items()}
    parts = ["network unknown {\n}\n"]
    for name, texts in states.items():
        listed = ", ".join(texts)
        parts.append(f"variable {_quoted(name)} {{\n  type discrete [ {len(texts)} ] {{ {listed} }};\n}}\n")
    for name, parents in zip(network.dag.names, network.dag.parents, strict=True):
        head = _quoted(name) + (" | " + ", ".join(map(_quoted, parents)) if parents else "")
        rows = network.table(name).reshape(-1, len(states[name])).tolist()
        keys = (
            [f"({', '.join(key)})" for key in product(*(states[p] for p in parents))]
            if parents
            else ["table"]
        )
        lines = [f"  {key} {', '.join(map(repr, row))};\n" for key, row in zip(keys, rows, strict=True)]
        parts.append(f"probability ( {head} ) {{\n{''.join(lines)}}}\n")
    return "".join(parts)


def _quoted(name: str) -> str:
    if re.fullmatch(_WORD, name):
        return name
    if '"' in name or "\n" in name:
        raise FileError(
            f"BIF cannot hold the name {name!r}: it has a quote or a line break; save it as .json"
        )
    return f'"{name}"'
