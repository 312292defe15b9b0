"""Pages are filled in from templates: what users write is escaped, and what is left out is an error."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from lacunary.data.wording import MISSING_AT_RANDOM, harmless, plural
from lacunary.report.words import give_or_take, method, minus, percent, with_unit

__all__ = ["render"]

FILTERS = {"minus": minus, "percent": percent, "method": method, "plural": plural, "with_unit": with_unit}


def render(name: str, **values: Any) -> str:
    """Return a page of HTML: a template of this package with its values."""
    environment = Environment(
        loader=PackageLoader("lacunary.report", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    environment.globals |= {"give_or_take": give_or_take, "missing_at_random": MISSING_AT_RANDOM}
    return harmless(environment.get_template(f"{name}.html.jinja").render(**values))
