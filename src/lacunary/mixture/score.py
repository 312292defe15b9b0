"""What a given mixture is worth on a table: its graphs stay, parameters are fitted from where they are.

A mixture whose components have one graph is a network with a hidden class above all variables, and has every
estimate that this network has.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from lacunary.data.schema import Schema, Variable
from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.score import METHODS, score
from lacunary.infer.answers import as_source
from lacunary.infer.belief import BDeu, Belief, Prior, with_regressions
from lacunary.infer.empirical import stated
from lacunary.infer.mixture import Mixture
from lacunary.infer.prior import NormalWishart
from lacunary.mixture.fit import fit_mixture
from lacunary.mixture.found import MixtureFit
from lacunary.mixture.learner import Choice
from lacunary.model.dag import Dag

__all__ = ["as_network", "score_mixture"]

CLASS = "component"
"""The hidden class of a mixture that is taken as a network."""


def score_mixture(
    model: Mixture | MixtureFit,
    table: Any,
    method: str,
    *,
    at: str | None = None,
    weights: float = 1.0,
    **how: Any,
) -> Estimate:
    """Return an estimate of log p(table | the components' graphs), in nats; higher is better.

    The columns of the table beside the mixture's are left out. BIC is worked out at the maximum of the
    likelihood unless ``at="map"``, the others at that of the posterior density. ``weights`` is Σα of the
    Dirichlet over the components' weights.
    """
    mixture = model.mixture if isinstance(model, MixtureFit) else model
    if method not in METHODS:
        raise ParameterError(f"there is no method {method!r}; there are {', '.join(METHODS)}")
    names = [v.name for v in mixture.schema if not v.hidden]
    rows = table[names] if hasattr(table, "schema") else table
    if method not in get_args(Choice):
        return _as_network(mixture, rows, method, weights, at=at, **how)
    hidden = {v.name: v.size if v.discrete else "continuous" for v in mixture.schema if v.hidden}
    noise = mixture.noise
    bounds = noise and {
        name: (float(low), float(high)) for name, low, high in zip(names, noise.low, noise.high, strict=True)
    }
    likelihood = method == "bic" and at != "map"
    if likelihood:
        how.pop("prior", None)  # nothing is believed beforehand there
    found = fit_mixture(
        rows,
        structure=[component.dag for component in mixture.components],
        initial=mixture,
        hidden=hidden or None,
        noise=bounds or False,
        weights=weights,
        method="ml" if likelihood else "map",
        choose=method,  # type: ignore[arg-type]
        **how,
    )
    return replace(found.estimate, doubts=found.doubts)


def _as_network(mixture: Mixture, table: Any, method: str, weights: float, **how: Any) -> Estimate:
    """Return an estimate that mixtures do not have, of the network that the mixture is."""
    try:
        dag = as_network(mixture)
    except ParameterError as problem:
        own = ", ".join(get_args(Choice))
        raise NoEstimateError(f"{method!r} is not known of this mixture: {problem}; it has {own}") from None
    prior = how.pop("prior", None)
    if any(variable.discrete for variable in mixture.schema):
        return score(dag, table, method, prior=Repeated(prior or BDeu(1.0), CLASS, weights), **how)
    known = stated(prior, as_source(table), default=BDeu(1.0), clusters=True)
    if not isinstance(known, NormalWishart):
        raise ParameterError(f"continuous components take a NormalWishart prior, not {prior!r}")
    tables = Repeated(BDeu(1.0), CLASS, weights)
    return score(dag, table, method, prior=replace(known, tables=tables), **how)


def as_network(mixture: Mixture) -> Dag:
    """Return the graph of a mixture as a network: one graph for all, below a hidden class.

    Refused where components have graphs of their own, hidden variables, or noise beside them, or where
    variables are of both kinds.
    """
    first = mixture.components[0].dag
    if any(component.dag.arcs != first.arcs for component in mixture.components[1:]):
        raise ParameterError("its components have different graphs, so that no network is the same")
    if mixture.noise is not None or mixture.schema.hidden:
        raise ParameterError("noise and hidden variables inside components are in no such network")
    kinds = {variable.discrete for variable in mixture.schema}
    if len(kinds) > 1:
        raise ParameterError("its prior is not that of a network where variables are of both kinds")
    owner = Variable(CLASS, tuple(range(len(mixture.components))), hidden=True)
    schema = Schema((owner, *mixture.schema))
    return Dag(schema, ((), *((CLASS, *first.parents_of(name)) for name in mixture.schema.names)))


@dataclass(frozen=True)
class Repeated:
    """A prior of tables that every state of a class has anew, and a Dirichlet over the class itself.

    Attributes
    ----------
    prior
        Of the graph without the class.
    name
        The class, the first parent of all other variables.
    total
        Σα of the Dirichlet over its states.
    """

    prior: Prior
    name: str
    total: float

    def __call__(self, dag: Dag) -> Belief:
        """Return the belief about a graph with the class."""
        states, rest = dag.schema[self.name].size, dag.without([self.name])
        alpha, known = np.full(dag.layout.tables, self.total / states), self.prior(rest).alpha
        for i, variable in enumerate(dag.schema):
            if variable.discrete and variable.name != self.name:
                own = rest.layout.table(known, rest.schema.index(variable.name))
                alpha[dag.layout.slice(i)] = dag.layout.flat(np.broadcast_to(own, (states, *own.shape)))
        return with_regressions(dag, alpha)
