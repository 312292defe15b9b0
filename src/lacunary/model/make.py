"""Ways to make a graph: from arrows, with a hidden class above everything, at random."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from lacunary.budget import budgeted, reserve
from lacunary.data.schema import Kind, Label, Schema, Variable
from lacunary.data.wording import meant
from lacunary.errors import GraphError, ParameterError, SchemaError
from lacunary.model.arrows import Arrows, parse
from lacunary.model.dag import Dag

__all__ = ["HasSchema", "States", "dag", "dag_over", "labels", "naive_bayes", "random_dag"]

States = int | Sequence[Label]
"""The states of a variable: their labels, or how many; k of them are then called 0, 1, …, k-1."""

DEFAULT_STATES = 2

STATE = 400
"""Bytes that a state takes, with its label and where that is looked up."""


class HasSchema(Protocol):
    """Anything that knows its variables, a table above all."""

    @property
    def schema(self) -> Schema:
        """The variables."""
        ...


def dag(
    arrows: str,
    *,
    states: States | Mapping[str, States] | None = None,
    hidden: str | Iterable[str] | Mapping[str, States] = (),
    kinds: Kind | Mapping[str, Kind] | None = None,
    family: str | Mapping[str, str] | None = None,
    schema: Schema | None = None,
    tied: Iterable[Sequence[str]] = (),
) -> Dag:
    """Return the graph that the arrows draw, such as ``"A -> C <- H -> D <- B"``.

    Parameters
    ----------
    arrows
        Chains and fans separated by ``;`` or new lines (`lacunary.model.arrows` has the grammar).
        Parents keep the order in which their arcs are written.
    states
        The states of every discrete variable, or of some by name: their labels, or their number k,
        which gives the integer labels 0 … k − 1. Whatever is left open has two states.
    hidden
        The variables that are never observed, by name, or by name with their states.
    kinds
        ``"discrete"`` (the default) or ``"continuous"`` for every variable whose states are not given
        by name, or the kind of some by name.
    family
        Families other than the default of each kind (a table, or a linear regression), by name, or one for
        every variable: ``"sigmoid"`` for a binary variable whose log-odds are a sum over its parents,
        ``"uniform"`` for a continuous one that is uniform between bounds, ``"poisson"`` for one that counts.
    schema
        The variables, their kinds and their states, in this order. ``hidden`` may add to it, at its end,
        in the order of first appearance; ``states`` and ``kinds`` then speak of what is added only.
        Without it the variables stand in the order of first appearance.
    tied
        Groups of variables whose families share one table.

    Examples
    --------
    >>> import lacunary as lac
    >>> graph = lac.dag("A -> C <- H -> D <- B", hidden={"H": 3})
    >>> graph.parents_of("C"), graph.schema["H"].states
    (('A', 'H'), (0, 1, 2))
    """
    drawn = parse(arrows)
    wish = _Wish(states, hidden, kinds)
    variables = wish.declare(drawn) if schema is None else wish.complete(drawn, schema)
    return Dag.from_arcs(variables, drawn.arcs, tied=tied, family=family)


def dag_over(schema: Schema, arrows: str, names: Iterable[str] = ()) -> Dag:
    """Return the graph that arrows draw over those variables of a schema that they or ``names`` have."""
    wanted = {*parse(arrows).places, *names}
    known = Schema(tuple(v for v in schema if v.name in wanted)) if wanted <= set(schema.names) else schema
    return dag(arrows, schema=known)  # which says what was meant where a name is not known


def naive_bayes(schema: Schema | HasSchema, hidden: str, states: States) -> Dag:
    """Return the graph in which a hidden class is the one parent of every observed variable.

    The class is called ``hidden`` and stands at the end of the schema (or of the schema of a table).
    One state is legal: the variables are then independent. Variables that are hidden already get no arc.

    Examples
    --------
    >>> import lacunary as lac
    >>> blocs = lac.naive_bayes(lac.house_votes(), hidden="bloc", states=2)
    >>> len(blocs.arcs), blocs.parents_of("crime")
    (17, ('bloc',))
    """
    known = schema if isinstance(schema, Schema) else schema.schema
    if hidden in known:
        raise SchemaError(f"{hidden!r} is a variable already; give the hidden class another name")
    observed = [variable.name for variable in known if not variable.hidden]
    if not observed:
        raise GraphError(f"{hidden} would have no children: the schema has no observed variable")
    extended = known.extend([Variable(hidden, labels(hidden, states), hidden=True)])
    return Dag.from_arcs(extended, [(hidden, name) for name in observed])


@budgeted
def random_dag(
    variables: int | Sequence[str],
    arc_probability: float,
    max_parents: int | None = None,
    states: int | tuple[int, int] = (2, 4),
    rng: int | np.random.Generator | None = 0,
) -> Dag:
    """Return a random graph whose arcs lead from earlier to later variables (ENT, section 3.3).

    Each arc Xi -> Xj with i < j is drawn with ``arc_probability``. Where a variable draws more than
    ``max_parents`` parents, a uniformly random subset of that size is kept. ENT takes 1/3 and 4.

    Parameters
    ----------
    variables
        The names, or how many variables; they are then called X1, X2, …
    states
        The number of states of every variable, or the least and the most, between which it is uniform.

    Examples
    --------
    >>> import lacunary as lac
    >>> len(lac.random_dag(6, arc_probability=0.5, max_parents=2, rng=0).names)
    6
    """
    names = [f"X{i + 1}" for i in range(variables)] if isinstance(variables, int) else list(variables)
    least, most = (states, states) if isinstance(states, int) else states
    _check_random(names, arc_probability, max_parents, least, most)
    generator = np.random.default_rng(rng)
    sizes = generator.integers(least, most, size=len(names), endpoint=True)
    schema = Schema(tuple(Variable(name, tuple(range(k))) for name, k in zip(names, sizes, strict=True)))
    parents = []
    for child in range(len(names)):
        chosen = np.flatnonzero(generator.random(child) < arc_probability)
        if max_parents is not None and len(chosen) > max_parents:
            chosen = np.sort(generator.choice(chosen, max_parents, replace=False))
        parents.append(tuple(names[i] for i in chosen))
    return Dag(schema, tuple(parents))


class _Wish:
    """What a caller of `dag` says about the variables, by name where names are given."""

    def __init__(
        self,
        states: States | Mapping[str, States] | None,
        hidden: str | Iterable[str] | Mapping[str, States],
        kinds: Kind | Mapping[str, Kind] | None,
    ) -> None:
        names = (hidden,) if isinstance(hidden, str) else hidden
        self.hidden = dict.fromkeys(names)
        self.kinds: Mapping[str, Kind] = kinds if isinstance(kinds, Mapping) else {}
        self.kind: Kind = "discrete" if kinds is None or isinstance(kinds, Mapping) else kinds
        if self.kind not in ("discrete", "continuous"):
            raise SchemaError(f"kinds must be 'discrete', 'continuous' or a mapping, not {kinds!r}")
        self.states = dict(states) if isinstance(states, Mapping) else {}
        self.default = DEFAULT_STATES if states is None or isinstance(states, Mapping) else states
        if isinstance(hidden, Mapping):
            twice = next((name for name in hidden if name in self.states), None)
            if twice is not None:
                raise SchemaError(f"the states of {twice} are given both in states and in hidden")
            self.states.update(hidden)

    def declare(self, drawn: Arrows) -> Schema:
        """Return the schema of the names in the arrows alone."""
        if not drawn.names:
            raise GraphError(
                "the arrows name no variable; write 'A -> B', or 'A' for a variable without arcs"
            )
        for what in (self.states, self.kinds, self.hidden):
            self._check_known(what, drawn.places)
        return Schema(tuple(map(self._variable, drawn.names)))

    def complete(self, drawn: Arrows, schema: Schema) -> Schema:
        """Return the schema with the hidden variables marked, those it lacks at its end."""
        new = [name for name in drawn.names if name not in schema]
        for name in new:
            if name not in self.hidden:
                known = meant(name, schema.names)
                advice = f"is not in the schema{known}; correct the name, or list it in hidden to add it"
                raise SchemaError(drawn.mark(name, f"{name} {advice}"))
        self._check_known(self.hidden, {*schema.names, *new})
        for name in (*self.states, *self.kinds):
            if name in schema:
                raise SchemaError(f"the kind and states of {name} come from the schema; leave them out")
        for what in (self.states, self.kinds):
            self._check_known(what, new)
        return schema.hide(name for name in self.hidden if name in schema).extend(map(self._variable, new))

    def _check_known(self, what: Iterable[str], known: Collection[str]) -> None:
        missing = next((name for name in what if name not in known), None)
        if missing is not None:
            raise SchemaError(f"{missing!r} is described but not drawn: no arrow or lone name mentions it")

    def _variable(self, name: str) -> Variable:
        given = self.states.get(name)
        kind = self.kinds.get(name, "discrete" if given is not None else self.kind)
        if kind != "discrete":
            return Variable(
                name, () if given is None else labels(name, given), kind, hidden=name in self.hidden
            )
        made = labels(name, self.default if given is None else given)
        return Variable(name, made, hidden=name in self.hidden)


def labels(name: str, states: States) -> tuple[Label, ...]:
    """Return the labels of the states, 0 … k − 1 where only their number is given."""
    if isinstance(states, int | np.integer) and not isinstance(states, bool):
        if states < 1:
            raise SchemaError(f"{name}: a discrete variable needs at least one state, not {states}")
        reserve(STATE * float(states), f"{states} states of {name}", "give it fewer states")
        return tuple(range(int(states)))
    if isinstance(states, str) or not isinstance(states, Iterable):
        raise SchemaError(f"{name}: states must be a number or a list of labels, not {states!r}")
    return tuple(states)


def _check_random(
    names: list[str], arc_probability: float, max_parents: int | None, least: int, most: int
) -> None:
    if not names:
        raise GraphError("a random graph needs at least one variable")
    if not 0.0 <= arc_probability <= 1.0:
        raise ParameterError(f"arc_probability must lie between 0 and 1, not be {arc_probability}")
    if max_parents is not None and max_parents < 0:
        raise ParameterError(f"max_parents must not be negative, as {max_parents} is")
    if not 1 <= least <= most:
        raise ParameterError(f"states must be (least, most) with 1 ≤ least ≤ most, not {(least, most)}")
