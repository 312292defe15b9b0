"""Small tables of both kinds, in units that are not those of standardised columns."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lacunary.data.schema import Kind
from lacunary.data.table import HOLE, Table
from lacunary.evidence.problem import Problem
from lacunary.infer.belief import Dirichlet, Prior
from lacunary.infer.network import random_network
from lacunary.infer.prior import NormalWishart
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.model.make import dag

KINDS: dict[str, Kind] = dict.fromkeys(("X", "Y", "Z", "F", "G"), "continuous")


def mixed(arrows: str, hidden: str = "", states: int = 2) -> Dag:
    """Return a graph in which X, Y, Z, F and G are continuous, all others discrete."""
    names = set(arrows.replace("->", " ").replace(";", " ").split())
    kinds = {name: kind for name, kind in KINDS.items() if name in names}
    discrete = dict.fromkeys(sorted(names - set(KINDS)), states)
    return dag(arrows, kinds=kinds, states=discrete, hidden=hidden.split())


def drawn(graph: Dag, rows: int, seed: int = 0) -> Table:
    """Return complete rows of a random network, moved to means of about 40 and deviations of about 3."""
    table = random_network(graph, rng=seed).sample(rows, rng=seed)
    return Table(graph.schema, table.codes, 40.0 + 3.0 * table.reals, table.weights)


def pierced(table: Table, discrete: float, continuous: float, seed: int = 0) -> Table:
    """Return the table with holes in such shares of its cells; hidden columns are all holes."""
    rng, hidden = np.random.default_rng(seed), [v.hidden for v in table.schema]
    one, other = rng.random(table.codes.shape) < discrete, rng.random(table.codes.shape) < continuous
    one[:, hidden] = other[:, hidden] = True
    one[0] = other[0] = hidden
    return replace(table, codes=np.where(one, HOLE, table.codes), reals=np.where(other, np.nan, table.reals))


def posed(
    arrows: str,
    rows: int = 12,
    *,
    hidden: str = "",
    discrete: float = 0.0,
    continuous: float = 0.0,
    seed: int = 0,
    prior: Prior | None = None,
) -> Problem:
    """Return such a problem; climbs are short, as what holds at any point needs no peak."""
    graph = mixed(arrows, hidden)
    table = pierced(drawn(graph, rows, seed), discrete, continuous, seed)
    known = prior if isinstance(prior, NormalWishart) else NormalWishart(tables=prior or Dirichlet(1.0))
    return Problem(graph, table, known, starts=2, stop=Stop(iterations=40), rng=seed)
