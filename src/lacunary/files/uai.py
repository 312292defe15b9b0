"""UAI: sizes, scopes and tables as bare numbers, as in the inference competitions; and evidence and results.

Variables are numbered, and so are their states: names are ``x0``, ``x1``, … here, and states 0, 1, …, unless
comments at the end, which others pass over, have the variables as the native format has them (`REMARK`).
The scope of a table ends with its own variable, and its numbers go over the scope with the last moving
fastest. Evidence is a count, then a variable and its state for each; results begin with ``MAR``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import prod
from typing import Any

import numpy as np

from lacunary.data.schema import Label, Schema, Variable
from lacunary.errors import FileError
from lacunary.files import native
from lacunary.files.labels import state_texts
from lacunary.files.parsed import (
    MOST_STATES,
    MOST_VALUES,
    Declaration,
    Family,
    ParsedNetwork,
    Word,
    too_large,
)
from lacunary.files.tokens import Dialect, Tokens
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["parse", "uai_evidence", "uai_marginals", "write", "write_uai_evidence"]

_DIALECT = Dialect(re.compile(r"#[^\n]*|(\S+)"), frozenset())

REMARK = "#: "
"""How lines begin that hold what the format has no place for."""


def parse(text: str, *, renormalize: bool = False) -> Network:
    """Return the network that a text in UAI describes."""
    tokens = Tokens(text, _DIALECT)
    if tokens.peek().upper() == "MARKOV":
        raise tokens.error(0, "a Markov network; only Bayesian networks (BAYES) can be read")
    if tokens.peek().upper() != "BAYES":
        raise tokens.unexpected(0, "'BAYES'")
    tokens.place += 1
    many = _whole(tokens, "the number of variables", len(tokens.all))
    sizes = [_whole(tokens, f"the number of states of variable {i}", MOST_STATES) for i in range(many)]
    draft = ParsedNetwork(tokens)
    for i, size in enumerate(sizes):
        draft.declarations.append(Declaration(Word(f"x{i}", 2 + i), draft.numbered(size, 2 + i)))
    _families(tokens, draft, sizes)
    return _named(draft.network(renormalize=renormalize), text)


def _families(tokens: Tokens, draft: ParsedNetwork, sizes: Sequence[int]) -> None:
    """Take in scopes, and then tables in the same order."""
    count = _whole(tokens, "the number of tables", len(tokens.all))
    scopes = []
    for _ in range(count):
        size = _whole(tokens, "how many variables a table is over", len(sizes))
        place = tokens.place
        scopes.append([(place + k, _whole(tokens, "a variable", len(sizes) - 1)) for k in range(size)])
        if not size:
            raise tokens.error(place, "a table over no variables")
    for scope in scopes:
        *parents, (own, child) = scope
        problem = too_large([sizes[v] for _, v in scope])
        if problem:
            raise tokens.error(own, problem)
        size = _whole(tokens, "how many numbers a table has", MOST_VALUES)
        places = range(tokens.place, min(tokens.place + size, len(tokens.all)))
        tokens.place = places.stop
        words = tuple(Word(f"x{v}", place) for place, v in parents)
        draft.families.append(Family(Word(f"x{child}", own), words, partial(_read, tokens, places)))
    if tokens.peek():
        raise tokens.unexpected(tokens.place, "the end of the text")


def _whole(tokens: Tokens, what: str, most: int) -> int:
    token = tokens.peek()
    if not re.fullmatch(r"[0-9]{1,9}", token):
        raise tokens.unexpected(tokens.place, what)
    if int(token) > most:
        raise tokens.error(tokens.place, f"{what} is {token}; at most {most} is possible here")
    tokens.place += 1
    return int(token)


def _read(tokens: Tokens, places: range, child: Variable, parents: Sequence[Variable]) -> Array:
    shape = [*(p.size for p in parents), child.size]
    values = tokens.numbers(places, places.stop, prod(shape), f"the table of {child.name}")
    return np.array(values).reshape(shape)


def _named(network: Network, text: str) -> Network:
    """Return the network with the names and states that remarks give; else states are numbers."""
    dag = network.dag
    remarks = re.findall(rf"^{REMARK}(.*)$", text, re.MULTILINE)
    if not remarks:
        schema = Schema(tuple(replace(v, states=tuple(range(v.size))) for v in dag.schema))
    else:
        schema = native.parse("\n".join(remarks))
        if not isinstance(schema, Schema) or schema.sizes != dag.schema.sizes:
            raise FileError(f"the lines that begin with {REMARK!r} are about other variables; delete them")
    names = dict(zip(dag.names, schema.names, strict=True))
    parents = tuple(tuple(map(names.__getitem__, above)) for above in dag.parents)
    return Network(Dag(schema, parents), np.array(network.theta))


def write(network: Network) -> str:
    """Return the network in UAI, with all that this has no place for in comments at its end."""
    state_texts(network, "UAI")
    dag = network.dag
    place = dag.schema.index
    lines = ["BAYES", str(len(dag.names)), " ".join(map(str, dag.schema.sizes)), str(len(dag.names))]
    for name, parents in zip(dag.names, dag.parents, strict=True):
        scope = [*map(place, parents), place(name)]
        lines.append(" ".join(map(str, [len(scope), *scope])))
    for name in dag.names:
        table = network.table(name)
        rows = table.reshape(-1, table.shape[-1]).tolist()
        lines += ["", str(table.size), *(" " + " ".join(map(repr, row)) for row in rows)]
    lines += ["", *(REMARK + line for line in native.write(_plain(dag.schema)).splitlines())]
    return "\n".join(lines) + "\n"


def _plain(schema: Schema) -> Schema:
    """Return variables with tables for families, which is all that the format knows."""
    return Schema(tuple(replace(v, family=None) for v in schema))


def uai_evidence(text: str, network: Network) -> dict[str, Label]:
    """Return what an evidence file of UAI says is known, by the network's names and states.

    >>> import lacunary as lac
    >>> lac.uai_evidence("2 0 1 2 0", lac.asia())
    {'asia': 'no', 'smoke': 'yes'}
    """
    tokens, names = Tokens(text, _DIALECT), network.dag.names
    found: dict[str, Label] = {}
    for _ in range(_whole(tokens, "how many variables are known", len(names))):
        name = names[_whole(tokens, "a variable", len(names) - 1)]
        states = network.dag.schema[name].states
        found[name] = states[_whole(tokens, f"a state of {name}", len(states) - 1)]
    return found


def write_uai_evidence(network: Network, given: Mapping[str, Any]) -> str:
    """Return what is known as an evidence file of UAI.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.write_uai_evidence(lac.asia(), {"smoke": "yes"}).split()       # 1 known: the third's first state
    ['1', '2', '0']
    """
    schema = network.dag.schema
    pairs = [f"{schema.index(name)} {schema[name].encode(state)}" for name, state in given.items()]
    return " ".join([str(len(pairs)), *pairs]) + "\n"


def uai_marginals(network: Network, given: Mapping[str, Any] | None = None) -> str:
    """Return the posterior of every variable as a results file of UAI (``MAR``).

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.uai_marginals(lac.asia()).splitlines()[0]
    'MAR'
    """
    found = network.engine(given).marginals()
    parts = [str(len(found))]
    for answer in found.values():
        p = answer.probabilities
        parts.append(" ".join([str(len(p)), *map(repr, p.tolist())]))
    return "MAR\n" + " ".join(parts) + "\n"
