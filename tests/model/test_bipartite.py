"""Bipartite graphs against all graphs there are, with hidden variables in every order."""

from __future__ import annotations

from itertools import permutations, product
from typing import Any

import pytest

import lacunary as lac


def brute_force(hidden: dict[str, int], observed: list[str]) -> set[frozenset[Any]]:
    """Return all sets of arcs up to permutations of hidden variables with equally many states."""
    names, pairs = list(hidden), [(h, y) for h in hidden for y in observed]
    out = set()
    for chosen in product([False, True], repeat=len(pairs)):
        arcs = [arc for arc, there in zip(pairs, chosen, strict=True) if there]
        images = []
        for order in permutations(names):
            swap = dict(zip(names, order, strict=True))
            if all(hidden[a] == hidden[b] for a, b in swap.items()):
                images.append(tuple(sorted((swap[h], y) for h, y in arcs)))
        out.add(frozenset(min(images)))
    return out


@pytest.mark.parametrize(
    ("hidden", "seen"),
    [({"h": 2, "g": 2}, 3), ({"h": 2, "g": 3}, 2), ({"h": 2, "f": 3, "g": 2}, 2), ({"h": 4}, 3)],
)
def test_every_graph_is_made_once(hidden: dict[str, int], seen: int) -> None:
    observed = [f"y{i}" for i in range(seen)]
    schema = lac.Schema(tuple(lac.Variable(name, (0, 1)) for name in observed))
    made = lac.bipartite(schema, hidden)
    expected = brute_force(hidden, observed)
    assert len(made) == len(set(made)) == len(expected)
    images = set()
    for graph in made:
        assert all(tail in hidden and head in observed for tail, head in graph.arcs)
        swaps = []
        for order in permutations(hidden):
            swap = dict(zip(hidden, order, strict=True))
            if all(hidden[a] == hidden[b] for a, b in swap.items()):
                swaps.append(tuple(sorted((swap[h], y) for h, y in graph.arcs)))
        images.add(frozenset(min(swaps)))
    assert images == expected


def test_hidden_variables_may_stand_in_the_schema_or_be_added() -> None:
    seen = [lac.Variable(name, (0, 1)) for name in "ab"]
    hidden = lac.Variable("h", (0, 1, 2), hidden=True)
    first = lac.bipartite(lac.Schema((hidden, *seen)))
    assert first[0].names == ("h", "a", "b")
    assert [g.arcs for g in first] == [g.arcs for g in lac.bipartite(lac.Schema(tuple(seen)), {"h": 3})]


def test_too_many_and_none_are_refused() -> None:
    schema = lac.Schema(tuple(lac.Variable(f"y{i}", (0, 1)) for i in range(12)))
    with pytest.raises(lac.TooWideError, match="there are 8390656 such graphs"):  # (4096 + 1 over 2)
        lac.bipartite(schema, {"g": 2, "h": 2})
    with pytest.raises(lac.GraphError, match="need hidden variables"):
        lac.bipartite(schema)
    with pytest.raises(lac.GraphError, match="not over 2; give variables"):
        lac.bipartite(2, {"h": 4})  # type: ignore[arg-type]
