"""Averages over graphs: networks drawn as often as a table with holes speaks for them, and asked together.

Where rows are few no graph is much better than all others, and the best one is too sure of itself. Several
chains walk over graphs, what the holes hold, and parameters (`lacunary.structure.chain`). Each draw leaves
the belief p(θ | G, x), with which rows are told.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lacunary.budget import budgeted, reserve
from lacunary.data.wording import counted
from lacunary.errors import ParameterError
from lacunary.infer.answers import as_source
from lacunary.infer.ensemble import Ensemble
from lacunary.structure.arc_probabilities import ArcProbabilities, diagnosed
from lacunary.structure.chain import BYTES, Draw, Setting, whole_rows
from lacunary.structure.collapsed import walkers
from lacunary.structure.constraints import ArcsGiven, Constraints
from lacunary.structure.prior import DEFAULT, PriorGiven, StructurePrior

__all__ = ["GraphAverage", "average_graphs"]


@dataclass(frozen=True, eq=False)
class GraphAverage(Ensemble):
    """Networks drawn from the posterior, to be asked as one, and what the chains say of arcs.

    Attributes
    ----------
    arcs
        How probable each arc is, with errors, R̂ and effective sizes where chains are long enough for them.
    """

    arcs: ArcProbabilities

    @property
    def doubts(self) -> str:
        """What is doubtful about the columns, in a line; see `Table.doubts`."""
        return self.arcs.doubts

    def __str__(self) -> str:
        drawn = f"{counted(len(self.models), 'network')} drawn from the posterior, to be asked as one"
        return f"{drawn}\n{self.arcs}"

    __repr__ = __str__


@budgeted
def average_graphs(
    table: Any,
    *,
    prior: Any = None,
    structure_prior: PriorGiven = DEFAULT,
    draws: int = 200,
    burn: int = 20,
    chains: int = 4,
    required: ArcsGiven = (),
    forbidden: ArcsGiven = (),
    max_parents: int | None = None,
    tiers: Sequence[Sequence[str]] | None = None,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator = 0,
) -> GraphAverage:
    """Return many networks, each drawn from the posterior given a table with holes, to be asked as one.

    It fills holes better than the best graph alone, the more so the fewer the rows; see `lacunary.impute`.
    Variables may be discrete, continuous or both; none may be hidden.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path. Weights must be whole numbers.
    prior
        As of `search`.
    structure_prior
        How probable graphs are beforehand, as of `search`.
    draws, burn
        How many networks are kept in all, and how many draws each chain leaves out before. Chains begin
        without arcs; in the first half of ``burn`` they climb to the best graph near by before they move at
        random. With up to eight variables a graph is drawn from all graphs at once; if these are discrete,
        chains begin at graphs drawn at random, all but the first, and make some steps for each network.
    chains
        How many chains take part, at most one for each network; ``arcs`` of the result has what they say of
        arcs, and how well they agree.
    required, forbidden, max_parents, tiers
        As of `search`.
    watch
        Called with how many steps are done and how many there are.
    rng
        Seed or generator.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(60, rng=0), 0.2, rng=0)
    >>> many = average_graphs(rows, draws=4)
    >>> len(many.models)
    4
    >>> bool(lac.impute(many, rows).holes.any())
    False
    """
    if draws < 1 or burn < 0 or chains < 1:
        raise ParameterError(
            "draws and chains must be at least 1 and burn not negative, "
            f"not draws={draws}, chains={chains} and burn={burn}"
        )
    reserve(BYTES * draws, f"{draws} networks", "take fewer draws")
    rows, random = whole_rows(as_source(table).whole("a chain over graphs")), np.random.default_rng(rng)
    constraints = Constraints.of(
        rows.schema, required=required, forbidden=forbidden, max_parents=max_parents, tiers=tiers
    )
    setting = Setting.of(rows, prior, StructurePrior.of(structure_prior, constraints), constraints)
    many = min(chains, draws)
    length = -(-draws // many)
    kept: list[list[Draw]] = []
    for number, chain in enumerate(walkers(setting, random.spawn(many))):
        mine = []
        for step in range(burn + length):
            if watch is not None:
                watch(number * (burn + length) + step, many * (burn + length))
            mine.append(chain.step(climbing=2 * step < burn))
        kept.append(mine[burn:])
    taken = [mine[step] for step in range(length) for mine in kept][:draws]
    models = tuple(setting.scale.believed_outside(draw.belief) for draw in taken)
    each = np.array([[draw.arcs for draw in mine] for mine in kept])
    logs = np.array([[draw.log_posterior for draw in mine] for mine in kept])
    arcs = replace(diagnosed(setting, each, logs, length), doubts=str(getattr(rows, "doubts", "")))
    return GraphAverage(models, np.full(draws, 1.0 / draws), arcs)
