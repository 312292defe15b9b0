"""What ENT's Figure 1 and the trials of starts and stopping rules come to."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from lacunary.papers import Found, Listing, Results, most_of
from lacunary.papers.ent.experiment import (
    METHODS,
    NETWORKS,
    SETTINGS,
    STARTS,
    STARTS_TRIED,
    STOPS,
    correlations,
    figure_runs,
    sensitivity_block,
    table_block,
)
from lacunary.papers.ent.judgement import Cell
from lacunary.papers.ent.summary import Setting, cells_of

GOOD = 0.05
"""Runs count as of high score down to this share below the best."""


def _cells(results: Results, network: str, starts: str, stop: str) -> dict[Setting, Cell]:
    """Return what each setting gave under one rule for starts and stopping."""
    return cells_of(results, sensitivity_block, "joint", stop, network=network, starts=starts)


def stopping_listing(results: Results) -> Listing:
    """Return relative medians and rankings under every combination of starts and stopping rule."""
    lines: list[list[Any]] = []
    for network, starts, stop in product(NETWORKS, STARTS_TRIED, STOPS):
        for (rows, missing), cell in _cells(results, network, starts, stop).items():
            ratios = [f"{cell.ratio(method):.2f}" for method in METHODS[:2]]
            setting = [network, STARTS_TRIED[starts], stop, rows, f"{missing:.0%}", len(cell.values)]
            lines.append([*setting, *ratios, cell.base, cell.told])
    columns = ("network", "starts", "stop", "n", "missing", "experiments", "average", "entropy")
    note = (
        "Sensitivity, joint metric: not the registered run. Medians of KL over that of the best start, and "
        "the median of the best start itself, on the first of the registered run's truths and tables. 1e-3 "
        "with uniform starts is the registered rule. On Asia all starts agree at 1e-8, and ranks there "
        "compare what rounding left."
    )
    head = (*columns, "median KL of best", "Friedman and Tukey")
    return Listing("stopping", "How the comparison depends on starts and stopping", head, lines, note)


def curves(results: Results) -> dict[Setting, list[tuple[str, float, float]]]:
    """Return, of each setting of Asia, stop, average and entropy: what the figure of stopping draws."""
    out: dict[Setting, list[tuple[str, float, float]]] = {}
    for stop in STOPS[1:]:
        for setting, cell in _cells(results, "asia", "uniform", stop).items():
            average, entropy = (cell.ratio(method) for method in METHODS[:2])
            out.setdefault(setting, []).append((stop, average, entropy))
    return out


def endings(results: Results) -> dict[str, Found]:
    """Return whether starts differ when climbed to the end, and what is then left to gain."""
    found = {}
    for network in ("asia", "alarm"):
        ends = np.array(results.lines(sensitivity_block, "end", network=network, starts="uniform"))
        if len(ends) and network == "asia":
            far = f"these then differ by at most {ends[:, 1].max():.1e} nats of KL; {len(ends)} experiments"
            found["end-asia"] = Found(f"no: in {(ends[:, 0] == 1).mean():.0%} all meet", note=far)
        elif len(ends):
            told = f"yes: {ends[:, 0].mean():.0%} of the starts reach the top"
            found["end-alarm"] = Found(told, note=f"{len(ends)} experiments")
    cells = _cells(results, "asia", "uniform", STOPS[-1]).values()
    if len(cells) == len(SETTINGS):
        ratios = np.array([[cell.ratio(method) for method in METHODS[:2]] for cell in cells])
        told = f"average {ratios[:, 0].mean():.3f}, entropy {ratios[:, 1].mean():.3f} of best"
        found["end-medians"] = Found(told, note="one means that nothing is gained")
    return found


def weights_found(results: Results) -> dict[str, Found]:
    """Return how much the printed weights change of the average's relative medians on Asia."""
    changes = []
    for rows, missing in SETTINGS:
        joint, weighted = (
            np.array(results.lines(table_block, name, network="asia", rows=rows, missing=missing))
            for name in ("joint", "weighted")
        )
        if not len(joint):
            return {}
        changes.append((np.median(weighted) - np.median(joint[:, 0])) / np.median(joint[:, 2]))
    return {"weights": Found(f"no: by at most {np.abs(changes).max():.4f}")}


def figure_found(results: Results) -> tuple[Listing, dict[str, Found]]:
    """Return the correlations that Figure 1 is to show."""
    lines: list[list[Any]] = []
    holds: list[tuple[float, float]] = []
    for record in results.of(figure_runs):
        scores, entropies, far = (np.array(record.value[name]) for name in ("scores", "entropies", "kl"))
        for share in (GOOD, 0.01):
            good = scores >= scores.max() - share * abs(scores.max())
            if good.sum() < 10:
                continue
            pair = tuple(float(spearmanr(x[good], far[good])[0]) for x in (scores, entropies))
            holes = f"{record.arguments['missing']:.0%}"
            lines.append([holes, len(scores), f"{share:.0%}", int(good.sum()), *pair])
            if share == GOOD:
                holds.append((pair[0], pair[1]))
    for missing in (0.3, 0.6):
        pairs = np.array(results.lines(correlations, missing=missing))
        if len(pairs):
            told = f"30, mean over {len(pairs)} tables"
            lines.append([f"{missing:.0%}", told, "all", None, *pairs.mean(axis=0).tolist()])
    columns = ("missing", "runs", "within", "of high score", "score and KL", "entropy and KL")
    note = "Spearman's rank correlations among runs within that share of the best score; Asia, n = 200."
    listing = Listing("figure-1", "Figure 1 in numbers", columns, lines, note)
    if len(holds) < 2:
        return listing, {}
    spans = [np.ptp(record.value["scores"]) for record in results.of(figure_runs)]
    near = " and ".join(f"{span:.1f}" for span in spans)
    drawn = "; ".join(f"{e:.2f} for entropy, {s:.2f} for the score" for s, e in holds)
    note = f"In the figure (30 % and 60 % missing, Asia assumed): {drawn}; runs lie within {near} nats."
    return listing, _over_tables(results, note)


def _tells_more(pairs: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Tell where entropy is the higher the nearer the truth, and more clearly than the score; (tables,)."""
    return (pairs[:, 1] < 0) & (np.abs(pairs[:, 1]) > np.abs(pairs[:, 0]))


def _over_tables(results: Results, drawn: str) -> dict[str, Found]:
    """Return how often entropy tells more than the score, over the tables of the registered experiments."""
    pairs = np.array(results.lines(correlations))
    if not len(pairs):
        return {}
    wins, means = _tells_more(pairs), pairs.mean(axis=0)
    note = f"mean correlation with KL: score {means[0]:.2f}, entropy {means[1]:.2f}"
    behind = f"{len(wins)} tables of 200 rows from Asia, {STARTS} starts each"
    return {
        "figure-1": most_of(int(wins.sum()), len(wins), "tables", drawn, behind=behind),
        "figure-1-many": Found(f"in {wins.mean():.0%} of {len(wins)} tables", note=note),
    }
