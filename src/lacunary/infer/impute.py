"""Fill the holes of a table with what a model says about them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import budgeted
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import ParameterError
from lacunary.family.distribution import NormalMixture
from lacunary.infer.answers import Answers, as_table, check_rows_drawn
from lacunary.infer.belief import Belief
from lacunary.infer.complete import completed
from lacunary.infer.mixture_answers import MixtureAnswers

__all__ = ["Fills", "How", "checked", "impute", "is_model"]

How = Literal["mode", "mean", "draw", "probability"]


@runtime_checkable
class Fills(Protocol):
    """What tells the holes of rows without a graph of its own, such as an ensemble."""

    @property
    def schema(self) -> Schema:
        """The variables."""

    def posterior(self, table: Any, targets: Any = None) -> dict[Any, Any]:
        """Return what is known of variables in every row."""

    def drawn(
        self, rows: Table, random: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return codes and reals with every hole drawn."""


Model = Answers | MixtureAnswers | Fills


@budgeted
def impute(
    model: Any,
    table: Any,
    *,
    how: How = "mode",
    copies: int = 1,
    rng: int | np.random.Generator | None = None,
) -> Table:
    """Return a table over the model's variables with every hole filled; see `lacunary.impute`."""
    checked(how, copies)
    model = model_of(model)
    known = model.dag.schema if isinstance(model, Answers) else model.schema
    rows = as_table(table, known)
    if how == "probability":
        return _probabilities(model, rows)
    schema = known.reveal()
    if how == "draw":
        check_rows_drawn(copies * len(rows), len(schema))
        codes, reals = _drawn(model, rows, copies, np.random.default_rng(rng))
    else:
        codes, reals = _best(model, rows, how)
    weights = np.tile(rows.weights, copies)
    return Table(schema, codes.astype(code_dtype(schema.sizes)), reals, weights, library=rows.library)


def checked(how: str, copies: int) -> None:
    """Refuse other ways to fill, and copies that would all be alike."""
    if how not in ("mode", "mean", "draw", "probability"):
        raise ParameterError(f"how must be 'mode', 'mean', 'draw' or 'probability', not {how!r}")
    if copies < 1 or (copies > 1 and how != "draw"):
        raise ParameterError("copies must be at least 1, and more than one makes sense only with how='draw'")


def is_model(found: Any) -> bool:
    """Tell whether holes can be filled with this, or with the model that it holds."""
    model = getattr(found, "network", getattr(found, "mixture", found))
    return isinstance(model, Answers | MixtureAnswers | Fills)


def model_of(found: Any) -> Model:
    """Return the model that learning found: a fit's network, a mixture's fit's mixture; a model as it is."""
    model = getattr(found, "network", getattr(found, "mixture", found))
    if not isinstance(model, Answers | MixtureAnswers | Fills):
        raise ParameterError(
            f"a model is needed, such as the network of a fit, not {type(found).__name__}: "
            "impute(model, table)"
        )
    return model


def _drawn(model: Model, rows: Table, copies: int, random: np.random.Generator) -> Any:
    """Return codes and reals of all copies, the holes of each row drawn together."""
    if isinstance(model, Belief):
        drawn = [completed(model.dag, model.draw(random), rows, random) for _ in range(copies)]
        codes, reals = zip(*drawn, strict=True)
        return np.concatenate(codes), np.concatenate(reals)
    repeated = rows.take(np.tile(np.arange(len(rows)), copies))
    if isinstance(model, Answers):
        return completed(model.dag, model.parameters(), repeated, random)
    return model.drawn(repeated, random)


def _best(model: Model, rows: Table, how: str) -> Any:
    """Return codes and reals with each hole filled by itself."""
    codes, reals = rows.codes.astype(np.int64), np.array(rows.reals)
    open_somewhere = [rows.schema.names[i] for i in np.flatnonzero(rows.holes.any(axis=0))]
    for name, posterior in model.posterior(rows, open_somewhere).items():
        column = rows.schema.index(str(name))
        if isinstance(posterior, NormalMixture):
            best = posterior.mean if how == "mean" else posterior.mode
            reals[:, column] = np.where(np.isnan(reals[:, column]), best, reals[:, column])
        else:
            codes[:, column] = np.where(codes[:, column] == HOLE, posterior.argmax(axis=1), codes[:, column])
    return codes, reals


def _probabilities(model: Model, rows: Table) -> Table:
    columns, variables = [], []
    for name, posterior in model.posterior(rows).items():
        if isinstance(posterior, NormalMixture):
            variables.append(Variable(f"{name} mean", kind="continuous"))
            variables.append(Variable(f"{name} sd", kind="continuous"))
            columns.extend([posterior.mean, np.where(np.isposinf(posterior.sd), np.nan, posterior.sd)])
            continue
        for state, values in zip(rows.schema[str(name)].states, posterior.T, strict=True):
            variables.append(Variable(f"{name}={state}", kind="continuous", bounds=(0.0, 1.0)))
            columns.append(values)
    reals = np.column_stack(columns)
    codes = np.full(reals.shape, HOLE, dtype=np.int8)
    return replace(rows, schema=Schema(tuple(variables)), codes=codes, reals=reals, decisions=())
