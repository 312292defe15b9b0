"""What the experiments of CH96 say to its claims."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from lacunary.papers import Found, Results, error_of_mean, minus, stated
from lacunary.papers.ch96.curves import (
    FIGURES,
    ROWS,
    SCORES,
    SETTINGS,
    Curve,
    Setting,
    chosen,
    curves,
    delta,
    mean_delta,
)
from lacunary.papers.ch96.work import free, reality

OTHERS = SCORES[1:]
ENOUGH = 7
"""Settings of ten in which a score must do as well as BIC to be called more accurate."""


def answers(results: Results) -> dict[str, Found]:
    """Return what was found, by claim; the times have a file of their own."""
    known = curves(results)
    found: dict[str, Found] = {}
    for number, setting in enumerate(ROWS, start=1):
        own = [curve for curve in known if curve.setting == setting]
        for score in OTHERS if len(own) > 1 else ():
            found[f"table-1-{number}-{score}"] = _delta(own, score)
    if {curve.setting for curve in known} == set(ROWS):
        found |= _biases(known) | _peaks(known) | _shapes(known) | _epsilons(curves(results, None))
    if known:
        found |= _points(known)
    even = _even(curves(results, equal=True))
    for claim in ("second-peak", "two-peaks", "first-peak", "table-1-5-cheeseman-stutz", "table-1-5-mled"):
        if claim in found:
            found[claim] = replace(found[claim], note=f"{found[claim].note} {even}".strip())
    return found | _ranks(results) | _realities(results)


def _even(known: list[Curve]) -> str:
    """Tell what the scores choose where classes are equally frequent, which section 3 does not ask for."""
    told = [
        f"c = {curve.setting.c}: " + ", ".join(f"{score} {chosen(curve.of(score))}" for score in SCORES)
        for curve in known
    ]
    return f"With classes equally frequent the choices are, {'; '.join(told)}." if told else ""


def _delta(own: list[Curve], score: str) -> Found:
    mean, spread, error = mean_delta(own, score)
    models = len({curve.model for curve in own})
    note = f"± {spread:.1f} over {len(own)} data sets of {models} model{'s' if models > 1 else ''}."
    ends = sum(chosen(curve.of(score)) in (min(curve.values), max(curve.values)) for curve in own)
    if ends:
        note += f" In {ends} the choice is at an end of the range tried."
    return Found(round(mean, 3), error, note=note)


def _biases(known: list[Curve]) -> dict[str, Found]:
    """Return what is said of the mean Δc of each score in each setting."""
    own = {s: [curve for curve in known if curve.setting == s] for s in SETTINGS}
    table = {s: {score: mean_delta(own[s], score)[0] for score in OTHERS} for s in dict.fromkeys(own)}
    near = {s: sum(abs(row[s]) <= abs(row["bic"]) + 1e-9 for row in table.values()) for s in OTHERS[:3]}
    overall = {s: float(np.mean([row[s] for row in table.values()])) for s in OTHERS}
    cs, mled, draper = (overall[s] for s in OTHERS[:3])
    above = sum(row["bic"] > 0 for row in table.values())
    large = {c: table[Setting(64, c, 400)] for c in (16, 32)}
    better = [abs(row["draper"]) < abs(row["cheeseman-stutz"]) for row in large.values()]
    wide = [curve for curve in known if curve.setting.n >= 32]
    same = float(np.mean([delta(c, "mled") == delta(c, "cheeseman-stutz") for c in wide]))
    told = "; ".join(f"{s}: " + minus(f"{v:+.2f}") for s, v in overall.items())
    note = f"Mean Δc over settings: {told}."
    both = "; ".join(
        f"c = {c}: CS {row['cheeseman-stutz']:+.1f}, Draper {row['draper']:+.1f}" for c, row in large.items()
    )
    return {
        "accuracy": stated(
            ", ".join(f"{s} {count} of {len(table)}" for s, count in near.items()),
            min(near.values()) >= ENOUGH,
            sorted(near.values())[1] >= ENOUGH,
            "Settings in which a score's mean Δc is no further from zero than BIC's.",
        ),
        "bic-simple": stated(f"positive in {above} of {len(table)}", above == 0, above == 1, note),
        "cs-complex": stated(round(cs, 2), cs > 0 and mled > 0, cs > 0, note),
        "draper-simple": stated(round(draper, 2), draper < 0, note=note),
        "mled-cs": stated(f"{same:.0%} the same", same >= 0.95, same >= 0.8),
        "large-c": stated(both, all(better), any(better)),
    }


def _sharpness(own: list[Curve], score: str) -> float:
    """Return by how much the score at c exceeds the mean of its nearest neighbours, on average."""
    out = []
    for curve in own:
        values, c = curve.of(score), curve.setting.c
        if c in values:
            below, above = max(k for k in values if k < c), min(k for k in values if k > c)
            out.append(values[c] - (values[below] + values[above]) / 2)
    return float(np.mean(out))


def _peaks(known: list[Curve]) -> dict[str, Found]:
    found = {}
    for claim, figure in (("peaked-n", "figure-1"), ("peaked-c", "figure-2"), ("peaked-rows", "figure-3")):
        table = {
            score: [_sharpness([c for c in known if c.setting == s], score) for s in FIGURES[figure]]
            for score in SCORES
        }
        rises = [b > a for row in table.values() for a, b in pairwise(row)]
        told = "; ".join(f"{score}: " + ", ".join(f"{v:.0f}" for v in row) for score, row in table.items())
        note = f"Nats by which the score at c exceeds that of its neighbours: {told}."
        many = f"{sum(rises)} of {len(rises)} steps"
        found[claim] = stated(many, all(rises), np.mean(rises) >= 0.8, note)
    return found | _two_peaks([c for c in known if c.setting.c >= 16])


def _two_peaks(large: list[Curve]) -> dict[str, Found]:
    widest = [curve for curve in large if curve.setting.c == 32]
    both = {s: float(np.mean([_has_two(c.of(s), c.setting.c) for c in large])) for s in SCORES}
    first = {
        s: float(np.mean([chosen(c.of(s)) < 0.75 * c.setting.c for c in widest]))
        for s in ("laplace", "draper", "bic")
    }
    at_c = [abs(chosen(c.of("cheeseman-stutz")) - c.setting.c) <= c.setting.c / 4 for c in widest]
    second = float(np.mean(at_c))
    counts = [value > 0.5 for value in both.values()]
    half = [value > 0.5 for value in first.values()]
    note = f"Share of {len(large)} data sets with c = 16 and 32 in which a score has both."
    of_widest = f"Share of {len(widest)} data sets with c = 32."
    return {
        "two-peaks": stated(_shares(both), all(counts), any(counts), note),
        "first-peak": stated(_shares(first), all(half), any(half), of_widest),
        "second-peak": stated(f"{second:.0%}", second > 0.5, note=f"Of {len(widest)} data sets."),
    }


def _has_two(values: dict[int, float], c: int) -> bool:
    """Tell whether there is a local maximum within two states of c and one below c − 2."""
    ks = sorted(values)
    tops = [b for a, b, d in zip(ks, ks[1:], ks[2:], strict=False) if values[b] > max(values[a], values[d])]
    return any(abs(k - c) <= 2 for k in tops) and any(k < c - 2 for k in tops)


def _shapes(known: list[Curve]) -> dict[str, Found]:
    """Compare curves of different data sets of one model: their height relative to the score at c."""
    ratios = []
    for setting in SETTINGS:
        own = [c for c in known if c.setting == setting and c.model == 0]
        for score in SCORES if len(own) > 1 else ():
            shapes = [{k: v - c.of(score)[setting.c] for k, v in c.of(score).items()} for c in own]
            ks = [k for k in set.intersection(*(set(s) for s in shapes)) if k != setting.c]
            span = np.ptp([v for s in shapes for v in s.values()])
            ratios += [float(np.std([s[k] for s in shapes], ddof=1) / span) for k in ks]
    if not ratios:
        return {}
    typical = float(np.median(ratios))
    note = f"Median over {len(ratios)} points; the largest tenth is above {np.quantile(ratios, 0.9):.1%}."
    return {"alike": stated(f"{typical:.1%}", typical < 0.02, typical < 0.05, note)}


def _epsilons(known: list[Curve]) -> dict[str, Found]:
    by = {(c.setting, c.data, c.epsilon): c for c in known if c.model == 0}
    moves: list[float] = []
    for epsilon in (0.1, 0.001):
        for setting in SETTINGS:
            sets = [d for s, d, e in by if s == setting and e == epsilon and (s, d, 0.01) in by]
            pairs = [(by[setting, d, epsilon], by[setting, d, 0.01]) for d in sets]
            for score in OTHERS if pairs else ():
                moves.append(float(np.mean([delta(a, score) - delta(b, score) for a, b in pairs])))
    if not moves:
        return {}
    calm = float(np.mean([abs(m) <= 0.5 for m in moves]))
    most = max(abs(move) for move in moves)
    note = f"Share of {len(moves)} means of Δc that move by at most half a state; one moves by {most:.1f}."
    return {"epsilon": stated(f"{calm:.0%}", calm >= 0.9, calm >= 0.7, note)}


def _points(known: list[Curve]) -> dict[str, Found]:
    runs = [value for curve in known for value in curve.values.values()]
    ended = [run["change"] < 1e-5 for run in runs]
    polished = sum(run["polished"] for run in runs)
    none = sum(run["scores"]["laplace"] is None for run in runs)
    share = float(np.mean(ended))
    found = {
        "converged": Found(share, note=f"{ended.count(False)} of {len(ended)} runs did not."),
        "refusals": Found(
            f"{polished} of {len(runs)} runs", note=f"{none} reached no peak even when EM went on."
        ),
    }
    same = [
        chosen(curve.of(score, "ml")) == chosen(curve.of(score))
        for curve in known
        for score in OTHERS
        if len(curve.of(score, "ml")) == len(curve.of(score))
    ]
    gaps = [abs(run["ml"]["bic"] - run["scores"]["bic"]) for run in runs if "ml" in run]
    if same:
        share = float(np.mean(same))
        note = f"Of {len(same)} choices the same; BIC differs by {np.median(gaps):.2f} nats (median)."
        found["map-ml"] = stated(f"{share:.0%}", share >= 0.95, share >= 0.8, note)
    return found


def _ranks(results: Results) -> dict[str, Found]:
    ranks = [record.value for record in results.of(free)]
    off = sum(value["rank"] != value["parameters"] for value in ranks)
    return {"dimension": stated(f"{off} of {len(ranks)} models differ", off == 0)} if ranks else {}


def _realities(results: Results) -> dict[str, Found]:
    records = [r for r in results.of(reality) if r.value["delta"] is not None]
    deltas: dict[tuple[int, int], list[float]] = {}
    for r in sorted(records, key=lambda r: (r.arguments["n"], r.arguments["c"])):
        deltas.setdefault((r.arguments["n"], r.arguments["c"]), []).append(r.value["delta"])
    own = [r for r in records if (r.arguments["n"], r.arguments["c"]) == (12, 3)]
    if len(own) < 2:
        return {}
    means = {size: float(np.mean(each)) for size, each in deltas.items()}
    spread = {size: np.std(each, ddof=1) if len(each) > 1 else 0.0 for size, each in deltas.items()}
    votes = [k == 3 for r in own for k in r.value["best"].values()]
    told = "; ".join(f"n = {n}, c = {c}: {means[n, c]:.0f} ± {spread[n, c]:.0f}" for n, c in means)
    rising = list(means.values())
    arcs = float(np.mean([r.value["arcs"] for r in own]))
    return {
        "reality-states": stated(f"{sum(votes)} of {len(votes)}", all(votes), np.mean(votes) > 0.5),
        "reality": Found(
            means[12, 3],
            error_of_mean(deltas[12, 3]),
            note=f"± {spread[12, 3]:.0f} over {len(own)} models; {arcs:.0f} arcs with nothing hidden.",
            seconds=float(np.mean([r.seconds for r in own])),
        ),
        "reality-size": stated(told, all(b > a for a, b in pairwise(rising)), rising[-1] > rising[0]),
    }


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
