"""The likelihood of a small network written out: a sum of logs of sums of products of parameters.

log p(rows | θ) + Σ pseudo · log θ
    = constant + Σ_k linear_k log θ_k + Σ_r weight_r log Σ_h a_rh Π_k θ_k^power_rhk

with all a, power, weight and linear non-negative. Holes that are independent given the rest of their row
give sums of their own, equal sums are added up, and what all terms of a sum share is taken out of it, so
that few and short sums remain.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from lacunary.data.table import HOLE
from lacunary.errors import TooWideError
from lacunary.infer.rows import Rows
from lacunary.learn.em import Maximize
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.model.dag import Dag
from lacunary.model.graph import merged

__all__ = ["CERTIFICATE", "TERMS", "Events", "LogSums", "write_out"]

CERTIFICATE = "a certificate of the global maximum"
"""For what all rows are needed in one place."""

TERMS = 20_000
"""Ways to fill the holes of all different rows that are written out before a problem is refused."""

NEGLIGIBLE = 1e-13
"""What is left of a coefficient when equal ones are taken from each other, up to rounding."""

Polynomial = dict[tuple[int, ...], float]
"""Coefficients by product: the places of its factors, sorted, repeated for powers."""

Island = tuple[tuple[int, ...], tuple[int, ...]]
"""Families, and the states of all variables, ``HOLE`` where open."""

Key = tuple[tuple[tuple[int, ...], float], ...]
"""A polynomial as something that can be compared: its items, sorted."""


@dataclass(frozen=True, eq=False)
class Events:
    """What was observed, each with its probability: a product of shared factors times one of the sums.

    Attributes
    ----------
    weight
        How often it was observed; (events,).
    offset
        Log of a known factor that is not in the sum; (events,).
    power
        The shared factors; (events, parameters).
    sum
        Which sum, or −1 for none; (events,).
    cell
        Events of the same cell exclude each other: their probabilities sum to at most one. −1 where part
        of the probability is left out, so that this cannot be said; (events,).
    outside
        Counts that belong to no event: fully observed families and pseudo-counts; (parameters,).
    """

    weight: Array
    offset: Array
    power: Array
    sum: Integers
    cell: Integers
    outside: Array

    def within(self, mine: Booleans, rows: Booleans) -> Events:
        """Return what concerns these parameters and sums."""
        number = np.append(np.where(rows, np.cumsum(rows) - 1, -1), -1)
        kept = (number[self.sum] >= 0) | (self.power[:, mine] > 0).any(axis=1)
        split = (self.power[:, ~mine] > 0).any(axis=1) | ((self.sum >= 0) & (number[self.sum] < 0))
        return Events(
            self.weight[kept],
            self.offset[kept],
            self.power[kept][:, mine],
            number[self.sum][kept],
            np.where(split, -1, self.cell)[kept],
            self.outside[mine],
        )


@dataclass(frozen=True, eq=False)
class LogSums:
    """linear · φ + Σ_r weight_r log Σ_h exp(offset_rh + power_rh · φ), where φ = log θ.

    Attributes
    ----------
    places
        Where the parameters stand in the layout; (parameters,).
    group
        Which distribution each parameter belongs to, from zero; (parameters,).
    linear
        Counts outside of the sums; (parameters,).
    weight
        How often each sum occurs; (sums,).
    offset
        Logs of the coefficients, −∞ beyond a sum's last term; (sums, terms).
    power
        How often each parameter is a factor; (sums, terms, parameters).
    events
        The same function as it came from the data, before shared factors were added up in ``linear``.
    """

    places: Integers
    group: Integers
    linear: Array
    weight: Array
    offset: Array
    power: Array
    events: Events

    def parts(self) -> Iterator[LogSums]:
        """Yield the parts that share no distribution and so can be maximised one by one."""
        used = self.power.max(axis=1, initial=0.0) > 0
        together = [{int(g) for g in self.group[row]} for row in used]
        for groups in merged([*together, *({int(g)} for g in np.unique(self.group))]):
            mine = np.isin(self.group, sorted(groups))
            rows = used[:, mine].any(axis=1)
            yield LogSums(
                self.places[mine],
                np.unique(self.group[mine], return_inverse=True)[1].astype(np.int64),
                self.linear[mine],
                self.weight[rows],
                self.offset[rows],
                self.power[rows][:, :, mine],
                self.events.within(mine, rows),
            )


def write_out(prepared: Rows, rule: Maximize, terms: int = TERMS) -> LogSums:
    """Return the objective as a function of the free parameters, without its constants.

    Raises
    ------
    TooWideError
        If the holes of the different rows can be filled in more than ``terms`` ways.
    """
    dag, rows = prepared.dag, prepared.gathered(CERTIFICATE)
    islands: Counter[Island] = Counter()
    for codes, weight in zip(rows.codes.tolist(), rows.weights.tolist(), strict=True):
        for island in _islands(dag, codes) if weight > 0 else ():
            islands[island] += weight
    _check_terms(dag, islands, terms)
    sums: dict[Key, int] = {}
    events = []
    for (families, codes), weight in islands.items():
        polynomial = _collapsed(dag, _polynomial(dag, rule.known, families, codes))
        shared = _shared(polynomial)
        rest = {tuple(sorted((Counter(m) - shared).elements())): a for m, a in polynomial.items()}
        place = sums.setdefault(tuple(sorted(rest.items())), len(sums)) if len(rest) > 1 else -1
        heads = tuple(min(code, 0) if i in families else code for i, code in enumerate(codes))
        offset = 0.0 if place >= 0 else float(np.log(next(iter(rest.values()))))
        events.append(_Event((families, heads), weight, offset, shared, place))
    return _arrays(dag, np.isnan(rule.known), prepared.observed + rule.pseudo, list(sums), events)


@dataclass(frozen=True)
class _Event:
    """An island as observed.

    Which heads are open and what they are conditional on; its weight; the log of its coefficient, or 0
    where that is in the sum; its shared factors; its sum.
    """

    cell: Island
    weight: float
    offset: float
    shared: Counter[int]
    sum: int


def _islands(dag: Dag, codes: Sequence[int]) -> Iterator[Island]:
    """Yield the families that go together in a row, with the states of their members, ``HOLE`` elsewhere.

    Open variables without observed descendants sum to one and are left out.
    """
    kept = set(range(len(codes)))
    for i in reversed(dag.order_indices):
        if codes[i] == HOLE and not kept.intersection(dag.child_indices[i]):
            kept.remove(i)
    members = dag.layout.members
    touched = {i: {m for m in members[i] if codes[m] == HOLE} for i in kept}
    for holes in merged([t for t in touched.values() if t]):
        families = tuple(sorted(i for i in kept if touched[i] & holes))
        seen = {m for i in families for m in members[i]}
        # What is not a member is marked as a state, so that it is not filled.
        yield families, tuple(code if i in seen else 0 for i, code in enumerate(codes))


def _check_terms(dag: Dag, islands: Counter[Island], terms: int) -> None:
    needed = sum(
        float(np.prod([size for size, code in zip(dag.schema.sizes, codes, strict=True) if code == HOLE]))
        for _, codes in islands
    )
    if needed > terms:
        raise TooWideError(
            f"the holes of the different rows can be filled in {needed:.3g} ways, more than the {terms} that "
            "are written out for a certified maximum; use a smaller network, or select='best' and more starts"
        )


def _polynomial(dag: Dag, known: Array, families: Sequence[int], codes: Sequence[int]) -> Polynomial:
    """Return p(observed | the rest) of one island as a polynomial in the free parameters."""
    layout, out = dag.layout, defaultdict[tuple[int, ...], float](float)
    choices = [range(n) if c == HOLE else (c,) for n, c in zip(dag.schema.sizes, codes, strict=True)]
    for x in product(*choices):
        coefficient, factors = 1.0, []
        for i in families:
            steps = zip(layout.members[i], layout.strides[i], strict=True)
            place = layout.start[i] + sum(x[m] * stride for m, stride in steps)
            if np.isnan(known[place]):
                factors.append(place)
            else:
                coefficient *= float(known[place])
        if coefficient > 0:
            out[tuple(sorted(factors))] += coefficient
    return dict(out)


def _collapsed(dag: Dag, polynomial: Polynomial) -> Polynomial:
    """Replace products by a whole distribution, θ₁ m + θ₂ m + … , by m, as long as there are any."""
    group = dag.layout.group
    out, waiting = dict(polynomial), list(polynomial)
    while waiting:
        m = waiting.pop()
        for place in set(m):
            base = list(m)
            base.remove(place)
            whole = [tuple(sorted([*base, int(k)])) for k in np.flatnonzero(group == group[place])]
            least = min(out.get(w, 0.0) for w in whole)
            if least > 0:
                out = {w: a - least if w in whole else a for w, a in out.items()}
                out = {w: a for w, a in out.items() if a > NEGLIGIBLE * least}
                out[tuple(base)] = out.get(tuple(base), 0.0) + least
                waiting.append(tuple(base))
                break
    return out


def _shared(polynomial: Polynomial) -> Counter[int]:
    """Return the factors, with their powers, that all terms have."""
    shared, *others = (Counter(m) for m in polynomial)
    for other in others:
        shared &= other
    return shared


def _arrays(dag: Dag, free: Booleans, outside: Array, sums: list[Key], events: list[_Event]) -> LogSums:
    places = np.flatnonzero(free)
    at = {int(place): k for k, place in enumerate(places)}
    shape = len(sums), max((len(terms) for terms in sums), default=0)
    offset, power = np.full(shape, -np.inf), np.zeros((*shape, len(places)))
    for r, terms in enumerate(sums):
        for h, (factors, coefficient) in enumerate(terms):
            offset[r, h] = np.log(coefficient)
            for place in factors:
                power[r, h, at[place]] += 1.0
    seen = _events(at, outside[places], events)
    summed = seen.sum >= 0
    return LogSums(
        places,
        np.unique(dag.layout.group[places], return_inverse=True)[1].astype(np.int64),
        seen.outside + seen.weight @ seen.power,
        np.bincount(seen.sum[summed], weights=seen.weight[summed], minlength=len(sums)).astype(np.float64),
        offset,
        power,
        seen,
    )


def _events(at: dict[int, int], outside: Array, events: list[_Event]) -> Events:
    power = np.zeros((len(events), len(at)))
    for e, event in enumerate(events):
        for place, times in event.shared.items():
            power[e, at[place]] = times
    cells = {cell: c for c, cell in enumerate(dict.fromkeys(event.cell for event in events))}
    return Events(
        np.array([event.weight for event in events], dtype=np.float64),
        np.array([event.offset for event in events], dtype=np.float64),
        power,
        np.array([event.sum for event in events], dtype=np.int64),
        np.array([cells[event.cell] for event in events], dtype=np.int64),
        outside,
    )
