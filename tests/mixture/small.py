"""Small tables that several tests of mixtures share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.parts import Parts
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import HOLE, Table
from lacunary.structure.shares import Shares, all_of, cut


def continuous(values: NDArray[np.float64], weights: NDArray[np.float64] | None = None) -> Table:
    """Return real numbers as a table with columns x0, x1, …; NaN is a hole."""
    schema = Schema(tuple(Variable(f"x{i}", kind="continuous") for i in range(values.shape[1])))
    codes = np.full(values.shape, HOLE, dtype=np.int8)
    return Table(schema, codes, values.copy(), np.empty(0) if weights is None else weights.copy())


def owned(engine: Any, shares: NDArray[np.float64]) -> Parts[Shares]:
    """Return shares of an engine's rows, (rows, components), where the rows are."""
    return all_of(engine.row_weights, cut(shares, engine.row_weights))


def two_groups(rows: int = 120, seed: int = 0, holes: float = 0.0) -> NDArray[np.float64]:
    """Return two groups of four variables: x0 → x1 → x2 in the one, x3 → x0 in the other, means apart."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(2 * rows, 4))
    first, second = noise[:rows], noise[rows:]
    first[:, 1] += 1.5 * first[:, 0]
    first[:, 2] += -1.2 * first[:, 1]
    second[:, 0] += 2.0 * second[:, 3]
    second += 6.0
    x = np.vstack([first, second]) * [1.0, 20.0, 0.01, 3.0] + [0.0, 500.0, 2.0, -7.0]
    x[rng.random(x.shape) < holes] = np.nan
    return np.asarray(x)
