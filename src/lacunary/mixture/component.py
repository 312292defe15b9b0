"""What a mixture asks of its components: how probable rows are, and what rows weighted by shares add up to.

The rows are the same all the way through a fit, so an engine is made once for a table; what changes are
models and shares. All components go through one engine together, which may work on them as a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Schema
from lacunary.data.table import Table
from lacunary.infer.network import Network
from lacunary.structure.score import FamilyScore, Parents
from lacunary.structure.walk import dag_of

__all__ = ["Engine", "Rows", "Structure", "read_structure"]

Structure = tuple[Parents, ...]
"""A graph: the parents of each variable, as positions in the schema, in increasing order."""


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
    def schema(self) -> Schema:
        """The variables."""
        ...

    @property
    def start(self) -> Structure:
        """The structure from which a search sets out: arcs from hidden variables to all others."""
        ...

    def draw(self, structures: Sequence[Structure], ess: float, rng: np.random.Generator) -> Any:
        """Return models drawn around the fit of one component to all rows, worth ``ess`` rows."""
        ...

    def statistics(self, models: Any, shares: NDArray[np.float64]) -> Any:
        """Return expected statistics of the complete model; shares are (rows, components)."""
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


def read_structure(schema: Schema, plain: Any) -> Structure:
    """Return the graph that lists of parents stand for, as a file has them; refuse what is none."""
    n = len(schema)
    structure = tuple(tuple(map(int, parents)) for parents in plain)
    if len(structure) != n or not all(0 <= p < n for parents in structure for p in parents):
        raise ValueError(f"a graph of {n} variables was expected")
    dag_of(schema, structure)  # refuses cycles
    return structure
