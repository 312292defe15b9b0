"""Figures of the reproduction of CH96."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lacunary.papers import Drawing, Results
from lacunary.papers.ch96.beyond import Drawn, Reference, references
from lacunary.papers.ch96.curves import FIGURES, LABELS, SCORES, Curve, chosen
from lacunary.papers.figures import Line, Panel, panels


def drawings(results: Results, known: Sequence[Curve]) -> Iterator[Drawing]:
    """Return the figures for which there is something to draw."""
    first = {curve.setting: curve for curve in known if (curve.model, curve.data) == (0, 0)}
    for number, (name, settings) in enumerate(FIGURES.items(), start=1):
        shown = [_curves(first[setting]) for setting in settings if setting in first]
        if shown:
            yield Drawing(
                name,
                f"Figure {number}: log evidence against the number of hidden states",
                "One data set a panel, as printed; the dotted rule is the number of states of the model that "
                "made the data, and the ring each curve's highest point.",
                panels(shown, x="hidden states", y="log evidence (nats)"),
            )
    every = references(results)
    own = {drawn: refs for drawn, refs in every.items() if any(one.certain for one in refs)}
    if own:
        gaps = [_gaps(drawn, refs) for drawn, refs in own.items()]
        yield Drawing(
            "evidence",
            "Five scores and the variational bound against the evidence",
            "Score less log evidence, a data set a panel, where the evidence, which is sampled, is "
            "certain to the size of the difference; logarithmic beyond 10 nats. Level at zero means right.",
            panels(gaps, x="hidden states", y="score less log evidence (nats)"),
        )
        heights = [_heights(drawn, refs) for drawn, refs in own.items()]
        yield Drawing(
            "peaks",
            "The evidence against the number of hidden states",
            "Log evidence less its highest value, a data set a panel, where it is certain to a nat. Where "
            "the models have 16 or 32 states, CH96 saw two peaks in every score.",
            panels(heights, x="hidden states", y="below the highest (nats)"),
        )


def _curves(curve: Curve) -> Panel:
    lines = []
    for place, score in enumerate(SCORES):
        values = curve.of(score)
        ring = chosen(values)
        lines.append(Line(LABELS[score], list(values), list(values.values()), place=place, ring=ring))
    return Panel(str(curve.setting), lines, marked=curve.setting.c)


def _gaps(drawn: Drawn, own: Sequence[Reference]) -> Panel:
    lines = []
    for place, name in enumerate((*SCORES, "variational")):
        points = {one.k: one.errors[name] for one in own if name in one.errors}
        lines.append(Line(LABELS[name], list(points), list(points.values()), place=place))
    return Panel(str(drawn), lines, marked=drawn.setting.c, level=0.0, linear=10.0)


def _heights(drawn: Drawn, own: Sequence[Reference]) -> Panel:
    lines = []
    for place, name in ((6, "evidence"), (0, "laplace"), (1, "cheeseman-stutz"), (5, "variational")):
        values = {
            one.k: (one.evidence if one.certain else None) if name == "evidence" else one.scores.get(name)
            for one in own
        }
        known = {k: v for k, v in values.items() if v is not None}
        below = [v - max(known.values()) for v in known.values()]
        lines.append(Line(LABELS.get(name, name), list(known), below, place=place, ring=chosen(known)))
    return Panel(str(drawn), lines, marked=drawn.setting.c)
