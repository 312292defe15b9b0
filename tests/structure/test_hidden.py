"""Hidden variables in a search."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import HOLE, Table
from lacunary.errors import GraphError, ParameterError
from lacunary.structure.constraints import Constraints
from lacunary.structure.hidden import start_of, trials, with_hidden
from lacunary.structure.hidden_trials import search_hidden
from lacunary.structure.structural_em import structural_em

NAMES = [f"X{i}" for i in range(8)]


@pytest.fixture(scope="module")
def classes() -> Table:
    """800 rows of CH96 section 5's kind: a hidden class of three states, its binary children seen."""
    dag = lac.dag(f"C -> {' '.join(NAMES)}", states=2, hidden={"C": 3})
    rng = np.random.default_rng(4)
    tables = {name: (p := rng.beta(0.5, 0.5, size=(3, 1)), np.hstack([p, 1 - p]))[1] for name in NAMES}
    network = lac.Network.from_tables(dag, {"C": [0.4, 0.35, 0.25], **tables})
    return network.sample(800, rng=1).select(NAMES)


def test_what_people_write() -> None:
    assert trials(None) == [()]
    assert trials("H") == trials(["H"]) == trials({"H": 2}) == [(("H", 2),)]
    assert trials({"H": range(1, 3), "G": np.int64(3)}) == [(("H", 1), ("G", 3)), (("H", 2), ("G", 3))]
    wrong: Any
    for wrong in (3, {"H": 0}, {"H": []}, {"H": 2.5}, {"H": "3"}, {3: 2}, {"H": 10**6}):
        with pytest.raises(ParameterError):
            trials(wrong)
    with pytest.raises(ParameterError, match="choices"):
        trials({name: range(1, 20) for name in "ABCD"})


def test_a_hidden_variable_of_one_state_is_none(classes: Table) -> None:
    assert with_hidden(classes, (("H", 1),)) is classes
    both = with_hidden(classes, (("H", 3), ("G", 1)))
    assert both.schema.hidden == ("H",)
    assert (both.whole("a test").codes[:, -1] == HOLE).all()
    with pytest.raises(ValueError, match="X0"):
        with_hidden(classes, (("X0", 2),))


def test_the_initial_graph_points_from_hidden_to_observed(classes: Table) -> None:
    schema = with_hidden(classes, (("G", 2), ("H", 2))).schema
    whole = start_of(Constraints.of(schema), None)
    assert set(whole.arcs) == {(h, x) for h in "GH" for x in NAMES}
    tight = start_of(Constraints.of(schema, forbidden="G -> X0", required="X1 -> H", max_parents=2), None)
    wanted = {(h, x) for h in "GH" for x in NAMES} - {("G", "X0"), ("H", "X1")} | {("X1", "H")}
    assert set(tight.arcs) == wanted
    assert all(len(ps) <= 1 for ps in start_of(Constraints.of(schema, max_parents=1), None).parents)
    given = lac.dag("X0 -> X1", schema=classes.schema)
    assert set(start_of(Constraints.of(schema), given).arcs) == {("X0", "X1"), *whole.arcs}
    with pytest.raises(GraphError, match="forbidden"):
        start_of(Constraints.of(schema, forbidden="X0 -> X1"), given)


def test_the_number_of_states_is_found(classes: Table) -> None:
    """CH96 section 5: three states, and more evidence than for the best graph without a hidden variable."""
    # As published: weighed afresh, two states with six more arcs score 1.8 nats more than three.
    settings: dict[str, Any] = {"prior": lac.Dirichlet(1.0), "method": "greedy", "escapes": 0}
    found = structural_em(classes, hidden={"C": [1, 2, 3, 4]}, **settings)
    assert found.trials is not None
    assert found.chosen == {"C": 3}
    assert found.dag.schema["C"].size == 3
    plain = lac.search(classes, prior=lac.Dirichlet(1.0), method="greedy")
    # With one state nothing is missing, and the estimate is the exact evidence.
    assert found.trials[("C", 1),] == pytest.approx(plain.score, rel=1e-9)
    assert found.score > plain.score
    assert found.score == max(found.trials.values())
    assert len(found.dag.children_of("C")) >= 5


def test_other_estimates_can_choose(classes: Table) -> None:
    found = structural_em(
        classes.take(slice(0, 200)),
        hidden={"C": [1, 2]},
        choose="bic",
        prior=lac.Dirichlet(1.0),
        structure_prior=None,
    )
    assert found.trials is not None
    states = found.dag.schema["C"].size if "C" in found.dag.schema else 1
    assert found.chosen == {"C": states}
    fitted = lac.fit(found.dag, classes.take(slice(0, 200)), prior=found.prior, initial=found.network)
    again = lac.score(fitted, classes.take(slice(0, 200)), "bic", prior=found.prior)
    assert again.value == pytest.approx(max(found.trials.values()))
    with pytest.raises(ParameterError, match="choose"):
        structural_em(classes, hidden={"C": [1, 2]}, choose="tea leaves")


def test_the_number_of_hidden_variables_is_found_by_trial(classes: Table) -> None:
    rows = classes.take(slice(0, 400))
    found = search_hidden(rows, most=2, states=(3,), prior=lac.Dirichlet(1.0), escapes=0)
    assert found.dag.schema.hidden == ("H1",)
    assert found.trials is not None
    assert set(found.trials) == {(("H1", 1),), (("H1", 3),), (("H1", 3), ("H2", 1)), (("H1", 3), ("H2", 3))}
    assert search_hidden(rows, most=0).dag.schema.hidden == ()
    options: dict[str, Any]
    for options in ({"most": -1}, {"most": 1, "states": ()}, {"most": 1, "hidden": "H"}, {"name": "X"}):
        with pytest.raises(ParameterError):
            search_hidden(rows, **options)
