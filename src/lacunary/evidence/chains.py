"""Chains over completions of rows and parameters: the one contract that all samplers are built on.

The tempered family joins the prior (τ = 0) with the posterior (τ = 1),

    f_τ(x, θ) = p(θ) · p(x, y | θ)^τ · u(x)^(1 − τ),

in which u makes discrete holes uniform and continuous ones standard normal, in standardised columns. Given θ,
the holes of a row are drawn exactly, and given x every family's belief is conjugate: hyperparameters plus τ
times the statistics of x. Tables alone have the rows' own walker (`lacunary.infer.walker`). With numeric
families all chains go side by side: discrete holes are drawn from all their completions with the continuous
ones integrated out, then those from their normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from lacunary.budget import reserve
from lacunary.errors import ParameterError, TooWideError
from lacunary.evidence.exact import complete_log_evidences
from lacunary.evidence.problem import Problem
from lacunary.infer.completions import Completions, completions_of
from lacunary.infer.walker import Walker, Walks
from lacunary.maths.arrays import Array

__all__ = [
    "FEWEST",
    "Chains",
    "NumericChains",
    "TableChains",
    "check_positive",
    "draw_parameters",
    "lay_out",
    "seeds",
]


FEWEST = 8
"""Draws of each chain that an interrupted walk must have to say anything."""


class Chains(Protocol):
    """A problem laid out for chains. What is kept as "counts" is a state: statistics of completed rows."""

    steps: ClassVar[int]
    """How many temperatures a chain that anneals had best pass."""
    telling: ClassVar[str]
    """What must be kept of a walk for `parameters`."""

    def walk(
        self,
        tau: Array,
        seeds: Sequence[int],
        *,
        start: Array | None = None,
        every: int = 1,
        keep: Sequence[str] = (),
        partly: bool = False,
    ) -> Walks:
        """Walk a chain for every seed through the inverse temperatures; as `Walker.walk`.

        Where ``partly`` is set, an interrupted walk returns what it has kept: fewer chains, or of chains that
        go side by side fewer states.
        """
        ...

    def wander(
        self,
        tau: Array,
        seeds: Sequence[int],
        pace: Array,
        *,
        tune: float = 0.0,
        start: Array | None = None,
        every: int = 1,
        keep: Sequence[str] = (),
    ) -> Walks:
        """Walk by Metropolis moves on the parameters, as `Walker.wander`; refuse where there are none."""
        ...

    def log_tempered(self, tau: float, states: Array, /) -> Array:
        """Return log ∫ f_τ(x, θ) dθ of states, up to a constant; (..., state) → (...)."""
        ...

    def check_room(self, chains: int, kept: int, keep: Sequence[str]) -> None:
        """Refuse to keep more than fits into memory."""
        ...

    def parameters(self, walks: Walks, after: int, rng: np.random.Generator) -> Array:
        """Return draws of the parameters from what was kept, but for the first; (chains, draws, size)."""
        ...


class TableChains(Walker):
    """Chains of a graph of tables, each with a generator of its own; parameters are kept on the way."""

    steps: ClassVar[int] = 2048
    telling: ClassVar[str] = "log_theta"

    def parameters(self, walks: Walks, after: int, rng: np.random.Generator) -> Array:
        """Return the parameters that the chains went through."""
        return np.exp(walks.log_theta[:, after:])


@dataclass(frozen=True, eq=False)
class NumericChains:
    """Chains of a graph with numeric families. A state ends with log u of the holes."""

    problem: Problem
    completions: Completions
    steps: ClassVar[int] = 512
    telling: ClassVar[str] = "counts"

    def walk(
        self,
        tau: Array,
        seeds: Sequence[int],
        *,
        start: Array | None = None,
        every: int = 1,
        keep: Sequence[str] = (),
        partly: bool = False,
    ) -> Walks:
        """Walk a chain for every seed through the inverse temperatures; as `Chains.walk`."""
        rng, chains = np.random.default_rng(list(seeds)), len(seeds)
        kept = (len(tau) - 1) // every
        self.check_room(chains, kept, keep)
        size = self.problem.dag.layout.statistics_size + 1
        trace = np.empty((chains, kept if "trace" in keep else 0))
        counts = np.empty((chains, kept if "counts" in keep else 0, size))
        state = self.first(chains, start, rng)
        log_weights = np.zeros(chains)
        done = 0
        try:
            for step in range(1, len(tau)):
                if tau[step] != tau[step - 1]:
                    before, after = self.log_tempered(tau[step - 1 : step + 1, None], state)
                    log_weights += after - before
                state = self.completions.draw(self.drawn(tau[step], state, rng), float(tau[step]), rng)
                if step % every == 0:
                    trace[:, step // every - 1 : step // every] = log_weights[:, None]
                    counts[:, step // every - 1 : step // every] = state[:, None]
                    done = step // every
        except KeyboardInterrupt:
            if not (partly and done):
                raise
            trace, counts = trace[:, :done], counts[:, :done]
        nothing = np.empty((chains, 0))
        return Walks(log_weights, trace, counts, nothing[..., None], np.ones(chains), nothing)

    def wander(self, *given: Any, **options: Any) -> Walks:
        """Refuse Metropolis moves."""
        raise ParameterError("moves='metropolis' is for discrete networks; leave it out to have Gibbs moves")

    def log_tempered(self, tau: float | Array, states: Array, /) -> Array:
        """Return log ∫ f_τ(x, θ) dθ, of the data in their own units at τ = 1; (..., size + 1) → (...).

        Several temperatures at once if ``tau`` has more axes than the states' leading ones.
        """
        tau = np.asarray(tau)
        problem, scaled = self.problem, tau[..., None] * states[..., :-1]
        evidence = complete_log_evidences(problem.belief, scaled, problem.known)
        return np.asarray(evidence + (1.0 - tau) * states[..., -1] + tau * problem.log_jacobian)

    def check_room(self, chains: int, kept: int, keep: Sequence[str]) -> None:
        """Refuse to keep more than fits into memory."""
        needed = 8.0 * self.problem.dag.layout.statistics_size * chains * kept * ("counts" in keep)
        what = f"keeping {kept} draws of {chains} chains"
        reserve(needed, what, "take fewer draws or temperatures", TooWideError)

    def parameters(self, walks: Walks, after: int, rng: np.random.Generator) -> Array:
        """Return parameters drawn given the completed rows, for standardised columns."""
        states = walks.counts[:, after:]
        drawn = self.drawn(1.0, states.reshape(-1, states.shape[-1]), rng)
        return drawn.reshape(*states.shape[:-1], -1)

    def first(self, chains: int, start: Array | None, rng: np.random.Generator) -> Array:
        """Return states drawn from u, or from the posterior of the holes at given parameters."""
        given = self.problem.belief.mean() if start is None else start
        theta = np.repeat(given[None], chains, axis=0)
        return self.completions.draw(theta, 0.0 if start is None else 1.0, rng)

    def drawn(self, tau: float, states: Array, rng: np.random.Generator) -> Array:
        """Draw parameters for standardised columns, given completed rows; (states, size)."""
        return draw_parameters(self.problem, tau * states[:, :-1], rng)


def draw_parameters(problem: Problem, statistics: Array, rng: np.random.Generator) -> Array:
    """Draw parameters given statistics of completed rows, each its own; known ones stay; (draws, size)."""
    belief, layout = problem.belief, problem.dag.layout
    out = np.empty((len(statistics), layout.size))
    out[:, : layout.tables] = layout.drawn(
        belief.alpha[: layout.tables] + statistics[:, : layout.tables], rng
    )
    for i, family in belief.dag.numeric:
        posterior = belief.hyper(i) + layout.statistics(statistics, i)
        layout.records(out, i)[:] = family.draw(posterior, belief.surplus, rng)
    return problem.with_known(out)


def lay_out(problem: Problem) -> TableChains | NumericChains:
    """Return a problem laid out for chains."""
    problem.check_rows()
    if problem.dag.numeric:
        return NumericChains(problem, completions_of(problem.dag, problem.rows("sampling")))
    walker = problem.prepared.walker("sampling", problem.sampled_alpha)
    return TableChains(walker.rows, walker.chunk, walker.target)


def seeds(rng: int | np.random.Generator, chains: int) -> list[int]:
    """Return a seed for each chain."""
    drawn = np.random.default_rng(rng).integers(0, 2**64, chains, dtype=np.uint64)
    return [int(seed) for seed in drawn]


def check_positive(**numbers: int) -> None:
    """Refuse a number of chains, steps or draws that is not at least one."""
    for name, number in numbers.items():
        if number < 1:
            raise ParameterError(f"{name} must be at least one, not {number}")
