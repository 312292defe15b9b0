"""BG03's 136 structures at 480 rows, certified from both sides: how long that takes, and what is found.

    python -m benchmarks.structures [--setting S] [--every K] [--first F] [--out FILE]

scores every K-th structure by ``"sandwich"`` and adds a line of CSV for each: the evidence from the prior and
from variational optima with their errors, how many of these lie between them, the twin's gap with its error,
how often islands were doubled because runs, or a twin's ends, lay apart, what lay between them before, and
CPU seconds. Structures that the file has are passed over, so that it can be run in slices.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from time import process_time

import numpy as np

import lacunary as lac
from lacunary.papers.bg03.work import ROWS, data, graph, structures

FIELDS = [
    "setting",
    "structure",
    "free",
    "value",
    "stderr",
    "other",
    "other_stderr",
    "apart",
    "gap",
    "gap_error",
    "flagged",
    "doubled",
    "apart_before",
    "twin_doubled",
    "gap_before",
    "cpu_seconds",
]


def scored(table: lac.Table, setting: int, number: int) -> dict[str, float]:
    """Return what is found of one structure."""
    dag, began = graph(structures()[number]), process_time()
    found = lac.score(dag, table, "sandwich", prior=lac.Dirichlet(1.0), rng=1000 * setting + number)
    details, seconds = found.details, process_time() - began
    _, *others = details["runs"].values()
    own = (found.value, found.stderr or 0.0)
    told = (*own, *(others[0] if others else own), details["apart"], details["gap"], details["gap_error"])
    numbers = [round(float(x), 4) for x in told]
    flagged, which = int(not details["trustworthy"]), (setting, number, dag.layout.free)
    (value, error), (beside, another) = (list(details["before"].values()) * 2)[:2]
    before = abs(value - beside) / max(np.hypot(error, another), 1e-9)
    doubled = (details["doubled"], round(float(before), 4))
    twins = (details["twin_doubled"], round(float(details["gap_before"]), 4))
    line = (*which, *numbers, flagged, *doubled, *twins, round(seconds, 2))
    return dict(zip(FIELDS, line, strict=True))


def main() -> None:
    """Score structures that the file does not have yet."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--setting", type=int, default=203, help="which true parameters and rows")
    options.add_argument("--every", type=int, default=1)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--out", type=Path, default=Path(__file__).with_name("structures.csv"))
    given = options.parse_args()
    table, done = data("apart", 1.0, given.setting, ROWS), set[int]()
    if given.out.exists():
        with given.out.open(encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if int(row["setting"]) == given.setting]
            done = {int(row["structure"]) for row in rows}
    else:
        given.out.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    lac.score(graph(structures()[5]), table.take(slice(40)), "sandwich")  # nothing is compiled after this
    for number in range(given.first, len(structures()), given.every):
        if number not in done:
            found = scored(table, given.setting, number)
            with given.out.open("a", encoding="utf-8", newline="") as file:
                csv.DictWriter(file, FIELDS).writerow(found)


if __name__ == "__main__":
    main()
