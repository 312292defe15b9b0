"""ENT: Tables 1–3, Figure 1, BN1 and BN2, and how they depend on what the paper does not say."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lacunary.papers import Outcome, Paper, Results, Size, Unit, blocks
from lacunary.papers.ent.experiment import (
    NETWORKS,
    SETTINGS,
    STARTS_TRIED,
    correlations,
    figure_runs,
    sensitivity_block,
    solved_block,
    table_block,
)
from lacunary.papers.ent.small import (
    BN1,
    BN1_MEDIANS,
    BN1_ROWS,
    BN2,
    EARLY,
    bn1,
    bn1_block,
    bn1_early,
    bn2,
    bn2_block,
)
from lacunary.papers.ent.stopping import endings, figure_found, stopping_listing, weights_found
from lacunary.papers.ent.summary import remarks, solved_found, table_found, table_listing

EXPERIMENTS = 300
"""Experiments a setting, as in print."""

SOLVING = {"asia": 100, "alarm": 30, "random": 30}
"""Experiments a setting with C_entropy, which the paper has only on smaller networks."""

WAVE = 100
"""Experiments of every setting that are done before more are: a run that is cut short is then even."""

BLOCK = {"asia": 50, "alarm": 10, "random": 5}
"""Experiments a unit: less than half a minute."""

TRIED = {"asia": 30, "alarm": 10, "random": 10}
"""Experiments a setting for the sensitivity table."""


def units(size: Size) -> Iterator[Unit]:
    """Return the work."""
    if size == "tiny":
        yield from _tiny()
        return
    first_wave = WAVE if size == "full" else None
    yield from _tables(0, first_wave)
    yield from _rest(first_wave)
    if size == "full":
        for first in (WAVE, 2 * WAVE):
            yield from _tables(first, first + WAVE)
        yield from _small(WAVE, EXPERIMENTS)


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
        end = last and min(last, EXPERIMENTS)
        for rows, missing in SETTINGS:
            setting = {"network": network, "rows": rows, "missing": missing}
            yield from _some(table_block, setting, BLOCK[network], end, first)


def _rest(last: int | None) -> Iterator[Unit]:
    for missing in (0.3, 0.6):
        yield Unit(figure_runs, {"missing": missing, "runs": 1000})
        yield from _some(correlations, {"missing": missing}, 20, last)
    yield from _small(0, last)
    for network in NETWORKS if last else NETWORKS[:1]:
        for rows, missing in SETTINGS if last else SETTINGS[:1]:
            setting = {"network": network, "rows": rows, "missing": missing}
            yield from _some(solved_block, setting, 10, last and SOLVING[network])
    for iterations in EARLY:
        yield from _some(bn1_early, {"rows": 100, "iterations": iterations}, 5, last and 30)
    for network in NETWORKS if last else NETWORKS[:1]:
        count = 10 if network == "asia" else 5
        for starts in STARTS_TRIED if last and network == "asia" else ("uniform",):
            for rows, missing in SETTINGS if network != "random" else SETTINGS[:2]:
                setting = {"network": network, "rows": rows, "missing": missing, "starts": starts}
                yield from _some(sensitivity_block, setting, count, last and TRIED[network])


def _small(first: int, last: int | None) -> Iterator[Unit]:
    for arcs in BN1:
        for rows in BN1_ROWS:
            yield from _some(bn1_block, {"arcs": arcs, "rows": rows}, 5, last, first)
        for rows in BN1_MEDIANS if last else ():
            yield from _some(bn1_block, {"arcs": arcs, "rows": rows, "rare": True}, 5, last, first)
    for states, rows in BN2:
        yield from _some(bn2_block, {"states": states, "rows": rows}, 2, last, first)


def outcome(results: Results) -> Outcome:
    """Return tables, figures and answers."""
    from lacunary.papers.ent.figures import drawings  # plotting takes a second to import

    figure, by_figure = figure_found(results)
    (first, by_first), (second, by_second) = bn1(results), bn2(results)
    tables = [table_listing(results, network) for network in NETWORKS]
    found = table_found(results) | remarks(results) | by_figure | by_first | by_second
    solved, by_solving = solved_found(results)
    found |= endings(results) | weights_found(results) | by_solving
    listings = [*tables, figure, first, second, solved, stopping_listing(results)]
    return Outcome(listings, list(drawings(results)), found)


PAPER = Paper(units, outcome)
