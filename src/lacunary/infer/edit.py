"""Networks edited: arcs added, removed and turned, tables changed, variables renamed, merged, summed out.

Each returns a new network. All but a changed table and a removed arc keep the distribution of what is left;
where an arc is removed, each variable keeps its distribution given the parents that it keeps.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import product
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from lacunary.data.schema import Schema, Variable
from lacunary.errors import GraphError, SchemaError
from lacunary.model.dag import Dag

if TYPE_CHECKING:
    from lacunary.infer.network import Family, Network

__all__ = ["Edits"]

Parents = dict[str, tuple[str, ...]]


class Edits:
    """Changes of a network, each of which returns a new one."""

    def add_arc(self, tail: str, head: str) -> Network:
        """Return the network with one more arc, along which nothing depends yet.

        >>> import lacunary as lac
        >>> lac.asia().add_arc("asia", "smoke").dag.parents_of("smoke")
        ('asia',)
        """
        network = cast("Network", self)
        dag, parents = network.dag, _parents(network)
        if dag.schema[tail].name in parents[dag.schema[head].name]:
            raise GraphError(f"there is an arc {tail} -> {head} already")
        parents[head] = (*parents[head], tail)
        new = _graph(dag, dag.schema, parents)
        return _with(network, new, {head: _widened(network, tail, head)})

    def remove_arc(self, tail: str, head: str) -> Network:
        """Return the network without an arc; what depended on it keeps its distribution given the rest."""
        network = cast("Network", self)
        parents = _parents(network)
        _check_arc(network.dag, tail, head)
        parents[head] = tuple(p for p in parents[head] if p != tail)
        return _refactored(network, _graph(network.dag, network.dag.schema, parents))

    def turn_arc(self, tail: str, head: str) -> Network:
        """Return the network with an arc turned round, and the arcs that keep its distribution the same.

        Both get each other's parents (Shachter 1986).
        """
        network = cast("Network", self)
        _check_arc(network.dag, tail, head)
        parents = _parents(network)
        _turn(network.dag, parents, tail, head)
        return _refactored(network, _graph(network.dag, network.dag.schema, parents))

    def with_table(self, name: str, table: Family) -> Network:
        """Return the network with another table, or other parameters, of one variable."""
        network = cast("Network", self)
        network.dag.schema.index(name)
        tables: dict[str, Any] = {n: network.parameters_of(n) for n in network.dag.names}
        return type(network).from_tables(network.dag, {**tables, name: table})

    def rename(self, names: Mapping[str, str]) -> Network:
        """Return the network with variables called otherwise: ``rename({"old": "new"})``."""
        network = cast("Network", self)
        dag = network.dag
        for name in names:
            dag.schema.index(name)
        called = {name: names.get(name, name) for name in dag.names}
        if len(set(called.values())) < len(called):
            raise SchemaError("two variables would have the same name")
        schema = Schema(tuple(replace(v, name=called[v.name]) for v in dag.schema))
        parents = tuple(tuple(called[p] for p in ps) for ps in dag.parents)
        tied = tuple(tuple(called[n] for n in group) for group in dag.tied)
        family = tuple((called[name], kind) for name, kind in dag.family)
        return type(network)(Dag(schema, parents, tied, family), np.array(network.theta))

    def sum_out(self, *names: str) -> Network:
        """Return the network of the other variables, these summed out; arcs keep what they carried."""
        network = cast("Network", self)
        gone = [network.dag.schema[name].name for name in names]
        parents, dag = _parents(network), network.dag
        for name in gone:
            for child in [n for n in _order(parents) if name in parents[n]]:
                _turn(dag, parents, name, child)
            del parents[name]
        if not parents:
            raise SchemaError("one variable at least must be left")
        schema = Schema(tuple(v for v in dag.schema if v.name in parents))
        return _refactored(network, _graph(dag, schema, parents))

    def merge(self, names: Sequence[str], name: str) -> Network:
        """Return the network with discrete variables made one, whose states are theirs joined by commas."""
        network = cast("Network", self)
        dag, members = network.dag, [network.dag.schema[n].name for n in names]
        if len(set(members)) < 2 or any(not dag.schema[n].discrete for n in members):
            raise SchemaError("name at least two discrete variables to merge")
        if name in dag.schema and name not in members:
            raise SchemaError(f"there is a variable {name!r} already")
        states = tuple(",".join(map(str, at)) for at in product(*(dag.schema[n].states for n in members)))
        hidden = all(dag.schema[n].hidden for n in members)
        joint = Variable(name, states, hidden=hidden)
        first = members[0]
        schema = Schema(
            tuple(
                joint if v.name == first else v
                for v in dag.schema
                if v.name == first or v.name not in members
            )
        )
        parents: Parents = {}
        for n, ps in _parents(network).items():
            mine = name if n in members else n
            found = [name if p in members else p for p in ps]
            known = list(parents.get(mine, ()))
            parents[mine] = tuple(dict.fromkeys([*known, *(p for p in found if p != mine)]))
        return _merged(network, _graph(dag, schema, parents, without=members), members, name)


def _merged(network: Network, new: Dag, members: Sequence[str], name: str) -> Network:
    """Return the merged network; tables of the joint variable and its children from joint probabilities."""
    size = new.schema[name].size
    tables: dict[str, Any] = {}
    for n in new.names:
        parents = new.parents_of(n)
        if n != name and name not in parents:
            tables[n] = network.parameters_of(n)
            continue
        if not new.schema[n].discrete:
            raise SchemaError(f"{n} is continuous and depends on what is merged; sum it out first")
        asked = [m for p in (*parents, n) for m in (members if p == name else (p,))]
        joint = network.query(*asked).probabilities
        joint = joint.reshape([size if p == name else new.schema[p].size for p in (*parents, n)])
        total = joint.sum(axis=-1, keepdims=True)
        even = np.full(joint.shape, 1.0 / joint.shape[-1])
        tables[n] = np.divide(joint, total, out=even, where=total > 0)
    return type(network).from_tables(new, tables, renormalize=True)


def _parents(network: Network) -> Parents:
    return dict(zip(network.dag.names, network.dag.parents, strict=True))


def _graph(dag: Dag, schema: Schema, parents: Parents, without: Sequence[str] = ()) -> Dag:
    """Return a graph over some of the variables, whose families are tied no longer where they changed."""
    same = {n for n in dag.names if n in schema and parents.get(n) == dag.parents_of(n)}
    groups = (tuple(n for n in group if n in same) for group in dag.tied)
    tied = tuple(group for group in groups if len(group) > 1)
    family = tuple(pair for pair in dag.family if pair[0] in schema and pair[0] not in without)
    return Dag(schema, tuple(parents[v.name] for v in schema), tied, family)


def _with(network: Network, new: Dag, tables: Mapping[str, Any]) -> Network:
    known: dict[str, Any] = {n: network.parameters_of(n) for n in new.names}
    return type(network).from_tables(new, {**known, **tables})


def _widened(network: Network, tail: str, head: str) -> Any:
    """Return the parameters of a variable with a further parent that makes no difference."""
    dag, table = network.dag, network.table(head)
    if head in dict(dag.family):  # which is not the one of its kind
        raise SchemaError(f"{head} has a {dag.family_of(head)} family; give its parameters with from_tables")
    if dag.schema[tail].discrete:
        shape = [*table.shape[:-1], dag.schema[tail].size, table.shape[-1]]
        return np.array(np.broadcast_to(table[..., None, :], shape))
    return np.concatenate([table[..., :-1], np.zeros((*table.shape[:-1], 1)), table[..., -1:]], axis=-1)


def _refactored(network: Network, dag: Dag) -> Network:
    from lacunary.infer.refactor import refactored

    return refactored(network, dag)


def _check_arc(dag: Dag, tail: str, head: str) -> None:
    dag.schema.index(tail)
    if tail not in dag.parents_of(head):
        raise GraphError(f"there is no arc {tail} -> {head}")


def _turn(dag: Dag, parents: Parents, tail: str, head: str) -> None:
    """Turn an arc in a mapping of parents: both get each other's; refuse if that would close a cycle."""
    if not dag.schema[tail].discrete and dag.schema[head].discrete:
        raise GraphError(f"{tail} is continuous and cannot become a parent of {head}")
    if dag.schema[tail].discrete and not dag.schema[head].discrete:
        raise GraphError(f"{head} is continuous and cannot become a parent of {tail}, which is discrete")
    between = _between(parents, tail, head)
    if between:
        raise GraphError(
            f"{tail} also leads to {head} through {between}: turning {tail} -> {head} would close a cycle"
        )
    mine, theirs = parents[tail], tuple(p for p in parents[head] if p != tail)
    parents[head] = tuple(dict.fromkeys([*theirs, *mine]))
    parents[tail] = tuple(dict.fromkeys([*mine, *theirs, head]))


def _between(parents: Parents, tail: str, head: str) -> str:
    """Return a parent of ``head``, other than ``tail``, that is below ``tail``; empty if there is none."""
    below = {tail}
    waiting = True
    while waiting:
        fresh = {n for n, ps in parents.items() if n not in below and below & set(ps) and n != head}
        below |= fresh
        waiting = bool(fresh)
    return min((p for p in parents[head] if p != tail and p in below), default="")


def _order(parents: Parents) -> list[str]:
    """Return the variables with every parent before its children; of those that may come next the first."""
    names, waits = list(parents), [len(above) for above in parents.values()]
    place = {name: at for at, name in enumerate(names)}
    below: list[list[int]] = [[] for _ in names]
    for at, above in enumerate(parents.values()):
        for name in above:
            below[place[name]].append(at)
    ready, out = [at for at, wait in enumerate(waits) if not wait], list[str]()
    while ready:  # a heap, as a sorted list is one
        out.append(names[at := heappop(ready)])
        for child in below[at]:
            waits[child] -= 1
            if not waits[child]:
                heappush(ready, child)
    return out
