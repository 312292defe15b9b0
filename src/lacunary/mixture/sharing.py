"""What the components of a mixture have in common (TMCH98 section 8, after Banfield & Raftery 1993).

The covariance of a Gaussian component with a DAG is (I − B)⁻¹ λA (I − B)⁻ᵀ: coefficients B, its
*orientation*; the variances of the regressions' noise up to a factor, A with |A| = 1, its *shape*; and the
factor λ, its *volume*. Each can be the same in all components, as can structure and weight, the *size*.

Without arcs, or with all of them, that is the family of Banfield & Raftery and Celeux & Govaert (1995) for
ten of its fourteen models. The other four, EEV, VEV, EVE and VVE, share eigenvalues without eigenvectors or
eigenvectors without eigenvalues, which regressions cannot say: their codes stand for the true models, with
all arcs (`lacunary.mixture.eigen`); sharing coefficients or variances of regressions alone is asked for by
names.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from lacunary.errors import ParameterError

__all__ = ["SharedGiven", "Sharing"]

SharedGiven = str | Iterable[str]
"""Names of what is shared, or a code such as "VII"."""

NAMES = ("structure", "size", "volume", "shape", "orientation", "sphere")

ALSO = {"coefficients": "orientation"}
"""Other words: the orientation of a graph's regressions is their coefficients."""

EIGEN = ("EEV", "VEV", "EVE", "VVE")
"""Models that speak of eigenvectors."""


@dataclass(frozen=True)
class Sharing:
    """What is the same in all components.

    Attributes
    ----------
    structure, size, volume, shape, orientation
        The graph, the weight, λ, A and B.
    sphere
        Whether the noise of all variables has the same variance, in the data's units: A is the identity.
    eigen
        Whether volume, shape and orientation are those of eigenvalues and eigenvectors, not of regressions.
    """

    structure: bool = False
    size: bool = False
    volume: bool = False
    shape: bool = False
    orientation: bool = False
    sphere: bool = False
    eigen: bool = False

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
        return cls(**flags, eigen=given in EIGEN)

    @staticmethod
    def structure_of(given: SharedGiven) -> Literal["empty", "complete"] | None:
        """Return the structures of the model that a code names: none or all arcs; None where it is no code.

        >>> Sharing.structure_of("VVI"), Sharing.structure_of("EEV"), Sharing.structure_of("size")
        ('empty', 'complete', None)
        """
        if not isinstance(given, str) or not _is_code(given):
            return None
        return "empty" if "I" in given[1:] else "complete"

    @property
    def parameters(self) -> bool:
        """Whether regressions have anything in common."""
        return self.volume or self.shape or self.orientation or self.sphere


def _named(given: Any) -> list[str]:
    if not isinstance(given, str):
        return [ALSO.get(name, name) for name in given]
    if not _is_code(given):
        return [ALSO.get(given, given)]
    volume, shape, orientation = given[0], given[1], given[2]
    if orientation == "I" or shape == "I":
        orientation = "V"  # without arcs there is nothing to turn
    found = {"volume": volume == "E", "shape": shape == "E", "sphere": shape == "I"}
    return ["structure", *(n for n, is_so in found.items() if is_so), *["orientation"] * (orientation == "E")]


def _is_code(given: str) -> bool:
    return len(given) == 3 and given[0] in "EV" and given[1] in "EVI" and given[2] in "EVI"
