"""What if cells are not missing at random: filled cells are shifted, and the analysis is done again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.schema import Label
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer.answers import as_source
from lacunary.maths.arrays import Array, Booleans
from lacunary.study.impute import impute
from lacunary.study.pool import Pooled, pool

__all__ = ["DeltaAdjusted", "delta_adjusted"]


@dataclass(frozen=True)
class DeltaAdjusted:
    """Pooled estimates under shifts of what was filled in; a shift of zero is missing at random."""

    column: str
    state: Label | None
    deltas: tuple[float, ...]
    pooled: tuple[Pooled, ...]

    def __str__(self) -> str:
        what = f"log-odds of {self.column} = {self.state}" if self.state is not None else self.column
        lines = [f"what if missing cells of {self.column} differ: {what} shifted by δ where it was filled in"]
        for delta, found in zip(self.deltas, self.pooled, strict=True):
            for one in found:
                told = f"{one.estimate:9.4g}  ({one.low:.4g} to {one.high:.4g})"
                lines.append(f"  δ = {delta:+8.4g}  {one.name:<16}  {told}")
        return "\n".join([*lines, "δ = 0 is missing at random."])

    __repr__ = __str__


@budgeted
def delta_adjusted(
    table: Any,
    analysis: Callable[[Any], Any],
    column: str,
    deltas: Sequence[float],
    *,
    state: Label | None = None,
    where: Booleans | None = None,
    copies: int = 5,
    dof: float | None = None,
    level: float = 0.95,
    library: str | None = None,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator | None = 0,
) -> DeltaAdjusted:
    """Return pooled estimates if missing cells differ from what would be expected at random, by each δ.

    The table is filled several times as if cells were missing at random (`impute`); then δ is added to what
    was filled into a continuous column, in its units, or to the log-odds of one state of a discrete one.

    Parameters
    ----------
    table
        Rows with holes.
    analysis, dof, level, library
        As of `pool`.
    column, state
        What is shifted; of a discrete column the state whose odds among filled cells become exp(δ) times.
    deltas
        The shifts to try; include 0 to have missing at random beside the others.
    where
        The rows whose holes are shifted, such as those of one pattern; by default all.
    copies, rng, watch
        As of `impute`.

    Examples
    --------
    >>> import lacunary as lac
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=80)
    >>> rows = lac.make_holes(lac.read({"x": x, "y": x + 1.0}), 0.2, rng=0)
    >>> mean = lambda f: {"mean of y": (np.mean(f["y"]), np.std(f["y"]) / 80**0.5)}
    >>> found = lac.delta_adjusted(rows, mean, "y", [0.0, 1.0], copies=3, library="dict")
    >>> moved = found.pooled[1]["mean of y"].estimate - found.pooled[0]["mean of y"].estimate
    >>> bool(abs(moved - rows.holes[:, 1].mean()) < 1e-12)
    True
    """
    rows = as_source(table).whole("a sensitivity analysis")
    i, variable = rows.schema.index(column), rows.schema[column]
    if variable.discrete and state is None:
        raise ParameterError(f"{column} is discrete: name the state whose log-odds are shifted: state=…")
    chosen = rows.holes[:, i] if where is None else rows.holes[:, i] & np.asarray(where, dtype=bool)
    if not chosen.any():
        raise ParameterError(f"{column} has no missing cell to shift")
    random = np.random.default_rng(rng)
    filled = impute(rows, how="draw", copies=copies, watch=watch, rng=random)
    cells = np.tile(chosen, copies)
    uniform = random.random(len(filled))  # the same for every δ, so that estimates differ by it alone
    found = []
    for delta in deltas:
        if variable.discrete:
            shifted = _tilted(filled, i, variable.encode(state), cells, delta, uniform)
        else:
            reals = np.array(filled.reals)
            reals[cells, i] += delta
            shifted = replace(filled, reals=reals)
        found.append(pool(shifted, analysis, copies=copies, dof=dof, level=level, library=library))
    return DeltaAdjusted(column, state, tuple(map(float, deltas)), tuple(found))


def _tilted(filled: Table, i: int, k: int, cells: Booleans, delta: float, uniform: Array) -> Table:
    """Return the table with the odds of one state among some cells multiplied by exp(δ).

    The share p of cells that were drawn so becomes p′ = p e^δ / (p e^δ + 1 − p): cells change with the least
    chance that does it and otherwise stay, so that what they were drawn together with stays too.
    """
    codes = np.array(filled.codes)
    drawn = codes[cells, i]
    p = np.clip(float(np.mean(drawn == k)), 1e-12, 1 - 1e-12)
    wanted = p * np.exp(delta) / (p * np.exp(delta) + 1 - p)
    others = np.array([code for code in range(filled.schema.sizes[i]) if code != k])
    counts = np.array([max(float(np.sum(drawn == code)), 1e-12) for code in others])
    edges = np.cumsum(counts) / counts.sum()
    u = uniform[cells]
    if wanted >= p:
        drawn = np.where((drawn != k) & (u < (wanted - p) / (1 - p)), k, drawn)
    else:
        chance = (p - wanted) / p
        into = others[np.minimum(np.searchsorted(edges, u / chance), len(others) - 1)]
        drawn = np.where((drawn == k) & (u < chance), into, drawn)
    codes[cells, i] = drawn
    return replace(filled, codes=codes)
