"""What a mixture asks of its components, and which engine answers for the kinds of its variables.

The rows are the same all the way through a fit, so an engine is made once for a table; what changes are
models and shares. All components go through one engine together, which may work on them as a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.data.parts import Parts
from lacunary.data.schema import Schema
from lacunary.data.source import Source
from lacunary.data.table import Table
from lacunary.errors import ParameterError
from lacunary.infer.network import Network
from lacunary.infer.parallel import threads
from lacunary.infer.prior import NormalWishart
from lacunary.mixture.eigen import Eigen
from lacunary.mixture.gaussian import Gaussian
from lacunary.mixture.sharing import Sharing
from lacunary.mixture.tied import Tied
from lacunary.structure.gaussian import Normal
from lacunary.structure.leaves import leaf_names
from lacunary.structure.networks import Networks
from lacunary.structure.score import FamilyScore, Structure
from lacunary.structure.shares import ByRow, Owners, Shares

__all__ = ["Engine", "Rows", "engine_of"]

NOTHING = Sharing()

KEPT = 32
"""Components' graphs for which rows stay laid out, for each thread that may have a mixture climb."""


class Rows(Protocol):
    """Rows that components have a density for."""

    def log_evidence(self, models: Any) -> NDArray[np.float64]:
        """Return log p(observed cells | component) for each row; (rows, components)."""
        ...


class Engine(Rows, Protocol):
    """Components of one kind on the rows of one table.

    ``models`` and ``statistics`` are the engine's own: point parameters of all components, and expected
    statistics of the complete model for all components (TMCH98 eq. 14), which serve any structure.
    """

    @property
    def threaded(self) -> bool:
        """Whether it may be asked by several threads at once, to the same bits."""
        ...

    @property
    def schema(self) -> Schema:
        """The variables."""
        ...

    @property
    def row_weights(self) -> ByRow:
        """How often each row counts; (rows,)."""
        ...

    def parts(self, structures: Sequence[Structure]) -> Parts[Owners]:
        """Return the rows, as components with these structures see them, part by part."""
        ...

    def draw(self, structures: Sequence[Structure], ess: float, rng: np.random.Generator) -> Any:
        """Return models drawn around the fit of one component to all rows, worth ``ess`` rows."""
        ...

    def statistics(self, models: Any, shares: Parts[Shares]) -> Any:
        """Return expected statistics of the complete model, given how far rows belong to components."""
        ...

    def expected(self, models: Any, sums: NDArray[np.float64], shares: Parts[Shares]) -> Any:
        """Return the same, given what `Owners.statistics` of all parts add up to."""
        ...

    def scaled(self, statistics: Any, part: float, shares: Parts[Shares]) -> Any:
        """Return this part of statistics, of rows without holes: those for as large a part of the shares."""
        ...

    def narrowed(self, models: Any) -> Any:
        """Return the same models, of which only their own families' statistics are wanted."""
        ...

    def maximize(self, statistics: Any, structures: Sequence[Structure]) -> Any:
        """Return the models of highest posterior density given these statistics."""
        ...

    def sample(self, statistics: Any, structures: Sequence[Structure], rng: np.random.Generator) -> Any:
        """Return models drawn from the posterior given the statistics of complete rows."""
        ...

    def completed(self, models: Any, owner: NDArray[np.int64], rng: np.random.Generator) -> Any:
        """Return the statistics of rows with holes drawn, each from the component that owns it; −1: none."""
        ...

    def others(self, table: Table) -> Rows:
        """Return other rows, as these components see them."""
        ...

    def log_prior(self, models: Any) -> float:
        """Return the log prior density of the models' parameters, in the coordinates of `maximize`."""
        ...

    def scores(self, statistics: Any) -> Sequence[FamilyScore]:
        """Return, for each component, the evidence of its expected data as a sum over families."""
        ...

    def log_complete_evidence(self, statistics: Any, structures: Sequence[Structure]) -> float:
        """Return what structures score on expected data, all components together."""
        ...

    def flat(self, models: Any) -> bool:
        """Whether some regression's variance is all but none, of standardised columns."""
        ...

    def fit(self, statistics: Any, models: Any) -> NDArray[np.float64]:
        """Return log p(expected data | parameters) in the units of `scores`; (components,)."""
        ...

    def dimension(self, structures: Sequence[Structure]) -> int:
        """Return the number of free parameters of all components."""
        ...

    def keep(self, models: Any, which: NDArray[np.bool_]) -> Any:
        """Return the models of some of the components."""
        ...

    def encode(self, models: Any) -> Any:
        """Return models as lists of numbers, such as JSON holds, without losing a bit."""
        ...

    def decode(self, plain: Any) -> Any:
        """Return the models that `encode` wrote."""
        ...

    def networks(self, models: Any) -> tuple[Network, ...]:
        """Return the components as networks, in the data's units."""
        ...


def engine_of(
    table: Source, prior: Any, sharing: Sharing = NOTHING, criterion: Literal["bd", "bic"] = "bd"
) -> Engine:
    """Return the engine for the kinds of the table's variables, and for what components share.

    Structures are scored by their evidence under the prior, or by BIC where likelihood alone counts.
    """
    discrete = [variable.discrete for variable in table.schema]
    leaves = leaf_names(table.schema)
    if sharing.parameters and (any(discrete) or table.schema.hidden or leaves):
        raise ParameterError(
            "volume, shape and orientation are of continuous variables without hidden ones; "
            "share 'structure' and 'size' alone"
        )
    if all(discrete):
        prior = prior.tables if criterion == "bic" and isinstance(prior, NormalWishart) else prior
        if isinstance(prior, Normal) or not (prior is None or callable(prior)):
            raise ParameterError(f"discrete components take a prior such as bdeu(1), not {prior!r}")
        return Networks(table, prior, criterion, keep=KEPT * threads())
    if any(discrete) or table.schema.hidden or leaves:
        return Networks(table, prior, criterion, keep=KEPT * threads())
    if not isinstance(prior, Normal | None):
        raise ParameterError(f"continuous components take a NormalWishart prior, not {prior!r}")
    if not sharing.parameters:
        return Gaussian(table, prior, criterion)
    return Eigen(table, sharing, prior) if sharing.eigen else Tied(table, sharing, prior)
