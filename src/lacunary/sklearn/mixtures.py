"""Groups of rows, each with a network of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from lacunary.learn.stop import Stop
from lacunary.mixture.fit import SCHEDULE, StructureClass, fit_mixture
from lacunary.mixture.found import MixtureFit
from lacunary.mixture.noise import NoiseGiven
from lacunary.sklearn.model import Array, Groups
from lacunary.structure.constraints import ArcsGiven
from lacunary.structure.prior import DEFAULT, PriorGiven

__all__ = ["MixtureOfDags"]


OPTIONS = (
    "structure", "noise", "hidden", "prior", "structure_prior", "starts", "required", "forbidden",
    "max_parents", "schedule", "until",
)  # fmt: skip
"""What is handed on to `lacunary.fit_mixture` as it is."""


@dataclass(eq=False, repr=False)
class MixtureOfDags(Groups):
    """A mixture of Bayesian networks, each with a structure of its own (TMCH98).

    Parameters
    ----------
    n_components
        How many; several numbers to try; or "auto": grow from one until the estimate has fallen twice.
    structure, noise, hidden, prior, structure_prior, starts, required, forbidden, max_parents
        As for `lacunary.fit_mixture`.
    schedule, until
        As for `lacunary.fit_mixture`.
    kinds, handle_unknown
        As for `LatentClassModel`.
    max_iter, tol
        The most steps of EM at a time, and the change over the change since the start at which it stops.
    random_state, verbose
        As for `LatentClassModel`.

    Attributes
    ----------
    mixture_, fit_
        The mixture, and all that `lacunary.fit_mixture` found.
    n_components_, weights_
        How many components there are, the noise left out, and how probable each is, the noise last.
    n_iter_, converged_
        Steps that led to the mixture, and whether they were enough.

    Examples
    --------
    >>> import numpy as np
    >>> from lacunary.sklearn import MixtureOfDags
    >>> rng = np.random.default_rng(0)
    >>> X = np.vstack([rng.normal(size=(50, 2)), rng.normal(6.0, 1.0, size=(50, 2))])
    >>> X[0, 1] = np.nan
    >>> groups = MixtureOfDags().fit_predict(X)
    >>> bool(np.all(groups[:50] == groups[0]) and np.all(groups[50:] != groups[0]))
    True
    """

    n_components: int | str | Iterable[int] = "auto"
    _: KW_ONLY
    structure: StructureClass = "learn"
    noise: NoiseGiven = False
    hidden: Mapping[str, int] | None = None
    prior: Any = None
    structure_prior: PriorGiven = DEFAULT
    starts: int | None = None
    required: ArcsGiven = ()
    forbidden: ArcsGiven = ()
    max_parents: int | None = None
    schedule: str = SCHEDULE
    until: Literal["structure", "score"] = "structure"
    max_iter: int = 1000
    tol: float = 1e-6

    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the components, their structures and their number."""
        table, _ = self._rows(X, sample_weight)
        self.fit_: MixtureFit = fit_mixture(
            table,
            components=self.n_components,
            stop=Stop(share=self.tol, iterations=self.max_iter),
            watch=self._watch(),
            rng=self._rng(),
            **{name: getattr(self, name) for name in OPTIONS},
        )
        self.mixture_ = self.fit_.mixture
        self.n_components_ = len(self.mixture_.components)
        self.weights_ = self.mixture_.weights
        self.n_iter_ = max(len(self.fit_.chosen.ticks), 1)
        self.converged_ = self.fit_.converged
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every component for every row, the noise last; (rows, components)."""
        table = self._table(X)  # refuses to be asked before it was fitted
        return self.mixture_.responsibilities(table)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Return the log-density of each row's observed cells; (rows,)."""
        table = self._table(X)  # refuses to be asked before it was fitted
        return self.mixture_.log_probability(table)

    def sample(self, n_samples: int = 1) -> tuple[Array, Array]:
        """Return rows drawn from the mixture, and the components they came from."""
        check_is_fitted(self)
        rng = np.random.default_rng(self._rng())
        came = np.sort(rng.choice(len(self.weights_), size=n_samples, p=self.weights_))
        parts = []
        for component, many in zip(*np.unique(came, return_counts=True), strict=True):
            columns = self.mixture_.sample(int(many), rng, int(component)).to_frame("dict")
            parts.append(np.column_stack([np.array(columns[name]) for name in self.schema_.names]))
        return np.concatenate(parts), came
