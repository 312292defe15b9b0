"""Fill the holes of a table with what a model says about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import ParameterError
from lacunary.infer.answers import Answers, as_table
from lacunary.infer.posterior import filled

__all__ = ["How", "impute"]

How = Literal["mode", "draw", "probability"]


def impute(
    model: Answers,
    table: Any,
    *,
    how: How = "mode",
    copies: int = 1,
    rng: int | np.random.Generator | None = None,
) -> Table:
    """Return a table over the model's variables with every hole filled, hidden variables included.

    Parameters
    ----------
    model
        A network or a belief.
    table
        Rows with holes: a table, a frame, an array or a path.
    how
        "mode": each hole takes its most probable state given the row's observed cells. "draw": the holes of
        a row take one joint draw from their posterior, as multiple imputation needs. "probability": each
        variable becomes one column a state, named ``variable=state``, that holds its probability.
    copies
        How many filled tables to draw; they follow one another in the result.
    rng
        Seed or generator for draws.
    """
    if how not in ("mode", "draw", "probability"):
        raise ParameterError(f"how must be 'mode', 'draw' or 'probability', not {how!r}")
    if copies < 1 or (copies > 1 and how != "draw"):
        raise ParameterError("copies must be at least 1, and more than one makes sense only with how='draw'")
    rows = as_table(table, model.dag.schema)
    if how == "probability":
        return _probabilities(model, rows)
    schema = model.dag.schema.reveal()
    codes = _modes(model, rows) if how == "mode" else _draws(model, rows, copies, np.random.default_rng(rng))
    weights = np.tile(rows.weights, copies)
    return Table(schema, codes.astype(code_dtype(schema.sizes)), weights=weights, library=rows.library)


def _modes(model: Answers, rows: Table) -> Any:
    codes = rows.codes.astype(np.int64)
    open_somewhere = [rows.schema.names[i] for i in np.flatnonzero(rows.holes.any(axis=0))]
    for name, posterior in model.posterior(rows, open_somewhere).items():
        column = rows.schema.index(str(name))
        codes[:, column] = np.where(codes[:, column] == HOLE, posterior.argmax(axis=1), codes[:, column])
    return codes


def _draws(model: Answers, rows: Table, copies: int, rng: np.random.Generator) -> Any:
    repeated = np.tile(rows.codes, (copies, 1))
    return filled(model.dag, model.parameters(), repeated, seed=int(rng.integers(2**63)))


def _probabilities(model: Answers, rows: Table) -> Table:
    columns, variables = [], []
    for name, posterior in model.posterior(rows).items():
        for state, values in zip(rows.schema[str(name)].states, posterior.T, strict=True):
            variables.append(Variable(f"{name}={state}", kind="continuous", bounds=(0.0, 1.0)))
            columns.append(values)
    reals = np.column_stack(columns)
    codes = np.full(reals.shape, HOLE, dtype=np.int8)
    return replace(rows, schema=Schema(tuple(variables)), codes=codes, reals=reals, decisions=())
