"""What a search found, and the path that led there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

from lacunary.data.absent import Absent, Lean, left_behind
from lacunary.data.source import Source
from lacunary.data.wording import counted
from lacunary.infer.belief import Prior
from lacunary.infer.empirical import said_prior
from lacunary.infer.network import Network
from lacunary.learn.fit import fit
from lacunary.maths.arrays import Array
from lacunary.model.arrows import Arc
from lacunary.model.dag import Dag
from lacunary.registry import borrow, page_of
from lacunary.structure.prior import said_priors
from lacunary.structure.score import Structure

__all__ = ["SCHEDULE", "Round", "SearchResult", "Step", "StructuralResult", "Trial"]

SCHEDULE = "((EM)^10 Ec S* M)*"
"""The schedule TMCH98 found to work well on a variety of problems."""

Trial = tuple[tuple[str, int], ...]
"""One choice: each hidden variable with its number of states; one state is no variable at all."""


@dataclass(frozen=True)
class Step:
    """One step of a search.

    Attributes
    ----------
    action
        "add", "remove" or "reverse" the arc tail → head; "jump" to another graph, without an arc.
    gain
        What the step added to the score and the log prior of the graph, in nats; negative where a search
        went downhill.
    score
        Score and log prior together after it.
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


@dataclass(frozen=True)
class Round:
    """One turn of EM and search.

    Attributes
    ----------
    arrows
        The graph after the search, in arrow notation; in the first round, the initial graph.
    arcs, moves
        Its arcs, and the moves that led to it.
    criterion
        Its score on the expected statistics it was found with (TMCH98 eq. 12), in nats; None for the
        initial graph.
    cheeseman_stutz, log_likelihood
        Its Cheeseman–Stutz score and log-likelihood, at the maximum EM climbs to.
    changed
        Whether the search changed the graph.
    forced
        Whether EM was run to convergence because the round before had changed nothing.
    escape
        Whether the graph was enlarged to leave a local maximum, without turns of EM before.
    log_structure_prior
        The log prior of the graph, which rounds are compared by together with `cheeseman_stutz`.
    """

    arrows: str
    arcs: int
    moves: int
    criterion: float | None
    cheeseman_stutz: float
    log_likelihood: float
    changed: bool
    forced: bool
    escape: bool = False
    log_structure_prior: float = 0.0


@dataclass(frozen=True, eq=False)
class SearchResult(Lean):
    """The best graph a search met.

    Attributes
    ----------
    dag
        The graph.
    score
        Its score in nats; higher is better. It does not contain the prior over graphs.
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
    converged
        Whether the stopping rule was met.
    schedule
        How EM and search took turns where something was missing, as text.
    theta
        Parameters of highest posterior density for the graph, where EM climbed to them.
    trials
        Where numbers of hidden states were tried: the score of each choice, by the states of each hidden
        variable.
    structure_prior, log_structure_prior
        The prior over graphs, by name, and the log probability it gives the links of this graph: the search
        maximises the sum of score and log prior.
    checked
        Of structural EM: how many of the graphs near by were weighed afresh, each with EM of its own, and
        found no better, and how many there are: all that a change of one arc leads to, from this graph or
        from equivalent ones. None where that was not asked for.
    noted, first
        The rounds of EM and search; or, where nothing was missing, the graph that the one search set out
        from, and its score. See `rounds`.
    """

    dag: Dag
    score: float
    path: tuple[Step, ...]
    strengths: Mapping[Arc, float]
    method: str
    interrupted: bool
    table: Source = field(repr=False)
    prior: Prior | None = field(default=None, repr=False)
    converged: bool = True
    schedule: str = SCHEDULE
    theta: Array | None = field(default=None, repr=False)
    trials: Mapping[Trial, float] | None = None
    structure_prior: str = "uniform"
    log_structure_prior: float = 0.0
    checked: tuple[int, int] | None = None
    noted: tuple[Round, ...] | None = field(default=None, repr=False)
    first: tuple[Structure, float] | None = field(default=None, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # What is fitted when first asked for is fitted now, as a pickle leaves the rows behind.
        if not (self.keeps_rows() or isinstance(self.table, Absent)):
            _ = self.network, self.rounds
        return left_behind(self.__dict__)

    @property
    def doubts(self) -> str:
        """What is doubtful about the columns, in a line; see `Table.doubts`."""
        return str(getattr(self.table, "doubts", ""))

    @cached_property
    def network(self) -> Network:
        """The graph with its parameters: where EM climbed to, or else fitted (MAP) when first asked for."""
        if self.theta is not None:
            return Network(self.dag, self.theta)
        return fit(self.dag, self.table, prior=self.prior).network

    @cached_property
    def rounds(self) -> tuple[Round, ...]:
        """The initial graph, and the graph after each search, with their scores."""
        if self.noted is not None or self.first is None:
            return self.noted or ()
        from lacunary.structure.walk import dag_of  # which notes steps

        structure, score = self.first
        dag = dag_of(self.dag.schema, structure)
        here = fit(dag, self.table, prior=self.prior).network.log_likelihood(self.table)
        there = self.network.log_likelihood(self.table)
        arcs, moves, changed = self.dag.arcs, len(self.path), set(dag.arcs) != set(self.dag.arcs)
        return (
            Round(str(dag), len(dag.arcs), 0, None, score, here, True, False),
            Round(str(self.dag), len(arcs), moves, self.score, self.score, there, changed, False),
        )

    def page(self, path: str | PathLike[str] | None = None, *, title: str = "What depends on what") -> str:
        """Return a page: the graph drawn, its arcs, the path of the search; written if a path is given."""
        return page_of("search", path, self, title=title)

    @property
    def chosen(self) -> dict[str, int]:
        """The states of each hidden variable that was tried in the choice that was made."""
        states = {variable.name: variable.size for variable in self.dag.schema}
        return {name: states.get(name, 1) for trial in self.trials or () for name, _ in trial}

    def _repr_html_(self) -> str:
        return str(borrow("shown in a notebook")(self))

    def drawing(self, *, title: str = "The graph that was found") -> Any:
        """Return the graph as a drawing, strong arcs thicker; see `Dag.drawing`."""
        return self.dag.drawing(self.strengths, title=title)

    def __str__(self) -> str:
        arcs = sorted(self.strengths.items(), key=lambda item: -item[1])
        width = max((len(f"{tail} -> {head}") for (tail, head), _ in arcs), default=0)
        lines = [f"{f'{tail} -> {head}':{width}}  {lost:10.2f}" for (tail, head), lost in arcs]
        state = ", interrupted" if self.interrupted else ""
        known = self.structure_prior != "uniform"
        prior = f", log prior of the graph {self.log_structure_prior:.2f}" if known else ""
        return "\n".join(
            [
                f"{counted(len(self.dag.names), 'variable')}, {counted(len(arcs), 'arc')}; "
                f"score {self.score:.4f} nats{prior} "
                f"({self.method}, {counted(len(self.path), 'step')}{state})",
                *(["arcs, and what the score loses without each:"] if arcs else []),
                *lines,
                *(
                    []
                    if self.prior is None
                    else [said_priors(said_prior(self.prior, self.dag.schema), self.structure_prior)]
                ),
                *([f"note: {self.doubts}"] if self.doubts else []),
            ]
        )

    __repr__ = __str__


class StructuralResult(SearchResult):
    """What `search` returns, with holes and without; a `SearchResult` by the name of structural EM."""
