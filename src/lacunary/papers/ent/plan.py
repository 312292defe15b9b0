"""What is to be done for ENT, in which order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lacunary.papers import Size, Unit, blocks
from lacunary.papers.ent.experiment import NETWORKS, correlations, figure_runs, table_block
from lacunary.papers.ent.sensitivity import sensitivity_block
from lacunary.papers.ent.small import BN1, bn1_block, bn1_early, bn2_block

__all__ = ["BN1_ROWS", "BN2", "EARLY", "EXPERIMENTS", "SETTINGS", "STARTS_TRIED", "units"]

EXPERIMENTS = {"asia": 300, "alarm": 300, "random": 100}
"""Experiments a setting; the paper has 300. One on a random network takes as long as twenty on Asia."""

SMALL = {"one": 300, "both": 30}
"""Experiments a size on BN1, by its arcs, and on BN2 as many as on the first."""

WAVE = 100
"""Experiments of every setting that are done before more are: a run that is cut short is then even."""

SETTINGS = ((100, 0.3), (100, 0.6), (200, 0.3), (200, 0.6))
BN1_ROWS = (100, 200, 300)
BN2 = (([5, 3, 5], 300), ([8, 4, 8], 500))
STARTS_TRIED = ("uniform", "1", "0.5")
EARLY = (2, 3, 5)
"""Iterations after which climbs on BN1 are broken off, to see what far too few of them would do."""

BLOCK = {"asia": 50, "alarm": 10, "random": 5}
"""Experiments a unit: less than half a minute."""

TRIED = {"asia": 30, "alarm": 10, "random": 10}
"""Experiments a setting for the sensitivity table."""


def units(size: Size) -> list[Unit]:
    """Return the work."""
    if size == "tiny":
        return list(_tiny())
    if size == "glance":
        return [*_tables(0, None), *_rest(None)]
    later = [unit for first in (WAVE, 2 * WAVE) for unit in _tables(first, first + WAVE)]
    return [*_tables(0, WAVE), *_rest(WAVE), *later, *_small(WAVE, max(SMALL.values()))]


def _tiny() -> Iterator[Unit]:
    for rows, missing in SETTINGS:
        yield from blocks(table_block, {"network": "asia", "rows": rows, "missing": missing}, 3, 3)
    yield Unit(figure_runs, {"missing": 0.6, "runs": 30})
    yield from blocks(bn1_block, {"arcs": "one", "rows": 100}, 2, 2)
    yield from blocks(bn2_block, {"states": [5, 3, 5], "rows": 300}, 2, 2)
    tried = {"network": "asia", "rows": 100, "missing": 0.6, "starts": "uniform"}
    yield from blocks(sensitivity_block, tried, 2, 2)


def _some(
    function: Callable[..., Any], same: dict[str, Any], count: int, last: int | None, first: int = 0
) -> Iterator[Unit]:
    """Return so many experiments at a time up to the last; without a last one, a single block."""
    return blocks(function, same, count, first + count if last is None else last, first)


def _tables(first: int, last: int | None) -> Iterator[Unit]:
    """Return experiments for Tables 1–3."""
    for network in NETWORKS:
        end = last and min(last, EXPERIMENTS[network])
        for rows, missing in SETTINGS:
            setting = {"network": network, "rows": rows, "missing": missing}
            yield from _some(table_block, setting, BLOCK[network], end, first)


def _rest(last: int | None) -> Iterator[Unit]:
    for missing in (0.3, 0.6):
        yield Unit(figure_runs, {"missing": missing, "runs": 1000})
        yield from _some(correlations, {"missing": missing}, 20, last)
    yield from _small(0, last)
    for iterations in EARLY:
        yield from _some(bn1_early, {"rows": 100, "iterations": iterations}, 5, last and 30)
    for network in NETWORKS if last else NETWORKS[:1]:
        for starts in STARTS_TRIED if last and network == "asia" else STARTS_TRIED[:1]:
            for rows, missing in SETTINGS if network != "random" else SETTINGS[:2]:
                setting = {"network": network, "rows": rows, "missing": missing, "starts": starts}
                count = 10 if network == "asia" else 5
                yield from _some(sensitivity_block, setting, count, last and TRIED[network])


def _small(first: int, last: int | None) -> Iterator[Unit]:
    for arcs in BN1:
        end = last and min(last, SMALL[arcs])
        for rows in BN1_ROWS:
            yield from _some(bn1_block, {"arcs": arcs, "rows": rows}, 5, end, first)
    for states, rows in BN2:
        yield from _some(bn2_block, {"states": states, "rows": rows}, 2, last, first)
