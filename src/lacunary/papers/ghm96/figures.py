"""Figures of the reproduction of GHM96."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.colors import BoundaryNorm, ListedColormap
from matplotlib.patches import Patch

from lacunary.papers import Drawing, Results, error_of_mean
from lacunary.papers.figures import Line, Panel, panels, sheet
from lacunary.papers.ghm96.answers import ERRORS, KINDS, Cell, cells, certain, error_of
from lacunary.papers.ghm96.work import CASES

COLOURS = ("#ffffff", "#c6dbef", "#fdd0a2", "#b30000")
"""Of cells where there is no model, and of the kinds."""

DIVIDED = 12
"""Classes up to which cells of the map are divided by lines."""

ASIDE = 1.07
"""Between two scores at the same number of rows."""


def drawings(results: Results) -> Iterator[Drawing]:
    """Return the figures for which there is something to draw."""
    found = cells(results)
    if found:
        yield Drawing(
            "map",
            "Where the rank falls below the number of parameters",
            "Naive Bayes models of n features with b states each and k classes; columns end once the classes "
            "fill all distributions of the features. Section 6 knew of one red cell, (2, 3, 4).",
            _maps({b: [c for c in found if c.b == b] for b in sorted({c.b for c in found})}),
        )
    if any(certain(results, case) for case in CASES):
        yield Drawing(
            "growth",
            "Errors of six scores on growing samples",
            "Score minus log p(D), mean over samples with its standard error; four binary features. A score "
            "that is right up to a constant is level. Top left: section 6's counterexample, where plain CS "
            "and BIC with 14 parameters fall away by ½ log N, and both are level with the rank. With two "
            "classes d = d′ and both forms of CS, and of BIC, are one. Bottom: singular truths, where BIC "
            "with the rank falls away, against the conjecture of section 4, and sBIC with exact coefficients "
            "repairs it; WBIC strays by a multiple of √log N. At regular truths sBIC and BIC with the rank "
            "are one curve from 1 000 rows on. Points are set off sideways.",
            panels(
                [_panel(results, case) for case in CASES], x="rows N", y="score − log p(D) (nats)", log_x=True
            ),
        )


def _maps(found: dict[int, list[Cell]]) -> Any:
    """Draw the models of each number of states side by side, a colour for each kind."""
    kept = {b: [c for c in own if c.k > 1 and not (b == 2 and c.n > 10)] for b, own in found.items()}
    widths = [max(c.n for c in own) for own in kept.values()]
    ratios = [max(width, 2) for width in widths]
    scale, norm = ListedColormap(COLOURS), BoundaryNorm(np.arange(-1.5, len(KINDS) + 0.5), len(COLOURS))
    with sheet(2.2 + 0.3 * sum(ratios), 5.6, columns=len(kept), width_ratios=ratios) as (figure, [grid]):
        for axes, (b, own), n in zip(grid, kept.items(), widths, strict=True):
            k = max(c.k for c in own)
            kinds = np.full((k, n), -1)
            for cell in own:
                kinds[cell.k - 1, cell.n - 1] = cell.kind
            across, up = np.arange(n + 1) - 0.5, np.arange(2, k + 2) - 0.5
            axes.pcolormesh(across, up, kinds[1:], cmap=scale, norm=norm)
            # Lines between cells would hide those that are thinner than a line.
            axes.hlines(up[:DIVIDED], -0.5, n - 0.5, color="#ffffff", linewidth=0.6)
            axes.vlines(across, 1.5, k + 0.5, color="#ffffff", linewidth=0.6)
            axes.set_title(f"b = {b}", fontsize=10)
            axes.set_xticks(range(n), [str(i + 1) for i in range(n)])
            axes.set_yscale("log")
            ticks = [t for t in (2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 90) if t <= k]
            axes.set_yticks(ticks, [str(t) for t in ticks])
            axes.minorticks_off()
            axes.set_xlabel("features n")
        grid[0].set_ylabel("classes k")
        patches = [Patch(facecolor=c, label=n) for c, n in zip(COLOURS[1:], KINDS, strict=True)]
        figure.legend(handles=patches, loc="outside upper center", ncols=1, frameon=False, fontsize=9)
        return figure


def _panel(results: Results, case: tuple[str, int, int]) -> Panel:
    kind, _, k = case
    records = certain(results, case)
    sizes = sorted({r.arguments["rows"] for r in records})
    lines = []
    for place, (name, label) in enumerate(ERRORS.items()):
        if name in ("bic", "corrected") and k == 2:
            continue
        all_of = (
            (size, [error_of(r, name) for r in records if r.arguments["rows"] == size]) for size in sizes
        )
        known = ((size, [error for error in own if error is not None]) for size, own in all_of)
        errors = {size: own for size, own in known if own}
        means, spread = [float(np.mean(e)) for e in errors.values()], [*map(error_of_mean, errors.values())]
        aside = [size * ASIDE ** (place - 2.5) for size in errors]
        lines.append(Line(label, aside, means, spread, place))
    return Panel(f"{kind} truth, {k} classes", lines, level=0.0)
