"""Interval bounds: how high the objective can be in boxes of parameters, and where its maximum can lie.

They are what branch and bound (`lacunary.learn.global_map`) prunes by: expectation–maximisation seen from the
other side, for many boxes at once. With intervals for parameters an EM step gives intervals for the next:
a maximum, which EM does not move, lies in both (`contract`). The E-step bounds the log of a sum from below by
weighted logs of its terms; over a box chords bound it from above in the same form, and an M-step maximises
that (`chords`, `fill`). And where the second derivatives show the objective to be concave, one tangent plane
bounds it (`concave`, `tangent`). See docs/derivations/global-map.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, logsumexp

from lacunary.learn.monomials import LogSums
from lacunary.learn.simplices import Simplices
from lacunary.maths.arrays import Array, Booleans

__all__ = ["SMALLEST", "IntervalBounds"]


SMALLEST = 1e-30
"""No probability is taken to be smaller; what this costs the maximum is far below rounding."""

ROUNDING = 1e-13
"""By how much, relatively, interval ends are moved outwards to cover rounding."""

CLIMBS = 500
"""The most steps of a climb; near a maximum inside the simplices Newton's need a handful."""


@dataclass(frozen=True, eq=False)
class IntervalBounds:
    """Bounds of one objective over boxes: arrays ``low`` and ``high`` of shape (boxes, parameters)."""

    sums: LogSums

    @cached_property
    def _simplices(self) -> Simplices:
        return Simplices(self.sums.group)

    @cached_property
    def _cells(self) -> Simplices:
        cell = self.sums.events.cell
        return Simplices(np.unique(cell[cell >= 0], return_inverse=True)[1].astype(np.int64))

    @cached_property
    def _apart(self) -> tuple[Array, Array]:
        """power_rh − power_rh' for all pairs of terms, its positive and its negative part, flat."""
        power = self.sums.power
        difference = (power[:, :, None, :] - power[:, None, :, :]).reshape(-1, power.shape[2])
        return np.maximum(difference, 0.0).T.copy(), np.minimum(difference, 0.0).T.copy()

    def total(self, values: Array) -> Array:
        """Sum over each distribution, repeated for its members; (..., parameters)."""
        return np.asarray(self._simplices.total(values))

    def fill(self, counts: Array, low: Array, high: Array) -> tuple[Array, Array]:
        """Maximise Σ count · log θ within boxes: an M-step; see `Simplices.fill`."""
        return self._simplices.fill(counts, low, high)

    def value(self, theta: Array) -> Array:
        """Return the objective; (points, parameters) → (points,)."""
        phi = np.log(theta)
        return np.asarray(phi @ self.sums.linear + self._log_sums(phi) @ self.sums.weight)

    def counts(self, theta: Array) -> Array:
        """Return the E-step: expected counts with what is outside of the sums; (points, parameters)."""
        terms = self._terms(np.log(theta))
        share = np.exp(terms - logsumexp(terms, axis=2, keepdims=True))
        return self._counts(share)

    def _terms(self, phi: Array) -> Array:
        """Return the logs of the terms; (points, sums, terms)."""
        return np.asarray(np.einsum("rhk,nk->nrh", self.sums.power, phi, optimize=True) + self.sums.offset)

    def _log_sums(self, phi: Array) -> Array:
        """Return the logs of the sums; (points, sums)."""
        if not len(self.sums.weight):
            return np.zeros((len(phi), 0))
        return np.asarray(logsumexp(self._terms(phi), axis=2))

    def _counts(self, share: Array) -> Array:
        weighted = share * self.sums.weight[:, None]
        return np.asarray(
            self.sums.linear + np.einsum("nrh,rhk->nk", weighted, self.sums.power, optimize=True)
        )

    def _ratios(self, low: Array, high: Array) -> Array:
        """Return the highest log-ratio of term h to term h'; (boxes, sums, terms, terms)."""
        up, down = self._apart
        sums, terms = self.sums.offset.shape
        ratio = (np.log(high) @ up + np.log(low) @ down).reshape(-1, sums, terms, terms)
        with np.errstate(invalid="ignore"):
            offset = self.sums.offset[:, :, None] - self.sums.offset[:, None, :]
        # A term that is not there (offset −∞) is never larger than one that is, nor than itself.
        return np.asarray(ratio + np.where(np.isnan(offset), -np.inf, offset))

    def contract(self, low: Array, high: Array, steps: int = 3) -> tuple[Array, Array, Booleans]:
        """Shrink boxes around the fixed points of EM in them; also tell which may hold any."""
        for _ in range(steps):
            ratio = self._ratios(low, high)
            with np.errstate(over="ignore", divide="ignore"):
                most = 1.0 / np.exp(-ratio).sum(axis=3)
                least = 1.0 / np.exp(ratio).sum(axis=2)
            absent = np.isneginf(self.sums.offset)
            most, least = np.where(absent, 0.0, most), np.where(absent, 0.0, least)
            n_low, n_high = self._counts(least), self._counts(most)
            fewest = _share(n_low, self.total(n_high) - n_high) * (1 - ROUNDING)
            most = _share(n_high, self.total(n_low) - n_low) * (1 + ROUNDING)
            low, high = np.fmax(low, fewest), np.fmin(high, np.maximum(most, SMALLEST))
            low, high = self._within_simplex(low, high)
        possible = np.asarray((low <= high).all(axis=1))
        return low, np.maximum(low, high), possible

    def _within_simplex(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Cut each probability to what the others leave of one."""
        above = 1.0 - (self.total(low) - low)
        below = 1.0 - (self.total(high) - high)
        slack = 4 * ROUNDING
        return np.maximum(low, below - slack), np.minimum(high, above + slack)

    def chords(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Bound each sum's log by constant + Σ share · log term; (boxes, sums) and (boxes, sums, terms).

        log(e^a + e^b) = b + softplus(a − b), and softplus lies below its chord over the interval in
        which a − b lies: s a + (1 − s) b + t. Terms are taken in one after the other.
        """
        ratio = self._ratios(low, high)
        share = np.zeros(ratio.shape[:3])
        share[:, :, :1] = 1.0
        constant = np.zeros(ratio.shape[:2])
        for h in range(1, ratio.shape[2]):
            there = np.flatnonzero(~np.isneginf(self.sums.offset[:, h]))
            top = logsumexp(ratio[:, there][:, :, :h, h], axis=2)
            bottom = logsumexp(-ratio[:, there][:, :, h, :h], axis=2)
            slope, start = _chord(bottom, top)
            share[:, there, :h] *= slope[:, :, None]
            share[:, there, h] = 1.0 - slope
            constant[:, there] = slope * constant[:, there] + start
        return constant, share

    def lid(self, low: Array, high: Array) -> Array:
        """Return an upper bound that is good for wide boxes; (boxes,).

        No event is more probable than at the box's upper corner, and events that exclude each other have
        probabilities that sum to at most one: the highest Σ weight · log probability is found by `fill`.
        """
        events, phi = self.sums.events, np.log(high)
        log_sums = np.pad(self._log_sums(phi), ((0, 0), (0, 1)))  # the last for events without a sum
        cap = phi @ events.power.T + log_sums[:, events.sum] + events.offset
        whole = events.cell >= 0
        alone = cap @ events.weight
        outside = self._simplices.fill(np.broadcast_to(events.outside, low.shape), low, high)[1]
        bound = outside - events.weight @ events.offset  # the objective has no such constant
        if not whole.any():
            return np.asarray(bound + alone)
        top = np.exp(cap[:, whole])
        weight = np.broadcast_to(events.weight[whole], top.shape)
        shared = self._cells.fill(weight, np.full_like(top, SMALLEST), np.maximum(top, SMALLEST))[1]
        return np.asarray(bound + np.minimum(alone, shared + cap[:, ~whole] @ events.weight[~whole]))

    def roof(self, low: Array, high: Array) -> tuple[Array, Array, Array]:
        """Return an upper bound over each box, where it is attained, and how much each sum lends to it.

        (boxes,), (boxes, parameters), and the chords' excess there, (boxes, sums).
        """
        constant, share = self.chords(low, high)
        offset = np.where(np.isneginf(self.sums.offset), 0.0, self.sums.offset)
        constant += (share * offset).sum(axis=2)
        theta, highest = self.fill(self._counts(share), low, high)
        terms = self._terms(np.log(theta))
        chord = constant + (share * np.where(np.isneginf(terms), 0.0, terms - offset)).sum(axis=2)
        excess = (chord - logsumexp(terms, axis=2)) * self.sums.weight
        return np.minimum(constant @ self.sums.weight + highest, self.lid(low, high)), theta, excess

    def tangent(self, theta: Array, low: Array, high: Array) -> Array:
        """Return the highest value within boxes of the tangent planes at points in them; (boxes,).

        max g · θ over a distribution is at most ν + Σ max((g − ν) low, (g − ν) high), least at one of the g.
        """
        slope = self.counts(theta) / theta
        excess = slope[:, None, :] - slope[:, :, None]
        same = self.sums.group[:, None] == self.sums.group
        over = np.maximum(excess * low[:, None, :], excess * high[:, None, :])
        linear = self._simplices.over(slope + np.where(same, over, 0.0).sum(axis=2), np.minimum)
        highest = (linear / self.total(np.ones_like(theta))).sum(axis=1)
        return np.asarray(self.value(theta) + highest - (slope * theta).sum(axis=1))

    def climb(self, theta: Array) -> Array:
        """Return the local maximum that EM leads to from one point; Newton's steps where they lead up."""
        value = self.value(theta[None])[0]
        for _ in range(CLIMBS):
            step = self.counts(theta[None])[0]
            whole = self.total(step)
            em = np.maximum(np.where(whole > 0, step / np.where(whole > 0, whole, 1.0), theta), SMALLEST)
            middle, _ = self._curvature(theta[None], theta[None])
            along = self._directions
            slope, bend = along.T @ (step / theta), along.T @ middle[0] @ along
            leap = theta - along @ np.linalg.lstsq(bend, slope, rcond=None)[0]
            tries = np.stack([em, leap if leap.min() > 0 else em])
            reached = self.value(tries)
            k = int(reached.argmax())
            if not reached[k] > value:
                break
            theta, value = tries[k], reached[k]
        return theta

    def concave(self, low: Array, high: Array) -> Booleans:
        """Tell in which boxes the second derivatives prove the objective concave along the simplices.

        The Hessian is at most M + E in the order of quadratic forms, |E| ≤ R entry by entry. With −M = Q Λ Qᵀ
        on the simplices' directions and B = Q Λ^(−1/2), it is negative definite if |B|ᵀ R |B| has norm < 1.
        """
        middle, radius = self._curvature(low, high)
        known = np.asarray(np.isfinite(radius + middle).all(axis=(1, 2)))
        middle, radius = (np.where(known[:, None, None], x, 0.0) for x in (middle, radius))
        along = self._directions
        values, vectors = np.linalg.eigh(-along.T @ middle @ along)
        definite = values[:, 0] > 0
        scale = 1.0 / np.sqrt(np.where(definite[:, None], values, 1.0))
        basis = np.abs(along @ (vectors * scale[:, None, :]))
        norm = (basis.transpose(0, 2, 1) @ radius @ basis).sum(axis=2).max(axis=1, initial=0.0)
        return np.asarray(definite & (norm < 1.0))

    @cached_property
    def _directions(self) -> Array:
        """An orthonormal basis of the directions in which distributions keep their sum."""
        member = self._simplices.member
        return np.asarray(np.linalg.svd(member)[0][:, member.shape[1] :])

    def _curvature(self, low: Array, high: Array) -> tuple[Array, Array]:
        """Return M and R of `concave`, from Σ weight (H/p − g gᵀ/p²) − linear/θ².

        p is a sum, g and H its derivatives. They have coefficients that are not negative, so they are least
        at low and greatest at high.
        """
        (p_low, g_low, t_low), (p_high, g_high, t_high) = self._slopes(low), self._slopes(high)
        weight = self.sums.weight
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            most = self._bends(t_high * (weight / p_low)[..., None], high)
            least = self._bends(t_low * (weight / p_high)[..., None], low)
        scale = (np.sqrt(weight) / p_high)[..., None]
        g, around = (g_high + g_low) / 2 * scale, (g_high - g_low) / 2 * scale
        cross = g.swapaxes(1, 2) @ around
        middle = (most + least) / 2 - g.swapaxes(1, 2) @ g
        each = range(low.shape[1])
        middle[:, each, each] -= self.sums.linear / high**2
        return middle, (most - least) / 2 + cross + cross.swapaxes(1, 2)

    def _slopes(self, theta: Array) -> tuple[Array, Array, Array]:
        """Return each sum, its gradient and its terms; (points, sums), with parameters, with terms."""
        term = np.exp(self._terms(np.log(theta)))
        gradient = np.einsum("nrh,rhk->nrk", term, self.sums.power, optimize=True) / theta[:, None, :]
        return term.sum(axis=2), gradient, term

    def _bends(self, term: Array, theta: Array) -> Array:
        """Return the second derivatives of a weighted sum of terms; (points, parameters, parameters)."""
        parameters = theta.shape[1]
        flat = term.reshape(len(term), len(self._pairs)) @ self._pairs
        return flat.reshape(len(term), parameters, parameters) / (theta[:, :, None] * theta[:, None, :])

    @cached_property
    def _pairs(self) -> Array:
        """power_k (power_l − [k = l]): what two derivatives bring down; (sums · terms, parameters²)."""
        power = self.sums.power.reshape(-1, self.sums.power.shape[2])
        pairs = power[:, :, None] * power[:, None, :]
        each = range(power.shape[1])
        pairs[:, each, each] -= power
        return pairs.reshape(len(power), -1)


def _share(part: Array, rest: Array) -> Array:
    """Return part / (part + rest), NaN, which fmin and fmax pass over, where nothing is counted."""
    whole = part + rest
    return np.where(whole > 0, part / np.where(whole > 0, whole, 1.0), np.nan)


def _chord(bottom: Array, top: Array) -> tuple[Array, Array]:
    """Return slope and intercept of softplus' chord over intervals, of its tangent where they are points."""
    with np.errstate(invalid="ignore"):
        length = top - bottom
    at_bottom, at_top = np.logaddexp(0.0, bottom), np.logaddexp(0.0, top)
    wide = length > 1e-6
    slope = np.where(wide, (at_top - at_bottom) / np.where(wide, length, 1.0), expit(bottom))
    return slope, np.maximum(at_bottom - slope * bottom, at_top - slope * top)
