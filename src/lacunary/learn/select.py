"""Choose parameters from many starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lacunary.infer.network import Network

__all__ = ["Chosen"]


@dataclass(frozen=True, eq=False)
class Chosen:
    """The parameters a rule of selection settled on.

    Attributes
    ----------
    network
        The parameters.
    details
        What the rule has to say for itself: plain values (numbers, texts, booleans, lists) by name.
    """

    network: Network
    details: Mapping[str, Any] = field(default_factory=dict)
