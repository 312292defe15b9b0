"""The effective dimension of a network with hidden variables (GHM96).

Parameters are redundant where moving them changes nothing that can be observed. What counts is the rank of
the Jacobian of the map from the free parameters to the observable distribution: almost everywhere it is
the same number (GHM96 theorem 1), and that is found in exact arithmetic modulo a large prime. At given
parameters, where it can be smaller, it is read off singular values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.facts import hole_patterns
from lacunary.errors import ParameterError
from lacunary.family.protocol import ImpliedTable
from lacunary.family.registry import FAMILIES, bound
from lacunary.infer.answers import as_source
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array
from lacunary.model import make
from lacunary.model.dag import Dag
from lacunary.rank.block import Block
from lacunary.rank.chart import Chart, LogOddsChart, TableChart
from lacunary.rank.district import blocks
from lacunary.rank.generic import generic_rank
from lacunary.rank.patterns import Pattern, marginal_districts, widest
from lacunary.rank.scores import score_spectrum
from lacunary.rank.spectrum import spectrum
from lacunary.rank.trek import Trek

__all__ = ["Dimension", "dimension"]

Family = str | Mapping[str, str]

DRAWS = 2
"""Random parameters that are tried where the rank is taken in floating point."""


@dataclass(frozen=True, eq=False)
class Dimension:
    """How many dimensions the distributions have that a network can give to what is observed.

    Attributes
    ----------
    rank
        The effective dimension: rank of the Jacobian, almost everywhere or at the given parameters.
    parameters
        The number of free parameters.
    doubt
        A bound on the probability that ``rank`` is too small by bad luck; it is never too large. Zero
        where the rank is proven, None where no bound is known.
    singular_values
        At given parameters: of the parts with hidden variables (the others have full rank), in
        decreasing order, scaled as `lacunary.rank.spectrum` says.
    gap
        The smallest singular value that counts over the largest that does not; infinite if none is left out.
    """

    rank: int
    parameters: int
    doubt: float | None = 0.0
    singular_values: Array | None = None
    gap: float | None = None

    def __str__(self) -> str:
        known = self.gap is not None and np.isfinite(self.gap)  # where none is left out there is no gap
        gap = f", gap {self.gap:.3g}" if known else ""
        return f"rank {self.rank}, parameters {self.parameters}{gap}"


@budgeted
def dimension(
    dag: Dag | str,
    *,
    at: Network | None = None,
    family: Family | None = None,
    data: Any | None = None,
    rng: int | np.random.Generator | None = 0,
) -> Dimension:
    """Return the effective dimension of a network beside its number of parameters.

    Parameters
    ----------
    dag
        The graph, or its arrows, between variables of two states; its schema says what is hidden. Continuous
        variables are linear Gaussian: a mean, a variance and a coefficient for each arc, in every
        configuration of discrete parents.
    at
        Parameters at which to take the rank, in floating point; without them the rank is the one that
        holds almost everywhere, in exact arithmetic. Where there are discrete and continuous variables
        both, that too is taken in floating point, at random parameters.
    family
        ``"sigmoid"`` for every variable, or for some by name (GHM96 section 8), instead of the graph's own
        families.
    data
        Rows with holes. Only what is observed together in some of them counts: of ``A -> B`` that are never
        observed together two dimensions can be known, not three.
    rng
        Seed or generator of the random points.

    Examples
    --------
    >>> import lacunary as lac
    >>> print(dimension(lac.dag("A -> C <- H -> D <- B", hidden="H")))
    rank 9, parameters 11
    """
    dag = make.dag(dag) if isinstance(dag, str) else dag
    for i, leaf in dag.leaves:
        if not leaf.smooth:
            raise ParameterError(
                f"{dag.names[i]} is {leaf.phrase}: its density is not smooth in its parameters, and "
                "the dimension of such networks is not known; leave it out"
            )
    continuous = [variable.name for variable in dag.schema if not variable.discrete]
    if continuous and family is not None:
        raise ParameterError(f"family applies to discrete networks, and {continuous[0]} is continuous")
    if continuous and dag.implied:
        i, implied = dag.implied[0]
        raise ParameterError(
            f"the family of {dag.names[i]} is {implied.phrase}: the dimension of such networks is known "
            f"without continuous variables only; leave {continuous[0]} out"
        )
    patterns = _patterns(dag, data)
    if continuous and (at is not None or patterns or dag.leaves or len(continuous) < len(dag.schema)):
        return _scored(dag, at, np.random.default_rng(rng), patterns)
    if continuous:
        return _gaussian(dag, np.random.default_rng(rng))
    charts = _charts(dag, family)
    districts = blocks(dag) if patterns is None else [marginal_districts(dag, patterns)]
    parts = [Block(each, dag.layout, charts) for each in districts if each]
    parameters = sum(chart.size for chart in charts.values())
    if at is not None:
        return _at(dag, at, family, parts, parameters, np.random.default_rng(rng))
    return _generic(parts, parameters, np.random.default_rng(rng))


def _patterns(dag: Dag, data: Any | None) -> list[Pattern] | None:
    """Return which variables are observed together; None where some rows show all that is not hidden."""
    if data is None:
        return None
    held = hole_patterns(as_source(data, dag.schema))
    found = widest(
        frozenset(i for i, hole in enumerate(pattern) if not hole)
        for pattern, weight in held.items()
        if weight > 0
    )
    shown = frozenset(i for i, variable in enumerate(dag.schema) if not variable.hidden)
    return None if shown in found else found


def _generic(parts: Iterable[Block], parameters: int, rng: np.random.Generator) -> Dimension:
    """Add up the ranks of parts that share no parameter."""
    rank, doubts = 0, [0.0]
    known = True
    for part in parts:
        if part.trivial:
            rank += part.columns
            continue
        own, doubt = generic_rank(part, rng)
        rank += own
        known &= doubt is not None
        doubts.append(doubt or 0.0)
    return Dimension(rank, parameters, min(1.0, sum(doubts)) if known else None)


def _at(
    dag: Dag,
    at: Network,
    family: Family | None,
    parts: Iterable[Block],
    parameters: int,
    rng: np.random.Generator,
) -> Dimension:
    if at.dag != dag:
        raise ParameterError("at must be a network of the same graph: same variables, parents and ties")
    if family is not None:
        raise ParameterError("a network has tables: leave out family, or leave out at")
    rank, kept, dropped = 0, [np.empty(0)], [np.empty(0)]
    for part in parts:
        if part.trivial:
            rank += part.columns
            continue
        values, own = spectrum(part, at.theta, rng)
        own = min(own, generic_rank(part, rng)[0])  # at no point is it higher: what is beyond is rounding
        rank += own
        kept.append(values[:own])
        dropped.append(values[own:])
    left, below = np.concatenate(kept), np.concatenate(dropped)
    gap = left.min() / below.max() if len(left) and below.any() else np.inf
    values = np.sort(np.concatenate([left, below]))[::-1]
    return Dimension(rank, parameters, None, values, float(gap))


def _scored(
    dag: Dag, at: Network | None, rng: np.random.Generator, patterns: list[Pattern] | None = None
) -> Dimension:
    """Take the rank of the scores, at given parameters or the largest of some at random."""
    if at is not None and at.dag != dag:
        raise ParameterError("at must be a network of the same graph: same variables, parents and ties")
    tries = [score_spectrum(dag, at, rng, patterns) for _ in range(1 if at is not None else DRAWS)]
    values, own, plain = max(tries, key=lambda found: found[1])
    if at is not None and own < len(values):  # at no point is it higher than almost everywhere
        scored = dag.leaves or patterns or len(dag.discrete.names)
        most = _scored(dag, None, rng, patterns) if scored else _gaussian(dag, rng)
        own = min(own, most.rank - plain)
    gap = values[own - 1] / values[own] if 0 < own < len(values) and values[own] > 0 else np.inf
    return Dimension(plain + own, dag.free, None, values, float(gap))


def _gaussian(dag: Dag, rng: np.random.Generator) -> Dimension:
    trek = Trek(dag)
    rank, doubt = generic_rank(trek, rng)
    return Dimension(rank, trek.columns, doubt)


def _charts(dag: Dag, family: Family | None) -> dict[int, Chart]:
    """Return the parameters of each table, by its start in the layout."""
    wanted = dict.fromkeys(dag.names, family) if isinstance(family, str) else dict(family or dag.family)
    layout = dag.layout
    chosen: dict[int, Chart] = {}
    for name, kind in wanted.items():
        i = dag.schema.index(name)
        if kind not in FAMILIES or not FAMILIES[kind].implied:
            known = ", ".join(repr(k) for k, each in FAMILIES.items() if each.implied)
            raise ParameterError(f"{name}: the family {kind!r} is not known; there is {known}")
        if layout.sizes[i] != 2:
            raise ParameterError(f"{name}: a {kind} family needs a binary variable")
        made = bound(kind, dag.schema[name], [dag.schema[p] for p in dag.parents_of(name)])
        assert isinstance(made, ImpliedTable)
        chosen[i] = LogOddsChart(made.jacobian)
    for group in dag.tied:
        if len({dag.schema.index(name) in chosen for name in group}) > 1:
            raise ParameterError(f"tied variables need one family: {', '.join(group)}")
    return {
        layout.start[i]: chosen.get(i, TableChart(layout.states[i], layout.configurations[i]))
        for i in layout.blocks
    }
