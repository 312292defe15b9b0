"""What learning found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from lacunary.data.wording import NEAR, counted, near_best
from lacunary.infer.belief import Belief, Dirichlet, Prior
from lacunary.infer.empirical import said_prior
from lacunary.infer.network import Network
from lacunary.learn.select import Selection, local_entropy
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag
from lacunary.registry import borrow

if TYPE_CHECKING:  # loaded when it is asked for
    from lacunary.infer.ensemble import Ensemble

__all__ = ["Climbs", "Fit", "Start"]


@dataclass(frozen=True, eq=False)
class Start:
    """One climb: where it ended, how high, and how it got there.

    ``degenerate`` says of maximum likelihood that a regression's variance is as small as can be: the
    likelihood has no maximum there, and how high the climb ended says nothing. ``error`` is the standard
    error of the log-likelihood where it is a Monte Carlo estimate, else 0.
    """

    network: Network
    objective: float
    log_likelihood: float
    trace: tuple[float, ...]
    iterations: int
    converged: bool
    degenerate: bool = False
    error: float = 0.0

    @property
    def entropy(self) -> float:
        """The local entropy: Σ over all distributions of −Σ θ log θ, in nats."""
        return float(local_entropy(self.network.dag, self.network.theta))


@dataclass(frozen=True, eq=False)
class Climbs(Sequence[Network]):
    """Where the starts of a fit had got to; as a sequence, their networks.

    ``fit(..., initial=climbs)`` goes on from there and ends where it would have ended, bit for bit, if rows,
    graph, prior and rules are the same, which is checked; ``initial=list(climbs)`` only starts from the
    networks.

    Attributes
    ----------
    dag, starts
        The graph, and each start, in the units of the data.
    standing
        The climbs to the last bit, as plain numbers; only meant for the version that wrote them.
    fingerprint
        Of which rows and how, by name.
    """

    dag: Dag
    starts: tuple[Start, ...]
    standing: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.starts)

    @overload
    def __getitem__(self, place: int) -> Network: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Network]: ...
    def __getitem__(self, place: int | slice) -> Network | Sequence[Network]:
        return [start.network for start in self.starts][place]


@dataclass(frozen=True, eq=False)
class Fit:
    """What learning found.

    Attributes
    ----------
    network
        The chosen parameters; for "variational" the posterior's mean.
    belief
        The prior updated by the expected counts at these parameters; for "variational" the posterior.
    objective
        What was maximised, in nats: the log-likelihood, plus the log prior density for "map"; the lower
        bound of the log evidence for "variational".
    log_likelihood
        log p(observed cells | parameters), in nats.
    trace
        The objective of the chosen start, or else of the best, step by step; it never falls, but for noise
        where it is a Monte Carlo estimate.
    converged
        Whether that start converged.
    iterations
        Its sweeps over the data.
    starts
        Every start, in the order in which they were made. Unless the best is selected, the states of
        hidden variables have the same names in all of them as in the best.
    method, basis
        How the objective was defined.
    prior
        The rule that gave the hyperparameters. From a file it is the belief that it gave for this graph.
    fixed
        Names of the families that were given and not learned; `network` has their tables.
    constant
        The part of the objective that does not depend on parameters.
    selection
        How the parameters were chosen from the starts: its name, and details.
    interrupted
        Whether the fit was ended from outside; ``fit(..., initial=this)`` goes on from here.
    doubts
        What is doubtful about the columns, in a line; see `Table.doubts`.
    error
        The standard error of the log-likelihood, and of the objective, where exact inference did not fit and
        holes were drawn; 0 where they are exact.
    """

    network: Network
    belief: Belief
    objective: float
    log_likelihood: float
    trace: tuple[float, ...]
    converged: bool
    iterations: int
    starts: tuple[Start, ...]
    method: str
    basis: str
    interrupted: bool = False
    constant: float = 0.0
    selection: Selection = field(default_factory=Selection)
    prior: Prior = field(default_factory=Dirichlet)
    fixed: tuple[str, ...] = ()
    doubts: str = ""
    error: float = 0.0

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def plot(self, what: Literal["traces", "starts"] = "traces") -> Any:
        """Return a figure of matplotlib: how starts climbed ("traces"), or where each ended ("starts")."""
        return borrow("fit as a figure")(self, what)

    @property
    def dag(self) -> Dag:
        """The graph."""
        return self.network.dag

    @property
    def degenerate(self) -> bool:
        """Whether maximum likelihood ran into the smallest variance from every start: it has no maximum."""
        return bool(self.starts) and all(start.degenerate for start in self.starts)

    @property
    def given(self) -> dict[str, Array]:
        """The tables that were fixed, by name."""
        return {name: self.network.table(name) for name in self.fixed}

    @property
    def scores(self) -> Array:
        """The score S of every start: its objective without `constant`, ENT eq. 1; (starts,)."""
        return np.array([start.objective for start in self.starts]) - self.constant

    @property
    def entropies(self) -> Array:
        """The local entropy of every start, in nats, ENT eq. 2; (starts,)."""
        return np.array([start.entropy for start in self.starts])

    @cached_property
    def distances(self) -> Array:
        """KL(chosen ‖ start), in nats, for every start; (starts,)."""
        from lacunary.infer.divergence import kl

        return np.array([kl(self.network, start.network) for start in self.starts])

    @property
    def ensemble(self) -> Ensemble:
        """All starts at once, for averaged predictions; weighted as selected, by default evenly."""
        from lacunary.infer.ensemble import Ensemble

        shares = self.selection.details.get("shares", [1 / len(self.starts)] * len(self.starts))
        return Ensemble(tuple(start.network for start in self.starts), np.array(shares))

    def __str__(self) -> str:
        state = "converged" if self.converged else ("interrupted" if self.interrupted else "not converged")
        chosen = f"{self.selection.name} of {counted(len(self.starts), 'start')}{self._met}"
        floored = sum(start.degenerate for start in self.starts)
        if self.degenerate:
            chosen += ", all degenerate: a variance is as small as can be, and the likelihood has no maximum"
        elif floored:
            chosen += f", {floored} degenerate and left out"
        return (
            f"fit by {self.method}: objective {self.objective:.4f}, "
            f"log-likelihood {self.log_likelihood:.4f}{f' ± {self.error:.2g}' if self.error else ''} nats; "
            f"{state} after {self.iterations} iterations, {chosen}"
            + self._prior
            + (f"\nnote: {self.doubts}" if self.doubts else "")
        )

    @property
    def _met(self) -> str:
        """How many starts came near the best, where it was chosen among several."""
        if self.selection.name != "best" or len(self.starts) < 2:
            return ""
        return f", {near_best([start.objective for start in self.starts])} within {NEAR} nats of it"

    @property
    def _prior(self) -> str:
        """A line on the prior; none by maximum likelihood, nor from a file, which has the belief it gave."""
        if self.method == "ml" or isinstance(self.prior, Belief):
            return ""
        return f"\nprior of parameters: {said_prior(self.prior, self.network.dag.schema)}"

    __repr__ = __str__
