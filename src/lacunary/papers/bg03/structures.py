"""BG03's structures, the two candidates for the true one, and data drawn from it."""

from __future__ import annotations

from functools import cache
from itertools import combinations_with_replacement

import lacunary as lac
from lacunary.papers import seed_of

__all__ = ["OBSERVED", "SIZES", "TRUE", "data", "graph", "structures", "truth"]

OBSERVED = ("y1", "y2", "y3", "y4")
STATES = 5

SIZES = (10, 20, 40, 80, 110, 160, 230, 320, 400, 430, 480, 560, 640, 800, 960, 1120, 1280, 2560, 5120, 10240)
"""The doublings from 10 to 10 240, and nine more where ranks change, 480 and 1 120 among them."""

Code = tuple[int, int]
"""The children of the two hidden variables, a bit for each observed one; the smaller number first."""

TRUE: dict[str, Code] = {"apart": (0b0111, 0b1110), "shared": (0b0011, 0b1111)}
"""The true structure: two observed variables have both parents and two have one.

The printed figure is lost. The two that have one parent may have different ones, "apart", or "shared" one.
"""


def structures() -> list[Code]:
    """Return all structures; a structure and its mirror image are one: (256 + 16) / 2 = 136."""
    return list(combinations_with_replacement(range(2 ** len(OBSERVED)), 2))


@cache
def graph(code: Code) -> lac.Dag:
    """Return a structure as a graph of two hidden binary and four observed variables of five states."""
    hidden = tuple(lac.Variable(f"h{h + 1}", (0, 1), hidden=True) for h in range(2))
    seen = tuple(lac.Variable(name, tuple(range(STATES))) for name in OBSERVED)
    arcs = [
        (f"h{h + 1}", name)
        for h, children in enumerate(code)
        for place, name in enumerate(OBSERVED)
        if children >> place & 1
    ]
    return lac.Dag.from_arcs(lac.Schema((*hidden, *seen)), arcs)


def truth(parents: str, alpha: float, setting: int) -> lac.Network:
    """Draw the true parameters from the prior; the same setting gives the same ones."""
    seed = seed_of("bg03", "truth", parents, alpha, setting)
    return lac.random_network(graph(TRUE[parents]), lac.Dirichlet(alpha), rng=seed)


def data(parents: str, alpha: float, setting: int, rows: int) -> lac.Table:
    """Return the first rows of the one table drawn from a setting: larger ones contain smaller ones."""
    seed = seed_of("bg03", "data", parents, alpha, setting)
    drawn = truth(parents, alpha, setting).sample(max(SIZES), rng=seed).select(list(OBSERVED))
    return drawn.take(slice(rows))
