"""One question about one row: only what bears on it is laid out, and the layout is kept for the next time.

`needed` cuts the families that say nothing about the targets given the evidence, `lay` chooses in which order
the rest is summed out, both in `lacunary.kernels.orders`, and `collect` sums, in `lacunary.kernels.buckets`,
which explains the words used here. `lacunary.kernels.questions` has all of it in one call.
"""

from __future__ import annotations

import time
from array import array
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, chain
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import SMALL, reserve
from lacunary.errors import TooWideError
from lacunary.kernels import buckets, orders, questions
from lacunary.kernels.promote import in_use, is_due, is_promoted, promote, spend
from lacunary.model.dag import Dag
from lacunary.model.layout import Layout

__all__ = ["Families", "Plan", "Tables", "families_of", "interpreted"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

PLANS = 64
"""How many layouts a graph keeps, the ones used last."""

CHEAP = 50_000.0
"""Cells up to which it is checked that evidence which does not bear on a question is possible."""

PAIR = 5
"""Bytes that every pair of open variables takes while an order is chosen."""

MANY = 2000
"""Members of families above which an order is not looked for by plain functions."""

NOTHING: Integers = np.empty(0, np.int64)
NO_ROOT: Array = np.empty(0)
"""No layout so far, or no targets; and no table of targets."""


class interpreted:
    """A block that runs the kernels: as plain functions at first, compiled once that pays.

    ``members`` is how many variables the families at hand have, all counted, where they may be many. For
    ``trees`` only orders are looked for, many of them one after the other: these are compiled here, in two
    seconds.
    """

    def __init__(self, members: int = 0, *, trees: bool = False) -> None:
        self._many, self._trees = members > MANY, trees
        self._modules = (orders,) if trees else (orders, buckets, questions)

    def __enter__(self) -> None:
        last = self._modules[-1]
        if not is_promoted(last) and (self._many or is_due(*self._modules, here=self._trees)):
            promote(*self._modules)
        self._began = 0.0 if is_promoted(last) else time.perf_counter()

    def __exit__(self, *_: object) -> None:
        if self._began:
            spend(time.perf_counter() - self._began)


@dataclass(frozen=True, eq=False)
class Tables:
    """A network's tables as elimination takes them.

    Attributes
    ----------
    values
        All parameters; where there is soft evidence, behind them a likelihood of each state of each variable.
    least
        The logarithm of the smallest number above zero in each family, NaN where nobody has looked yet;
        (families,).
    zero
        One where a family has a zero, else zero; below zero where that is not known, a number that falls with
        every number looked at; (families,).
    """

    values: Array
    least: Array
    zero: Array

    @classmethod
    def of(cls, families: Families, theta: Array) -> Tables:
        """Return a vector of parameters so."""
        many = 2 * len(families.sizes)
        return cls(_unwriteable(theta), np.full(many, np.nan), np.full(many, -0.5))

    def believing(self, families: Families, soft: dict[int, Array]) -> Tables:
        """Return the tables with likelihoods of some variables' states."""
        if not soft:
            return self
        many, size = len(families.sizes), families.layout.size
        values = np.concatenate([self.values[:size], np.ones(int(families.sizes.sum()))])
        for v, likelihood in soft.items():
            values[families.families[3][many + v] :][: len(likelihood)] = likelihood
        return Tables(_unwriteable(values), self.least.copy(), self.zero.copy())


class Families:
    """The families that a `Layout` says as arrays, and the layouts that questions about them have needed.

    Behind the family of each variable there is one for a likelihood of its states. Layouts are kept by the
    pattern of evidence; they are not pickled, and any number of threads may ask.
    """

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        many, lengths = len(layout.sizes), [*map(len, layout.members)]
        total = sum(lengths)
        children: list[list[int]] = [[] for _ in lengths]
        for i, *parents in layout.members:
            for parent in parents:
                children[parent].append(i)
        *families, child_at, child = _arrays(
            [*accumulate(lengths, initial=0), *range(total + 1, total + many + 1)],
            [*chain.from_iterable(layout.members), *range(many)],
            [*chain.from_iterable(layout.strides), *[1] * many],
            [*layout.start, *accumulate(layout.sizes[:-1], initial=layout.size)],
            layout.sizes,
            [*accumulate(map(len, children), initial=0)],
            [*chain.from_iterable(children)],
        )
        self.families: tuple[Any, ...] = tuple(families)
        self.sizes = self.families[4]
        self.relations: tuple[Any, ...] = (np.log(self.sizes), child_at, child)
        self._plans: OrderedDict[Any, Any] = OrderedDict()
        self._lock = Lock()

    def ask(self, targets: Sequence[int], codes: Integers, pattern: Any, tables: Tables) -> tuple[int, Array]:
        """Return what becomes of a question, see `kernels.questions`, and the joint posterior of the targets.

        ``codes`` and ``pattern`` are as for `plan`.
        """
        key = (*targets, pattern)
        known = packed, rest = self._kept(key) or (NOTHING, NOTHING)
        room, status = Room(), questions.TOO_WIDE
        while status == questions.TOO_WIDE:
            status, out, needed, packed, rest = in_use(questions).ask(
                *self.families, *self.relations, np.array(targets, np.int64), codes, tables.values,
                tables.least, tables.zero, packed, rest, room.longest, room.most, CHEAP,
            )  # fmt: skip
            if status == questions.TOO_WIDE:
                room.make(needed)
        if len(packed) != len(known[0]) or len(rest) != len(known[1]):
            self._keep(key, (packed, rest))
        return status, out

    def plan(self, codes: Integers, pattern: Any, *, every: bool = False) -> Plan:
        """Return the layout for the evidence alone: of its families and those behind them, or of all.

        ``codes`` are the states of what is seen, −1 for what is not, −2 where there is a likelihood;
        ``pattern`` says which are which, so that it can be looked up.
        """
        key = ("every" if every else "behind", pattern)
        found: Plan | None = self._kept(key)
        if found is None:
            found = Plan(self, self._laid(codes, every))
            self._keep(key, found)
        return found

    def _laid(self, codes: Integers, every: bool) -> Integers:
        member_at, member, stride, _, sizes = self.families
        packed, room = NOTHING, Room()
        while not len(packed):
            packed, needed = in_use(questions).lay(
                member_at, member, stride, sizes, self.relations[0], codes, every, room.longest, room.most
            )
            if not len(packed):
                room.make(needed)
        return packed

    def _kept(self, key: Any) -> Any:
        with self._lock:
            found = self._plans.get(key)
            if found is not None:
                self._plans.move_to_end(key)
        return found

    def _keep(self, key: Any, found: Any) -> None:
        with self._lock:
            self._plans[key] = found
            if len(self._plans) > PLANS:
                self._plans.popitem(last=False)


class Room:
    """How many open variables and cells a layout may have: what can always be had, until more is needed."""

    def __init__(self) -> None:
        self.longest, self.most = float(SMALL / PAIR) ** 0.5, SMALL / 8

    def make(self, needed: float) -> None:
        """Refuse so many cells or, below zero, open variables, if there is no memory for them."""
        if needed < 0:
            advice = "ask about variables with fewer others behind them, or give more evidence"
            what = f"an order of {-needed:.0f} unobserved variables"
            reserve(PAIR * needed**2, what, advice, TooWideError)
            self.longest = np.inf
        else:
            advice = "ask about fewer variables together, or give more evidence"
            reserve(8.0 * needed, f"tables of {needed:.3g} cells for this question", advice, TooWideError)
            self.most = np.inf


def _unwriteable(values: Array) -> Array:
    """Return an array as one that nobody writes to, be it or not: the compiler tells them apart."""
    out = values.view()
    out.flags.writeable = False
    return out


@dataclass(eq=False)
class Plan:
    """A layout: buckets, their axes, and which factors go where; see `kernels.buckets`."""

    families: Families
    packed: Integers

    @cached_property
    def parts(self) -> tuple[Integers, ...]:
        """Its arrays, as `kernels.orders.opened` has them."""
        found: tuple[Integers, ...] = orders.opened(self.packed)
        return found

    @property
    def home(self) -> Integers:
        """The bucket of each family; below zero if it has none."""
        return self.parts[3]


class Run:
    """The messages of a plan under evidence; tables are kept if posteriors of all variables are wanted."""

    def __init__(self, plan: Plan, *, keep: bool = False, most: bool = False) -> None:
        self.plan = plan
        many, total, cells = len(plan.parts[2]), int(plan.parts[9][-1]), int(plan.parts[8][-2])
        self.messages, self.faint, self.scales = np.empty(total), np.empty(many), np.zeros(many + 1)
        self.kept = np.empty(cells if keep else 0)
        self.choice = np.empty(total if most else 0, np.int32)
        self.stale = np.ones(many, np.bool_)
        self.lost = False
        self.log_evidence = 0.0

    def collect(self, codes: Integers, tables: Tables) -> None:
        """Work out what is stale."""
        plan, families = self.plan, self.plan.families.families
        gone, log = in_use(questions).collect(
            *families, plan.packed, codes, tables.values, tables.least, tables.zero, self.messages,
            self.faint, self.scales, self.kept, self.choice, self.stale, NO_ROOT,
        )  # fmt: skip
        self.lost = bool(gone)
        self.stale[:] = False
        self.log_evidence = float(log)

    def marginals(self) -> list[Array]:
        """Return the posterior of every variable that has a bucket, zeros for others, by position."""
        sizes = self.plan.families.sizes
        places = np.cumsum(sizes) - sizes
        out, shares = np.zeros(int(sizes.sum())), np.empty(len(self.messages))
        in_use(buckets).distribute(sizes, self.plan.packed, self.kept, shares, places, out)
        return [out[a : a + size] for a, size in zip(places, sizes, strict=True)]


def families_of(dag: Dag) -> Families:
    """Return a graph's families as arrays, made once and kept with the graph."""
    found: Families | None = dag.__dict__.get("_families_as_arrays")
    if found is None:
        found = dag.__dict__["_families_as_arrays"] = Families(dag.layout)
    return found


def _arrays(*lists: Sequence[int]) -> tuple[Integers, ...]:
    """Return lists as arrays, made in one go, as most are short."""
    whole = np.frombuffer(array("q", [*chain.from_iterable(lists)]), np.int64)
    ends = [*accumulate(map(len, lists))]
    return tuple(whole[end - len(one) : end] for one, end in zip(lists, ends, strict=True))
