"""How figures look, and how they become files: SVG takes the text colour of the page it stands in."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Sequence
from html import escape
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import FixedFormatter, Formatter, FuncFormatter, LogFormatter, NullFormatter

from lacunary.data.wording import harmless
from lacunary.maths.arrays import Array
from lacunary.report.words import minus, shortened

__all__ = ["FigureStyle", "Sheet", "canvas", "heat_map", "in_nats", "numbered", "picture", "rule", "svg"]

INK = "#010203"
"""Stands for the page's own text colour, which takes its place in the SVG."""

MUTED = "#7f8a96"
ACCENT = "#d55e00"
STEADY = "#0072b2"
DIVERGING = LinearSegmentedColormap.from_list(
    "orange to blue", ["#b35806", "#f1a340", "#f4f4f2", "#6aaed6", "#08519c"], N=45
)
"""Orange to blue through near white: told apart with every common kind of colour blindness.

Fewer than fifty colours, so that the scale beside the map is drawn and not embedded as a picture.
"""

NEARNESS = LinearSegmentedColormap.from_list(
    "dark to light", ["#08306b", "#2171b5", "#6aaed6", "#c6dbef"], N=45
)
"""Dark blue for what is near, fading as it gets far."""

STYLE: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "svg.fonttype": "none",
    "text.parse_math": False,  # names are shown as they are: $5–$10 is a price and no formula
    "savefig.transparent": True,
}

LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#555555")
MARKS = ("o", "s", "^", "D", "v", "P", "X")
"""Colours told apart with every common kind of colour blindness, and marks for those who print in grey."""


LONGEST = 36
"""Characters of a name along an axis, and half of any other line; tables and files have names whole."""


def canvas(width: float, height: float) -> tuple[Figure, Axes]:
    """Return an empty figure of so many inches, and its axes."""
    figure = Sheet(figsize=(width, height), layout="constrained")
    return figure, figure.add_subplot()


def rule(axes: Axes) -> None:
    """Draw thin lines across, behind everything else."""
    axes.grid(axis="y", color=MUTED, alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)


def numbered(axis: Any, said: Callable[[float], str]) -> None:
    """Write the numbers of an axis or a scale as a function says them."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: said(value)))


def in_nats(axis: Any) -> None:
    """Write the numbers of an axis with as many digits as tell its ticks apart."""

    def said(value: float) -> str:
        step = np.diff(axis.get_majorticklocs()).min(initial=1.0)
        return minus(value + 0.0, max(0, int(np.ceil(-np.log10(step) - 1e-9))))

    numbered(axis, said)


class Sheet(Figure):
    """A figure that shows names as they are, shortened where they are long, and reads none as mathematics."""

    def draw(self, renderer: Any) -> None:
        """Draw it."""
        with rc_context({"text.parse_math": False}), warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", "Glyph .* missing from", UserWarning
            )  # pages use the reader's fonts
            for axis in (axis for axes in self.axes for axis in (axes.xaxis, axes.yaxis)):
                _name(axis)
            for text in self.findobj(Text):
                text.set_parse_math(False)
                text.set_text(_shown(text.get_text(), 2 * LONGEST))
            super().draw(renderer)


def _name(axis: Any) -> None:
    """Shorten the names along an axis; write the numbers of a logarithmic one without formulas."""
    form = axis.get_major_formatter()
    if isinstance(form, FixedFormatter | FuncFormatter):
        axis.set_major_formatter(_Names(form))
    elif isinstance(form, LogFormatter):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_formatter(NullFormatter())


class _Names(Formatter):
    """The names along an axis, shortened."""

    def __init__(self, whole: Any) -> None:
        self.whole = whole

    def __call__(self, x: float, pos: int | None = None) -> str:
        return _shown(self.whole(x, pos))


def _shown(text: str, most: int = LONGEST) -> str:
    """Return a label whose lines are not too long."""
    return "\n".join(shortened(line, most) for line in harmless(text).split("\n")[:3])


def heat_map(
    axes: Axes,
    values: Array,
    said: Callable[[int, int], str],
    span: tuple[float, float],
    heads: tuple[str, Sequence[str], Sequence[str]],
) -> Any:
    """Draw cells coloured by their values, from one end of a span to the other, and return their scale.

    ``said`` gives the text of a cell by row and column; ``heads`` are the title, and the names, of the
    columns, and the names of the rows.
    """
    edges = [np.arange(size + 1) - 0.5 for size in values.shape]
    look: dict[str, Any] = {"cmap": DIVERGING, "edgecolors": "#ffffff", "linewidth": 1.2}
    image = axes.pcolormesh(edges[1], edges[0], values, vmin=span[0], vmax=span[1], **look)
    middle, reach = (span[0] + span[1]) / 2, (span[1] - span[0]) / 2
    for (row, column), value in np.ndenumerate(values):
        ink = "#ffffff" if abs(value - middle) > 0.72 * reach else "#16181b"
        axes.text(column, row, said(row, column), ha="center", va="center", color=ink, fontsize=9)
    title, columns, rows = heads
    axes.set_xticks(range(len(columns)), columns)
    axes.set_yticks(range(len(rows)), rows)
    axes.invert_yaxis()
    axes.xaxis.tick_top()
    axes.xaxis.set_label_position("top")
    axes.set_xlabel(title)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    shrink = min(1.0, 3.2 / (0.34 * len(rows)))
    bar = axes.get_figure().colorbar(image, ax=axes, shrink=shrink, pad=0.03, aspect=14)  # type: ignore[union-attr]
    bar.outline.set_visible(False)
    return bar


def svg(figure: Figure, name: str, title: str) -> str:
    """Return a figure as an SVG element for a page; ``name`` keeps its identifiers apart from others'."""
    FigureCanvasSVG(figure)
    buffer = io.StringIO()
    with rc_context({**STYLE, "svg.hashsalt": name}):
        figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # The style element would speak to the whole page.
    text = re.sub(r"<metadata>.*?</metadata>|<defs>\s*<style.*?</style>\s*</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'(url\(#|href="#)', rf"\1{name}-", text)
    text = text.replace(INK, "currentColor").replace("'DejaVu Sans'", "system-ui, 'DejaVu Sans'")
    head, body = text.split(">", 1)
    head = re.sub(r' (?:width|height)="[\d.]+pt"', "", head)
    look = f"max-width:{figure.get_figwidth():.2f}in;stroke-linejoin:round"
    return (
        head.replace("<svg", f'<svg role="img" aria-label="{escape(harmless(title))}" style="{look}"')
        + ">"
        + body
    )


def picture(figure: Figure, form: Literal["png", "svg"], *, dots: int = 150) -> bytes:
    """Return a figure as a file of its own, on white; the same figure gives the same file."""
    FigureCanvasAgg(figure) if form == "png" else FigureCanvasSVG(figure)
    buffer = io.BytesIO()
    metadata = {"Date": None} if form == "svg" else {}
    with rc_context({"svg.hashsalt": "lacunary"}):
        figure.savefig(buffer, format=form, dpi=dots, transparent=False, facecolor="white", metadata=metadata)
    return buffer.getvalue()


class FigureStyle:
    """The look of all figures, for those who draw their own beside them; it has no instances.

    Attributes
    ----------
    settings
        What to draw in, as ``matplotlib.rc_context(FigureStyle.settings)``.
    ink, muted, accent, steady
        Colours of text, rules, what matters, and the rest.
    lines, marks
        Seven colours and marks that can be told apart, for the first line, the second, …
    diverging, nearness
        Colour maps: from orange to blue, and from near to far.
    sheet
        The class of figures that show names as they are.
    svg, picture
        Return a figure as an element for a page, or as a file of its own.

    Examples
    --------
    >>> import lacunary as lac
    >>> len(lac.FigureStyle.lines)
    7
    """

    settings = STYLE
    ink, muted, accent, steady = INK, MUTED, ACCENT, STEADY
    lines, marks = LINES, MARKS
    diverging, nearness = DIVERGING, NEARNESS
    svg = staticmethod(svg)
    picture = staticmethod(picture)
    sheet = Sheet
