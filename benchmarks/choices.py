"""How structural EM chooses: near the best of all graphs, and whether exact evidence would choose the same.

``python -m benchmarks.choices`` writes ``benchmarks/choices.md``. First, random tables of four and five
variables with 30 % of the cells missing: how far the default search ends below the best of all graphs by
Cheeseman–Stutz, one graph of each equivalence class weighed. Then small tables of three binary variables:
how often the best graph by Cheeseman–Stutz is not the best by exact evidence, and by how much. Last, what
`lac.arc_probabilities` says of tables with holes beside sums over all graphs. ``--keep`` names a file of
records, to which runs are added and from which the page is made, so that it can be made in pieces.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from itertools import product
from math import comb
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.every_graph import cheeseman_stutz_of, every_graph
from lacunary.structure.all_graphs import family_terms, sum_of_graphs
from lacunary.structure.constraints import Constraints
from lacunary.structure.discrete import BD
from lacunary.structure.neighbours import Pattern, pattern
from lacunary.structure.prior import StructurePrior
from lacunary.structure.score import Structure
from lacunary.structure.walk import structure_of

__all__ = ["every_class", "main", "random_table"]

Array = NDArray[np.float64]
Record = dict[str, Any]

HOME = Path(__file__).parent


def random_table(seed: int, n: int, rows: int | None = None, share: float = 0.3, most: int = 3) -> lac.Table:
    """Return rows of a random network, of any density, with holes made at random."""
    rng = np.random.default_rng(seed)
    many = int(rng.choice([50, 100, 200, 400])) if rows is None else rows
    schema = lac.Schema(
        tuple(lac.Variable(f"V{i}", tuple(range(int(rng.integers(2, most + 1))))) for i in range(n))
    )
    density = rng.uniform(0.3, 0.8)
    arcs = [(f"V{i}", f"V{j}") for i in range(n) for j in range(i + 1, n) if rng.random() < density]
    truth = lac.random_network(lac.Dag.from_arcs(schema, arcs), rng=seed)
    return lac.make_holes(truth.sample(many, rng=seed), share, rng=seed)


def every_class(n: int) -> dict[Pattern, list[Structure]]:
    """Return all graphs over so many variables, by equivalence class."""
    found: dict[Pattern, list[Structure]] = {}
    for structure in every_graph(n):
        found.setdefault(pattern(structure), []).append(structure)
    return found


def dag_of(structure: Structure, schema: lac.Schema) -> lac.Dag:
    """Return a graph by the names of its variables."""
    return lac.Dag(schema, tuple(tuple(schema.names[p] for p in ps) for ps in structure))


def weighed(dag: lac.Dag, table: lac.Table, method: str) -> float:
    """Return an estimate of a graph's evidence under the search's own prior."""
    prior = lac.bdeu(1)
    if method == "exact":
        return lac.score(dag, table, "exact", prior=prior).value
    fitted = lac.fit(dag, table, prior=prior, starts=1, stop=lac.Stop(relative=1e-8, share=1e-6))
    return lac.score(fitted, table, method, prior=prior).value


def shortfall(n: int, seed: int) -> Record:
    """Return how far the default search ends below the best of all graphs by Cheeseman–Stutz, in nats.

    All graphs are climbed with roughly, those near the top to the end. ``short`` is of the score that the
    search gives, ``graph`` of its graph weighed as all others are: EM that ends early errs, too.
    """
    table = random_table(seed, n)
    graphs = [members[0] for members in every_class(n).values()]
    rough = cheeseman_stutz_of(graphs, table, near=ROUGH)
    best = [graph for graph, value in zip(graphs, rough, strict=True) if value >= rough.max() - MARGIN]
    begun = process_time()
    found = lac.search(table, structure_prior=None)  # the best is by the estimate alone
    took = process_time() - begun
    values = cheeseman_stutz_of([structure_of(found.dag), *best], table)
    top = float(values.max())
    return {"rows": len(table), "short": top - found.score, "graph": top - float(values[0]), "seconds": took}


ROUGH, MARGIN = 1e-5, 3.0
"""When rough EM has ended, and up to how many nats below the best it goes on: rough values erred by 0.9."""


def choice(rows: int, share: float, seed: int) -> Record:
    """Return what the choice by Cheeseman–Stutz loses in exact evidence, and by how much it errs."""
    table = random_table(seed, 3, rows, share, most=2)
    graphs = [dag_of(members[0], table.schema) for members in every_class(3).values()]
    exact = np.array([weighed(dag, table, "exact") for dag in graphs])
    near = np.array([weighed(dag, table, "cheeseman-stutz") for dag in graphs])
    chosen = int(near.argmax())
    return {"lost": float(exact.max() - exact[chosen]), "error": float(near[chosen] - exact[chosen])}


def few_holes(seed: int, n: int, rows: int, holes: int) -> lac.Table:
    """Return rows of a random network of binary variables in which so many cells are missing."""
    full = random_table(seed, n, rows, 0.0, most=2)
    codes = np.array(full.codes)
    codes.ravel()[np.random.default_rng(seed).choice(codes.size, holes, replace=False)] = -1
    return lac.Table(full.schema, codes)


def arcs(by: str, n: int, rows: int, missing: float, seed: int) -> Record | None:
    """Return how far `lac.arc_probabilities` is from a sum over all graphs of some binary variables.

    None where exact evidence is out of reach. Every graph counts once, with the default prior of its links.
    ``missing`` is a share of the cells, or, where sums go over all fillings, too, how many are missing.
    """
    fillings = by == "fillings"
    table = (
        few_holes(seed, n, rows, int(missing)) if fillings else random_table(seed, n, rows, missing, most=2)
    )
    try:
        truth = of_fillings(table) if fillings else of_classes(table, by)
    except lac.TooWideError:
        return None
    begun = process_time()
    found = lac.arc_probabilities(table, rng=seed)
    took = process_time() - begun
    gaps, links = np.abs(found.arcs - truth), np.abs(found.links - truth - truth.T)
    off = ~np.eye(n, dtype=bool)
    return {
        "arcs": float(gaps.max()), "links": float(links.max()), "said": float(found.error.max()),
        "said links": float(found.link_error.max()), "beyond": int((gaps > 2 * found.error)[off].sum()),
        "rhat": found.worst_rhat, "seconds": took,
    }  # fmt: skip


def of_classes(table: lac.Table, by: str) -> Array:
    """Return the probability of every arc by the evidence of each equivalence class, exact or estimated."""
    classes = every_class(len(table.schema))
    firsts = [members[0] for members in classes.values()]
    if by == "exact":
        logs = np.array([weighed(dag_of(first, table.schema), table, by) for first in firsts])
    else:
        logs = cheeseman_stutz_of(firsts, table)
    return summed(list(classes.values()), logs)


def of_fillings(table: lac.Table) -> Array:
    """Return the probability of every arc by sums over all graphs of every table that this may be."""
    rules = Constraints.of(table.schema)
    prior, codes = StructurePrior.of("beta-binomial", rules), np.array(table.codes)
    row, column = np.nonzero(table.holes)
    logs, chances = [], []
    for filling in product(*(range(table.schema.sizes[v]) for v in column)):
        codes[row, column] = filling
        score = BD(lac.Table(table.schema, codes.copy()), lac.bdeu(1))
        log, each = sum_of_graphs(family_terms(score, rules), prior)
        logs.append(log)
        chances.append(each)
    shares = np.exp(np.array(logs) - max(logs))
    return np.asarray(np.tensordot(shares / shares.sum(), chances, 1))


def summed(classes: Sequence[Sequence[Structure]], logs: Array) -> Array:
    """Return the probability of every arc, from the log evidence of each class."""
    n = len(classes[0][0])
    pairs = n * (n - 1) // 2
    links = np.array([sum(map(len, members[0])) for members in classes])
    prior = np.array([-np.log((pairs + 1) * comb(pairs, int(each))) for each in links])
    each = np.exp(logs + prior - (logs + prior).max())
    total = float(each @ [len(members) for members in classes])
    out = np.zeros((n, n))
    for members, weight in zip(classes, each / total, strict=True):
        for structure in members:
            for child, parents in enumerate(structure):
                out[list(parents), child] += weight
    return out


SMALL = ((20, 0.15), (20, 0.3), (40, 0.15), (40, 0.3))
"""Rows, and the share of cells missing, where choices are compared with exact evidence."""

SURE: tuple[tuple[str, int, int, float], ...] = (
    *(("exact", 4, 20, 0.2), ("exact", 4, 20, 0.3), ("cheeseman-stutz", 4, 200, 0.25)),
    *(("fillings", 4, 60, 8), ("fillings", 5, 60, 10), ("fillings", 6, 40, 10)),
)
"""By what graphs are weighed, variables, rows and cells missing, or their share, where arcs are compared."""


def runs(told: argparse.Namespace) -> Iterator[tuple[list[Any], Record]]:
    """Go over what is asked for and not kept yet, by what it is."""
    known = [record["of"] for record in read(told.keep)]
    for n, tables in ((4, told.four), (5, told.five)):
        for seed in range(told.first, told.first + tables):
            if (of := ["short", n, seed]) not in known:
                yield of, shortfall(n, seed)
    for rows, share in SMALL:
        for seed in range(told.first, told.first + told.small):
            if (of := ["choice", rows, share, seed]) not in known:
                yield of, choice(rows, share, seed)
    for by, n, rows, missing in SURE:
        for seed in range(told.first, told.first + told.arcs):
            if (of := ["arcs", by, n, rows, missing, seed]) not in known:
                yield of, arcs(by, n, rows, missing, seed) or {}


def read(kept: Path) -> list[Record]:
    """Return the records that are kept."""
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def main() -> None:
    """Run what is asked for, and write the page of all that is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("four", 100), ("five", 20), ("small", 100), ("arcs", 5), ("first", 5000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--keep", type=Path, default=Path("choices.jsonl"))
    told = parser.parse_args()
    for of, record in runs(told):
        print(*of, record, flush=True)
        with told.keep.open("a") as file:
            file.write(json.dumps({"of": of, **record}) + "\n")
    from benchmarks.choices_page import page

    (HOME / "choices.md").write_text(page(read(told.keep)))


if __name__ == "__main__":
    main()
