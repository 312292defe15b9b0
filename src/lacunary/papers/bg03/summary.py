"""What the scores of BG03's structures at 480 rows come to (Figure 1), and the times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from lacunary.papers import Found, Listing, Results, all_of, stated
from lacunary.papers.bg03.work import ROWS, TRUE, bounds_block, graph, score_block, structures

NAMES = {"map": "MAP", "bic": "BIC", "vb": "VB", "ais": "AIS", "evidence": "evidence"}
"""Methods as they are shown: AIS is BG03's; the evidence is sampled until its error is small."""

BEHIND = f"one true setting, {len(structures())} structures, {ROWS} rows"


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
    for function in (score_block, bounds_block):
        lines = results.lines(function, parents=parents, alpha=alpha, setting=setting, rows=rows)
        codes = [tuple(line["structure"]) for line in lines]
        if len(set(codes)) == len(structures()):
            names = [name for name in lines[0] if name != "structure"]
            columns = {name: np.array([line[name] for line in lines]) for name in names}
            return Scored(columns, codes.index(TRUE[parents]))
    return None


def figure_one(results: Results) -> tuple[list[Listing], dict[str, Found]]:
    """Return the scores at 480 rows and what they say."""
    found: dict[str, Found] = {
        "structures": Found(len(structures()), behind="counted"),
        "parameters": Found(graph(TRUE["apart"]).layout.free, behind="counted"),
    }
    listings = []
    answers: dict[str, dict[str, Found]] = {}
    for parents in TRUE:
        here = scored(results, parents, ROWS)
        if here is None or "ais" not in here.columns:
            continue
        listings.append(_score_listing(here, parents))
        answers[parents] = _trends(here) | (_at_480(here) if "evidence" in here.columns else {})
        found |= _times(here) if parents == "apart" else {}
    found |= _together(answers)
    if any("steps" in record.arguments for record in results.of(score_block)):
        # Fewer steps than in print: what is said of AIS there is not put to the test.
        found = {name: answer for name, answer in found.items() if "ais" not in name and name != "faster"}
    return listings, found


def _together(answers: Mapping[str, Mapping[str, Found]]) -> dict[str, Found]:
    """Return the answers with single parents apart, each with that of the other reading, if it was run."""
    shared = answers.get("shared", {})
    out = dict(answers.get("apart", {}))
    for name in out.keys() & shared.keys():
        other = shared[name]
        told = f"single parents shared: {other.value}" + (f" ({other.note})" if other.note else "")
        out[name] = replace(out[name], readings=(other,), note=f"{out[name].note}; {told}".removeprefix("; "))
    return out


def _score_listing(here: Scored, parents: str) -> Listing:
    lines = []
    for i, code in enumerate(structures()):
        children = ["".join(str(j + 1) for j in range(4) if c >> j & 1) or "-" for c in code]
        told = " ".join(f"h{h + 1}:{own}" for h, own in enumerate(children))
        known = (here.columns.get(m) for m in (*NAMES, "evidence_error"))
        values = [None if column is None else f"{column[i]:.2f}" for column in known]
        mark = "true" if i == here.true else None
        lines.append([told, int(here.columns["parameters"][i]), *values, mark])
    columns = ("structure", "parameters", *NAMES.values(), "±", "")
    title = f"Figure 1 in numbers: all structures at {ROWS} rows (single parents {parents})"
    note = "h1:123 has arcs from h1 to y1, y2 and y3. In nats."
    return Listing(f"scores-{parents}", title, columns, lines, note)


def _trends(here: Scored) -> dict[str, Found]:
    found = {}
    parameters = here.columns["parameters"]
    many = parameters >= parameters[here.true]
    for name, method, sign in (("map-up", "map", 1), ("bic-down", "bic", -1)):
        scores = here.columns[method]
        trend, late = (float(spearmanr(parameters[x], scores[x])[0]) for x in (slice(None), many))
        chance = float(spearmanr(parameters, scores)[1])
        turned = f"{late:.2f} among structures with at least as many parameters as the true one"
        clear = sign * trend > 0.5
        found[name] = stated(
            f"correlation {trend:.2f}", clear, note="" if clear else turned, chance=chance, behind=BEHIND
        )
    return found


def _at_480(here: Scored) -> dict[str, Found]:
    """Compare with the evidence of all structures."""
    ais, vb, bic, best = (here.columns[name] for name in ("ais", "vb", "bic", "evidence"))
    many, close = len(ais), np.abs(vb - best) < np.abs(bic - best)
    gap = best - vb
    far = f"mean distance from the evidence: VB {gap.mean():.1f}, BIC {(best - bic).mean():.1f} nats"
    out = {
        "ais-above-vb": all_of(int((ais > vb).sum()), many, "", behind=BEHIND),
        "vb-close": all_of(int(close.sum()), many, "", far, behind=BEHIND),
        "tightness": Found(f"{gap.mean():.1f} nats on average, {gap[here.true]:.1f} for the true structure"),
    }
    note = _true_rank(here)
    for method in ("vb", "ais"):
        rank = here.rank(method) or 0
        out[f"{method}-480"] = stated(f"rank {rank}", rank == 1, note=note, chance=1 / many, behind=BEHIND)
    return out


def _true_rank(here: Scored) -> str:
    """Return the rank of the true structure by its evidence, and what one chain of AIS errs by."""
    evidence, errors = here.columns["evidence"], here.columns["evidence_error"]
    ahead = float(evidence[here.true] - np.delete(evidence, here.true).max())
    error = float((here.columns["ais"] - evidence).std(ddof=1))
    certain = int(here.columns["evidence_certain"].sum())
    return (
        f"by the evidence, ± {errors.max():.1f} nats and certified for {certain} structures, the true one "
        f"has rank {here.rank('evidence')}, {ahead:+.1f} nats from the best other; one chain of AIS as in "
        f"print errs by {error:.1f} nats"
    )


def _times(here: Scored) -> dict[str, Found]:
    ours = "on one core shared with other work; 16 accelerated starts"
    out, spent = {}, {}
    for name, claim, note in (
        ("map", "time-bic", ours),
        ("vb", "time-vb", ours),
        ("ais", "time-ais", "one chain each"),
    ):
        spent[name] = seconds = float(here.columns[f"{name}_seconds"].sum())
        out[claim] = Found(f"{seconds:.0f} s", note=note, seconds=seconds)
    ratio = spent["ais"] / float(here.columns["vb_start_seconds"].sum())
    note = "one chain of AIS against one start of VB, all structures"
    out["faster"] = Found(f"{ratio:.1f} times", note=note)
    return out
