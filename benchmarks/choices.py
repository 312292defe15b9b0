"""How structural EM chooses: near the best of all graphs, and whether exact evidence would choose the same.

``python -m benchmarks.choices`` writes ``benchmarks/choices.md``. First, random tables of four and five
variables with 30 % of the cells missing: how far the default search ends below the best of all graphs by
Cheeseman–Stutz, one graph of each equivalence class weighed. Then small tables of three binary variables:
how often the best graph by Cheeseman–Stutz is not the best by exact evidence, and by how much.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path
from time import process_time

import numpy as np

import lacunary as lac
from lacunary.structure.neighbours import Pattern, pattern
from lacunary.structure.score import Structure

__all__ = ["every_class", "random_table", "run"]

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


def every_class(schema: lac.Schema) -> list[lac.Dag]:
    """Return one graph of every equivalence class."""
    n = len(schema)
    found: dict[Pattern, Structure] = {}
    for order in permutations(range(n)):
        pairs = [(order[i], order[j]) for i in range(n) for j in range(i + 1, n)]
        for bits in range(1 << len(pairs)):
            parents: list[list[int]] = [[] for _ in range(n)]
            for k, (tail, head) in enumerate(pairs):
                if bits >> k & 1:
                    parents[head].append(tail)
            structure = tuple(tuple(sorted(ps)) for ps in parents)
            found.setdefault(pattern(structure), structure)
    names = schema.names
    return [
        lac.Dag(schema, tuple(tuple(names[p] for p in ps) for ps in structure))
        for structure in found.values()
    ]


def weighed(dag: lac.Dag, table: lac.Table, method: str) -> float:
    """Return an estimate of a graph's evidence under the search's own prior."""
    prior = lac.bdeu(1)
    if method == "exact":
        return lac.score(dag, table, "exact", prior=prior).value
    fitted = lac.fit(dag, table, prior=prior, starts=1, stop=lac.Stop(relative=1e-8, share=1e-6))
    return lac.score(fitted, table, method, prior=prior).value


def shortfalls(n: int, tables: int, first: int) -> Iterator[tuple[float, float]]:
    """Go over random tables: nats below the best of all graphs by Cheeseman–Stutz, and seconds of search."""
    for seed in range(first, first + tables):
        table = random_table(seed, n)
        best = max(weighed(dag, table, "cheeseman-stutz") for dag in every_class(table.schema))
        begun = process_time()
        found = lac.search(table, structure_prior=None)  # the best is by the estimate alone
        took = process_time() - begun
        yield best - found.score, took


def choices(tables: int, first: int, rows: int, share: float) -> Iterator[tuple[float, float]]:
    """Go over tables: what the choice by Cheeseman–Stutz loses in exact evidence, and by how much it errs."""
    for seed in range(first, first + tables):
        table = random_table(seed, 3, rows, share, most=2)
        graphs = every_class(table.schema)
        exact = np.array([weighed(dag, table, "exact") for dag in graphs])
        near = np.array([weighed(dag, table, "cheeseman-stutz") for dag in graphs])
        chosen = int(near.argmax())
        yield float(exact.max() - exact[chosen]), float(near[chosen] - exact[chosen])


def run(four: int, five: int, small: int, first: int) -> str:
    """Return the page."""
    lines = [
        "# How structural EM chooses",
        "",
        f"`python -m benchmarks.choices --four {four} --five {five} --small {small} --first {first}`",
        "",
        "Random discrete networks of two or three states, 50 to 400 rows, 30 % of the cells missing.",
        "*Short* is how far the default search ends below the best of all graphs by Cheeseman-Stutz, nats.",
        "",
        "| variables | tables | within 0.1 | largest short | mean seconds of CPU |",
        "|---:|---:|---:|---:|---:|",
    ]
    for n, tables in ((4, four), (5, five)):
        if tables:
            short, took = np.array(list(shortfalls(n, tables, first))).T
            within = int((short <= 0.1).sum())
            lines.append(f"| {n} | {tables} | {within} | {short.max():.3f} | {took.mean():.2f} |")
    lines += [
        "",
        "Three binary variables, so few rows that the exact evidence of every graph can be worked out.",
        "*Differ* counts tables in which the best graph by Cheeseman-Stutz is not the best by exact evidence",
        "(by more than 1e-6 nats); *loses* is what it is short by there, in the mean; *error* the estimate",
        "less the exact value.",
        "",
        "| rows | missing | tables | differ | loses | at most | error, mean |",
        "|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for rows, share in ((20, 0.15), (20, 0.3), (40, 0.15), (40, 0.3)):
        lost, error = np.array(list(choices(small, first, rows, share))).T
        differ = lost > 1e-6
        mean = lost[differ].mean() if differ.any() else 0.0
        numbers = f"{int(differ.sum())} | {mean:.2f} | {lost.max():.2f} | {error.mean():+.2f}"
        lines.append(f"| {rows} | {share:.0%} | {small} | {numbers} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("four", 100), ("five", 20), ("small", 100), ("first", 5000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    page = run(**vars(parser.parse_args()))
    (HOME / "choices.md").write_text(page)
    print(page)


if __name__ == "__main__":
    main()
