"""The page of `benchmarks.groups`: what every way finds, and in how many kinds ours is no worse."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

__all__ = ["page"]

Run = dict[str, Any]


def page(runs: Sequence[Run]) -> str:
    """Return the page of all runs."""
    from benchmarks.groups import KINDS, PLAIN

    plain = [kind.name for kind in KINDS[:PLAIN]]
    early = [run for run in runs if run["kind"] in plain and run["holes"] in ("none", "random")]
    late = [run for run in runs if run not in early]
    parts = [
        "# Groups and their graphs from mixed populations",
        "",
        "`python -m benchmarks.groups --keep runs.jsonl` adds runs and writes this page. Each cell: mean "
        "wrong links; mean log-density of a new row; how many groups were found, by population; processor "
        "time a population, that of R left out. Rivals cluster (numbers by BIC), then search in every group "
        "under the same prior; holes are filled for them, by IterativeImputer or by mice, the better of "
        "which is compared with.",
        "",
    ]
    for title, some in (("Mixtures of normal networks", early), ("Other populations, and holes", late)):
        if some:
            parts += [f"## {title}", "", *_table(some), "", *_counts(some), ""]
    return "\n".join(parts)


def _settings(runs: Sequence[Run]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((run["kind"], run["holes"]) for run in runs))


def _table(runs: Sequence[Run]) -> Iterator[str]:
    names = ("fit_mixture", "GaussianMixture", "mclust")
    yield f"| population | populations | {' | '.join(names)} |"
    yield f"|---|--:{'|---' * len(names)}|"
    for kind, holes in _settings(runs):
        some = [run for run in runs if (run["kind"], run["holes"]) == (kind, holes)]
        told = " | ".join(
            _cell([run for run in some if run["way"] == way]) for way in map(_best(some), names)
        )
        holed = "" if holes == "none" else f", a quarter missing{'' if holes == 'random' else ' ' + holes}"
        yield f"| {kind}{holed} | {len({run['seed'] for run in some})} | {told} |"


def _best(runs: Sequence[Run]) -> Callable[[str], str]:
    """Return what finds a rival's better way of filling, by density, where there are several."""

    def best(name: str) -> str:
        ways = {run["way"] for run in runs if run["way"].split()[-1] == name}
        return str(
            max(sorted(ways), key=lambda way: np.mean([r["density"] for r in runs if r["way"] == way]))
        )

    return best


def _cell(runs: Sequence[Run]) -> str:
    groups = ", ".join(str(run["groups"]) for run in runs)
    means = [float(np.mean([run[what] for run in runs])) for what in ("wrong", "density", "seconds")]
    return f"{means[0]:.1f}; {means[1]:.3f}; {groups}; {means[2]:.1f} s"


def _counts(runs: Sequence[Run]) -> Iterator[str]:
    """Yield in how many settings ours is no worse than each rival, and how often numbers are right."""
    from benchmarks.groups import KINDS

    truth = {kind.name: kind.groups for kind in KINDS}
    for name in ("GaussianMixture", "mclust"):
        links, density, many, right, theirs = 0, 0, 0, 0, 0
        for setting in _settings(runs):
            some = [run for run in runs if (run["kind"], run["holes"]) == setting]
            own = [run for run in some if run["way"] == "fit_mixture"]
            other = [run for run in some if run["way"] == _best(some)(name)]
            many += 1
            links += sum(r["wrong"] for r in own) <= sum(r["wrong"] for r in other)
            density += np.mean([r["density"] for r in own]) >= np.mean([r["density"] for r in other]) - NEAR
            right += sum(r["groups"] == truth[r["kind"]] for r in own)
            theirs += sum(r["groups"] == truth[r["kind"]] for r in other)
        yield (
            f"Against {name} and search: no more wrong links in {links} of {many} settings, log-density no "
            f"lower (within {NEAR} a row) in {density} of {many}; the number of groups is right {right} "
            f"times, theirs {theirs} times."
        )


NEAR = 0.005
"""Densities a row that differ by less are as good."""
