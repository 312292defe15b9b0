"""What is to be done for BG03, in which order."""

from __future__ import annotations

from collections.abc import Iterator

from lacunary.papers import Size, Unit, blocks, sweep
from lacunary.papers.bg03.structures import SIZES, structures
from lacunary.papers.bg03.work import anneal, bounds_block, evidence_block, score_block

__all__ = ["AVERAGED", "LENGTHS", "ROWS", "units"]

ALL = len(structures())
ROWS = 480
LENGTHS = tuple(2**k for k in range(6, 19))
"""Annealing lengths, 64 to 262 144."""

SOME = (40, 160, 320, 640, 1120, 2560, 10240)
"""Sizes at which the other reading of the true structure is ranked, beside 480."""

AVERAGED = (160, 480, 1120)
"""Sizes at which ranks are averaged over true parameters."""

SETTINGS = {("apart", 1.0): 4, ("shared", 1.0): 2, ("apart", 0.5): 2, ("shared", 0.5): 2}
"""How many true parameter settings there are by structure and hyperparameter, beside that of the figures."""


def units(size: Size) -> list[Unit]:
    """Return the work."""
    if size == "tiny":
        return list(_tiny())
    if size == "glance":
        ranked = [unit for rows in (80, 1120) for unit in _bounds("apart", 1.0, 0, rows)]
        return [*_scored("apart", ROWS, steps=2048), *_annealed(LENGTHS[:7]), *ranked]
    return [
        *_scored("apart", ROWS),
        *_annealed(LENGTHS),
        *_evidence(),
        *(unit for rows in SIZES if rows != ROWS for unit in _scored("apart", rows)),
        *_scored("shared", ROWS),
        *(unit for rows in SOME for unit in _bounds("shared", 1.0, 0, rows)),
        *_averages(),
    ]


def _tiny() -> Iterator[Unit]:
    same = {"parents": "apart", "alpha": 1.0, "setting": 0}
    yield Unit(score_block, {**same, "rows": 40, "first": 110, "count": 3})
    yield from sweep(bounds_block, {**same, "first": 0, "count": 3}, rows=(40, 480))
    short = {"parents": "apart", "rows": 40, "chains": 3}
    yield from sweep(anneal, short, moves=("gibbs", "metropolis"), steps=LENGTHS[:2])


def _scored(parents: str, rows: int, **options: int) -> Iterator[Unit]:
    same = {"parents": parents, "alpha": 1.0, "setting": 0, "rows": rows, **options}
    return blocks(score_block, same, 17, ALL)


def _evidence() -> Iterator[Unit]:
    return blocks(evidence_block, {"parents": "apart", "rows": ROWS, "steps": 4096, "chains": 8}, 8, ALL)


def _bounds(parents: str, alpha: float, setting: int, rows: int) -> Iterator[Unit]:
    same = {"parents": parents, "alpha": alpha, "setting": setting, "rows": rows}
    return blocks(bounds_block, same, 68, ALL)


def _annealed(lengths: tuple[int, ...]) -> Iterator[Unit]:
    same = {"parents": "apart", "rows": ROWS, "chains": 10}
    return sweep(anneal, same, steps=lengths, moves=("metropolis", "gibbs"))


def _averages() -> Iterator[Unit]:
    for setting in range(1, max(SETTINGS.values()) + 1):
        for (parents, alpha), many in SETTINGS.items():
            for rows in AVERAGED if setting <= many else ():
                yield from _bounds(parents, alpha, setting, rows)
