"""A graph that changes an arc at a time: who is whose ancestor, and which single change gains most.

``arcs[i, j]`` says whether i → j, ``above[j, i]`` whether i is an ancestor of j, ``gain[i, j]`` what the arc
i → j adds to the score if it is put in, or taken out where it is there; all (n, n).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.compile import called, inlined, patient

__all__ = ["best_move", "choose", "join", "link", "part", "unlink"]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
NONE = -np.inf


@patient
def join(above: Bools, tail: int, head: int) -> None:
    """Put in tail → head: head and all below it have tail and all above it as ancestors."""
    link(above, tail, head)


@called
def link(above: Bools, tail: int, head: int) -> None:
    """Do `join`, within another kernel."""
    n = len(above)
    for low in range(n):
        if low == head or above[low, head]:
            for high in range(n):
                above[low, high] |= above[tail, high]
            above[low, tail] = True


@patient
def part(arcs: Bools, above: Bools, head: int, waiting: NDArray[np.int64]) -> None:
    """Work ancestors out anew for head and all below it, after ``arcs`` lost one into head.

    ``waiting`` has room for n numbers. A node's turn comes once none of its parents waits; the first to
    wait is head, so there always is one.
    """
    unlink(arcs, above, head, waiting)


@called
def unlink(arcs: Bools, above: Bools, head: int, waiting: NDArray[np.int64]) -> None:
    """Do `part`, within another kernel."""
    n, many, node = len(above), 0, head
    for low in range(n):
        if low == head or above[low, head]:
            waiting[many] = low
            many += 1
    while many:
        for place in range(many):
            node = waiting[place]
            if _free(arcs, node, waiting, many):
                many -= 1
                waiting[place] = waiting[many]
                break
        for high in range(n):
            above[node, high] = False
        for parent in range(n):
            if arcs[parent, node]:
                for high in range(n):
                    above[node, high] |= above[parent, high]
                above[node, parent] = True


@inlined
def _free(arcs: Bools, node: int, waiting: NDArray[np.int64], many: int) -> bool:
    """Whether none of a node's parents waits."""
    for other in range(many):  # noqa: SIM110, a loop compiles to less
        if arcs[waiting[other], node]:
            return False
    return True


@inlined
def _toggled(
    arcs: Bools, above: Bools, free: Bools, required: Bools, room: bool, gain: float, tail: int, head: int
) -> float:
    """Return what putting an arc in, or taking it out, gains; −inf where that is no move."""
    if arcs[tail, head]:
        return NONE if required[tail, head] else gain
    return gain if room and free[tail, head] and not above[tail, head] else NONE


@inlined
def _turned(
    arcs: Bools, above: Bools, free: Bools, required: Bools, room: bool, gain: float, tail: int, head: int
) -> float:
    """Return what turning tail → head round gains; −inf where that is no move.

    No other path may lead from tail to head: then none of head's parents has tail above it.
    """
    if not arcs[tail, head] or required[tail, head] or not free[head, tail] or not room:
        return NONE
    for parent in range(len(arcs)):
        if arcs[parent, head] and above[parent, tail]:
            return NONE
    return gain


@inlined
def _priced(
    arcs: Bools, counted: Bools, gain: Floats, more: float, less: float, tail: int, head: int
) -> float:
    """Return what an arc gains if it is put in or taken out, with what the prior says of its link."""
    one: float = gain[tail, head]
    if counted[tail, head]:
        one += less if arcs[tail, head] else more
    return one


@patient
def best_move(
    arcs: Bools,
    above: Bools,
    free: Bools,
    required: Bools,
    many: NDArray[np.int64],
    most: int,
    barred: Bools,
    gain: Floats,
    counted: Bools,
    more: float,
    less: float,
    tie: float,
) -> tuple[int, int, int, float]:
    """Return kind, tail, head and gain of the best move.

    Kind 1 puts an arc in or takes it out, 2 turns it round; 0 stands for no move at all. Gains within ``tie``
    of the greatest are as good: of them rather no turn, then the first head, then the first tail; of turns
    the first tail, then the first head.

    Parameters
    ----------
    arcs, above, gain
        The graph, its ancestors and what each arc gains: see the head of this file; (n, n).
    free, required
        Which arcs may be put in, and which must not be taken out; (n, n).
    many, most
        How many parents each node has, (n,), and how many it may have.
    barred
        Which arcs are to be left as they are; (n, n).
    counted, more, less
        Which arcs' links count, (n, n), and what one more of them gains besides, and what one less does.
    tie
        How near the greatest gain is as good.
    """
    return choose(arcs, above, free, required, many, most, barred, gain, counted, more, less, tie)


@called
def choose(
    arcs: Bools,
    above: Bools,
    free: Bools,
    required: Bools,
    many: NDArray[np.int64],
    most: int,
    barred: Bools,
    gain: Floats,
    counted: Bools,
    more: float,
    less: float,
    tie: float,
) -> tuple[int, int, int, float]:
    """Do `best_move`, within another kernel."""
    n = len(arcs)
    here, there = NONE, NONE  # the greatest gains so far of putting in or out, and of turning
    for tail in range(n):  # no legal move among the arcs gone through gains more than these
        for head in range(n):
            if not barred[tail, head]:
                one = _priced(arcs, counted, gain, more, less, tail, head)
                if one > here:
                    here = max(
                        here, _toggled(arcs, above, free, required, many[head] < most, one, tail, head)
                    )
                if arcs[tail, head]:
                    both = gain[tail, head] + gain[head, tail]
                    if both > there:
                        there = max(
                            there, _turned(arcs, above, free, required, many[tail] < most, both, tail, head)
                        )
    if here == NONE and there == NONE:
        return 0, 0, 0, NONE
    if here >= there - tie:
        for head in range(n):
            for tail in range(n):
                one = _priced(arcs, counted, gain, more, less, tail, head)
                if one >= here - tie and not barred[tail, head]:
                    one = _toggled(arcs, above, free, required, many[head] < most, one, tail, head)
                    if one >= here - tie:
                        return 1, tail, head, one
    for tail in range(n):
        for head in range(n):
            if arcs[tail, head] and not barred[tail, head]:
                both = gain[tail, head] + gain[head, tail]
                if both >= there - tie:
                    both = _turned(arcs, above, free, required, many[tail] < most, both, tail, head)
                    if both >= there - tie:
                        return 2, tail, head, both
    return 0, 0, 0, NONE
