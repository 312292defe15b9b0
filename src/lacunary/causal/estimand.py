"""Formulas of observed probabilities: sums, products and ratios of p(a | b), in words and in numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lacunary.data import wording
from lacunary.maths.arrays import Array

__all__ = ["Factor", "Formula", "Product", "Ratio", "Sum", "Term", "product"]

Ask = Callable[[tuple[str, ...]], Array]
"""What gives the joint probabilities of some variables, an axis for each."""


@dataclass(frozen=True)
class Factor:
    """Numbers for all configurations of some variables, an axis for each."""

    names: tuple[str, ...]
    numbers: Array

    def over(self, names: Sequence[str]) -> Array:
        """Return the numbers with these axes in this order, of length one where it does not depend on one."""
        here = [self.names.index(name) for name in names if name in self.names]
        turned = np.transpose(self.numbers, here)
        sizes = iter(turned.shape)
        return turned.reshape([next(sizes) if name in self.names else 1 for name in names])


class Formula:
    """A formula of observed probabilities."""

    @property
    def free(self) -> frozenset[str]:
        """The variables whose values it depends on."""
        raise NotImplementedError

    def evaluate(self, ask: Ask, undefined: float = 0.0) -> Factor:
        """Return its numbers; ``undefined`` stands for every p(a | b) whose b has probability zero."""
        raise NotImplementedError

    def written(self, primes: Mapping[str, int], latex: bool = False) -> str:
        """Return it as text; a variable that is summed over where its name is taken has so many primes."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.written(dict.fromkeys(self.free, 0))

    @property
    def latex(self) -> str:
        """The formula in LaTeX."""
        return self.written(dict.fromkeys(self.free, 0), latex=True)


@dataclass(frozen=True)
class Term(Formula):
    """p(targets | given), as it can be observed."""

    targets: tuple[str, ...]
    given: tuple[str, ...] = ()

    @property
    def free(self) -> frozenset[str]:
        """The variables whose values it depends on."""
        return frozenset(self.targets) | frozenset(self.given)

    def evaluate(self, ask: Ask, undefined: float = 0.0) -> Factor:
        """Return its numbers."""
        names = (*self.targets, *self.given)
        joint = ask(names)
        if not self.given:
            return Factor(names, joint)
        total = joint.sum(axis=tuple(range(len(self.targets))), keepdims=True)
        return Factor(names, _quotient(joint, total, undefined))

    def written(self, primes: Mapping[str, int], latex: bool = False) -> str:
        """Return it as text."""
        targets = ", ".join(_primed(name, primes, latex) for name in self.targets)
        given = ", ".join(_primed(name, primes, latex) for name in self.given)
        bar = r" \mid " if latex else " | "
        return f"P({targets}{bar}{given})" if given else f"P({targets})"


@dataclass(frozen=True)
class Product(Formula):
    """A product."""

    factors: tuple[Formula, ...]

    @property
    def free(self) -> frozenset[str]:
        """The variables whose values it depends on."""
        return frozenset().union(*(factor.free for factor in self.factors))

    def evaluate(self, ask: Ask, undefined: float = 0.0) -> Factor:
        """Return its numbers."""
        return contracted([factor.evaluate(ask, undefined) for factor in self.factors], ())

    def written(self, primes: Mapping[str, int], latex: bool = False) -> str:
        """Return it as text."""
        if not self.factors:
            return "1"
        texts = []
        for place, factor in enumerate(self.factors):
            text = factor.written(primes, latex)
            ends = isinstance(factor, Sum) and place < len(self.factors) - 1
            texts.append(f"[{text}]" if ends else text)
        return " ".join(texts)


@dataclass(frozen=True)
class Sum(Formula):
    """A sum over all states of some variables."""

    over: tuple[str, ...]
    body: Formula

    @property
    def free(self) -> frozenset[str]:
        """The variables whose values it depends on."""
        return self.body.free - set(self.over)

    def evaluate(self, ask: Ask, undefined: float = 0.0) -> Factor:
        """Return its numbers."""
        parts = self.body.factors if isinstance(self.body, Product) else (self.body,)
        return contracted([part.evaluate(ask, undefined) for part in parts], self.over)

    def written(self, primes: Mapping[str, int], latex: bool = False) -> str:
        """Return it as text."""
        inner = {**primes, **{name: primes[name] + 1 if name in primes else 0 for name in self.over}}
        under = ", ".join(_primed(name, inner, latex) for name in self.over)
        sign = rf"\sum_{{{under}}} " if latex else f"Σ_{{{under}}} "
        return sign + self.body.written(inner, latex)


@dataclass(frozen=True)
class Ratio(Formula):
    """A ratio."""

    above: Formula
    below: Formula

    @property
    def free(self) -> frozenset[str]:
        """The variables whose values it depends on."""
        return self.above.free | self.below.free

    def evaluate(self, ask: Ask, undefined: float = 0.0) -> Factor:
        """Return its numbers."""
        above, below = self.above.evaluate(ask, undefined), self.below.evaluate(ask, undefined)
        names = (*above.names, *(name for name in below.names if name not in above.names))
        return Factor(names, _quotient(above.over(names), below.over(names), undefined))

    def written(self, primes: Mapping[str, int], latex: bool = False) -> str:
        """Return it as text."""
        above, below = self.above.written(primes, latex), self.below.written(primes, latex)
        return rf"\frac{{{above}}}{{{below}}}" if latex else f"({above}) / ({below})"


def product(factors: Iterable[Formula]) -> Formula:
    """Return a product, the products among its factors taken apart; a single factor as it is."""
    flat: list[Formula] = []
    for factor in factors:
        flat += factor.factors if isinstance(factor, Product) else (factor,)
    return flat[0] if len(flat) == 1 else Product(tuple(flat))


def contracted(factors: Sequence[Factor], over: Sequence[str]) -> Factor:
    """Return the product of factors, summed over some variables, by whatever order is cheapest.

    A variable that no factor depends on is not summed over: formulas never sum over one.
    """
    names = list(dict.fromkeys(name for factor in factors for name in factor.names))
    place = {name: k for k, name in enumerate(names)}
    kept = [name for name in names if name not in over]
    arguments: list[Any] = []
    for factor in factors:
        arguments += [factor.numbers, [place[name] for name in factor.names]]
    if not arguments:
        return Factor((), np.ones(()))
    found = np.einsum(*arguments, [place[name] for name in kept], optimize="greedy")
    return Factor(tuple(kept), np.asarray(found))


def _quotient(above: Array, below: Array, undefined: float) -> Array:
    """Return above / below, and ``undefined`` where that is 0 / 0."""
    above, below = np.broadcast_arrays(above, below)
    return np.asarray(np.divide(above, below, out=np.full(above.shape, undefined), where=below > 0))


def _primed(name: str, primes: Mapping[str, int], latex: bool) -> str:
    many = primes.get(name, 0)
    plain = name.isascii() and name.replace("_", "").isalnum()
    upright = rf"\mathrm{{{name}}}".replace("_", r"\_") if plain else rf"\textrm{{{wording.latex(name)}}}"
    shown = upright if latex and not (plain and len(name) == 1) else name
    return shown + "'" * many
