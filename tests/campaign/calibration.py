"""Simulation-based calibration: where truths are drawn from the prior, posteriors are as sure as right.

Each piece draws a truth and a table from it, and asks what is believed; `judge` looks at all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np
from scipy.stats import binom, chisquare

import lacunary as lac
from tests import naive_structure
from tests.campaign.run import Campaign, Found

DRAWS = 39
"""Draws among which the truth has one of forty ranks."""

SURE = 1e-4
"""Chance with which a judgement may be wrong where all is right; there are about ten of them."""


def work(rng: np.random.Generator, index: int) -> Found:
    """Do one replicate of one kind; each piece has the next kind's turn."""
    kind = (_parameters, _mixed, _graphs, _filled, _estimates)[index % 5]
    values = kind(rng)
    return Found(sum(map(len, values.values())), values)


def _ranks(truth: Any, draws: Any) -> list[float]:
    return [float(np.sum(draws < truth))]


def _parameters(rng: np.random.Generator) -> dict[str, list[float]]:
    """The rank of a true probability among posterior draws, with a third of the cells missing."""
    dag = lac.dag("a -> b -> c", states={"a": 2, "b": 3, "c": 2})
    truth = lac.random_network(dag, lac.Dirichlet(1.0), rng=rng)
    table = lac.make_holes(truth.sample(int(rng.integers(10, 40)), rng), 0.3, rng=rng)
    prior = lac.Dirichlet(1.0)
    found = lac.posterior_mean(dag, table, prior=prior, draws=DRAWS, burn=100, chains=1, thin=8, rng=rng)
    place = int(rng.integers(dag.layout.size))
    drawn = found.draws.reshape(-1, dag.layout.size)[:, place]
    return {"rank of a probability": _ranks(truth.theta[place], drawn)}


def _mixed(rng: np.random.Generator) -> dict[str, list[float]]:
    """The same of a regression's intercept given a class, under a prior in the data's units."""
    dag = lac.dag("g -> x -> y", states={"g": 2}, kinds={"x": "continuous", "y": "continuous"})
    prior = lac.NormalWishart(1.0, 0.0, np.eye(2), 4.0, lac.Dirichlet(1.0))
    truth = lac.Network(dag, prior(dag).draw(rng))
    table = lac.make_holes(truth.sample(int(rng.integers(15, 40)), rng), 0.2, rng=rng)
    found = lac.posterior_mean(dag, table, prior=prior, draws=DRAWS, burn=100, chains=1, thin=8, rng=rng)
    place = dag.layout.start[dag.schema.index("y")]
    drawn = found.draws.reshape(-1, dag.layout.size)
    return {
        "rank of an intercept": _ranks(truth.theta[place], drawn[:, place]),
        "rank of a variance": _ranks(truth.theta[-1], drawn[:, -1]),
    }


GRAPHS = list(naive_structure.all_dags(3))


def _graphs(rng: np.random.Generator) -> dict[str, list[float]]:
    """How probable an arc was called, and whether it is there: graphs and tables drawn from their priors."""
    schema = lac.dag("a; b; c", states=2).schema
    parents = GRAPHS[int(rng.integers(len(GRAPHS)))]
    dag = lac.Dag.from_parents(schema, {"abc"[i]: ["abc"[p] for p in ps] for i, ps in enumerate(parents)})
    prior = lac.BDeu(4.0)
    table = lac.random_network(dag, prior, rng=rng).sample(30, rng)
    found = lac.arc_probabilities(table, prior=prior, structure_prior="uniform", rng=rng)
    tail, head = rng.choice(3, 2, replace=False)
    return {"arc": [found.arcs[tail, head]], "arc is there": [float(tail in parents[head])]}


def _filled(rng: np.random.Generator) -> dict[str, list[float]]:
    """Whether the 95 % interval of a mean, pooled by Rubin's rules over ten filled tables, holds it."""
    rows, copies = 60, 10
    x = rng.normal(size=rows)
    y = 1.0 + 0.8 * x + 0.6 * rng.normal(size=rows)
    y[rng.random(rows) < 1.0 / (1.0 + np.exp(0.5 - x))] = np.nan  # missing at random given x
    if np.isnan(y).sum() in (0, rows):
        return {}
    filled = lac.impute({"x": x, "y": y}, how="draw", copies=copies, rng=rng)
    means, own = zip(
        *((z.mean(), z.var(ddof=1) / rows) for z in filled.reals[:, 1].reshape(copies, rows)), strict=True
    )
    between = float(np.var(means, ddof=1))
    total = float(np.mean(own)) + (1 + 1 / copies) * between
    share = (1 + 1 / copies) * between / total
    dof = min((copies - 1) / max(share, 1e-9) ** 2, (rows - 1) * (rows / (rows + 2)) * (1 - share))
    from scipy.stats import t

    return {"interval holds": [float(abs(np.mean(means) - 1.0) <= t.ppf(0.975, dof) * sqrt(total))]}


def _estimates(rng: np.random.Generator) -> dict[str, list[float]]:
    """How many of its standard errors a Monte Carlo estimate is from the sum over all completions."""
    dag = lac.dag("h -> a; h -> b", states=2, hidden=["h"])
    table = lac.random_network(dag, lac.Dirichlet(1.0), rng=rng).sample(12, rng)
    rows = lac.Table(dag.schema, np.where([v.hidden for v in dag.schema], -1, table.codes).astype(np.int8))
    exact = lac.score(dag, rows, "exact", prior=lac.Dirichlet(1.0)).value
    found = lac.score(dag, rows, "ais", prior=lac.Dirichlet(1.0), rng=rng)
    return {"errors of AIS": [(found.value - exact) / max(float(found.stderr or 0.0), 1e-9)]}


def judge(values: Mapping[str, Sequence[float]]) -> tuple[list[str], list[str]]:
    """Tell what is too far from what chance allows, and the figures."""
    wrong, said = [], []
    for name, seen in values.items():
        if name.startswith("rank") and len(seen) >= 40:
            bins = np.bincount(np.asarray(seen, dtype=int) * 8 // (DRAWS + 1), minlength=8)
            p = float(chisquare(bins).pvalue)
            said.append(f"{name}: {len(seen)} replicates in eight equal bins {bins.tolist()}, p = {p:.3f}")
            wrong += [f"{name} is not uniform: p = {p:.2g}"] if p < SURE else []
    arcs, there = np.asarray(values.get("arc", ())), np.asarray(values.get("arc is there", ()))
    if len(arcs):
        z = float((there - arcs).sum() / sqrt((arcs * (1 - arcs)).sum()))
        said.append(
            f"arcs: {there.sum():.0f} of {len(arcs)} are there, {arcs.sum():.1f} were expected, z = {z:.2f}"
        )
        wrong += [f"arcs are not as probable as they are called: z = {z:.2f}"] if abs(z) > 4 else []
    held = values.get("interval holds", ())
    if len(held):
        many = int(sum(held))
        said.append(
            f"intervals of a filled mean: {many / len(held):.1%} of {len(held)} hold it (95 % are promised)"
        )
        # Intervals with few degrees of freedom are a little off; one that misses a tenth is wrong.
        wrong += ["intervals hold the mean too seldom"] if binom.cdf(many, len(held), 0.90) < SURE else []
    errors = np.abs(values.get("errors of AIS", ()))
    if len(errors):
        said.append(
            f"AIS: {np.mean(errors > 2):.1%} of {len(errors)} estimates are more than two standard errors off"
        )
        # Errors of the logarithm of a mean have heavier tails than a normal distribution's 4.6 %.
        wrong += (
            ["AIS is surer than right"]
            if binom.sf(int((errors > 2).sum()) - 1, len(errors), 0.10) < SURE
            else []
        )
    return wrong, said


CAMPAIGN = Campaign(
    "calibration",
    "Truths drawn from the prior, tables from them with missing cells: ranks of true parameters among "
    "posterior draws (discrete and mixed), how probable arcs are called, intervals from filled tables, and "
    "errors of Monte Carlo estimates.",
    (200, 5000),
    work,
    judge,
)
