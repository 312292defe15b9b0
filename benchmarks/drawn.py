"""How far the errors can be trusted of what Gibbs chains draw where no tree fits: against exact values.

    python -m benchmarks.drawn [--problems N] [--first SEED] [--out FILE]

writes ``benchmarks/drawn.md``. Problems are small enough for exact inference, and every island is left to
chains all the same: how many exact values lie within the two-sided 90 % interval of a normal distribution
around what was drawn, ± 1.645 stated errors. That is counted in two ways, over all values of all problems,
and as the mean over problems of the share within each. Four kinds take turns: mixed networks, discrete ones
with zeros in their tables, networks with counts (Poisson), and wider discrete ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import lacunary as lac
from lacunary.infer.chains import Effort
from lacunary.infer.rows import prepare
from lacunary.infer.sampled import prepare_sampled

KINDS = ("mixed", "zeros", "counts", "wide")
QUANTILE = 1.6448536269514722
"""The normal distribution's 95 % quantile."""

SMALL = 1e-9
"""What is off by less, with no error, is exact: rounding is all there is."""

Array = np.ndarray


@dataclass
class Kept:
    """What was off, and by which stated error, of one sort of numbers; problem by problem."""

    off: list[Array] = field(default_factory=list)
    error: list[Array] = field(default_factory=list)

    def add(self, found: Array, known: Array, error: Array) -> None:
        """Keep what chance had a part in."""
        off = np.ravel(found - known)
        drawn = (np.ravel(error) > SMALL) | (np.abs(off) > SMALL)
        if drawn.any():
            self.off.append(off[drawn])
            self.error.append(np.ravel(error)[drawn])

    def cells(self) -> list[str]:
        """Return a line of the page."""
        within = [abs(off) <= QUANTILE * error for off, error in zip(self.off, self.error, strict=True)]
        off, error = np.concatenate(self.off), np.concatenate(self.error)
        z = np.abs(off) / np.maximum(error, 1e-300)
        told = [len(within), len(off), f"{np.mean(np.concatenate(within)):.1%}"]
        told += [f"{np.mean([each.mean() for each in within]):.1%}", f"{np.mean(z > 4):.2%}"]
        told += [f"{np.median(error):.2g}", f"{np.sqrt(np.mean((off / np.maximum(error, SMALL)) ** 2)):.2f}"]
        return [str(one) for one in told]


def problem(seed: int) -> tuple[lac.Network, lac.Table]:
    """Return a random network of the seed's kind, and rows drawn from it with holes at random."""
    random, kind = np.random.default_rng(seed), KINDS[seed % len(KINDS)]
    wide = kind == "wide"
    discrete = int(random.integers(24, 34) if wide else random.integers(5, 9))
    real = int(random.integers(1, 5)) if kind in ("mixed", "counts") else 0
    names = [f"d{i}" for i in range(discrete)] + [f"x{i}" for i in range(real)]
    states = {f"d{i}": int(random.integers(2, 4)) for i in range(discrete)}
    arrows: list[str] = []
    for i, name in enumerate(names):
        among = names[: min(i, discrete)] if kind == "counts" else names[:i]
        near = among[-8:] if wide else among  # else no tree fits, and nothing exact is known
        parents: Any = (
            random.choice(near, min(len(near), int(random.integers(4))), replace=False) if near else []
        )
        arrows.append(f"{' '.join(sorted(parents))} -> {name}" if len(parents) else name)
    kinds: dict[str, Any] = {f"x{i}": "continuous" for i in range(real)}
    families = dict.fromkeys(kinds, "poisson") if kind == "counts" else {}
    dag = lac.dag("; ".join(arrows), kinds=kinds, states=states, family=families)
    network = lac.random_network(dag, rng=seed)
    if kind == "zeros":
        network = _with_zeros(network, random)
    table = network.sample(4 if wide else int(random.integers(10, 41)), rng=seed)
    return network, lac.make_holes(table, 0.6 if wide else random.uniform(0.2, 0.6), rng=seed)


def _with_zeros(network: lac.Network, random: np.random.Generator) -> lac.Network:
    """Return the network with a third of all probabilities zero, the greatest of each never."""
    layout, theta = network.dag.layout, np.array(network.theta)
    for i in range(len(network.dag.schema)):
        table = theta[layout.slice(i)].reshape(layout.states[i], -1)
        table[(random.random(table.shape) < 1 / 3) & (table < table.max(axis=0))] = 0.0
    return lac.Network(network.dag, np.asarray(layout.normalize(theta)))


def measure(seed: int, kept: dict[str, Kept]) -> float:
    """Add one problem to what is kept; return how long its E-step took the processor."""
    network, table = problem(seed)
    dag, theta = network.dag, network.theta
    exact, drawn = prepare(dag, table), prepare_sampled(dag, table, "", Effort(ways=1, seed=seed))
    if not drawn.sampled:
        return 0.0
    known = exact.expect(theta[None])[0]
    began = process_time()
    found = drawn.expect(theta[None])[0]
    seconds = process_time() - began
    assert found.error is not None
    assert found.log_error is not None
    cut, part = dag.layout.tables, f"statistics of {'counts' if dag.leaves else 'regressions'}"
    kept["expected counts"].add(found.counts[:cut], known.counts[:cut], found.error[:cut])
    kept[part].add(found.counts[cut:], known.counts[cut:], found.error[cut:])
    kept["log-likelihoods of tables"].add(
        np.array([found.log_likelihood]), np.array([known.log_likelihood]), np.array([found.log_error])
    )
    logs, errors = drawn.evidence(theta)
    kept["log-probabilities of rows"].add(logs, exact.log_evidence(theta[None])[0], errors)
    first = [v for v, size in enumerate(dag.schema.sizes) if size]
    sets = [(v,) for v in first] + list(pairwise(first))
    told = zip(sets, exact.marginals(theta, sets), drawn.posteriors(theta, sets), strict=True)
    for each, posterior, (estimate, error) in told:
        sort = "posteriors of a variable" if len(each) == 1 else "posteriors of two variables"
        kept[sort].add(estimate[drawn.inverse], posterior, error[drawn.inverse])
    return seconds


HEAD = (
    "| what | problems | values | within 90 % | mean over problems | beyond 4 errors | median error | rms z |"
)


def page(kept: dict[str, dict[str, Kept]], first: int, last: int, seconds: float) -> Iterator[str]:
    """Yield the page's lines."""
    yield "# Errors of what is drawn because no tree fits\n"
    yield f"`python -m benchmarks.drawn`, seeds {first} to {last - 1}: random problems with exact values, on"
    yield "which every island of holes is left to Gibbs chains. How many lie within ± 1.645 stated errors,"
    yield "over all values and as the mean over problems; how many are beyond four errors; and the root mean"
    yield "square of z = (drawn - exact) / error, one if errors were neither too large nor too small. E-steps"
    yield f"took {seconds:.2g} seconds of the processor in all."
    for kind, sorts in kept.items():
        yield f"\n## {kind}\n"
        yield HEAD
        yield f"|---|{'--:|' * 7}"
        for name, sort in sorts.items():
            if sort.off:
                yield f"| {' | '.join([name, *sort.cells()])} |"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first", type=int, default=10_000, help="the first problem's seed")
    parser.add_argument("--out", default=str(Path(__file__).parent / "drawn.md"))
    chosen = parser.parse_args()
    names: tuple[str, ...] = ("expected counts", "statistics of regressions", "statistics of counts")
    names += ("log-likelihoods of tables", "log-probabilities of rows")
    names += ("posteriors of a variable", "posteriors of two variables")
    kept = {kind: {name: Kept() for name in names} for kind in ("all", *KINDS)}
    seconds, last = 0.0, chosen.first + chosen.problems
    for seed in range(chosen.first, last):
        mine = {name: Kept() for name in names}
        seconds += measure(seed, mine)
        for name, one in mine.items():
            for into in (kept["all"][name], kept[KINDS[seed % len(KINDS)]][name]) if one.off else ():
                into.off.append(np.concatenate(one.off))
                into.error.append(np.concatenate(one.error))
    Path(chosen.out).write_text("\n".join([*page(kept, chosen.first, last, seconds), ""]))


if __name__ == "__main__":
    main()
