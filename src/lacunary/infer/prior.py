"""The Normal–Wishart prior of continuous variables, for any graph over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from lacunary.errors import ParameterError
from lacunary.infer.belief import Belief, Dirichlet, Prior, with_regressions
from lacunary.maths import normal_wishart
from lacunary.model.dag import Dag

__all__ = ["NormalWishart"]


@dataclass(frozen=True, eq=False)
class NormalWishart:
    """A prior about the means and the precision matrix of all continuous variables together.

    Every regression takes its own prior from it (Heckerman & Geiger 1995; TMCH98 section 6), so graphs that
    say the same are believed the same. Each configuration of discrete parents has it anew.

    Attributes
    ----------
    nu
        How many rows it is worth.
    means, covariance
        Of these rows, in the data's units: by name, and in the schema's order of continuous variables;
        (n, n). By default the columns' means and variances, without correlation; zero and one where hidden.
    alpha
        Degrees of freedom, by default nu + n: the mode after N rows then divides by N + nu.
    tables
        The prior of discrete variables.
    """

    nu: float = 1.0
    means: Mapping[str, float] | None = None
    covariance: ArrayLike | None = None
    alpha: float | None = None
    tables: Prior = field(default_factory=Dirichlet)

    def __post_init__(self) -> None:
        if (self.means is None) != (self.covariance is None):
            raise ParameterError("give means and covariance both, in the data's units, or neither")

    def __call__(self, dag: Dag) -> Belief:
        """Return the belief; without means it speaks of standardised columns (`Belief.standard`)."""
        n, layout = len(dag.continuous), dag.layout
        names = [dag.names[i] for i in dag.continuous]
        centre, spread = np.zeros(n), np.eye(n)
        if self.means is not None:
            missing = [name for name in names if name not in self.means]
            if missing:
                raise ParameterError(f"the prior has no mean for {missing[0]}")
            centre = np.array([self.means[name] for name in names], dtype=np.float64)
            spread = np.asarray(self.covariance, dtype=np.float64)
        alpha = self.nu + n if self.alpha is None else self.alpha
        about = normal_wishart.NormalWishart(self.nu, centre, alpha, self.nu * spread)
        tables = self.tables(dag).alpha[: layout.tables]
        return with_regressions(dag, tables, about, standard=self.means is None)
