"""Structural EM where variables are continuous, or of both kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import Table
from lacunary.errors import ParameterError, SchemaError
from lacunary.structure.structural_em import structural_em
from lacunary.structure.walk import SearchProgress, Trail

KINDS: Any = {"x": "continuous", "y": "continuous", "z": "continuous", "w": "continuous"}


def gaussian(rows: int = 300, seed: int = 0) -> Table:
    """x → y → z and w, in units of their own."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=rows)
    y = 1.5 * x + rng.normal(size=rows)
    z = -y + rng.normal(size=rows)
    return lac.read({"x": x * 30 + 500, "y": y, "z": z * 1e-3 + 7, "w": rng.normal(size=rows)}, kinds=KINDS)


def mixed(rows: int = 400, seed: int = 0) -> Table:
    """A → B; A → x → y, with a slope that depends on B."""
    kinds: Any = {"x": "continuous", "y": "continuous"}
    dag = lac.dag("A -> B; A -> x -> y; B -> y", states=2, kinds=kinds)
    tables: dict[str, Any] = {
        "A": [0.5, 0.5],
        "B": [[0.85, 0.15], [0.2, 0.8]],
        "x": lac.Regression([0.0, 3.0], variance=1.0),
        "y": lac.Regression([0.0, 1.0], [[1.5], [-1.0]], 0.5),
    }
    return lac.Network.from_tables(dag, tables).sample(rows, rng=seed)


TABLES = {"gaussian": gaussian, "mixed": mixed}


@pytest.mark.parametrize("options", [{}, {"score": "bic"}, {"max_parents": 1}], ids=str)
@pytest.mark.parametrize("kind", TABLES)
def test_without_holes_it_is_a_plain_search(kind: str, options: dict[str, Any]) -> None:
    table = TABLES[kind](150)
    plain = lac.search(table, method="greedy", **options)
    ours = structural_em(table, method="greedy", schedule="((EM)* Ec S* M)*", **options)
    assert set(ours.dag.arcs) == set(plain.dag.arcs)
    # The closed form by one route, and corrected for its fit, which is nothing without holes, by another.
    assert ours.score == pytest.approx(plain.score, rel=1e-9)


@pytest.mark.parametrize("kind", TABLES)
def test_the_graph_is_found_in_spite_of_holes(kind: str) -> None:
    table = TABLES[kind](600, 1)
    holey = lac.make_holes(table, 0.15, rng=1)
    found = structural_em(holey)
    assert lac.search(holey).dag == found.dag
    truth = {"gaussian": "x -> y -> z; w", "mixed": "A -> B; A -> x -> y; B -> y"}[kind]
    dag = lac.dag(truth, schema=table.schema)
    assert {frozenset(a) for a in dag.arcs} <= {frozenset(a) for a in found.dag.arcs}
    assert len(found.dag.arcs) <= len(dag.arcs) + 1  # one too many can pay by chance
    assert found.score == pytest.approx(max(r.cheeseman_stutz for r in found.rounds))
    assert set(found.strengths) == set(found.dag.arcs)
    # The network is in the table's units: it fits the rows as well as the last round says.
    assert found.network.log_likelihood(holey) == pytest.approx(found.rounds[-1].log_likelihood, rel=1e-4)


@pytest.mark.parametrize("kind", TABLES)
def test_the_order_of_rows_does_not_matter(kind: str) -> None:
    holey = lac.make_holes(TABLES[kind](100), 0.2, rng=2)
    turned = holey.take(np.random.default_rng(0).permutation(len(holey)))
    one, two = structural_em(holey), structural_em(turned)
    assert one.dag == two.dag
    assert one.score == pytest.approx(two.score, rel=1e-9)  # the same sums in another order


@pytest.mark.parametrize("kind", TABLES)
def test_a_mixture_with_one_component_is_the_same(kind: str) -> None:
    holey = lac.make_holes(TABLES[kind](300), 0.1, rng=3)
    prior = lac.NormalWishart(nu=1, tables=lac.bdeu(1))
    plain = structural_em(holey, escapes=0, prior=prior, structure_prior=None)
    found = lac.fit_mixture(holey, components=1, prior=prior, structure_prior=None)
    assert lac.equivalent(found.mixture.components[0].dag, plain.dag)
    # Both climb to the same maximum, and stop a little before it, by rules of 1e-6 and 1e-8.
    assert found.estimate.value == pytest.approx(plain.score, abs=1e-2)


def test_units_do_not_matter() -> None:
    holey = lac.make_holes(gaussian(120), 0.15, rng=4)
    scaled = lac.Table(holey.schema, holey.codes, holey.reals * [1.0, 1e6, 1.0, 1e-3])
    one, two = structural_em(holey), structural_em(scaled)
    assert one.dag == two.dag
    seen = (~holey.holes).sum(axis=0)
    # A density changes by the unit of every observed cell.
    assert two.score == pytest.approx(one.score - seen @ np.log([1.0, 1e6, 1.0, 1e-3]), abs=1e-4)


def test_a_hidden_class_above_continuous_variables_is_found() -> None:
    rng = np.random.default_rng(5)
    group = rng.integers(2, size=250)
    x = {name: 3.0 * group + rng.normal(size=250) for name in "xyzw"}
    table = lac.make_holes(lac.read(x, kinds=KINDS), 0.1, rng=5)
    found = structural_em(table, hidden={"H": [1, 2]}, max_parents=2)
    assert found.chosen == {"H": 2}
    assert len(found.dag.children_of("H")) == 4


def test_it_can_be_left_and_taken_up() -> None:
    holey = lac.make_holes(mixed(150), 0.2, rng=6)
    whole = structural_em(holey)
    kept: list[Trail] = []

    def watch(progress: SearchProgress) -> bool:
        kept.append(progress.trail())
        return len(kept) == 4

    assert structural_em(holey, watch=watch).interrupted
    again = structural_em(holey, start=kept[-1])
    assert again.dag == whole.dag
    assert again.score == whole.score


def test_what_makes_no_sense_is_refused() -> None:
    holey = lac.make_holes(gaussian(40), 0.1, rng=0)
    with pytest.raises(ParameterError, match="'bge', 'bic'"):
        lac.search(holey, score="bdeu")
    with pytest.raises(ParameterError, match="NormalWishart"):
        lac.search(holey, prior=3)
    empty = np.array(holey.reals)
    empty[:, 1] = np.nan
    with pytest.raises(SchemaError, match="nothing is observed of y"):
        lac.search(lac.Table(holey.schema, holey.codes, empty))
    heavy = lac.search(holey, prior=lac.NormalWishart(nu=5))
    assert heavy.score != lac.search(holey).score
