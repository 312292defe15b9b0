"""Uniform families in a fit: their bounds follow from the rows at once, and the climb takes them as known.

A row has a share in a configuration only if it is within its bounds, and a step makes bounds the narrowest
that hold all rows with a share: so bounds that rows for certain in their configuration reach, and that leave
no row outside, stay as they are (`lacunary.infer.bounds`).
"""

from __future__ import annotations

from collections.abc import Mapping

from numpy.typing import ArrayLike

from lacunary.data.source import Source
from lacunary.infer.bounds import learned_bounds, log_bounds_density
from lacunary.model.dag import Dag

__all__ = ["with_bounds"]

Fixed = Mapping[str, ArrayLike] | None


def with_bounds(dag: Dag, source: Source, method: str, fixed: Fixed) -> tuple[Fixed, float]:
    """Return what is fixed and the bounds of uniform families, and the log prior density of those learned."""
    if not dag.uniforms:
        return fixed, 0.0
    known, log_density, table = dict(fixed or {}), 0.0, source.whole("bounds of uniform families")
    for i in dag.uniforms:
        if dag.names[i] not in known:
            bounds = learned_bounds(dag, table, i, method)
            known[dag.names[i]] = bounds.reshape(*dag.layout.parent_sizes(i), 2)
            log_density += log_bounds_density(dag, table, i, bounds) if method == "map" else 0.0
    return known, log_density
