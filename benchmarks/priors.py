"""Which prior over graphs, and which prior of regressions: simulations that choose and check the defaults.

`python -m benchmarks.priors` runs all parts and writes benchmarks/priors.md; `--part graphs` runs one of
them, `--first 100` takes other seeds. What a part found is kept in benchmarks/data/priors.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import lacunary as lac
from benchmarks.populations import Population, classes, discrete, gaussian, gaussian_test, mixed
from benchmarks.priors_page import page

HERE = Path(__file__).parent
KEPT = HERE / "data" / "priors.json"
HELD_OUT = 1000

GRAPH_PRIORS: dict[str, Any] = {"uniform": None, "links": "links", "beta-binomial": "beta-binomial"}
OLD = {"BIC": None, "nu = 1": 1.0, "nu = 0.1": 0.1, "nu = 0.01": 0.01}

Result = tuple[float, float, float]
"""False links, missing links, and the log-density of a held-out row."""


def judged(population: Population, table: lac.Table, fresh: lac.Table, **how: Any) -> Result:
    """Return how well a search does on a table."""
    method = "greedy" if len(table.schema) > 15 and not table.holes.any() else None
    found = lac.search(table, method=method, **how)
    links = {frozenset(arc) for arc in found.dag.arcs}
    held = found.network.log_likelihood(fresh) / len(fresh)
    return len(links - population.links), len(population.links - links), float(held)


def simulated(
    make: Callable[[np.random.Generator], Population],
    rows: int,
    holes: float,
    hows: Mapping[str, dict[str, Any]],
    seeds: range,
) -> dict[str, np.ndarray[Any, Any]]:
    """Return what every way of searching gives on the same tables; (seeds, 3) each."""
    out: dict[str, list[Result]] = {name: [] for name in hows}
    for seed in seeds:
        rng = np.random.default_rng([seed, rows, int(100 * holes)])
        population = make(rng)
        table, fresh = population.draw(rows, rng), population.draw(HELD_OUT, rng)
        if holes:
            table = lac.make_holes(table, holes, rng=seed)
        for name, how in hows.items():
            out[name].append(judged(population, table, fresh, **how))
    return {name: np.array(results) for name, results in out.items()}


SETTINGS = [
    *((n, density, rows, 0.0) for n, density in ((4, 0.7), (8, 0.5)) for rows in (50, 300, 2000)),
    *((n, 2.0 / n, rows, 0.0) for n in (8, 15, 30) for rows in (50, 300, 2000)),
    *((n, d, rows, 0.0) for n, d, rows in ((8, 0.25, 5000), (30, 0.2, 300), (60, 2.0 / 60, 300))),
    *((n, d, rows, 0.25) for n, d in ((4, 0.7), (8, 0.25)) for rows in (50, 300)),
]
"""Variables, density of links, rows, share of holes."""


def graphs(first: int) -> Iterator[dict[str, Any]]:
    """Compare priors over graphs: sparse and dense, discrete and Gaussian, with and without holes."""
    hows = {name: {"structure_prior": prior} for name, prior in GRAPH_PRIORS.items()}
    kinds = (("Gaussian", gaussian), ("discrete", discrete))
    for (n, density, rows, holes), (kind, make) in product(SETTINGS, kinds):
        seeds = 10 if n <= 8 else 6 if n <= 15 else 4

        def population(
            rng: np.random.Generator, make: Any = make, n: int = n, density: float = density
        ) -> Population:
            made: Population = make(n, density, rng)
            return made

        found = simulated(population, rows, holes, hows, range(first, first + seeds))
        yield {
            "kind": kind, "variables": n, "density": round(density, 2), "rows": rows, "holes": holes,
            "seeds": seeds, "found": _against(found, "uniform"),
        }  # fmt: skip


def _against(found: Mapping[str, Any], base: str) -> dict[str, list[float]]:
    """Return means of false and missing links, and held-out density less the base's with its error."""
    out = {}
    for name, results in found.items():
        gap = results[:, 2] - found[base][:, 2]
        worse = results[:, :2].sum(axis=1) - found[base][:, :2].sum(axis=1)
        out[name] = [
            *results[:, :2].mean(axis=0).tolist(), float(gap.mean()), _error(gap), float(worse.mean()),
            _error(worse),
        ]  # fmt: skip
    return out


def _error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


RIVALS = [
    *(("Gaussian", n, d, rows) for n, d in ((5, 0.3), (5, 0.7), (10, 0.2), (10, 0.5))
      for rows in (100, 500, 5000)),
    *(("mixed", n, d, rows) for n, d in ((5, 0.4), (8, 0.3)) for rows in (100, 500, 5000)),
]  # fmt: skip


def rivals(first: int) -> Iterator[dict[str, Any]]:
    """Compare the defaults with the best of BIC and unit priors of three weights, per setting."""
    hows: dict[str, dict[str, Any]] = {"default": {}}
    for name, nu in OLD.items():
        prior = None if nu is None else lac.NormalWishart(nu=nu, tables=lac.bdeu(1))
        score = {"score": "bic"} if nu is None else {"prior": prior}
        hows[name] = {**score, "structure_prior": None}
    for kind, n, density, rows in RIVALS:
        make = {"Gaussian": gaussian, "mixed": mixed}[kind]

        def population(
            rng: np.random.Generator, make: Any = make, n: int = n, density: float = density
        ) -> Population:
            made: Population = make(n, density, rng)
            return made

        found = simulated(population, rows, 0.0, hows, range(first, first + 20))
        yield {
            "kind": kind, "variables": n, "density": density, "rows": rows, "seeds": 20, **_gaps(found)
        }  # fmt: skip


def _gaps(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the default's gap to the best rival in links and in held-out density, with errors."""
    out: dict[str, Any] = {}
    measures: dict[str, Callable[[Any], Any]] = {
        "links": lambda r: -r[:, :2].sum(axis=1),
        "held-out": lambda r: r[:, 2],
    }
    for measure, value in measures.items():
        best = max(OLD, key=lambda name: float(value(found[name]).mean()))
        gap = value(found["default"]) - value(found[best])
        out[measure] = [best, float(value(found[best]).mean()), float(gap.mean()), _error(gap)]
    return out


def recovered(first: int) -> Iterator[dict[str, Any]]:
    """Count how often the class of the true graph is found on rows like those of bnlearn's gaussian.test."""
    population = gaussian_test()
    for rows in (200, 500, 1000, 5000):
        hits = dict.fromkeys(("default", "nu = 1, uniform"), 0)
        for seed in range(first, first + 50):
            table = population.draw(rows, np.random.default_rng([seed, rows]))
            old = {"prior": lac.NormalWishart(nu=1), "structure_prior": None}
            hows: dict[str, dict[str, Any]] = {"default": {}, "nu = 1, uniform": old}
            for name, how in hows.items():
                found = lac.search(table, method="exact", **how).dag
                hits[name] += lac.structural_hamming_distance(population.dag, found) == 0
        yield {"rows": rows, "seeds": 50, **hits}


def deviations(first: int) -> Iterator[dict[str, Any]]:
    """Return the worst ratio of fitted to sample standard deviation in observed classes of 250 rows."""
    for apart in (2.0, 10.0, 50.0):
        for n in (2, 6, 15):
            ratios: dict[str, list[float]] = {"default": [], "nu = 1": []}
            for seed in range(first, first + 5):
                table = classes(n, apart, 250, np.random.default_rng([seed, n, int(apart)]))
                graph = "label -> " + " ".join(table.schema.names[1:])
                for name, prior in (("default", None), ("nu = 1", lac.NormalWishart(nu=1))):
                    ratios[name] += _ratios(table, lac.fit(graph, table, prior=prior).network)
            yield {
                "apart": apart, "variables": n, "seeds": 5,
                **{name: max(some, key=lambda r: abs(r - 1)) for name, some in ratios.items()},
            }  # fmt: skip


def _ratios(table: lac.Table, network: lac.Network) -> list[float]:
    out = []
    for i, name in enumerate(table.schema.names[1:], 1):
        fitted = np.sqrt(np.asarray(network.parameters_of(name).variance).ravel())
        for state, deviation in enumerate(fitted):
            sample = table.reals[table.codes[:, 0] == state, i].std()
            out.append(float(deviation / sample))
    return out


PARTS: dict[str, Callable[[int], Iterator[dict[str, Any]]]] = {
    "graphs": graphs,
    "rivals": rivals,
    "recovered": recovered,
    "deviations": deviations,
}


def main() -> None:
    """Run parts, keep what they found, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, action="append")
    parser.add_argument("--first", type=int, default=0)
    options = parser.parse_args()
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for part in options.part or PARTS:
        kept[part] = []
        for line in PARTS[part](options.first):
            kept[part].append(line)
            print(json.dumps(line, ensure_ascii=False), flush=True)
            KEPT.write_text(json.dumps(kept, ensure_ascii=False, indent=1), encoding="utf-8")
            (HERE / "priors.md").write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
