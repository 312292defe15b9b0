"""What the experiments of CH96 say to its claims."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np

from lacunary.papers import (
    LUCK,
    Found,
    Results,
    Verdict,
    all_of,
    compared,
    error_of_mean,
    minus,
    most_of,
    stated,
    tail,
)
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
SHUFFLES = 200
"""Of a curve's values, to see how often peaks stand where they are by chance."""


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
    behind = f"{len(own)} data sets of {models} model{'s' if models > 1 else ''}"
    note = f"± {spread:.1f} over data sets."
    ends = sum(chosen(curve.of(score)) in (min(curve.values), max(curve.values)) for curve in own)
    if ends:
        note += f" In {ends} the choice is at an end of the range tried."
    return Found(round(mean, 3), error, note=note, behind=behind)


def _biases(known: list[Curve]) -> dict[str, Found]:
    """Return what is said of the mean Δc of each score in each setting."""
    own = {s: [curve for curve in known if curve.setting == s] for s in SETTINGS}
    bic = [mean_delta(curves, "bic")[0] for curves in own.values()]
    above, below = sum(mean > 0 for mean in bic), sum(mean < 0 for mean in bic)
    overall = {s: _over_models(known, [s]) for s in OTHERS}
    told = "; ".join(f"{s}: " + minus(f"{mean:+.2f}") for s, (mean, _) in overall.items())
    note, many = f"Mean Δc over models: {told}.", _models(known)
    by_c = {c: [curve for curve in known if curve.setting == Setting(64, c, 400)] for c in (16, 32)}
    large = [
        (f"c = {c}", *_over_models(curves, ["cheeseman-stutz", "draper"], absolute=True))
        for c, curves in by_c.items()
    ]
    wide = [curve for curve in known if curve.setting.n >= 32]
    return {
        "accuracy": _nearer(known, many),
        "bic-simple": stated(
            f"positive in {above}, negative in {below} of {len(bic)}",
            above == 0,
            note=note,
            chance=tail(below, above + below),
            behind=many,
        ),
        "cs-complex": compared(((s, *overall[s]) for s in OTHERS[:2]), note, behind=many),
        "draper-simple": compared([("Draper", -overall["draper"][0], overall["draper"][1])], behind=many),
        "mled-cs": _agreeing(
            [delta(c, "mled") == delta(c, "cheeseman-stutz") for c in wide], _unlike(wide), _models(wide)
        ),
        "large-c": compared(large, behind=_models([c for curves in by_c.values() for c in curves])),
    }


def _models(known: list[Curve]) -> str:
    """Return what stands behind an answer: models and data sets."""
    models = {(curve.setting, curve.model) for curve in known}
    return f"{len(models)} models, {len(known)} data sets"


def _over_models(known: list[Curve], scores: list[str], absolute: bool = False) -> tuple[float, float]:
    """Return the mean over models of Δc of a score, less that of another if there is one, and its error.

    Every setting counts alike; models are what is independent.
    """
    means: dict[Setting, dict[int, list[float]]] = {}
    for curve in known:
        values = [abs(delta(curve, s)) if absolute else delta(curve, s) for s in scores]
        value = float(values[0] - values[1] if len(values) > 1 else values[0])
        means.setdefault(curve.setting, {}).setdefault(curve.model, []).append(value)
    own = [[float(np.mean(v)) for v in models.values()] for models in means.values()]
    error = float(np.sqrt(sum(error_of_mean(each) ** 2 for each in own)) / len(own))
    return float(np.mean([np.mean(each) for each in own])), error


def _nearer(known: list[Curve], behind: str) -> Found:
    """Return over how many models each score is nearer to Laplace's choice than BIC, by sign tests."""
    told, verdicts, worst = [], [], 0.0
    for score in OTHERS[:3]:
        gaps: dict[tuple[Setting, int], int] = {}
        for c in known:
            place = (c.setting, c.model)
            gaps[place] = gaps.get(place, 0) + abs(delta(c, "bic")) - abs(delta(c, score))
        nearer, apart = sum(g > 0 for g in gaps.values()), sum(g != 0 for g in gaps.values())
        one = most_of(nearer, apart, f"models ({score})")
        told.append(str(one.value))
        verdicts.append(one.verdict)
        worst = max(worst, one.chance or 0.0)
    verdict: Verdict = (
        "not" if "not" in verdicts else "undecided" if "undecided" in verdicts else "reproduced"
    )
    note = "Models on which a score is nearer to Laplace's choice than BIC is, of those that differ."
    return Found(", ".join(told), verdict=verdict, chance=worst, note=note, behind=behind)


def _unlike(known: list[Curve]) -> float:
    """Return how often two scores agree that are not the same: BIC and CS."""
    return float(np.mean([delta(c, "bic") == delta(c, "cheeseman-stutz") for c in known]))


def _agreeing(same: list[bool], by: float, behind: str, note: str = "") -> Found:
    """Return whether choices agree in 95 % of the cases, and how often less like ones would."""
    share, need = float(np.mean(same)), int(np.ceil(0.95 * len(same)))
    note = f"{note} BIC and CS agree in {by:.0%}.".strip()
    return stated(
        f"{share:.0%} the same", sum(same) >= need, note=note, chance=tail(need, len(same), by), behind=behind
    )


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
        settings = [c for c in known if c.setting in FIGURES[figure]]
        found[claim] = stated(many, all(rises), note=note, chance=1 / 24, behind=_models(settings))
    return found | _two_peaks([c for c in known if c.setting.c >= 16])


def _two_peaks(large: list[Curve]) -> dict[str, Found]:
    """Return what the curves of c = 16 and 32 say, a model at a time: of one model, its first data set."""
    firsts = [curve for curve in large if curve.data == 0]
    widest = [curve for curve in firsts if curve.setting.c == 32]
    both = {s: [_has_two(c.of(s), c.setting.c) for c in firsts] for s in SCORES}
    shuffled = float(np.mean([_by_chance(c) for c in firsts]))
    first = {s: [chosen(c.of(s)) < 0.75 * c.setting.c for c in widest] for s in ("laplace", "draper", "bic")}
    second = {"CS": [_around(chosen(c.of("cheeseman-stutz")), c.setting.c) for c in widest]}
    below = float(np.mean([k < 0.75 * c.setting.c for c in widest for k in c.values]))
    within = float(np.mean([_around(k, c.setting.c) for c in widest for k in c.values]))
    return {
        "two-peaks": _mostly(both, shuffled, _models(firsts), "Values in any order have both in"),
        "first-peak": _mostly(first, below, _models(widest), "Of the states tried are such"),
        "second-peak": _mostly(second, within, _models(widest), "Of the states tried are such"),
    }


def _around(k: int, c: int) -> bool:
    """Tell whether a number of states is within a quarter of c."""
    return abs(k - c) <= c / 4


def _mostly(holds: dict[str, list[bool]], by: float, behind: str, what: str) -> Found:
    """Return whether something holds in most models for each score, and for more than by chance."""
    verdicts: list[Verdict] = []
    worst = 0.0
    for each in holds.values():
        count, many = sum(each), len(each)
        up = tail(count, many, by)
        few = 2 * count < many and tail(many - count, many) <= LUCK
        verdicts.append("reproduced" if 2 * count > many and up <= LUCK else "not" if few else "undecided")
        worst = max(worst, up)
    verdict: Verdict = (
        "not" if "not" in verdicts else "undecided" if "undecided" in verdicts else "reproduced"
    )
    told = _shares({name: float(np.mean(each)) for name, each in holds.items()})
    return Found(told, verdict=verdict, chance=worst, note=f"{what} {by:.0%}.", behind=behind)


def _by_chance(curve: Curve) -> float:
    """Return how often a curve has both peaks if its values are put in any order."""
    values = curve.of("laplace")
    random = np.random.default_rng(0)
    tries = (
        dict(zip(values, random.permutation(list(values.values())), strict=True)) for _ in range(SHUFFLES)
    )
    return float(np.mean([_has_two(each, curve.setting.c) for each in tries]))


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
    return {
        "alike": stated(
            f"{typical:.1%}", typical < 0.02, note=note, chance=0.0, behind=f"{len(ratios)} points"
        )
    }


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
    calm, need = sum(abs(m) <= 0.5 for m in moves), int(np.ceil(0.9 * len(moves)))
    most, alike = max(abs(move) for move in moves), _unmoved(by)
    note = f"One moves by {most:.1f}. Data sets of one model differ by no more in {alike:.0%}."
    told, behind = f"{calm} of {len(moves)} means of Δc", f"{len(moves)} means over data sets of one model"
    chance = tail(need, len(moves), alike)
    return {"epsilon": stated(told, calm >= need, note=note, chance=chance, behind=behind)}


def _unmoved(by: dict[tuple[Setting, int, float], Curve]) -> float:
    """Return how often Δc of two data sets of one model differ by at most half a state."""
    pairs = [
        abs(delta(a, s) - delta(b, s)) <= 0.5
        for (setting, data, epsilon), a in by.items()
        if epsilon == 0.01 and (b := by.get((setting, data + 1, epsilon)))
        for s in OTHERS
    ]
    return float(np.mean(pairs)) if pairs else 1.0


def _points(known: list[Curve]) -> dict[str, Found]:
    runs = [value for curve in known for value in curve.values.values()]
    ended = [run["change"] < 1e-5 for run in runs]
    polished = sum(run["polished"] for run in runs)
    none = sum(run["scores"]["laplace"] is None for run in runs)
    share = float(np.mean(ended))
    found = {
        "converged": Found(
            share, note=f"{ended.count(False)} runs did not.", behind=f"{len(ended)} runs of EM"
        ),
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
        note = f"BIC differs by {np.median(gaps):.2f} nats (median)."
        found["map-ml"] = _agreeing(same, _unlike(known), f"{len(same)} choices", note)
    return found


def _ranks(results: Results) -> dict[str, Found]:
    ranks = [record.value for record in results.of(free)]
    off = sum(value["rank"] != value["parameters"] for value in ranks)
    if not ranks:
        return {}
    told, behind = f"{off} of {len(ranks)} models differ", f"{len(ranks)} models"
    return {"dimension": stated(told, off == 0, chance=0.0, behind=behind)}


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
        "reality-states": all_of(sum(votes), len(votes), "choices", by=1 / 6, behind=f"{len(own)} models"),
        "reality": Found(
            means[12, 3],
            error_of_mean(deltas[12, 3]),
            note=f"± {spread[12, 3]:.0f} over models; {arcs:.0f} arcs with nothing hidden.",
            behind=f"{len(own)} models of 800 rows",
            seconds=float(np.mean([r.seconds for r in own])),
        ),
        "reality-size": stated(
            told, all(b > a for a, b in pairwise(rising)), chance=1 / 24, behind=f"{len(records)} models"
        ),
    }


def _shares(shares: dict[str, float]) -> str:
    return ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
