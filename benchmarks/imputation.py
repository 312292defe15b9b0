"""How well cells that were taken out of a table are told from the others, against what people do instead.

``python -m benchmarks.imputation`` takes a tenth of the observed cells out of each table at random, several
times, learns from the rest, holes and all, and prints for each way of filling the mean log-density of the
cells that were taken out (numbers in units of their column's standard deviation), the root mean square error
of numbers in the same units, and the share of states that were not guessed. Every choice (graph, number of
classes) is made on what is left of the table. ``--data DIR`` adds nhanes2.csv and boys.csv, see
benchmarks/data.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lacunary as lac

__all__ = ["Outcome", "Told", "measure", "run"]

SHARE = 0.1
CLASSES = (2, 4, 6)
DRAWS = 20
SHIPPED = Path(__file__).parent / "data"
TABLES = ("penguins", "nhanes2", "boys", "airquality")

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Told:
    """What a way of filling says of one column: probabilities of states, or value and log-density.

    ``guess`` is a state's code or a number; ``log`` the log-probability, or log-density, of what was there.
    """

    guess: NDArray[np.float64]
    log: NDArray[np.float64]


@dataclass
class Outcome:
    """What one way of filling made of one table, over all cells that were taken out."""

    table: str
    way: str
    logs: list[float] = field(default_factory=list)
    squares: list[float] = field(default_factory=list)
    misses: list[float] = field(default_factory=list)
    seconds: float = 0.0

    def line(self) -> str:
        """Return a line of the table of results."""
        miss = f"{np.mean(self.misses):.3f}" if self.misses else ""
        rms = f"{np.sqrt(np.mean(self.squares)):.3f}" if self.squares else ""
        return f"| {self.way} | {np.mean(self.logs):.3f} | {rms} | {miss} | {self.seconds:.1f} s |"


Way = Callable[[lac.Table, lac.Table], dict[str, Told]]
"""From a table with cells taken out, and the whole one to look the answers up in, to what is told of them."""


def taken(table: lac.Table, rng: np.random.Generator) -> lac.Table:
    """Return the table with a tenth of its observed cells taken out."""
    out = ~table.holes & (rng.random(table.holes.shape) < SHARE)
    codes = np.where(out, -1, table.codes).astype(table.codes.dtype)
    return lac.Table(table.schema, codes, np.where(out, np.nan, table.reals))


def by_model(model: lac.Network | lac.Belief, held: lac.Table, whole: lac.Table) -> dict[str, Told]:
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


def classes(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Take the number of hidden classes with the highest variational bound of the evidence."""
    fits = [
        lac.fit(lac.naive_bayes(held.schema, "hidden class", k), held, method="variational", starts=4)
        for k in CLASSES
    ]
    best = max(fits, key=lambda fit: fit.objective)
    return by_model(best.belief, held, whole)


def iterative(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Fill with scikit-learn's IterativeImputer, each state but the first a column of zeros and ones.

    (With a column for the first as well they add up to one, and never leave the values they begin with.)
    Guesses are its own. It gives no densities: those of numbers are normal about the mean of draws, with
    their variance; probabilities are means of draws, cut to [0.01, 0.99] and scaled.
    """
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    matrix, where = _encoded(held)
    scale = np.nanstd(matrix, axis=0)
    matrix = matrix / np.where(scale > 0, scale, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        guess = IterativeImputer(max_iter=20, random_state=0, keep_empty_features=True).fit_transform(matrix)
        drawing = IterativeImputer(
            max_iter=10, sample_posterior=True, random_state=0, keep_empty_features=True
        ).fit(matrix)
        draws = np.array([drawing.transform(matrix) for _ in range(DRAWS)])
    back = np.where(scale > 0, scale, 1.0)
    return _decoded(guess * back, draws * back, where, whole)


def _encoded(table: lac.Table) -> tuple[Array, dict[str, slice]]:
    columns: list[Array] = []
    where = {}
    for i, variable in enumerate(table.schema):
        first = len(columns)
        if variable.discrete:
            empty = table.codes[:, i] < 0
            columns += [np.where(empty, np.nan, table.codes[:, i] == k) for k in range(1, variable.size)]
        else:
            columns.append(table.reals[:, i])
        where[variable.name] = slice(first, len(columns))
    return np.column_stack(columns), where


def _decoded(guess: Array, draws: Array, where: dict[str, slice], whole: lac.Table) -> dict[str, Told]:
    told = {}
    for i, variable in enumerate(whole.schema):
        part = where[variable.name]
        if variable.discrete:
            chance = np.clip(_with_first(draws[:, :, part].mean(axis=0)), 0.01, 0.99)
            chance /= chance.sum(axis=1, keepdims=True)
            log = np.log(chance[np.arange(len(whole)), whole.codes[:, i]])
            told[variable.name] = Told(_with_first(guess[:, part]).argmax(axis=1).astype(float), log)
        else:
            x, drawn = whole.reals[:, i], draws[:, :, part.start]
            sd = np.maximum(drawn.std(axis=0, ddof=1), 1e-3 * np.nanstd(x))
            apart = (x - drawn.mean(axis=0)) / sd
            told[variable.name] = Told(
                guess[:, part.start], -0.5 * (apart**2 + np.log(2 * np.pi)) - np.log(sd)
            )
    return told


def _with_first(others: Array) -> Array:
    """Return the columns of all states, given those of all but the first; (rows, states)."""
    return np.column_stack([1.0 - others.sum(axis=1), others])


WAYS: dict[str, Way] = {
    "mean or mode": marginal,
    "scikit-learn IterativeImputer": iterative,
    "lacunary, graph by search": searched,
    "lacunary, hidden classes": classes,
}


def measure(name: str, whole: lac.Table, way: str, repeats: int) -> Outcome:
    """Take cells out several times and add up how one way does."""
    outcome = Outcome(name, way)
    for seed in range(repeats):
        held = taken(whole, np.random.default_rng(seed))
        began = perf_counter()
        told = WAYS[way](held, whole)
        outcome.seconds += (perf_counter() - began) / repeats
        out = held.holes & ~whole.holes
        for i, variable in enumerate(whole.schema):
            rows = np.flatnonzero(out[:, i])
            guess, log = told[variable.name].guess[rows], told[variable.name].log[rows]
            if variable.discrete:
                outcome.misses += (guess != whole.codes[rows, i]).tolist()
                outcome.logs += log.tolist()
            else:
                x, sd = whole.reals[rows, i], float(np.nanstd(whole.reals[:, i]))
                outcome.squares += (((guess - x) / sd) ** 2).tolist()
                outcome.logs += (log + np.log(sd)).tolist()
    return outcome


def run(folders: Sequence[Path], repeats: int, names: Sequence[str] = TABLES) -> Iterator[str]:
    """Yield the lines of the report, table by table."""
    for name in names:
        path = next((p for f in folders if (p := f / f"{name}.csv").is_file()), None)
        if path is None:
            yield f"\n{name}: not measured; give its folder with --data\n"
            continue
        whole = lac.read(path)
        yield f"\n## {name}: {len(whole)} rows, {len(whole.schema)} columns\n"
        yield "| way | log-density | rms error | states missed | time |"
        yield "|---|--:|--:|--:|--:|"
        for way in WAYS:
            yield measure(name, whole, way, repeats).line()


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, action="append", default=[], help="a folder with further tables")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    chosen = parser.parse_args()
    for line in run([SHIPPED, *chosen.data], chosen.repeats, chosen.tables):
        print(line, flush=True)


if __name__ == "__main__":
    main()
