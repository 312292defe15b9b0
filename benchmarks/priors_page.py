"""The page of `benchmarks.priors`: tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["page"]

Lines = Sequence[Mapping[str, Any]]


def page(kept: Mapping[str, Lines]) -> str:
    """Return the page for what the parts found."""
    parts = {"graphs": _graphs, "rivals": _rivals, "recovered": _recovered, "deviations": _deviations}
    lines = [
        "# Priors over graphs, and of regressions",
        "",
        "`python -m benchmarks.priors` writes this page; populations are those of",
        "`benchmarks/populations.py`. All that is compared in a line saw the same tables; ± is the standard",
        "error of the mean difference.",
    ]
    for name, write in parts.items():
        if name in kept:
            lines += ["", *write(kept[name])]
    return "\n".join(lines) + "\n"


def _graphs(lines: Lines) -> Iterator[str]:
    names = list(lines[0]["found"])
    yield "## Which prior over graphs"
    yield ""
    yield "False and missing links, and the log-density of a held-out row less that under the uniform"
    yield "prior, in nats. † marks what is worse than it by more than two standard errors, ‡ what is better."
    yield ""
    yield (
        "| kind | variables | density | rows | holes | "
        + " | ".join(f"{name}: false, missing, held-out" for name in names)
        + " |"
    )
    yield "|---|--:|--:|--:|--:|" + "---|" * len(names)
    for line in lines:
        cells = [_cell(name, *line["found"][name]) for name in names]
        head = [line["kind"], line["variables"], f"{line['density']:g}", line["rows"], f"{line['holes']:.0%}"]
        yield "| " + " | ".join(map(str, [*head, *cells])) + " |"
    yield ""
    for name in names[1:]:
        cases = ((2, -1.0), (2, 1.0), (4, 1.0), (4, -1.0))
        worse = [
            sum(_beyond(line["found"][name][k], line["found"][name][k + 1], sign) for line in lines)
            for k, sign in cases
        ]
        yield (
            f"- {name}: of {len(lines)} settings the held-out density is worse beyond two standard errors in "
            f"{worse[0]} and better in {worse[1]}; links are worse in {worse[2]} and better in {worse[3]}."
        )


def _beyond(mean: float, error: float, sign: float) -> bool:
    return sign * mean > 2 * error + 1e-9


def _cell(name: str, false: float, missing: float, gap: float, error: float, *_: float) -> str:
    if name == "uniform":
        return f"{false:.1f}, {missing:.1f}"
    mark = "†" if _beyond(gap, error, -1.0) else "‡" if _beyond(gap, error, 1.0) else ""
    return f"{false:.1f}, {missing:.1f}, {gap:+.3f} ± {error:.3f}{mark}"


def _rivals(lines: Lines) -> Iterator[str]:
    yield "## The default beside BIC and unit priors of three weights"
    yield ""
    yield "Twenty tables a setting. *Wrong links* (false and missing, less is better) and the held-out"
    yield "log-density: the best of BIC, nu = 1, 0.1 and 0.01, each with every graph alike, and what the"
    yield "default has more. † is worse by more than two standard errors."
    yield ""
    yield "| kind | variables | density | rows | wrong links: best | default | held-out: best | default |"
    yield "|---|--:|--:|--:|---|--:|---|--:|"
    good = {"links": 0, "held-out": 0}
    for line in lines:
        cells = []
        for measure in good:
            best, value, gap, error = line[measure]
            ok = not _beyond(gap, error, -1.0)
            good[measure] += ok
            shown, more = (-value, -gap) if measure == "links" else (value, gap)
            cells += [f"{shown:.3g} ({best})", f"{more:+.3f} ± {error:.3f}{'' if ok else '†'}"]
        head = f"| {line['kind']} | {line['variables']} | {line['density']:g} | {line['rows']} | "
        yield head + " | ".join(cells) + " |"
    yield ""
    yield (
        f"Within two standard errors of the best: wrong links in {good['links']} of {len(lines)} settings, "
        f"held-out density in {good['held-out']}."
    )


def _recovered(lines: Lines) -> Iterator[str]:
    yield "## The true graph of gaussian.test"
    yield ""
    yield "How often exact search finds the equivalence class of the network behind bnlearn's"
    yield "`gaussian.test`."
    yield ""
    yield "| rows | tables | default | nu = 1, every graph alike |"
    yield "|--:|--:|--:|--:|"
    for line in lines:
        yield f"| {line['rows']} | {line['seeds']} | {line['default']} | {line['nu = 1, uniform']} |"


def _deviations(lines: Lines) -> Iterator[str]:
    yield "## Standard deviations in observed classes"
    yield ""
    yield "Three classes of 250 rows with noise 0.1, 1 and 2 in all variables, centres so many units apart:"
    yield "the ratio of fitted to sample standard deviation that is farthest from one."
    yield ""
    yield "| apart | variables | default | nu = 1 |"
    yield "|--:|--:|--:|--:|"
    for line in lines:
        yield f"| {line['apart']:g} | {line['variables']} | {line['default']:.4f} | {line['nu = 1']:.3f} |"
