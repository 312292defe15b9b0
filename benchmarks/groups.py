"""Groups and their graphs from mixed populations: `fit_mixture` beside clustering followed by a search.

Twelve kinds of populations, each also with a quarter of its cells missing, and kinds kept for the last, whose
groups are no mixture of normal networks: skewed, heavy-tailed, bent, with cells missing at random or not. The
rivals are scikit-learn's `GaussianMixture` (number by BIC) and R's mclust, both followed by `lac.search` in
every group with the same prior; where cells are missing, which both refuse, they get the table filled by
`IterativeImputer` and by R's mice. Measured are wrong links of the groups' graphs, the log-density of new
rows, a row, under networks fitted with the same prior, and how many groups are found.

`python -m benchmarks.groups --keep runs.jsonl [--seeds 0,1] [--kinds 0,1,…] [--holes none,random]` adds to
what is kept, and writes a page of all of it; `benchmarks/populations.md` says what came of it.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

import lacunary as lac

__all__ = ["KINDS", "Kind", "main"]

Array = NDArray[np.float64]

MISSING, NEW, MOST = 0.25, 1000, 9
"""Share of cells that are missing, new rows of each group, and the most groups that rivals try."""


@dataclass(frozen=True)
class Kind:
    """A kind of population.

    Attributes
    ----------
    groups, variables, rows
        How many groups, columns, and rows of each group.
    apart
        Standard deviation of the groups' means, in random directions.
    tight
        The smallest standard deviation of noise; the largest is two.
    links
        Chance that two variables are linked.
    tails
        Degrees of freedom of the noise; infinite for normal noise.
    skew
        Whether noise is exponential, less its mean.
    bent
        Whether a variable depends on its parents' squares too: no graph of regressions says that.
    """

    name: str
    groups: int
    variables: int
    rows: int
    apart: float = 3.0
    tight: float = 0.5
    links: float = 0.25
    tails: float = np.inf
    skew: bool = False
    bent: bool = False


KINDS = (
    Kind("two groups, far apart", 2, 6, 250, apart=4.0),
    Kind("three groups", 3, 8, 200),
    Kind("five groups", 5, 6, 200, apart=4.0),
    Kind("six groups, many rows", 6, 4, 500, apart=4.0),
    Kind("overlapping", 2, 6, 400, apart=1.0),
    Kind("overlapping, three groups", 3, 6, 500, apart=1.2),
    Kind("scales from 0.1 to 2", 3, 8, 250, tight=0.1),
    Kind("few rows", 3, 10, 100),
    Kind("few rows, many variables", 2, 20, 100),
    Kind("dense graphs", 2, 6, 500, links=0.6),
    Kind("four groups, twelve variables", 4, 12, 300, apart=2.0),
    Kind("near, many rows", 3, 5, 1000, apart=1.5),
    # Drawn once the defaults were frozen: none of these is a mixture of normal networks.
    Kind("heavy tails", 2, 6, 300, apart=4.0, tails=4.0),
    Kind("skewed", 2, 6, 300, apart=4.0, skew=True),
    Kind("bent", 3, 6, 300, apart=4.0, bent=True),
)
PLAIN = 12
"""How many of the kinds are mixtures of normal networks."""

HOLES = ("none", "random", "at random", "not at random")
"""Cells are missing: none; a quarter; where the first column is high; where they are high themselves."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows of a population, new rows, the links of every group, and the group of each row."""

    rows: Array
    new: Array
    links: list[set[frozenset[int]]]
    owner: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Found:
    """What a way found: shares of rows in groups, graphs, and the log-density a new row."""

    shares: Array
    links: list[set[frozenset[int]]]
    density: float


def drawn(kind: Kind, seed: int, holes: str) -> Drawn:
    """Return a population's rows, in no order, some cells missing if asked."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    parts: list[Array] = []
    new: list[Array] = []
    links = []
    for _ in range(kind.groups):
        order = rng.permutation(kind.variables)
        weights = np.zeros((kind.variables, kind.variables))
        for place, child in enumerate(order):
            for parent in order[:place]:
                if rng.random() < kind.links:
                    weights[child, parent] = rng.choice([-1.0, 1.0]) * rng.uniform(0.4, 1.2)
        links.append({frozenset(map(int, pair)) for pair in np.argwhere(weights)})
        noise = np.exp(rng.uniform(np.log(kind.tight), np.log(2.0), kind.variables))
        centre = rng.normal(0.0, kind.apart, kind.variables)
        for many, into in ((kind.rows, parts), (NEW, new)):
            into.append(_rows(kind, weights, order, noise, many, rng) + centre)
    rows, owner = np.concatenate(parts), np.repeat(np.arange(kind.groups), kind.rows)
    shuffled = rng.permutation(len(rows))
    rows, owner = rows[shuffled], owner[shuffled]
    return Drawn(_holed(rows, holes, rng), np.concatenate(new), links, owner)


def _rows(
    kind: Kind, weights: Array, order: NDArray[Any], noise: Array, many: int, rng: np.random.Generator
) -> Array:
    """Return rows of one group about zero."""
    x = _noise(kind, (many, kind.variables), rng) * noise
    for child in order:
        x[:, child] += x @ weights[child]
        if kind.bent:
            x[:, child] += 0.3 * (x**2 - (x**2).mean(axis=0)) @ np.abs(weights[child])
    return x


def _noise(kind: Kind, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    if kind.skew:
        return np.asarray(rng.exponential(size=shape) - 1.0)
    if np.isfinite(kind.tails):
        return np.asarray(rng.standard_t(kind.tails, size=shape) * np.sqrt(1.0 - 2.0 / kind.tails))
    return np.asarray(rng.normal(size=shape))


def _holed(rows: Array, holes: str, rng: np.random.Generator) -> Array:
    if holes == "none":
        return rows
    high = (rows > np.median(rows, axis=0)).astype(np.float64)
    if holes == "at random":  # the first column is always seen
        high = np.repeat(high[:, :1], rows.shape[1], axis=1)
    share = np.full(rows.shape, MISSING) if holes == "random" else 2.0 * MISSING * high
    share[:, 0] = 0.0 if holes == "at random" else share[:, 0]
    return np.where(rng.random(rows.shape) < share, np.nan, rows)


def ours(rows: Array, new: Array, seed: int) -> Found:
    """Return what `fit_mixture` finds by default."""
    found = lac.fit_mixture(_table(rows), rng=seed).mixture
    links = [_links(component.dag) for component in found.components]
    return Found(
        found.responsibilities(_table(rows)), links, float(found.log_probability(_table(new)).mean())
    )


def sklearn_search(rows: Array, new: Array, seed: int) -> Found:
    """Return what `GaussianMixture`, its number by BIC, and a search in every group find."""
    from sklearn.mixture import GaussianMixture

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tried = [GaussianMixture(k, n_init=3, random_state=seed).fit(rows) for k in range(1, MOST + 1)]
    best = min(tried, key=lambda model: model.bic(rows))
    return _searched(rows, best.predict_proba(rows), new)


def mclust_search(rows: Array, new: Array, seed: int) -> Found:
    """Return what mclust, model and number by BIC, and a search in every group find."""
    script = (
        "suppressMessages(library(mclust)); x <- as.matrix(read.csv('x.csv', header=FALSE));"
        f"m <- Mclust(x, G=1:{MOST}, verbose=FALSE); write.table(m$z, 'z.csv', sep=',', row.names=FALSE, "
        "col.names=FALSE)"
    )
    return _searched(rows, _by_r(script, rows), new)


def _by_r(script: str, rows: Array) -> Array:
    """Return what a script of R makes of x.csv, as z.csv."""
    with TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/x.csv", rows, delimiter=",")
        subprocess.run(["Rscript", "-e", script], cwd=folder, check=True, capture_output=True)
        return np.loadtxt(f"{folder}/z.csv", delimiter=",", ndmin=2)


def iterative(rows: Array, seed: int) -> Array:
    """Return rows filled by scikit-learn's IterativeImputer."""
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(IterativeImputer(random_state=seed).fit_transform(rows))


def mice(rows: Array, seed: int) -> Array:
    """Return rows filled by R's mice, one draw."""
    script = (
        "suppressMessages(library(mice)); x <- read.csv('x.csv', header=FALSE, na.strings='nan');"
        f"m <- suppressWarnings(mice(x, m=1, printFlag=FALSE, seed={seed + 1}));"
        "write.table(complete(m), 'z.csv', sep=',', row.names=FALSE, col.names=FALSE)"
    )
    return _by_r(script, rows)


FILLS: dict[str, Callable[[Array, int], Array]] = {"IterativeImputer": iterative, "mice": mice}
RIVALS: dict[str, Callable[[Array, Array, int], Found]] = {
    "GaussianMixture": sklearn_search,
    "mclust": mclust_search,
}


def ways(truth: Drawn, seed: int) -> Iterator[tuple[str, Callable[[], Found]]]:
    """Yield every way by name, and what finds groups by it."""
    yield "fit_mixture", partial(ours, truth.rows, truth.new, seed)
    fills = FILLS if np.isnan(truth.rows).any() else {"": lambda rows, seed: rows}
    for told, fill in fills.items():
        filled = fill(truth.rows, seed)
        for name, find in RIVALS.items():
            yield f"{told} {name}".strip(), partial(find, filled, truth.new, seed)


def _searched(rows: Array, shares: Array, new: Array) -> Found:
    """Return the graphs that a search finds in every group, and the mixture of their fits."""
    owner, networks, sizes = shares.argmax(axis=1), [], []
    for group in np.unique(owner):
        part = _table(rows[owner == group])
        few = len(part) < 3
        dag = lac.Dag.from_arcs(part.schema, []) if few else lac.search(part).dag
        prior = lac.NormalWishart() if few else lac.empirical_prior(part)
        networks.append(lac.fit(dag, part, prior=prior).network)
        sizes.append(len(part))
    mixture = lac.Mixture(np.array(sizes) / sum(sizes), tuple(networks))
    density = float(mixture.log_probability(_table(new)).mean())
    return Found(shares[:, np.unique(owner)], [_links(n.dag) for n in networks], density)


def _table(rows: Array) -> lac.Table:
    return lac.read({f"x{i}": rows[:, i] for i in range(rows.shape[1])}, kinds="continuous")


def _links(dag: lac.Dag) -> set[frozenset[int]]:
    return {frozenset(map(dag.names.index, arc)) for arc in dag.arcs}


def wrong_links(found: Found, truth: Drawn) -> int:
    """Return missing and false links; groups are matched by the rows they share, those not met are wrong."""
    many = len(truth.links)
    shared = np.array(
        [[found.shares[truth.owner == g, c].sum() for c in range(len(found.links))] for g in range(many)]
    )
    one, two = linear_sum_assignment(shared, maximize=True)
    wrong = sum(len(truth.links[g] ^ found.links[c]) for g, c in zip(one, two, strict=True))
    return wrong + sum(len(truth.links[g]) for g in range(many) if g not in one)


def run(number: int, holes: str, seed: int) -> Iterator[dict[str, Any]]:
    """Yield what every way finds in one population."""
    kind = KINDS[number]
    truth = drawn(kind, seed, holes)
    for way, find in ways(truth, seed):
        began = process_time()
        found = find()
        yield {
            "kind": kind.name, "holes": holes, "seed": seed, "way": way, "wrong": wrong_links(found, truth),
            "density": found.density, "groups": len(found.links), "seconds": process_time() - began,
        }  # fmt: skip


def main() -> None:
    """Run what is asked for, and write the page of all that is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--kinds", default=",".join(map(str, range(len(KINDS)))))
    parser.add_argument("--holes", default="none,random")
    parser.add_argument("--keep", default="groups.jsonl")
    parser.add_argument("--out", default="populations.md")
    told = parser.parse_args()
    kept = Path(told.keep)
    known = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for seed in map(int, told.seeds.split(",")):
        for number in map(int, told.kinds.split(",")):
            for holes in told.holes.split(","):
                if any(
                    (k["kind"], k["holes"], k["seed"]) == (KINDS[number].name, holes, seed) for k in known
                ):
                    continue
                found = list(run(number, holes, seed))
                for one in found:
                    print(*(f"{value:.4g}" if isinstance(value, float) else value for value in one.values()))
                known += found
                with kept.open("a") as file:
                    file.writelines(json.dumps(one) + "\n" for one in found)
    from benchmarks.groups_page import page

    Path(told.out).write_text(page(known))


if __name__ == "__main__":
    main()
