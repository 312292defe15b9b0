"""What setting variables would do, over all graphs that data cannot tell from one another.

Graphs of one equivalence class allow the same distributions but differ about causes: a pair that one joins by
an arc one way another joins the other way. A learned graph stands for its class, and so what it says of an
intervention is one answer of several. They differ only by the parents of what is set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import prod

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.wording import counted
from lacunary.errors import TooWideError
from lacunary.family.distribution import Answer, Distribution
from lacunary.family.joint import JointMixture
from lacunary.infer.findings import Given
from lacunary.infer.intervene import check_do
from lacunary.infer.network import Network
from lacunary.infer.refactor import refactored
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag
from lacunary.model.equivalence import cpdag, equivalent

__all__ = ["ClassAnswer", "ClassAnswers", "query_class"]

TRIALS = 20_000
"""How many sets of parents of what is set are tried at most."""

SAME = 1e-9
"""Answers nearer to each other than this are one: rounding of the other factoring."""


@dataclass(frozen=True)
class ClassAnswer:
    """One answer, and the parents of what is set in the graphs that give it."""

    answer: Answer
    parents: tuple[dict[str, tuple[str, ...]], ...]


@dataclass(frozen=True)
class ClassAnswers:
    """All answers to a question about an intervention that graphs of one equivalence class give.

    Attributes
    ----------
    answers
        The different answers, that of the network's own graph first.
    graphs
        How many different sets of parents what is set can have.
    """

    answers: tuple[ClassAnswer, ...]
    graphs: int

    @property
    def low(self) -> Array:
        """The least probability of each state, or the least mean; with covariances, where both."""
        return np.asarray(np.min([_numbers(one.answer) for one in self.answers], axis=0))

    @property
    def high(self) -> Array:
        """The greatest probability of each state, or the greatest mean; with covariances, where both."""
        return np.asarray(np.max([_numbers(one.answer) for one in self.answers], axis=0))

    def __str__(self) -> str:
        first = self.answers[0].answer
        if len(self.answers) == 1:
            said = "all graphs of the equivalence class give this answer"
            return f"{first}\n{said}"
        said = (
            f"data cannot tell these graphs apart: {counted(len(self.answers), 'answer')} by "
            f"{counted(self.graphs, 'set')} of causes of what is set"
        )
        if isinstance(first, JointMixture):
            return "\n".join([*(str(one.answer) for one in self.answers), said])
        if not isinstance(first, Distribution):
            return f"mean between {float(self.low):.6g} and {float(self.high):.6g}\n{said}"
        names = ", ".join(v.name for v in first.variables)
        labels = [str(state) for state in first.to_dict()]
        width = max(map(len, labels))
        ranges = zip(labels, self.low.ravel(), self.high.ravel(), strict=True)
        lines = [f"  {label:<{width}}  {low:.4f} to {high:.4f}" for label, low, high in ranges]
        return "\n".join([f"p({names})", *lines, said])

    __repr__ = __str__


@budgeted
def query_class(
    network: Network,
    *targets: str,
    do: Given,
    given: Given | None = None,
    keep: Sequence[tuple[str, str]] = (),
) -> ClassAnswers:
    """Return what all graphs equivalent to a network's own say would happen if variables were set.

    Of two variables of different kinds the discrete one is always the parent, as the network cannot have it
    otherwise. ``keep`` names arcs (from, to) of the graph that are known to be causes.

    >>> import lacunary as lac
    >>> query_class(lac.asia(), "bronc", do={"smoke": "yes"})
    p(bronc)
      yes  0.4500 to 0.6000
      no   0.4000 to 0.5500
    data cannot tell these graphs apart: 2 answers by 3 sets of causes of what is set
    """
    check_do(network.dag.schema, do, given)
    found: list[tuple[Answer, list[dict[str, tuple[str, ...]]]]] = []
    graphs = 0
    for dag in _members(network.dag, list(do), keep):
        graphs += 1
        answer = refactored(network, dag).query(*targets, given=given, do=do)
        parents = {name: dag.parents_of(name) for name in do}
        for known, sets in found:
            if np.allclose(_numbers(known), _numbers(answer), rtol=0, atol=SAME):
                sets.append(parents)
                break
        else:
            found.append((answer, [parents]))
    return ClassAnswers(tuple(ClassAnswer(answer, tuple(sets)) for answer, sets in found), graphs)


def _numbers(answer: Answer) -> Array:
    if isinstance(answer, JointMixture):
        parts = [answer.probabilities, answer.mean, answer.covariance][not answer.discrete :]
        return np.concatenate([part.ravel() for part in parts])
    return np.asarray(answer.probabilities if isinstance(answer, Distribution) else answer.mean)


def _members(dag: Dag, names: Sequence[str], keep: Sequence[tuple[str, str]]) -> Iterator[Dag]:
    """Yield one equivalent graph for each way the named variables can have parents, its own first."""
    yield dag
    same = cpdag(dag)
    kinds = {v.name: v.discrete for v in dag.schema}
    fixed = set(same.compelled) | set(keep) | {arc for arc in dag.arcs if kinds[arc[0]] and not kinds[arc[1]]}
    open_ = {pair for pair in same.reversible if not any(set(arc) == pair for arc in fixed)}
    around = {name: sorted(next(iter(pair - {name})) for pair in open_ if name in pair) for name in names}
    trials = prod(2 ** len(others) for others in around.values())
    if trials > TRIALS:
        raise TooWideError(f"{', '.join(names)} can have {trials:,} sets of parents: set fewer")
    seen = {_parents(dag, names)}
    for chosen in product(*(_subsets(around[name]) for name in names)):
        arcs = set(fixed)
        for name, above in zip(names, chosen, strict=True):
            arcs |= {(other, name) if other in above else (name, other) for other in around[name]}
        if any((head, tail) in arcs for tail, head in arcs):
            continue  # two of the variables disagree about their pair
        whole = _extended(dag, arcs, {pair for pair in open_ if not pair & set(names)})
        if whole is not None and equivalent(whole, dag) and _parents(whole, names) not in seen:
            seen.add(_parents(whole, names))
            yield whole


def _parents(dag: Dag, names: Sequence[str]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(dag.parents_of(name)) for name in names)


def _subsets(names: Sequence[str]) -> list[tuple[str, ...]]:
    return [chosen for size in range(len(names) + 1) for chosen in combinations(names, size)]


def _extended(dag: Dag, arcs: set[tuple[str, str]], open_: set[frozenset[str]]) -> Dag | None:
    """Return a graph with these arcs and the open pairs directed, no collider added; None if there is none.

    Dor and Tarsi (1992): a variable that can be last takes its open pairs as arcs into it, and goes.
    """
    left, joined, done = list(dag.names), set(open_), set(arcs)
    inside = set(arcs)
    while left:
        last = next((name for name in left if _can_be_last(name, inside, joined)), None)
        if last is None:
            return None
        done |= {(next(iter(pair - {last})), last) for pair in joined if last in pair}
        joined = {pair for pair in joined if last not in pair}
        inside = {arc for arc in inside if last not in arc}
        left.remove(last)
    return Dag.from_arcs(dag.schema, sorted(done, key=lambda arc: dag.names.index(arc[0])), family=dag.family)


def _can_be_last(name: str, arcs: set[tuple[str, str]], joined: set[frozenset[str]]) -> bool:
    """Whether no arc leaves a variable and its open neighbours are joined to all that are joined to it."""
    if any(tail == name for tail, _ in arcs):
        return False
    mine = {next(iter(pair - {name})) for pair in joined if name in pair}
    around = mine | {tail for tail, head in arcs if head == name}
    return all(
        frozenset((one, two)) in joined or (one, two) in arcs or (two, one) in arcs
        for one in mine
        for two in around - {one}
    )
