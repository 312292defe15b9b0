"""Mathematics as MathML, made when the site is built: browsers show it without a script.

The font, STIX Two Math (SIL Open Font Licence), comes with ``ziamath`` and is copied into the site.
"""

from __future__ import annotations

import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

from docutils import nodes
from latex2mathml.converter import convert

FONT = "STIXTwoMath-Regular.ttf"


NAMED = re.compile(r"(<mi>(?:log|exp|max|min|ln)</mi>)(?=<m(?!o))")
"""A function's name before what it is taken of, without a bracket: a thin space belongs between them."""

BAR = re.compile(r"<mo[^>]*>&#x0007C;</mo>")


def _mathml(text: str, display: str) -> str:
    found = convert(text, display=display)
    found = NAMED.sub(r'\1<mspace width="0.17em" />', found)
    return BAR.sub('<mo stretchy="false" lspace="0" rspace="0">|</mo>', found)


def inline(translator: Any, node: nodes.math) -> None:
    """Write a formula within a line."""
    translator.body.append(f'<span class="math">{_mathml(node.astext(), "inline")}</span>')
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    """Write a formula on lines of its own, one for each part that a blank line ends."""
    parts = [part for part in node.astext().split("\n\n") if part.strip()]
    shown = "".join(_mathml(part, "block") for part in parts)
    translator.body.append(f'<div class="math">{shown}</div>\n')
    raise nodes.SkipNode


def _font(app: Any, problem: Exception | None) -> None:
    if problem is None and app.builder.format == "html":
        with as_file(files("ziamath.fonts") / FONT) as font:
            shutil.copy(font, Path(app.outdir) / "_static" / FONT)


def setup(app: Any) -> dict[str, bool]:
    """Tell Sphinx."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.connect("build-finished", _font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
