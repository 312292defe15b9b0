"""A chain over graphs of few discrete variables and what their holes hold, with parameters integrated out.

Every step draws each row's holes given the graph and all other rows, and a graph from all graphs given the
rows; no parameters stand between the two. It does what `lacunary.structure.chain` does for variables of any
kind, but all in one kernel (`lacunary.kernels.collapsed`), and so some hundred times as fast.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from lacunary.budget import reserve
from lacunary.data.table import Table
from lacunary.infer.belief import BDeu, Dirichlet
from lacunary.kernels.collapsed import Fixed, Moving, Room, walk_collapsed
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.maths.special import log_rising
from lacunary.structure.all_graphs import AllGraphs, charges
from lacunary.structure.chain import Chain, CompleteTable, Draw, Setting, Walker
from lacunary.structure.constraints import Constraints
from lacunary.structure.score import Structure

__all__ = ["Collapsed", "walkers"]

CELLS = 2**18
"""Cells of the joint table, with a state more for each variable, up to which each step goes through it."""

BURN = 100
"""Steps that are left out: chains begin far apart."""

LEAST, MOST, BEFORE = 256, 4096, 0.06
"""Steps that a chain takes in any case, at least and at most, and about how many seconds they may take."""

APART = 1e-3
"""Seconds for which a chain goes on, about, between two networks that are drawn."""


def walkers(setting: Setting, rngs: Sequence[np.random.Generator]) -> list[Walker]:
    """Return chains, each with its own source of chance: without parameters where that can be."""
    sizes = [variable.size for variable in setting.rows.schema if variable.discrete]
    discrete = len(sizes) == len(setting.rows.schema) and isinstance(setting.prior, BDeu | Dirichlet)
    if not (discrete and setting.few and prod(size + 1 for size in sizes) <= CELLS):
        return [Chain(setting, each) for each in rngs]
    cells = float(prod(sizes))
    reserve(16.0 * len(rngs) * len(sizes) * cells, f"counts for {len(rngs)} chains", "take fewer chains")
    fixed, (first, *others) = _fixed(setting), rngs
    empty: Structure = tuple(setting.constraints.start(None))
    every = AllGraphs(np.where(fixed.may, 0.0, -np.inf), setting.structure_prior.counted, 0.0)
    started = [(every.draw(each), each) for each in others]
    return [Collapsed(setting, fixed, *given) for given in [(empty, first), *started]]


def _fixed(setting: Setting) -> Fixed:
    """Lay out what all chains on a table share."""
    table, prior, graphs = setting.rows, setting.prior, setting.structure_prior
    n, sizes = len(table.schema), np.array(table.schema.sizes, dtype=np.int64)
    stride = np.concatenate([[1], np.cumprod(sizes + 1)[:-1]]).astype(np.int64)
    cell = np.arange(prod((sizes + 1).tolist()))
    named = (cell[:, None] // stride) % (sizes + 1) < sizes
    sets = np.arange(1 << n, dtype=np.int64)
    inside = (sets[:, None] >> np.arange(n)) & 1 == 1
    cells = np.where(inside, sizes, 1).prod(axis=1)
    if isinstance(prior, BDeu):
        each = prior.ess / cells
        above = np.repeat(each[None], n, axis=0)
    else:
        assert isinstance(prior, Dirichlet)
        each = np.full(1 << n, float(prior.alpha))
        above = np.repeat(prior.alpha * sizes[:, None].astype(np.float64), 1 << n, axis=1)
    alpha, which = np.unique(np.concatenate([each[None], above]), return_inverse=True)
    which = which.reshape(n + 1, -1).astype(np.int64)
    reserve(16.0 * len(alpha) * len(table), f"scores of up to {len(table)} rows", "give fewer rows")
    gain = log_rising(alpha[:, None], np.arange(len(table) + 1.0))
    holes = table.holes[table.holes.any(axis=1)]
    drawn = graphs.name == "beta-binomial" and len(graphs.logs) > 1
    return Fixed(
        sizes=sizes,
        stride=stride,
        sets=named @ (1 << np.arange(n)),
        hole_start=np.concatenate([[0], np.cumsum(holes.sum(axis=1))]).astype(np.int64),
        hole=np.nonzero(holes)[1].astype(np.int64),
        alpha=alpha,
        gain=gain,
        cells=which[0],
        above=which[1:],
        may=_admitted(setting.constraints, sets, inside),
        links=np.array([(inside & graphs.counted[:, i]).sum(axis=1) for i in range(n)], dtype=np.int64),
        three=inside @ 3 ** np.arange(n, dtype=np.int64),
        many=len(graphs.logs) - 1 if drawn else 0,
        charge=0.0 if drawn else charges(graphs)[0].link,
        logs=np.ascontiguousarray(graphs.logs),
    )


class Collapsed:
    """One chain, from a graph; see the module."""

    burn = BURN
    seconds: float | None

    def __init__(self, setting: Setting, fixed: Fixed, start: Structure, rng: np.random.Generator) -> None:
        self.setting, self.fixed, table = setting, fixed, setting.rows
        n, width = len(fixed.sizes), len(fixed.sets)
        self.seconds = each = _seconds(fixed)
        self.least, self.apart = int(min(max(BEFORE / each, LEAST), MOST)), max(int(APART / each), 1)
        open_rows = table.holes.any(axis=1)
        codes = np.array(table.codes, dtype=np.int64)
        joint = np.bincount(codes[~open_rows] @ fixed.stride, minlength=width).astype(np.float64)
        parents = np.array([sum(1 << p for p in ps) for ps in start], dtype=np.int64)
        stream = rng.integers(2**63, size=1).astype(np.uint64)
        filled = np.zeros(1, dtype=np.int64)
        self.moving = Moving(np.ascontiguousarray(codes[open_rows]), joint, parents, filled, stream)
        self.room = _room(n, width, int(np.prod(fixed.sizes)))

    def walk(self, steps: int, climbing: bool = False) -> tuple[Array, Array]:
        """Go on by some steps; return each one's arcs and log posterior, (steps, n, n) and (steps,)."""
        n = len(self.fixed.sizes)
        arcs, heights = np.zeros((steps, n, n)), np.empty(steps)
        walk_collapsed(self.fixed, self.moving, self.room, arcs, heights)
        return arcs, heights

    def step(self, climbing: bool = False) -> Draw:
        """Go on until the graph has little to do with the one before, and say what is believed there."""
        arcs, heights = self.walk(self.apart)
        sizes, stride = self.fixed.sizes, self.fixed.stride
        cells = np.flatnonzero(self.moving.joint)
        codes = (cells[:, None] // stride % (sizes + 1)).astype(np.int64)
        rows = Table(self.setting.rows.schema, codes, weights=self.moving.joint[cells])
        belief = self.setting.believed(self.structure, CompleteTable(self.setting, rows))
        return Draw(belief, arcs.mean(axis=0), float(heights[-1]))

    @property
    def structure(self) -> Structure:
        """The graph where the chain stands."""
        n = len(self.fixed.sizes)
        return tuple(tuple(p for p in range(n) if int(s) >> p & 1) for s in self.moving.parents)


def _room(n: int, width: int, cells: int) -> Room:
    """Return working memory for n variables, a table of so many cells, and as many without states "any"."""
    sets, states = 1 << n, 3**n
    return Room(
        sums=np.zeros(width),
        score=np.zeros((n + 1, sets)),
        terms=np.zeros((n, sets)),
        zeta=np.zeros((n, sets)),
        family=np.zeros((n, cells)),
        parent=np.zeros((n, cells)),
        place=np.zeros((n, n), dtype=np.int64),
        up=np.zeros((n, n), dtype=np.int64),
        choice=np.zeros(cells),
        masks=np.zeros(sets, dtype=np.int64),
        logs=np.zeros(sets),
        who=np.zeros(n, dtype=np.int64),
        steps=np.zeros(n),
        below=np.zeros(states),
        passed=np.zeros(states),
        chances=np.zeros(n),
        layers=np.zeros(n, dtype=np.int64),
    )


def _seconds(fixed: Fixed) -> float:
    """Return about how long a step takes."""
    n = len(fixed.sizes)
    sizes = np.log(fixed.sizes[fixed.hole].astype(np.float64))
    rows = np.repeat(np.arange(len(fixed.hole_start) - 1), np.diff(fixed.hole_start))
    ways = float(np.exp(np.bincount(rows, sizes)).sum())
    return 4.5e-8 * 4.0**n + 8e-9 * n * ways + 1e-8 * n * len(fixed.sets)


def _admitted(constraints: Constraints, sets: Integers, inside: Booleans) -> Booleans:
    """Return which sets may be a child's parents; (n, 2ⁿ)."""
    free, must = (each.T @ (1 << np.arange(len(each))) for each in (constraints.free, constraints.required))
    few = inside.sum(axis=1) <= constraints.max_parents
    return np.asarray(few & (sets & ~free[:, None] == 0) & (must[:, None] & ~sets == 0))
