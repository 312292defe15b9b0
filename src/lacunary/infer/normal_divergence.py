"""How far continuous variables of two networks lie apart.

The joint density of a network is a product over families, so KL(p ‖ q) is a sum over variables x of
E[log p(x | its parents in p)] − E[log q(x | its parents in q)] under p. Given the discrete variables that
matter, p is one normal, and the residual r of q's regression is normal too; a regression with variance s²
under p and σ² under q adds

    ½ E[r²]/σ² − ½ − ½ log(s²/σ²)

in each configuration: exact, whatever the graphs. Marginal densities are mixtures of normals wherever a
discrete parent is not among the variables compared, and then there is no closed form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lacunary.errors import ParameterError
from lacunary.family.leaf import LeafFamily
from lacunary.infer.answers import Answers
from lacunary.infer.joint import Joint, ancestors, joint
from lacunary.infer.network import Network
from lacunary.model.dag import Dag

__all__ = ["check_networks", "continuous_kl", "normal_marginal_kl"]

Array = NDArray[np.float64]


def check_networks(*models: Answers) -> None:
    """Refuse a belief about continuous variables, which are Student t there."""
    if any(model.dag.continuous and not isinstance(model, Network) for model in models):
        raise ParameterError(
            "a belief's continuous variables are Student t, between which no divergence has a closed form; "
            "compare networks, such as Network(belief.dag, belief.mean())"
        )


def continuous_kl(p: Answers, q: Answers) -> float:
    """Return what the continuous variables add to KL(p ‖ q), in nats; it may be infinite."""
    return sum(_family_kl(p, q, p.dag.names[i]) for i in p.dag.continuous)


def _family_kl(p: Answers, q: Answers, name: str) -> float:
    """Return E[log p(name | its parents in p)] − E[log q(name | its parents in q)] under p."""
    i, k = p.dag.schema.index(name), q.dag.schema.index(name)
    one, other = p.dag.number(i), q.dag.number(k)
    if isinstance(other, LeafFamily) or one.counts:
        same = isinstance(other, LeafFamily) and type(one) is type(other)
        return _leaf_kl(p, q, i, k) if same else float("inf")
    above = [p.dag.schema.index(q.dag.names[v]) for v in q.dag.layout.regressors[k]]
    among = [p.dag.schema.index(q.dag.names[v]) for v in q.dag.layout.members[k][1:]]
    known = joint(p, [*above, i], among)
    mine, theirs = _records(known, p, p.dag, i), _records(known, q, p.dag, k)
    contrast, start = _contrast(known, theirs, i, above), theirs[:, 0]
    variance = theirs[:, -1]
    if one.leaf:
        square = _mean_square(known, contrast, start)
        each = 0.5 * (np.log(2 * np.pi * variance) + square / variance) - one.entropy(mine)
        return float(known.probability @ each)
    ratio = mine[:, -1] / variance
    if i in ancestors(p.dag, above):
        square = _mean_square(known, contrast, start)
        each = square / variance - 1 - np.log(ratio)
    else:
        # p's own noise is independent of all else in the residual: what is left of it vanishes where p is q.
        own = _contrast(known, mine, i, list(p.dag.layout.regressors[i]))
        square = _mean_square(known, contrast - own, start - mine[:, 0])
        each = square / variance + (ratio - 1 - np.log(ratio))
    return float(0.5 * (known.probability @ each))


def _leaf_kl(p: Answers, q: Answers, i: int, k: int) -> float:
    family = p.dag.families[i]
    assert isinstance(family, LeafFamily)
    among = [p.dag.schema.index(q.dag.names[v]) for v in q.dag.layout.members[k][1:]]
    known = joint(p, [i], among)
    return float(known.probability @ family.kl(_records(known, p, p.dag, i), _records(known, q, p.dag, k)))


def _records(known: Joint, model: Answers, dag: Dag, i: int) -> Array:
    """Return the parameters of a model's variable i in each configuration of p's; (k, m + 2)."""
    place = {dag.names[v]: k for k, v in enumerate(known.discrete)}
    return known.records(model.dag, model.parameters(), i, place)


def _contrast(known: Joint, records: Array, i: int, above: Sequence[int]) -> Array:
    """Return what a regression's residual, but for the intercept, is of the continuous variables; (k, n)."""
    out = np.zeros((len(records), len(known.continuous)))
    out[:, known.continuous.index(i)] = 1.0
    out[:, [known.continuous.index(v) for v in above]] -= records[:, 1:-1]
    return out


def _mean_square(known: Joint, contrast: Array, start: Array) -> Array:
    """Return E[(contrast · x − start)²] in each configuration; (k,)."""
    middle = (contrast * known.mean).sum(axis=1) - start
    spread = np.einsum("ki,kij,kj->k", contrast, known.covariance, contrast)
    return np.asarray(middle**2 + np.maximum(spread, 0.0))


def normal_marginal_kl(p: Answers, q: Answers, names: Sequence[str]) -> float:
    """Return KL(p ‖ q) between the marginals of variables some of which are continuous, in nats.

    Given the discrete ones that are named, the continuous ones must be normal in both models.
    """
    check_networks(p, q)
    mine, theirs = (_marginal(model, names) for model in (p, q))
    total = 0.0
    for states, (probability, mean, covariance) in mine.items():
        if states not in theirs:
            return float("inf")
        other = theirs[states]
        total += probability * (np.log(probability / other[0]) + _normal_kl(mean, covariance, *other[1:]))
    return max(float(total), 0.0)


def _marginal(model: Answers, names: Sequence[str]) -> dict[tuple[int, ...], tuple[float, Array, Array]]:
    """Return probability, mean and covariance for each configuration of the discrete variables named."""
    dag = model.dag
    where = [dag.schema.index(name) for name in names]
    discrete, reals = ([v for v in where if bool(dag.schema.sizes[v]) is kind] for kind in (True, False))
    known = joint(model, reals, discrete)
    between = [dag.names[v] for v in known.discrete if v not in discrete]
    if between:
        shown = ", ".join(name for name in names if not dag.schema[name].discrete)
        _refuse(f"{shown}: summed over {', '.join(between)} the density is a mixture of normals")
    for v, family in dag.leaves:
        if v in known.continuous:
            _refuse(f"{dag.names[v]} is {family.phrase}")
    columns = [known.continuous.index(v) for v in reals]
    return {
        tuple(int(s) for s in states): (float(p), mean[columns], covariance[np.ix_(columns, columns)])
        for states, p, mean, covariance in zip(
            known.states, known.probability, known.mean, known.covariance, strict=True
        )
    }


def _refuse(why: str) -> None:
    raise ParameterError(
        f"{why}, and the divergence has no closed form. Name the discrete variables as well, or estimate it: "
        "draw rows = p.sample(…), make all other columns holes, and take the mean and standard error of "
        "p.log_probability(rows) - q.log_probability(rows)"
    )


def _normal_kl(mean: Array, covariance: Array, other: Array, wider: Array) -> float:
    """Return KL between two normals: ½ Σ (λ − 1 − log λ) + ½ d², λ the eigenvalues of wider⁻¹·covariance."""
    lower = np.linalg.cholesky(wider)
    half = np.linalg.solve(lower, np.linalg.cholesky(covariance))
    value = np.linalg.svd(half, compute_uv=False) ** 2
    apart = np.linalg.solve(lower, mean - other)
    return float(0.5 * ((value - 1 - np.log(value)).sum() + apart @ apart))
