"""Networks and graphs as others have them: networkx, pgmpy, pyAgrum, model strings of R's bnlearn."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any

import numpy as np

from lacunary.data.schema import Label, Schema, Variable
from lacunary.errors import GraphError, ParameterError, SchemaError
from lacunary.family.regression import Regression
from lacunary.files.labels import losses, state_texts
from lacunary.infer.network import Network
from lacunary.model.dag import Dag

__all__ = [
    "from_modelstring",
    "from_networkx",
    "from_pgmpy",
    "from_pyagrum",
    "to_modelstring",
    "to_networkx",
    "to_pgmpy",
    "to_pyagrum",
]

MORE = ("bounds", "family", "unit")
"""What some variables have beside states, a kind and marks."""

MOST = 2**24
"""The longest model string that is read."""


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        package = {"pyagrum": "pyagrum", "networkx": "networkx"}.get(name, "pgmpy")
        raise ParameterError(f"{package} is not installed: pip install 'lacunary[{package}]'") from None


# Graphs


def to_networkx(dag: Dag) -> Any:
    """Return a graph as a ``DiGraph``; nodes carry ``states``, ``kind``, ``hidden`` and ``ordered``.

    Those that have a unit, bounds or a family of their own carry them, too; groups that share a table are
    ``graph["tied"]``.
    """
    graph = _library("networkx").DiGraph()
    for v in dag.schema:
        more = {name: value for name in MORE if (value := getattr(v, name))}
        graph.add_node(v.name, states=list(v.states), kind=v.kind, hidden=v.hidden, ordered=v.ordered, **more)
    graph.add_edges_from(dag.arcs)
    if dag.tied:
        graph.graph["tied"] = dag.tied
    return graph


def from_networkx(graph: Any, schema: Schema | None = None) -> Dag:
    """Return a ``DiGraph`` of networkx, or anything with ``nodes`` and ``edges``, as a graph.

    Nodes may carry what `Dag.to_networkx` writes; those without ``states`` have two, 0 and 1. With a schema
    the nodes are its variables.

    Examples
    --------
    >>> import lacunary as lac
    >>> import networkx
    >>> print(lac.from_networkx(networkx.DiGraph([("rain", "wet"), ("sprinkler", "wet")])))
    rain sprinkler -> wet
    """
    nodes = (
        graph.nodes(data=True) if callable(getattr(graph, "nodes", None)) else [(n, {}) for n in graph.nodes]
    )
    known = schema or Schema(tuple(_variable(str(name), dict(about)) for name, about in nodes))
    edges = graph.edges() if callable(graph.edges) else graph.edges
    tied = dict(getattr(graph, "graph", None) or {}).get("tied", ())
    return Dag.from_arcs(known, [(str(edge[0]), str(edge[1])) for edge in edges], tied=tied)


def _variable(name: str, about: Mapping[str, Any]) -> Variable:
    kind = about.get("kind", "discrete")
    states = tuple(about.get("states") or (0, 1)) if kind != "continuous" else ()
    hidden, ordered = (bool(about.get(flag, False)) for flag in ("hidden", "ordered"))
    more = {each: about[each] for each in MORE if about.get(each)}
    return Variable(name, states, kind=kind, ordered=ordered, hidden=hidden, **more)


def to_modelstring(dag: Dag) -> str:
    """Return a graph as R's bnlearn writes it: ``[A][B|A][C|A:B]``."""
    for name in dag.names:
        if re.search(r"[\[\]|:\s]", name):
            raise SchemaError(f"a model string cannot hold the name {name!r}; rename the variable")
    parts = []
    for name in dag.order:
        parents = dag.parents_of(name)
        parts.append(f"[{name}|{':'.join(parents)}]" if parents else f"[{name}]")
    return "".join(parts)


def from_modelstring(text: str, schema: Schema | Mapping[str, Iterable[Label]] | None = None) -> Dag:
    """Return the graph that a model string of R's bnlearn describes: ``[A][B|A][C|A:B]``.

    Variables have two states, 0 and 1, unless a schema, or a mapping from names to states, says otherwise.

    >>> import lacunary as lac
    >>> print(lac.from_modelstring("[A][S][B|A:S]"))
    A S -> B
    """
    if len(text) > MOST:
        raise GraphError(f"this model string is longer than {MOST:,} characters")
    packed = re.sub(r"\s+", "", text)
    nodes = re.findall(r"\[([^\[\]|]+)(?:\|([^\[\]|]*))?\]", packed)
    if (
        "".join(f"[{n}|{ps}]" if f"[{n}|" in packed and ps else f"[{n}]" for n, ps in nodes) != packed
        or not nodes
    ):
        raise GraphError("a model string is a row of nodes, such as [A][B|A][C|A:B]")
    names = [name for name, _ in nodes]
    if len(set(names)) < len(names):
        raise GraphError(f"{next(n for n in names if names.count(n) > 1)} is described twice")
    if not isinstance(schema, Schema):
        states = schema or {}
        schema = Schema(tuple(Variable(name, tuple(states.get(name, (0, 1)))) for name in names))
    parents = {name: tuple(p for p in ps.split(":") if p) for name, ps in nodes}
    for name, ps in parents.items():
        for p in ps:
            if p not in schema:
                raise GraphError(f"{p} is a parent of {name} and has no node of its own: [{p}]")
    return Dag.from_parents(schema, parents)


# pgmpy


def _tell_losses(library: str, network: Network, *, typed: bool) -> None:
    if lost := "; ".join(losses(network, typed=typed)):
        warnings.warn(f"{library} does not keep {lost}. A .json file keeps all", stacklevel=4)


def to_pgmpy(network: Network) -> Any:
    """Return a network as one of pgmpy: discrete, or linear Gaussian if all variables are continuous.

    What pgmpy does not know, that variables are hidden, ordered or tied, is left out, as a warning says.
    """
    _tell_losses("pgmpy", network, typed=True)
    models, factors = _library("pgmpy.models"), _library("pgmpy.factors.discrete")
    dag = network.dag
    if dag.continuous:
        return _to_linear_gaussian(network, models)
    made = getattr(models, "DiscreteBayesianNetwork", None) or models.BayesianNetwork
    out = made()
    out.add_nodes_from(dag.names)
    out.add_edges_from(dag.arcs)
    for name in dag.names:
        parents, table = dag.parents_of(name), network.table(name)
        out.add_cpds(
            factors.TabularCPD(
                name,
                table.shape[-1],
                table.reshape(-1, table.shape[-1]).T.tolist(),
                evidence=list(parents) or None,
                evidence_card=list(table.shape[:-1]) or None,
                state_names={n: list(dag.schema[n].states) for n in (name, *parents)},
            )
        )
    return out


def _to_linear_gaussian(network: Network, models: Any) -> Any:
    dag, continuous = network.dag, _library("pgmpy.factors.continuous")
    if len(dag.continuous) < len(dag.names):
        raise SchemaError("pgmpy has no networks of both kinds; sum out the discrete variables, or use .json")
    out = models.LinearGaussianBayesianNetwork()
    out.add_nodes_from(dag.names)
    out.add_edges_from(dag.arcs)
    for name in dag.names:
        found = network.regression(name)
        beta = [float(found.intercept), *found.coefficients.tolist()]
        out.add_cpds(
            continuous.LinearGaussianCPD(name, beta, float(found.sd), evidence=list(dag.parents_of(name)))
        )
    return out


def from_pgmpy(model: Any) -> Network:
    """Return a network of pgmpy, discrete or linear Gaussian, as a `Network`.

    Examples
    --------
    >>> import lacunary as lac
    >>> from pgmpy.example_models import load_model                         # doctest: +SKIP
    >>> lac.from_pgmpy(load_model("bnlearn/asia")).query("lung")            # doctest: +SKIP
    """
    cpds = {cpd.variable: cpd for cpd in model.cpds}
    absent = [name for name in model.nodes() if name not in cpds]
    if absent:
        raise ParameterError(f"{absent[0]} has no CPD; fit the model, or add one")
    if all(hasattr(cpd, "beta") for cpd in cpds.values()):
        return _from_linear_gaussian(model, cpds)
    variables, parents, tables = [], {}, {}
    for name in model.nodes():
        cpd = cpds[name]
        known = getattr(cpd, "state_names", None) or {}
        variables.append(Variable(str(name), tuple(known.get(name, range(int(cpd.variable_card))))))
        evidence = [str(v) for v in cpd.variables[1:]]
        parents[str(name)] = tuple(evidence)
        values = np.asarray(cpd.values, dtype=np.float64)
        tables[str(name)] = np.moveaxis(values, 0, -1)
    dag = Dag.from_parents(Schema(tuple(variables)), parents)
    return Network.from_tables(dag, tables)


def _from_linear_gaussian(model: Any, cpds: Mapping[str, Any]) -> Network:
    schema = Schema(tuple(Variable(str(name), kind="continuous") for name in model.nodes()))
    parents = {str(name): tuple(map(str, cpds[name].evidence)) for name in model.nodes()}
    tables = {}
    for name in model.nodes():
        beta = np.asarray(cpds[name].beta, dtype=np.float64)
        sd = getattr(cpds[name], "std", None)
        variance = float(sd) ** 2 if sd is not None else float(cpds[name].variance)
        tables[str(name)] = Regression(float(beta[0]), beta[1:], variance)
    return Network.from_tables(Dag.from_parents(schema, parents), tables)


# pyAgrum


def to_pyagrum(network: Network) -> Any:
    """Return a discrete network as a ``BayesNet`` of pyAgrum; states become text.

    What pyAgrum does not know, that variables are hidden, ordered or tied, is left out, as a warning says.
    """
    _tell_losses("pyAgrum", network, typed=False)
    gum = _library("pyagrum")
    if network.dag.continuous:
        raise SchemaError("pyAgrum's BayesNet is discrete; save a network with continuous variables as .json")
    out = gum.BayesNet()
    for name, texts in state_texts(network, "pyAgrum").items():
        out.add(gum.LabelizedVariable(name, name, list(texts)))
    for tail, head in network.dag.arcs:
        out.addArc(tail, head)
    for name in network.dag.names:
        table, parents = network.table(name), network.dag.parents_of(name)
        for at in np.ndindex(*table.shape[:-1]):
            out.cpt(name)[dict(zip(parents, map(int, at), strict=True))] = table[at].tolist()
    return out


def from_pyagrum(model: Any) -> Network:
    """Return a ``BayesNet`` of pyAgrum as a `Network`.

    Examples
    --------
    >>> import lacunary as lac
    >>> import pyagrum
    >>> lac.from_pyagrum(pyagrum.fastBN("rain->wet<-sprinkler")).dag.parents_of("wet")
    ('rain', 'sprinkler')
    """
    names = [str(model.variable(node).name()) for node in model.nodes()]
    order = {name: k for k, name in enumerate(names)}
    variables = tuple(Variable(name, tuple(model.variable(name).labels())) for name in names)
    parents, tables = {}, {}
    for name in names:
        table = model.cpt(name)
        axes = [str(axis) for axis in table.names][::-1]  # as the array has them
        values = np.asarray(table.toarray(), dtype=np.float64)
        mine = [axis for axis in axes if axis != name]
        mine.sort(key=order.__getitem__)
        parents[name] = tuple(mine)
        tables[name] = np.transpose(values, [axes.index(axis) for axis in (*mine, name)])
    return Network.from_tables(Dag.from_parents(Schema(variables), parents), tables)
