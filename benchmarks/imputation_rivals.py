"""Other ways to fill holes, for `benchmarks.imputation`: means and modes, scikit-learn's imputers, R's mice.

Of labels each state but the first is a column of 0 and 1 (with a column for the first as well they add up to
one, and never leave the values they begin with); states that are numbers stay numbers, or become labels.
"""

from __future__ import annotations

import subprocess
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

import lacunary as lac

__all__ = ["RIVALS", "Told", "Way", "by_model"]

DRAWS = 10
LEAST = 0.01
"""What IterativeImputer's probabilities of states are cut to, from below: they may be zero or negative."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Told:
    """What a way of filling says of one column.

    ``guess`` is a state's code or a number; ``log`` the log-probability, or log-density, of what was there,
    None where the way knows no density.
    """

    guess: Array
    log: Array | None


Way = Callable[[lac.Table, lac.Table], dict[str, Told]]
"""From a table with cells taken out, and the whole one to look the answers up in, to what is told of them."""


def by_model(model: Any, held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Return what a model says of every cell given the others of its row."""
    told = {}
    found: dict[Any, Any] = dict(model.posterior(held, list(whole.schema.names)))
    for name, posterior in found.items():
        i, variable = whole.schema.index(str(name)), whole.schema[str(name)]
        if variable.discrete:
            chance = posterior[np.arange(len(whole)), whole.codes[:, i]]
            with np.errstate(divide="ignore"):
                told[str(name)] = Told(posterior.argmax(axis=1).astype(float), np.log(chance))
        else:
            told[str(name)] = Told(posterior.mean, posterior.log_density(whole.reals[:, i]))
    return told


def marginal(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Fill with means and modes: a graph without arcs."""
    return by_model(lac.fit(lac.Dag.from_arcs(held.schema, []), held).belief, held, whole)


def iterative(held: lac.Table, whole: lac.Table, labels: bool = False) -> dict[str, Told]:
    """Fill with IterativeImputer as it comes (Bayesian ridge regressions, up to 20 rounds).

    It gives no densities: those of a cell are the mean of the normals that its own regressions say given
    the other cells, over completed tables that it drew.
    """
    imputer = _imputers()
    matrix, where = _encoded(held, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guess = imputer(max_iter=20, random_state=0, keep_empty_features=True).fit_transform(matrix)
        drawing = imputer(sample_posterior=True, random_state=0, keep_empty_features=True)
        drawing.fit(matrix)
        normals = np.array([_normals(drawing, drawing.transform(matrix)) for _ in range(DRAWS)])
    return _decoded(guess, normals, where, whole, labels)


def neighbours(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Fill with KNNImputer as it comes: the mean of five neighbours."""
    from sklearn.impute import KNNImputer

    matrix, where = _encoded(held, labels=False)
    return _decoded(KNNImputer(keep_empty_features=True).fit_transform(matrix), None, where, whole, False)


def forests(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Fill with IterativeImputer around forests of 50 trees, five rounds."""
    from sklearn.ensemble import RandomForestRegressor

    matrix, where = _encoded(held, labels=False)
    forest = RandomForestRegressor(n_estimators=50, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guess = _imputers()(forest, max_iter=5, random_state=0, keep_empty_features=True).fit_transform(
            matrix
        )
    return _decoded(guess, None, where, whole, False)


def _imputers() -> Any:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer


SCRIPT = """
suppressMessages(library(mice)); a <- commandArgs(TRUE); d <- read.csv(a[1], na.strings = "")
k <- scan(a[2], what = "", quiet = TRUE)
for (j in seq_along(d)) if (k[j] == "f") d[[j]] <- factor(d[[j]])
names(d) <- paste0("v", seq_along(d))
imp <- suppressWarnings(mice(d, m = 10, printFlag = FALSE, seed = 1))
for (i in 1:10) write.csv(complete(imp, i), paste0(a[3], i, ".csv"), row.names = FALSE)
"""


def mice(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Fill with R's mice as it comes, ten tables: means of numbers, the most frequent of states."""
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        kinds = ["f" if v.discrete else "n" for v in held.schema]
        (base / "kinds").write_text("\n".join(kinds))
        (base / "script.R").write_text(SCRIPT)
        _write(held, base / "in.csv")
        arguments = [str(base / "script.R"), str(base / "in.csv"), str(base / "kinds"), str(base / "out")]
        subprocess.run(["Rscript", "--vanilla", *arguments], check=True, capture_output=True, timeout=900)
        drawn = np.array(
            [
                np.genfromtxt(base / f"out{i}.csv", delimiter=",", skip_header=1, dtype=str)
                for i in range(1, 11)
            ]
        )
    told = {}
    for i, variable in enumerate(whole.schema):
        cells = np.array([[_number(cell) for cell in copy] for copy in drawn[:, :, i]])
        if variable.discrete:
            votes = np.stack([(cells == k).sum(axis=0) for k in range(variable.size)], axis=1)
            told[variable.name] = Told(votes.argmax(axis=1).astype(float), None)
        else:
            mean = np.where(np.isnan(cells).all(axis=0), np.nanmean(held.reals[:, i]), cells.mean(axis=0))
            told[variable.name] = Told(mean, None)
    return told


def _number(cell: str) -> float:
    return float("nan") if cell in ("NA", '"NA"', "") else float(cell.strip('"'))


def _write(table: lac.Table, path: Path) -> None:
    lines = [",".join(f"v{i}" for i in range(len(table.schema)))]
    for row in range(len(table)):
        cells = []
        for i, variable in enumerate(table.schema):
            value = table.codes[row, i] if variable.discrete else table.reals[row, i]
            cells.append(
                ""
                if table.holes[row, i]
                else repr(float(value))
                if not variable.discrete
                else str(int(value))
            )
        lines.append(",".join(cells))
    path.write_text("\n".join(lines) + "\n")


def _normals(drawing: Any, full: Array) -> Array:
    """Return mean and standard deviation of each cell given the others, by the last regressions; (2, …)."""
    out = np.stack([full, np.ones_like(full)])
    last = {step.feat_idx: step for step in drawing.imputation_sequence_}
    for column, step in last.items():
        mean, sd = step.estimator.predict(full[:, step.neighbor_feat_idx], return_std=True)
        out[:, :, column] = mean, np.maximum(sd, 1e-3)
    return out


def _encoded(table: lac.Table, labels: bool) -> tuple[Array, dict[str, Any]]:
    """Return standardised columns, where each variable's are, and their means and scales under ""."""
    columns: list[Array] = []
    where: dict[str, Any] = {}
    for i, variable in enumerate(table.schema):
        first = len(columns)
        empty = table.codes[:, i] < 0
        if not variable.discrete:
            columns.append(table.reals[:, i])
        elif counts(variable) and not labels:
            columns.append(np.where(empty, np.nan, np.array(variable.states)[table.codes[:, i]]))
        else:
            columns += [np.where(empty, np.nan, table.codes[:, i] == k) for k in range(1, variable.size)]
        where[variable.name] = slice(first, len(columns))
    matrix = np.column_stack(columns).astype(float)
    mean, scale = np.nanmean(matrix, axis=0), np.nanstd(matrix, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    where[""] = (mean, scale)
    return (matrix - mean) / scale, where


def counts(variable: lac.Variable) -> bool:
    """Tell whether a variable's states are numbers."""
    return all(isinstance(state, int | float) and not isinstance(state, bool) for state in variable.states)


def _decoded(
    guess: Array, normals: Array | None, where: dict[str, Any], whole: lac.Table, labels: bool
) -> dict[str, Told]:
    told = {}
    mean, scale = where[""]
    guess = guess * scale + mean
    if normals is not None:
        normals = normals * scale
        normals[:, 0] += mean
    for i, variable in enumerate(whole.schema):
        part = where[variable.name]
        said = None if normals is None else normals[:, :, :, part]
        if not variable.discrete:
            told[variable.name] = Told(guess[:, part.start], _log_density(said, whole.reals[:, i]))
        elif counts(variable) and not labels:
            states = np.array(variable.states, dtype=float)
            best = np.abs(guess[:, part.start, None] - states).argmin(axis=1)
            told[variable.name] = Told(best.astype(float), _log_interval(said, states, whole.codes[:, i]))
        else:
            best = _with_first(guess[:, part]).argmax(axis=1)
            log = (
                None if said is None else _log_chance(_with_first(said[:, 0].mean(axis=0)), whole.codes[:, i])
            )
            told[variable.name] = Told(best.astype(float), log)
    return told


def _log_density(said: Array | None, x: Array) -> Array | None:
    if said is None:
        return None
    mean, sd = said[:, 0, :, 0], said[:, 1, :, 0]
    each = -0.5 * (((x - mean) / sd) ** 2 + np.log(2 * np.pi)) - np.log(sd)
    return np.asarray(logsumexp(each, axis=0) - np.log(len(each)))


def _log_interval(said: Array | None, states: Array, codes: Any) -> Array | None:
    if said is None:
        return None
    mean, sd = said[:, 0, :, :1], said[:, 1, :, :1]
    between = np.concatenate([[-np.inf], (states[1:] + states[:-1]) / 2, [np.inf]])
    return _log_chance(np.diff(ndtr((between - mean) / sd)).mean(axis=0), codes)


def _log_chance(chance: Array, codes: Any) -> Array:
    chance = np.clip(chance, LEAST, 1.0)
    chance /= chance.sum(axis=1, keepdims=True)
    return np.asarray(np.log(chance[np.arange(len(codes)), codes]))


def _with_first(others: Array) -> Array:
    """Return the columns of all states, given those of all but the first; (rows, states)."""
    return np.column_stack([1.0 - others.sum(axis=1), others])


RIVALS: dict[str, Way] = {
    "mean or mode": marginal,
    "IterativeImputer": iterative,
    "IterativeImputer, numbers as labels": partial(iterative, labels=True),
    "KNNImputer": neighbours,
    "iterated forests": forests,
    "mice": mice,
}
