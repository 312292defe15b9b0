"""What an object shows of itself in a notebook: a line or a table, never the arrays it is made of."""

from __future__ import annotations

from typing import Any

import pytest

import lacunary as lac


@pytest.fixture(scope="module")
def things() -> dict[str, Any]:
    votes = lac.house_votes().select(["crime", "immigration", "party"])
    graph = lac.naive_bayes(votes.schema, hidden="bloc", states=2)
    found = lac.fit(graph, votes, starts=2)
    mixture = lac.fit_mixture(votes, components=1)
    return {
        "table": votes,
        "schema": votes.schema,
        "dag": graph,
        "network": found.network,
        "fit": found,
        "distribution": found.network.query("crime"),
        "comparison": lac.compare([graph], votes, ["bic"]),
        "search": lac.search(votes),
        "mixture": mixture.mixture,
        "mixture fit": mixture,
        "belief": found.belief,
        "stats": lac.expect(found.network, votes),
        "sampled": lac.posterior_mean(graph, votes, draws=5, burn=1),
        "draws": lac.score(graph, votes, "ais", chains=4),
        "sensitivity": lac.sensitivity([graph], votes, alphas=[1.0, 2.0]),
        "loo": lac.loo(graph, votes, draws=10, burn=1),
        "columns": lac.learn_dependencies(votes.take(slice(0, 60)), chains=2, trees=5),
        "t": lac.fit("x1", {"x1": [1.0, 2.0, 4.5]}).belief.query("x1"),
    }


def test_no_arrays_are_poured_out(things: dict[str, Any]) -> None:
    for name, thing in things.items():
        shown = repr(thing)
        assert "array(" not in shown, name
        assert "Variable(" not in shown, name
        assert max(map(len, shown.splitlines())) <= 160, name


def test_a_table_says_its_size_and_its_holes(things: dict[str, Any]) -> None:
    table = things["table"]
    assert repr(table) == f"<Table: 435 rows, 3 variables, {int(table.holes.sum())} of 1305 cells holes>"
