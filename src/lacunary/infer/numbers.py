"""One question to a network with continuous variables: only what bears on it, as normals given states.

Given the states of the discrete variables that families depend on, continuous variables are normal. Families
that open continuous variables tie together are a *knot*. What is seen of a knot has a density in each
configuration of its open discrete parents; elimination (`lacunary.infer.elimination`) takes these densities
as the table of one more child, which was seen. Which families these are depends on what is known and asked
about, not on values, and is kept with the graph.

Where this does not serve (leaf families, beliefs, knots of too many configurations, digits that are lost,
evidence that cannot be) nothing is returned, and the rows' engine answers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import prod
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from lacunary.family.distribution import Answer, Distribution, NormalMixture
from lacunary.family.joint import JointMixture
from lacunary.infer.elimination import Families, Run, Tables
from lacunary.infer.findings import Findings
from lacunary.infer.knots import Knot, Normals
from lacunary.kernels.orders import OPEN, SOFT
from lacunary.kernels.questions import DONE
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.roots import triangular
from lacunary.model.dag import Dag
from lacunary.model.layout import Layout

if TYPE_CHECKING:
    from lacunary.infer.answers import Answers

__all__ = ["answered", "every_answer", "log_density"]

MOST = 2**21
"""Numbers in the matrices of a knot or an answer, all configurations together, up to which they are made."""

KEPT = 64
"""How many questions' layouts a graph keeps, the ones used last."""

SEEN = (1, 3)
"""What `Findings.kind` says of a variable whose state or value is known."""

FAINT = -700.0
"""Logarithm of a density, beside the largest, below which doubles take it for zero."""

DEEP = -600.0
"""Logarithm of what is left of the evidence above which that which was taken for zero cannot matter."""


class Question:
    """What bears on some variables given what is known of others, whatever the states and values are.

    Without targets it is what bears on how probable that is.

    Attributes
    ----------
    knots
        The families of continuous variables.
    families
        Those of the discrete variables, and one more child of each knot's core behind them; None if there is
        no discrete variable.
    """

    def __init__(self, dag: Dag, targets: Sequence[int] | None, known: Findings) -> None:
        self.dag = dag
        bearing = dag.ancestors(known.known) if targets is None else _needed(dag, targets, known)
        needed = [i for i in dag.continuous if i in bearing]
        self.knots = [Knot(dag, tied, known) for tied in _tied(dag, needed, known)]
        self.fits = all(knot.room <= MOST for knot in self.knots)
        self.families: Families | None = None
        if dag.continuous == tuple(range(len(dag.schema))) or not self.fits:
            return
        self.place = {v: k for k, v in enumerate(i for i, size in enumerate(dag.schema.sizes) if size)}
        inner = dag.discrete
        self.tied = [knot for knot in self.knots if knot.core]
        parents = [*inner.parent_indices, *(tuple(self.place[v] for v in knot.core) for knot in self.tied)]
        tied = tuple(tuple(inner.schema.index(name) for name in group) for group in inner.tied)
        self.families = Families(Layout.of([*inner.schema.sizes, *[1] * len(self.tied)], parents, tied))

    def told(self, theta: Array, known: Findings) -> list[Normals]:
        """Return what is known of every knot."""
        sizes = self.dag.schema.sizes
        codes, reals = np.zeros(len(sizes), np.int64), np.zeros(len(sizes))
        for v, state in known.states.items():
            codes[v] = state
        for v, value in known.values.items():
            reals[v] = value
        return [knot.normals(theta, codes, reals) for knot in self.knots]

    def discrete(self, theta: Array, known: Findings, told: Sequence[Normals]) -> Inner | None:
        """Return what is to be summed; None if there is nothing, or the numbers are none."""
        if self.families is None:
            return None
        pairs = zip(self.knots, told, strict=True)
        logs = [normals.log for knot, normals in pairs if knot.core]
        tops = [float(log.max()) for log in logs]
        parts = [log - top for log, top in zip(logs, tops, strict=True)]
        values = np.concatenate([theta[: self.dag.layout.tables], *map(np.exp, parts)])
        tables = Tables.of(self.families, values).believing(
            self.families, {self.place[v]: like for v, like in known.likelihoods.items()}
        )
        codes = np.full(len(self.families.sizes), OPEN, np.int64)
        codes[len(self.place) :] = 0
        for v in known.likelihoods:
            codes[self.place[v]] = SOFT
        for v, state in known.states.items():
            codes[self.place[v]] = state
        faint = any(float(part.min()) < FAINT for part in parts)
        return Inner(self, codes, tables, sum(tops), faint)


@dataclass(frozen=True, eq=False)
class Inner:
    """The discrete variables, with what numbers tell of them."""

    question: Question
    codes: Integers
    tables: Tables
    top: float
    faint: bool

    @property
    def families(self) -> Families:
        """The families, those of knots among them."""
        assert self.question.families is not None
        return self.question.families

    def log_evidence(self) -> float | None:
        """Return the logarithm of the probability of what is seen; None if that is lost, or it cannot be."""
        run = Run(self.families.plan(self.codes, None))
        run.collect(self.codes, self.tables)
        low = DEEP if self.faint else -np.inf
        return self.top + run.log_evidence if run.log_evidence > low and not run.lost else None

    def joint(self, where: Collection[int]) -> Array | None:
        """Return the joint posterior of some variables; None if digits were lost, or nothing is possible."""
        if self.faint and self.log_evidence() is None:
            return None
        targets = [self.question.place[v] for v in where]
        status, found = self.families.ask(targets, self.codes, None, self.tables)
        sizes = self.question.dag.schema.sizes
        return found.reshape([sizes[v] for v in where]) if status == DONE else None

    def marginals(self) -> dict[int, Array] | None:
        """Return the posterior of every open discrete variable; None as `joint`."""
        if self.faint and self.log_evidence() is None:
            return None
        run = Run(self.families.plan(self.codes, None, every=True), keep=True)
        run.collect(self.codes, self.tables)
        if run.lost or run.log_evidence == -np.inf:
            return None
        found = run.marginals()
        return {v: found[k] for v, k in self.question.place.items()}


def question(dag: Dag, targets: Sequence[int] | None, known: Findings) -> Question:
    """Return the layout of a question, kept with the graph."""
    kept: tuple[OrderedDict[Any, Question], Lock] | None = dag.__dict__.get("_questions")
    if kept is None:
        kept = dag.__dict__["_questions"] = (OrderedDict(), Lock())
    found, lock = kept
    pattern: Any = (known.states, known.likelihoods, known.values)
    key = (targets if targets is None else tuple(targets), *map(frozenset[int], pattern))
    with lock:
        one = found.get(key)
        if one is not None:
            found.move_to_end(key)
            return one
    one = Question(dag, targets, known)
    with lock:
        found[key] = one
        if len(found) > KEPT:
            found.popitem(last=False)
    return one


def _needed(dag: Dag, targets: Iterable[int], known: Findings) -> set[int]:
    """Return the variables whose families say something about the targets (Bayes ball)."""
    seen, soft = known.states.keys() | known.values.keys(), known.likelihoods.keys()
    above, below = dag.parent_indices, dag.child_indices
    top: set[int] = set()
    bottom: set[int] = set()
    todo = [(v, True) for v in targets]
    while todo:
        v, from_child = todo.pop()
        if (v in soft or (v in seen) != from_child) and v not in top:
            top.add(v)
            todo += [(p, True) for p in above[v]]
        if v not in seen and v not in bottom:
            bottom.add(v)
            todo += [(c, False) for c in below[v]]
    return top


def _tied(dag: Dag, needed: Sequence[int], known: Findings) -> list[list[int]]:
    """Return the families that open variables tie together; those that none ties by their open parents."""
    layout, leader = dag.layout, {}
    find: dict[Any, Any] = {}

    def head(v: Any) -> Any:
        while find.setdefault(v, v) != v:
            find[v] = v = find[find[v]]
        return v

    for i in needed:
        open_ = [v for v in (*layout.regressors[i], i) if v not in known.values]
        core = frozenset(v for v in layout.members[i][1:] if v not in known.states)
        leader[i] = open_[0] if open_ else ("seen", core)
        for v in open_[1:]:
            find[head(v)] = head(open_[0])
    groups: dict[Any, list[int]] = {}
    for i in needed:
        groups.setdefault(head(leader[i]), []).append(i)
    return list(groups.values())


def answered(model: Answers, where: Sequence[int], known: Findings) -> Answer | None:
    """Return the joint posterior of some variables of a network; None if the rows' engine has to say.

    What has too many configurations for an answer is left to that engine, too, which says what it would take.
    """
    if not _serves(model) or any(known.kind(v) in SEEN for v in where):
        return None
    dag, theta = model.dag, model.parameters()
    asked = question(dag, where, known)
    if not asked.fits:
        return None
    told = asked.told(theta, known)
    inner = asked.discrete(theta, known, told)
    numbers = [v for v in where if not dag.schema.sizes[v]]
    mine = [pair for pair in zip(asked.knots, told, strict=True) if pair[0].holes.keys() & set(numbers)]
    states = [v for v in where if dag.schema.sizes[v]]
    among = [*states, *sorted({v for knot, _ in mine for v in knot.core} - set(states))]
    if prod(float(dag.schema.sizes[v]) for v in among) * (1 + len(numbers) ** 2) > MOST:
        return None
    whole: Array | None = np.ones(())
    if inner and among:
        whole = inner.joint(among)
    elif inner and (known.states or known.likelihoods) and inner.log_evidence() is None:
        whole = None
    if whole is None:
        return None
    if not numbers:
        return Distribution(tuple(dag.schema.variables[v] for v in where), whole)
    if len(where) == 1:
        ((knot, normals),) = mine
        return _mixture(dag, knot, normals, where[0], whole.ravel())
    return _several(dag, where, among, whole, mine)


def every_answer(model: Answers, known: Findings) -> dict[int, Answer] | None:
    """Return the posterior of every variable of a network; None if they are to be asked one by one."""
    if not _serves(model):
        return None
    dag, theta = model.dag, model.parameters()
    asked = question(dag, [v for v in range(len(dag.schema)) if known.kind(v) not in SEEN], known)
    if not asked.fits:
        return None
    told = asked.told(theta, known)
    inner = asked.discrete(theta, known, told)
    states = inner.marginals() if inner else {}
    if states is None:
        return None
    variables = dag.schema.variables
    out: dict[int, Answer] = {
        v: NormalMixture(variables[v], np.ones(1), np.array([value]), np.zeros(1))
        for v, value in known.values.items()
    }
    for v, p in states.items():
        sure = np.eye(len(p))[known.states[v]] if v in known.states else p
        out[v] = Distribution((variables[v],), sure)
    shares: dict[tuple[int, ...], Array | None] = {(): np.ones(1)}
    shares |= {(v,): p for v, p in states.items()}
    for knot, normals in zip(asked.knots, told, strict=True):
        if knot.core not in shares and inner and knot.holes:
            shares[knot.core] = inner.joint(knot.core)
        share = shares.get(knot.core)
        for v in knot.holes:
            if share is None:
                return None
            out[v] = _mixture(dag, knot, normals, v, share.ravel())
    return out


def log_density(model: Answers, known: Findings) -> float | None:
    """Return the log-density of what is known; None if the rows' engine has to say."""
    if not _serves(model):
        return None
    theta, asked = model.parameters(), question(model.dag, None, known)
    if not asked.fits:
        return None
    told = asked.told(theta, known)
    inner = asked.discrete(theta, known, told)
    log = inner.log_evidence() if inner else 0.0
    alone = [float(one.log[0]) for knot, one in zip(asked.knots, told, strict=True) if not knot.core]
    return None if log is None else log + sum(alone)


def _serves(model: Answers) -> bool:
    """Whether a model is a network, all of whose continuous families are regressions."""
    from lacunary.infer.network import Network

    return isinstance(model, Network) and not model.dag.leaves


def _mixture(dag: Dag, knot: Knot, normals: Normals, v: int, weights: Array) -> NormalMixture:
    at = knot.holes[v]
    return NormalMixture(dag.schema.variables[v], weights, normals.means[:, at], normals.sds(at))


def _several(
    dag: Dag, where: Sequence[int], among: Sequence[int], whole: Array, mine: Sequence[tuple[Knot, Normals]]
) -> JointMixture:
    """Return the joint posterior of variables, some of them continuous, from that of their states."""
    variables = dag.schema.variables
    numbers = [v for v in where if not variables[v].discrete]
    found, weights = np.argwhere(whole > 0), whole[whole > 0]
    margins: dict[int, NormalMixture] = {}
    roots = np.zeros((len(found), len(numbers), len(numbers)))
    for knot, normals in mine:
        columns = np.zeros(len(found), np.int64)
        for v, size in zip(knot.core, knot.sizes, strict=True):
            columns = columns * size + found[:, among.index(v)]
        own = [v for v in numbers if v in knot.holes]
        each = {v: _mixture(dag, knot, normals, v, np.ones(len(normals.means))) for v in own}
        margins |= {v: each[v].reweighed(weights, columns) for v in own}
        places = np.array([numbers.index(v) for v in own])
        used, back = np.unique(columns, return_inverse=True)
        spread = np.swapaxes(normals.spread[used], -1, -2)[:, [knot.holes[v] for v in own]]
        roots[:, places[:, None], places] = triangular(spread)[back.ravel()]
    states = sum(variables[v].discrete for v in where)
    asked = tuple(variables[v] for v in where)
    return JointMixture(asked, weights, found[:, :states], tuple(margins[v] for v in numbers), roots)
