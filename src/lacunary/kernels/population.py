"""Moves of many states side by side, along a path of distributions from a base to the posterior.

`docs/derivations/sampled.md` derives the path. A state is the counts of completed rows.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.cell import Kinds, Room, Spots
from lacunary.kernels.compile import called, kernel
from lacunary.kernels.draw import add_draws
from lacunary.kernels.pack import Slab
from lacunary.kernels.spread import Scratch
from lacunary.kernels.variate import uniform
from lacunary.kernels.walk import Target, draw_theta

__all__ = ["Bases", "log_share", "move"]


class Bases(NamedTuple):
    """Where a path begins: one or more distributions of completions and parameters.

    ``expected`` are the counts that each adds to the prior's (bases, size), ``tilt`` the logs of its
    potentials of completions (bases, size). ``label`` has the tilt of every base under every renaming of
    hidden states, the bases themselves first, (components, size), and ``level`` the log of each one's
    weight less that of its normaliser (components,). With a single component nothing is shared.
    """

    expected: NDArray[np.float64]
    tilt: NDArray[np.float64]
    label: NDArray[np.float64]
    level: NDArray[np.float64]


@called
def log_share(bases: Bases, which: int, counts: Any) -> float:
    """Return the log of the share that one component has in the density of completions with these counts."""
    own, top, rest = 0.0, -np.inf, 0.0
    for c in range(bases.level.size):
        log = bases.level[c]
        for i in range(counts.size):
            log += counts[i] * bases.label[c, i]
        if c == which:
            own = log
        if log > top:  # rest · exp(top) is the sum so far
            rest = rest * math.exp(top - log) + 1.0
            top = log
        else:
            rest += math.exp(log - top)
    return own - top - math.log(rest)


@kernel
def move(
    kinds: Kinds,
    slab: Slab,
    spots: Spots,
    room: Room,
    scratch: Scratch,
    target: Target,
    bases: Bases,
    tau: float,
    steps: int,
    which: Any,
    counts: Any,
    share: Any,
    stream: Any,
) -> bool:
    """Move every state so many steps at one inverse temperature; tell whether all rows had completions.

    A step draws the parameters given the counts, then completions given the parameters; where components
    share the density, the new completions are taken with the ratio of their own component's shares.

    Parameters
    ----------
    kinds, slab, spots, room, scratch
        Cells and working memory, as `add_draws` takes them.
    target, bases
        The prior and the constant counts; where the path begins.
    tau, steps
        How far along the path, and how many steps.
    which
        The base that each state came from; (states,).
    counts, share, stream
        States, the log share of their component, and the states of their random numbers; overwritten;
        (states, size), (states,) and (states,).
    """
    size, groups = target.alpha.size, target.total.size
    mixed, log_theta, fresh, potential = np.empty(size), np.empty(size), np.empty(size), np.empty(size)
    top, sums, own = np.empty(groups), np.empty(groups), np.empty(1, np.uint64)
    for p in range(counts.shape[0]):  # states before p have moved, and their random numbers are kept
        b, own[0] = which[p], stream[p]
        # ``counts[p]`` and ``share[p]`` are those of the last completions that were taken.
        for _ in range(steps):
            for i in range(size):
                mixed[i] = (1.0 - tau) * bases.expected[b, i] + tau * counts[p, i]
            draw_theta(target, 1.0, mixed, own, log_theta, top, sums)
            for i in range(size):
                potential[i] = math.exp(tau * log_theta[i] + (1.0 - tau) * bases.tilt[b, i])
                fresh[i] = target.constant[i]
            if not add_draws(kinds, slab, spots, potential, room, scratch, own, fresh):
                return False
            if bases.level.size > 1:
                log = log_share(bases, b, fresh)
                if tau > 0.0 and log < share[p] and math.log(uniform(own)) >= tau * (log - share[p]):
                    continue
                share[p] = log
            for i in range(size):
                counts[p, i] = fresh[i]
        stream[p] = own[0]
    return True
