"""Whether an effect can be told from what is observed, and how: the complete algorithms ID and IDC.

Shpitser and Pearl, *Identification of joint interventional distributions in recursive semi-Markovian causal
models* (2006) and *Identification of conditional interventional distributions* (2006). Numbers in comments
are the lines of ID there. If no formula of observed probabilities gives the effect, a *hedge* proves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lacunary.causal.estimand import Formula, Ratio, Sum, Term, product
from lacunary.causal.projection import Names, Projection

__all__ = ["Hedge", "NoFormulaError", "conditional_formula", "interventional_formula"]


@dataclass(frozen=True)
class Hedge:
    """Why an effect cannot be told from what is observed: two sets of variables, one within the other.

    Hidden causes join all variables of each set, and every variable of either has a path of arcs within it
    to the same roots, from which a path leads to the outcome past what is set. Only the larger one holds
    something that is set. There are then two models that agree about all that is observed and disagree about
    the effect (Shpitser and Pearl 2006, theorem 4).

    Attributes
    ----------
    larger, smaller
        The two sets, in the graph's order.
    roots
        Those of ``smaller`` that have no child in it.
    set
        Those of ``larger`` that are set.
    """

    larger: tuple[str, ...]
    smaller: tuple[str, ...]
    roots: tuple[str, ...]
    set: tuple[str, ...]

    def __str__(self) -> str:
        def braces(names: Sequence[str]) -> str:
            return "{" + ", ".join(names) + "}"

        return (
            f"hedge: hidden causes join all of {braces(self.larger)}, which holds {braces(self.set)}, and "
            f"all of {braces(self.smaller)}, which does not; both end in {braces(self.roots)}, which leads "
            "to the outcome. Two models that agree in all that is observed can differ in this effect."
        )


class NoFormulaError(Exception):
    """There is no formula; carries the hedge."""

    def __init__(self, hedge: Hedge) -> None:
        super().__init__(str(hedge))
        self.hedge = hedge


@dataclass(frozen=True)
class Chained:
    """A distribution as a product of p(v | those before it), variables in an order, parents first.

    Attributes
    ----------
    order
        The variables.
    factors
        The conditional of each given those before it in ``order``; it may also depend on what is set. None
        for the observed distribution, whose conditionals are read off the graph.
    """

    order: tuple[str, ...]
    factors: tuple[Formula, ...] | None = None

    def conditional(self, graph: Projection, place: int) -> Formula:
        """Return p(v | all before it), of the variable at a place."""
        if self.factors is not None:
            return self.factors[place]
        return Term((self.order[place],), graph.tells(self.order[place], self.order[:place]))

    def marginal(self, names: Names) -> Formula:
        """Return the distribution of some variables."""
        wanted = tuple(name for name in self.order if name in names)
        if self.factors is None:
            return Term(wanted)
        return _summed(_needed(self, names), names)

    def restricted(self, names: Names) -> Chained:
        """Return the distribution of the variables that are left once those below them are gone."""
        order = tuple(name for name in self.order if name in names)
        if self.factors is None:
            return Chained(order)
        upto = self.order[: len(order)]
        if upto == order:  # only the last are summed out, whose factors add up to one
            return Chained(order, self.factors[: len(order)])
        whole = _summed(_needed(self, names), names)
        heads = [_summed_out(whole, order[place:]) for place in range(len(order) + 1)]
        return Chained(order, tuple(Ratio(heads[k + 1], heads[k]) for k in range(len(order))))


def _needed(chained: Chained, names: Names) -> list[tuple[str, Formula]]:
    """Return the variables and factors up to the last of some variables."""
    assert chained.factors is not None
    last = max(place for place, name in enumerate(chained.order) if name in names)
    return list(zip(chained.order, chained.factors, strict=True))[: last + 1]


def _summed(parts: list[tuple[str, Formula]], names: Names) -> Formula:
    """Return the product of factors, summed over all variables but some."""
    return _summed_out(product(f for _, f in parts), [name for name, _ in parts if name not in names])


def _summed_out(formula: Formula, names: Sequence[str]) -> Formula:
    """Return a formula summed over variables; one over none is itself, and sums in sums are one."""
    over = tuple(name for name in names if name in formula.free)
    if not over:
        return formula
    if isinstance(formula, Sum):
        return Sum((*formula.over, *over), formula.body)
    return Sum(over, formula)


def interventional_formula(outcome: Names, do: Names, graph: Projection) -> Formula:
    """Return p(outcome | do) as a formula of observed probabilities; `NoFormulaError` if there is none."""
    return _identified(outcome, do, Chained(graph.order), graph)


def _identified(y: Names, x: Names, p: Chained, graph: Projection) -> Formula:
    if not x:  # 1
        return p.marginal(y)
    above = graph.ancestors(y)
    if above != graph.nodes:  # 2
        return _identified(y, x & above, p.restricted(above), graph.within(above))
    idle = (graph.nodes - x) - graph.ancestors(y, cut=x)
    if idle:  # 3
        return _identified(y, x | idle, p, graph)
    parts = graph.within(graph.nodes - x).districts()
    if len(parts) > 1:  # 4
        formulas = [_identified(part, graph.nodes - part, p, graph) for part in parts]
        return _summed_out(product(formulas), [v for v in graph.order if v not in y | x])
    [part] = parts
    whole = graph.districts()
    if len(whole) == 1:  # 5
        raise NoFormulaError(_hedge(graph, part, x))
    home = next(district for district in whole if part <= district)
    factors = {name: p.conditional(graph, place) for place, name in enumerate(p.order) if name in home}
    if home == part:  # 6
        return _summed_out(product(factors.values()), [v for v in graph.order if v in part - y])
    order = tuple(name for name in p.order if name in home)  # 7
    return _identified(y, x & home, Chained(order, tuple(factors[v] for v in order)), graph.within(home))


def _hedge(graph: Projection, part: Names, x: Names) -> Hedge:
    inside = graph.within(part)
    tails = {parent for name in inside.order for parent in inside.parents[name]}
    ordered = [tuple(name for name in graph.order if name in names) for names in (graph.nodes, part, x)]
    roots = tuple(name for name in inside.order if name not in tails)
    return Hedge(ordered[0], ordered[1], roots, ordered[2])


def conditional_formula(outcome: Names, do: Names, given: Names, graph: Projection) -> Formula:
    """Return p(outcome | do, given) as a formula; `NoFormulaError` if there is none (IDC)."""
    for name in (name for name in graph.order if name in given):
        rest = given - {name}
        if _separated(graph, outcome, name, do | rest, into=do, out_of=frozenset({name})):
            return conditional_formula(outcome, do | {name}, rest, graph)
    joint = interventional_formula(outcome | given, do, graph)
    if not given:
        return joint
    return Ratio(joint, _summed_out(joint, [name for name in graph.order if name in outcome]))


def _separated(
    graph: Projection, outcome: Names, name: str, given: Names, into: Names, out_of: Names
) -> bool:
    """Whether outcome and a variable are m-separated once arcs into some and out of others are cut.

    Walks along the paths that ``given`` leaves open; a step knows whether it arrives at an arrowhead.
    """
    parents = {v: graph.parents[v] - out_of if v not in into else frozenset() for v in graph.order}
    joined = {v: graph.confounded[v] - into if v not in into else frozenset[str]() for v in graph.order}
    children: dict[str, set[str]] = {v: set() for v in graph.order}
    for v in graph.order:
        for p in parents[v]:
            children[p].add(v)
    cut = Projection(graph.order, {v: frozenset(ps) for v, ps in parents.items()}, joined)
    opened = cut.ancestors(given)
    visits, waiting = set[tuple[str, bool]](), [(name, False)]
    while waiting:
        node, at_head = waiting.pop()
        if (node, at_head) in visits:
            continue
        visits.add((node, at_head))
        if node in outcome:
            return False
        seen = node in given and node != name
        if not seen:
            waiting += [(child, True) for child in children[node]]
        if (not at_head and not seen) or (at_head and node in opened):
            waiting += [(parent, False) for parent in parents[node]]
            waiting += [(other, True) for other in joined[node]]
    return True
