"""Small tables without holes, and scores on them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

import lacunary as lac
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import Table
from lacunary.structure.constraints import Constraints
from tests.strategies import schemas, seeds, tables


@st.composite
def complete(draw: st.DrawFn, min_variables: int = 1, max_variables: int = 4, max_rows: int = 40) -> Table:
    """A table without holes, of dependent columns, with any weights."""
    schema = draw(schemas(min_variables, max_variables, 1, 3))
    table = draw(tables(schema, max_rows=max_rows, hole_shares=(0.0,)))
    rng = np.random.default_rng(draw(seeds))
    codes = np.array(table.codes)
    for column in range(1, codes.shape[1]):  # each mostly follows the one before
        follows = rng.random(len(codes)) < 0.6
        codes[follows, column] = codes[follows, column - 1] % schema.sizes[column]
    return Table(schema, codes, weights=np.array(table.weights))


@st.composite
def rules(draw: st.DrawFn, schema: Schema) -> Constraints:
    """Arcs forbidden and required at random, along some order, and a limit on parents."""
    n = len(schema)
    order = draw(st.permutations(schema.names))
    pairs = [(a, b) for a in order for b in order if a != b]
    forward = [(a, b) for i, a in enumerate(order) for b in order[i + 1 :]]
    required = draw(st.lists(st.sampled_from(forward), max_size=2, unique=True)) if forward else []
    free = [pair for pair in pairs if pair not in required]
    forbidden = draw(st.lists(st.sampled_from(free), max_size=4, unique=True)) if free else []
    most = draw(st.sampled_from([None, *range(2, n + 1)]))
    return Constraints.of(schema, required=required, forbidden=forbidden, max_parents=most)


def chain(n: int, rows: int, seed: int = 0, states: int = 2) -> Table:
    """Rows of a chain of variables, with some arcs across: enough structure for searches to differ."""
    schema = Schema(tuple(Variable(f"V{i}", tuple(range(states))) for i in range(n)))
    arcs = [(i, i + 1) for i in range(n - 1)] + [(i, i + 3) for i in range(0, n - 3, 2)]
    dag = lac.Dag.from_arcs(schema, [(f"V{a}", f"V{b}") for a, b in arcs])
    return lac.random_network(dag, prior=lac.Dirichlet(0.5), rng=seed).sample(rows, rng=seed)
