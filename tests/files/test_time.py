"""Reading takes time in proportion to the text."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from time import process_time
from typing import Any

import pytest

from lacunary.data.schema import Schema, Variable
from lacunary.files import bif, native, net, xmlbif
from lacunary.files.bif import _DIALECT as BIF
from lacunary.files.net import _DIALECT as NET
from lacunary.files.tokens import Dialect, Tokens
from lacunary.infer.network import Network, random_network
from lacunary.model.dag import Dag


def large(nodes: int) -> Network:
    """A network of that many nodes with three states, each with the two before it for parents."""
    words = [f"node_{i}" for i in range(nodes)]
    schema = Schema(tuple(Variable(name, ("low", "mid", "high")) for name in words))
    parents = {c: [b, a] for (a, b), c in zip(pairwise(words), words[2:], strict=False)}
    return random_network(Dag.from_parents(schema, parents))


def seconds(action: Callable[[], Any]) -> float:
    """Return the least of three runs' processor time, which other work changes little."""

    def once() -> float:
        start = process_time()
        action()
        return process_time() - start

    return min(once() for _ in range(3))


# Four times the text takes 4 times as long if time is linear and 16 times if it is quadratic; 9 lies
# between, as far from both as their ratio allows.
TIMES, BETWEEN = 4, 9


@pytest.mark.parametrize(
    ("write", "parse"),
    [
        (bif.write, bif.parse),
        (net.write, net.parse),
        (xmlbif.write, xmlbif.parse),
        (native.write, native.parse),
    ],
    ids=["bif", "net", "xmlbif", "native"],
)
def test_networks_of_a_thousand_nodes(write: Callable[[Network], Any], parse: Callable[[Any], Any]) -> None:
    small, wide = write(large(250)), write(large(1000))
    assert seconds(lambda: parse(wide)) < BETWEEN * seconds(lambda: parse(small))


@pytest.mark.parametrize("piece", ["/*", "/", '"', '\\"', "a/", "(", "%", "//\n", "/**/", " "])
@pytest.mark.parametrize("dialect", [BIF, NET], ids=["bif", "net"])
def test_texts_made_to_keep_a_pattern_busy(dialect: Dialect, piece: str) -> None:
    size = 50_000
    few = seconds(lambda: Tokens(piece * size, dialect))
    many = seconds(lambda: Tokens(piece * (TIMES * size), dialect))
    assert many < BETWEEN * max(few, 1e-3)  # below a millisecond the clock's own steps count
