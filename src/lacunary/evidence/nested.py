"""The models inside a model with hidden classes or factors, and learning coefficients between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np

from lacunary.data.schema import Schema
from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array
from lacunary.maths.singular import class_coefficient, factor_coefficient, two_class_coefficient
from lacunary.model.dag import Dag

__all__ = ["Coefficients", "Nested", "Phi", "canonical", "nested", "share_fits"]

Coefficients = Literal["bound", "exact"]

Phi = float | Literal["default", "prior"]

REST = "use 'wbic' or 'variational', or give lac.sbic coefficients of your own"


@dataclass(frozen=True, eq=False)
class Nested:
    """A model and all that lie inside it, submodels first, the model itself last.

    Attributes
    ----------
    dags
        The graphs.
    coefficients, multiplicities
        λ_ij and m_ij, NaN where j does not lie in i; (models, models).
    exact
        Where coefficients are known exactly and not bounded from above; (models, models).
    prior
        Weights of the models, P_j; (models,).
    words
        Where the coefficients come from, for people.
    """

    dags: tuple[Dag, ...]
    coefficients: Array
    multiplicities: Array
    exact: Array
    prior: Array
    words: str


def share_fits(problems: Iterable[Problem]) -> None:
    """Let problems of the same rows use each other's fits."""
    siblings = {canonical(problem.dag): problem for problem in problems}
    for problem in siblings.values():
        problem.siblings = siblings


def canonical(dag: Dag) -> Dag:
    """Return the graph with the states of hidden variables called 0, 1, …."""
    return _with_states(dag, {name: dag.schema[name].size for name in dag.schema.hidden})


def nested(problem: Problem, phi: Phi = "default", coefficients: Coefficients = "bound") -> Nested:
    """Return the models inside the one that is weighed, with their learning coefficients."""
    if coefficients not in ("bound", "exact"):
        raise ParameterError(f"coefficients must be 'bound' or 'exact', not {coefficients!r}")
    dag, hidden = problem.dag, [problem.dag.schema[name] for name in problem.dag.schema.hidden]
    if not hidden:
        half = np.array([[dag.free / 2.0]])
        return Nested((dag,), half, np.ones((1, 1)), np.ones((1, 1)), np.ones(1), "a regular model: BIC")
    if any(dag.parents_of(variable.name) for variable in hidden):
        raise NoEstimateError(f"sBIC knows hidden classes and factors that have no parents; {REST}")
    if len(hidden) == 1 and hidden[0].discrete:
        return _classes(problem, hidden[0].name, phi, coefficients)
    if not any(variable.discrete for variable in hidden):
        return _factors(dag, coefficients)
    raise NoEstimateError(
        f"sBIC knows one hidden class, or hidden factors, not {len(hidden)} variables; {REST}"
    )


def _with_states(dag: Dag, sizes: dict[str, int]) -> Dag:
    """Return the graph with other numbers of states of some discrete variables, by name."""
    renamed = (
        replace(v, states=tuple(range(sizes[v.name]))) if v.discrete and v.name in sizes else v
        for v in dag.schema
    )
    return replace(dag, schema=Schema(tuple(renamed)))


def _chain(dags: list[Dag], pair: Callable[[int, int], tuple[float, int, bool]], words: str) -> Nested:
    """Return models of which each lies in the next: λ, m and whether it is exact, for pairs of places."""
    count = len(dags)
    out = np.full((3, count, count), np.nan)
    out[1:] = 1.0
    for i in range(count):
        for j in range(i + 1):
            out[:, i, j] = pair(i, j)
    return Nested(tuple(dags), out[0], out[1], out[2], np.ones(count), words)


def _classes(problem: Problem, name: str, phi: Phi, coefficients: Coefficients) -> Nested:
    dag, k = problem.dag, problem.dag.schema[name].size
    dags = [_with_states(dag, {name: j}) for j in range(1, k + 1)]
    two = dags[1] if k > 1 else _with_states(dag, {name: 2})
    r = two.free - dags[0].free - 1
    shared = dags[0].free - r
    if coefficients == "exact":
        return _two_classes(problem, name, dags, phi)
    weight = _phi(problem, name, phi, (r + 1) / 2)
    words = f"upper bounds with φ = {weight:g}" + ("" if phi == "prior" else ", which is not the fit's prior")
    return _chain(dags, lambda i, j: (class_coefficient(i + 1, j + 1, r, weight, shared), 1, i == j), words)


def _phi(problem: Problem, name: str, phi: Phi, default: float) -> float:
    """Return the Dirichlet weight of each class's probability."""
    if phi == "prior":
        alpha = problem.belief.alpha[problem.dag.layout.slice(problem.dag.schema.index(name))]
        if np.ptp(alpha) > 1e-9 * alpha.max():
            raise ParameterError(f"the prior tells the states of {name} apart: give phi as a number")
        return float(alpha[0])
    weight = default if phi == "default" else phi
    if isinstance(weight, str) or not weight > 0:
        raise ParameterError(f"phi must be a positive number, 'default' or 'prior', not {phi!r}")
    return float(weight)


def _two_classes(problem: Problem, name: str, dags: list[Dag], phi: Phi) -> Nested:
    """Return independence inside two classes and, of binary features, all pairs that alone depend between."""
    dag, features = problem.dag, [v for v in problem.dag.schema if v.name != name]
    plain = all(v.discrete and dag.parents_of(v.name) == (name,) for v in features)
    if len(dags) > 2 or not plain or dag.tied or dag.family:
        raise ParameterError(
            "exact learning coefficients are known of at most two hidden classes above discrete features; "
            "use coefficients='bound'"
        )
    weight = _phi(problem, name, "prior" if phi == "default" else phi, 1.0)
    widths = [v.size - 1 for v in features]
    coefficient, multiplicity = two_class_coefficient(widths, weight)
    full = 0.5 * sum(widths), 1, True
    words = f"exact, with φ = {weight:g}"
    if len(dags) == 1:
        return _chain(dags, lambda i, j: full, words)
    from lacunary.rank.dimension import dimension  # loaded where there is something to rank

    generic = 0.5 * dimension(dags[1]).rank
    chain = _chain(
        dags,
        lambda i, j: full if i == 0 else (generic, 1, True) if j else (coefficient, multiplicity, True),
        words,
    )
    return _with_pairs(chain, name) if len(features) > 2 and set(widths) == {1} else chain


def _with_pairs(chain: Nested, name: str) -> Nested:
    """Put between independence and two classes the models in which one pair of binary features depends.

    Two classes then differ in these two features, and t, u_1, u_2 enter as one product: λ = (2n − 1)/2.
    """
    one, two = chain.dags
    names = [v for v in one.names if v != name]
    pairs = list(combinations(names, 2))
    arcs = [(name, v) for v in names]
    between = [Dag.from_arcs(one.schema, [*arcs, pair]) for pair in pairs]
    n, count = len(names), len(pairs)
    out = np.full((count + 2, count + 2), np.nan)
    orders = np.ones_like(out)
    ends = np.ix_([0, count + 1], [0, count + 1])
    out[ends], orders[ends] = chain.coefficients, chain.multiplicities
    for p in range(1, count + 1):
        out[p, 0] = out[p, p] = (n + 1) / 2
        out[-1, p] = (2 * n - 1) / 2
    prior = np.array([1.0, *[1.0 / count] * count, 1.0])
    return Nested((one, *between, two), out, orders, np.ones_like(out), prior, chain.words)


def _factors(dag: Dag, coefficients: Coefficients) -> Nested:
    hidden = dag.schema.hidden
    seen = [v for v in dag.schema if not v.hidden]
    plain = all(not v.discrete and set(dag.parents_of(v.name)) == set(hidden) for v in seen)
    if not plain or dag.tied or dag.family:
        raise NoEstimateError(
            f"sBIC knows factors that are parents of every observed variable, with no other arcs; {REST}"
        )
    if coefficients == "exact":
        raise ParameterError("exact learning coefficients of factor analysis are not known; use 'bound'")
    m, dags = len(seen), [dag.without(hidden[j:]) for j in range(len(hidden) + 1)]

    def pair(i: int, j: int) -> tuple[float, int, bool]:
        most = m * (m + 1) / 4  # half the dimension of all covariance matrices
        return m / 2 + min(factor_coefficient(m, i, j), most), 1, i == j or (i, j) == (1, 0)

    return _chain(dags, pair, "upper bounds of factor analysis")
