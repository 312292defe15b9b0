"""Likelihoods of states as states: each is that of a child that was seen, which the model is given for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import SchemaError
from lacunary.infer.findings import Findings
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.infer.answers import Answers

__all__ = ["hardened"]


def hardened(model: Answers, findings: Findings) -> tuple[Answers, Table]:
    """Return a model and a table of one row in which all that is given is a state or a value.

    A likelihood of a variable's states becomes a binary child of it that is seen in its first state, with the
    likelihood as that state's probability (Pearl's virtual evidence). The model's own variables come first.
    """
    if findings.likelihoods:
        model = _with_children(model, findings)
    schema, many = model.dag.schema.reveal(), len(model.dag.names) - len(findings.likelihoods)
    codes = np.full((1, len(schema)), HOLE, dtype=code_dtype(schema.sizes))
    reals = np.full((1, len(schema) if model.dag.continuous else 0), np.nan)
    for v, state in findings.states.items():
        codes[0, v] = state
    for v, value in findings.values.items():
        reals[0, v] = value
    codes[0, many:] = 0
    return model, Table(schema, codes, reals)


def _with_children(model: Answers, findings: Findings) -> Answers:
    from lacunary.infer.network import Network

    if model.dag.continuous and not isinstance(model, Network):
        name = model.dag.names[next(iter(findings.likelihoods))]
        raise SchemaError(
            f"{name} has likelihoods of states, which a belief about continuous variables cannot take; give "
            "a state, or ask a network"
        )
    dag, theta = model.dag, model.parameters()
    tables = {name: dag.layout.table(theta, i) for i, name in enumerate(dag.names)}
    parents = {name: dag.parents_of(name) for name in dag.names}
    variables = list(dag.schema)
    for v, likelihood in findings.likelihoods.items():
        child = f"finding about {dag.names[v]}"
        variables.append(Variable(child, (0, 1)))
        parents[child] = (dag.names[v],)
        tables[child] = np.stack([likelihood, 1.0 - likelihood], axis=-1)
    whole = Dag.from_parents(Schema(tuple(variables)), parents, tied=dag.tied, family=dict(dag.family))
    return Network.from_tables(whole, tables)
