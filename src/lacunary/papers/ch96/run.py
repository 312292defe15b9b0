"""CH96, reproduced: five approximations of the evidence of naive Bayes models with a hidden root."""

from __future__ import annotations

from lacunary.papers import Listing, Outcome, Paper, Results, minus
from lacunary.papers.ch96.answers import answers
from lacunary.papers.ch96.beyond import beyond, closeness
from lacunary.papers.ch96.curves import Curve, curves, mean_delta
from lacunary.papers.ch96.plan import units
from lacunary.papers.ch96.settings import LABELS, PRINTED, ROWS, SCORES
from lacunary.papers.ch96.times import table_2, times
from lacunary.papers.ch96.work import reality

__all__ = ["PAPER"]

NOTES = (
    "Models are drawn uniformly, as in section 3, with seeds of their own; the paper's are lost. It has one "
    "model a setting and five data sets of it; where there are more models here, the spread over models "
    "tells what one model can say. EM: 64 draws halved six times, then 200 iterations, MAP with α = 1.01 in "
    "the probability basis.",
    "Where that point is no peak, Laplace's approximation refuses; it is then taken where EM gets to "
    "from there. For c above 4 the paper does not say which numbers of states were tried; ours are in the "
    "figures.",
)


def outcome(results: Results) -> Outcome:
    """Return what the work shows."""
    from lacunary.papers.ch96.figures import drawings  # plotting takes a second to import

    known = curves(results)
    listings = [
        _table_1(known),
        table_2(results),
        _curves(known),
        closeness(results),
        _realities(results),
    ]
    found = answers(results) | times(results) | beyond(results)
    return Outcome(listings, list(drawings(results, known)), found, NOTES)


def _table_1(known: list[Curve]) -> Listing:
    rows: list[tuple[str | int, ...]] = []
    for setting, printed in zip(ROWS, PRINTED, strict=True):
        own = [curve for curve in known if curve.setting == setting]
        cells: list[str] = []
        for score, (mean, spread) in zip(SCORES[1:], printed, strict=True):
            ours = mean_delta(own, score) if own else None
            cells += [f"{mean:g} ± {spread:g}", "" if ours is None else f"{ours[0]:.1f} ± {ours[1]:.1f}"]
        sizes = (setting.n, setting.c, setting.rows, len({c.model for c in own}), len(own))
        rows.append((*sizes, *map(minus, cells)))
    columns = ("n", "c", "N", "models", "data sets")
    scores = (f"{LABELS[s]}, {whose}" for s in SCORES[1:] for whose in ("printed", "ours"))
    title = "Table 1: errors in model selection, Δc (mean ± s.d. over data sets)"
    return Listing("table-1", title, (*columns, *scores), rows)


def _curves(known: list[Curve]) -> Listing:
    rows = [
        (*curve.setting, curve.model, curve.data, k, value["d"], *(value["scores"][s] for s in SCORES))
        for curve in known
        for k, value in sorted(curve.values.items())
    ]
    columns = ("n", "c", "N", "model", "data", "k", "d", *SCORES)
    return Listing("curves", "Figures 1 to 3: log evidence by five scores", columns, rows)


def _realities(results: Results) -> Listing:
    rows = [
        (
            *(r.arguments[name] for name in ("n", "c", "repeat")),
            *(r.value["best"][score] for score in SCORES),
            *(r.value[name] for name in ("arcs", "without", "delta")),
        )
        for r in results.of(reality)
    ]
    columns = ("n", "c", "model", *(f"states by {LABELS[s]}" for s in SCORES), "arcs", "nothing hidden", "Δm")
    return Listing("section-5", "Section 5: a hidden class against a graph without, N = 800", columns, rows)


PAPER = Paper(units, outcome)
