"""The default starts of `fit_mixture` beside 20 draws a number of components: TMCH98's digits and vehicles.

`python -m benchmarks.starts --keep starts.jsonl [--digits 0,8] [--vehicles bus] [--ways default,one,twenty]`
adds runs and writes a page; `benchmarks/starts.md` says what came of it. Digits are learned as in the paper
(1 100 images of 64 pixels, noise, its prior, greedy search, all graphs alike) or, with ``--plain``, as the
library does by default; vehicles (all rows) always so. "before" times the library of a commit that knew one
draw alone: `git archive d208fd2^ src | tar x -C old`, then `PYTHONPATH=old/src:. … --ways before`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import lacunary as lac

__all__ = ["main"]

HOME = Path(__file__).parent
DATA = HOME.parent / "src" / "lacunary" / "papers" / "tmch98" / "data"
IMAGES, SIDE = 1100, 8

Run = dict[str, Any]


def digit(which: int) -> lac.Table:
    """Return the images of a digit that the paper's runs learn from."""
    with np.load(DATA / "digits.npz", allow_pickle=False) as kept:
        values = kept["pixels"][which, :IMAGES].astype(np.float64)
    return table(values, [f"p{row}{column}" for row in range(SIDE) for column in range(SIDE)])


def vehicle(which: str) -> lac.Table:
    """Return all rows of a kind of vehicle."""
    lines = [line.split(",") for line in (DATA / "vehicle.csv").read_text().splitlines()]
    values = [[float(cell) for cell in line[:-1]] for line in lines[1:] if line[-1] == which]
    return table(np.array(values), lines[0][:-1])


def table(values: np.ndarray[Any, Any], names: list[str]) -> lac.Table:
    """Return continuous columns as a table."""
    return lac.read({name: values[:, i] for i, name in enumerate(names)}, kinds="continuous")


def options(paper: bool, way: str) -> dict[str, Any]:
    """Return how a mixture is learned."""
    out: dict[str, Any] = {}
    if paper:
        prior = lac.NormalWishart(nu=2.0, means=64.0, covariance=0.5)
        out = {"method": "greedy", "noise": (0.0, 255.0), "prior": prior}
    if way != "before":
        out |= {"structure_prior": None} if paper else {}
        out |= {} if way == "default" else {"starts": lac.Around(20 if way == "twenty" else 1)}
    return out


def seed_for(name: str, paper: bool, way: str) -> int:
    """Return the seed: with the paper's options that of its first run."""
    if not paper or way == "before":
        return 0
    from lacunary.papers import seed_of

    return seed_of("tmch98", "digit", int(name.split()[1]), 0)


def learned(rows: lac.Table, name: str, paper: bool, way: str) -> Run:
    """Return what a mixture comes to, and what the processor took."""
    began = process_time()
    found = lac.fit_mixture(rows, rng=seed_for(name, paper, way), **options(paper, way))
    took = process_time() - began
    prior = 0.0 if way == "before" else found.log_structure_prior
    return {
        "components": len(found.mixture.components), "estimate": found.estimate.value,
        "value": found.estimate.value + prior, "seconds": took,
    }  # fmt: skip


def runs(told: argparse.Namespace) -> Iterator[Run]:
    """Go over what is asked for and not kept yet."""
    known = [tuple(run["of"]) for run in read(told.keep)]
    digits = [] if not told.digits else [int(each) for each in told.digits.split(",")]
    wanted = [(f"digit {each}", not told.plain, digit(each)) for each in digits]
    wanted += [(each, False, vehicle(each)) for each in told.vehicles.split(",") if each]
    warm = np.random.default_rng(0).normal(size=(60, 4))
    lac.fit_mixture(table(warm, list("abcd")), components=2)  # kernels are compiled or loaded
    for name, paper, rows in wanted:
        for way in told.ways.split(","):
            of = (name, "paper" if paper else "default", way)
            if of not in known:
                yield {"of": of, **learned(rows, name, paper, way)}


def read(kept: Path) -> list[Run]:
    """Return the runs that are kept."""
    return [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []


def page(kept: list[Run]) -> str:
    """Return the page of all runs; of several that are alike the mean time."""
    lines = [
        "# Starts of mixtures",
        "",
        "`python -m benchmarks.starts --keep starts.jsonl` adds runs and writes this page. Estimate and log",
        "prior of the graphs together, which is what is maximised, in nats, and Cheeseman-Stutz alone in",
        "brackets where it differs; components; seconds of the processor. *Before* is one draw a number of",
        "components by the library of the commit before it had other starts.",
        "",
        "| rows | learned as | default | best of 20 draws a number | ahead | before | default / before |",
        "|---|---|---|---|--:|---|--:|",
    ]
    for name, how in dict.fromkeys((run["of"][0], run["of"][1]) for run in kept):
        ways = {run["of"][2]: run for run in kept if run["of"][:2] == [name, how]}
        told = [_cell(ways.get(way)) for way in ("default", "twenty", "before")]
        ours, draws, old = (ways.get(way) for way in ("default", "twenty", "before"))
        ahead = f"{ours['value'] - draws['value']:+.1f}" if ours and draws else ""
        ratio = f"{ours['seconds'] / old['seconds']:.1f}" if ours and old else ""
        lines.append(f"| {name} | {how} | {told[0]} | {told[1]} | {ahead} | {told[2]} | {ratio} |")
    return "\n".join(lines) + "\n"


def _cell(run: Run | None) -> str:
    if run is None:
        return ""
    alone = "" if run["estimate"] == run["value"] else f" ({run['estimate']:.1f})"
    return f"{run['value']:.1f}{alone}; {run['components']}; {run['seconds']:.1f} s"


def main() -> None:
    """Run what is asked for, and write the page of all that is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--digits", default="")
    parser.add_argument("--vehicles", default="")
    parser.add_argument("--ways", default="default,one,twenty")
    parser.add_argument("--plain", action="store_true")
    parser.add_argument("--keep", type=Path, default=Path("starts.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("starts.md"))
    told = parser.parse_args()
    for run in runs(told):
        print(json.dumps(run), flush=True)
        with told.keep.open("a") as file:
            file.write(json.dumps(run) + "\n")
    told.out.write_text(page(read(told.keep)))


if __name__ == "__main__":
    main()
