"""How far the errors of Monte Carlo estimates can be trusted: against exact values of random problems.

    python -m benchmarks.calibration [--problems N] [--methods a,b] [--seed S] [--records FILE] [--mixed]
                                     [--other] [--alphas 0.05,1] [--rows 8,60]

writes ``benchmarks/calibration.md``: for each estimate, and each cell of pseudo-counts and rows, how many
errors lie beyond the two-sided 95 % interval of their t distribution, the mean and the standard deviation of
z = (estimate − exact value) / standard error, and the share of runs that were flagged. And what an estimate
costs: CPU seconds times the mean square of its error, beside formulas, whose errors no time makes smaller.
Twenty problems a cell take some minutes; 200 are the long run. ``--records`` names a file that is read and
added to, so that a long campaign can be run in slices. With ``--mixed`` networks have regressions, too, and
``benchmarks/calibration-mixed.md`` is written: discrete holes are enumerated, a continuous one is integrated
over by the trapezoidal rule. With ``--other`` there are several hidden variables, tied tables, rows that
count several times and pseudo-counts that differ, for ``benchmarks/calibration-other.md``. ``--alphas``
and ``--rows`` choose cells.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from time import process_time
from typing import Literal, TextIO, cast

import numpy as np
from scipy.special import logsumexp
from scipy.stats import binom
from scipy.stats import t as student

import lacunary as lac

ALPHAS = (0.05, 0.1, 0.3, 1.0)
ROWS = (8, 40, 60, 200)
METHODS = ("sampled", "sandwich", "ais", "path", "bridge", "chib")
FORMULAS = ("variational", "cheeseman-stutz", "laplace", "bic")
MOST = 0.12
"""Share outside that no cell should have."""
PAGE = Path(__file__).with_name("calibration.md")
MIXED_PAGE = Path(__file__).with_name("calibration-mixed.md")
OTHER_PAGE = Path(__file__).with_name("calibration-other.md")
MIXED_ROWS = (8, 14, 40)
GRID = np.linspace(-5.5, 5.5, 101)
"""arsinh of the values that a continuous hole is given; columns and their noise are of the size of one."""

SHAPES: tuple[tuple[str, dict[str, int], float], ...] = (
    ("H -> A B", {"H": 2}, 0.0),
    ("H -> A B C", {"H": 2}, 0.0),
    ("H -> A; H -> B; A -> B", {"H": 3}, 0.0),
    ("A -> B -> C", {}, 0.15),
    ("A -> B; C -> B", {}, 0.1),
    ("A -> C <- H -> D", {"H": 2}, 0.0),
)


MIXED_SHAPES: tuple[tuple[str, dict[str, int], bool], ...] = (
    ("C -> X Y", {"C": 2}, False),
    ("C -> X; C X -> Y", {"C": 2}, False),
    ("C -> D X; D X -> Y", {"C": 2}, False),
    ("A -> X; A X -> Y", {}, False),
    ("A -> X; A X -> Y", {}, True),
)
"""Graph, hidden classes, and whether a cell of X is a hole; X and Y are continuous, A has holes."""


OTHER_ROWS = (8, 25, 60)
OTHER_SHAPES: tuple[tuple[str, dict[str, int], tuple[tuple[str, ...], ...], float, int], ...] = (
    ("H -> A B; G -> B C", {"H": 2, "G": 2}, (), 0.0, 1),
    ("H G -> A; H -> B; G -> C", {"H": 2, "G": 2}, (), 0.0, 1),
    ("A -> H -> B -> G -> C", {"H": 2, "G": 2}, (), 0.0, 1),
    ("H -> A; A -> B; H -> C", {"H": 2}, (), 0.0, 1),
    ("H -> G; H -> A; G -> B C", {"H": 2, "G": 2}, (), 0.0, 1),
    ("H -> A B C", {"H": 2}, (("A", "B", "C"),), 0.0, 1),
    ("H -> A B", {"H": 4}, (), 0.0, 1),
    ("C -> A B D", {}, (), 0.4, 1),
    ("A -> B -> C -> D", {}, (), 0.2, 1),
    ("H -> A B", {"H": 2}, (), 0.2, 1),
    ("H -> A B C", {"H": 2}, (), 0.0, 7),
)
"""Graph, hidden classes, tied families, the share of holes, and how many rows each row stands for."""


@dataclass(frozen=True)
class Run:
    """One estimate of one problem."""

    method: str
    alpha: float
    rows: int
    exact: float
    value: float
    stderr: float
    freedom: float
    flagged: bool
    bound: float
    seconds: float
    shape: str = ""
    seed: int = 0

    @property
    def cell(self) -> tuple[str, float, int, int]:
        """Which run it is."""
        return self.method, self.alpha, self.rows, self.seed

    @property
    def z(self) -> float:
        """The error in standard errors; an estimate without any error has none."""
        off = self.value - self.exact
        return off / self.stderr if self.stderr > 1e-9 else (0.0 if abs(off) < 1e-6 else np.inf)

    @property
    def outside(self) -> bool:
        """Whether the exact value lies outside the 95 % interval."""
        return bool(abs(self.z) > student.ppf(0.975, self.freedom))


@dataclass(frozen=True)
class Posed:
    """A random graph with a table whose exact evidence is known."""

    graph: lac.Dag
    table: lac.Table
    prior: lac.Prior
    exact: float
    shape: str


def problem(alpha: float, rows: int, seed: int) -> Posed:
    """Return a problem of tables alone."""
    rng = np.random.default_rng([seed, rows, round(1000 * alpha)])
    for _ in range(200):
        text, hidden, rate = SHAPES[rng.integers(len(SHAPES))]
        names = lac.dag(text).names
        states = {name: int(rng.integers(2, 4)) for name in names if name not in hidden}
        graph = lac.dag(text, states=states, hidden=hidden)
        table = lac.random_network(graph, lac.Dirichlet(max(alpha, 0.3)), rng=rng).sample(rows, rng=rng)
        table = table.select([name for name in names if name not in hidden])
        if rate:
            table = lac.make_holes(table, rate * min(1.0, 40 / rows), rng=rng)
        try:
            exact = lac.score(graph, table, "exact", prior=lac.Dirichlet(alpha), budget=1_000_000)
        except (lac.TooWideError, lac.SchemaError):
            continue
        return Posed(graph, table, lac.Dirichlet(alpha), exact.value, text)
    raise RuntimeError("no problem of this size can be enumerated")


def other_problem(alpha: float, rows: int, seed: int) -> Posed:
    """Return a problem of tables of other kinds: several hidden variables, chains, ties, weights, BDeu."""
    rng = np.random.default_rng([seed, rows, round(1000 * alpha), 2])
    for _ in range(500):
        text, hidden, tied, rate, weight = OTHER_SHAPES[rng.integers(len(OTHER_SHAPES))]
        names = lac.dag(text).names
        most = 3 if tied or len(names) > 4 else 4
        states = {name: 2 if tied else int(rng.integers(2, most)) for name in names if name not in hidden}
        graph = lac.dag(text, states=states, hidden=hidden, tied=tied)
        drawn = lac.Dirichlet(max(alpha, 0.3))
        table = lac.random_network(graph, drawn, rng=rng).sample(max(rows // weight, 2), rng=rng)
        table = table.select([name for name in names if name not in hidden])
        if rate:
            table = lac.make_holes(table, rate * min(1.0, 30 / rows), rng=rng)
        if weight > 1:
            table = replace(table, weights=np.full(len(table), float(weight)))
        even = bool(rng.random() < 0.5)
        prior: lac.Prior = lac.Dirichlet(alpha) if even else lac.BDeu(8 * alpha)
        try:
            exact = lac.score(graph, table, "exact", prior=prior, budget=1_000_000)
        except (lac.TooWideError, lac.SchemaError):
            continue
        kind = (
            text + "".join(f", {' '.join(each)} tied" for each in tied) + f", {rate:.0%} holes" * bool(rate)
        )
        kind += f", rows of weight {weight}" * (weight > 1)
        return Posed(graph, table, prior, exact.value, kind + ("" if even else ", BDeu"))
    raise RuntimeError("no problem of this size can be enumerated")


def mixed_problem(alpha: float, rows: int, seed: int) -> Posed:
    """Return a problem with regressions, drawn from its own prior."""
    rng = np.random.default_rng([seed, rows, round(1000 * alpha), 1])
    prior = lac.NormalWishart(1.0, 0.0, np.eye(2), 4.0, lac.Dirichlet(alpha))
    while True:
        text, hidden, hole = MIXED_SHAPES[rng.integers(len(MIXED_SHAPES))]
        if hidden and 2**rows > 1_000_000:
            continue
        names = lac.dag(text).names
        states = {name: 2 for name in names if name not in "XY" and name not in hidden}
        kinds: dict[str, Literal["continuous"]] = {"X": "continuous", "Y": "continuous"}
        graph = lac.dag(text, states=states, kinds=kinds, hidden=hidden)
        table = lac.Network(graph, prior(graph).draw(rng)).sample(rows, rng)
        table = table.select([name for name in names if name not in hidden])
        if "A" in names:
            codes = table.codes.copy()
            codes[rng.choice(rows, min(rows // 3, 10), replace=False), table.schema.index("A")] = -1
            table = replace(table, codes=codes)
        return _with_hole(graph, table, prior, text) if hole else _posed(graph, table, prior, text)


def _posed(graph: lac.Dag, table: lac.Table, prior: lac.Prior, text: str) -> Posed:
    exact = lac.score(graph, table, "exact", prior=prior, budget=1_000_000).value
    return Posed(graph, table, prior, exact, text)


def _with_hole(graph: lac.Dag, table: lac.Table, prior: lac.Prior, text: str) -> Posed:
    """Return the problem without the first cell of X, over which the evidence is integrated."""
    column, reals = table.schema.index("X"), table.reals.copy()
    logs = []
    for value in np.sinh(GRID):
        reals[0, column] = value
        logs.append(_posed(graph, replace(table, reals=reals.copy()), prior, text).exact)
    reals[0, column] = np.nan
    exact = float(logsumexp(logs + np.log(np.cosh(GRID))) + np.log(GRID[1] - GRID[0]))
    return Posed(graph, replace(table, reals=reals), prior, exact, f"{text}, a hole in X")


KINDS: dict[str, tuple[tuple[int, ...], Callable[[float, int, int], Posed], Path, str]] = {
    "usual": (ROWS, problem, PAGE, "Calibration of Monte Carlo estimates"),
    "mixed": (MIXED_ROWS, mixed_problem, MIXED_PAGE, "Calibration on mixed networks"),
    "other": (OTHER_ROWS, other_problem, OTHER_PAGE, "Calibration on tables of other kinds"),
}


def runs_of(
    methods: Sequence[str],
    alpha: float,
    rows: int,
    seed: int,
    pose: Callable[[float, int, int], Posed] = problem,
) -> Iterator[Run]:
    """Estimate one problem by some methods; its exact value and the variational bound are found once."""
    posed = pose(alpha, rows, seed)
    graph, table, prior = posed.graph, posed.table, posed.prior
    bound = lac.score(graph, table, "variational", prior=prior, rng=seed).value
    for method in methods:
        began = process_time()
        try:
            found = lac.score(graph, table, method, prior=prior, rng=seed)
        except lac.LacunaryError:  # a formula that does not hold here says so
            continue
        seconds = process_time() - began
        freedom, flagged = float(found.details.get("freedom", 15)), not found.details.get("trustworthy", True)
        told = (found.value, found.stderr or 0.0, freedom, flagged, bound, seconds)
        yield Run(method, alpha, rows, posed.exact, *told, posed.shape, seed)


def summary(runs: Sequence[Run]) -> str:
    """Return a line of the table: what unflagged runs did, and how many were flagged."""
    told = [each for each in runs if not each.flagged]
    z = np.array([each.z for each in told if np.isfinite(each.z)] or [np.nan])
    outside = np.mean([each.outside for each in told]) if told else np.nan
    errors = [
        np.sqrt(np.mean([(e.value - e.exact) ** 2 for e in some])) if some else None for some in _parted(runs)
    ]
    shown = " | ".join("none" if error is None else f"{error:.3f}" for error in errors)
    flagged = np.mean([each.flagged for each in runs])
    low = sum(each.value < each.bound - 2 * each.stderr - 1e-6 for each in told)
    mean = f"{z.mean():+.2f} ± {z.std() / np.sqrt(len(z)):.2f}"
    return f"{len(runs)} | {outside:.1%} | {mean} | {z.std():.2f} | {flagged:.0%} | {shown} | {low}"


def _parted(runs: Sequence[Run]) -> tuple[list[Run], list[Run]]:
    return [r for r in runs if not r.flagged], [r for r in runs if r.flagged]


def beyond(runs: Sequence[Run]) -> str:
    """Say how many cells have more than 12 % outside, and how many would by chance were every error right."""
    cells: dict[tuple[float, int], list[bool]] = {}
    for each in runs:
        if not each.flagged:
            cells.setdefault((each.alpha, each.rows), []).append(each.outside)
    above = sum(np.mean(cell) > MOST for cell in cells.values())
    chance = sum(binom.sf(np.floor(MOST * len(cell)), len(cell), 0.05) for cell in cells.values())
    return f"{above} of {len(cells)} | {chance:.1f}"


def costs(runs: Sequence[Run]) -> str:
    """Return CPU seconds, mean standard error, and seconds to an error of a tenth of a nat."""
    seconds = float(np.mean([each.seconds for each in runs]))
    square = float(np.mean([min((each.value - each.exact) ** 2, 1e4) for each in runs]))
    longer = "" if runs[0].method in FORMULAS else f"{seconds * square / 0.01:.3f}"
    return f"{len(runs)} | {seconds:.2f} | {np.sqrt(square):.3f} | {longer}"


def page(runs: Sequence[Run], made: str, title: str = "Calibration of Monte Carlo estimates") -> str:
    """Return all that was measured, and by which command, as Markdown."""
    head = "runs | outside 95 % | mean z | sd of z | flagged | rms error | of flagged | below the bound"
    rule = "|".join("---:" for _ in range(8))
    methods = [m for m in METHODS if any(each.method == m for each in runs)]
    formulas = [m for m in FORMULAS if any(each.method == m for each in runs)]
    out = [
        f"# {title}",
        "",
        f"`{made}`: random problems whose exact evidence is known, "
        f"{len({(r.alpha, r.rows, r.seed) for r in runs})} in all. Shares outside, z and the first error are "
        "of runs that were not flagged; CPU times were measured on shared cores.",
        "",
        "## All cells",
        "",
        f"| estimate | {head} |",
        f"|---|{rule}|",
    ]
    out += [f"| {m} | {summary([r for r in runs if r.method == m])} |" for m in methods]
    out += [f"| all | {summary([r for r in runs if r.method in methods])} |"]
    out += [
        "",
        "Few runs a cell have more than 12 % outside by chance, too, though every error be right:",
        "",
        "| estimate | cells above 12 % | as many by chance |",
        "|---|---:|---:|",
    ]
    out += [f"| {m} | {beyond([r for r in runs if r.method == m])} |" for m in methods]
    out += [
        "",
        "## Cost",
        "",
        "The last column is what an error of a tenth of a nat would cost; formulas have none.",
        "",
        "| estimate | runs | CPU s | rms error | CPU s · (error / 0.1)² |",
        "|---|---:|---:|---:|---:|",
    ]
    out += [f"| {m} | {costs([r for r in runs if r.method == m])} |" for m in (*methods, *formulas)]
    for m in methods:
        out += ["", f"## {m}", "", f"| alpha | rows | {head} |", f"|---:|---:|{rule}|"]
        for alpha in ALPHAS:
            for rows in sorted({r.rows for r in runs}):
                cell = [r for r in runs if (r.method, r.alpha, r.rows) == (m, alpha, rows)]
                out += [f"| {alpha} | {rows} | {summary(cell)} |"] if cell else []
    return "\n".join(out) + "\n"


def main() -> None:
    """Run the campaign and write the page."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--problems", type=int, default=20)
    options.add_argument("--methods", default=",".join(METHODS))
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--mixed", action="store_true", help="networks with regressions")
    options.add_argument("--other", action="store_true", help="tables of other kinds")
    options.add_argument("--alphas", help="pseudo-counts, in place of all")
    options.add_argument("--rows", help="numbers of rows, in place of all")
    options.add_argument("--out", type=Path)
    options.add_argument("--records", type=Path, help="a file to read and to add to, a line for each run")
    given = options.parse_args()
    kind = "mixed" if given.mixed else "other" if given.other else "usual"
    usual, pose, own_page, title = KINDS[kind]
    sizes = tuple(map(int, given.rows.split(","))) if given.rows else usual
    alphas = tuple(map(float, given.alphas.split(","))) if given.alphas else ALPHAS
    runs = _kept(given.records)
    done = {each.cell for each in runs}
    for k, alpha, rows in product(range(given.problems), alphas, sizes):
        seed = given.seed + k
        left = [m for m in given.methods.split(",") if (m, alpha, rows, seed) not in done]
        for made in runs_of(left, alpha, rows, seed, pose) if left else ():
            runs.append(made)
            _keep(given.records, made)
    out, told = given.out or own_page, " ".join(sys.argv[1:])
    out.write_text(page(runs, f"python -m benchmarks.calibration {told}", title), encoding="utf-8")
    print(f"written: {out}")


def _kept(records: Path | None) -> list[Run]:
    """Return the runs of a file; none if there is no such file."""
    if records is None or not records.exists():
        return []
    with _opened(records, "rt") as file:
        return [Run(**json.loads(line)) for line in file]


def _keep(records: Path | None, made: Run) -> None:
    """Add a run to a file."""
    if records is not None:
        with _opened(records, "at") as file:
            file.write(json.dumps(asdict(made)) + "\n")


def _opened(records: Path, how: Literal["rt", "at"]) -> TextIO:
    """Open a file of records, packed if it is called so."""
    if records.suffix == ".gz":
        return cast("TextIO", gzip.open(records, how, encoding="utf-8"))
    return cast("TextIO", records.open(how, encoding="utf-8"))


if __name__ == "__main__":
    main()
