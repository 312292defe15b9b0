"""How far chains can be trusted: standard errors from their differences, and whether they can have mixed.

An error told from the chains' differences is small, and wrong, where all of them are held at the same place.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from lacunary.evidence.estimate import CERTAIN
from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.mixing import LEAST, split_rhat

__all__ = ["jackknife", "lone_rows", "mixing_note", "said_rhat", "sticky_note", "with_unseen"]

ENOUGH = 8
"""Chains from which a standard error has some meaning."""

SMALL = 0.01
"""Pseudo-counts below which a state that no row is in is hardly ever drawn again."""

APART = 2.0
"""R̂ beyond which chains were apart: they vary three times as much between them as within."""


def jackknife(
    estimate: Callable[[Integers], float], chains: int, draws: int
) -> tuple[float, float | None, float]:
    """Return the estimate from all chains, its standard error and its bias; no error from a single chain.

    With θ_c the estimate without chain c, the squared error is (C − 1)/C · Σ (θ_c − mean θ)², and the bias
    (C − 1) (mean θ − θ). ``estimate`` takes the numbers of the chains to use. Draws within a chain may depend
    on one another; to the error comes what none of the ``draws`` of all chains may have met.
    """
    every = np.arange(chains)
    value = estimate(every)
    if chains < 2:
        return value, None, 0.0
    without = np.array([estimate(np.delete(every, c)) for c in every])
    seen = float(np.sqrt((chains - 1) / chains * ((without - without.mean()) ** 2).sum()))
    return value, with_unseen(seen, draws), float((chains - 1) * (without.mean() - value))


def with_unseen(stderr: float, draws: int) -> float:
    """Return a standard error, and one part in as many as there are draws.

    What is rarer than that none of them may have met, and then they agree though something is missing.
    """
    return float(np.hypot(stderr, 1.0 / draws)) if stderr > CERTAIN else stderr


def mixing_note(problem: Problem, heights: Array) -> str:
    """Return why chains cannot be trusted, in words; nothing if they can.

    ``heights`` are log densities of what was drawn, at one or more temperatures; (chains, draws, ...).
    """
    notes = []
    chains, draws = heights.shape[:2]
    if chains < ENOUGH:
        notes.append(f"{chains} chains are too few to tell the error; take at least {ENOUGH}")
    if sticky := sticky_note(problem):
        notes.append(f"{sticky}: the error may be far too small")
    if chains > 1 and draws >= LEAST:
        rhat = split_rhat(heights.reshape(chains, draws, -1)).max(initial=1.0)
        if rhat > APART:
            notes.append(f"chains did not mix ({said_rhat(rhat)}): take more draws, or compare with 'ais'")
    return "; ".join(notes)


def said_rhat(rhat: float) -> str:
    """Return R̂ in words: it has no number where chains stand still, each at another place."""
    return f"R̂ {rhat:.3g}" if np.isfinite(rhat) else "each stayed where it was"


def sticky_note(problem: Problem) -> str:
    """Say that holes keep chains where they are, in words; nothing if pseudo-counts are large enough."""
    least = min((_pseudo_counts(problem, i).min() for i in _tables(problem, hollow=True)), default=np.inf)
    if least >= SMALL:
        return ""
    return (
        f"with pseudo-counts as small as {least:.3g} the states of holes stick to each other, and chains "
        "cannot be relied on to have mixed"
    )


def lone_rows(problem: Problem) -> float:
    """Return how many rows are alone in a configuration of whose states the prior knows next to nothing.

    Without such a row any state may be the one that always comes there, and with it hardly a draw of the
    parameters has another than the row's: what rows would be without it cannot be seen from draws.
    """
    layout, alpha = problem.dag.layout, problem.sampled_alpha[: problem.dag.layout.tables]
    known = layout.total(alpha)
    families = [
        i for i in _tables(problem, hollow=False) if known[layout.group[layout.slice(i)]].min() < SMALL
    ]
    if not families:
        return 0.0
    codes, _, weights = problem.rows("leaving rows out")
    groups = np.stack([layout.group[_places(problem, i, codes)] for i in families], axis=1)
    rows = np.bincount(groups.ravel(), np.repeat(weights, len(families)), minlength=len(known))
    own = (groups[:, :, None] == groups[:, None]).sum(axis=2)  # of tied families several in one
    lone = rows[groups] - own + known[groups] < SMALL
    return float(weights @ lone.any(axis=1))


def _places(problem: Problem, i: int, codes: NDArray[np.signedinteger]) -> Integers:
    """Return the places of rows in a table; (rows,)."""
    layout = problem.dag.layout
    steps = codes[:, list(layout.members[i])].astype(np.int64) @ np.array(layout.strides[i])
    return np.asarray(layout.start[i] + steps)


def _pseudo_counts(problem: Problem, i: int) -> Array:
    return np.asarray(problem.belief.alpha[problem.dag.layout.slice(i)])


def _tables(problem: Problem, hollow: bool) -> list[int]:
    """Return the variables whose tables are learned, and of whose family some cells are holes, or none is."""
    dag, facts = problem.dag, problem.table.facts
    sizes, open_columns = dag.layout.sizes, facts.seen < facts.weight
    return [
        i
        for i, parents in enumerate(dag.parent_indices)
        if sizes[i] > 1
        and dag.names[i] not in (problem.fixed or ())
        and hollow == any(open_columns[v] and sizes[v] > 1 for v in (i, *parents))
    ]
