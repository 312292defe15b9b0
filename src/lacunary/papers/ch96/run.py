"""CH96, reproduced: five approximations of the evidence of naive Bayes models with a hidden root."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lacunary.papers import Drawing, Listing, Outcome, Paper, Results
from lacunary.papers.ch96.answers import answers
from lacunary.papers.ch96.beyond import beyond, closeness, references
from lacunary.papers.ch96.curves import Curve, chosen, curves, mean_delta
from lacunary.papers.ch96.plan import units
from lacunary.papers.ch96.settings import FIGURES, PRINTED, ROWS, SCORES
from lacunary.papers.ch96.times import table_2, times
from lacunary.papers.ch96.work import reality

__all__ = ["PAPER"]

LABELS = {
    "laplace": "Laplace",
    "cheeseman-stutz": "CS",
    "mled": "MLED",
    "draper": "Draper",
    "bic": "BIC/MDL",
    "variational": "variational",
}

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
    known = curves(results)
    return Outcome(
        list(_listings(results, known)),
        list(_drawings(results, known)),
        answers(results) | times(results) | beyond(results),
        NOTES,
    )


def _listings(results: Results, known: list[Curve]) -> Iterator[Listing]:
    yield _table_1(known)
    yield table_2(results)
    yield _curves(known)
    yield closeness(results)
    yield _realities(results)


def _table_1(known: list[Curve]) -> Listing:
    rows: list[tuple[str | int, ...]] = []
    for setting, printed in zip(ROWS, PRINTED, strict=True):
        own = [curve for curve in known if curve.setting == setting]
        cells: list[str] = []
        for score, (mean, spread) in zip(SCORES[1:], printed, strict=True):
            ours = mean_delta(own, score) if own else None
            cells += [f"{mean:g} ± {spread:g}", "" if ours is None else f"{ours[0]:.1f} ± {ours[1]:.1f}"]
        sizes = (setting.n, setting.c, setting.rows, len({c.model for c in own}), len(own))
        rows.append((*sizes, *(cell.replace("-", "−") for cell in cells)))
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
            r.arguments["n"],
            r.arguments["c"],
            r.arguments["repeat"],
            *(r.value["best"][score] for score in SCORES),
            r.value["arcs"],
            r.value["without"],
            r.value["delta"],
        )
        for r in results.of(reality)
    ]
    columns = ("n", "c", "model", *(f"states by {LABELS[s]}" for s in SCORES), "arcs", "nothing hidden", "Δm")
    return Listing("section-5", "Section 5: a hidden class against a graph without, N = 800", columns, rows)


def _drawings(results: Results, known: list[Curve]) -> Iterator[Drawing]:
    from lacunary.report import figures_papers as draw

    for number, (name, settings) in enumerate(FIGURES.items(), start=1):
        shown = [
            next((c for c in known if (c.setting, c.model, c.data) == (s, 0, 0)), None) for s in settings
        ]
        if any(shown):
            panels = [_panel(curve) for curve in shown if curve is not None]
            yield Drawing(
                name,
                f"Figure {number}: log evidence against the number of hidden states",
                "One data set a panel, as printed; the dotted rule is the number of states of the model that "
                "made the data, and the ring each curve's highest point.",
                draw.panels(panels, x="hidden states", y="log evidence (nats)"),
            )
    own = references(results)
    if own:
        yield Drawing(
            "evidence",
            "Five scores and the variational bound against the evidence",
            "Score less log evidence on one data set a setting. The evidence is the larger of annealed "
            "importance sampling and the variational bound; BIC, far below, is left out. Level means right.",
            draw.panels(
                [_gaps(s.n, s.c, s.rows, refs) for s, refs in own.items()],
                x="hidden states",
                y="score less log evidence (nats)",
                columns=3,
            ),
        )
        yield Drawing(
            "peaks",
            "The evidence against the number of hidden states",
            "Log evidence less its highest value, on the data sets of the figures. Where the models have 16 "
            "or 32 states, CH96 saw two peaks in every score.",
            draw.panels(
                [_heights(s.n, s.c, s.rows, refs) for s, refs in own.items()],
                x="hidden states",
                y="below the highest (nats)",
                columns=3,
            ),
        )


def _panel(curve: Curve) -> Any:
    from lacunary.report.figures_papers import Line, Panel

    lines = []
    for place, score in enumerate(SCORES):
        values = curve.of(score)
        lines.append(
            Line(LABELS[score], list(values), list(values.values()), place=place, ring=chosen(values))
        )
    n, c, rows = curve.setting
    return Panel(f"n = {n}, c = {c}, N = {rows}", lines, marked=c)


def _gaps(n: int, c: int, rows: int, own: Any) -> Any:
    from lacunary.report.figures_papers import Line, Panel

    lines = []
    for place, name in enumerate((*SCORES, "variational")):
        points = [(one.k, s - one.evidence) for one in own if (s := one.score(name)) is not None]
        if name != "bic":
            lines.append(Line(LABELS[name], [x for x, _ in points], [y for _, y in points], place=place))
    return Panel(f"n = {n}, c = {c}, N = {rows}", lines, marked=c, level=0.0)


def _heights(n: int, c: int, rows: int, own: Any) -> Any:
    from lacunary.report.figures_papers import Line, Panel

    lines = []
    for place, name, label in (
        (6, "evidence", "evidence"),
        (0, "laplace", "Laplace"),
        (1, "cheeseman-stutz", "CS"),
        (5, "variational", "variational"),
    ):
        values = {one.k: one.evidence if name == "evidence" else one.score(name) for one in own}
        known = {k: v for k, v in values.items() if v is not None}
        top = max(known.values())
        ring = chosen(known)
        lines.append(Line(label, list(known), [v - top for v in known.values()], place=place, ring=ring))
    return Panel(f"n = {n}, c = {c}, N = {rows}", lines, marked=c)


PAPER = Paper(units, outcome)
