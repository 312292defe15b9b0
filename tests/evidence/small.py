"""Small problems whose evidence can be had by enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lacunary.data.holes import hide, make_holes
from lacunary.data.table import Table
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.infer.network import random_network
from lacunary.infer.walker import Walker
from lacunary.model.make import dag, random_dag


def holey(seed: int, rows: int = 6, rng: int | np.random.Generator = 0) -> Problem:
    """Return a random graph of four variables and rows drawn from it, with a quarter of the cells empty.

    The first row stays whole, so that no column is all holes.
    """
    generator = np.random.default_rng(seed)
    graph = random_dag(4, 0.5, 2, states=(2, 3), rng=generator)
    priors: list[Prior] = [Dirichlet(1.0), Dirichlet(0.5), BDeu(2.0)]
    prior = priors[seed % 3]
    table = random_network(graph, prior, rng=generator).sample(rows, rng=generator)
    codes = make_holes(table, 0.25, rng=generator).codes.copy()
    codes[0] = table.codes[0]
    return Problem(graph, replace(table, codes=codes), prior, rng=rng)


def classes(
    seed: int, rows: int = 12, states: int = 2, children: int = 3, rng: int | np.random.Generator = 0
) -> Problem:
    """Return rows of a hidden class with binary children."""
    names = " ".join("ABCDEFG"[:children])
    graph = dag(f"H -> {names}", states=2, hidden={"H": states})
    table = random_network(graph, rng=seed).sample(rows, rng=seed)
    return Problem(graph, hide(table, ["H"]).align(graph.schema), Dirichlet(1.0), rng=rng)


def complete(seed: int = 0) -> Problem:
    """Return a problem without holes."""
    graph = random_dag(5, 0.5, 2, rng=seed)
    return Problem(graph, random_network(graph, rng=seed).sample(50, rng=seed), BDeu(1.0))


def walker(problem: Problem) -> Walker:
    """The chains of a problem of tables."""
    return problem.prepared.walker("a test", problem.belief.alpha)


def table_of(problem: Problem) -> Table:
    """The rows of a problem."""
    return problem.table.whole("a test")
