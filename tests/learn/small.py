"""Small problems of known shape, for the solvers that choose among parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lacunary.data.table import HOLE, Table
from lacunary.infer.belief import Belief, Prior, bdeu
from lacunary.infer.network import Network, random_network
from lacunary.infer.rows import Rows, prepare
from lacunary.learn.fit import Fit, fit
from lacunary.model.dag import Dag
from lacunary.model.make import dag as make_dag
from tests.strategies import sample_codes

AND = np.array([[[1.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]])
"""p(T | E, U): T is true if and only if both are."""


@dataclass(frozen=True)
class Small:
    """A graph, rows, a prior and the tables that are known."""

    dag: Dag
    table: Table
    prior: Prior = field(default_factory=lambda: bdeu(1.0))
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def belief(self) -> Belief:
        return self.prior(self.dag)

    @property
    def prepared(self) -> Rows:
        return prepare(self.dag, self.table)

    def fit(self, **options: Any) -> Fit:
        return fit(self.dag, self.table, prior=self.prior, fixed=self.fixed, **options)


def bn1(rows: int, rng: int, *, both: bool = False) -> Small:
    """ENT's BN1: T = E and U, and U and E are observed if and only if T is true.

    The arcs into U and E are not in print: A → U and B → E are assumed; ``both`` gives each both parents.
    """
    sizes = {"A": 2, "B": 3, "U": 2, "E": 2, "T": 2}
    dag = make_dag("A -> U -> T <- E <- B" + ("; A -> E; B -> U" if both else ""), states=sizes)
    uniform = {"A": np.full(2, 1 / 2), "B": np.full(3, 1 / 3)}
    given = {**uniform, "T": AND}
    generator = np.random.default_rng(rng)
    drawn = random_network(dag, rng=generator)
    codes = sample_codes(Network.from_tables(dag, {**drawn.tables, **given}), rows, generator)
    t, u, e = (dag.schema.index(name) for name in "TUE")
    codes[np.ix_(codes[:, t] == 0, [u, e])] = HOLE
    return Small(dag, Table(dag.schema, codes), fixed=given)


def with_holes(dag: Dag, rows: int, share: float, rng: int, **options: Any) -> Small:
    """Rows of a random network with a share of all cells emptied, and all of the hidden variables'."""
    generator = np.random.default_rng(rng)
    codes = sample_codes(random_network(dag, rng=generator), rows, generator)
    hidden = np.array([variable.hidden for variable in dag.schema])
    codes = np.where(hidden | (generator.random(codes.shape) < share), HOLE, codes)
    return Small(dag, Table(dag.schema, codes), **options)
