"""The noise component while it is learned: its bounds are fixed, or Pareto (TMCH98 section 6)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from lacunary.data.parts import Parts, itself
from lacunary.data.source import Source, in_tree
from lacunary.data.table import Table
from lacunary.errors import ParameterError, TableError
from lacunary.infer.mixture import Noise
from lacunary.maths.pareto import Pareto
from lacunary.structure.shares import ByRow, Shares

__all__ = ["Bounds", "NoiseGiven", "noise_of"]

Array = NDArray[np.float64]

NoiseGiven = bool | tuple[float, float] | Mapping[str, tuple[float, float]] | Pareto
"""Whether there is noise; its bounds, for all continuous variables or by name; or a belief about them."""

DEFAULT_ALPHA = 2.0
"""How many rows the default belief about bounds is worth, as in TMCH98 section 6.2."""


class Bounds:
    """Uniform noise on the rows of one source.

    Parameters
    ----------
    source
        The rows.
    low, high
        Bounds, of continuous variables; (variables,).
    belief
        What is believed of them, or none if they are fixed.
    """

    def __init__(self, source: Source, low: Array, high: Array, belief: Pareto | None = None) -> None:
        self.tables: Parts[Table] = source.laid(itself, keep=False)
        self.schema, self.belief = source.schema, belief
        self.fixed = Noise(source.schema, low, high)
        self.columns = np.flatnonzero([not v.discrete for v in source.schema])
        self._last = self.fixed, self.tables.then(self.fixed.log_density)

    def log_density(self, noise: Noise) -> ByRow:
        """Return the log-density of each row; kept, as bounds seldom change from step to step; (rows,)."""
        kept = self._last  # another thread may ask for another meanwhile
        if noise is not kept[0]:
            self._last = kept = noise, self.tables.then(noise.log_density)
        return kept[1]

    def maximize(self, shares: Parts[Shares]) -> Noise:
        """Return the noise with the narrowest bounds that hold all it shares in, and what is believed.

        Of shares the last is the noise's, here and below.
        """
        if self.belief is None:
            return self.fixed
        low, high = self.fixed.low.copy(), self.fixed.high.copy()
        low[self.columns], high[self.columns] = self._after(shares).peak
        last = self._last[0]
        same = np.array_equal(low, last.low) and np.array_equal(high, last.high)
        return last if same else Noise(self.schema, low, high)

    def draw(self, shares: Parts[Shares], rng: np.random.Generator) -> Noise:
        """Return the noise with bounds drawn from their posterior given the rows it owns."""
        if self.belief is None:
            return self.fixed
        low, high = self.fixed.low.copy(), self.fixed.high.copy()
        low[self.columns], high[self.columns] = self._after(shares).draw(rng)
        return Noise(self.schema, low, high)

    def log_predictive(self, shares: Parts[Shares], rows: Table) -> Array:
        """Return log p(new row | the rows the noise owns), bounds integrated out; (rows,)."""
        if self.belief is None:
            return self.fixed.log_density(rows)
        cells = self._after(shares).log_predictive(rows.reals[:, self.columns])
        return np.asarray(cells.sum(axis=1) - ~rows.holes @ self._sizes)

    def log_prior(self, noise: Noise) -> float:
        """Return the log prior density of the bounds; nothing if they are fixed."""
        if self.belief is None:
            return 0.0
        return float(self.belief.log_density(noise.low[self.columns], noise.high[self.columns]).sum())

    def log_evidence(self, shares: Parts[Shares]) -> float:
        """Return the log evidence of the rows as far as they are noise."""
        if self.belief is None:
            return self.fit(shares, self.fixed)
        after = self._after(shares)
        gained = float((after.log_normalizer - self.belief.log_normalizer).sum())
        return gained + self._states(shares)

    def fit(self, shares: Parts[Shares], noise: Noise) -> float:
        """Return Σ share · log-density."""
        return in_tree(shares.each(_fit, self.log_density(noise)))

    @property
    def free(self) -> int:
        """How many bounds are learned."""
        return 0 if self.belief is None else 2 * len(self.columns)

    def _after(self, shares: Parts[Shares]) -> Pareto:
        """Return the belief after the rows as far as they are noise, one part of them after the other."""
        assert self.belief is not None
        gained = self.tables.each(partial(_gained, self.belief, self.columns), shares)
        return in_tree(gained, partial(_both, self.belief))

    def _states(self, shares: Parts[Shares]) -> float:
        """Return what the discrete variables, uniform over their states, add to the log evidence."""
        return -in_tree(self.tables.each(partial(_states, self._sizes), shares))

    @cached_property
    def _sizes(self) -> Array:
        """The log number of states of each discrete variable, zero for others; (variables,)."""
        return np.array([np.log(v.size) if v.discrete else 0.0 for v in self.schema])


def _fit(shares: Shares, logs: Array) -> float:
    own = shares.shares[:, -1]
    noisy = own > 0
    return float(shares.weights[noisy] * own[noisy] @ logs[noisy])


def _gained(belief: Pareto, columns: NDArray[np.int64], table: Table, shares: Shares) -> Pareto:
    return belief.update(table.reals[:, columns], shares.shares[:, -1] * table.weights)


def _both(before: Pareto, a: Pareto, b: Pareto) -> Pareto:
    """Return the belief after the rows of two parts, given the beliefs after each."""
    alpha = a.alpha + (b.alpha - before.alpha)
    return Pareto(alpha, np.minimum(a.low, b.low), np.maximum(a.high, b.high))


def _states(sizes: Array, table: Table, shares: Shares) -> float:
    return float((shares.shares[:, -1] * table.weights) @ (~table.holes @ sizes))


def noise_of(given: NoiseGiven, source: Source) -> Bounds | None:
    """Return the noise that is meant.

    ``True`` takes the bounds that the variables declare if all do; otherwise a Pareto belief worth two rows
    on the range of each column, so that the bounds are learned.
    """
    if given is False:
        return None
    variables = source.schema.variables
    columns = np.flatnonzero([not v.discrete for v in variables])
    low, high = np.zeros(len(variables)), np.ones(len(variables))
    if isinstance(given, Pareto):
        if given.low.shape not in ((), (len(columns),)):
            raise ParameterError(f"the belief about bounds must be about {len(columns)} continuous variables")
        low[columns], high[columns] = given.low, given.high
        belief = Pareto(*(np.broadcast_to(a, len(columns)) for a in (given.alpha, given.low, given.high)))
        return Bounds(source, low, high, belief)
    if given is True and not all(variables[c].bounds for c in columns):
        low[columns], high[columns] = _range(source, columns)
        return Bounds(
            source, low, high, Pareto(np.full(len(columns), DEFAULT_ALPHA), low[columns], high[columns])
        )
    for c in columns:
        low[c], high[c] = _bounds(given, variables[c].name, variables[c].bounds)
    return Bounds(source, low, high)


def _bounds(given: object, name: str, declared: tuple[float, float] | None) -> tuple[float, float]:
    if given is True and declared is not None:
        return declared
    if isinstance(given, Mapping):
        if name not in given:
            raise ParameterError(f"noise gives no bounds for {name}; give (low, high) for every variable")
        given = given[name]
    if isinstance(given, tuple | list | np.ndarray) and len(given) == 2:
        return float(given[0]), float(given[1])
    raise ParameterError(f"noise must be True, (low, high), or such bounds by name, not {given!r}")


def _range(source: Source, columns: NDArray[np.int64]) -> tuple[Array, Array]:
    reached = partial(_reached, columns)
    low, high = source.fold(reached, _wider)
    for c, a, b in zip(columns, low, high, strict=True):
        if not a < b:
            raise TableError(
                f"{source.schema.names[c]} does not vary, so noise has no range there; leave the column out, "
                "or give the bounds of the noise"
            )
    return low, high


def _reached(columns: NDArray[np.int64], table: Table) -> tuple[Array, Array]:
    """Return the least and the greatest value of columns."""
    seen = ~np.isnan(table.reals[:, columns])
    low = np.min(table.reals[:, columns], axis=0, where=seen, initial=np.inf)
    return low, np.max(table.reals[:, columns], axis=0, where=seen, initial=-np.inf)


def _wider(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return np.minimum(a[0], b[0]), np.maximum(a[1], b[1])
