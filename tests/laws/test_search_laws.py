"""One path for search: a hole that weighs nothing changes neither what is legal nor what is found."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.errors import LacunaryError
from lacunary.structure.discrete import BIC
from lacunary.structure.method import METHODS
from lacunary.structure.structural_em import structural_em

WEIGHT = 1e-12
"""What the row with the hole counts."""

CLOSE = 1e-6
"""How far scores may be apart, in nats. A row of weight w adds w times what is expected of its log-density:
some ten nats, or, in a column that does not vary, its prior variance over that of the least noise, 1e5 nats.
The rest is rounding of sums of about a thousand nats, counted on one side and expected on the other."""


def discrete() -> Table:
    return lac.asia().sample(250, rng=5).select(["smoke", "lung", "bronc", "either", "dysp"])


def continuous() -> Table:
    rng = np.random.default_rng(0)
    x = rng.normal(size=150)
    y = 1.5 * x + rng.normal(size=150)
    return lac.read({"x": 30 * x + 500, "y": y, "z": rng.normal(size=150) - y}, kinds="continuous")


def mixed() -> Table:
    rng = np.random.default_rng(1)
    a = rng.integers(2, size=150)
    x = rng.normal(2.0 * a, 1.0)
    rows = {"a": a, "b": np.where(rng.random(150) < 0.8, a, 1 - a), "x": x, "y": x + rng.normal(size=150)}
    return lac.read(rows, kinds={"x": "continuous", "y": "continuous"})


def flat() -> Table:
    """A column that does not vary."""
    table = continuous()
    return Table(table.schema, table.codes, np.column_stack([table.reals[:, :2], np.full(len(table), 3.3)]))


TABLES = {"discrete": discrete, "continuous": continuous, "mixed": mixed, "flat": flat}


@cache
def pair(kind: str, column: int = -1) -> tuple[Table, Table]:
    """Return a table whose last row weighs next to nothing, and the same with a hole there."""
    table = TABLES[kind]()
    weights = np.append(np.ones(len(table) - 1), WEIGHT)
    codes, reals = table.codes.copy(), table.reals.copy()
    if table.schema.variables[column].discrete:
        codes[-1, column] = HOLE
    else:
        reals[-1, column] = np.nan
    return (
        Table(table.schema, table.codes, table.reals, weights),
        Table(table.schema, codes, reals, weights.copy()),
    )


def answer(table: Table, options: dict[str, Any]) -> Any:
    """Return what a search finds that takes no detours, or the refusal it meets."""
    try:
        return lac.search(table, **({"escapes": 0} | options))
    except LacunaryError as refusal:
        return type(refusal), str(refusal)


@pytest.mark.parametrize("score", [None, "bic"])
@pytest.mark.parametrize("kind", TABLES)
def test_scores_agree_as_the_weight_of_the_hole_goes_to_nothing(kind: str, score: str | None) -> None:
    whole, holey = pair(kind)
    one, two = (lac.search(table, score=score, method="exact") for table in (whole, holey))
    assert two.rounds[-1].escape is False
    assert one.score == pytest.approx(two.score, abs=CLOSE)
    assert lac.equivalent(one.dag, two.dag)
    for table in (
        whole,
        holey,
    ):  # the same graph, held: the score is that of the graph and not of the way there
        held = lac.search(table, score=score, required=one.dag.arcs, max_parents=2, method="greedy")
        assert held.score >= one.score - CLOSE


@pytest.mark.parametrize("kind", TABLES)
def test_results_are_of_one_kind(kind: str) -> None:
    one, two = (lac.search(table, max_parents=2) for table in pair(kind))
    assert type(one) is type(two)
    assert one.method == two.method == "exact"  # few variables
    assert one.schedule == two.schedule
    assert one.converged
    assert two.converged
    assert set(one.strengths) == set(one.dag.arcs)
    for found in (one, two):
        first, *_, last = found.rounds
        assert first.arcs == 0
        assert last.log_likelihood == pytest.approx(found.network.log_likelihood(found.table), abs=1e-2)
        # Network and round are at the mode, up to where EM stops: 1e-8 of a thousand nats a step, for some
        # hundred steps.
        assert found.score == pytest.approx(max(r.cheeseman_stutz for r in found.rounds), abs=CLOSE)


OPTIONS: list[dict[str, Any]] = [
    {"start": "tree"},
    {"start": "empty"},
    {"start": "bush"},
    {"start": 3},
    {"score": "bic", "prior": lac.bdeu(1.0)},
    {"prior": lac.bdeu(1e10)},
    {"prior": lac.Dirichlet(1e11)},
    {"prior": lac.NormalWishart(nu=3.0)},
    {"prior": 3},
    {"score": "k2"},
    {"score": "bge"},
    {"score": "bdeu", "prior": lac.k2()},
    {"score": "nonsense"},
    {"method": "hill"},
    {"until": "tea"},
    {"until": "structure"},
    {"escapes": -1},
    {"schedule": "((EX)* Ec S* M)*"},
    {"schedule": "((EM)^2 Ec S^1 M)^2"},
    {"hidden": {"H": 0}},
    {"hidden": {"H": [1, 2]}, "choose": "tea leaves"},
    {"max_parents": -1},
    {"max_parents": 1},
    {"required": "nobody -> nothing"},
    {"stop": lac.Stop(iterations=3), "starts": 2},
    *({"method": method, "max_parents": 2} for method in METHODS),
]


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_what_is_legal_does_not_depend_on_a_hole(kind: str, options: dict[str, Any]) -> None:
    one, two = (answer(table, options) for table in pair(kind))
    if isinstance(one, tuple) or isinstance(two, tuple):
        assert one == two
    else:
        assert type(one) is type(two)
        assert one.method == two.method


def test_a_ready_made_score_is_asked_as_it_is() -> None:
    whole, holey = pair("discrete")
    one, two = (lac.search(table, score=BIC(whole)) for table in (whole, holey))
    assert one.dag == two.dag
    assert one.score == two.score
    assert np.isfinite(two.network.log_likelihood(holey))
    narrow = whole.select(whole.schema.names[:3])
    for table in (narrow, holey.select(whole.schema.names[2:])):
        with pytest.raises(lac.ParameterError, match="the score knows 5 variables"):
            lac.search(table, score=BIC(whole))


def test_both_verbs_are_one() -> None:
    whole, holey = pair("discrete")
    for table in (whole, holey):
        one, two = lac.search(table, max_parents=2), structural_em(table, max_parents=2)
        assert (one.dag, one.score, one.rounds) == (two.dag, two.score, two.rounds)
