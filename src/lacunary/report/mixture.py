"""What there is to say of a mixture: how many components, what each is like, and where they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from scipy.special import softmax

from lacunary.data.schema import Label, Schema, Variable
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.data.wording import visible
from lacunary.infer.mixture import Mixture
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array
from lacunary.mixture.found import MixtureFit, Trial
from lacunary.model.arrows import Arc
from lacunary.report.words import minus

__all__ = [
    "Feature",
    "Link",
    "Tried",
    "features",
    "links",
    "met_once",
    "names_of",
    "sentences",
    "strengths",
    "tried",
]  # fmt: skip

SLIGHT = 0.01
"""A number of components whose probability is smaller is not spoken of."""

SMALL = 12
"""The most numbers of one family that are written out."""


@dataclass(frozen=True)
class Tried:
    """One number of components: the best of its starts.

    Attributes
    ----------
    asked, components
        How many it began and ended with; components that lose all rows are taken out.
    starts, met
        How many starts were followed to the end, and how many of them met at the top. A number that was met
        once may be short of its best, and with it the probabilities of all.
    parameters
        Free parameters, those of the weights and learned bounds among them.
    estimate
        Cheeseman\N{EN DASH}Stutz, in nats.
    probability
        Of ending with so many components, among the numbers that were met, each as probable as the others
        beforehand; none where another trial with as many is better.
    """

    asked: int
    components: int
    starts: int
    parameters: int
    estimate: float
    probability: float | None
    chosen: bool
    met: int = 1


@dataclass(frozen=True)
class Link:
    """Two variables that an arc joins, whichever way, in some components."""

    pair: Arc
    present: tuple[bool, ...]


@dataclass(frozen=True)
class Feature:
    """A mean, or the chance of a state, in each component and overall.

    Attributes
    ----------
    variable, state
        What it is about; there is no state where it is a mean.
    values, sds
        In each component; (components,).
    overall, spread
        In the whole mixture: mean and standard deviation, or chance and √(p(1 − p)).
    """

    variable: str
    state: Label | None
    values: Array
    sds: Array
    overall: float
    spread: float

    @property
    def name(self) -> str:
        """The variable, and the state if it has one."""
        return self.variable if self.state is None else f"{self.variable}: {self.state}"

    def said(self, value: float) -> str:
        """Return a value with the digits that its spread leaves meaning to."""
        if self.state is not None:
            return f"{100 * value:.0f}%"
        digits = 1 - int(np.floor(np.log10(self.spread))) if 0 < self.spread < np.inf else 2
        return minus(value, min(max(digits, 0), 12))

    @property
    def apart(self) -> Array:
        """How far each component is from the whole, in standard deviations of the whole; (components,)."""
        return (self.values - self.overall) / self.spread if self.spread > 0 else 0 * self.values


def tried(found: MixtureFit) -> tuple[Tried, ...]:
    """Return the numbers of components that were tried, in order."""
    groups: dict[int, list[Trial]] = {}
    for trial in found.path:
        groups.setdefault(trial.asked, []).append(trial)
    best = [max(groups[asked], key=attrgetter("value")) for asked in sorted(groups)]
    left = {
        trial.components: max((t for t in best if t.components == trial.components), key=attrgetter("value"))
        for trial in best
    }
    chances = dict(zip(map(id, left.values()), softmax([t.value for t in left.values()]), strict=True))
    return tuple(
        Tried(
            trial.asked,
            trial.components,
            found.stability(trial.asked).starts,
            trial.estimate.dimension or trial.mixture.dimension,
            trial.estimate.value,
            float(chances[id(trial)]) if id(trial) in chances else None,
            trial is found.chosen,
            found.stability(trial.asked).met,
        )
        for trial in best
    )


def met_once(numbers: Sequence[Tried]) -> str:
    """Return a sentence where probabilities rest on a number that was met once; nothing if none does."""
    weak = [
        n for n in numbers if n.met == 1 and n.asked > 1 and (n.chosen or (n.probability or 0.0) > SLIGHT)
    ]
    if not weak:
        return ""
    which = " and ".join(str(number.asked) for number in weak)
    return (
        f"With {which} components the best was met by one start alone: there may be a better one, and "
        "probabilities may change; more starts would tell."
    )


def names_of(mixture: Mixture) -> tuple[str, ...]:
    """Return what the components are called: 1, 2, … and noise."""
    numbers = [str(c + 1) for c in range(len(mixture.components))]
    return (*numbers, *(["noise"] if mixture.noise is not None else []))


def strengths(found: MixtureFit) -> tuple[dict[Arc, float], ...]:
    """Return what the evidence of the expected data loses without each arc, by component, in nats.

    Only right after learning: files do not keep the rows. Without them the components have no strengths.
    """
    origin = found.chosen.origin
    if origin is None:
        return tuple({} for _ in found.mixture.components)
    names = found.mixture.schema.names
    completed = origin.learner.expect(origin.model)
    out = []
    for score, structure in zip(origin.learner.scores(completed), origin.structures, strict=True):
        lost = {}
        for child, parents in enumerate(structure):
            whole = score.family(child, parents) if parents else 0.0
            for parent in parents:
                rest = tuple(p for p in parents if p != parent)
                lost[names[parent], names[child]] = float(whole - score.family(child, rest))
        out.append(lost)
    return tuple(out)


def links(mixture: Mixture, *, everywhere: bool = False) -> tuple[Link, ...]:
    """Return pairs joined in some components and not in others; ``everywhere``: all pairs that are joined.

    Directions are left out, as many arcs can be turned round without changing what a graph says.
    """
    order = {name: i for i, name in enumerate(mixture.schema.names)}
    joined = [{frozenset(arc) for arc in component.dag.arcs} for component in mixture.components]
    pairs = sorted(tuple(sorted(pair, key=order.__getitem__)) for pair in frozenset().union(*joined))
    found = (Link((a, b), tuple(frozenset((a, b)) in own for own in joined)) for a, b in pairs)
    return tuple(link for link in found if everywhere or not all(link.present))


def features(mixture: Mixture) -> tuple[Feature, ...]:
    """Return means and chances of all observed variables, those that tell components apart best first."""
    open_row = _open_row(mixture.schema)
    shown = [v.name for v in mixture.schema if not v.hidden]
    marginals = [component.posterior(open_row, shown) for component in mixture.components]
    weights = mixture.weights[: len(mixture.components)]
    weights = weights / weights.sum()
    found: list[Feature] = []
    for variable in mixture.schema:
        if variable.hidden:
            continue
        own: list[Any] = [marginal[variable.name] for marginal in marginals]
        if variable.discrete:
            chances = np.array([chance[0] for chance in own])
            found += _chances(variable.name, variable.states, chances, weights)
        else:
            means = np.array([float(m.mean[0]) for m in own])
            sds = np.array([float(m.sd[0]) for m in own])
            overall = float(weights @ means)
            spread = float(np.sqrt(weights @ (sds**2 + (means - overall) ** 2)))
            found.append(Feature(variable.name, None, means, sds, overall, spread))
    return tuple(sorted(found, key=lambda feature: -float(weights @ feature.apart**2)))


def _chances(name: str, states: Sequence[Label], chances: Array, weights: Array) -> Iterator[Feature]:
    """Yield the chance of each state; of two states only the last, which says it all."""
    for k, state in enumerate(states):
        if len(states) == 2 and k == 0:
            continue
        p = chances[:, k]
        overall = float(weights @ p)
        spread = float(np.sqrt(max(overall * (1 - overall), 0.0)))
        yield Feature(name, state, p, np.sqrt(p * (1 - p)), overall, spread)


def _open_row(schema: Schema) -> Table:
    """Return one row in which nothing is observed."""
    continuous = not all(variable.discrete for variable in schema)
    codes = np.full((1, len(schema)), HOLE, dtype=code_dtype(schema.sizes))
    return Table(schema, codes, np.full((1, len(schema) if continuous else 0), np.nan))


def sentences(network: Network) -> Iterator[str]:
    """Yield a line for each variable: its regressions or its probabilities, or how many there are of them."""
    for i, variable in enumerate(network.dag.schema):
        table = network.table(variable.name)
        given = [p for p in network.dag.parents[i] if network.dag.schema[p].discrete]
        many = int(np.prod(table.shape[:-1]))
        if table.size > SMALL and many > 1:
            what = "distributions" if variable.discrete else "regressions"
            yield f"{variable.name} given {', '.join(network.dag.parents[i])}: {many} {what}"
            continue
        parts = []
        for where in np.ndindex(*table.shape[:-1]):
            record = table[where]
            said = _chance(variable, record) if variable.discrete else network.dag.number(i).told(record)
            states = (f"{p}={network.dag.schema[p].states[k]}" for p, k in zip(given, where, strict=True))
            parts.append(f"{said} if {', '.join(states)}" if given else said)
        yield visible(f"{variable.name}{':' if variable.discrete else ' ='} {'; '.join(parts)}")


def _chance(variable: Variable, chances: Array) -> str:
    return ", ".join(f"{s} {p:.3f}" for s, p in zip(variable.states, chances, strict=True))
