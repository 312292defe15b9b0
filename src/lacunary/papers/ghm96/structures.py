"""The networks whose ranks GHM96 prints."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["STRUCTURES", "Structure"]

W = "A -> C <- H -> D <- B"


@dataclass(frozen=True)
class Structure:
    """A network: its arrows, its hidden variables with their states, and the kind of its families."""

    name: str
    arrows: str
    hidden: dict[str, int] = field(default_factory=dict)
    family: Literal["table", "gaussian", "sigmoid"] = "table"


def _fan(children: int, states: int) -> Structure:
    names = " ".join(f"X{i + 1}" for i in range(children))
    return Structure(f"naive Bayes, {states} classes, {children} features", f"H -> {names}", {"H": states})


STRUCTURES: dict[str, Structure] = {
    **{f"fan-{n}": _fan(n, 2) for n in range(1, 8)},
    "w-2": Structure("W, H binary", W, {"H": 2}),
    "w-3": Structure("W, H with 3 states", W, {"H": 3}),
    "w-4": Structure("W, H with 4 states", W, {"H": 4}),
    "w-5": Structure("W, H with 5 states", W, {"H": 5}),
    "w-20": Structure("W, H with 20 states", W, {"H": 20}),
    "w-without": Structure("W with H averaged out", "A -> C; A -> D; B -> D; C -> D"),
    "autoclass-3-4": _fan(4, 3),
    "gaussian-fan": Structure("Gaussian naive Bayes", "H -> X1 X2 X3 X4", {"H": 2}, "gaussian"),
    "gaussian-w": Structure("Gaussian W", W, {"H": 2}, "gaussian"),
    "sigmoid-2": Structure(
        "two-level sigmoid", "H1 -> X1 X2 X3 X4; H2 -> X1 X2 X3 X4", {"H1": 2, "H2": 2}, "sigmoid"
    ),
    "sigmoid-3": Structure(
        "three-level sigmoid",
        "H0 -> H1 H2; H1 -> X1 X2 X3 X4; H2 -> X1 X2 X3 X4",
        {"H0": 2, "H1": 2, "H2": 2},
        "sigmoid",
    ),
    "sigmoid-arc": Structure(
        "three-level sigmoid, an arc for its top",
        "H1 -> H2; H1 -> X1 X2 X3 X4; H2 -> X1 X2 X3 X4",
        {"H1": 2, "H2": 2},
        "sigmoid",
    ),
}
"""By the name that claims use. The figures of the sigmoid networks are lost; these have 14, 17 and 15
parameters as the text says: two or three hidden variables above four observed ones, fully joined."""
