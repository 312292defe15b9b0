"""Random variates drawn inside kernels, each stream from a counter of its own.

A stream is one number of 64 bits that moves on by a fixed step and is scrambled on the way out
(SplitMix64; Steele, Lea & Flood 2014). What a chain draws depends on its seed alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lacunary.kernels.compile import bare, called

__all__ = ["STEP", "binomial", "fraction", "log_gamma_variate", "normal", "uniform"]

STEP = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)

FEW = 12.0
"""Successes expected in a binomial up to which they are counted one by one."""


@bare
def fraction(z: Any) -> float:
    """Return the number in (0, 1), both ends excluded, that a stream gives where it stands."""
    z = (z ^ (z >> np.uint64(30))) * FIRST
    z = (z ^ (z >> np.uint64(27))) * SECOND
    z = z ^ (z >> np.uint64(31))
    return (np.float64(z >> np.uint64(12)) + 0.5) * 2.0**-52


@bare
def uniform(stream: Any) -> float:
    """Return a number in (0, 1), both ends excluded, and move the stream on."""
    stream[0] += STEP
    return fraction(stream[0])


@bare
def normal(stream: Any) -> float:
    """Return a standard normal variate (Marsaglia's polar method; its second number is dropped)."""
    while True:
        x = 2.0 * uniform(stream) - 1.0
        y = 2.0 * uniform(stream) - 1.0
        square = x * x + y * y
        if 0.0 < square < 1.0:
            return float(x * math.sqrt(-2.0 * math.log(square) / square))


@bare
def log_gamma_variate(shape: float, stream: Any) -> float:
    """Return the log of a Gamma(shape, 1) variate, which itself may be too small to be written down.

    Marsaglia & Tsang 2000; below shape 1, Gamma(shape) is Gamma(shape + 1) · U^(1/shape).
    """
    below = 0.0
    if shape < 1.0:
        below = math.log(uniform(stream)) / shape
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u = uniform(stream)
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            break
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            break
    return math.log(d * v) + below


@called
def _count_up(trials: float, p: float, stream: Any) -> float:
    """Return a binomial variate by adding its probabilities up; quick where few successes are expected."""
    odds = p / (1.0 - p)
    chance = math.exp(trials * math.log1p(-p))
    left = uniform(stream)
    hits = 0.0
    while left >= chance and hits < trials:
        left -= chance
        hits += 1.0
        chance *= odds * (trials - hits + 1.0) / hits
    return hits


@bare
def binomial(trials: float, p: float, stream: Any) -> float:
    """Return how many of so many trials succeed, exactly, in time that grows with log(trials).

    While many successes are expected, the middle one of the trials' uniform numbers in order is drawn (a
    Beta variate); it says on which side of it p lies, and half of the trials are settled (Devroye 1986, X.4).
    ``stream`` is the state of the random numbers; (1,).
    """
    # What is sought is ``hits`` and the successes of ``trials`` more, each with chance p.
    hits = 0.0
    while trials > 0.0:
        if p <= 0.0:
            return hits
        if p >= 1.0:
            return hits + trials
        if trials * p < FEW:
            return hits + _count_up(trials, p, stream)
        if trials * (1.0 - p) < FEW:
            return hits + trials - _count_up(trials, 1.0 - p, stream)
        middle = math.floor(trials / 2.0) + 1.0
        rest = trials + 1.0 - middle
        a = log_gamma_variate(middle, stream)
        b = log_gamma_variate(rest, stream)
        cut = 1.0 / (1.0 + math.exp(b - a))
        if cut <= p:
            hits += middle
            trials = rest - 1.0
            p = (p - cut) / (1.0 - cut)
        else:
            trials = middle - 1.0
            p = p / cut
    return hits
