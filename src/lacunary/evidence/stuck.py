"""Whether chains can have mixed: what is needed before their standard error means anything.

An error told from the chains' differences is small, and wrong, where all of them are held at the same place.
"""

from __future__ import annotations

import numpy as np

from lacunary.evidence.problem import Problem
from lacunary.maths.arrays import Array
from lacunary.maths.mixing import LEAST, split_rhat

__all__ = ["stuck"]

SMALL = 0.01
"""Pseudo-counts below which a state that no row is in is hardly ever drawn again."""

APART = 2.0
"""R̂ beyond which chains were apart: they vary three times as much between them as within."""


def stuck(problem: Problem, heights: Array) -> str:
    """Return a note that chains cannot be trusted to have mixed; nothing if they can.

    ``heights`` are log densities of what was drawn, at one or more temperatures; (chains, draws, ...).
    """
    notes = []
    least = _least(problem)
    if least < SMALL:
        notes.append(
            f"with pseudo-counts as small as {least:.3g} the states of holes stick to each other, and chains "
            "cannot be relied on to have mixed: the error may be far too small"
        )
    chains, draws = heights.shape[:2]
    if chains > 1 and draws >= LEAST:
        rhat = split_rhat(heights.reshape(chains, draws, -1)).max(initial=1.0)
        if rhat > APART:
            notes.append(f"chains did not mix (R̂ {rhat:.3g}): take more draws, or compare with 'ais'")
    return "; ".join(notes)


def _least(problem: Problem) -> float:
    """Return the least pseudo-count of a family in which a discrete cell is a hole; infinite if none is."""
    dag, layout = problem.dag, problem.dag.layout
    facts = problem.table.facts
    open_columns = facts.seen < facts.weight
    alpha = [
        problem.belief.alpha[layout.slice(i)].min()
        for i, parents in enumerate(dag.parent_indices)
        if layout.sizes[i] > 1 and any(open_columns[v] and layout.sizes[v] > 1 for v in (i, *parents))
    ]
    return float(min(alpha, default=np.inf))
