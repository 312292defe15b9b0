"""Vectors over a network's layout in the native format: a list of numbers for each family."""

from __future__ import annotations

from math import prod

import numpy as np

from lacunary.errors import FileError
from lacunary.family.table import SUM_TOLERANCE
from lacunary.files.parsed import too_large
from lacunary.files.record import Record
from lacunary.infer.belief import Belief
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["decode_alpha", "decode_vector", "encode_alpha", "encode_vector", "probabilities"]


def encode_vector(dag: Dag, vector: Array) -> dict[str, list[float]]:
    """Return one number for each parameter as a list for each variable.

    A table goes over the parents in their order, the last moving fastest, and last over the variable's
    own states; other families over the discrete parents, and last over their parameters.
    Tied families have one list, under the name of the first of them.
    """
    layout = dag.layout
    lists = {i: layout.table(vector, i).reshape(-1).tolist() for i in (*layout.blocks, *layout.numeric)}
    return {dag.names[i]: lists[i] for i in sorted(lists)}


def decode_vector(dag: Dag, tables: Record) -> Array:
    """Return the vector that `encode_vector` wrote."""
    return _decoded(dag, tables, 0, dag.layout.size)


def encode_alpha(belief: Belief) -> dict[str, list[float]]:
    """Return hyperparameters: those of tables as in `encode_vector`, of regressions T row by row."""
    dag, layout = belief.dag, belief.dag.layout
    lists = {i: layout.table(belief.alpha, i).reshape(-1).tolist() for i in layout.blocks}
    for i, family in dag.numeric:
        # Checked here too: what cannot be read back must not be written.
        if not family.is_sound(belief.hyper(i)):
            raise FileError(f"the belief about {dag.names[i]} is not one: no rows have such moments")
        lists[i] = belief.hyper(i).reshape(-1).tolist()
    return {dag.names[i]: lists[i] for i in sorted(lists)}


def decode_alpha(dag: Dag, record: Record) -> Array:
    """Return the hyperparameters that `encode_alpha` wrote."""
    alpha = _decoded(dag, record, 1, dag.layout.statistics_size)
    for i, family in dag.numeric:
        if not family.is_sound(dag.layout.statistics(alpha, i)):
            raise record.error(dag.names[i], family.unsound)
    return alpha


def probabilities(dag: Dag, theta: Array, *, renormalize: bool = False) -> Array:
    """Return the vector as it is if every distribution sums to one, or scaled if that is wished."""
    layout = dag.layout
    tables, total = theta[: layout.tables], layout.total(theta)
    miss = np.abs(total - 1.0)
    if np.any(tables < 0) or (renormalize and np.any(total <= 0)):
        place = int(np.flatnonzero((tables < 0) | (total[layout.group] <= 0))[0])
        raise FileError(f"the table of {dag.names[layout.variable[place]]} holds what is not a probability")
    if np.any(miss > SUM_TOLERANCE):
        if renormalize:
            scaled = np.where((miss > SUM_TOLERANCE)[layout.group], tables / total[layout.group], tables)
            return np.concatenate([scaled, theta[layout.tables :]])
        worst = int(miss.argmax())
        name = dag.names[layout.variable[int(np.flatnonzero(layout.group == worst)[0])]]
        raise FileError(
            f"a distribution of {name} sums to {total[worst]:.9g}, which misses one by {miss[worst]:.3g}; "
            "pass renormalize=True to scale it"
        )
    return theta


def _decoded(dag: Dag, record: Record, which: int, size: int) -> Array:
    """Return the lists as one vector, of parameters (0) or statistics (1) where these differ."""
    _check_sizes(dag, record, which)
    layout = dag.layout
    parts = [np.empty(0)]
    for i in layout.blocks:
        shape = [layout.sizes[member] for member in (*layout.members[i][1:], i)]
        parts.append(layout.flat(_listed(record, dag.names[i], prod(shape)).reshape(shape)))
    for i in layout.numeric:
        count = layout.configurations[i] * layout.widths[i][which]
        if count:
            parts.append(_listed(record, dag.names[i], count))
        else:  # older files have numbers there that mean nothing
            record.numbers(dag.names[i])
    record.finish()
    vector = np.concatenate(parts)
    assert len(vector) == size
    return vector


def _listed(record: Record, name: str, count: int) -> Array:
    values = record.numbers(name)
    if len(values) != count:
        raise record.error(name, f"expected {count} numbers, not {len(values)}")
    return values


def _check_sizes(dag: Dag, record: Record, which: int) -> None:
    """Refuse what is too large to be laid out, before it is."""
    for name, parents in zip(dag.names, dag.parents, strict=True):
        members = [dag.schema[member] for member in (name, *parents)]
        sizes = [variable.size for variable in members if variable.discrete]
        if not dag.schema[name].discrete:
            family = dag.number(dag.schema.index(name))
            sizes.append(max((family.parameters, family.statistics)[which], 1))
        problem = too_large(sizes)
        if problem:
            raise record.error(name, problem)
