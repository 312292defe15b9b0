"""Means, shares of states and linear regressions of filled tables, pooled by Rubin's rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from lacunary.data.table import Table
from lacunary.data.wording import counted
from lacunary.errors import ParameterError, SchemaError
from lacunary.study.pool import Estimates, Pooled, numbered, pooled_estimates

__all__ = ["simple_estimates"]

Told = dict[str, tuple[float, float]]
Analysis = Callable[[Table], tuple[Told, int]]
"""Of one table: estimates with their errors, and the degrees of freedom that are left."""


def simple_estimates(
    table: Table,
    copy_column: str,
    means: Iterable[str],
    shares: Sequence[tuple[str, str]],
    regressions: Mapping[str, Sequence[str]],
    level: float = 0.95,
) -> Pooled:
    """Return means of columns, shares of states and coefficients, pooled over numbered filled tables."""
    means = list(means)
    if copy_column not in table.schema:
        raise SchemaError(f"there is no column {copy_column!r} that numbers the filled tables")
    if (table.weights != 1).any():
        raise ParameterError("rows are counted once each here; leave --weights out")
    columns = {
        *means,
        *(name for name, _ in shares),
        *regressions,
        *(x for xs in regressions.values() for x in xs),
    }
    for name in sorted(columns):
        if table.holes[:, table.schema.index(name)].any():
            raise SchemaError(
                f"{name} has holes; pooling is of filled tables: lacunary impute --how draw --copies 5"
            )
    parts = numbered(table, copy_column)
    if len(parts) < 2:
        raise SchemaError(f"{copy_column!r} numbers one filled table; pooling needs at least two")
    asked: list[Analysis] = [partial(_alone, means=means, shares=shares)] if means or shares else []
    asked += [partial(_regressed, y=y, names=names) for y, names in regressions.items()]
    found = [pooled_estimates([_estimates(analysis, part) for part in parts], level) for analysis in asked]
    return Pooled(tuple(one for pooled in found for one in pooled), len(parts), level)


def _estimates(analysis: Analysis, part: Table) -> Estimates:
    told, dof = analysis(part)
    if dof < 1:
        raise SchemaError(f"{counted(len(part), 'row')} are too few: none is left to tell errors by")
    values, errors = np.array(list(told.values())).T
    return Estimates(tuple(told), values, errors, dof)


def _numbers(part: Table, name: str) -> Any:
    variable, i = part.schema[name], part.schema.index(name)
    if not variable.discrete:
        return part.reals[:, i]
    if not all(isinstance(state, int | float) for state in variable.states):
        raise SchemaError(f"{name} has states that are not numbers: --share {name}=STATE")
    return np.array(variable.states, dtype=np.float64)[part.codes[:, i]]


def _alone(part: Table, means: Sequence[str], shares: Sequence[tuple[str, str]]) -> tuple[Told, int]:
    told: Told = {f"mean of {name}": _mean(_numbers(part, name)) for name in means}
    return told | {f"{name}={state}": _share(part, name, state) for name, state in shares}, len(part) - 1


def _mean(values: Any) -> tuple[float, float]:
    if len(values) < 2:
        raise SchemaError("one row tells no error of a mean")
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _share(part: Table, name: str, state: str) -> tuple[float, float]:
    spelled = {str(one): one for one in part.schema[name].states}
    code = part.schema[name].encode(spelled.get(state, state))
    p = float(np.mean(part.codes[:, part.schema.index(name)] == code))
    return p, float(np.sqrt(p * (1 - p) / len(part)))


def _regressed(part: Table, y: str, names: Sequence[str]) -> tuple[Told, int]:
    columns, labels = list[Any](), list[str]()
    for name in names:
        variable, i = part.schema[name], part.schema.index(name)
        if not variable.discrete or all(isinstance(s, int | float) for s in variable.states):
            columns, labels = [*columns, _numbers(part, name)], [*labels, name]
            continue
        for code in range(1, variable.size):
            columns.append((part.codes[:, i] == code).astype(np.float64))
            labels.append(f"{name}={variable.states[code]}")
    dof = len(part) - 1 - len(columns)
    if dof < 1:
        raise SchemaError(
            f"{counted(len(part), 'row')} are too few for a regression of {y} with "
            f"{counted(1 + len(columns), 'coefficient')}"
        )
    slopes, errors = _least_squares(np.column_stack(columns), _numbers(part, y), labels, dof)
    told = zip(["intercept", *labels], slopes, errors, strict=True)
    return {f"{y} on {label}": (float(b), float(e)) for label, b, e in told}, dof


def _least_squares(columns: Any, target: Any, labels: Sequence[str], dof: int) -> tuple[Any, Any]:
    """Return the intercept and slopes of a regression, and their errors.

    Columns are taken from their means, in units of their standard deviations, and decomposed as they are, not
    as their products: digits are lost where columns nearly depend on each other and nowhere else.
    """
    middle, spread = columns.mean(axis=0), columns.std(axis=0)
    flat = spread <= np.abs(middle) * ROUNDING
    scaled = (columns - middle) / np.where(flat, 1.0, spread)
    q, r = np.linalg.qr(scaled)
    # A column that the others before it make up leaves nothing but rounding on the diagonal.
    lost = flat | (np.abs(np.diag(r)) <= ROUNDING * np.sqrt(len(columns)))
    if lost.any():
        raise SchemaError(
            f"{labels[int(np.argmax(lost))]} is made up of the columns before it or has one value, so its "
            "coefficient cannot be told; leave it out"
        )
    rest = target - target.mean()
    inverse = np.linalg.inv(r)
    standard = inverse @ (q.T @ rest)
    rest = rest - scaled @ standard
    root = np.sqrt(rest @ rest / dof)
    slopes = standard / spread
    weights = inverse / spread[:, None]
    errors = root * np.sqrt((weights**2).sum(axis=1))
    intercept = target.mean() - middle @ slopes
    error = root * np.sqrt(1 / len(columns) + ((middle @ weights) ** 2).sum())
    return [intercept, *slopes], [error, *errors]


ROUNDING = 1e-10
"""What is smaller than this share of a column is taken for rounding."""
