"""How far two models lie apart, worked out exactly and without writing down their joint distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import budgeted
from lacunary.data.schema import Schema
from lacunary.errors import ParameterError, SchemaError, TooWideError
from lacunary.infer.answers import Answers
from lacunary.infer.joint import beforehand
from lacunary.infer.normal_divergence import check_networks, continuous_kl, normal_marginal_kl
from lacunary.maths import special

__all__ = ["CONFIGURATIONS", "FamilyDistance", "family_distances", "kl", "marginal_kl"]

CONFIGURATIONS = 2**22
"""The most configurations that `marginal_kl` writes down unless told otherwise."""

Family = tuple[str, ...]
"""Parents, and last the variable itself."""


@dataclass(frozen=True)
class FamilyDistance:
    """How far one table of a model is from what another model says of the same variables.

    For p(parents) p(variable | parents) and p(parents) q(variable | parents), which share the parents'
    distribution: the mean of the distances of the rows of the table, weighted by how often p meets them.

    Attributes
    ----------
    kl
        Kullback–Leibler divergence, in nats.
    hellinger
        √(½ Σ (√p − √q)²), from 0 to 1.
    total_variation
        ½ Σ |p − q|, from 0 to 1.
    """

    kl: float
    hellinger: float
    total_variation: float


@budgeted
def kl(p: Answers, q: Answers) -> float:
    """Return the Kullback–Leibler divergence KL(p ‖ q) = Σ p(x) log(p(x) / q(x)), in nats.

    The models have the same variables; their graphs may differ. Both logarithms are sums over
    families, so all that is needed are the marginals of p over the families of both. The answer is
    infinite where q gives probability zero to what p deems possible. With continuous variables it is
    ∫ p log(p/q), exact too; see `lacunary.infer.normal_divergence`.

    Parameters
    ----------
    p
        The model over whose distribution the mean is taken: the truth, where it is known.
    q
        The model that is judged: the estimate.

    Examples
    --------
    >>> import lacunary as lac
    >>> from lacunary.infer.divergence import kl
    >>> network = lac.asia()
    >>> kl(network, network)
    0.0
    """
    _check_same(p.dag.schema, q.dag.schema)
    check_networks(p, q)
    mine, theirs = _families(p), _families(q)
    joint = _marginals(p, [*mine, *theirs])
    total = continuous_kl(p, q)
    for one in mine:
        other = next(family for family in theirs if family[-1] == one[-1])
        if set(one) == set(other):
            # The same family in both: a difference of logs loses nothing to cancellation.
            axes = [one.index(name) for name in other]
            total += _mean_log_ratio(joint[other], np.transpose(_table(p, one), axes), _table(q, other))
        else:
            total += _mean_log(joint[one], _table(p, one)) - _mean_log(joint[other], _table(q, other))
    return max(total, 0.0)


@budgeted
def marginal_kl(p: Answers, q: Answers, names: Sequence[str], *, budget: int = CONFIGURATIONS) -> float:
    """Return KL(p ‖ q) between the marginal distributions of some variables, in nats.

    All other variables are summed out. The configurations of the named ones are written down; beyond
    ``budget`` of them the call is refused. ENT's *leaf* metric names the variables
    without children. The models need to share the named variables only. Continuous ones must be normal
    given the discrete ones named, in both models; a mixture of normals is refused.

    Examples
    --------
    >>> import lacunary as lac
    >>> truth = lac.asia()
    >>> lac.marginal_kl(truth, truth, ["smoke", "lung"])
    0.0
    """
    schema = Schema(tuple(p.dag.schema[name] for name in names))
    _check_same(schema, Schema(tuple(q.dag.schema[name] for name in names)))
    count = prod(size or 1 for size in schema.sizes)
    if count > budget:
        raise TooWideError(
            f"{', '.join(names)} have {count:,} configurations together, more than the budget of {budget:,}; "
            f"name fewer variables, or pass budget={count} to have them all written down"
        )
    if not all(variable.discrete for variable in schema):
        return normal_marginal_kl(p, q, names)
    mine, theirs = (model.query(*names).probabilities for model in (p, q))
    return max(float(special.rel_entr(mine, theirs).sum()), 0.0)


@budgeted
def family_distances(p: Answers, q: Answers) -> dict[str, FamilyDistance]:
    """Return how far each table of q is from what p says of the variable given the same parents.

    Continuous variables have no tables, and are refused.

    Examples
    --------
    >>> import lacunary as lac
    >>> truth = lac.asia()
    >>> near = lac.fit(truth.dag, truth.sample(5000, rng=0)).network
    >>> distances = lac.family_distances(truth, near)
    >>> bool(max(d.kl for d in distances.values()) < 0.01)
    True
    """
    _check_same(p.dag.schema, q.dag.schema)
    if p.dag.continuous:
        raise ParameterError(
            f"family_distances is about tables, and {p.dag.names[p.dag.continuous[0]]} is continuous; kl "
            "compares whole networks of every kind"
        )
    families = _families(q)
    joint = _marginals(p, families)
    return {family[-1]: _family_distance(joint[family], _table(q, family)) for family in families}


def _family_distance(joint: NDArray[np.float64], table: NDArray[np.float64]) -> FamilyDistance:
    weight = joint.sum(axis=-1, keepdims=True)
    other = weight * table
    return FamilyDistance(
        kl=max(float(special.rel_entr(joint, other).sum()), 0.0),
        hellinger=float(np.sqrt(0.5 * ((np.sqrt(joint) - np.sqrt(other)) ** 2).sum())),
        total_variation=float(0.5 * np.abs(joint - other).sum()),
    )


def _families(model: Answers) -> list[Family]:
    """Return the families of discrete variables."""
    dag = model.dag
    each = zip(dag.schema, dag.parents, strict=True)
    return [(*parents, variable.name) for variable, parents in each if variable.discrete]


def _table(model: Answers, family: Family) -> NDArray[np.float64]:
    return model.dag.layout.table(model.parameters(), model.dag.schema.index(family[-1]))


def _marginals(model: Answers, families: Sequence[Family]) -> dict[Family, NDArray[np.float64]]:
    """Return the joint distribution of each family, all from one pass over an empty row."""
    sets = list(dict.fromkeys(families))
    return dict(zip(sets, beforehand(model, sets), strict=True))


def _mean_log(joint: NDArray[np.float64], table: NDArray[np.float64]) -> float:
    """Return Σ joint · log table, where what does not happen counts nothing; −∞ is possible."""
    return float(special.xlogy(joint, table).sum())


def _mean_log_ratio(
    joint: NDArray[np.float64], mine: NDArray[np.float64], theirs: NDArray[np.float64]
) -> float:
    happens = joint > 0
    with np.errstate(divide="ignore"):
        ratio = np.log(mine[happens]) - np.log(theirs[happens])
    return float(joint[happens] @ ratio)


def _check_same(one: Schema, other: Schema) -> None:
    """Refuse models over different variables, with the first difference."""
    lone = sorted(set(one.names) ^ set(other.names))
    if lone:
        raise SchemaError(f"the models are over different variables: only one of them has {lone[0]}")
    for variable in one:
        if variable.kind != other[variable.name].kind:
            raise SchemaError(f"{variable.name} is continuous in one model and discrete in the other")
        if variable.states != other[variable.name].states:
            raise SchemaError(
                f"{variable.name} has the states {variable.states} in one model "
                f"and {other[variable.name].states} in the other"
            )
