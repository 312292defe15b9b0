"""Numbers that all samplers take: seeds of chains, and how many of what."""

from __future__ import annotations

import numpy as np

from lacunary.errors import ParameterError

__all__ = ["check_positive", "seeds"]


def seeds(rng: int | np.random.Generator, chains: int) -> list[int]:
    """Return a seed for each chain."""
    drawn = np.random.default_rng(rng).integers(0, 2**64, chains, dtype=np.uint64)
    return [int(seed) for seed in drawn]


def check_positive(**numbers: int) -> None:
    """Refuse a number of chains, steps or draws that is not at least one."""
    for name, number in numbers.items():
        if number < 1:
            raise ParameterError(f"{name} must be at least one, not {number}")
