"""Which criterion finds the number of hidden classes: sizes, numbers of classes and separations.

``python -m benchmarks.criteria`` writes benchmarks/criteria.md, by which `lacunary.classes` was given the
criterion it recommends by. ``--repeats`` says how many tables are drawn for each cell, ``--records`` where
what was found is kept, so that runs add up.

Tables have ten items of two or three states: in each class the log-odds of an item's states lie s above or
below a common level, by signs drawn for every class and state; s is the separation. Classes have unequal
weights, and a tenth of the cells are empty. The last design is that of Drton and Plummer (2017): eight binary
items, four classes, fifty rows, no holes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

import lacunary as lac

ROWS = (50, 200, 1000)
CLASSES = (1, 2, 3, 4)
SEPARATIONS = {"weak": 0.7, "medium": 1.2, "strong": 2.0}
PRINTED = "Drton & Plummer"
MOST = 6
STARTS = 10
FRESH = 2000
"""Rows on which the chosen models are judged."""

PAGE = Path(__file__).with_name("criteria.md")

Record = dict[str, Any]


def truth(design: str, classes: int, rng: np.random.Generator) -> lac.Network:
    """Return a network of a hidden class above items."""
    if design == PRINTED:
        return _printed()
    states = {f"x{i + 1}": 2 if i < 6 else 3 for i in range(10)}
    dag = lac.dag("c -> " + " ".join(states), states=states, hidden={"c": classes})
    tables: dict[str, Any] = {"c": rng.dirichlet(np.full(classes, 10.0))}
    for name, size in states.items():
        signs = rng.choice([-1.0, 1.0], (classes, size))
        odds = rng.normal(0.0, 0.5, size) + SEPARATIONS[design] * signs
        tables[name] = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    return lac.Network.from_tables(dag, tables)


def _printed() -> lac.Network:
    """Return four classes of eight binary items, two of which are likely in each: 0.85 against 0.1 or 0.2."""
    names = [f"x{i + 1}" for i in range(8)]
    dag = lac.dag("c -> " + " ".join(names), states=2, hidden={"c": 4})
    tables: dict[str, Any] = {"c": np.full(4, 0.25)}
    for i, name in enumerate(names):
        chance = np.full(4, 0.1 if i % 2 == 0 else 0.2)
        chance[i // 2] = 0.85
        tables[name] = np.column_stack([1 - chance, chance])
    return lac.Network.from_tables(dag, tables)


def trial(design: str, rows: int, classes: int, repeat: int) -> Iterator[Record]:
    """Return what every criterion chose for one table."""
    rng = np.random.default_rng([rows, classes, *design.encode(), repeat])
    network = truth(design, classes, rng)
    items = [name for name in network.dag.names if name != "c"]
    table = network.sample(rows, rng=rng).select(items)
    if design != PRINTED:
        table = lac.make_holes(table, 0.1, rng=rng)
    fresh = network.sample(FRESH, rng=rng).select(items)
    found = lac.classes(table, range(1, MOST + 1), starts=STARTS, rng=repeat)
    own = network.log_likelihood(fresh) / FRESH
    losses = {c.classes: own - c.fit.network.log_likelihood(fresh) / FRESH for c in found.candidates}
    told = {"design": design, "rows": rows, "classes": classes, "repeat": repeat}
    for method in found.comparison.methods:
        chosen = max(found.candidates, key=lambda c: c.log_evidence[method]).classes
        yield {**told, "method": method, "chosen": chosen, "loss": losses[chosen] - min(losses.values())}


def cells() -> Iterator[tuple[str, int, int]]:
    """Return designs, rows and numbers of classes; one class has no separation."""
    for rows, classes, design in product(ROWS, CLASSES, SEPARATIONS):
        if classes > 1 or design == "weak":
            yield design, rows, classes
    yield PRINTED, 50, 4


def page(records: Sequence[Record]) -> Iterator[str]:
    """Return the lines of the page."""
    methods = list(dict.fromkeys(r["method"] for r in records))
    repeats = len({r["repeat"] for r in records if r["design"] != PRINTED})
    yield "# Criteria for the number of hidden classes\n"
    yield "`python -m benchmarks.criteria`. Ten items of two or three states, a tenth of the cells empty;"
    drawn, printed = (sum((r["design"] == PRINTED) == p for r in records) // len(methods) for p in (0, 1))
    yield f"{drawn} tables, up to {repeats} a cell, and {printed} of the printed design; one to {MOST}"
    yield f"classes tried from {STARTS} starts. Shares of tables for"
    yield "which the true number is chosen, in brackets the mean number. *Loss*: what the chosen model's MAP"
    yield "network loses on fresh rows, in millinats a row, beyond the best of those tried.\n"
    yield _line(["rows", "classes", "separation", *methods])
    yield _line(["---"] * (3 + len(methods)))
    for design, rows, classes in cells():
        kept = [r for r in records if (r["design"], r["rows"], r["classes"]) == (design, rows, classes)]
        if kept:
            shown = "" if classes == 1 else design
            yield _line([rows, classes, shown, *(_cell(kept, m) for m in methods)])
    yield ""
    yield _line(["", *methods])
    yield _line(["---"] * (1 + len(methods)))
    for label, kept in _kinds(records):
        yield _line([f"right, {label}", *(f"{100 * right(kept, m):.0f} %" for m in methods)])
    for label, kept in _kinds(records):
        yield _line([f"loss, {label}", *(f"{1000 * loss(kept, m):.1f}" for m in methods)])
    yield f"\nRight most often over all cells but the printed design: **{decided(records)}**."
    yield from _chance([r for r in records if r["design"] == PRINTED and r["method"] == "bic"])


def _chance(found: Sequence[Record]) -> Iterator[str]:
    """Say how often BIC would find four classes of the printed design as often, were its chance 5 in 100."""
    if found:
        many, draws = sum(r["chosen"] == r["classes"] for r in found), len(found)
        chance = float(binom.sf(many - 1, draws, 0.05))
        yield (
            f"\nOf the printed design BIC found four classes in {many} of {draws} tables. Were its chance 5 "
            f"in 100, so many or more would come out in {100 * chance:.0f} % of such experiments. "
            "Likelihoods of four classes that were not climbed to the end would make it fewer, not more."
        )


def _line(cells: Iterable[object]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def _cell(kept: Sequence[Record], method: str) -> str:
    chosen = np.mean([r["chosen"] for r in kept if r["method"] == method])
    return f"{100 * right(kept, method):.0f} % ({chosen:.1f})"


def _kinds(records: Sequence[Record]) -> Iterator[tuple[str, list[Record]]]:
    drawn = [r for r in records if r["design"] != PRINTED]
    yield "all", drawn
    for rows in ROWS:
        yield f"{rows} rows", [r for r in drawn if r["rows"] == rows]
    for design in SEPARATIONS:
        yield design, [r for r in drawn if r["design"] == design and r["classes"] > 1]


def right(records: Sequence[Record], method: str) -> float:
    """Return the share of tables for which a criterion chose the true number."""
    return float(np.mean([r["chosen"] == r["classes"] for r in records if r["method"] == method]))


def loss(records: Sequence[Record], method: str) -> float:
    """Return what its choices lose on average."""
    return float(np.mean([r["loss"] for r in records if r["method"] == method]))


def decided(records: Sequence[Record]) -> str:
    """Return the criterion that is right most often; of equals the one that loses less."""
    drawn = [r for r in records if r["design"] != PRINTED]
    return str(max({r["method"] for r in drawn}, key=lambda m: (right(drawn, m), -loss(drawn, m))))


def main() -> None:
    """Draw the tables, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="number of the first repeat")
    parser.add_argument("--printed", type=int, default=100, help="tables of the printed design")
    parser.add_argument("--records", type=Path, help="a file to read and to add to, a line for each choice")
    given = parser.parse_args()
    records: list[Record] = []
    if given.records and given.records.exists():
        records = [json.loads(line) for line in given.records.read_text(encoding="utf-8").splitlines()]
    tasks = [(*c, r) for r in range(given.repeats) for c in cells() if c[0] != PRINTED]
    tasks += [(PRINTED, 50, 4, r) for r in range(given.printed)]
    for done, (design, rows, classes, repeat) in enumerate(tasks):
        sys.stderr.write(f"\r{done} of {len(tasks)}   ")
        found = list(trial(design, rows, classes, given.first + repeat))
        records += found
        if given.records:
            with given.records.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(record) + "\n" for record in found)
    PAGE.write_text("\n".join(page(records)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
