"""Hypothesis strategies: schemas, graphs, networks, and tables with holes that the networks allow.

Sizes, arcs and the texture of parameters and holes are drawn one by one, so that failures shrink to
small graphs and plain numbers; the numbers themselves come from a drawn seed, as there may be thousands.
"""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.infer.network import Network
from lacunary.model.dag import Dag

HOLE_SHARES = (0.0, 0.3, 0.7, 1.0)
TEXTURES = ("even", "random", "zeros", "tiny")

Case = tuple[Network, Table]
"""A network, and a table over its variables."""

seeds = st.integers(0, 2**32 - 1)


@st.composite
def schemas(
    draw: st.DrawFn,
    min_variables: int = 1,
    max_variables: int = 6,
    min_states: int = 1,
    max_states: int = 4,
    max_hidden: int = 0,
) -> Schema:
    """Discrete variables A, B, … with states 0, 1, …; up to ``max_hidden`` of them are hidden."""
    sizes = draw(
        st.lists(st.integers(min_states, max_states), min_size=min_variables, max_size=max_variables)
    )
    names = [chr(ord("A") + i) for i in range(len(sizes))]
    hidden = draw(st.sets(st.sampled_from(names), max_size=max_hidden)) if names else set()
    return Schema(
        tuple(
            Variable(name, tuple(range(k)), hidden=name in hidden)
            for name, k in zip(names, sizes, strict=True)
        )
    )


@st.composite
def dags(
    draw: st.DrawFn,
    min_variables: int = 1,
    max_variables: int = 6,
    min_states: int = 1,
    max_states: int = 4,
    max_hidden: int = 0,
    max_parents: int = 3,
) -> Dag:
    """Any graph over such a schema: arcs go along any order of the variables, parents stand in any order."""
    schema = draw(schemas(min_variables, max_variables, min_states, max_states, max_hidden))
    order = draw(st.permutations(schema.names))
    parents = {
        child: draw(st.lists(st.sampled_from(order[:place]), unique=True, max_size=max_parents))
        for place, child in enumerate(order)
        if place
    }
    return Dag.from_parents(schema, parents)


@st.composite
def networks(
    draw: st.DrawFn,
    min_variables: int = 1,
    max_variables: int = 6,
    min_states: int = 1,
    max_states: int = 4,
    max_hidden: int = 0,
    max_parents: int = 3,
    textures: tuple[str, ...] = TEXTURES,
) -> Network:
    """A graph with parameters that are all even, random, with exact zeros, or down to 1e-30."""
    dag = draw(dags(min_variables, max_variables, min_states, max_states, max_hidden, max_parents))
    texture, rng = draw(st.sampled_from(textures)), np.random.default_rng(draw(seeds))
    return Network(dag, dag.layout.normalize(_weights(texture, dag, rng)))


@st.composite
def tables(
    draw: st.DrawFn,
    schema: Schema,
    min_rows: int = 1,
    max_rows: int = 12,
    hole_shares: tuple[float, ...] = HOLE_SHARES,
    weighted: bool = True,
) -> Table:
    """Rows of any states, some alike, with holes; a network with zeros may find them impossible."""
    rows = draw(st.integers(min_rows, max_rows))
    rng = np.random.default_rng(draw(seeds))
    codes = rng.integers(0, np.array(schema.sizes), size=(rows, len(schema)))
    return _finish(draw, schema, codes, hole_shares, weighted, rng)


@st.composite
def sampled_tables(
    draw: st.DrawFn,
    network: Network,
    min_rows: int = 1,
    max_rows: int = 12,
    hole_shares: tuple[float, ...] = HOLE_SHARES,
    weighted: bool = True,
) -> Table:
    """Rows drawn from the network, some alike, then holes: every row has positive probability."""
    rows = draw(st.integers(min_rows, max_rows))
    rng = np.random.default_rng(draw(seeds))
    return _finish(draw, network.dag.schema, sample_codes(network, rows, rng), hole_shares, weighted, rng)


@st.composite
def cases(
    draw: st.DrawFn,
    min_variables: int = 1,
    max_variables: int = 6,
    min_states: int = 1,
    max_states: int = 4,
    max_hidden: int = 2,
    max_parents: int = 3,
    max_rows: int = 12,
    weighted: bool = True,
) -> Case:
    """A network and a table it could have produced: what most tests of inference and learning need."""
    network = draw(networks(min_variables, max_variables, min_states, max_states, max_hidden, max_parents))
    return network, draw(sampled_tables(network, max_rows=max_rows, weighted=weighted))


@st.composite
def loaded_cases(draw: st.DrawFn, max_core: int = 4, max_leaves: int = 40, max_rows: int = 6) -> Case:
    """A few variables with holes and many observed children: merging cliques then seldom pays."""
    core = draw(dags(1, max_core, min_states=2, max_parents=2))
    names = [f"L{i}" for i in range(draw(st.integers(0, max_leaves)))]
    schema = core.schema.extend(Variable(name, (0, 1)) for name in names)
    rng = np.random.default_rng(draw(seeds))
    parents = dict(zip(core.names, core.parents, strict=True))
    for name in names:
        count = min(int(rng.integers(1, 3)), len(core.names))
        parents[name] = tuple(core.names[i] for i in rng.permutation(len(core.names))[:count])
    dag = Dag.from_parents(schema, parents)
    network = Network(dag, dag.layout.normalize(_weights(draw(st.sampled_from(TEXTURES)), dag, rng)))
    codes = sample_codes(network, draw(st.integers(1, max_rows)), rng)
    holes = rng.random((len(codes), len(core.names))) < draw(st.sampled_from((0.3, 0.6, 1.0)))
    codes[:, : len(core.names)][holes] = HOLE
    return network, Table(schema, codes.astype(np.int16), weights=rng.uniform(0, 3, size=len(codes)))


@st.composite
def mixed_dags(
    draw: st.DrawFn, max_variables: int = 6, max_states: int = 3, max_hidden: int = 2, max_parents: int = 3
) -> Dag:
    """Any graph over discrete and continuous variables, some of them hidden; at least one is continuous."""
    names = [chr(ord("A") + i) for i in range(draw(st.integers(1, max_variables)))]
    sizes = {name: draw(st.integers(0, max_states)) for name in names}
    sizes[draw(st.sampled_from(names))] = 0
    hidden = draw(st.sets(st.sampled_from(names), max_size=max_hidden))
    schema = Schema(
        tuple(
            Variable(name, tuple(range(k)), "discrete" if k else "continuous", hidden=name in hidden)
            for name, k in sizes.items()
        )
    )
    parents, order = {}, draw(st.permutations(names))
    for place, child in enumerate(order):
        before = [name for name in order[:place] if sizes[name] or not sizes[child]]
        if before:
            parents[child] = draw(st.lists(st.sampled_from(before), unique=True, max_size=max_parents))
    return Dag.from_parents(schema, parents)


@st.composite
def mixed_networks(
    draw: st.DrawFn, max_variables: int = 6, max_states: int = 3, max_hidden: int = 2
) -> Network:
    """Such a graph with parameters; tables may hold zeros, and standard deviations go from 0.1 to 10."""
    dag = draw(mixed_dags(max_variables, max_states, max_hidden))
    texture, rng = draw(st.sampled_from(("even", "random", "zeros"))), np.random.default_rng(draw(seeds))
    plain, layout = dag.discrete, dag.layout
    theta = rng.normal(size=layout.size)
    theta[: layout.tables] = plain.layout.normalize(_weights(texture, plain, rng)) if plain.names else 0
    for i in layout.numeric:
        layout.records(theta, i)[:, -1] = 10.0 ** rng.uniform(-2, 2, layout.configurations[i])
    return Network(dag, theta)


@st.composite
def mixed_cases(
    draw: st.DrawFn, max_variables: int = 6, max_states: int = 3, max_hidden: int = 2, max_rows: int = 8
) -> Case:
    """A mixed network and a table it could have produced, with holes of both kinds."""
    network = draw(mixed_networks(max_variables, max_states, max_hidden))
    rng = np.random.default_rng(draw(seeds))
    table = network.sample(draw(st.integers(1, max_rows)), rng)
    holes = rng.random(table.codes.shape) < draw(st.sampled_from(HOLE_SHARES))
    holes[:, [v.hidden for v in network.dag.schema]] = True
    codes, reals = np.where(holes, HOLE, table.codes), np.where(holes, np.nan, table.reals)
    if draw(st.booleans()):
        twice = rng.integers(0, len(codes), size=len(codes))
        codes, reals = codes[twice], reals[twice]
    weights = rng.uniform(0, 3, size=len(codes)) if draw(st.booleans()) else np.ones(len(codes))
    return network, Table(network.dag.schema, codes.astype(np.int16), reals, weights)


def sample_codes(network: Network, rows: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return complete rows drawn forwards, parents before children; a state of probability zero never is."""
    dag = network.dag
    codes = np.zeros((rows, len(dag.schema)), dtype=np.int64)
    for i in dag.order_indices:
        table = network.table(dag.names[i])[tuple(codes[:, p] for p in dag.parent_indices[i])]
        cumulative = np.cumsum(np.broadcast_to(table, (rows, dag.schema.sizes[i])), axis=1)
        # Strictly below the last sum, so that the first state whose sum exceeds the draw has p > 0.
        point = rng.random(rows) * cumulative[:, -1]
        codes[:, i] = np.argmax(cumulative > point[:, None], axis=1)
    return codes


def _weights(texture: str, dag: Dag, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return unnormalised parameters; in every distribution at least one is positive."""
    size = dag.layout.size
    if texture == "even":
        return np.ones(size)
    weights = rng.gamma(1.0, size=size) + 1e-3
    if texture == "zeros":
        weights *= rng.random(size) < 0.6
        empty = dag.layout.total(weights)[dag.layout.group] == 0
        return np.where(empty, 1.0, weights)
    return weights * 10.0 ** -rng.uniform(0, 30, size) if texture == "tiny" else weights


def _finish(
    draw: st.DrawFn,
    schema: Schema,
    codes: NDArray[np.int64],
    hole_shares: tuple[float, ...],
    weighted: bool,
    rng: np.random.Generator,
) -> Table:
    """Repeat some rows, punch the holes, hide the hidden columns, weigh the rows."""
    rows = len(codes)
    if rows and draw(st.booleans()):
        codes = codes[rng.integers(0, rows, size=rows)]
    holes = rng.random(codes.shape) < draw(st.sampled_from(hole_shares))
    # A column without any observation, not declared hidden, now and then.
    empty = draw(st.sets(st.sampled_from(schema.names), max_size=1)) if max(hole_shares) else set()
    for column, variable in enumerate(schema):
        holes[:, column] |= variable.hidden or variable.name in empty
    kind = draw(st.sampled_from(("one", "whole", "fraction"))) if weighted else "one"
    weights = {
        "one": np.ones(rows),
        "whole": rng.integers(0, 4, size=rows).astype(np.float64),
        "fraction": rng.uniform(0, 3, size=rows),
    }[kind]
    return Table(schema, np.where(holes, HOLE, codes).astype(np.int16), weights=weights)
