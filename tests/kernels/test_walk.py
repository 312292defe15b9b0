"""Chains and the draws they are made of, beside plain Python that uses the same stream of random numbers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from lacunary.infer.network import Network
from lacunary.kernels.compile import bare
from lacunary.kernels.draw import draw_counts
from lacunary.kernels.spread import FEW, Scratch, spread, spread_few
from lacunary.kernels.variate import binomial, log_gamma_variate, normal, uniform
from tests import naive
from tests.evidence.small import holey, table_of, walker

Array = NDArray[np.float64]

ROUNDING = 1e-9
"""Dozens of steps, each of some hundred logs and exponentials that may differ in their last digits."""


def stream(seed: int) -> NDArray[np.uint64]:
    return np.array([seed], dtype=np.uint64)


def by_group(target: Any, values: Array) -> list[list[float]]:
    return [values[target.group == g].tolist() for g in range(len(target.total))]


def log_tempered(target: Any, tau: float, counts: Array) -> float:
    """Σ over distributions of log Γ(α_·)/Γ(α_· + τN_·) + Σ_k log Γ(α_k + τN_k)/Γ(α_k), and τ · log_ways."""
    log: float = tau * target.log_ways
    for alpha, n in zip(by_group(target, target.alpha), by_group(target, counts), strict=True):
        log += math.lgamma(math.fsum(alpha)) - math.lgamma(math.fsum(alpha) + tau * math.fsum(n))
        log += math.fsum(math.lgamma(a + tau * k) - math.lgamma(a) for a, k in zip(alpha, n, strict=True))
    return log


def normalized(target: Any, log: Array) -> Array:
    """Return log θ, each distribution by itself."""
    sums = [naive.log_sum(one) for one in by_group(target, log)]
    return np.array([x - sums[g] for x, g in zip(log.tolist(), target.group.tolist(), strict=True)])


@pytest.mark.parametrize("seed", range(4))
def test_walk(seed: int) -> None:
    laid = walker(holey(seed))
    target, tau = laid.target, np.linspace(0.0, 1.0, 13) ** 2
    found = laid.walk(tau, [5 + seed], every=2, keep=("trace", "counts", "log_theta"))
    (room, scratch), source = laid._room(), stream(5 + seed)
    cells = (laid.rows.packed.kinds, laid.chunk.slab, laid.chunk.spots)

    def completed(potential: Array) -> Array:
        counts = target.constant.copy()
        assert draw_counts(*cells, potential, room, scratch, source, counts)
        return counts

    counts, log_weight = completed(np.ones(len(target.alpha))), 0.0
    for k in range(1, len(tau)):
        log_weight += log_tempered(target, tau[k], counts) - log_tempered(target, tau[k - 1], counts)
        shapes = (target.alpha + tau[k] * counts).tolist()
        log_theta = normalized(target, np.array([log_gamma_variate(shape, source) for shape in shapes]))
        counts = completed(np.exp(tau[k] * log_theta))
        if k % 2 == 0:
            assert found.trace[0, k // 2 - 1] == pytest.approx(log_weight, rel=ROUNDING, abs=ROUNDING)
            assert np.array_equal(found.counts[0, k // 2 - 1], counts)
            np.testing.assert_allclose(found.log_theta[0, k // 2 - 1], log_theta, rtol=ROUNDING)
    assert found.log_weights[0] == pytest.approx(log_weight, rel=ROUNDING)


@pytest.mark.parametrize("kept", ["trace", "counts", "log_theta"])
def test_what_is_not_to_be_kept_is_not_written(kept: str) -> None:
    """Of the three only one has room; the others are arrays without rows."""
    laid = walker(holey(1))
    tau = np.linspace(0.0, 1.0, 13) ** 2
    both = laid.walk(tau, [6], every=2, keep=("trace", "counts", "log_theta"))
    one = laid.walk(tau, [6], every=2, keep=(kept,))
    assert np.array_equal(getattr(one, kept), getattr(both, kept))
    assert np.array_equal(one.log_weights, both.log_weights)


@pytest.mark.parametrize("tune", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(2))
def test_wander(seed: int, tune: float) -> None:
    """The likelihood comes from enumeration."""
    problem = holey(seed)
    laid, table = walker(problem), table_of(problem)
    target, tau, usual = laid.target, np.linspace(0.0, 1.0, 25), laid._usual_counts()
    pace = np.linspace(0.5, 0.9, 25)
    found = laid.wander(tau, [3 + seed], pace, tune=tune, every=5, keep=("trace",))
    source = stream(3 + seed)

    def log_likelihood(log_sizes: Array) -> float:
        return naive.log_likelihood(Network(problem.dag, np.exp(normalized(target, log_sizes))), table)

    here = np.array([log_gamma_variate(alpha, source) for alpha in target.alpha.tolist()])
    log, log_weight, accepted, log_pace = log_likelihood(here), 0.0, 0, math.log(pace[0])
    for k in range(1, len(tau)):
        log_weight += (tau[k] - tau[k - 1]) * log
        step = math.exp(log_pace) if tune > 0 else pace[k]
        width = step / np.sqrt(target.alpha + tau[k] * usual)
        there = here + width * np.array([normal(source) for _ in here])
        proposed = log_likelihood(there)
        # The density of log g is that of Gamma(α, 1) times g: α log g − g.
        change = math.fsum(target.alpha * (there - here) - np.exp(there) + np.exp(here))
        change += tau[k] * (proposed - log)
        if change >= 0 or math.log(uniform(source)) < change:
            here, log, accepted = there, proposed, accepted + 1
        assert found.pace[0, k] == pytest.approx(step, rel=ROUNDING)
        log_pace += (math.exp(min(change, 0.0)) - tune) * 4 / math.sqrt(100 + k)
        if k % 5 == 0:
            assert found.trace[0, k // 5 - 1] == pytest.approx(log_weight, rel=ROUNDING)
    assert found.log_weights[0] == pytest.approx(log_weight, rel=ROUNDING)
    assert found.acceptance[0] == accepted / (len(tau) - 1)
    assert 0 < accepted < len(tau) - 1


# Spreading ----------------------------------------------------------------------------------------------


@bare
def run_few(value: Any, size: int, mass: float, many: int, scratch: Scratch, source: Any) -> int:
    return int(spread_few(value, 0, size, mass, many, scratch, source))


@bare
def run_spread(
    value: Any, message: Any, belief: Any, offsets: Any, own: int, scratch: Scratch, source: Any
) -> int:
    return spread(value, 0, value.size, message, belief, offsets, own, 0, message.size, scratch, source)


def room(size: int) -> Scratch:
    whole, real = np.zeros(size + FEW, dtype=np.int64), np.zeros(size + FEW)
    return Scratch(whole, real, whole.copy(), whole.copy(), real.copy(), real.copy(), real.copy())


@pytest.mark.parametrize("seed", range(5))
def test_spread_few(seed: int) -> None:
    """Inversion: the first configuration at which the sum of the chances exceeds a uniform number."""
    value = np.array([0.0, 0.3, 0.0, 0.05, 0.4, 0.0])
    scratch, source, other = room(6), stream(seed), stream(seed)
    assert run_few(value, 6, float(value.sum()), FEW, scratch, source) == FEW
    for n in range(FEW):
        left = uniform(other) * value.sum()
        wanted = next(i for i in range(6) if left < value[: i + 1].sum())
        assert (scratch.hit[n], scratch.drawn[n]) == (wanted, 1.0)


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_spread(seed: int, alone: bool) -> None:
    """One configuration after the other takes a binomial share of what is left of its shared one."""
    rng = np.random.default_rng(seed)
    value, lead = rng.random(8) * (rng.random(8) < 0.8), np.zeros(8, dtype=np.int32)
    if not alone:
        lead[:] = rng.integers(0, 3, 8)
    shared = 1 if alone else 3
    message = np.array([value[lead == k].sum() for k in range(shared)])
    belief = np.where(message > 0, rng.choice([0.0, 3.0, 500.0], shared), 0.0)
    left, chances, wanted, other = belief.copy(), message.copy(), np.zeros(8), stream(seed)
    for i, k in enumerate(lead.tolist()):
        if left[k] > 0 and value[i] > 0:
            if left[k] <= FEW:
                wanted[i] = sum(uniform(other) * chances[k] < value[i] for _ in range(int(left[k])))
            else:
                wanted[i] = binomial(left[k], value[i] / chances[k], other)
            chances[k] -= value[i]
            left[k] -= wanted[i]
    for k in range(shared):  # rounding may have left some to the last that is possible
        if left[k] > 0:
            wanted[np.flatnonzero((lead == k) & (value > 0))[-1]] += left[k]
    scratch, many = room(8), belief.copy()
    hits = run_spread(value, message.copy(), many, lead, -1 if alone else 0, scratch, stream(seed))
    found = np.zeros(8)
    np.add.at(found, scratch.hit[:hits], scratch.drawn[:hits])
    assert np.array_equal(found, wanted)
    assert [found[lead == k].sum() for k in range(shared)] == belief.tolist()
    assert not many.any()
