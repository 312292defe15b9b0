"""What a network says about the holes of rows: marginals, draws, the most probable filling."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.errors import ImpossibleRowError
from lacunary.infer.engine import Prepared, observed_log
from lacunary.infer.pack import Chunk, pack
from lacunary.infer.parallel import in_parallel
from lacunary.kernels.complete import complete
from lacunary.model.dag import Dag

__all__ = ["filled", "marginals"]

ROWS_AT_ONCE = 2**22
"""Places for marginals that are worked out in one go, which bounds the memory they take."""


def marginals(
    dag: Dag, theta: NDArray[np.float64], table: Table, targets: Sequence[Sequence[int]]
) -> list[NDArray[np.float64]]:
    """Return the posterior of each set of variables in each row.

    Parameters
    ----------
    dag, theta
        The graph and its parameters.
    table
        Rows, aligned with the graph's schema.
    targets
        Sets of variables, as positions in the schema.

    Returns
    -------
    list of arrays
        For each set, (rows, states of the first, states of the second, …); all zero in a row of
        probability zero, which has no posterior.
    """
    if not targets:
        return []
    if dag.continuous:
        from lacunary.infer.mixed import discrete_marginals  # which asks this file about the discrete part

        return discrete_marginals(dag, theta, table, targets)
    sizes = [tuple(dag.schema.sizes[v] for v in target) for target in targets]
    edges = np.cumsum([0, *(int(np.prod(size)) for size in sizes)])
    width = int(edges[-1])
    distinct = table.distinct
    codes = table.codes[distinct.first]
    out = np.empty((len(codes), width))
    step = max(ROWS_AT_ONCE // max(width, 1), 1)
    for first in range(0, len(codes), step):
        out[first : first + step] = _some_marginals(dag, theta, codes[first : first + step], targets, edges)
    return [
        out[:, a:b][distinct.inverse].reshape(len(table), *size)
        for a, b, size in zip(edges[:-1], edges[1:], sizes, strict=True)
    ]


def _some_marginals(
    dag: Dag,
    theta: NDArray[np.float64],
    codes: NDArray[np.signedinteger],
    targets: Sequence[Sequence[int]],
    edges: NDArray[np.int64],
) -> NDArray[np.float64]:
    rows, width = len(codes), int(edges[-1])
    packed = pack(dag, codes, np.ones(rows), targets=targets)
    prepared = Prepared(dag, packed, np.arange(rows), float(rows))
    out = np.zeros((rows, width))
    log = observed_log(packed, theta[None])[0]

    def read(chunk: Chunk) -> None:
        part = np.zeros((chunk.rows.stop - chunk.rows.start) * width)
        log[chunk.rows] += prepared.run(theta, chunk, part)
        out[chunk.rows] = part.reshape(-1, width)

    list(in_parallel(read, packed.chunks))
    for target, start in zip(targets, edges[:-1], strict=True):
        below = np.cumprod([1, *(dag.schema.sizes[v] for v in reversed(target))])[-2::-1]
        known = np.flatnonzero((packed.codes[:, target] != HOLE).all(axis=1))
        out[known, start + packed.codes[known][:, list(target)] @ below] = 1.0
    out[np.isneginf(log)] = 0.0
    return out


def filled(
    dag: Dag, theta: NDArray[np.float64], codes: NDArray[np.signedinteger], *, seed: int | None
) -> NDArray[np.int32]:
    """Return the rows with every hole filled.

    With a ``seed`` each row takes a draw from its posterior, otherwise its jointly most probable states.
    """
    packed = pack(dag, codes, np.ones(len(codes)))
    prepared = Prepared(dag, packed, np.arange(len(codes)), float(len(codes)))
    sizes = np.array(dag.schema.sizes, dtype=np.int64)
    out, draws = packed.codes.copy(), seed is not None
    with np.errstate(divide="ignore"):
        log = np.log(theta)

    def fill(chunk: Chunk) -> int:
        room = prepared.room(chunk, 1, np.dtype(np.float64))
        first, last = chunk.rows.start, chunk.rows.stop
        bad: int = complete(
            packed.kinds,
            chunk.slab,
            chunk.spots,
            sizes,
            log,
            room,
            np.uint64(seed or 0),
            first,
            draws,
            out[first:last],
        )
        return -1 if bad < 0 else first + bad

    failed = [row for row in in_parallel(fill, packed.chunks) if row >= 0]
    failed += np.flatnonzero(np.isneginf(observed_log(packed, theta[None])[0])).tolist()
    if failed:
        raise ImpossibleRowError(
            f"row {min(failed) + 1} has probability zero under the model; its holes cannot be filled"
        )
    return out
