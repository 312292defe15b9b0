"""TMCH98: Figures 2 to 5, Tables 1 and 2, times, and what the paper asks for."""

from __future__ import annotations

from lacunary.papers import Outcome, Paper, Results
from lacunary.papers.tmch98.cars import car_found, car_listings
from lacunary.papers.tmch98.compare import digit_found, digit_listings
from lacunary.papers.tmch98.more import more_found, more_listings
from lacunary.papers.tmch98.path import path_found, path_listing
from lacunary.papers.tmch98.plan import units
from lacunary.papers.tmch98.portraits import face_found
from lacunary.papers.tmch98.structures import structure_found, structure_listings

__all__ = ["PAPER"]

GAINS: tuple[str, ...] = ("gain-full", "gain-diag")

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
    from lacunary.papers.tmch98.figures import drawings  # plotting takes a second to import

    found = digit_found(results)
    gains = {name: float(found[name].value) for name in GAINS if name in found}
    found |= path_found(results) | face_found(results) | car_found(results, gains)
    found |= structure_found(results) | more_found(results)
    listings = [
        *digit_listings(results),
        path_listing(results),
        *car_listings(results),
        *structure_listings(results),
        *more_listings(results),
    ]
    return Outcome(listings, list(drawings(results)), found, NOTES)


PAPER = Paper(units, outcome)
