"""Groups and their graphs from mixed populations: `fit_mixture` beside clustering followed by a search.

Twelve kinds of populations, each also with a quarter of its cells missing. The rivals are scikit-learn's
`GaussianMixture` (number by BIC) and R's mclust, both followed by `lac.search` in every group with the same
prior; where cells are missing, which both refuse, they get the table filled by `IterativeImputer`. Measured
are wrong links of the groups' graphs, the log-density of new rows, a row, under networks fitted with the same
prior, and whether the number of groups is right. `python -m benchmarks.groups [--seeds 5] [--kinds 0,1,…]`
writes `benchmarks/populations.md`.
"""

from __future__ import annotations

import argparse
import subprocess
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

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
    Kind("heavy tails", 2, 6, 300, apart=4.0, tails=4.0),
    Kind("skewed", 2, 6, 300, apart=4.0, skew=True),
)


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


def drawn(kind: Kind, seed: int, missing: bool) -> Drawn:
    """Return a population's rows, in no order, some cells missing at random if asked."""
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
        turn = np.linalg.inv(np.eye(kind.variables) - weights).T
        for many, into in ((kind.rows, parts), (NEW, new)):
            into.append(_noise(kind, (many, kind.variables), rng) * noise @ turn + centre)
    rows, owner = np.concatenate(parts), np.repeat(np.arange(kind.groups), kind.rows)
    shuffled = rng.permutation(len(rows))
    rows, owner = rows[shuffled], owner[shuffled]
    if missing:
        rows[rng.random(rows.shape) < MISSING] = np.nan
    return Drawn(rows, np.concatenate(new), links, owner)


def _noise(kind: Kind, shape: tuple[int, int], rng: np.random.Generator) -> Array:
    if kind.skew:
        return np.asarray(rng.exponential(size=shape) - 1.0)
    if np.isfinite(kind.tails):
        return np.asarray(rng.standard_t(kind.tails, size=shape) * np.sqrt(1.0 - 2.0 / kind.tails))
    return np.asarray(rng.normal(size=shape))


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

    filled = _filled(rows, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tried = [GaussianMixture(k, n_init=3, random_state=seed).fit(filled) for k in range(1, MOST + 1)]
    best = min(tried, key=lambda model: model.bic(filled))
    return _searched(filled, best.predict_proba(filled), new)


def mclust_search(rows: Array, new: Array, seed: int) -> Found:
    """Return what mclust, model and number by BIC, and a search in every group find."""
    filled = _filled(rows, seed)
    with TemporaryDirectory() as folder:
        np.savetxt(f"{folder}/x.csv", filled, delimiter=",")
        script = (
            "suppressMessages(library(mclust)); x <- as.matrix(read.csv('x.csv', header=FALSE));"
            f"m <- Mclust(x, G=1:{MOST}, verbose=FALSE); write.table(m$z, 'z.csv', sep=',', row.names=FALSE, "
            "col.names=FALSE)"
        )
        subprocess.run(["Rscript", "-e", script], cwd=folder, check=True, capture_output=True)
        shares = np.loadtxt(f"{folder}/z.csv", delimiter=",", ndmin=2)
    return _searched(filled, shares, new)


WAYS: dict[str, Callable[[Array, Array, int], Found]] = {
    "fit_mixture": ours,
    "GaussianMixture + search": sklearn_search,
    "mclust + search": mclust_search,
}


def _searched(rows: Array, shares: Array, new: Array) -> Found:
    """Return the graphs that a search finds in every group, and the mixture of their fits."""
    owner, networks, sizes = shares.argmax(axis=1), [], []
    for group in np.unique(owner):
        part = _table(rows[owner == group])
        dag = lac.search(part).dag if len(part) > 1 else lac.Dag.from_arcs(part.schema, [])
        networks.append(lac.fit(dag, part, prior=lac.NormalWishart()).network)
        sizes.append(len(part))
    mixture = lac.Mixture(np.array(sizes) / sum(sizes), tuple(networks))
    density = float(mixture.log_probability(_table(new)).mean())
    return Found(shares[:, np.unique(owner)], [_links(n.dag) for n in networks], density)


def _filled(rows: Array, seed: int) -> Array:
    if not np.isnan(rows).any():
        return rows
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(IterativeImputer(random_state=seed).fit_transform(rows))


def _table(rows: Array) -> lac.Table:
    return lac.read({f"x{i}": rows[:, i] for i in range(rows.shape[1])}, kinds="continuous")


def _links(dag: lac.Dag) -> set[frozenset[int]]:
    return {frozenset(map(dag.names.index, arc)) for arc in dag.arcs}


def wrong_links(found: Found, truth: Drawn) -> int:
    """Return missing and false links; groups are matched by the rows they share, others are wrong."""
    many = len(truth.links)
    shared = np.array(
        [[found.shares[truth.owner == g, c].sum() for c in range(len(found.links))] for g in range(many)]
    )
    one, two = linear_sum_assignment(shared, maximize=True)
    wrong = sum(len(truth.links[g] ^ found.links[c]) for g, c in zip(one, two, strict=True))
    return wrong + sum(len(truth.links[g]) for g in range(many) if g not in one)


def lines(kinds: list[int], seeds: int) -> Iterator[str]:
    """Yield the lines of the table, one for each kind, with and without missing cells."""
    for number in kinds:
        for missing in (False, True):
            kind, told = KINDS[number], []
            for way, find in WAYS.items():
                began, wrong, density, right = process_time(), [], [], 0
                for seed in range(seeds):
                    truth = drawn(kind, seed, missing)
                    found = find(truth.rows, truth.new, seed)
                    wrong.append(wrong_links(found, truth))
                    density.append(found.density)
                    right += len(found.links) == kind.groups
                told.append(
                    f"{np.mean(wrong):.1f}; {np.mean(density):.3f}; {right}/{seeds}; "
                    f"{(process_time() - began) / seeds:.1f} s"
                )
                print(kind.name, missing, way, told[-1], flush=True)
            holes = ", 25 % missing" if missing else ""
            yield f"| {kind.name}{holes} | {' | '.join(told)} |"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--kinds", default=",".join(map(str, range(len(KINDS)))))
    parser.add_argument("--out", default=str(Path(__file__).parent / "populations.md"))
    told = parser.parse_args()
    head = [
        "# Groups and their graphs from mixed populations",
        "",
        "`python -m benchmarks.groups`. Each cell: mean wrong links; mean log-density a new row; how often "
        "the number of groups is right; processor time a population, R's left out.",
        "",
        f"| population ({told.seeds} seeds) | {' | '.join(WAYS)} |",
        f"|---{'|---' * len(WAYS)}|",
    ]
    body = list(lines([int(k) for k in told.kinds.split(",")], told.seeds))
    Path(told.out).write_text("\n".join([*head, *body, ""]))


if __name__ == "__main__":
    main()
