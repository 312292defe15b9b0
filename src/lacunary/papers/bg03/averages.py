"""The rank of the true structure over many true parameter settings, which BG03 could not afford."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.papers import Found, Listing, Results
from lacunary.papers.bg03.plan import AVERAGED
from lacunary.papers.bg03.structures import TRUE
from lacunary.papers.bg03.summary import scored
from lacunary.papers.bg03.work import bounds_block

__all__ = ["averaged"]

Shares = dict[str, dict[str, list[tuple[int, float, float]]]]
"""By panel and method: rows, share of first places, its standard error."""


def averaged(results: Results) -> tuple[Listing, dict[str, Found], Shares]:
    """Return ranks over many true settings: listing, answers, and shares of first places to draw."""
    lines: list[list[Any]] = []
    panels: Shares = {}
    wins: list[bool] = []
    for parents in TRUE:
        for alpha in (1.0, 0.5):
            for rows in AVERAGED:
                ranks = _over_settings(results, parents, alpha, rows)
                if len(ranks) < 2:
                    continue
                lines.append([parents, alpha, rows, len(ranks), *_rank_summary(ranks)])
                wins += [b < a for a, b in ranks if a != b]
                for place, method in enumerate(("BIC", "VB")):
                    top = (ranks[:, place] == 1).mean()
                    point = (rows, float(top), float(np.sqrt(top * (1 - top) / len(ranks))))
                    panel = panels.setdefault(f"{parents}, alpha = {alpha:g}", {})
                    panel.setdefault(method, []).append(point)
    methods = ("BIC: mean rank", "first", "VB: mean rank", "first", "VB better")
    columns = ("single parents", "alpha", "rows", "settings", *methods)
    note = "First: share of settings in which the true structure comes first. VB better: than BIC."
    listing = Listing("averages", "Averages over true parameter settings", columns, lines, note)
    return listing, _average_found(lines, wins), panels


def _over_settings(results: Results, parents: str, alpha: float, rows: int) -> NDArray[np.int64]:
    """Return the rank of the true structure by BIC and VB; (settings, 2)."""
    records = results.of(bounds_block, parents=parents, alpha=alpha, rows=rows)
    numbers = sorted({record.arguments["setting"] for record in records} - {0})
    found = [scored(results, parents, rows, alpha, setting) for setting in numbers]
    ranks = [[each.rank("bic"), each.rank("vb")] for each in found if each is not None]
    return np.array(ranks).reshape(-1, 2)


def _rank_summary(ranks: NDArray[np.int64]) -> list[Any]:
    out: list[Any] = []
    for place in range(2):
        out += [f"{ranks[:, place].mean():.1f}", f"{(ranks[:, place] == 1).mean():.2f}"]
    return [*out, f"{(ranks[:, 1] < ranks[:, 0]).mean():.2f}"]


def _average_found(lines: list[list[Any]], wins: list[bool]) -> dict[str, Found]:
    if not lines or not wins:
        return {}
    share = float(np.mean(wins))
    told = "; ".join(
        f"{p}, alpha = {a:g}, n = {n}: VB {v}, BIC {b}"
        for p, a, n, _, _, b, _, v, _ in lines
        if n in (480, 1120)
    )
    return {
        "many": Found(f"in {share:.0%} of {len(wins)} cases", note="a case is a setting and a size"),
        "first": Found(told or "not run", note="share of settings"),
    }
