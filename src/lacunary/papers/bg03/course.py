"""How ranks go with the number of rows, and AIS with the length of annealing (BG03, Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from lacunary.papers import Found, Listing, Record, Results, most_of, stated, tail
from lacunary.papers.bg03.contest import places
from lacunary.papers.bg03.summary import NAMES, scored
from lacunary.papers.bg03.work import AVERAGED, LENGTHS, ROWS, SIZES, TRUE, anneal, bounds_block, structures

MOVES = {
    "metropolis": "AIS by Metropolis moves, as in print",
    "gibbs": "AIS by Gibbs moves, the library's own",
}

MANY = len(structures())
ONE = "one true setting"

Shares = dict[str, dict[str, list[tuple[int, float, float]]]]
"""By panel and method: rows, share of first places, its standard error."""


def ranks_of(results: Results, parents: str) -> dict[str, dict[int, int]]:
    """Return the true structure's rank by method and size."""
    out: dict[str, dict[int, int]] = {}
    for rows in SIZES:
        found = scored(results, parents, rows)
        for method in NAMES:
            rank = found.rank(method) if found else None
            if rank is not None:
                out.setdefault(method, {})[rows] = rank
    for rows, place in places(results, parents).items():
        out.setdefault("evidence", {})[rows] = place.rank
    return out


def followed(ranks: Mapping[str, Mapping[int, int]]) -> bool:
    """Return whether there are sizes enough to follow a rank over them."""
    return len(ranks.get("vb", {})) > 2


def rank_listing(results: Results, parents: str) -> Listing:
    """Return the rank of the true structure by size and method."""
    ranks = ranks_of(results, parents)
    rows = sorted({size for method in ("ais", "vb") for size in ranks.get(method, {})})
    lines = [[size, *(ranks.get(method, {}).get(size) for method in NAMES)] for size in rows]
    if not followed(ranks):
        lines = []  # a table of an earlier run that follows the rank stays
    title = f"Figure 2, left, in numbers: rank of the true structure (single parents {parents})"
    note = "AIS: one chain of 16 384 Metropolis steps, as in print. Evidence: sampled until ± 0.2 nats."
    return Listing(f"ranks-{parents}", title, ("rows", *NAMES.values()), lines, note)


def left_of_two(results: Results) -> dict[str, Found]:
    """Return what the ranks against size say."""
    ranks = {way: ranks_of(results, way) for way in TRUE}
    sizes = ranks["apart"].get("ais", {})
    if len(sizes) < len(SIZES) // 2 or SIZES[-1] not in sizes:  # too few to speak of a course
        return {}
    settled = {way: {m: _settled(each) for m, each in found.items()} for way, found in ranks.items()}
    found = _rank_claims(ranks["apart"], settled["apart"])
    if followed(ranks["shared"]):
        since = {way: [own[m] or "never" for m in ("vb", "bic")] for way, own in settled.items()}
        told = "; ".join(f"{way}: VB {vb}, BIC {bic}" for way, (vb, bic) in since.items())
        found["sharing"] = Found(f"rows from which on it is first: {told}")
    return found


def _settled(ranks: Mapping[int, int]) -> int | None:
    """Return the first size from which the rank stays 1."""
    return _first_since({size: rank == 1 for size, rank in ranks.items()})


def _first_since(holds: Mapping[int, bool]) -> int | None:
    """Return the first of the numbers from which on something holds; None if it does not at the last."""
    last = max((n for n, held in holds.items() if not held), default=-1)
    return min((n for n in holds if n > last), default=None)


def _rank_claims(
    ranks: Mapping[str, Mapping[int, int]], settled: Mapping[str, int | None]
) -> dict[str, Found]:
    ais, vb, bic = (ranks[name] for name in ("ais", "vb", "bic"))
    last = max(ais)
    first = sum(ranks[name][last] == 1 for name in ("bic", "vb", "ais"))
    each = ", ".join(f"{NAMES[n]} rank {ranks[n][last]}" for n in ("bic", "vb", "ais"))
    when, then = settled["vb"], settled["bic"]
    earlier = when is not None and (then is None or when < then)
    differ = [n for n in vb if vb[n] != bic[n]]
    better = sum(vb[n] < bic[n] for n in differ)
    small = [n for n in ais if n < ROWS]
    won = sum(ais[n] <= min(vb[n], bic[n]) for n in small)
    means = {name: float(np.mean([ranks[name][n] for n in small])) for name in ("ais", "vb", "bic")}
    listed = "mean ranks: " + ", ".join(f"{NAMES[name]} {mean:.1f}" for name, mean in means.items())
    certified = ranks.get("evidence", {})
    lapses, own = _lapses({n: ais[n] for n in certified if n in ais}), _lapses(certified)
    told = f"{lapses} lapse{'' if lapses == 1 else 's'}; {own} by certified evidence"
    nested = f"{ONE}; {len(vb)} sizes, each of which contains the smaller ones"
    return {
        "all-find": stated(
            f"{first} of 3 at {last} rows", first == 3, note=each, chance=1 / MANY**3, behind=ONE
        ),
        "vb-before-bic": stated(f"{when or 'never'} and {then or 'never'}", earlier, chance=0.5, behind=ONE),
        "vb-better": most_of(better, len(differ), "sizes at which they differ", behind=nested),
        "ais-small": most_of(won, len(small), "sizes", listed, behind=nested),
        "ais-noisy": stated(
            told,
            lapses > own,
            note=f"{len(certified)} sizes",
            chance=tail(lapses, lapses + own),
            behind=nested,
        ),
    }


def _lapses(ranks: Mapping[int, int]) -> int:
    """Return at how many sizes after its first rank of 1 a method has another."""
    in_order = [ranks[size] for size in sorted(ranks)]
    return sum(rank != 1 for rank in in_order[in_order.index(1) :]) if 1 in in_order else 0


def annealed(results: Results, moves: str) -> dict[int, Record]:
    """Return the runs by length."""
    return {r.arguments["steps"]: r for r in results.of(anneal, moves=moves, rows=ROWS)}


def lines_of(results: Results) -> dict[str, float]:
    """Return BIC and the variational bound of the true structure, and the best estimate of its evidence."""
    here = scored(results, "apart", ROWS)
    if here is None or "ais" not in here.columns:
        return {}
    levels = {
        "BIC": float(here.columns["bic"][here.true]),
        "VB lower bound": float(here.columns["vb"][here.true]),
    }
    if "evidence" in here.columns:
        levels["evidence"] = float(here.columns["evidence"][here.true])
    return levels


def length_listing(results: Results) -> Listing:
    """Return mean and spread of the chains by length."""
    lines: list[list[Any]] = []
    for moves in MOVES:
        for steps, record in annealed(results, moves).items():
            run, weights = record.value, np.array(record.value["log_weights"])
            numbers = [weights.mean(), weights.std(ddof=1), weights.max(), run["started"], run["acceptance"]]
            lines.append([moves, steps, *(f"{n:.2f}" for n in numbers), f"{run['chain_seconds']:.2g}"])
    columns = ("moves", "steps", "mean", "s.d.", "highest", "from the truth", "accepted", "seconds a chain")
    levels = ", ".join(f"{name} {value:.2f}" for name, value in lines_of(results).items())
    title = f"Figure 2, right, in numbers: log-weights of ten chains, {ROWS} rows"
    note = f"{levels}. The first run of each kind of moves also loads what all of them use." if levels else ""
    return Listing("annealing", title, columns, lines, note)


def length_found(results: Results) -> dict[str, Found]:
    """Return how long AIS takes to reach BIC and the bound, and whether its chains agree in the end."""
    levels, runs, own = lines_of(results), annealed(results, "metropolis"), annealed(results, "gibbs")
    if not levels or not runs:
        return {}
    found = {}
    for name, level in (("to-bic", levels["BIC"]), ("to-vb", levels["VB lower bound"])):
        steps, theirs = _first_above(runs, level), _first_above(own, level)
        note = f"Gibbs moves: {theirs or 'not within the lengths tried'}"
        behind = f"ten chains of each of {len(runs)} lengths; {ONE}"
        never = Found(f"more than {max(runs)}", verdict="not", note=note, behind=behind)
        found[name] = never if steps is None else Found(steps, note=note, behind=behind)
    if max(runs) == LENGTHS[-1]:
        found["converge"] = _agreement(runs, own)
    return found


def _first_above(runs: dict[int, Record], level: float) -> int | None:
    """Return the least length from which on the mean of the chains is above a level."""
    return _first_since({n: bool(np.mean(run.value["log_weights"]) > level) for n, run in runs.items()})


def _agreement(runs: dict[int, Record], own: dict[int, Record]) -> Found:
    ends = {name: kind[max(kind)].value for name, kind in (("Metropolis", runs), ("Gibbs", own)) if kind}
    spans = {name: float(np.ptp([*end["log_weights"], end["started"]])) for name, end in ends.items()}
    span = spans["Metropolis"]
    note = "; ".join(f"{name} {value:.1f} nats from lowest to highest" for name, value in spans.items())
    told, behind = f"within {span:.1f} nats at {max(runs)} steps", f"eleven chains; {ONE}"
    return stated(told, span <= 3, note=note, chance=0.0, behind=behind)


def averaged(results: Results) -> tuple[Listing, dict[str, Found], Shares]:
    """Return ranks over many true settings: listing, answers, and shares of first places to draw."""
    lines: list[list[Any]] = []
    panels: Shares = {}
    wins: list[bool] = []
    told: list[str] = []
    for parents, alpha, rows in ((p, a, n) for p in TRUE for a in (1.0, 0.5) for n in AVERAGED):
        ranks = _over_settings(results, parents, alpha, rows)
        if len(ranks) < 2:
            continue
        panel = f"{parents}, alpha = {alpha:g}"
        firsts = [sum(rank == 1 for rank in each) / len(ranks) for each in zip(*ranks, strict=True)]
        for method, first in zip(("BIC", "VB"), firsts, strict=True):
            point = (rows, first, float(np.sqrt(first * (1 - first) / len(ranks))))
            panels.setdefault(panel, {}).setdefault(method, []).append(point)
        better = np.mean([vb < bic for bic, vb in ranks])
        means = np.mean(ranks, axis=0)
        cells = [
            f"{means[0]:.1f}",
            f"{firsts[0]:.2f}",
            f"{means[1]:.1f}",
            f"{firsts[1]:.2f}",
            f"{better:.2f}",
        ]
        lines.append([parents, alpha, rows, len(ranks), *cells])
        wins += [vb < bic for bic, vb in ranks if bic != vb]
        if rows in (480, 1120):
            told.append(f"{panel}, n = {rows}: VB {cells[3]}, BIC {cells[1]}")
    methods = ("BIC: mean rank", "first", "VB: mean rank", "first", "VB better")
    columns = ("single parents", "alpha", "rows", "settings", *methods)
    note = "First: share of settings in which the true structure comes first. VB better: than BIC."
    listing = Listing("averages", "Averages over true parameter settings", columns, lines, note)
    if not wins:
        return listing, {}, panels
    many = Found(f"in {np.mean(wins):.0%} of {len(wins)} cases", note="a case is a setting and a size")
    first_found = Found("; ".join(told) or "not run", note="share of settings")
    return listing, {"many": many, "first": first_found, **_over_truths(results)}, panels


ENOUGH = 30
"""True settings from which they, and not the sizes of one, decide."""


def _over_truths(results: Results) -> dict[str, Found]:
    """Return how VB and BIC compare over true settings at 480 rows, by sign tests; nothing if few."""
    ranks = [pair for p in TRUE for a in (1.0, 0.5) for pair in _over_settings(results, p, a, ROWS)]
    if len(ranks) < ENOUGH:
        return {}
    apart = [vb < bic for bic, vb in ranks if bic != vb]
    alone = [vb == 1 for bic, vb in ranks if (bic == 1) != (vb == 1)]
    behind = f"{len(ranks)} true settings, {ROWS} rows"
    return {
        "vb-better": most_of(sum(apart), len(apart), "settings in which they differ", behind=behind),
        "vb-before-bic": most_of(sum(alone), len(alone), "settings in which one finds it", behind=behind),
    }


def _over_settings(results: Results, parents: str, alpha: float, rows: int) -> list[tuple[int, int]]:
    """Return the rank of the true structure by BIC and VB in every setting."""
    records = results.of(bounds_block, parents=parents, alpha=alpha, rows=rows)
    numbers = sorted({record.arguments["setting"] for record in records} - {0})
    found = [scored(results, parents, rows, alpha, setting) for setting in numbers]
    return [(each.rank("bic") or 0, each.rank("vb") or 0) for each in found if each is not None]
