"""The papers, reproduced: every table, figure and claim beside what was printed.

A paper is a client of the library: a package ``papers/<key>/`` that imports public names of ``lacunary`` and
this frame. Two files are needed, and nothing needs to be registered.

``claims.toml`` holds what was printed: ``[paper]`` with ``title``, ``authors``, ``machine`` (what theirs ran
on) and ``notes`` (paragraphs on what had to be assumed), then for every number or statement a ``[[claim]]``
as `Claim` spells out: ``id``, ``where``, ``says``, ``printed`` (a number; nothing if it is a statement),
``tolerance``, ``why`` and ``flat``: what an answer that knows nothing would have got. docs/verdicts.md has
the rule by which all of them are judged.

``run.py`` holds ``PAPER = Paper(units, outcome)``:

- ``units(size)`` lists the work for a size ("tiny" for tests, "glance", "full") as `Unit` objects: a
  top-level function of the package and its JSON arguments. A unit makes its own data from seeds (`seed_of`),
  returns JSON without NaN, and is kept under ``OUT/work/<key>/``; a finished one is not done again. They may
  run on several processes and are begun in the listed order, so the important ones come first.
- ``outcome(results)`` makes an `Outcome` of what is done: listings (tables; empty ones are not shown),
  drawings (figures, made in the paper's ``figures.py``, which alone may plot) and, by claim id, what was
  `Found`. ``results.of(function)`` gives the records of a function, each with ``arguments``, ``value`` and
  ``seconds``. Records can be missing (another size, or a look at unfinished work): leave out what then has no
  answer, and the claim stays *open*.

`edition` of a `Paper` is to be raised when its units come to mean something else.
"""

from __future__ import annotations

from lacunary.papers.claims import (
    LUCK,
    Claim,
    Found,
    Judged,
    Verdict,
    all_of,
    compared,
    most_of,
    stated,
    tail,
)
from lacunary.papers.outcome import Drawing, Listing, Outcome, Paper, Size, keys, paper
from lacunary.papers.sample import error_of_mean, least_squares, minus
from lacunary.papers.work import Record, Results, Unit, blocks, carry_out, kept_under, seed_of, sweep

__all__ = [
    "LUCK",
    "Claim",
    "Drawing",
    "Found",
    "Judged",
    "Listing",
    "Outcome",
    "Paper",
    "Record",
    "Results",
    "Size",
    "Unit",
    "Verdict",
    "all_of",
    "blocks",
    "carry_out",
    "compared",
    "error_of_mean",
    "kept_under",
    "keys",
    "least_squares",
    "minus",
    "most_of",
    "paper",
    "seed_of",
    "stated",
    "sweep",
    "tail",
]
