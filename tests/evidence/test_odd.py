"""Every estimate of every odd table: a finite number with its kind, or a refusal that names what can."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, get_args

import numpy as np
import pytest

import lacunary as lac
from lacunary.data.table import HOLE
from lacunary.errors import LacunaryError
from lacunary.evidence.estimate import Kind
from lacunary.evidence.score import METHODS
from lacunary.infer.belief import Prior

KINDS = get_args(Kind)

QUICK: dict[str, dict[str, Any]] = {
    "ais": {"steps": 8, "chains": 4},
    "path": {"temperatures": 3, "draws": 4, "chains": 4},
    "bridge": {"temperatures": 3, "draws": 4, "chains": 4},
    "chib": {"draws": 8, "burn": 8, "chains": 4},
    "wbic": {"draws": 20, "burn": 20, "chains": 2},
    "sampled": {"stderr": 1.0, "budget": 1e5},
    "sandwich": {"stderr": 1.0, "budget": 1e5},
}
"""Runs too short to be right, but what they print must be a number all the same."""

Case = tuple[Any, lac.Table, Prior]


def coded(dag: lac.Dag, rows: list[list[int]], weights: list[float] | None = None) -> lac.Table:
    codes = np.array(rows, dtype=np.int16).reshape(-1, len(dag.names))
    given = np.ones(len(codes)) if weights is None else np.array(weights)
    return lac.Table(dag.schema, codes, weights=given)


def discrete() -> dict[str, Case]:
    flat, tiny = lac.Dirichlet(1.0), lac.Dirichlet(1e-6)
    pair, hidden = lac.dag("A -> B", states=2), lac.dag("H -> A B", states=2, hidden={"H": 2})
    alone, H = lac.dag("A -> B", states={"A": 1, "B": 3}), HOLE
    held = coded(hidden, [[H, 0, 1], [H, 1, 1], [H, 0, 0], [H, 1, 0]])
    known = partial(lac.fit, hidden, held, fixed={"A": [[0.9, 0.1], [0.2, 0.8]]}, starts=1)  # when asked
    return {
        "no rows": (pair, coded(pair, []), flat),
        "one row": (pair, coded(pair, [[0, 1]]), flat),
        "all holes": (pair, coded(pair, [[H, H]] * 3), flat),
        "a column of holes": (pair, coded(pair, [[0, H], [1, H], [1, H]]), flat),
        "equal rows": (hidden, coded(hidden, [[H, 0, 0]] * 6), flat),
        "tiny pseudo-counts": (hidden, coded(hidden, [[H, 0, 0], [H, 1, 1], [H, 0, 1], [H, 1, 1]]), tiny),
        "huge pseudo-counts": (hidden, coded(hidden, [[H, 0, 0], [H, 1, 1]] * 4), lac.Dirichlet(1e300)),
        "one state": (alone, coded(alone, [[0, 0], [0, 2], [H, 1]]), flat),
        "no weight": (pair, coded(pair, [[0, 1], [1, H]], [0.0, 0.0]), flat),
        "half a row": (pair, coded(pair, [[0, 1], [1, H], [1, 1]], [1.0, 0.5, 2.0]), flat),
        "many rows": (pair, coded(pair, [[0, 1], [1, 1]], [1e6, 1e6]), flat),
        "held fixed": (known, held, flat),
    }


def others() -> dict[str, Case]:
    flat = lac.Dirichlet(1.0)
    sigmoid = lac.dag("A B -> C", states=2, family={"C": "sigmoid"})
    mixed = lac.dag("A -> X", states={"A": 2}, kinds={"X": "continuous"})
    counted = lac.dag("A -> X", states={"A": 2}, kinds={"X": "continuous"}, family={"X": "poisson"})
    bounded = lac.dag("A -> X", states={"A": 2}, kinds={"X": "continuous"}, family={"X": "uniform"})
    numbers = {"A": [0, 1, None, 0, 1, 1], "X": [1.0, 2.0, 3.0, 1.0, None, 4.0]}
    same = {"A": [0, 1, None, 0, 1, 1], "X": [2.0] * 6}
    return {
        "sigmoid": (sigmoid, coded(sigmoid, [[0, 1, 1], [1, HOLE, 0], [1, 1, 1], [0, 0, 0]]), flat),
        "mixed": (mixed, lac.read(numbers, schema=mixed.schema), flat),
        "equal numbers": (mixed, lac.read(same, schema=mixed.schema), flat),
        "poisson": (counted, lac.read(numbers, schema=counted.schema), flat),
        "uniform": (bounded, lac.read(numbers, schema=bounded.schema), flat),
    }


CASES: dict[str, Callable[[], dict[str, Case]]] = {
    **dict.fromkeys(discrete(), discrete),
    **dict.fromkeys(others(), others),
}


def asked(case: Case, method: str) -> lac.Estimate | LacunaryError:
    """Return the estimate, or the refusal."""
    model, table, prior = case
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # of numbers that go wrong
        try:
            model = model() if isinstance(model, partial) else model
            return lac.score(model, table, method, prior=prior, starts=2, **QUICK.get(method, {}))
        except LacunaryError as refused:
            return refused


@pytest.mark.parametrize("name", list(CASES))
def test_a_number_with_its_kind_or_a_refusal_that_names_what_can(name: str) -> None:
    case = CASES[name]()[name]
    answers = {method: asked(case, method) for method in METHODS}
    for method, answer in answers.items():
        if isinstance(answer, LacunaryError):
            _helpful(name, method, str(answer), answers)
            continue
        assert np.isfinite(answer.value), (name, method)
        assert answer.kind in KINDS, (name, method)
        assert answer.stderr is None or np.isfinite(answer.stderr), (name, method)
        assert answer.kind != "Monte Carlo" or answer.stderr is not None, (name, method)
        assert not re.search(r"\b(nan|inf)\b", str(answer), re.IGNORECASE), (name, method, str(answer))
        assert answer.kind in str(answer) or "±" in str(answer), (name, method, str(answer))


@pytest.mark.parametrize("values", [[2.0, 2.0, 2.0], [2.0, 1.0, 3.0]])  # of A = 0, 1, 1
def test_bounds_without_a_maximum_are_taken_at_the_map(values: list[float]) -> None:
    """Around the single value of a configuration they narrow, and the density grows, without end."""
    graph = lac.dag("A -> X", states={"A": 2}, kinds={"X": "continuous"}, family={"X": "uniform"})
    rows = lac.read({"A": [0, 1, 1], "X": values}, schema=graph.schema)
    found = lac.score(graph, rows, "bic")
    assert found.where == "map (softmax basis): the likelihood of X has no maximum"
    assert found.value == lac.score(graph, rows, "bic", at="map").value
    apart = lac.read({"A": [0, 0, 1, 1], "X": [2.0, 1.0, 1.0, 3.0]}, schema=graph.schema)
    held = lac.score(graph, apart, "bic")
    # Widths 1 and 2, two rows in each, half of the rows: 4 log ½ − 2 log 2; five parameters at (log 4)/2.
    assert held.where == "ml"
    assert held.value == pytest.approx(-11 * np.log(2))


@pytest.mark.parametrize(
    ("number", "what"), [(2.5, "holds 2.5, and a Poisson"), (-3.0, "holds -3, and a Poisson")]
)
def test_numbers_that_no_parameters_give_are_refused_by_every_estimate(number: float, what: str) -> None:
    """No count is half a one: the evidence of such a row is zero, and not what formulas say of it."""
    graph = lac.dag("A -> X", states={"A": 2}, kinds={"X": "continuous"}, family={"X": "poisson"})
    rows = lac.read({"A": [0, 1, None, 1], "X": [1.0, number, 3.0, 2.0]}, schema=graph.schema)
    for method in METHODS:
        with pytest.raises(lac.TableError, match=what):
            lac.score(graph, rows, method)
    with pytest.raises(lac.TableError, match=what):
        lac.loo(graph, rows, draws=10)


def _helpful(name: str, method: str, said: str, answers: dict[str, Any]) -> None:
    """A refusal that names other estimates names at least one that has an answer."""
    assert not re.search(r"\b(nan|inf)\b", said, re.IGNORECASE), (name, method, said)
    named = [other for other in METHODS if other != method and re.search(rf"'{other}'|[ ,]{other}\b", said)]
    if named and ("use" in said or "can are" in said):
        able = [other for other in named if not isinstance(answers[other], LacunaryError)]
        assert able, (name, method, said)
