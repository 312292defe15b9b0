"""What ``lacunary mixture`` says of what it found: to people, and to machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lacunary as lac
from lacunary.cli.app import without_note
from lacunary.cli.show import say_written, show
from lacunary.data.facts import open_cells
from lacunary.data.wording import MISSING_AT_RANDOM, counted
from lacunary.report.classes_text import empty_grid
from lacunary.report.mixture import links, met_once, names_of, sentences, strengths, tried
from lacunary.report.words import percent

__all__ = ["summary", "tell"]

FEW = 10
"""The most variables whose parameters are printed, and"""
SOME = 20
"""the most arcs of a component, and the most differences; the rest is in the page."""


def summary(found: lac.MixtureFit, table: lac.Table, files: dict[str, str | None]) -> dict[str, Any]:
    """Return what was found as JSON can hold it."""
    mixture, lost = found.mixture, strengths(found)
    noise = mixture.noise
    return {
        "rows": len(table),
        "holes": int(open_cells(table).sum()),
        "variables": len(table.schema),
        "structure": found.structure,
        "estimate": found.estimate.value,
        "prior": found.prior,
        "structure_prior": found.structure_prior,
        "log_structure_prior": found.log_structure_prior,
        "components": len(mixture.components),
        "tried": [vars(number) for number in tried(found)],
        "weights": mixture.weights.tolist(),
        "noise": None
        if noise is None
        else {
            v.name: [low, high]
            for v, low, high in zip(noise.schema, noise.low.tolist(), noise.high.tolist(), strict=True)
            if not v.discrete
        },
        "parts": [
            {
                "weight": float(mixture.weights[c]),
                "graph": str(component.dag),
                "arcs": [
                    {"from": tail, "to": head, "strength": lost[c].get((tail, head))}
                    for tail, head in component.dag.arcs
                ],
            }
            for c, component in enumerate(mixture.components)
        ],
        "differences": [{"pair": list(link.pair), "present": list(link.present)} for link in links(mixture)],
        "interrupted": found.interrupted,
        **files,
    }


def tell(found: lac.MixtureFit, table: lac.Table, written: Sequence[str | None]) -> None:
    """Print what was found."""
    holes = int(open_cells(table).sum())
    show(f"{len(table)} rows, {holes} holes, none dropped; {len(table.schema)} variables")
    show(f"{MISSING_AT_RANDOM}\n" if holes else "")
    _numbers(found)
    show(without_note(found))
    lost = strengths(found)
    for c, component in enumerate(found.mixture.components):
        _component(c, float(found.mixture.weights[c]), component, lost[c])
    if found.mixture.noise is not None:
        show(f"\nnoise: weight {found.mixture.weights[-1]:.4f}")
    if len(found.mixture.components) > 1:
        _differences(found.mixture)
    hint = "--out FILE.json keeps the mixture, --report FILE.html shows it"
    say_written(written, "" if found.interrupted else hint)


def _numbers(found: lac.MixtureFit) -> None:
    """Print the numbers of components with their estimates; nothing if there is but one."""
    numbers = tried(found)
    if len(numbers) < 2:
        return
    grid = empty_grid("components", "left", "parameters", "log evidence", "met at the top", "probability", "")
    for number in numbers:
        chance = "" if number.probability is None else percent(number.probability)
        mark = "<- chosen" if number.chosen else ""
        met = f"{number.met} of {number.starts}"
        counts = map(str, (number.asked, number.components, number.parameters))
        cells = (*counts, f"{number.estimate:.2f}", met, chance, mark)
        grid.add_row(*cells, style="bold" if number.chosen else None)
    show(grid)
    if met_once(numbers):
        show(met_once(numbers))


def _component(c: int, weight: float, network: lac.Network, lost: dict[tuple[str, str], float]) -> None:
    arcs = sorted(network.dag.arcs, key=lambda arc: -lost.get(arc, 0.0))
    show(f"\ncomponent {c + 1}: weight {weight:.4f}, {counted(len(arcs), 'arc')}")
    width = max((len(f"{tail} -> {head}") for tail, head in arcs[:SOME]), default=0)
    for tail, head in arcs[:SOME]:
        strength = f"  {lost[tail, head]:10.2f} nats" if (tail, head) in lost else ""
        show(f"  {f'{tail} -> {head}':<{width}}{strength}")
    if len(arcs) > SOME:
        show(f"  … and {len(arcs) - SOME} weaker ones")
    if len(network.dag.names) <= FEW:
        for line in sentences(network):
            show(f"    {line}")


def _differences(mixture: lac.Mixture) -> None:
    """Print the pairs that are linked in some components only."""
    found = links(mixture)
    if not found:
        show("\nthe same variables are linked in every component")
        return
    show("\nlinked in some components only")
    width = max(len(" - ".join(link.pair)) for link in found[:SOME])
    for link in found[:SOME]:
        where = [name for name, there in zip(names_of(mixture), link.present, strict=False) if there]
        show(f"  {' - '.join(link.pair):<{width}}  in {', '.join(where)}")
    if len(found) > SOME:
        show(f"  … and {len(found) - SOME} more")
