"""What a search found, and the path that led there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from lacunary.data.table import Table
from lacunary.data.wording import counted
from lacunary.infer.belief import Prior
from lacunary.infer.network import Network
from lacunary.learn.fit import fit
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag

__all__ = ["SearchResult", "Step"]


@dataclass(frozen=True)
class Step:
    """One step of a search.

    Attributes
    ----------
    action
        "add", "remove" or "reverse" the arc tail → head; "jump" to another graph, without an arc.
    gain
        What the step added to the score, in nats; negative where a search went downhill.
    score
        The score after it.
    """

    action: str
    tail: str
    head: str
    gain: float
    score: float

    def __str__(self) -> str:
        if self.action == "jump":
            return f"jump to another graph ({self.score:.3f})"
        return f"{self.action} {self.tail} -> {self.head} ({self.gain:+.3f})"


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The best graph a search met.

    Attributes
    ----------
    dag
        The graph.
    score
        Its score in nats; higher is better.
    path
        Every step taken, in order. The best graph need not be the last.
    strengths
        For each arc, what the score would lose without it, in nats.
    method
        The search, by name.
    interrupted
        Whether it was stopped before its end.
    table, prior
        What was searched, and the prior with which `network` is fitted.
    """

    dag: Dag
    score: float
    path: tuple[Step, ...]
    strengths: Mapping[Arc, float]
    method: str
    interrupted: bool
    table: Table = field(repr=False)
    prior: Prior | None = field(default=None, repr=False)

    @cached_property
    def network(self) -> Network:
        """The graph with parameters fitted to the table (MAP); worked out when first asked for."""
        return fit(self.dag, self.table, prior=self.prior).network

    def __str__(self) -> str:
        arcs = sorted(self.strengths.items(), key=lambda item: -item[1])
        width = max((len(f"{tail} -> {head}") for (tail, head), _ in arcs), default=0)
        lines = [f"{f'{tail} -> {head}':{width}}  {lost:10.2f}" for (tail, head), lost in arcs]
        state = ", interrupted" if self.interrupted else ""
        return "\n".join(
            [
                f"{counted(len(self.dag.names), 'variable')}, {counted(len(arcs), 'arc')}; "
                f"score {self.score:.4f} nats ({self.method}, {counted(len(self.path), 'step')}{state})",
                *(["arcs, and what the score loses without each:"] if arcs else []),
                *lines,
            ]
        )

    __repr__ = __str__
