"""What the scores of BG03's structures at 480 rows come to (Figure 1), and the times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from lacunary.papers import Found, Listing, Results, verdict_if
from lacunary.papers.bg03.plan import ROWS
from lacunary.papers.bg03.structures import TRUE, graph, structures
from lacunary.papers.bg03.work import bounds_block, evidence_block, score_block

__all__ = ["NAMES", "Scored", "figure_one", "scored", "true_evidence"]

NAMES = {"map": "MAP", "bic": "BIC", "vb": "VB", "ais": "AIS", "gibbs": "AIS, Gibbs"}
"""Methods as they are shown: AIS is BG03's, Gibbs the library's own sampler."""


@dataclass(frozen=True, eq=False)
class Scored:
    """The scores of all structures on one table, by name of the column; (structures,)."""

    columns: Mapping[str, NDArray[np.float64]]
    true: int

    def rank(self, method: str) -> int | None:
        """Return the rank of the true structure, 1 the best; None if the method was not run."""
        values = self.columns.get(method)
        return None if values is None else int(1 + (values > values[self.true]).sum())


def scored(results: Results, parents: str, rows: int, alpha: float = 1.0, setting: int = 0) -> Scored | None:
    """Return the scores of all structures; None while some are missing."""
    wanted = {"parents": parents, "alpha": alpha, "setting": setting, "rows": rows}
    for function in (score_block, bounds_block):
        lines = [line for record in results.of(function, **wanted) for line in record.value]
        if len({tuple(line["structure"]) for line in lines}) == len(structures()):
            columns = {
                name: np.array([line[name] for line in lines]) for name in lines[0] if name != "structure"
            }
            return Scored(columns, [tuple(line["structure"]) for line in lines].index(TRUE[parents]))
    return None


def figure_one(results: Results) -> tuple[list[Listing], dict[str, Found]]:
    """Return the scores at 480 rows and what they say."""
    found: dict[str, Found] = {
        "structures": Found(len(structures())),
        "parameters": Found(graph(TRUE["apart"]).layout.free),
    }
    listings = []
    for parents in TRUE:
        here = scored(results, parents, ROWS)
        if here is None or "ais" not in here.columns:
            continue
        listings.append(_score_listing(here, parents))
        if parents == "apart":
            found |= _trends(here) | _at_480(here, true_evidence(results)) | _times(here)
    if any("steps" in record.arguments for record in results.of(score_block)):
        # Fewer steps than in print: what is said of AIS there is not put to the test.
        found = {name: answer for name, answer in found.items() if "ais" not in name and name != "faster"}
    return listings, found


def _score_listing(here: Scored, parents: str) -> Listing:
    lines = []
    for i, code in enumerate(structures()):
        told = " ".join(
            f"h{h + 1}:{''.join(str(j + 1) for j in range(4) if c >> j & 1) or '-'}"
            for h, c in enumerate(code)
        )
        values = [f"{here.columns[m][i]:.2f}" for m in NAMES]
        error = f"{here.columns['gibbs_error'][i]:.2f}"
        mark = "true" if i == here.true else None
        lines.append([told, int(here.columns["parameters"][i]), *values, error, mark])
    columns = ("structure", "parameters", *NAMES.values(), "± of Gibbs", "")
    title = f"Figure 1 in numbers: all structures at {ROWS} rows (single parents {parents})"
    return Listing(
        f"scores-{parents}", title, columns, lines, "h1:123 has arcs from h1 to y1, y2 and y3. In nats."
    )


def _trends(here: Scored) -> dict[str, Found]:
    found = {}
    parameters = here.columns["parameters"]
    many = parameters >= parameters[here.true]
    for name, method, sign in (("map-up", "map", 1), ("bic-down", "bic", -1)):
        scores = here.columns[method]
        trend, late = (float(spearmanr(parameters[x], scores[x])[0]) for x in (slice(None), many))
        verdict = verdict_if(sign * trend > 0.5, sign * trend > 0)
        turned = f"{late:.2f} among structures with at least as many parameters as the true one"
        note = "" if verdict == "reproduced" else turned
        found[name] = Found(f"correlation {trend:.2f}", verdict=verdict, note=note)
    return found


def true_evidence(results: Results) -> NDArray[np.float64] | None:
    """Return the evidence of all structures by many long chains; None while some are missing."""
    lines = [line for record in results.of(evidence_block, parents="apart") for line in record.value]
    return np.array([line["value"] for line in lines]) if len(lines) == len(structures()) else None


def _at_480(here: Scored, evidence: NDArray[np.float64] | None) -> dict[str, Found]:
    ais, vb, bic, best = (here.columns[name] for name in ("ais", "vb", "bic", "gibbs"))
    best = best if evidence is None else evidence
    many, above, close = len(ais), int((ais > vb).sum()), np.abs(vb - best) < np.abs(bic - best)
    gap = best - vb
    out = {
        "ais-above-vb": Found(f"{above} of {many}", verdict=verdict_if(above == many, above >= 0.95 * many)),
        "vb-close": Found(
            f"{int(close.sum())} of {many}",
            verdict=verdict_if(bool(close.all()), bool(close.mean() >= 0.9)),
            note=f"mean distance from the evidence: VB {gap.mean():.1f}, BIC {(best - bic).mean():.1f} nats",
        ),
        "tightness": Found(f"{gap.mean():.1f} nats on average, {gap[here.true]:.1f} for the true structure"),
    }
    for method in ("vb", "ais"):
        rank = here.rank(method) or 0
        note = "" if evidence is None else _true_rank(evidence, ais, here.true)
        out[f"{method}-480"] = Found(
            f"rank {rank}", verdict=verdict_if(rank == 1, rank <= 0.03 * many), note=note
        )
    return out


def _true_rank(evidence: NDArray[np.float64], ais: NDArray[np.float64], true: int) -> str:
    rank = int(1 + (evidence > evidence[true]).sum())
    ahead = float(evidence[true] - np.delete(evidence, true).max())
    error = float((ais - evidence).std(ddof=1))
    return (
        f"by eight chains of 4096 Gibbs steps the true structure has rank {rank}, {ahead:+.1f} nats from the "
        f"best other; one chain of AIS as in print errs by {error:.1f} nats"
    )


def _times(here: Scored) -> dict[str, Found]:
    ours = "on one core shared with other work; 16 accelerated starts"
    printed = {
        "map": ("bic", 200.0, ours),
        "vb": ("vb", 575.0, ours),
        "ais": ("ais", 55_000.0, "one chain each"),
    }
    spent = {name: float(here.columns[f"{name}_seconds"].sum()) for name in printed}
    out = {}
    for name, (label, then, note) in printed.items():
        told, verdict = f"{spent[name]:.0f} s", verdict_if(spent[name] <= then)
        out[f"time-{label}"] = Found(told, verdict=verdict, note=note, seconds=spent[name])
    ratio = spent["ais"] / spent["vb"]
    note = "the sampler became faster by far more than EM did; 16 starts of VB are counted"
    out["faster"] = Found(f"{ratio:.1f} times", verdict=verdict_if(33 <= ratio <= 300, ratio > 1), note=note)
    return out
