"""The map from the parameters of a linear Gaussian network to the observable means and covariances.

X = m + B X + noise with variances v, so μ = T m and Σ = T D Tᵀ with T = (I − B)⁻¹: polynomials, since B is
nilpotent, which the trek-sum rule spells out (GHM96 section 7). A row is the gradient of
aᵀμ + uᵀΣu for random a and u on the observed variables; with y = Tᵀa, w = Tᵀu and z = Σu, its entries are

    ∂/∂m_i = y_i      ∂/∂v_i = w_i²      ∂/∂b_ji = y_i μ_j + 2 w_i z_j   (for the arc j → i).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from lacunary.maths.arrays import Booleans, Integers
from lacunary.maths.prime import PrimeField
from lacunary.model.dag import Dag
from lacunary.rank.generic import MARGIN

__all__ = ["Trek"]


@dataclass(frozen=True)
class Trek:
    """The map of one graph; tied families share their mean, variance and coefficients."""

    dag: Dag

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """For each variable, where its mean, its variance and its coefficients stand among the parameters."""
        leader = {self.dag.schema.index(n): self.dag.schema.index(g[0]) for g in self.dag.tied for n in g}
        start: dict[int, int] = {}
        size = 0
        for i, parents in enumerate(self.dag.parent_indices):
            head = leader.get(i, i)
            if head not in start:
                start[head] = size
                size += 2 + len(parents)
        return tuple(start[leader.get(i, i)] for i in range(len(self.dag.names)))

    @cached_property
    def columns(self) -> int:
        """Number of parameters."""
        ends = [s + 2 + len(ps) for s, ps in zip(self.starts, self.dag.parent_indices, strict=True)]
        return max(ends, default=0)

    @cached_property
    def observed(self) -> Booleans:
        """Which variables are observed."""
        return np.array([not variable.hidden for variable in self.dag.schema])

    @property
    def bound(self) -> int:
        """No more than the parameters, nor than the observable means and covariances."""
        n = int(self.observed.sum())
        return min(self.columns, n + n * (n + 1) // 2)

    @property
    def margin(self) -> int:
        """Functionals are drawn from a set that spans everything."""
        return MARGIN

    @cached_property
    def _depth(self) -> int:
        """Number of arcs of the longest directed path: the degree of T."""
        depth = [0] * len(self.dag.names)
        for i in self.dag.order_indices:
            depth[i] = max((depth[p] + 1 for p in self.dag.parent_indices[i]), default=0)
        return max(depth)

    @property
    def degree(self) -> float:
        """The longest product is w z = w T D w: three passes along paths, a variance, and twice u."""
        return 3 * self._depth + 3

    @property
    def log_height(self) -> float:
        """T has a term for every directed path; w z has at most (terms of T)³ of them, y μ fewer."""
        paths = [1] * len(self.dag.names)
        for i in self.dag.order_indices:
            paths[i] += sum(paths[p] for p in self.dag.parent_indices[i])
        return 2 + math.log2(len(paths)) + 3 * math.log2(sum(paths))

    def rows(self, field: PrimeField, count: int, rng: np.random.Generator) -> Integers:
        """Return derivatives of random functionals at one random point; (columns, count)."""
        point = field.draw(self.columns, rng)
        shape = (len(self.dag.names), count)
        # rows of T are reached from the child's side: what stands at a hidden variable is not observable
        a, u = (np.where(self.observed[:, None], field.draw(shape, rng), 0) for _ in range(2))
        y, w = self._back(field, point, a), self._back(field, point, u)
        mean = self._forth(field, point, point[list(self.starts)][:, None])
        variance = point[[s + 1 for s in self.starts]][:, None]
        z = self._forth(field, point, field.reduce(variance * w))
        matrix = np.zeros((self.columns, count), dtype=np.int64)
        for i, parents in enumerate(self.dag.parent_indices):
            s = self.starts[i]
            matrix[s] += y[i]
            matrix[s + 1] += field.reduce(w[i] * w[i])
            for k, j in enumerate(parents):
                matrix[s + 2 + k] += field.reduce(y[i] * mean[j]) + 2 * field.reduce(w[i] * z[j])
        return np.asarray(field.reduce(matrix))

    def _forth(self, field: PrimeField, point: Integers, right: Integers) -> Integers:
        """Solve (I − B) x = right, parents first."""
        x = right.copy()
        for i in self.dag.order_indices:
            for k, j in enumerate(self.dag.parent_indices[i]):
                x[i] = field.reduce(x[i] + field.reduce(point[self.starts[i] + 2 + k] * x[j]))
        return x

    def _back(self, field: PrimeField, point: Integers, right: Integers) -> Integers:
        """Solve (I − B)ᵀ x = right, children first."""
        x = right.copy()
        for i in reversed(self.dag.order_indices):
            for k, j in enumerate(self.dag.parent_indices[i]):
                x[j] = field.reduce(x[j] + field.reduce(point[self.starts[i] + 2 + k] * x[i]))
        return x
