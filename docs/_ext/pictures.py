"""Figures and graphs that a gallery script has drawn, as pictures of its page and of the gallery."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

import lacunary as lac
from lacunary.report.drawing import Drawing


def scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **_: Any) -> str:
    """Return the text that shows what the block has drawn and bound to a name; write a file for each.

    On its page a picture is a part of the page, so that its text takes the page's colour, light or dark; the
    file is for the thumbnail.
    """
    shown = block_vars.setdefault("pictures", [])
    text = []
    for name, thing in block_vars["example_globals"].items():
        if isinstance(thing, Drawing | Figure) and not any(thing is other for other in shown):
            shown.append(thing)
            path = Path(next(block_vars["image_path_iterator"]))
            text.append(_element(_written(thing, path, f"{path.stem}-{name}")))
    return "\n".join(text)


def _written(thing: Drawing | Figure, path: Path, name: str) -> str:
    """Write the file, and return the element for the page."""
    if isinstance(thing, Figure):
        path.write_bytes(lac.FigureStyle.picture(thing, "png"))
        return lac.FigureStyle.svg(thing, name, "Figure")
    light = thing.replace("(prefers-color-scheme: dark)", "not all")
    path.with_suffix(".svg").write_text(light, encoding="utf-8")
    return thing.replace("(prefers-color-scheme: dark)", "not all")


def _element(svg: str) -> str:
    indented = "\n".join(f"   {line}" for line in svg.splitlines())
    return f'.. raw:: html\n\n   <div class="picture">\n{indented}\n   </div>\n'
