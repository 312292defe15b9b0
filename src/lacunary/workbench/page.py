"""A network as one page of HTML that can be mailed: the model lies in it, and so does what answers clicks."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from hashlib import sha256
from heapq import heappop, heappush
from html import escape
from math import prod
from pathlib import Path
from typing import Any

import lacunary as lac

__all__ = ["embedded", "page"]

STATIC = Path(__file__).parent / "static"

MOST_CELLS, MOST_CONFIGURATIONS = 4_000_000, 20_000
"""What the engine in the page takes: cells of all cliques, and states of continuous variables' parents."""


def page(network: lac.Network, path: str | os.PathLike[str] | None = None, *, title: str = "Network") -> str:
    """Return a network as a page without a server, and write it if a path is given.

    Its variables are boxes with bars; a click on a state shows what follows for all others. Posteriors are
    worked out in the page, exactly: the network must be of tables and linear regressions, and not too wide.
    """
    style, engine, code = (_static(name) for name in ("page.css", "engine.js", "page.js"))
    scripts = " ".join(f"'sha256-{_digest(part)}'" for part in (engine, code))
    policy = (
        f"default-src 'none'; script-src {scripts}; style-src 'sha256-{_digest(style)}'; img-src data: blob:"
    )
    plain = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in title)
    model = json.dumps(embedded(network, plain)).replace("<", "\\u003c")
    html = (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(plain)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        f'<div id="app"></div>\n<script type="application/json" id="model">{model}</script>\n'
        f"<script>{engine}</script>\n<script>{code}</script>\n</body>\n</html>\n"
    )
    if path is not None:
        lac.write_whole(path, html)
    return html


def embedded(network: lac.Network, title: str) -> dict[str, Any]:
    """Return a network as the page's engine reads it; one that it cannot take is refused."""
    dag = network.dag
    for name in dag.names:
        if not dag.schema[name].discrete and name in dict(dag.family):
            raise lac.ParameterError(
                f"a page knows tables and regressions; {name} has a {dag.family_of(name)} family"
            )
    _check_width(dag)
    return {
        "title": title,
        "kind": "network",
        "component": None,
        "variables": [
            {"name": v.name, "kind": v.kind, "states": [str(s) for s in v.states], "hidden": v.hidden}
            for v in dag.schema
        ],
        "arcs": [list(arc) for arc in dag.arcs],
        "components": [{"weight": 1.0, "arcs": [list(arc) for arc in dag.arcs]}],
        "parameters": dag.free,
        "parents": [list(parents) for parents in dag.parent_indices],
        "tables": [network.table(name).ravel().tolist() for name in dag.names],
    }


def _check_width(dag: lac.Dag) -> None:
    """Refuse a network whose cliques the page cannot hold; as the page does, eliminate the cheapest first."""
    size = dag.schema.sizes
    above = {p for v in dag.continuous for p in dag.parent_indices[v] if size[p]}
    if prod(size[p] for p in above) > MOST_CONFIGURATIONS:
        raise lac.TooWideError("the continuous variables depend on too many states together for a page")
    near: dict[int, set[int]] = {i: set() for i, states in enumerate(size) if states}
    families = [{v, *dag.parent_indices[v]} for v in near] + ([above] if above else [])
    for family in families:
        for v in family:
            near[v] |= family - {v}
    costs = {v: size[v] * prod(size[o] for o in others) for v, others in near.items()}
    queue = sorted((cost, v) for v, cost in costs.items())
    cells = 0
    while near:
        cost, best = heappop(queue)
        if best not in near or cost != costs[best]:
            continue  # it is gone, or stands in the queue again with what it costs by now
        cells += cost
        if cells > MOST_CELLS:
            raise lac.TooWideError(f"more than {MOST_CELLS} cells are too many for a page; ask it in Python")
        around = near.pop(best)
        for v in around:
            near[v] = (near[v] | around) - {v, best}
            costs[v] = size[v] * prod(size[o] for o in near[v])
            heappush(queue, (costs[v], v))


def _static(name: str) -> str:
    """Return a built file; an end tag in it would end the element that it stands in."""
    return (STATIC / name).read_text(encoding="utf-8").strip().replace("</script", "<\\/script")


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()
