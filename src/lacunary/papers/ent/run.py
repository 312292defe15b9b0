"""ENT: Tables 1–3, Figure 1, BN1 and BN2, and how they depend on what the paper does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lacunary.papers import Drawing, Found, Outcome, Paper, Results
from lacunary.papers.ent.experiment import NETWORKS, figure_runs
from lacunary.papers.ent.plan import SETTINGS, units
from lacunary.papers.ent.printed import MEDIANS
from lacunary.papers.ent.solved import bn1, bn2
from lacunary.papers.ent.stopping import curves, endings, figure_found, stopping_listing, weights_found
from lacunary.papers.ent.summary import cell_of, medians, rankings, remarks, table_listing

if TYPE_CHECKING:
    from lacunary.report.figures_ent import Ratio

__all__ = ["PAPER"]

NAMES = {"asia": "Asia", "alarm": "ALARM", "random": "random networks"}

NOTES = (
    "The paper says neither how its starts are drawn nor when its climbs stop. Both were settled from its "
    "words and from a package of its time, and written down with the seeds and the rules for verdicts before "
    "the run (README.md of this paper in the package); the run was made once.",
    "Assumed: the arcs of BN1, whose figure is lost; Asia for Figure 1. ALARM as distributed has 11 leaves, "
    "not 8.",
)


def outcome(results: Results) -> Outcome:
    """Return tables, figures and answers."""
    figure, by_figure = figure_found(results)
    (first, by_first), (second, by_second) = bn1(results), bn2(results)
    tables = [table_listing(results, network) for network in NETWORKS]
    found: dict[str, Found] = {**rankings(results), **medians(results), **remarks(results)}
    found |= by_figure | by_first | by_second | endings(results) | weights_found(results)
    listings = [*tables, figure, first, second, stopping_listing(results)]
    return Outcome([each for each in listings if each.rows], drawings(results), found, NOTES)


def drawings(results: Results) -> list[Drawing]:
    """Return the figures for which there is something to draw."""
    from lacunary.report import figures_ent  # plotting takes a second to import

    made = []
    panels = [
        figures_ent.Runs(
            f"{record.arguments['missing']:.0%} missing",
            *(np.array(record.value[name]) for name in ("scores", "entropies", "kl")),
        )
        for record in results.of(figure_runs)
    ]
    if panels:
        caption = (
            f"{len(panels[0].scores)} climbs, one table of 200 rows from Asia; darker is nearer the truth."
        )
        made.append(Drawing("figure-1-runs", "Figure 1", caption, figures_ent.runs(panels)))
    ratios = _ratios(results)
    if ratios:
        caption = "Full marks with 95 % intervals are ours, empty ones printed; below 1 beats the best start."
        made.append(Drawing("tables", "Tables 1 to 3, joint metric", caption, figures_ent.ratios(ratios)))
    traced = curves(results)
    if traced:
        caption = "Asia, joint metric, uniform starts: average and entropy against the best start."
        figure = figures_ent.stopping(traced, _printed_joint())
        made.append(Drawing("stopping", "Stopped earlier or later", caption, figure))
    return made


def _ratios(results: Results) -> dict[str, dict[str, list[Ratio]]]:
    from lacunary.report.figures_ent import Ratio  # plotting takes a second to import

    panels: dict[str, dict[str, list[Ratio]]] = {}
    for network in NETWORKS:
        cells = [cell_of(results, network, rows, missing, "joint") for rows, missing in SETTINGS]
        if any(cell is None for cell in cells):
            continue
        panels[NAMES[network]] = {
            method: [
                Ratio(
                    f"n = {rows}\n{missing:.0%} missing",
                    MEDIANS[network]["joint"][i][place],
                    *cell.relative(method),
                )
                for i, ((rows, missing), cell) in enumerate(zip(SETTINGS, cells, strict=True))
                if cell is not None
            ]
            for place, method in enumerate(("average", "entropy"))
        }
    return panels


def _printed_joint() -> dict[str, tuple[float, float]]:
    return {
        f"n = {rows}, {missing:.0%} missing": pair
        for (rows, missing), pair in zip(SETTINGS, MEDIANS["asia"]["joint"], strict=True)
    }


PAPER = Paper(units, outcome)
