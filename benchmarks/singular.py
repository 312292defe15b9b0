"""How the errors of sBIC and BIC grow with the rows where fewer classes would do: a singular truth.

    python -m benchmarks.singular [--tables N] [--first K] [--records FILE]

writes ``benchmarks/singular.md``. Rows of four independent binary items are weighed by the model with two
hidden classes, uniform priors, from 100 to 10⁶ rows. The evidence comes from a sampler of its own, which
shares nothing with the library: tempering from the prior with moves along differences of particles. sBIC has
the exact learning coefficients; a criterion that is right up to a bounded error has slope zero in log N.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logsumexp

import lacunary as lac
from lacunary.maths.arrays import Array

ITEMS = 4
CELLS = np.array([[cell >> i & 1 for i in range(ITEMS)] for cell in range(2**ITEMS)])
SIZES = (100, 1_000, 10_000, 100_000, 1_000_000)
RANGES = ((100, 10_000), (100, 1_000_000), (1_000, 1_000_000))
PARTICLES, ISLANDS, MOVES, EVEN = 1024, 4, 12, 0.7
PAGE = Path(__file__).with_name("singular.md")


def densities(points: Array, counts: Array) -> tuple[Array, Array]:
    """Return log-likelihoods and log prior densities of log odds: of a class, and of items in each class."""
    yes, no = -np.logaddexp(0, -points), -np.logaddexp(0, points)
    one, two = (
        yes[:, own] @ CELLS.T + no[:, own] @ (1 - CELLS).T
        for own in (slice(1, 1 + ITEMS), slice(1 + ITEMS, None))
    )
    return np.logaddexp(yes[:, :1] + one, no[:, :1] + two) @ counts, (yes + no).sum(axis=1)


def proposed(points: Array, others: Array, rng: np.random.Generator) -> Array:
    """Return points farther along differences of two others, in some coordinates or all; some relabelled."""
    size = len(points)
    one, two = rng.integers(size, size=(2, size))
    length = np.exp(rng.normal(np.log(0.5), 1.2, (size, 1))) * np.where(rng.random((size, 1)) < 0.5, 1, 0.3)
    some = np.where(rng.random((size, 1)) < 0.5, 1.0, rng.random(points.shape) < 0.35)
    out = points + length * (others[one] - others[two]) * some
    swap = rng.random(size) < 0.05
    first, second = points[swap, 1 : 1 + ITEMS], points[swap, 1 + ITEMS :]
    out[swap] = np.concatenate([-points[swap, :1], second, first], axis=1)
    return np.asarray(out)


def next_temperature(tau: float, logs: Array) -> float:
    """Return the farthest inverse temperature at which weights are even enough."""

    def even(to: float) -> bool:
        weights = np.exp((to - tau) * (logs - logs.max()))
        return bool(weights.sum() ** 2 >= EVEN * len(logs) * (weights**2).sum())

    if even(1.0):
        return 1.0
    low, high = tau, 1.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if even(middle) else (low, middle)
    return low


def log_evidence(counts: Array, rng: np.random.Generator) -> float:
    """Return an estimate of the log evidence of two classes, by one population led from the prior."""
    uniform = rng.random((PARTICLES, 1 + 2 * ITEMS))
    points = np.log(uniform) - np.log1p(-uniform)
    (logs, prior), tau, out = densities(points, counts), 0.0, 0.0
    while tau < 1.0:
        after = next_temperature(tau, logs)
        weights = (after - tau) * logs
        out, tau = out + float(logsumexp(weights)) - np.log(PARTICLES), after
        share = np.cumsum(np.exp(weights - logsumexp(weights)))
        at = np.searchsorted(share, (rng.random() + np.arange(PARTICLES)) / PARTICLES)
        who = np.minimum(at, PARTICLES - 1)
        points, logs, prior = points[who], logs[who], prior[who]
        others = points.copy()
        for _ in range(MOVES):
            tried = proposed(points, others, rng)
            high, there = densities(tried, counts)
            taken = np.log(rng.random(PARTICLES)) < tau * (high - logs) + there - prior
            points = np.where(taken[:, None], tried, points)
            logs, prior = np.where(taken, high, logs), np.where(taken, there, prior)
    return float(out)


def measured(number: int) -> list[dict[str, Any]]:
    """Return evidence, sBIC and BIC of one truth, a table of each size."""
    rng = np.random.default_rng([77, number])
    chance = rng.uniform(0.15, 0.85, ITEMS)
    cells = np.prod(np.where(CELLS == 1, chance, 1 - chance), axis=1)
    dag = lac.dag("H -> A B C D", states=2, hidden=["H"])
    out = []
    for rows in SIZES:
        counts = rng.multinomial(rows, cells).astype(float)
        found = np.array([log_evidence(counts, rng) for _ in range(ISLANDS)])
        shown = np.insert(CELLS, dag.schema.index("H"), -1, axis=1)[counts > 0]
        table = lac.Table(dag.schema, shown, weights=counts[counts > 0])
        told = {"k": number, "N": rows, "z": float(logsumexp(found) - np.log(ISLANDS))}
        told["zse"] = float(found.std(ddof=1) / np.sqrt(ISLANDS))
        told["sbic"] = lac.score(dag, table, "sbic", coefficients="exact", rng=number).value
        told["bic"] = lac.score(dag, table, "bic", rng=number).value
        out.append(told)
    return out


def slope(errors: Array, sizes: list[int]) -> tuple[float, float]:
    """Return the mean slope of errors in log N over tables, and its standard error; (tables, sizes)."""
    along = np.log(sizes) - np.mean(np.log(sizes))
    each = errors @ along / (along @ along)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(len(each)))


def page(records: list[dict[str, Any]]) -> str:
    """Return what was measured, as Markdown."""
    numbers = sorted({r["k"] for r in records if sum(o["k"] == r["k"] for o in records) == len(SIZES)})
    known = {(r["k"], r["N"]): r for r in records}
    head = "".join(f" {rows:,} rows |" for rows in SIZES)
    head += "".join(f" slope, {low:,} to {high:,} |" for low, high in RANGES)
    out = [
        "# Criteria at a singular truth",
        "",
        f"`python -m benchmarks.singular`: four independent binary items, {len(numbers)} truths, weighed",
        "by two hidden classes. Mean errors in nats ± standard error, and the slope of the error in",
        "log N, whose mean and standard error are over truths. The evidence is that of a sampler that",
        "shares nothing with the library; its own error is",
        f"{np.median([r['zse'] for r in records]):.2f} nats in the middle.",
        "",
        f"| criterion |{head}",
        "|---|" + "---:|" * (len(SIZES) + len(RANGES)),
    ]
    for name in ("sbic", "bic"):
        off = np.array([[known[k, n][name] - known[k, n]["z"] for n in SIZES] for k in numbers])
        cells = [f"{e.mean():+.2f} ± {e.std(ddof=1) / np.sqrt(len(e)):.2f}" for e in off.T]
        for low, high in RANGES:
            inside = [i for i, rows in enumerate(SIZES) if low <= rows <= high]
            mean, error = slope(off[:, inside], [SIZES[i] for i in inside])
            cells.append(f"{mean:+.3f} ± {error:.3f}")
        out.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(out) + "\n"


def main() -> None:
    """Measure and write the page."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--tables", type=int, default=24)
    options.add_argument("--first", type=int, default=100)
    options.add_argument("--out", type=Path, default=PAGE)
    options.add_argument("--records", type=Path, help="a file to read and to add to, a line for each table")
    given = options.parse_args()
    lines = given.records.read_text().splitlines() if given.records and given.records.exists() else []
    records = [json.loads(line) for line in lines]
    for number in range(given.first, given.first + given.tables):
        if not any(r["k"] == number for r in records):
            records += measured(number)
            if given.records:
                given.records.write_text("".join(json.dumps(r) + "\n" for r in records))
    given.out.write_text(page(records), encoding="utf-8")
    print(f"written: {given.out}")


if __name__ == "__main__":
    main()
