"""BG03: Figures 1 and 2, the times, and averages that the paper could not afford."""

from __future__ import annotations

from lacunary.papers import Outcome, Paper, Results
from lacunary.papers.bg03.averages import averaged
from lacunary.papers.bg03.lengths import length_found, length_listing
from lacunary.papers.bg03.plan import units
from lacunary.papers.bg03.ranks import left_of_two, rank_listing
from lacunary.papers.bg03.structures import TRUE
from lacunary.papers.bg03.summary import figure_one

__all__ = ["PAPER"]

NOTES = (
    "The paper gives neither the Dirichlet hyperparameters nor the true parameters, nor the twenty sizes, "
    "nor whether the two observed variables with a single parent share it. Here the hyperparameters are 1 "
    "(and 0.5 in the averages), sizes are the doublings from 10 to 10 240 with nine more between, and the "
    "single parents are apart unless said.",
    "MAP is the likelihood at the peak of the density of probabilities: with hyperparameters of 1, the "
    "greatest likelihood there is.",
)


def outcome(results: Results) -> Outcome:
    """Return tables, figures and answers."""
    from lacunary.papers.bg03.figures import drawings  # plotting takes a second to import

    scores, found = figure_one(results)
    averages, by_average, _ = averaged(results)
    found |= left_of_two(results) | length_found(results) | by_average
    listings = [*(rank_listing(results, way) for way in TRUE), length_listing(results), averages, *scores]
    return Outcome(listings, list(drawings(results)), found, NOTES)


PAPER = Paper(units, outcome)
