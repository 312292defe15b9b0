"""`identify`: an effect as a formula of what is observed, in words and numbers, or the proof that none is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunary.causal.adjustment import adjustment, as_names
from lacunary.causal.estimand import Factor, Formula, Sum, Term, product
from lacunary.causal.identify import Hedge, NoFormulaError, conditional_formula
from lacunary.causal.projection import Names, hidden_in, latent_projection
from lacunary.errors import GraphError, ParameterError, SchemaError
from lacunary.family.distribution import Distribution
from lacunary.infer.findings import Findings, Given
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.infer.answers import Answers

__all__ = ["Identification", "identify"]

POSITIVITY = 1e-9
"""How far what is undefined may move an answer, by rounding, before it counts as bearing on it."""


@dataclass(frozen=True)
class Identification:
    """Whether p(outcome | do, given) can be told from what is observed, and by which formula.

    Attributes
    ----------
    outcome, do, given
        The variables.
    formula
        The estimand: sums, products and ratios of observed probabilities; ``str`` and ``.latex`` write it.
        None if there is none.
    how
        In words: by which columns to adjust, through which the effect goes, or that neither will do.
    hedge
        If there is no formula, why there cannot be one.
    """

    outcome: tuple[str, ...]
    do: tuple[str, ...]
    given: tuple[str, ...]
    formula: Formula | None
    how: str
    hedge: Hedge | None = None

    @property
    def identified(self) -> bool:
        """Whether there is a formula."""
        return self.formula is not None

    def __str__(self) -> str:
        asked = f"P({', '.join(self.outcome)} | do({', '.join(self.do)})"
        asked += (f", {', '.join(self.given)})") if self.given else ")"
        if self.formula is None:
            return f"{asked} cannot be told from what is observed\n  {self.hedge}"
        return f"{asked} = {self.formula}\n  {self.how}"

    __repr__ = __str__

    def evaluate(self, model: Answers, do: Given, given: Given | None = None) -> Distribution:
        """Return the distribution of the outcome by the formula, from observed probabilities alone.

        ``model`` is any that answers for the observed variables, with or without the hidden ones; only joint
        probabilities of observed ones are asked of it. Variables must be discrete.
        """
        if self.formula is None:
            raise ParameterError(f"there is no formula to evaluate: {self.hedge}")
        self._check(do, given)
        schema = model.dag.schema
        if any(not schema[name].discrete for name in {*self.formula.free, *self.outcome}):
            raise SchemaError(
                "the formula is evaluated for discrete variables; a network answers query(..., do=...) for "
                "continuous ones by its own arcs"
            )
        found = self._at(model, {**do, **(given or {})}, 0.0)
        other = self._at(model, {**do, **(given or {})}, 0.5)
        if not np.allclose(found, other, rtol=0, atol=POSITIVITY):
            raise ParameterError(
                "the formula needs probabilities given configurations that never occur (no positivity): what "
                f"{', '.join(self.do)} would do there cannot be told from what is observed"
            )
        return Distribution(tuple(schema[name] for name in self.outcome), found)

    def _check(self, do: Given, given: Given | None) -> None:
        for words, names, said in (("do", self.do, do), ("given", self.given, given or {})):
            if set(said) != set(names):
                raise ParameterError(
                    f"{words} must say a state of {', '.join(names) or 'nothing'}, as when it was identified"
                )

    def _at(self, model: Answers, states: dict[str, Any], undefined: float) -> Array:
        """Return the probabilities of the outcome at what is set and given."""
        assert self.formula is not None
        schema = model.dag.schema
        asked = Asked(model)
        found = self.formula.evaluate(asked, undefined)
        said = {name: state for name, state in states.items() if name in found.names}
        findings = Findings.of(schema, said)
        known = {name: findings.states[schema.index(name)] for name in said}
        # What else the formula names makes no difference where it is defined: the likeliest state will do.
        for name in set(found.names) - set(known) - set(self.outcome):
            known[name] = int(np.argmax(asked((name,))))
        at = tuple(known.get(name, slice(None)) for name in found.names)
        left = Factor(tuple(name for name in found.names if name not in known), found.numbers[at])
        sizes = [schema[name].size for name in self.outcome]
        return np.array(np.broadcast_to(left.over(self.outcome), sizes))


class Asked:
    """Joint probabilities of observed variables, each asked for once."""

    def __init__(self, model: Answers) -> None:
        self.model = model
        self.known: dict[frozenset[str], tuple[tuple[str, ...], Array]] = {}

    def __call__(self, names: tuple[str, ...]) -> Array:
        """Return the joint probabilities, an axis for each name."""
        key = frozenset(names)
        if key not in self.known:
            self.known[key] = (names, self.model.query(*names).probabilities)
        order, numbers = self.known[key]
        return np.transpose(numbers, [order.index(name) for name in names])


def identify(
    dag: Dag,
    outcome: str | Iterable[str],
    do: str | Iterable[str],
    given: str | Iterable[str] = (),
    *,
    hidden: Iterable[str] = (),
) -> Identification:
    """Return how the effect of setting variables can be told from what is observed, or why it cannot.

    The graph's arcs are taken to lead from causes to effects, and every common cause to be in it, perhaps
    hidden. The answer is complete: if there is no formula of observed probabilities, none exists, and the
    hedge proves it.

    Parameters
    ----------
    dag
        The graph.
    outcome, do, given
        What is asked about, what is set, and what is seen afterwards: a name or several each.
    hidden
        Variables that are not observed, beside those that the schema calls hidden.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.identify(lac.dag("u -> x y; x -> m -> y", hidden=["u"]), "y", do="x")
    P(y | do(x)) = Σ_{m} P(m | x) Σ_{x'} P(y | x', m) P(x')
      front door: all of the effect goes through m
    >>> lac.identify(lac.dag("u -> x y; x -> y", hidden=["u"]), "y", do="x").identified
    False
    """
    y, x, z = as_names(dag, outcome), as_names(dag, do), as_names(dag, given)
    if not y or not x or y & x or y & z or x & z:
        raise GraphError(
            "name an outcome and what is set; no variable may be in two of outcome, do and given"
        )
    unseen = hidden_in(dag, hidden, y | x | z)
    first, second, third = (tuple(n for n in dag.names if n in names) for names in (y, x, z))
    try:
        formula, how = _formula(dag, y, x, z, unseen)
    except NoFormulaError as no:
        return Identification(first, second, third, None, "", no.hedge)
    return Identification(first, second, third, formula, how)


def _formula(dag: Dag, y: Names, x: Names, z: Names, unseen: Names) -> tuple[Formula, str]:
    """Return the formula that reads best, and what it does in words."""
    if not z:
        found = adjustment(dag, x, y, hidden=unseen, most=50)
        order = {name: tuple(n for n in dag.names if n in names) for name, names in (("y", y), ("x", x))}
        if not found.effect:
            return Term(order["y"]), f"no arcs lead from {', '.join(order['x'])}: setting it changes nothing"
        if found.back_door:
            return _adjusted(order["y"], order["x"], found.back_door[0])
        if found.front_door:
            return _through(order["y"], order["x"], found.front_door[0])
    graph = latent_projection(dag, unseen)
    return conditional_formula(y, x, z, graph), "by the general algorithm (ID)"


def _adjusted(y: tuple[str, ...], x: tuple[str, ...], z: tuple[str, ...]) -> tuple[Formula, str]:
    if not z:
        return Term(y, x), "nothing needs to be adjusted for"
    return Sum(z, product([Term(y, (*x, *z)), Term(z)])), f"back door: adjust for {', '.join(z)}"


def _through(y: tuple[str, ...], x: tuple[str, ...], m: tuple[str, ...]) -> tuple[Formula, str]:
    inner = Sum(x, product([Term(y, (*x, *m)), Term(x)]))
    return Sum(m, product([Term(m, x), inner])), f"front door: all of the effect goes through {', '.join(m)}"
