"""The verb `score`: weigh one model by any estimate of its marginal likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from inspect import signature
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from lacunary.budget import budgeted
from lacunary.errors import NoEstimateError, ParameterError
from lacunary.evidence.charge import Charge
from lacunary.evidence.estimate import Estimate
from lacunary.evidence.problem import At, Problem, Tell
from lacunary.exactness import announced
from lacunary.family.protocol import Family
from lacunary.infer.answers import as_source
from lacunary.infer.belief import Dirichlet, Prior
from lacunary.infer.mixture import Mixture
from lacunary.learn.check import check_values, with_graph
from lacunary.learn.em import Basis
from lacunary.learn.fit import Fit
from lacunary.learn.start import Starts
from lacunary.learn.stop import Stop
from lacunary.model.dag import Dag
from lacunary.registry import borrow

__all__ = ["METHODS", "able", "estimate", "pose", "score"]


class Method(NamedTuple):
    """An estimate: where it lives, what it asks of families, and whether it can hold parameters fixed."""

    home: str
    need: str = ""
    """An attribute of `lacunary.family.protocol.Family`."""
    fixable: bool = True
    """Not where what is fixed would be charged for."""
    at: At = "map"
    """The point at which it is worked out unless told."""


METHODS: Mapping[str, Method] = {
    "exact": Method("exact.exact", "closed"),
    "map": Method("bic.peak", "smooth"),
    "bic": Method("bic.bic", at="ml"),
    "draper": Method("bic.draper", at="ml"),
    "sbic": Method("sbic.sbic", fixable=False),
    "wbic": Method("wbic.wbic", "smooth"),
    "laplace": Method("laplace.laplace", "smooth"),
    "prequential": Method("prequential.prequential", "conjugate"),
    "mled": Method("cheeseman_stutz.mled", "conjugate"),
    "cheeseman-stutz": Method("cheeseman_stutz.cheeseman_stutz", "conjugate"),
    "variational": Method("variational.variational", "conjugate"),
    "sampled": Method("smc.sampled", "smooth"),
    "sandwich": Method("sandwich.sandwich", "smooth"),
    "ais": Method("ais.ais", "smooth"),
    "path": Method("ladder.path", "conjugate"),
    "bridge": Method("ladder.bridge", "conjugate"),
    "chib": Method("chib.chib", "conjugate"),
}
"""The estimates, by the names people call them; loaded when first asked for."""

NEEDS: Mapping[str, str] = {
    "closed": "families whose evidence is known in closed form",
    "smooth": "families with smooth parameters",
    "conjugate": "conjugate families",
}
"""How what estimates ask of families is called."""


@budgeted
@announced
def score(
    model: Any,
    table: Any,
    method: str = "cheeseman-stutz",
    *,
    prior: Prior | None = None,
    at: At | None = None,
    dimension: Charge = "parameters",
    basis: Basis = "softmax",
    starts: int | Starts | None = None,
    stop: Stop | None = None,
    watch: Tell | None = None,
    rng: int | np.random.Generator = 0,
    exact: bool = False,
    memory: str | float | None = None,
    **options: Any,
) -> Estimate:
    """Return an estimate of log p(table | graph): how strongly data speak for a model, in nats.

    Parameters
    ----------
    model
        A graph, arrows between columns of the table such as ``"a -> b"``, or a fit, whose parameters then
        are the point at which estimates are worked out. What it held
        fixed is known then: nothing is charged for it. A mixture keeps its components' graphs; it has
        "cheeseman-stutz", "bic", "variational", "laplace" (continuous variables) and "ais" (rows without
        holes), and where all components have one graph whatever the network with a hidden class has.
    table
        Rows with holes: a table, a frame, an array or a path.
    method
        "exact", "map", "bic", "draper", "sbic", "wbic", "laplace", "prequential", "mled",
        "cheeseman-stutz", "variational", "sampled", "sandwich", "ais", "path", "bridge" or "chib".
    prior
        A rule that gives the hyperparameters, by default that of the fit, or ``Dirichlet(1)`` of a graph;
        regressions that it says nothing of have the table's own Normal–Wishart (`empirical_prior`).
    at
        "map" or "ml": the point at which the asymptotic estimates are worked out, by default that of the fit;
        of a graph "ml" for "bic" and "draper", where the likelihood has a maximum, and "map" for all others.
    dimension
        What is charged for: "parameters", all of them; "generic", the rank of the map from them to what can
        be observed, almost everywhere (also called "effective"); "data", that to what is observed together
        in some row; "at estimate", the rank at the point.
    basis, starts, stop, rng
        How the point is found; see `lacunary.fit`.
    watch
        Called now and then with what is being done and how much of it is done, between 0 and 1 or None.
    **options
        What the method takes beside these; see its own documentation.
    exact, memory
        As in `lacunary.fit`.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> two = lac.naive_bayes(votes.schema, hidden="bloc", states=2)
    >>> one = lac.naive_bayes(votes.schema, hidden="bloc", states=1)
    >>> bool(lac.score(two, votes).value > lac.score(one, votes).value)
    True
    """
    if isinstance(getattr(model, "mixture", model), Mixture):
        how = {"prior": prior, "stop": stop, "rng": rng, **options}
        found: Estimate = borrow("score of a mixture")(model, table, method, at=at, **how)
        return found
    problem = pose(model, table, prior=prior, basis=basis, starts=starts, stop=stop, watch=watch, rng=rng)
    shared = {"at": at, "dimension": dimension}
    found = estimate(problem, method, shared, options)
    return replace(found, doubts=str(getattr(problem.table, "doubts", "")))


def pose(
    model: Dag | Fit | str,
    table: Any,
    *,
    prior: Prior | None = None,
    basis: Basis = "softmax",
    starts: int | Starts | None = None,
    stop: Stop | None = None,
    watch: Tell | None = None,
    rng: int | np.random.Generator = 0,
    verb: str = "score",
) -> Problem:
    """Return a model and a table as a problem that several estimates can share; ``verb`` is who asks."""
    model, table = with_graph(verb, model, table)
    dag = model.dag if isinstance(model, Fit) else model
    source = as_source(table, dag.schema)
    check_values(dag, source)
    return Problem(
        dag,
        source,
        prior or (model.prior if isinstance(model, Fit) else Dirichlet(1.0)),
        basis=basis,
        starts=starts,
        stop=stop,
        rng=rng,
        given=model if isinstance(model, Fit) else None,
        fixed=model.given if isinstance(model, Fit) else None,
        tell=watch,
    )


def estimate(
    problem: Problem, method: str, shared: Mapping[str, Any], options: Mapping[str, Any]
) -> Estimate:
    """Work one estimate out and time it; of ``shared`` it takes what it knows, of ``options`` all."""
    function = _function(method, problem.dag)
    _check_fixed(problem, method)
    if method != "exact":
        problem.check_rows()
    known = set(signature(function).parameters) - {"problem"}
    unknown = set(options) - known
    if unknown:
        raise ParameterError(
            f"{method!r} has no option {', '.join(sorted(unknown))}; "
            f"it takes {', '.join(sorted(known)) or 'none'}"
        )
    taken = {k: v for k, v in shared.items() if k in known} | dict(options)
    if "at" in known:
        taken["at"] = taken.get("at") or (None if problem.given else METHODS[method].at)
        problem.point(taken["at"])  # the fit is shared work, not this estimate's
    began = perf_counter()
    try:
        found = function(problem, **taken)
    except KeyboardInterrupt:
        raise KeyboardInterrupt(_too_soon(problem.dag, method, known)) from None
    return replace(found, seconds=perf_counter() - began)


def _too_soon(dag: Dag, method: str, options: set[str]) -> str:
    """Say that an estimate had found nothing yet when it was interrupted, and what is sooner had."""
    said = f"{method!r} had found nothing yet that could be returned"
    sooner = [repr(m) for m in ("cheeseman-stutz", "variational", "laplace") if m in able(dag)]
    sampler = options & {"chains", "islands"}
    return f"{said}; sooner had: {', '.join(sooner)}" if sampler and sooner else said


def able(dag: Dag) -> tuple[str, ...]:
    """Return the estimates that all families of a graph can serve."""
    return tuple(method for method in METHODS if _unable(dag, method) is None)


def _unable(dag: Dag, method: str) -> Family | None:
    """Return the first family that an estimate cannot have; None if there is none."""
    need = METHODS[method].need
    chosen = (dag.families[dag.schema.index(name)] for name, _ in dag.family)
    return next((family for family in chosen if need and not getattr(family, need)), None)


def _check_fixed(problem: Problem, method: str) -> None:
    """Refuse estimates that would take what was fixed for learned."""
    if problem.fixed and not METHODS[method].fixable:
        others = [m for m in able(problem.dag) if METHODS[m].fixable]
        raise NoEstimateError(
            f"{method!r} cannot hold tables fixed, and the fit had {', '.join(problem.fixed)} fixed; "
            f"estimates that can are {', '.join(others)}; or score the graph, fit.dag, itself"
        )


def _function(method: str, dag: Dag) -> Callable[..., Estimate]:
    if method not in METHODS:
        raise ParameterError(f"there is no estimate {method!r}; the known ones are {', '.join(METHODS)}")
    family = _unable(dag, method)
    if family is not None:
        raise NoEstimateError(
            f"{method!r} needs {NEEDS[METHODS[method].need]}, and that of {family.variable.name} is "
            f"{family.phrase}; estimates that can are {', '.join(able(dag))}"
        )
    module, name = METHODS[method].home.split(".")
    function: Callable[..., Estimate] = getattr(import_module(f"lacunary.evidence.{module}"), name)
    return function
