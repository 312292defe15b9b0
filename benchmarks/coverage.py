"""Whether intervals from filled tables hold what they promise: coefficients after multiple imputation.

``python -m benchmarks.coverage --keep replicates.jsonl`` adds replicates and writes ``coverage.md``. It draws
tables from regressions that are known, weak effects among them, takes cells out at random and depending on
other columns, fills them `COPIES` times by `lacunary.impute` with ``how="draw"``, fits the regression to each
filled table, pools by Rubin's rules (with Barnard and Rubin's degrees of freedom), and writes for each
coefficient its bias, how often the 95 % interval holds the truth, and the mean standard error over the
coefficient's own standard deviation; beside it the same for the rows without holes alone.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import t as student

import lacunary as lac

__all__ = ["SETTINGS", "Pooled", "page", "pooled", "replicate"]

COPIES = 10
FEWEST = 20
"""Replicates below which a setting is not told of."""

INTRODUCTION = """# Coefficients after multiple imputation

`python -m benchmarks.coverage --keep replicates.jsonl` adds replicates to those that are kept and writes this
page: 250 rows, a quarter of the cells of every covariate and a tenth of the response's missing (of the
response none where holes depend on it), ten copies. *Error* is the mean standard error over the estimates'
own standard deviation, which n replicates tell to about 1/√(2n) of itself. *Dropped* are the rows without
holes alone.
"""
HEAD = (
    "| setting | missing depends on | replicates | coefficient | bias | coverage | error "
    "| dropped: bias | coverage | error |"
)
ROWS = 250
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Setting:
    """A regression: how columns are drawn, the response last; which are binary; the coefficients."""

    draw: Callable[[np.random.Generator], Array]
    binary: tuple[int, ...]
    truth: tuple[float, ...]
    logistic: bool = False


def _normal(rng: np.random.Generator) -> Array:
    x = rng.multivariate_normal(np.zeros(3), 0.3 + 0.7 * np.eye(3), ROWS)
    return np.column_stack([x, x @ [0.5, 0.1, 0.0] + rng.standard_normal(ROWS)])


def _mixed(rng: np.random.Generator) -> Array:
    x = rng.standard_normal((ROWS, 2))
    b = rng.random(ROWS) < expit(0.8 * x[:, 0])
    return np.column_stack([x, b, x @ [0.5, 0.1] + 0.4 * b + rng.standard_normal(ROWS)])


def _skewed(rng: np.random.Generator) -> Array:
    x = np.column_stack([rng.exponential(size=ROWS), np.exp(0.5 * rng.standard_normal(ROWS))])
    return np.column_stack([x, x @ [0.5, 0.2] + rng.standard_normal(ROWS)])


def _logistic(rng: np.random.Generator) -> Array:
    x = rng.multivariate_normal(np.zeros(2), 0.3 + 0.7 * np.eye(2), ROWS)
    return np.column_stack([x, rng.random(ROWS) < expit(x @ [0.8, 0.25] - 0.3)])


SETTINGS = {
    "normal": Setting(_normal, (), (0.0, 0.5, 0.1, 0.0)),
    "mixed": Setting(_mixed, (2,), (0.0, 0.5, 0.1, 0.4)),
    "skewed": Setting(_skewed, (), (0.0, 0.5, 0.2)),
    "logistic": Setting(_logistic, (2,), (-0.3, 0.8, 0.25), logistic=True),
}


def holed(rows: Array, rng: np.random.Generator, depends: bool) -> Array:
    """Return the rows with a quarter of the cells of all columns but the last taken out, and a tenth of it.

    If it depends, the chance of a cell of the others grows with the last column, of which all cells stay.
    """
    chance = np.full(rows.shape, 0.25)
    chance[:, -1] = 0.0 if depends else 0.1
    if depends:
        last = rows[:, -1]
        chance[:, :-1] = expit(1.5 * (last - last.mean()) / last.std() - 1.3)[:, None]
    out = rng.random(rows.shape) < chance
    return np.where(out, np.nan, rows)


@dataclass(frozen=True)
class Pooled:
    """Coefficients, their standard errors, and how many of these an interval reaches to each side."""

    estimate: Array
    error: Array
    reach: Array


def fitted(rows: Array, logistic: bool) -> tuple[Array, Array]:
    """Return coefficients, the offset first, and their covariance."""
    x, y = np.column_stack([np.ones(len(rows)), rows[:, :-1]]), rows[:, -1]
    if not logistic:
        inverse = np.linalg.inv(x.T @ x)
        slope = inverse @ x.T @ y
        return slope, inverse * float(((y - x @ slope) ** 2).sum()) / (len(y) - x.shape[1])
    slope = np.zeros(x.shape[1])
    for _ in range(12):
        p = expit(x @ slope)
        inverse = np.linalg.inv(x.T @ ((p * (1 - p))[:, None] * x))
        slope = slope + inverse @ x.T @ (y - p)
    return slope, inverse


def pooled(tables: list[Array], logistic: bool) -> Pooled:
    """Return Rubin's estimate, error and interval."""
    each = [fitted(rows, logistic) for rows in tables]
    slopes = np.array([slope for slope, _ in each])
    within = np.mean([np.diag(spread) for _, spread in each], axis=0)
    m, between = len(each), slopes.var(axis=0, ddof=1)
    total = within + (1 + 1 / m) * between
    lost = np.maximum((1 + 1 / m) * between / total, 1e-9)
    whole = len(tables[0]) - slopes.shape[1]
    seen = (whole + 1) / (whole + 3) * whole * (1 - lost)
    dof = 1 / (lost**2 / (m - 1) + 1 / seen)
    return Pooled(slopes.mean(axis=0), np.sqrt(total), student.ppf(0.975, dof))


def filled(rows: Array, setting: Setting, seed: int) -> list[Array]:
    """Return the copies that `lacunary.impute` draws, as numbers."""
    names = [f"x{i}" for i in range(rows.shape[1])]
    cells = {name: rows[:, i] for i, name in enumerate(names)}
    table = lac.read(
        cells, kinds={n: "discrete" if i in setting.binary else "continuous" for i, n in enumerate(names)}
    )
    drawn = lac.impute(table, how="draw", copies=COPIES, rng=seed)
    columns = [np.array(drawn[name], dtype=np.float64) for name in names]
    return list(np.column_stack(columns).reshape(COPIES, len(rows), -1))


def replicate(name: str, depends: bool, seed: int) -> dict[str, Any]:
    """Return what one table comes to: estimate, error and reach of every coefficient, filled and dropped."""
    setting, rng = SETTINGS[name], np.random.default_rng([7, seed])
    rows = setting.draw(rng)
    held = holed(rows, rng, depends)
    began = process_time()
    ours = pooled(filled(held, setting, seed), setting.logistic)
    seconds = process_time() - began
    whole = held[~np.isnan(held).any(axis=1)]
    slope, spread = fitted(whole, setting.logistic)
    reach = np.full(len(slope), student.ppf(0.975, len(whole) - len(slope)))
    dropped = Pooled(slope, np.sqrt(np.diag(spread)), reach)
    both = {
        way: [one.estimate.tolist(), one.error.tolist(), one.reach.tolist()]
        for way, one in (("filled", ours), ("dropped", dropped))
    }
    return {"setting": name, "depends": depends, "seed": seed, "seconds": seconds, **both}


def lines(name: str, depends: bool, kept: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of one setting."""
    some = [one for one in kept if (one["setting"], one["depends"]) == (name, depends)]
    if len(some) < FEWEST:
        return
    for k, truth in enumerate(SETTINGS[name].truth):
        cells = [name, "other columns" if depends else "nothing", str(len(some)), f"b{k} = {truth:g}"]
        for way in ("filled", "dropped"):
            estimate, error, reach = np.array([one[way] for one in some])[:, :, k].T
            bias = estimate.mean() - truth
            shown = f"{bias:+.3f}" + (f" ({bias / truth:+.0%})" if truth else "")
            cells += [shown, f"{np.mean(np.abs(estimate - truth) <= error * reach):.1%}"]
            cells += [f"{error.mean() / estimate.std(ddof=1):.2f}"]
        yield f"| {' | '.join(cells)} |"


def page(kept: Sequence[dict[str, Any]]) -> str:
    """Return the page of all replicates that are kept."""
    told = [line for name in SETTINGS for depends in (False, True) for line in lines(name, depends, kept)]
    seeds = [one["seed"] for one in kept]
    which = f"Seeds {min(seeds)} to {max(seeds)}.\n" if seeds else ""
    return "\n".join([INTRODUCTION, which, HEAD, f"|---|---|--:|---|{'--:|' * 6}", *told, ""])


def main() -> None:
    """Add replicates to those that are kept, a few of every setting by turns, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first replicate's seed")
    parser.add_argument("--keep", default="coverage.jsonl")
    parser.add_argument("--out", default=str(Path(__file__).parent / "coverage.md"))
    parser.add_argument("settings", nargs="*", help=f"any of: {', '.join(SETTINGS)}")
    chosen = parser.parse_args()
    file = Path(chosen.keep)
    kept = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    known = {(one["setting"], one["depends"], one["seed"]) for one in kept}
    for seed in range(chosen.first, chosen.first + chosen.replicates):
        for name in chosen.settings or SETTINGS:
            for depends in (False, True):
                if (name, depends, seed) not in known:
                    kept.append(replicate(name, depends, seed))
                    with file.open("a") as into:
                        into.write(json.dumps(kept[-1]) + "\n")
    Path(chosen.out).write_text(page(kept))


if __name__ == "__main__":
    main()
