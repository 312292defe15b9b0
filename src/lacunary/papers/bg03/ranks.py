"""The rank of the true structure against the number of rows (BG03, Figure 2, left)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from lacunary.papers import Found, Listing, Results, verdict_if
from lacunary.papers.bg03.plan import ROWS
from lacunary.papers.bg03.structures import SIZES
from lacunary.papers.bg03.summary import NAMES, scored

__all__ = ["left_of_two", "rank_listing", "ranks_of"]


def ranks_of(results: Results, parents: str) -> dict[str, dict[int, int]]:
    """Return the true structure's rank by method and size."""
    out: dict[str, dict[int, int]] = {}
    for rows in SIZES:
        found = scored(results, parents, rows)
        for method in NAMES:
            rank = found.rank(method) if found else None
            if rank is not None:
                out.setdefault(method, {})[rows] = rank
    return out


def rank_listing(results: Results, parents: str) -> Listing:
    """Return the rank of the true structure by size and method."""
    ranks = ranks_of(results, parents)
    rows = sorted({size for found in ranks.values() for size in found})
    lines = [[size, *(ranks.get(method, {}).get(size) for method in NAMES)] for size in rows]
    title = f"Figure 2, left, in numbers: rank of the true structure (single parents {parents})"
    note = (
        "AIS: one chain of 16 384 Metropolis steps, as in print. AIS, Gibbs: the library's own sampler, four "
        "chains of 1024 steps."
    )
    return Listing(f"ranks-{parents}", title, ("rows", *NAMES.values()), lines, note)


def left_of_two(results: Results) -> dict[str, Found]:
    """Return what the ranks against size say."""
    ranks = ranks_of(results, "apart")
    sizes = ranks.get("ais", {})
    if len(sizes) < len(SIZES) // 2 or SIZES[-1] not in sizes:  # too few to speak of a course
        return {}
    settled = {method: _settled(found) for method, found in ranks.items()}
    found = _rank_claims(ranks, settled)
    shared = ranks_of(results, "shared")
    if len(shared.get("vb", {})) > 2:
        both = {"apart": settled, "shared": {method: _settled(each) for method, each in shared.items()}}
        told = "; ".join(
            f"{way}: VB {s['vb'] or 'never'}, BIC {s['bic'] or 'never'}" for way, s in both.items()
        )
        found["sharing"] = Found(told)
    return found


def _settled(ranks: Mapping[int, int]) -> int | None:
    """Return the first size from which the rank stays 1."""
    sizes = sorted(ranks)
    late = [size for size in sizes if ranks[size] != 1]
    after = [size for size in sizes if not late or size > late[-1]]
    return after[0] if after else None


def _rank_claims(
    ranks: Mapping[str, Mapping[int, int]], settled: Mapping[str, int | None]
) -> dict[str, Found]:
    ais, vb, bic, own = (ranks[name] for name in ("ais", "vb", "bic", "gibbs"))
    last = max(ais)
    first = sum(ranks[name][last] == 1 for name in ("bic", "vb", "ais"))
    each = ", ".join(f"{NAMES[n]} rank {ranks[n][last]}" for n in ("bic", "vb", "ais", "gibbs"))
    when, then = settled["vb"], settled["bic"]
    earlier = when is not None and (then is None or when < then)
    differ = [n for n in vb if vb[n] != bic[n]]
    better = sum(vb[n] < bic[n] for n in differ)
    share = better / len(differ) if differ else 0.0
    small = [n for n in ais if n < ROWS]
    won = sum(ais[n] <= min(vb[n], bic[n]) for n in small)
    means = {name: float(np.mean([ranks[name][n] for n in small])) for name in ("ais", "vb", "bic")}
    leads = verdict_if(2 * won > len(small), means["ais"] < min(means["vb"], means["bic"]))
    listed = "mean ranks: " + ", ".join(f"{NAMES[name]} {mean:.1f}" for name, mean in means.items())
    lapses = {name: _lapses(ranks[name]) for name in ("ais", "gibbs")}
    told = f"{lapses['ais']} lapses; {lapses['gibbs']} with the library's sampler"
    noisy = verdict_if(lapses["ais"] > lapses["gibbs"], lapses["ais"] > 0)
    return {
        "all-find": Found(
            f"{first} of 3 at {last} rows", verdict=verdict_if(first == 3, first == 2), note=each
        ),
        "vb-before-bic": Found(
            f"{when or 'never'} and {then or 'never'}",
            verdict=verdict_if(earlier, when is not None and when == then),
        ),
        "vb-better": Found(
            f"{better} of {len(differ)} sizes at which they differ",
            verdict=verdict_if(share >= 0.8, share >= 0.6),
        ),
        "ais-small": Found(f"{won} of {len(small)} sizes", verdict=leads, note=listed),
        "ais-noisy": Found(told, verdict=noisy, note=f"{len(own)} sizes"),
    }


def _lapses(ranks: Mapping[int, int]) -> int:
    """Return at how many sizes after its first rank of 1 a method has another."""
    in_order = [ranks[size] for size in sorted(ranks)]
    return sum(rank != 1 for rank in in_order[in_order.index(1) :]) if 1 in in_order else 0
