"""What the components of a mixture have in common (TMCH98 section 8, after Banfield & Raftery 1993).

The covariance of a Gaussian component with a DAG is (I − B)⁻¹ λA (I − B)⁻ᵀ: coefficients B, its
*orientation*; the variances of the regressions' noise up to a factor, A with |A| = 1, its *shape*; and the
factor λ, its *volume*. Each can be the same in all components, as can structure and weight, the *size*.
Without arcs, or with all of them, that is the hierarchy of Banfield and Raftery, as far as it does not turn
eigenvectors.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from lacunary.errors import ParameterError

__all__ = ["SharedGiven", "Sharing"]

SharedGiven = str | Iterable[str]
"""Names of what is shared, or a code such as "VII"."""

NAMES = ("structure", "size", "volume", "shape", "orientation", "sphere")


@dataclass(frozen=True)
class Sharing:
    """What is the same in all components.

    Attributes
    ----------
    structure, size, volume, shape, orientation
        The graph, the weight, λ, A and B.
    sphere
        Whether the noise of all variables has the same variance, in the data's units: A is the identity.
    """

    structure: bool = False
    size: bool = False
    volume: bool = False
    shape: bool = False
    orientation: bool = False
    sphere: bool = False

    @classmethod
    def of(cls, given: SharedGiven) -> Sharing:
        """Return what a user's words mean: names, or three letters for volume, shape and orientation.

        E is equal, V varies, I is the identity: "EII", "VII", "EEI", "VVI", "EEE", "VVV" and so on.

        >>> Sharing.of("VEE") == Sharing.of(["shape", "orientation"])
        True
        """
        names = _named(given)
        unknown = [name for name in names if name not in NAMES]
        if unknown:
            raise ParameterError(
                f"shared names {', '.join(NAMES)}, or is a code such as 'VII', not {unknown[0]!r}"
            )
        flags = {name: name in names for name in NAMES}
        flags["structure"] |= any(flags[name] for name in ("volume", "shape", "orientation", "sphere"))
        return cls(**flags)

    @property
    def parameters(self) -> bool:
        """Whether regressions have anything in common."""
        return self.volume or self.shape or self.orientation or self.sphere


def _named(given: Any) -> list[str]:
    if not isinstance(given, str):
        return list(given)
    if given in NAMES:
        return [given]
    if len(given) != 3 or given[0] not in "EV" or given[1] not in "EVI" or given[2] not in "EVI":
        return [given]
    volume, shape, orientation = given[0], given[1], given[2]
    if orientation == "I" or shape == "I":
        orientation = "V"  # without arcs there is nothing to turn
    found = {"volume": volume == "E", "shape": shape == "E", "sphere": shape == "I"}
    return ["structure", *(n for n, is_so in found.items() if is_so), *["orientation"] * (orientation == "E")]
