"""An estimate of the marginal likelihood, with all that is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from lacunary.registry import borrow

__all__ = ["CERTAIN", "INTERRUPTED", "Estimate", "Kind"]

CERTAIN = 1e-9
"""Standard errors below this are of estimates that do not vary at all: rounding is all there is."""

INTERRUPTED = "it was interrupted, and this is what had been found by then"
"""What the note of such an estimate says."""

Kind = Literal["exact", "lower bound", "approximation", "Monte Carlo", "no estimate"]


@dataclass(frozen=True)
class Estimate:
    """An estimate of log p(table | graph), in nats; higher is better.

    Attributes
    ----------
    method
        Which estimate it is.
    value
        The estimate: the sum of its ``terms``.
    kind
        What can be said of it: exact, a lower bound, an approximation, Monte Carlo, or no estimate of the
        evidence at all.
    terms
        The parts it is the sum of, by name. No constant is left out.
    stderr
        Standard error of a Monte Carlo estimate.
    dimension
        Number of dimensions that were charged for, where the estimate charges for any.
    where
        At which parameters it was worked out, where it depends on any.
    seconds
        How long it took, without the fit it stands on.
    details
        What else is worth knowing, by name: the trace of a sampler, an effective sample size, ….
    doubts
        What is doubtful about the columns, in a line; see `Table.doubts`.
    """

    method: str
    value: float
    kind: Kind
    terms: Mapping[str, float]
    stderr: float | None = None
    dimension: int | None = None
    where: str | None = None
    seconds: float = 0.0
    details: Mapping[str, Any] = field(default_factory=dict)
    doubts: str = ""

    @property
    def trustworthy(self) -> bool:
        """Whether nothing is known that speaks against its error."""
        return bool(self.details.get("trustworthy", True))

    @property
    def interrupted(self) -> bool:
        """Whether it was broken off, and is what had been found by then."""
        return bool(self.details.get("interrupted", False))

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def __float__(self) -> float:
        return self.value

    @property
    def error(self) -> str:
        """The standard error as it is printed, where there is one; what is rounding alone is none."""
        return "" if self.stderr is None else f" ± {self.stderr if self.stderr > CERTAIN else 0:.2g}"

    def __str__(self) -> str:
        note = f"; {self.details['note']}" if self.details.get("note") else ""
        doubts = f"\nnote: {self.doubts}" if self.doubts else ""
        return f"{self.method}: {self.value:z.4f}{self.error} nats ({self.kind}){note}{doubts}"

    __repr__ = __str__
