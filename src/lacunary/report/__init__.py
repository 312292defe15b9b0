"""What was found, for people: as text, as a page, as figures."""

from lacunary.report.classes import study
from lacunary.report.page import page
from lacunary.report.record import Candidate, Case, Profile, Study
from lacunary.report.structure import Structure, structure
from lacunary.report.text import text
from lacunary.report.words import Words

__all__ = [
    "Candidate",
    "Case",
    "Profile",
    "Structure",
    "Study",
    "Words",
    "page",
    "structure",
    "study",
    "text",
]
