"""BG03: Figures 1 and 2, the times, and averages that the paper could not afford."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from lacunary.papers import Outcome, Paper, Results, Size, Unit, blocks, sweep
from lacunary.papers.bg03.contest import CONTESTS, contest, contest_found, contest_listing
from lacunary.papers.bg03.course import averaged, left_of_two, length_found, length_listing, rank_listing
from lacunary.papers.bg03.summary import figure_one
from lacunary.papers.bg03.work import (
    AVERAGED,
    FEW,
    LENGTHS,
    ROWS,
    SIZES,
    TRUE,
    anneal,
    bounds_block,
    score_block,
    structures,
)

ALL = len(structures())

SOME = (40, 160, 320, 640, 1120, 2560, 10240)
"""Sizes at which the other reading of the true structure is ranked, beside 480."""

SETTINGS = 30
"""True parameter settings of each structure and hyperparameter, beside that of the figures."""

WHOLE = 4
"""Settings that are scored at all sizes; the others at 480 rows."""


def units(size: Size) -> Iterator[Unit]:
    """Return the work."""
    if size == "tiny":
        same = {"parents": "apart", "alpha": 1.0, "setting": 0}
        yield Unit(score_block, {**same, "rows": 40, "first": 110, "count": 3})
        yield from sweep(bounds_block, {**same, "first": 0, "count": 3}, rows=(40, 480))
        short = {"parents": "apart", "rows": 40, "chains": 3}
        yield from sweep(anneal, short, moves=("gibbs", "metropolis"), steps=LENGTHS[:2])
    elif size == "glance":
        yield from _scored("apart", ROWS, steps=2048, error=0.0)
        yield from _annealed(LENGTHS[:7])
        for rows in (80, 1120):
            yield from _bounds("apart", 1.0, 0, rows, starts=FEW)
    else:
        yield from _everything()


def _everything() -> Iterator[Unit]:
    yield from _scored("apart", ROWS)
    yield from _annealed(LENGTHS)
    for setting, parents, alpha in product(range(1, SETTINGS + 1), TRUE, (1.0, 0.5)):
        yield from _bounds(parents, alpha, setting, ROWS, starts=FEW)
    yield from sweep(contest, {"parents": "apart"}, rows=CONTESTS)
    for rows in (n for n in SIZES if n != ROWS):
        yield from _scored("apart", rows, error=0.0)
    yield from _scored("shared", ROWS)
    for rows in SOME:
        yield from _bounds("shared", 1.0, 0, rows)
    others = [n for n in AVERAGED if n != ROWS]
    for setting, parents, alpha, rows in product(range(1, WHOLE + 1), TRUE, (1.0, 0.5), others):
        yield from _bounds(parents, alpha, setting, rows, starts=FEW)


def _scored(parents: str, rows: int, **options: float) -> Iterator[Unit]:
    same = {"parents": parents, "alpha": 1.0, "setting": 0, "rows": rows, **options}
    return blocks(score_block, same, 17, ALL)


def _bounds(parents: str, alpha: float, setting: int, rows: int, **options: int) -> Iterator[Unit]:
    same = {"parents": parents, "alpha": alpha, "setting": setting, "rows": rows, **options}
    return blocks(bounds_block, same, 68, ALL)


def _annealed(lengths: tuple[int, ...]) -> Iterator[Unit]:
    same = {"parents": "apart", "rows": ROWS, "chains": 10}
    return sweep(anneal, same, steps=lengths, moves=("metropolis", "gibbs"))


def outcome(results: Results) -> Outcome:
    """Return tables, figures and answers."""
    from lacunary.papers.bg03.figures import drawings  # plotting takes a second to import

    scores, found = figure_one(results)
    averages, by_average, _ = averaged(results)
    found |= left_of_two(results) | length_found(results) | by_average | contest_found(results)
    ranks = [*(rank_listing(results, way) for way in TRUE), contest_listing(results)]
    listings = [*ranks, length_listing(results), averages, *scores]
    return Outcome(listings, list(drawings(results)), found)


PAPER = Paper(units, outcome, edition=2)
