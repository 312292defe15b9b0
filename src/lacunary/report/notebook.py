"""How things show themselves in a notebook: small pieces of HTML with drawings and tables, names escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import singledispatch
from html import escape
from typing import Any

import numpy as np

from lacunary.data.table import Table
from lacunary.data.wording import NEAR, harmless, near_best
from lacunary.evidence.compare import Comparison
from lacunary.evidence.estimate import Estimate
from lacunary.family.distribution import Distribution
from lacunary.infer.mixture import Mixture
from lacunary.infer.network import Network
from lacunary.learn.found import Fit
from lacunary.mixture.found import MixtureFit
from lacunary.model.dag import Dag
from lacunary.report.drawing import arc_rows, drawing
from lacunary.report.words import minus
from lacunary.structure.result import SearchResult
from lacunary.study.result import Classes

__all__ = ["html"]

ROWS, COLUMNS, PATTERNS, DRAWN, TABLES, STATES = 5, 20, 12, 80, 12, 20
"""The most rows, columns, patterns of holes, variables in a drawing, tables, and lines that are shown."""

CELL, LINE = 10, 11
"""How wide and tall a cell of the hole map is."""

HOLE, THERE, BAR = "#d9622b", "#8884", "#6d85e0"


def html(thing: Any) -> str:
    """Return a thing as it shows itself in a notebook."""
    return harmless(f'<div class="lacunary">{_shown(thing)}</div>')


@singledispatch
def _shown(thing: Any) -> str:
    return f"<pre>{escape(str(thing))}</pre>"


@_shown.register
def _(table: Table) -> str:
    names = table.columns[:COLUMNS]
    head = table.head(ROWS)
    lines = zip(*([_cell(value) for value in head[name]] for name in names), strict=True)
    more = f"<p>… {len(table.columns) - COLUMNS} more columns</p>" if len(table.columns) > COLUMNS else ""
    return f"<p>{escape(repr(table)[1:-1])}</p>{_hole_map(table)}{_table(names, lines)}{more}"


@_shown.register
def _(dag: Dag) -> str:
    return f"<p>{escape(repr(dag)[1:-1])}</p>{_drawn(dag)}"


@_shown.register
def _(network: Network) -> str:
    names = network.dag.names[:TABLES]
    tables = "".join(
        f"<details><summary>{escape(name)}</summary>{network.cpt(name)._repr_html_()}</details>"
        for name in names
    )
    more = len(network.dag.names) - len(names)
    rest = f"<p>… and {more} more; <code>network.cpt(name)</code> shows them</p>" if more else ""
    return f"<p>{escape(repr(network)[1:-1])}</p>{_drawn(network.dag)}{tables}{rest}"


@_shown.register
def _(found: Fit) -> str:
    near = near_best([start.objective for start in found.starts])
    facts = {
        "log-likelihood": f"{minus(found.log_likelihood, 4)} nats",
        "objective": f"{minus(found.objective, 4)} nats ({found.method})",
        "starts": f"{len(found.starts)}, {near} of them within {NEAR} nats of the best",
        "steps": f"{found.iterations}{'' if found.converged else ', not converged'}",
    }
    return _facts(facts) + _shown(found.network)


@_shown.register
def _(estimate: Estimate) -> str:
    facts = {estimate.method: f"{minus(estimate.value, 4)}{estimate.error} nats ({estimate.kind})"}
    facts |= {f"· {name}": f"{minus(value, 4)}" for name, value in estimate.terms.items()}
    if estimate.details.get("note"):
        facts["note"] = str(estimate.details["note"])
    if estimate.doubts:
        facts["columns"] = estimate.doubts
    return _facts(facts)


@_shown.register
def _(comparison: Comparison) -> str:
    lines = [[name, *(comparison.cell(name, m) for m in comparison.methods)] for name in comparison.models]
    notes = "".join(f"<p>{escape(line)}</p>" for line in comparison.warnings())
    return f"<p>{escape(comparison._title())}</p>{_table(['model', *comparison.methods], lines)}{notes}"


@_shown.register
def _(found: SearchResult) -> str:
    first = str(found).splitlines()[0]
    arcs = [(row["tail"], row["head"], row["strength"]) for row in arc_rows(found.dag, dict(found.strengths))]
    listed = _table(["from", "to", "nats lost without it"], arcs[:STATES])
    drawn = _drawn(found.dag, found.strengths)
    return f"<p>{escape(first)}</p>{drawn}<details><summary>Arcs</summary>{listed}</details>"


@_shown.register
def _(mixture: Mixture) -> str:
    parts = [
        f"<details{' open' if k == 0 else ''}><summary>component {k + 1}, weight {weight:.3f}</summary>"
        f"{_drawn(part.dag)}</details>"
        for k, (weight, part) in enumerate(zip(mixture.weights.tolist(), mixture.components, strict=False))
    ]
    return f"<p>{escape(repr(mixture)[1:-1])}</p>{''.join(parts[:TABLES])}"


@_shown.register
def _(found: MixtureFit) -> str:
    return f"<p>{escape(str(found))}</p>{_shown(found.mixture)}"


@_shown.register
def _(found: Classes) -> str:
    profiles = [
        [str(p.label), f"{100 * p.share:.1f} %", "; ".join(str(c) for c in _said(p.contrasts))]
        for p in found.profiles
    ]
    best = _table([found.hidden, "share of rows", "what sets it apart"], profiles)
    weighed = [
        [str(c.classes), str(c.parameters), *(minus(value, 1) for value in c.log_evidence.values())]
        for c in found.candidates
    ]
    tried = _table(["classes", "d", *found.candidates[0].log_evidence], weighed)
    return f"<p>{escape(repr(found)[1:-1])}</p>{best}{tried}"


@_shown.register
def _(found: Distribution) -> str:
    items = list(found.to_dict().items())
    names = ", ".join(v.name for v in found.variables)
    lines = [
        f"<tr><td>{escape(_cell(s) if not isinstance(s, tuple) else ', '.join(map(_cell, s)))}</td>"
        f'<td style="min-width: 120px">{_bar(p)}</td><td style="text-align: right">{p:.4f}</td></tr>'
        for s, p in items[:STATES]
    ]
    more = f"<p>… {len(items) - STATES} more</p>" if len(items) > STATES else ""
    return f"<table><caption>p({escape(names)})</caption>{''.join(lines)}</table>{more}"


def _said(contrasts: Sequence[Any]) -> Iterable[str]:
    for one in contrasts:
        if hasattr(one, "state"):
            yield f"{one.variable} {one.state}: {100 * one.here:.0f} % (else {100 * one.elsewhere:.0f} %)"
        else:
            yield str(one.variable)


def _drawn(dag: Dag, strengths: Any = None) -> str:
    if len(dag.names) > DRAWN:
        return f"<p>{len(dag.names)} variables are too many to draw here.</p>"
    return str(drawing(dag, strengths))


def _cell(value: Any) -> str:
    if value is None or value != value:
        return "?"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _table(head: Iterable[str], lines: Iterable[Iterable[object]]) -> str:
    top = "".join(f"<th>{escape(str(name))}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in line) + "</tr>" for line in lines
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _facts(facts: dict[str, str]) -> str:
    lines = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in facts.items())
    return f"<table>{lines}</table>"


def _bar(share: float) -> str:
    return (
        f'<svg width="120" height="10" role="img" aria-label="{100 * share:.1f} %">'
        f'<rect width="120" height="10" rx="2" fill="{THERE}"/>'
        f'<rect width="{120 * share:.1f}" height="10" rx="2" fill="{BAR}"/></svg>'
    )


def _hole_map(table: Table) -> str:
    """Return the commonest patterns of holes as a drawing, a line each, with the number of rows."""
    if not table.holes.any() or len(table.columns) > 80:
        return ""
    distinct, counts = np.unique(table.holes, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:PATTERNS]
    out, wide = [], len(table.columns) * CELL
    for line, k in enumerate(order.tolist()):
        for i, empty in enumerate(distinct[k].tolist()):
            name = escape(table.columns[i])
            out.append(
                f'<rect x="{i * CELL}" y="{line * LINE}" width="{CELL - 1}" height="{LINE - 2}" '
                f'fill="{HOLE if empty else THERE}"><title>{name}</title></rect>'
            )
        out.append(
            f'<text x="{wide + 8}" y="{line * LINE + 8}" font-size="10" fill="currentColor">'
            f"{counts[k]}</text>"
        )
    label = f"{len(distinct)} patterns of holes, the commonest first"
    size = f'width="{wide + 60}" height="{len(order) * LINE}"'
    return f'<svg {size} role="img" aria-label="{label}">{"".join(out)}</svg>'
