"""A fit to standardised columns, in the data's units and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from numpy.typing import ArrayLike

from lacunary.infer.network import Network
from lacunary.infer.scale import Scale
from lacunary.learn.em import known_parameters
from lacunary.learn.found import Fit
from lacunary.learn.loop import Climb, Progress, Watch
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["moved", "outside", "standardized", "watched"]


def outside(found: Fit, scale: Scale) -> Fit:
    """Return a fit to standardised columns in the data's units."""
    if not found.dag.continuous:
        return found
    return replace(moved(found, scale.outward), belief=scale.believed_outside(found.belief))


def moved(found: Fit, move: Callable[[Dag, Array], Array]) -> Fit:
    """Return the fit with every network's parameters moved to other units."""
    if not found.dag.continuous:
        return found
    starts = tuple(
        replace(start, network=Network(found.dag, move(found.dag, start.network.theta)))
        for start in found.starts
    )
    same = next(
        (new for old, new in zip(found.starts, starts, strict=True) if old.network is found.network), None
    )
    network = same.network if same else Network(found.dag, move(found.dag, found.network.theta))
    return replace(found, network=network, starts=starts)


def standardized(
    dag: Dag, scale: Scale, fixed: Mapping[str, ArrayLike] | None
) -> Mapping[str, ArrayLike] | None:
    """Return what is fixed as it holds for standardised columns."""
    if not fixed or not dag.continuous:
        return fixed
    theta = known_parameters(dag, fixed)
    moved = scale.inward(dag, theta)
    return {
        name: given if dag.schema[name].discrete else dag.layout.table(moved, dag.schema.index(name))
        for name, given in fixed.items()
    }


def watched(
    watch: Watch | None, dag: Dag, scale: Scale, fingerprint: Callable[[], Mapping[str, str]]
) -> Watch | None:
    """Return a ``watch`` that is shown climbs in the data's units, and of what they are, as they go on."""
    if watch is None:
        return None

    def shown(progress: Progress) -> object:
        def climbs() -> list[Climb]:
            return [replace(c, theta=scale.outward(dag, c.theta)) for c in progress.climbs()]

        moved = climbs if dag.continuous else progress.climbs
        return watch(replace(progress, climbs=moved, fingerprint=fingerprint))

    return shown
