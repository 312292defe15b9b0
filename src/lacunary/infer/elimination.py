"""One question about one row: only what bears on it is laid out, and the layout is kept for the next time.

`needed` cuts the families that say nothing about the targets given the evidence, `order` chooses in which
order the rest is summed out, both in `lacunary.kernels.orders`, and `collect` sums, in
`lacunary.kernels.buckets`, which explains the words used here.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import SMALL, reserve
from lacunary.errors import TooWideError
from lacunary.kernels import buckets, orders
from lacunary.kernels.promote import is_due, is_promoted, promote, spend
from lacunary.model.dag import Dag

__all__ = ["Families", "Plan", "Tables", "families_of", "interpreted"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]

PLANS = 64
"""How many layouts a graph keeps, the ones used last."""

WIDE = 4096
"""Cells above which other orders of elimination are tried."""

PAIR = 5
"""Bytes that every pair of open variables takes while an order is chosen."""

MANY = 2000
"""Members of families above which an order is not looked for by plain functions."""


class interpreted:
    """A block that runs the kernels: as plain functions at first, compiled once that pays.

    ``members`` is how many variables the families at hand have, all counted, where they may be many.
    """

    def __init__(self, members: int = 0) -> None:
        self._many = members > MANY

    def __enter__(self) -> None:
        if not is_promoted(buckets) and (self._many or is_due(buckets.collect)):
            promote(orders)
            promote(buckets)
        self._began = 0.0 if is_promoted(buckets) else time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if self._began:
            spend(time.perf_counter() - self._began)


@dataclass(frozen=True, eq=False)
class Tables:
    """A network's tables as elimination takes them.

    Attributes
    ----------
    values
        All parameters, and behind them room for a likelihood of every state of every variable.
    least
        The logarithm of the smallest number above zero in each family; (families,).
    zero
        Whether a family has a zero; (variables,).
    """

    values: Array
    least: Array
    zero: Flags

    @classmethod
    def of(cls, families: Families, theta: Array) -> Tables:
        """Return a vector of parameters so."""
        many, layout = len(families.sizes), families.dag.layout
        least, zero = np.zeros(2 * many), np.zeros(many, np.bool_)
        for i in range(many):
            table = theta[layout.slice(i)]
            above = table[table > 0.0]
            zero[i] = len(above) < len(table)
            least[i] = np.log(above.min()) if len(above) else 0.0
        return cls(np.concatenate([theta, np.ones(int(families.sizes.sum()))]), least, zero)

    def believing(self, families: Families, soft: dict[int, Array]) -> Tables:
        """Return the tables with likelihoods of some variables' states."""
        if not soft:
            return self
        values, least, many = self.values.copy(), self.least.copy(), len(families.sizes)
        for v, likelihood in soft.items():
            values[families.start[many + v] :][: len(likelihood)] = likelihood
            above = likelihood[likelihood > 0.0]
            least[many + v] = np.log(above.min()) if len(above) else 0.0
        return Tables(values, least, self.zero)


class Families:
    """The families of a graph as arrays, and the layouts that questions about it have needed.

    Behind the family of each variable there is one for a likelihood of its states. Layouts are kept by the
    pattern of evidence; they are not pickled, and any number of threads may ask.
    """

    def __init__(self, dag: Dag) -> None:
        self.dag, layout = dag, dag.layout
        many = len(dag.names)
        members = [*layout.members, *((v,) for v in range(many))]
        strides = [*layout.strides, *((1,) for _ in range(many))]
        self.sizes = np.array(layout.sizes, dtype=np.int64)
        self.weight = np.log(self.sizes)
        self.member_at, self.member = _lists(members)
        self.stride = _lists(strides)[1]
        self.child_at, self.child = _lists(dag.child_indices)
        soft = layout.size + np.cumsum(self.sizes) - self.sizes
        self.start = np.array([*layout.start, *soft], dtype=np.int64)
        self._plans: OrderedDict[Any, Plan] = OrderedDict()
        self._lock = Lock()

    @property
    def graph(self) -> tuple[Any, ...]:
        """The families, as the kernels take them."""
        return self.member_at, self.member, self.stride, self.start, self.sizes

    def ancestors(self, flags: Flags) -> Flags:
        """Return which variables are flagged or lie behind one that is."""
        found: Flags = orders.ancestors(self.member_at, self.member, flags)
        return found

    def plan(
        self,
        targets: Sequence[int],
        seen: Flags,
        soft: Flags,
        *,
        every: bool = False,
        behind: Flags | None = None,
    ) -> Plan:
        """Return the layout for a question: which variables are asked about, seen, or softly seen.

        With ``every`` all families count, whatever the targets; with ``behind`` those of the evidence and of
        all variables behind it, which are flagged there.
        """
        key = (tuple(targets), seen.tobytes(), soft.tobytes(), every, behind is None)
        with self._lock:
            found = self._plans.get(key)
            if found is not None:
                self._plans.move_to_end(key)
                return found
        wanted = np.ones(len(seen), np.bool_) if every else behind
        found = self._planned(np.array(targets, dtype=np.int64), seen, soft, wanted)
        with self._lock:
            self._plans[key] = found
            if len(self._plans) > PLANS:
                self._plans.popitem(last=False)
        return found

    def _planned(self, targets: Integers, seen: Flags, soft: Flags, wanted: Flags | None) -> Plan:
        asked = np.zeros(len(seen), np.bool_)
        asked[targets] = True
        if wanted is None:
            wanted = orders.needed(self.member_at, self.member, self.child_at, self.child, seen, soft, asked)
        return self.laid(targets, np.concatenate([wanted, soft & (wanted | asked)]), seen)

    def laid(self, targets: Integers, wanted: Flags, seen: Flags) -> Plan:
        """Return the layout for these families, in the cheapest order of elimination that is found."""
        first = self._ordered(targets, wanted, seen, 0)
        if first.cells <= WIDE:
            return first
        return min((first, *(self._ordered(targets, wanted, seen, how) for how in (1, 2))), key=_cells)

    def _ordered(self, targets: Integers, wanted: Flags, seen: Flags, how: int) -> Plan:
        self._check_room(wanted, seen)
        chain, scope_at, scope = orders.order(
            self.member_at, self.member, wanted, seen, self.weight, targets, how
        )
        axis_at, axis, above, home = orders.assign(
            self.member_at, self.member, wanted, self.sizes, chain, scope_at, scope, len(targets)
        )
        return Plan(self, axis_at, axis, above, home)

    def _check_room(self, wanted: Flags, seen: Flags) -> None:
        """Refuse a question with so many open variables that who stands with whom does not fit."""
        if PAIR * np.count_nonzero(~seen) ** 2 > SMALL:
            families = np.repeat(wanted, np.diff(self.member_at))
            many = len(np.unique(self.member[families & ~seen[self.member]]))
            advice = "ask about variables with fewer others behind them, or give more evidence"
            reserve(PAIR * float(many) ** 2, f"an order of {many} unobserved variables", advice, TooWideError)


def _cells(plan: Plan) -> float:
    return plan.cells


@dataclass(eq=False)
class Plan:
    """How a question is answered: buckets, their axes, and which factors go where; see `kernels.buckets`."""

    families: Families
    axis_at: Integers
    axis: Integers
    above: Integers
    home: Integers

    @cached_property
    def cells(self) -> float:
        """How many cells the tables of all buckets have."""
        logs = np.append(self.families.weight[self.axis], 0.0)
        widths = np.add.reduceat(logs, self.axis_at[:-1]) * (np.diff(self.axis_at) > 0)
        return float(np.exp(np.minimum(widths, 700.0)).sum())

    @cached_property
    def sizes_of_tables(self) -> Integers:
        """Cells of each bucket's table, the root's last; (buckets + 1,)."""
        advice = "ask about fewer variables together, or give more evidence"
        reserve(8.0 * self.cells, f"tables of {self.cells:.3g} cells for this question", advice, TooWideError)
        sizes = self.families.sizes
        return np.array(
            [
                int(np.prod(sizes[self.axis[a:b]]))
                for a, b in zip(self.axis_at[:-1], self.axis_at[1:], strict=True)
            ],
            dtype=np.int64,
        )

    @cached_property
    def table_at(self) -> Integers:
        """Where each bucket's table begins among all."""
        return np.concatenate([[0], np.cumsum(self.sizes_of_tables)])

    @cached_property
    def message_at(self) -> Integers:
        """Where each bucket's message begins among all; (buckets + 1,)."""
        own = self.families.sizes[self.axis[self.axis_at[1:-1] - 1]]
        return np.concatenate([[0], np.cumsum(self.sizes_of_tables[:-1] // own)]).astype(np.int64)

    @cached_property
    def steps(self) -> tuple[Any, ...]:
        """Axes and factors of the buckets, as the kernels take them."""
        member_at, member, stride, _, sizes = self.families.graph
        laid = orders.factors(
            member_at, member, stride, sizes, self.axis_at, self.axis, self.above, self.home
        )
        return (self.axis_at, self.axis, *laid)

    def constant(self, codes: Integers, values: Array) -> float:
        """Return the sum of logarithms of the families of which nothing is open."""
        families, total = self.families, 0.0
        for i in np.flatnonzero(self.home == -2):
            low, high = families.member_at[i], families.member_at[i + 1]
            p = values[families.start[i] + codes[families.member[low:high]] @ families.stride[low:high]]
            total += np.log(p) if p > 0 else -np.inf
        return total

    def run(self, codes: Integers, tables: Tables) -> Run:
        """Return the messages under evidence, worked out from nothing."""
        run = Run(self, tables)
        run.collect(codes, tables)
        return run


class Run:
    """The messages of a plan under evidence; tables are kept if posteriors of all variables are wanted."""

    def __init__(self, plan: Plan, tables: Tables, *, keep: bool = False, most: bool = False) -> None:
        self.plan, self.keep, self.most = plan, keep, most
        many, total = len(plan.above), int(plan.message_at[-1])
        self.messages, self.scales = np.empty(total), np.zeros(many)
        self.least = np.concatenate([tables.least, np.zeros(many)])
        self.kept = np.empty(int(plan.table_at[many])) if keep else np.empty(0)
        self.choice = np.empty(total if most else 0, np.int32)
        self.stale = np.ones(many, np.bool_)
        self.lost = False
        self.log_evidence = 0.0

    def collect(self, codes: Integers, tables: Tables) -> None:
        """Work out what is stale."""
        plan = self.plan
        self.least[: len(tables.least)] = tables.least
        gone = buckets.collect(
            plan.families.graph,
            plan.steps,
            plan.above,
            plan.message_at,
            plan.table_at,
            codes,
            tables.values,
            self.least,
            self.messages,
            self.scales,
            self.kept,
            self.choice,
            self.stale,
            self.most,
        )
        self.lost = bool(gone)
        self.stale[:] = False
        self.log_evidence = float(self.scales.sum()) + plan.constant(codes, tables.values)

    def joint(self, codes: Integers, tables: Tables) -> Array:
        """Return the joint table of the targets, unnormalised, its largest number of the order of one."""
        plan = self.plan
        out = np.empty(int(plan.sizes_of_tables[-1]))
        scale, gone = buckets.joint(
            plan.families.graph,
            plan.steps,
            plan.message_at,
            codes,
            tables.values,
            self.least,
            self.messages,
            out,
        )
        self.lost = self.lost or bool(gone)
        total = float(out.sum())
        with np.errstate(divide="ignore"):
            self.log_evidence += float(scale) + float(np.log(total))
        return out / total if total > 0 else out

    def marginals(self) -> list[Array]:
        """Return the posterior of every variable that has a bucket, None for others, by position."""
        plan, sizes = self.plan, self.plan.families.sizes
        places = np.cumsum(sizes) - sizes
        out, shares = np.zeros(int(sizes.sum())), np.empty(len(self.messages))
        buckets.distribute(
            sizes, plan.steps, plan.above, plan.message_at, plan.table_at, self.kept, shares, places, out
        )
        return [out[a : a + size] for a, size in zip(places, sizes, strict=True)]


def families_of(dag: Dag) -> Families:
    """Return a graph's families as arrays, made once and kept with the graph."""
    found: Families | None = dag.__dict__.get("_families_as_arrays")
    if found is None:
        found = dag.__dict__["_families_as_arrays"] = Families(dag)
    return found


def _lists(lists: Sequence[Sequence[int]]) -> tuple[Integers, Integers]:
    """Return lists end to end, and where each begins; (lists + 1,)."""
    at = np.concatenate([[0], np.cumsum([len(one) for one in lists])]).astype(np.int64)
    return at, np.array([v for one in lists for v in one], dtype=np.int64)
