"""What a network says about the holes of rows: marginals, draws, the most probable filling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE
from lacunary.errors import ImpossibleRowError
from lacunary.infer.engine import DiscreteRows, observed_log
from lacunary.infer.pack import Chunk, pack
from lacunary.infer.parallel import in_parallel
from lacunary.kernels.complete import complete
from lacunary.model.dag import Dag

__all__ = ["Reader", "filled", "marginals_of"]

ROWS_AT_ONCE = 2**22
"""Places for marginals that are worked out in one go, which bounds the memory they take."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Rows laid out so that the posterior of some sets of variables is read from each, under any parameters.

    Attributes
    ----------
    rows
        The rows.
    targets
        Sets of variables, as positions in the schema.
    """

    rows: DiscreteRows
    targets: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, dag: Dag, codes: NDArray[np.signedinteger], targets: Sequence[Sequence[int]]) -> Reader:
        """Lay out rows over the graph's variables, each by itself; (rows, variables)."""
        packed = pack(dag, codes, np.ones(len(codes)), targets=targets)
        rows = DiscreteRows(dag, packed, np.arange(len(codes)), float(len(codes)))
        return cls(rows, tuple(tuple(target) for target in targets))

    @property
    def edges(self) -> NDArray[np.int64]:
        """Where each set's states begin among all that is read of a row; (sets + 1,)."""
        return edges_of(self.rows.dag, self.targets)

    def read(self, vector: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return each row's log-probability and posteriors side by side; (rows,) and (rows, Σ states)."""
        packed, width = self.rows.packed, int(self.edges[-1])
        wide = packed.recipe.places.widened(vector[None])
        log = observed_log(packed, wide)[0]
        out = np.zeros((len(log), width))

        def read(chunk: Chunk) -> None:
            part = np.zeros((chunk.rows.stop - chunk.rows.start) * width)
            log[chunk.rows] += self.rows.run(wide[0], chunk, part)
            out[chunk.rows] = part.reshape(-1, width)

        for chunks in packed.stretches:
            in_parallel(read, chunks)
        return log, out

    def posteriors(self, vector: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the posteriors side by side, what is observed included; zeros in an impossible row."""
        dag, codes = self.rows.dag, self.rows.packed.codes
        log, out = self.read(vector)
        for target, start in zip(self.targets, self.edges[:-1], strict=True):
            below = np.cumprod([1, *(dag.schema.sizes[v] for v in reversed(target))])[-2::-1]
            known = np.flatnonzero((codes[:, target] != HOLE).all(axis=1))
            out[known, start + codes[known][:, list(target)] @ below] = 1.0
        out[np.isneginf(log)] = 0.0
        return out


def edges_of(dag: Dag, targets: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """Return where the joint states of each set of variables begin, one set after the other; (sets + 1,)."""
    return np.cumsum([0, *(int(np.prod([dag.schema.sizes[v] for v in target])) for target in targets)])


def marginals_of(
    dag: Dag,
    theta: NDArray[np.float64],
    codes: NDArray[np.signedinteger],
    targets: Sequence[Sequence[int]],
) -> list[NDArray[np.float64]]:
    """Return the posterior of each set of discrete variables in each row.

    Parameters
    ----------
    dag, theta
        The graph, of discrete variables alone, and its parameters.
    codes
        Rows over its variables; (rows, variables).
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
    edges, sizes = edges_of(dag, targets), [[dag.schema.sizes[v] for v in target] for target in targets]
    out = np.empty((len(codes), int(edges[-1])))
    step = max(ROWS_AT_ONCE // max(int(edges[-1]), 1), 1)
    for first in range(0, len(codes), step):
        part = slice(first, first + step)
        out[part] = Reader.of(dag, codes[part], targets).posteriors(theta)
    parts = zip(edges[:-1], edges[1:], sizes, strict=True)
    return [out[:, a:b].reshape(len(out), *size) for a, b, size in parts]


def filled(
    dag: Dag, theta: NDArray[np.float64], codes: NDArray[np.signedinteger], *, seed: int | None
) -> NDArray[np.int32]:
    """Return the rows with every hole filled.

    With a ``seed`` each row takes a draw from its posterior, otherwise its jointly most probable states.
    """
    packed = pack(dag, codes, np.ones(len(codes)), whole=True)
    prepared = DiscreteRows(dag, packed, np.arange(len(codes)), float(len(codes)))
    sizes = np.array(dag.schema.sizes, dtype=np.int64)
    out, draws = packed.codes.astype(np.int32), seed is not None
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
