"""TMCH98: Figures 2 to 5, Tables 1 and 2, times, and what the paper asks for."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.papers import Drawing, Outcome, Paper, Results
from lacunary.papers.tmch98.cars import car_found, car_listings, car_scores
from lacunary.papers.tmch98.compare import chosen, digit_found, digit_listings, grown, peaks
from lacunary.papers.tmch98.more import more_found, more_listings, vote_curves
from lacunary.papers.tmch98.path import journeys, path_found, path_listing
from lacunary.papers.tmch98.plan import units
from lacunary.papers.tmch98.portraits import face_found, faces_of
from lacunary.papers.tmch98.printed import TABLE_2
from lacunary.papers.tmch98.structures import differences, structure_found, structure_listings
from lacunary.papers.tmch98.tables import KINDS, SIZES

__all__ = ["PAPER"]

NOTES = (
    "The digits are not the paper's: the CEDAR images are not free, and MNIST's stand in for them, cropped "
    "to the ink, smoothed and averaged down to 8 × 8, 1 100 to learn from and 400 to test on. Numbers of "
    "components and parameters need not be the same; how the classes of mixtures compare should be.",
    "Priors, noise, starts, schedule, stopping rule and the rule for the number of components are the "
    "paper's. Cheeseman–Stutz takes the two dimensions as equal, of which the paper says nothing. Its "
    "equation 11 has the powers of N upside down, which then does not matter.",
    "Section 7 shows its structures only in a figure that the text does not have, and names no prior: the "
    "structures are ours, the prior is that of section 6 with μ at the average of the data, 5/3.",
    "Times are of the processor, one core, so that other work on the machine does not count.",
)


def outcome(results: Results) -> Outcome:
    """Return tables, figures and answers."""
    found = digit_found(results)
    gains: dict[str, float] = {}
    for name in ("gain-full", "gain-diag"):
        if name in found:
            gains[name] = float(found[name].value)
    found |= path_found(results) | face_found(results) | car_found(results, gains)
    found |= structure_found(results) | more_found(results)
    listings = [
        *digit_listings(results),
        path_listing(results),
        *car_listings(results),
        *structure_listings(results),
        *more_listings(results),
    ]
    return Outcome([each for each in listings if each.rows], drawings(results), found, NOTES)


def drawings(results: Results) -> list[Drawing]:
    """Return the figures for which there is something to draw."""
    made = [
        _figure_2(results),
        _figure_3(results),
        _figure_4(results),
        *_figure_5(results),
        _table_2(results),
        _peak_figure(results),
        _vote_figure(results),
    ]
    return [drawing for drawing in made if drawing is not None]


def _figure_2(results: Results) -> Drawing | None:
    from lacunary.report import figures_tmch98 as figures  # plotting takes a second to import

    scores: dict[str, dict[str, Any]] = {name: {} for name in KINDS.values()}
    for digit in range(10):
        for kind, name in KINDS.items():
            if record := grown(results, digit, kind):
                line = chosen(record)
                scores[name][f"“{digit}”"] = figures.Scored(line["score"], line["spread"])
    if not any(scores.values()):
        return None
    caption = "Log predictive scores of 400 test images of each digit; one standard error over images."
    return Drawing("figure-2", "Figure 2", caption, figures.predictive(scores, "digit"))


def _figure_3(results: Results) -> Drawing | None:
    from lacunary.report import figures_tmch98 as figures

    kinds = {
        name: [figures.Face(face["weight"], face["mean"], face["samples"]) for face in found]
        for name, found in faces_of(results).items()
    }
    if not kinds:
        return None
    caption = "Components of the mixtures for “7”: weight, mean, and four samples of each."
    return Drawing("figure-3", "Figure 3", caption, figures.faces(kinds))


def _figure_4(results: Results) -> Drawing | None:
    from lacunary.report import figures_tmch98 as figures

    here = journeys(results).get((7, 0))
    if here is None:
        return None
    caption = (
        "Cheeseman–Stutz after every arc change on the way to a mixture of three for “7”. "
        f"It falls after {here.falls} of {len(here.values)}; in print after 149 of 964."
    )
    figure = figures.journey(here.values, here.searches, here.climbs)
    return Drawing("figure-4", "Figure 4", caption, figure)


def _figure_5(results: Results) -> list[Drawing]:
    from lacunary.report import figures_tmch98 as figures

    made = []
    for about, told in (("64", "as in print"), ("Opel", "with means expected at the Opel's")):
        scores = {
            name: {v: figures.Scored(float(np.mean(each)), _error(each)) for v, each in found.items()}
            for name, found in car_scores(results, about).items()
        }
        if all(scores.values()):
            caption = f"Log predictive scores of the vehicles, {told}; one standard error over splits."
            figure = figures.predictive(scores, "vehicle")
            name = "figure-5" if about == "64" else "figure-5-opel"
            made.append(Drawing(name, f"Figure 5, {told}", caption, figure))
    return made


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _table_2(results: Results) -> Drawing | None:
    from lacunary.report import figures_tmch98 as figures

    found = [[differences(results, rows, c) for rows in SIZES] for c in range(3)]
    if not any(any(each) for each in found):
        return None
    printed = [[TABLE_2[rows][2][c] for rows in SIZES] for c in range(3)]
    caption = "Arc differences of the three largest components; discs are seeds, the larger the more of them."
    return Drawing("table-2", "Table 2", caption, figures.recovery(SIZES, found, printed))


def _peak_figure(results: Results) -> Drawing | None:
    from lacunary.report import figures_tmch98 as figures

    panels = [
        figures.Panel(
            f"“{digit}”",
            [line["asked"] for line in lines],
            [line["cs"] for line in lines],
            [line["plug-in"] for line in lines],
        )
        for digit, lines in peaks(results)[1].items()
    ]
    if not panels:
        return None
    caption = "Both scores of MDAG/n against the number of components, from worst to best; peaks are large."
    return Drawing("peaks", "Do the two scores peak together?", caption, figures.synchrony(panels))


def _vote_figure(results: Results) -> Drawing | None:
    from lacunary.report import figures_tmch98 as figures

    curves = vote_curves(results)
    if not curves:
        return None
    caption = (
        "Cheeseman–Stutz of mixtures for the House votes; few components without arcs are off the scale."
    )
    return Drawing("votes", "A discrete example", caption, figures.votes(curves))


PAPER = Paper(units, outcome)
