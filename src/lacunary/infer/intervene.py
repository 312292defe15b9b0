"""Interventions: what a model says once some variables are set from outside, whatever would have caused them.

The arcs into what is set are cut (Pearl's truncated product). What is set is then a root, so that to set it
and to see it are the same: p(y | do(x), z) of the model is p(y | x, z) of the model with these arcs cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunary.data.schema import Schema, Variable
from lacunary.errors import SchemaError, StateError
from lacunary.infer.findings import Findings, Given
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.infer.answers import Answers

__all__ = ["check_do", "cut_arcs", "intervened"]


def intervened(model: Answers, do: Given, given: Given | None = None) -> tuple[Answers, dict[str, Any]]:
    """Return the model with the arcs into ``do`` cut, and what is known in it: ``given`` and what is set.

    A leaf family (a count, a uniform) has no children, so that setting it changes nothing else and it is not
    among what is known.
    """
    check_do(model.dag.schema, do, given)
    leaves = {model.dag.names[i] for i, _ in model.dag.leaves}
    known = {name: state for name, state in do.items() if name not in leaves}
    return _without_causes(model, do), {**(given or {}), **known}


def check_do(schema: Schema, do: Given, given: Given | None = None) -> None:
    """Refuse what cannot be set: a set or likelihood of states, and what is given as well."""
    for name, state in do.items():
        if name in (given or {}):
            raise SchemaError(
                f"{name} is set by do and given as well; what is set holds, so leave it out of given"
            )
        found = Findings.of(schema, {name: state})
        if found.likelihoods:
            raise StateError(f"{name} is set by do to one state or value, not to {state!r}")


def cut_arcs(dag: Dag, names: Iterable[str]) -> Dag:
    """Return the graph without the arcs into some variables, whose families are tied to none."""
    gone = {dag.schema[name].name for name in names}
    parents = tuple(() if name in gone else ps for name, ps in zip(dag.names, dag.parents, strict=True))
    groups = (tuple(name for name in group if name not in gone) for group in dag.tied)
    return Dag(dag.schema, parents, tuple(group for group in groups if len(group) > 1), dag.family)


def _without_causes(model: Answers, do: Given) -> Answers:
    from lacunary.infer.belief import Belief
    from lacunary.infer.network import Network

    old, new = model.dag, cut_arcs(model.dag, do)
    if isinstance(model, Belief) and old.continuous:
        alpha = np.ones(new.layout.statistics_size)
        for i, name in enumerate(old.names):
            _copy_hyper(model, new, alpha, i, do.get(name))
        return Belief(new, alpha, model.surplus, model.standard, model.weight_sd, model.relative)
    theta = model.parameters()
    out = np.empty(new.layout.size)
    for i, name in enumerate(old.names):
        own = theta[old.layout.slice(i)]
        out[new.layout.slice(i)] = own if name not in do else _root(old.schema[name], new, i, own, do[name])
    return Network(new, out)


def _root(variable: Variable, new: Dag, i: int, own: Array, value: Any) -> Array:
    """Return parameters of a variable that is set: any under which what it is set to can be seen."""
    if variable.discrete:
        return np.full(variable.size, 1.0 / variable.size)
    if i in dict(new.leaves):
        return own[: new.layout.widths[i][0]]
    return np.array([float(value), 1.0])


def _copy_hyper(belief: Any, new: Dag, alpha: Array, i: int, value: Any) -> None:
    """Fill in one family's hyperparameters; those of a variable that is set are worth two rows and more."""
    old: Dag = belief.dag
    if old.schema.sizes[i]:
        if value is None:
            alpha[new.layout.slice(i)] = belief.alpha[old.layout.slice(i)]
        return
    hyper, own = new.layout.statistics(alpha, i), belief.hyper(i)
    if value is None or i in dict(new.leaves):
        hyper[:] = own[: len(hyper)]
        return
    rows = 2.0 + abs(belief.surplus)
    mean = float(value)
    hyper[:] = rows * np.array([1.0, mean, mean, mean * mean + 1.0])
