"""BG03's structures at 10 240 rows by ``"sampled"``: the default, and runs with many times its budget.

    python -m benchmarks.many_rows --setting S --structures K,K,… [--times T] [--seed N] [--out FILE]

adds a line of CSV for each structure: evidence and error, by which sampler, from how many islands, what the
second sampler says, whether it is flagged, and CPU seconds. With T times the budget an error of 0.01 is asked
for, so that all of it is spent.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from time import process_time
from typing import Any

import lacunary as lac
from lacunary.evidence.sampler import BUDGET
from lacunary.papers.bg03.work import data, graph, structures

ROWS = 10_240

FIELDS = [
    "setting",
    "structure",
    "free",
    "short",
    "seed",
    "times",
    "value",
    "stderr",
    "sampler",
    "islands",
    "spread",
    "second",
    "second_stderr",
    "flagged",
    "cpu_seconds",
]


def scored(setting: int, number: int, seed: int, times: float) -> dict[str, object]:
    """Return what is found of one structure."""
    dag, table = graph(structures()[number]), data("apart", 1.0, setting, ROWS)
    longer: dict[str, Any] = {} if times == 1.0 else {"stderr": 0.01, "budget": times * BUDGET}
    began = process_time()
    found = lac.score(dag, table, "sampled", prior=lac.Dirichlet(1.0), rng=seed, **longer)
    seconds, details = process_time() - began, found.details
    free, (second, error) = dag.layout.free, next(iter(details["others"].values()), (found.value, 0.0))
    which = (setting, number, free, free - lac.dimension(dag).rank, seed, times)
    told = (round(found.value, 2), round(found.stderr or 0.0, 3), details["sampler"], len(details["log_z"]))
    beside = (round(details["spread"], 2), round(second, 2), round(error, 2))
    line = (*which, *told, *beside, int(not details["trustworthy"]), round(seconds, 1))
    return dict(zip(FIELDS, line, strict=True))


def main() -> None:
    """Score structures and add what is found to the file."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--setting", type=int, required=True, help="which true parameters and rows")
    options.add_argument("--structures", required=True, help="numbers from 0 to 135, by commas")
    options.add_argument("--times", type=float, default=1.0, help="how many times the usual budget")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--out", type=Path, default=Path(__file__).with_name("many_rows.csv"))
    given = options.parse_args()
    if not given.out.exists():
        given.out.write_text(",".join(FIELDS) + "\n", encoding="utf-8")
    small = data("apart", 1.0, given.setting, 40)
    lac.score(graph(structures()[5]), small, "sampled")  # little is compiled after this
    for number in map(int, given.structures.split(",")):
        found = scored(given.setting, number, given.seed, given.times)
        with given.out.open("a", encoding="utf-8", newline="") as file:
            csv.DictWriter(file, FIELDS).writerow(found)


if __name__ == "__main__":
    main()
