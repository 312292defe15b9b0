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
from numpy.typing import NDArray

from lacunary.data.table import HOLE
from lacunary.errors import TooWideError
from lacunary.infer.engine import Prepared
from lacunary.learn.em import Maximize
from lacunary.model.dag import Dag

__all__ = ["TERMS", "LogSums", "write_out"]

TERMS = 20_000
"""Ways to fill the holes of all different rows that are written out before a problem is refused."""

DUST = 1e-13
"""What is left of a coefficient when equal ones are taken from each other, up to rounding."""

Polynomial = dict[tuple[int, ...], float]
"""Coefficients by product: the places of its factors, sorted, repeated for powers."""


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
    """

    places: NDArray[np.int64]
    group: NDArray[np.int64]
    linear: NDArray[np.float64]
    weight: NDArray[np.float64]
    offset: NDArray[np.float64]
    power: NDArray[np.float64]

    def parts(self) -> Iterator[LogSums]:
        """Yield the parts that share no distribution and so can be maximised one by one."""
        used = self.power.max(axis=1, initial=0.0) > 0
        together = [{int(g) for g in self.group[row]} for row in used]
        for groups in _merged([*together, *({int(g)} for g in np.unique(self.group))]):
            mine = np.isin(self.group, sorted(groups))
            rows = used[:, mine].any(axis=1)
            yield LogSums(
                self.places[mine],
                np.unique(self.group[mine], return_inverse=True)[1].astype(np.int64),
                self.linear[mine],
                self.weight[rows],
                self.offset[rows],
                self.power[rows][:, :, mine],
            )


def write_out(prepared: Prepared, rule: Maximize, terms: int = TERMS) -> LogSums:
    """Return the objective as a function of the free parameters, without its constants.

    Raises
    ------
    TooWideError
        If the holes of the different rows can be filled in more than ``terms`` ways.
    """
    dag, packed = prepared.dag, prepared.packed
    islands: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for codes, weight in zip(packed.codes.tolist(), packed.weights.tolist(), strict=True):
        for island in _islands(dag, codes):
            islands[island] += weight
    _check_terms(dag, islands, terms)
    linear = packed.constant + rule.pseudo
    sums: defaultdict[tuple[tuple[tuple[int, ...], float], ...], float] = defaultdict(float)
    for (families, codes), weight in islands.items():
        polynomial = _collapsed(dag, _polynomial(dag, rule.known, families, codes))
        shared = _shared(polynomial)
        for place, power in shared.items():
            linear[place] += weight * power
        rest = {tuple(sorted((Counter(m) - shared).elements())): a for m, a in polynomial.items()}
        if len(rest) > 1:
            sums[tuple(sorted(rest.items()))] += weight
    return _arrays(dag, np.isnan(rule.known), linear, {key: w for key, w in sums.items() if w > 0})


def _islands(dag: Dag, codes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield the families that go together in a row, with the states of their members, ``HOLE`` elsewhere.

    Open variables without observed descendants sum to one and are left out.
    """
    kept = set(range(len(codes)))
    for i in reversed(dag.order_indices):
        if codes[i] == HOLE and not kept.intersection(dag.child_indices[i]):
            kept.remove(i)
    members = dag.layout.members
    touched = {i: {m for m in members[i] if codes[m] == HOLE} for i in kept}
    for holes in _merged([t for t in touched.values() if t]):
        families = tuple(sorted(i for i in kept if touched[i] & holes))
        seen = {m for i in families for m in members[i]}
        # What is not a member is marked as a state, so that it is not filled.
        yield families, tuple(code if i in seen else 0 for i, code in enumerate(codes))


def _merged(sets: Sequence[set[int]]) -> list[set[int]]:
    """Return the unions of sets that overlap, directly or through others."""
    out: list[set[int]] = []
    for new in sets:
        apart = [old for old in out if not old & new]
        out = [*apart, set(new).union(*(old for old in out if old & new))]
    return out


def _check_terms(dag: Dag, islands: Counter[tuple[tuple[int, ...], tuple[int, ...]]], terms: int) -> None:
    needed = sum(
        float(np.prod([size for size, code in zip(dag.schema.sizes, codes, strict=True) if code == HOLE]))
        for _, codes in islands
    )
    if needed > terms:
        raise TooWideError(
            f"the holes of the different rows can be filled in {needed:.3g} ways, more than the {terms} that "
            "are written out for a certified maximum; use a smaller network, or select='best' and more starts"
        )


def _polynomial(
    dag: Dag, known: NDArray[np.float64], families: Sequence[int], codes: Sequence[int]
) -> Polynomial:
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
                out = {w: a for w, a in out.items() if a > DUST * least}
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


def _arrays(
    dag: Dag,
    free: NDArray[np.bool_],
    linear: NDArray[np.float64],
    sums: dict[tuple[tuple[tuple[int, ...], float], ...], float],
) -> LogSums:
    places = np.flatnonzero(free)
    at = {int(place): k for k, place in enumerate(places)}
    shape = len(sums), max((len(terms) for terms in sums), default=0)
    offset, power = np.full(shape, -np.inf), np.zeros((*shape, len(places)))
    for r, terms in enumerate(sums):
        for h, (factors, coefficient) in enumerate(terms):
            offset[r, h] = np.log(coefficient)
            for place in factors:
                power[r, h, at[place]] += 1.0
    group = np.unique(dag.layout.group[places], return_inverse=True)[1].astype(np.int64)
    return LogSums(places, group, linear[places], np.array(list(sums.values())), offset, power)
