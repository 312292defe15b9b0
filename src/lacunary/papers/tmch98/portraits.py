"""What the components of digit 7's mixtures look like (Figure 3)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lacunary.papers import Found, Results, verdict_if
from lacunary.papers.tmch98.compare import grown
from lacunary.papers.tmch98.tables import KINDS, digits

__all__ = ["face_found", "faces_of", "roughness"]


def faces_of(results: Results) -> dict[str, list[dict[str, Any]]]:
    """Return digit 7's components by class of mixture: weight, mean and samples."""
    out = {}
    for kind, name in KINDS.items():
        record = grown(results, 7, kind)
        if record and "faces" in record.value:
            out[name] = record.value["faces"]
    return out


def roughness(images: ArrayLike) -> float:
    """Return the mean squared difference of neighbouring pixels; images are (images, 64)."""
    grid = np.asarray(images, dtype=np.float64).reshape(-1, 8, 8)
    return float(np.concatenate([np.diff(grid, axis=a).ravel() ** 2 for a in (1, 2)]).mean())


def _away(found: list[dict[str, Any]]) -> float:
    """Return the root mean square distance of samples from their component's mean, weighed, a pixel."""
    weights = np.array([face["weight"] for face in found])
    squares = [
        np.mean((np.array(face["samples"], dtype=np.float64) - np.array(face["mean"])) ** 2) for face in found
    ]
    return float(np.sqrt(weights @ squares / weights.sum()))


def _rough(found: list[dict[str, Any]]) -> float:
    weights = np.array([face["weight"] for face in found])
    return float(weights @ [roughness(face["samples"]) for face in found] / weights.sum())


def face_found(results: Results) -> dict[str, Found]:
    """Return how mottled samples are, and how like the mean."""
    faces = faces_of(results)
    if len(faces) < len(KINDS):
        return {}
    real = roughness(digits(7)[1].reals)
    rough = {name: _rough(found) / real for name, found in faces.items()}
    away = {name: _away(found) for name, found in faces.items()}
    told = ", ".join(f"{name} {value:.2f}" for name, value in rough.items())
    mottled = verdict_if(rough["MDIAG/n"] > 1.25 * max(rough["MDAG/n"], rough["MFULL/n"]))
    below = [away["MDAG/n"] < away[name] for name in ("MFULL/n", "MDIAG/n")]
    like = verdict_if(all(below), below[0])
    note = "roughness over that of real sevens; four samples a component"
    found = {
        "mottled": Found(told, verdict=mottled, note=note),
        "like-mean": Found(
            ", ".join(f"{n} {v:.0f}" for n, v in away.items()),
            verdict=like,
            note="grey values a pixel, root mean square",
        ),
    }
    for name, components in faces.items():
        weights = [face["weight"] for face in components]
        note = f"weights {', '.join(f'{w:.2f}' for w in weights)}; noise {1 - sum(weights):.3f}"
        found[f"weight-{name.split('/')[0].lower()}"] = Found(round(max(weights), 3), note=note)
    return found
