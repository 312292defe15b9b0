"""BG03: Figures 1 and 2, the times, and averages that the paper could not afford."""

from __future__ import annotations

from lacunary.papers import Drawing, Outcome, Paper, Results
from lacunary.papers.bg03.averages import averaged
from lacunary.papers.bg03.lengths import MOVES, annealed, length_found, length_listing, lines_of
from lacunary.papers.bg03.plan import ROWS, units
from lacunary.papers.bg03.ranks import left_of_two, rank_listing, ranks_of
from lacunary.papers.bg03.structures import TRUE, graph, structures
from lacunary.papers.bg03.summary import NAMES, figure_one, scored

__all__ = ["PAPER"]

NOTES = (
    "The paper gives neither the Dirichlet hyperparameters nor the true parameters, nor the twenty sizes, "
    "nor whether the two observed variables with a single parent share it. Here the hyperparameters are 1 "
    "(and 0.5 in the averages), sizes are the doublings from 10 to 10 240 with nine more between, and the "
    "single parents are apart unless said.",
    "MAP is the likelihood at the peak of the density of probabilities: with hyperparameters of 1, the "
    "greatest likelihood there is.",
)


def outcome(results: Results) -> Outcome:
    """Return tables, figures and answers."""
    scores, found = figure_one(results)
    averages, by_average, _ = averaged(results)
    found |= left_of_two(results) | length_found(results) | by_average
    listings = [*(rank_listing(results, way) for way in TRUE), length_listing(results), averages, *scores]
    return Outcome([each for each in listings if each.rows], drawings(results), found, NOTES)


def drawings(results: Results) -> list[Drawing]:
    """Return the figures for which there is something to draw."""
    from lacunary.report import figures_bg03  # plotting takes a second to import

    made = []
    panels = {}
    for way in TRUE:
        here = scored(results, way, ROWS)
        if here is not None and "ais" in here.columns:
            shown = {NAMES[m]: here.columns[m] for m in ("map", "ais", "vb", "bic")}
            panels[f"single parents {way}"] = (here.columns["parameters"], shown)
    if panels:
        caption = f"Scores of all structures at {ROWS} rows; the best of each method is drawn large."
        figure = figures_bg03.structures(panels, graph(TRUE["apart"]).layout.free)
        made.append(Drawing("figure-1", "Figure 1, right", caption, figure))
    made += _rank_drawing(results) + _length_drawing(results)
    shares = averaged(results)[2]
    if shares:
        caption = (
            "How often the true structure comes first, over true parameters drawn anew; one standard error."
        )
        made.append(Drawing("averages", "Over many true parameters", caption, figures_bg03.averages(shares)))
    return made


def _rank_drawing(results: Results) -> list[Drawing]:
    from lacunary.report import figures_bg03

    panels = {}
    for way in TRUE:
        ranks = ranks_of(results, way)
        if len(ranks.get("vb", {})) > 2:
            lines = {NAMES[m]: sorted(found.items()) for m, found in ranks.items() if m != "map"}
            panels[f"single parents {way}"] = lines
    if not panels:
        return []
    caption = "Rank that each score gives to the true structure; higher is better."
    return [
        Drawing("figure-2-left", "Figure 2, left", caption, figures_bg03.ranks(panels, len(structures())))
    ]


def _length_drawing(results: Results) -> list[Drawing]:
    from lacunary.report import figures_bg03

    lines, chains = lines_of(results), {}
    for moves, title in MOVES.items():
        runs = sorted(annealed(results, moves).items())
        drawn = [record.value["log_weights"] for _, record in runs]
        chains[title] = (drawn, [record.value["started"] for _, record in runs])
    lengths = sorted(annealed(results, "metropolis"))
    if not lines or not lengths:
        return []
    caption = "Every chain's own estimate; chains outside the axes are not shown."
    return [
        Drawing("figure-2-right", "Figure 2, right", caption, figures_bg03.annealing(lengths, chains, lines))
    ]


PAPER = Paper(units, outcome)
