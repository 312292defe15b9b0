"""Continuous variables for people: their regressions, line by line, and their densities, drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np

from lacunary.data.schema import Label
from lacunary.errors import SchemaError, TooWideError
from lacunary.family.distribution import Answer
from lacunary.infer.answers import Answers
from lacunary.report.words import significant, with_unit

__all__ = ["Equation", "density_chart", "equations", "measures", "regressions_text"]

SHOWN = 24
"""How many configurations of discrete parents are listed of a variable."""

WIDTH, HEIGHT, BELOW, POINTS = 300.0, 96.0, 18.0, 120


@dataclass(frozen=True)
class Equation:
    """A continuous variable in one configuration of its discrete parents: its parameters, and in words."""

    given: dict[str, Label]
    parameters: dict[str, float]
    text: str

    def __str__(self) -> str:
        return self.text


def equations(model: Answers, name: str) -> Iterator[Equation]:
    """Yield a continuous variable's parameters, the last discrete parent moving fastest."""
    i = model.dag.schema.index(name)
    family, table = model.dag.number(i), model.dag.layout.table(model.parameters(), i)
    for place in product(*(range(size) for size in family.sizes)):
        given = {v.name: v.states[k] for v, k in zip(family.parents, place, strict=True)}
        yield Equation(given, family.named(table[place]), family.told(table[place]))


def regressions_text(model: Answers) -> str:
    """Return every continuous variable's regressions as text, a line for each configuration."""
    dag, lines = model.dag, []
    for i in dag.continuous:
        name, many = dag.names[i], dag.layout.configurations[i]
        lines.append(name)
        shown = list(islice(equations(model, name), SHOWN))
        heads = [", ".join(f"{parent}={state}" for parent, state in each.given.items()) for each in shown]
        width = max(map(len, heads))
        lines += [f"  {head:<{width}}  {each}".rstrip() for head, each in zip(heads, shown, strict=True)]
        lines += [f"  and {many - SHOWN} more"] if many > SHOWN else []
    return "\n".join(lines)


def measures(model: Answers) -> list[dict[str, Any]]:
    """Return what a page shows of each continuous variable: its density, and its regressions."""
    found = []
    for i in model.dag.continuous:
        variable = model.dag.schema.variables[i]
        name = variable.name
        try:
            density = model.query(name)
        except (SchemaError, TooWideError):  # the parameters can be told all the same
            density = None
        found.append(
            {
                "name": with_unit(variable),
                "summary": _summary(density) if density else "",
                "chart": density_chart(density) if density else "",
                "equations": list(islice(equations(model, name), SHOWN)),
                "more": max(model.dag.layout.configurations[i] - SHOWN, 0),
            }
        )
    return found


def _summary(density: Answer) -> str:
    return (
        f"mean {significant(float(density.mean), 5)}, standard deviation {significant(float(density.sd), 4)}"
    )


def density_chart(density: Answer) -> str:
    """Return a density drawn as SVG, from its 0.5 % to its 99.5 % quantile."""
    low, high = float(density.quantile(0.005)), float(density.quantile(0.995))
    x = np.linspace(low, high, POINTS)
    y = np.exp([float(density.log_density(value)) for value in x])
    top = HEIGHT - BELOW - 4.0
    across = (WIDTH - 2.0) * (x - low) / ((high - low) or 1.0) + 1.0
    up = HEIGHT - BELOW - top * y / (y.max() or 1.0)
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
    base = HEIGHT - BELOW
    middle = (WIDTH - 2.0) * (float(density.quantile(0.5)) - low) / ((high - low) or 1.0) + 1.0
    texts = "".join(
        f'<text x="{a:.1f}" y="{HEIGHT - 4:.0f}" text-anchor="{anchor}" font-size="11" fill="currentColor">'
        f"{significant(value, 4)}</text>"
        for a, anchor, value in ((0.0, "start", low), (WIDTH, "end", high))
    )
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="Density" '
        f'viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" width="{WIDTH:.0f}" height="{HEIGHT:.0f}">'
        "<title>How probable each value is; the stroke is the median</title>"
        f'<polygon points="1,{base:.1f} {line} {WIDTH - 1:.0f},{base:.1f}" fill="#0072b2" '
        'fill-opacity="0.25" stroke="#0072b2"/>'
        f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="4" y2="{base:.1f}" stroke="#b34e00"/>{texts}</svg>'
    )
