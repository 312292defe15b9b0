"""Gaussian components whose regressions have volume, shape or orientation in common.

With intercepts at their best, component c and child i add ½ n_c log w − ½ w r(b) to what the M-step
maximises: w = 1/(λ_c a_ci) is the precision of the noise, r(b) what coefficients b leave of the child's
scatter, both with the prior's pseudo-rows, and n_c = N_c + α − n as without sharing. Shared coefficients are
the regression on the scatters added up with w as weights; shared variances are averages of r. Where one
depends on the other they take turns, each at its best given the other, so that a step never loses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from lacunary.data.source import Source
from lacunary.errors import ParameterError
from lacunary.kernels.regressions import put_inverses
from lacunary.maths.moments import factor, joined, parted
from lacunary.mixture.gaussian import Gaussian, Gaussians, is_complete
from lacunary.mixture.sharing import Sharing
from lacunary.structure.gaussian import Normal
from lacunary.structure.score import Structure

__all__ = ["Tied", "variances"]

Array = NDArray[np.float64]

TURNS, TOLERANCE = 100, 1e-10
"""The most turns between coefficients and variances in one M-step, and the change at which they end."""


class Tied(Gaussian):
    """The engine of Gaussian components of one structure that share volume, shape or orientation."""

    def __init__(self, table: Source, sharing: Sharing, prior: Normal | None = None) -> None:
        super().__init__(table, prior)
        self.sharing = sharing
        # A sphere in the data's units is none in standardised columns.
        log = -2.0 * np.log(self.scale.spread)
        self._sphere = np.exp(log - log.mean()) if sharing.sphere else None

    def draw(self, structures: Sequence[Structure], ess: float, rng: np.random.Generator) -> Gaussians:
        """Return components drawn around the fit of one to all rows, brought to what they share.

        Their means are drawn as rows are: components that differ in little else would not part.
        """
        drawn = super().draw(structures, ess, rng).root
        spread = np.linalg.inv(drawn[:, :, 1:])
        count, centre, scatter = parted(self._pooled(structures[0]) + self.belief.moments)
        lower = factor(scatter / count)
        mean = centre + rng.standard_normal((len(drawn), len(centre))) @ lower.T
        scatters = ess * spread @ np.swapaxes(spread, -1, -2)
        return self.maximize(joined(np.full(len(drawn), ess), mean, scatters), structures)

    def narrowed(self, models: Gaussians) -> Gaussians:
        """Return the models, of which all moments are wanted, unless there are no arcs."""
        return models if any(map(any, models.structures)) else super().narrowed(models)

    def maximize(self, statistics: Array, structures: Sequence[Structure]) -> Gaussians:
        """Return the regressions at the mode of the posterior among those that share what is shared."""
        moment = statistics + self.belief.moments
        rows = statistics[:, 0, 0] + self.belief.alpha - self.belief.size
        _, mean, scatter = parted(moment)
        structure = structures[0]
        slopes, left = _regressed(scatter, structure)
        variance = variances(left, rows, self.sharing, self._sphere)
        for _ in range(TURNS if self.sharing.orientation else 0):
            before = variance
            slopes, left = _together(scatter, structure, variance)
            variance = variances(left, rows, self.sharing, self._sphere)
            if np.abs(np.log(variance / before)).max() < TOLERANCE:
                break
        return Gaussians(tuple(structures), _root(slopes, variance, mean))

    def sample(
        self, statistics: Array, structures: Sequence[Structure], rng: np.random.Generator
    ) -> NoReturn:
        """Refuse: what components share has no posterior that can be drawn from at once."""
        raise ParameterError(
            "Gibbs sampling does not know components that share parameters; use how='plug-in'"
        )

    def dimension(self, structures: Sequence[Structure]) -> int:
        """Return how many intercepts, coefficients, volumes and shapes there are."""
        many, n, share = len(structures), len(self.schema), self.sharing
        arcs = sum(map(len, structures[0]))
        shapes = 0 if share.sphere else (n - 1) * (1 if share.shape else many)
        return many * n + arcs * (1 if share.orientation else many) + (1 if share.volume else many) + shapes


def variances(left: Array, rows: Array, sharing: Sharing, sphere: Array | None = None) -> Array:
    """Return the variances λ_c a_ci of highest posterior density; (components, n).

    Parameters
    ----------
    left
        What the regressions leave, r_ci; (components, n).
    rows
        n_c; (components,).
    sphere
        The shape where it is given, of product one; (n,).
    """
    many, n = left.shape
    if sphere is not None:
        volume = _volumes(left / sphere, rows, sharing.volume)
        return np.asarray(volume[:, None] * sphere)
    if sharing.volume and sharing.shape:
        return np.broadcast_to(left.sum(axis=0) / rows.sum(), left.shape).copy()
    if sharing.volume:
        size = np.exp(np.log(left).mean(axis=1))
        return np.asarray(left / size[:, None] * (size.sum() / rows.sum()))
    if not sharing.shape:
        return np.asarray(left / rows[:, None])
    shape, volume = np.ones(n), np.ones(many)
    for _ in range(TURNS):
        before = volume
        raw = (left / volume[:, None]).sum(axis=0)
        shape = np.exp(np.log(raw) - np.log(raw).mean())
        volume = _volumes(left / shape, rows, False)
        if np.abs(np.log(volume / before)).max() < TOLERANCE:
            break
    return np.asarray(volume[:, None] * shape)


def _volumes(scaled: Array, rows: Array, shared: bool) -> Array:
    """Return λ given what is left divided by the shape; (components,)."""
    if shared:
        return np.full(len(rows), scaled.sum() / (scaled.shape[1] * rows.sum()))
    return np.asarray(scaled.sum(axis=1) / (scaled.shape[1] * rows))


def _regressed(scatter: Array, structure: Structure) -> tuple[Array, Array]:
    """Return every component's own contrasts 1 − B, and what they leave; (c, n, n), (c, n)."""
    slopes = _contrasts(scatter, structure)
    if not any(structure):
        return slopes, np.maximum(np.diagonal(scatter, axis1=1, axis2=2), np.finfo(np.float64).tiny)
    return slopes, _left(scatter, slopes)


def _contrasts(scatter: Array, structure: Structure) -> Array:
    """Return the contrasts 1 − B of regressions; (c, n, n).

    Where every variable has all before it as parents they are the rows of the inverse of one factor.
    """
    slopes = np.zeros_like(scatter)
    if is_complete(structure):
        lower = factor(scatter)
        put_inverses(lower, slopes)
        slopes *= np.diagonal(lower, axis1=1, axis2=2)[:, :, None]
    elif any(structure):
        for child, parents in enumerate(structure):
            slopes[:, child, [*parents, child]] = _contrast(scatter, child, parents)
    else:
        slopes += np.eye(len(structure))
    return slopes


def _together(scatter: Array, structure: Structure, variance: Array) -> tuple[Array, Array]:
    """Return contrasts common to all components, which differ in the noise's variances, as `_regressed`."""
    if np.all(variance == variance[0]):  # then the sum of scatters has the regressions of all children
        slopes = np.repeat(_contrasts(scatter.sum(axis=0, keepdims=True), structure), len(scatter), axis=0)
        return slopes, _left(scatter, slopes)
    slopes = np.zeros_like(scatter)
    for child, parents in enumerate(structure):
        added = (scatter / variance[:, child, None, None]).sum(axis=0, keepdims=True)
        slopes[:, child, [*parents, child]] = _contrast(added, child, parents)
    return slopes, _left(scatter, slopes)


def _contrast(scatter: Array, child: int, parents: tuple[int, ...]) -> Array:
    """Return (−coefficients, 1) of a child's regression; (c, parents + 1)."""
    family = np.array([*parents, child])
    lower = factor(scatter[:, family[:, None], family])
    upper = np.swapaxes(lower[:, :-1, :-1], -1, -2)
    slope = np.linalg.solve(upper, lower[:, -1, :-1, None])[..., 0]
    return np.concatenate([-slope, np.ones((len(slope), 1))], axis=1)


def _left(scatter: Array, slopes: Array) -> Array:
    """Return what regressions leave of each variable, never nothing; (c, n)."""
    left = ((slopes @ scatter) * slopes).sum(axis=2)
    return np.asarray(np.maximum(left, np.finfo(np.float64).tiny))


def _root(slopes: Array, variance: Array, mean: Array) -> Array:
    """Return A, one row for each regression, whose intercepts lead through the means; (c, n, n + 1)."""
    scaled = slopes / np.sqrt(variance)[:, :, None]
    return np.concatenate([-np.einsum("cij,cj->ci", scaled, mean)[:, :, None], scaled], axis=2)
