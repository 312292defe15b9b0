"""Kernels that run as Python does until compiling them pays: the same numbers either way."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.infer.pack import pack
from lacunary.kernels import compile as compiling
from lacunary.kernels import divide, hooks, trace
from lacunary.kernels import pack as packing
from lacunary.kernels.compile import COMPILES, inlined, patient

KERNELS = [
    divide._divide,
    trace._trace_patterns,
    packing.fill_offsets,
    packing._distinct_lists,
    packing._lay_rows,
]

compiled_alone = pytest.mark.skipif(not COMPILES, reason="nothing is compiled here")


@inlined
def _doubled(x: Any) -> Any:
    return x + x


def _sum_of_doubles(numbers: Any) -> Any:
    total = 0
    for one in numbers:
        total += _doubled(one)
    return total


@compiled_alone
def test_small_arrays_are_not_compiled_for_and_large_ones_are() -> None:
    work: Any = patient(_sum_of_doubles)
    assert work(np.arange(5)) == 20
    assert not work.compiled.signatures
    many = compiling.SMALL + 1
    assert work(np.arange(many)) == many * (many - 1)
    assert len(work.compiled.signatures) == 1


@compiled_alone
def test_a_kernel_is_compiled_once_it_has_cost_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    work: Any = patient(_sum_of_doubles)
    monkeypatch.setattr(work, "_left", 1e-9)
    assert work(np.arange(5)) == 20
    assert not work.compiled.signatures
    assert work(np.arange(5)) == 20
    assert len(work.compiled.signatures) == 1


@compiled_alone
def test_tables_are_laid_out_alike_by_plain_and_compiled_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arenas hold all that a sweep reads of a layout."""
    network = lac.asia()
    table = lac.make_holes(network.sample(40, rng=3), 0.4, rng=4)
    monkeypatch.setattr(hooks, "is_stored", lambda function: False)
    found = []
    for left in (np.inf, 0.0):
        for kernel in KERNELS:
            monkeypatch.setattr(kernel, "_left", left)
        packed = pack(network.dag, table.codes, np.ones(40))
        chunk = packed.chunks[0]
        found.append((chunk.kinds_arena, chunk.arena, chunk.weight, packed.constant))
    for plain, compiled in zip(*found, strict=True):
        assert np.array_equal(plain, compiled)
