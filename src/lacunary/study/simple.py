"""Means, shares of states and linear regressions of filled tables, pooled by Rubin's rules."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lacunary.data.table import Table
from lacunary.errors import SchemaError
from lacunary.study.pool import Estimates, Pooled, pooled_estimates

__all__ = ["simple_estimates"]

Told = dict[str, tuple[float, float]]


def simple_estimates(
    table: Table,
    copy_column: str,
    means: Iterable[str],
    shares: Sequence[tuple[str, str]],
    regressions: Mapping[str, Sequence[str]],
    level: float = 0.95,
) -> Pooled:
    """Return means of columns, shares of states and coefficients, pooled over numbered filled tables."""
    if copy_column not in table.schema:
        raise SchemaError(f"there is no column {copy_column!r} that numbers the filled tables")
    codes = table.codes[:, table.schema.index(copy_column)]
    found = []
    for code in np.unique(codes):
        part = table.take(codes == code)
        told: Told = {f"mean of {name}": _mean(_numbers(part, name)) for name in means}
        told |= {f"{name}={state}": _share(part, name, state) for name, state in shares}
        for y, names in regressions.items():
            told |= _regressed(part, y, names)
        values, errors = np.array(list(told.values())).T
        lost = max([1, *(1 + len(names) for names in regressions.values())])
        found.append(Estimates(tuple(told), values, errors, len(part) - lost))
    if len(found) < 2:
        raise SchemaError(f"{copy_column!r} numbers one filled table; pooling needs at least two")
    return pooled_estimates(found, level)


def _numbers(part: Table, name: str) -> Any:
    variable, i = part.schema[name], part.schema.index(name)
    if not variable.discrete:
        return part.reals[:, i]
    if not all(isinstance(state, int | float) for state in variable.states):
        raise SchemaError(f"{name} has states that are not numbers: --share {name}=STATE")
    return np.array(variable.states, dtype=np.float64)[part.codes[:, i]]


def _mean(values: Any) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def _share(part: Table, name: str, state: str) -> tuple[float, float]:
    spelled = {str(one): one for one in part.schema[name].states}
    code = part.schema[name].encode(spelled.get(state, state))
    p = float(np.mean(part.codes[:, part.schema.index(name)] == code))
    return p, float(np.sqrt(p * (1 - p) / len(part)))


def _regressed(part: Table, y: str, names: Sequence[str]) -> Told:
    columns, labels = [np.ones(len(part))], ["intercept"]
    for name in names:
        variable, i = part.schema[name], part.schema.index(name)
        if not variable.discrete or all(isinstance(s, int | float) for s in variable.states):
            columns, labels = [*columns, _numbers(part, name)], [*labels, name]
            continue
        for code in range(1, variable.size):
            columns.append((part.codes[:, i] == code).astype(np.float64))
            labels.append(f"{name}={variable.states[code]}")
    design, target = np.column_stack(columns), _numbers(part, y)
    inverse = np.linalg.pinv(design.T @ design)
    slopes = inverse @ design.T @ target
    rest = target - design @ slopes
    errors = np.sqrt(np.diag(inverse) * (rest @ rest) / max(len(part) - design.shape[1], 1))
    return {
        f"{y} on {label}": (float(b), float(e)) for label, b, e in zip(labels, slopes, errors, strict=True)
    }
