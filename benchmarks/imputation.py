"""How well cells that were taken out of a table are told from the others, against what people do instead.

``python -m benchmarks.imputation`` takes a tenth of the observed cells out of each table at random, several
times, learns from the rest, holes and all, and prints for each way of filling the mean log-density of the
cells that were taken out (numbers in units of their column's standard deviation), the root mean square error
of numbers in the same units, and the share of states that were not guessed; and how much better each is than
IterativeImputer, with the standard error of the difference over the repeats. All ways see the same cells, and
every choice is made on what is left of the table. ``--data DIR`` adds nhanes2.csv and boys.csv, see
benchmarks/data; ``--keep FILE`` goes on where an earlier run was left.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, ndtr

import lacunary as lac

__all__ = ["Told", "Trial", "measure", "run"]

SHARE = 0.1
FIRST = 2000
"""Seed of the first repeat. Smaller ones were looked at while the ways were made."""

DRAWS = 20
LEAST = 0.01
"""What IterativeImputer's probabilities of states are cut to, from below: they may be zero or negative."""

SHIPPED = Path(__file__).parent / "data"
TABLES: dict[str, tuple[str, Any]] = {
    "nhanes2": ("nhanes2", None),
    "airquality": ("airquality", None),
    "penguins": ("penguins", None),
    "boys": ("boys", None),
    "boys, tv as a number": ("boys", {"tv": "continuous"}),
}
"""Tables by name: the file, and kinds that are declared. (tv, a volume in ml, holds 18 distinct numbers.)"""

RIVAL = "IterativeImputer"

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Told:
    """What a way of filling says of one column.

    ``guess`` is a state's code or a number; ``log`` the log-probability, or log-density, of what was there.
    """

    guess: Array
    log: Array


@dataclass(frozen=True)
class Trial:
    """What one way made of the cells taken out in one repeat: means over cells, None where there are none."""

    log: float
    square: float | None
    miss: float | None
    seconds: float


Way = Callable[[lac.Table, lac.Table], dict[str, Told]]
"""From a table with cells taken out, and the whole one to look the answers up in, to what is told of them."""


def taken(table: lac.Table, rng: np.random.Generator) -> lac.Table:
    """Return the table with a tenth of its observed cells taken out."""
    out = ~table.holes & (rng.random(table.holes.shape) < SHARE)
    codes = np.where(out, -1, table.codes).astype(table.codes.dtype)
    return lac.Table(table.schema, codes, np.where(out, np.nan, table.reals))


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


def searched(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Find a graph by structural EM."""
    dag = lac.search(held).dag
    return by_model(lac.fit(dag, held).belief, held, whole)


def averaged(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Average over graphs, as `NetworkImputer` does unless told otherwise."""
    return by_model(lac.average_graphs(held), held, whole)


def iterative(held: lac.Table, whole: lac.Table, labels: bool = False) -> dict[str, Told]:
    """Fill with scikit-learn's IterativeImputer; of labels each state but the first is a column of 0 and 1.

    (With a column for the first as well they add up to one, and never leave the values they begin with.)
    States that are numbers are left numbers, as they stand in the file, or made labels too. Guesses are its
    own. It gives no densities: those of a cell are the mean of the normals that its own regressions say given
    the other cells, over completed tables that it drew.
    """
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    matrix, where = _encoded(held, labels)
    scale = np.nanstd(matrix, axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guess = IterativeImputer(max_iter=20, random_state=0, keep_empty_features=True).fit_transform(
            matrix / scale
        )
        drawing = IterativeImputer(sample_posterior=True, random_state=0, keep_empty_features=True)
        drawing.fit(matrix / scale)
        normals = np.array([_normals(drawing, drawing.transform(matrix / scale)) for _ in range(DRAWS)])
    return _decoded(guess * scale, normals * scale, where, whole, labels)


def _normals(drawing: Any, full: Array) -> Array:
    """Return mean and standard deviation of each cell given the others, by the last regressions; (2, …)."""
    out = np.stack([full, np.ones_like(full)])
    last = {step.feat_idx: step for step in drawing.imputation_sequence_}
    for column, step in last.items():
        mean, sd = step.estimator.predict(full[:, step.neighbor_feat_idx], return_std=True)
        out[:, :, column] = mean, np.maximum(sd, 1e-3)
    return out


def _encoded(table: lac.Table, labels: bool) -> tuple[Array, dict[str, slice]]:
    columns: list[Array] = []
    where = {}
    for i, variable in enumerate(table.schema):
        first = len(columns)
        empty = table.codes[:, i] < 0
        if not variable.discrete:
            columns.append(table.reals[:, i])
        elif _counts(variable) and not labels:
            columns.append(np.where(empty, np.nan, np.array(variable.states)[table.codes[:, i]]))
        else:
            columns += [np.where(empty, np.nan, table.codes[:, i] == k) for k in range(1, variable.size)]
        where[variable.name] = slice(first, len(columns))
    return np.column_stack(columns), where


def _counts(variable: lac.Variable) -> bool:
    """Tell whether a variable's states are numbers."""
    return all(isinstance(state, int | float) for state in variable.states)


def _decoded(
    guess: Array, normals: Array, where: dict[str, slice], whole: lac.Table, labels: bool
) -> dict[str, Told]:
    told = {}
    for i, variable in enumerate(whole.schema):
        part, x = where[variable.name], whole.reals[:, i]
        mean, sd = normals[:, 0, :, part.start], normals[:, 1, :, part.start]
        if not variable.discrete:
            each = -0.5 * (((x - mean) / sd) ** 2 + np.log(2 * np.pi)) - np.log(sd)
            told[variable.name] = Told(guess[:, part.start], logsumexp(each, axis=0) - np.log(len(each)))
            continue
        if _counts(variable) and not labels:
            states = np.array(variable.states, dtype=float)
            between = np.concatenate([[-np.inf], (states[1:] + states[:-1]) / 2, [np.inf]])
            chance = np.diff(ndtr((between - mean[..., None]) / sd[..., None])).mean(axis=0)
            best = np.abs(guess[:, part.start, None] - states).argmin(axis=1)
        else:
            chance = _with_first(normals[:, 0, :, part].mean(axis=0))
            best = _with_first(guess[:, part]).argmax(axis=1)
        chance = np.clip(chance, LEAST, 1.0)
        chance /= chance.sum(axis=1, keepdims=True)
        log = np.log(chance[np.arange(len(whole)), whole.codes[:, i]])
        told[variable.name] = Told(best.astype(float), log)
    return told


def _with_first(others: Array) -> Array:
    """Return the columns of all states, given those of all but the first; (rows, states)."""
    return np.column_stack([1.0 - others.sum(axis=1), others])


WAYS: dict[str, Way] = {
    "mean or mode": marginal,
    RIVAL: iterative,
    f"{RIVAL}, numbers as labels": partial(iterative, labels=True),
    "lacunary, graph by search": searched,
    "lacunary, average over graphs": averaged,
}


def measure(whole: lac.Table, way: str, seed: int) -> Trial:
    """Take cells out, and say how one way does."""
    held = taken(whole, np.random.default_rng(seed))
    began = perf_counter()
    told = WAYS[way](held, whole)
    seconds = perf_counter() - began
    logs: list[float] = []
    squares: list[float] = []
    misses: list[float] = []
    for i, variable in enumerate(whole.schema):
        rows = np.flatnonzero((held.holes & ~whole.holes)[:, i])
        guess, log = told[variable.name].guess[rows], told[variable.name].log[rows]
        if variable.discrete:
            misses += (guess != whole.codes[rows, i]).tolist()
            logs += log.tolist()
        else:
            x, sd = whole.reals[rows, i], float(np.nanstd(whole.reals[:, i]))
            squares += (((guess - x) / sd) ** 2).tolist()
            logs += (log + np.log(sd)).tolist()
    return Trial(float(np.mean(logs)), _mean(squares), _mean(misses), seconds)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def line(way: str, trials: Sequence[Trial], rivals: Sequence[Trial]) -> str:
    """Return a line of the table of results."""
    cells = [way, f"{np.mean([t.log for t in trials]):.3f}", _apart(trials, rivals, "log", -1)]
    for name in ("square", "miss"):
        values = [v for t in trials if (v := getattr(t, name)) is not None]
        mean = float(np.mean(values)) if values else float("nan")
        cells += [f"{np.sqrt(mean) if name == 'square' else mean:.3f}", _apart(trials, rivals, name, 1)]
    cells.append(f"{np.mean([t.seconds for t in trials]):.1f}")
    return f"| {' | '.join(cells)} |"


def _apart(trials: Sequence[Trial], rivals: Sequence[Trial], name: str, sign: int) -> str:
    """Return by how much the rival is worse, and the standard error over repeats."""
    pairs = [(getattr(a, name), getattr(b, name)) for a, b in zip(trials, rivals, strict=True)]
    apart = np.array([sign * (b - a) for a, b in pairs if a is not None])
    if trials == rivals or len(apart) < 2:
        return ""
    return f"{apart.mean():+.3f} ± {apart.std(ddof=1) / np.sqrt(len(apart)):.3f}"


class Kept:
    """Trials by table, way and seed, in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        known = json.loads(path.read_text()) if path is not None and path.is_file() else {}
        self.trials = {key: Trial(**trial) for key, trial in known.items()}

    def trial(self, name: str, whole: lac.Table, way: str, seed: int) -> Trial:
        """Return a trial, carried out unless it is known."""
        key = f"{name} | {way} | {seed}"
        if key not in self.trials:
            self.trials[key] = measure(whole, way, seed)
            if self.path is not None:
                self.path.write_text(json.dumps({k: asdict(t) for k, t in self.trials.items()}, indent=1))
        return self.trials[key]


def run(
    folders: Sequence[Path], repeats: int, names: Sequence[str], ways: Sequence[str], kept: Kept
) -> Iterator[str]:
    """Yield the lines of the report, table by table."""
    for name in names:
        file, kinds = TABLES[name]
        path = next((p for f in folders if (p := f / f"{file}.csv").is_file()), None)
        if path is None:
            yield f"\n{name}: not measured; give its folder with --data"
            continue
        whole = lac.read(path, kinds=kinds)
        yield f"\n## {name}: {len(whole)} rows, {len(whole.schema)} columns, {repeats} repeats\n"
        yield "| way | log-density | better by | rms error | squares less by | states missed | less by | s |"
        yield "|---|--:|--:|--:|--:|--:|--:|--:|"
        seeds = range(FIRST, FIRST + repeats)
        rivals = [kept.trial(name, whole, RIVAL, seed) for seed in seeds]
        for way in ways:
            yield line(way, [kept.trial(name, whole, way, seed) for seed in seeds], rivals)


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, action="append", default=[], help="a folder with further tables")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--keep", type=Path, help="a file in which trials are kept, and looked up")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="only this way, and the rival")
    parser.add_argument("tables", nargs="*", help=f"any of: {'; '.join(TABLES)}")
    chosen = parser.parse_args()
    names = chosen.tables or list(TABLES)
    for text in run(
        [SHIPPED, *chosen.data], chosen.repeats, names, chosen.way or list(WAYS), Kept(chosen.keep)
    ):
        print(text, flush=True)


if __name__ == "__main__":
    main()
