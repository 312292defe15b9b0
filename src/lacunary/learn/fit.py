"""Fit the parameters of a graph to a table with holes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from lacunary.budget import budgeted
from lacunary.data.fingerprint import digest, fingerprint, same_run
from lacunary.data.source import Source
from lacunary.errors import ParameterError
from lacunary.exactness import announced
from lacunary.family.regression import VARIANCE_FLOOR
from lacunary.infer.answers import as_source
from lacunary.infer.batches import Batches
from lacunary.infer.belief import Belief, Dirichlet, Prior
from lacunary.infer.empirical import stated
from lacunary.infer.network import Network
from lacunary.infer.rows import Rows
from lacunary.infer.scale import Scale
from lacunary.learn.check import check_rows, check_select, with_graph
from lacunary.learn.em import Basis, Maximize, learned, maximize_rule
from lacunary.learn.foregone import with_foregone
from lacunary.learn.found import Climbs, Fit, Start
from lacunary.learn.groups import Groups, has_classes
from lacunary.learn.loop import Climb, Rule, Watch, climb
from lacunary.learn.online import Averaged, Online, climb_online, online_of
from lacunary.learn.select import Choice, Select, Selection, rule_of
from lacunary.learn.start import Draws, Given, Starts, Tournament, first_point
from lacunary.learn.stop import Stop
from lacunary.learn.tournament import tournament
from lacunary.learn.units import moved, outside, standardized, watched
from lacunary.learn.vbem import Update, update_rule
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["Fit", "Start", "fit", "reselect", "rule_for"]

Method = Literal["ml", "map", "variational"]

FLOOR = VARIANCE_FLOOR * (1.0 + 1e-6)
"""Variances up to here, of standardised columns, are the smallest that maximum likelihood may take."""

DEFAULT_STARTS = 20
"""Starts where something is hidden; without hidden variables one is the default."""


@budgeted
@announced
def fit(
    dag: Dag | str,
    table: Any,
    *,
    method: Method = "map",
    prior: Prior | None = None,
    basis: Basis = "softmax",
    starts: int | Starts | None = None,
    select: Select = "best",
    select_options: Mapping[str, Any] | None = None,
    initial: Network | Fit | Sequence[Network] | None = None,
    fixed: Mapping[str, ArrayLike] | None = None,
    stop: Stop | None = None,
    accelerate: bool = False,
    online: Online | int | bool | None = None,
    watch: Watch | None = None,
    rng: int | np.random.Generator = 0,
    exact: bool = False,
    memory: str | float | None = None,
) -> Fit:
    """Return the parameters of a graph, learned from a table in which any cell may be empty.

    Every row counts: the holes are summed out exactly. The same call gives the same numbers.

    Parameters
    ----------
    dag
        The graph, whose hidden variables need no column; or arrows between columns, such as ``"a -> b"``.
    table
        Rows with holes: a table, a frame, an array or a path. Columns the graph does not name are ignored.
    method
        "ml" maximises the likelihood, "map" the likelihood times the prior density; "variational" raises a
        lower bound of the log evidence, with a posterior for the parameters (BG03).
    prior
        A rule that gives the hyperparameters, by default ``Dirichlet(1)``. Unless the rule says otherwise,
        the regressions of continuous variables have the table's own Normal–Wishart: `empirical_prior`.
    basis
        The coordinates in which the prior is a density: "softmax" adds pseudo-counts α, any α > 0;
        "probability" adds α − 1, as in CH96, and needs α ≥ 1.
    starts
        How many starts, or a rule for them: `Draws`, `Groups`, `Tournament`, `Around`. By default 20 where
        something is hidden, `Groups` of rows and draws by turns where that are classes of continuous
        variables, else draws; otherwise one, from the rows in which each family is fully observed.
    select
        How parameters are chosen from the starts: "best", of highest objective; "average", the mean of
        every distribution; "entropy", the most entropic of the good ones; "max-entropy", the most
        entropic of all parameters that score well; "global", with a certificate that none score
        better; "ensemble", the best, with predictions averaged by `Fit.ensemble`. See docs/parameters.md.
    select_options
        Options of the selection by name, such as ``{"weights": "posterior"}`` or ``{"c": 0.9}``.
    initial
        A network, several, or an earlier fit to go on from, instead of ``starts``. What a `Checkpoint` wrote,
        loaded, goes on to the same end, bit for bit, with the same rows and settings, which is checked.
    fixed
        Tables that are known and not learned, by name: parents first, the variable last.
    stop
        When to stop; by default once the objective changes by less than 1e-8 of its size.
    accelerate
        Whether to extrapolate (SQUAREM): fewer sweeps, and the objective still never falls.
    online
        Learn from mini-batches of rows first, for a good answer after one pass: True, the rows of a batch,
        or `Online(batch_size=..., passes=...)`. That is online EM, and with "variational" stochastic
        variational inference. Sweeps over all rows follow, unless `Online` says otherwise.
    watch
        Called after every sweep with a `Progress`; a true answer ends the fit.
    rng
        Seed or generator for the random starts.
    exact
        Refuse, with a `TooWideError`, what does not fit exact inference, instead of drawing it by Gibbs
        chains with a stated error, which an `ApproximationWarning` announces.
    memory
        The most memory that the process may use meanwhile, such as "2 GB"; rows that do not fit are laid out
        piece by piece, to the same numbers. See `lacunary.memory`.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> blocs = lac.naive_bayes(votes.schema, hidden="bloc", states=2)
    >>> found = lac.fit(blocs, votes, starts=5)
    >>> found.converged
    True
    >>> lac.fit("party -> crime", votes).dag.arcs
    (('party', 'crime'),)
    """
    if method not in ("ml", "map", "variational"):
        raise ParameterError(f"method must be 'ml', 'map' or 'variational', not {method!r}")
    dag, table = with_graph("fit", dag, table)
    choice = rule_of(select, select_options or {})
    rows = as_source(table, dag.schema)
    check_rows(dag, rows, method)
    check_select(dag, select)
    names, scale = tuple(fixed or ()), Scale.of(rows, dag)
    asked, prior = prior or Dirichlet(1.0), stated(prior, rows, scale)
    rows_given, given = rows, fixed
    fixed, log_foregone = with_foregone(dag, rows, method, fixed)
    rows = scale.source(rows)
    belief = scale.believed_inside(prior(dag))
    rule = _rule(belief, scale, method, basis, fixed, log_foregone)
    prepared = scale.prepare(dag, rows)
    maker = _starts(dag, starts, initial, scale)
    limit, batched = stop or Stop(relative=1e-8), online_of(online)
    kept = cache(
        partial(_fingerprint, dag, rows_given, method, basis, asked, given, limit, accelerate, batched)
    )
    standing = _standing(initial, kept)
    halving = isinstance(maker, Tournament) or "alive" in (standing or {})
    if halving and select in ("average", "entropy", "ensemble"):
        raise ParameterError(
            f"select={select!r} needs starts that all climb to the end: use starts=Draws(30)"
        )
    if halving and batched:
        raise ParameterError("a tournament's starts are judged by all rows: use starts=Draws(8) with online")
    batches = Batches(dag, rows, partial(scale.prepare, dag), batched.batch_size) if batched else None
    if maker is None:
        theta = first_point(batches or prepared, belief, rows)[None]
    else:
        theta = maker.points(belief, prior, rows, np.random.default_rng(rng))
    watch = watched(watch, dag, scale, kept)
    how: Any = {"accelerate": accelerate, "watch": watch, "standing": standing}
    if batches and batched:
        averaged = Averaged(rule, batches, batched)
        climbs, interrupted = climb_online(prepared, averaged, theta, limit, **how)
    elif halving:
        climbs, interrupted = tournament(prepared, rule, rule.begin(prepared, theta), limit, **how)
    else:
        climbs, interrupted = climb(prepared, rule, rule.begin(prepared, theta), limit, **how)
    if not climbs[0].trace:  # interrupted before anything was known
        raise KeyboardInterrupt
    found = _fit(prepared, rule, belief, climbs, method, basis, interrupted)
    if select != "best":
        found = _selected(found, choice, prepared, rule, belief, fixed)
    for i, family in dag.implied if method == "ml" else ():
        family.warn(dag.layout.states_first(found.network.theta, i))
    said = str(getattr(rows_given, "doubts", ""))
    return replace(outside(found, scale), prior=prior, fixed=names, doubts=said)


@budgeted
def reselect(
    found: Fit,
    table: Any,
    select: Select,
    *,
    prior: Prior | None = None,
    fixed: Mapping[str, ArrayLike] | None = None,
    select_options: Mapping[str, Any] | None = None,
) -> Fit:
    """Return a fit whose parameters are chosen anew from its starts, without climbing again.

    The table must be that of the fit; the prior and what is fixed are, unless others are given.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> found = lac.fit(lac.naive_bayes(votes, hidden="bloc", states=2), votes, starts=3)
    >>> len(lac.reselect(found, votes, "average").starts)
    3
    """
    choice = rule_of(select, select_options or {})
    check_select(found.dag, select)
    rows = as_source(table, found.dag.schema)
    fixed = found.given if fixed is None else fixed
    fixed, log_foregone = with_foregone(found.dag, rows, found.method, fixed)
    scale = Scale.of(rows, found.dag)
    belief = scale.believed_inside(stated(prior or found.prior, rows, scale)(found.dag))
    rule = _rule(belief, scale, found.method, found.basis, fixed, log_foregone)
    prepared = scale.prepare(found.dag, scale.source(rows))
    inside = moved(found, scale.inward)
    return outside(_selected(inside, choice, prepared, rule, belief, fixed), scale)


def rule_for(found: Fit, scale: Scale) -> Maximize | Update:
    """Return the step by which a fit was made, for more rows in the same units."""
    belief = scale.believed_inside(found.prior(found.dag))
    return _rule(belief, scale, found.method, found.basis, None, 0.0)


def _rule(
    belief: Belief,
    scale: Scale,
    method: str,
    basis: str,
    fixed: Mapping[str, ArrayLike] | None,
    log_foregone: float,
) -> Maximize | Update:
    """Return the step of a method; its prior density is in the data's units, of what is learned alone."""
    held = standardized(belief.dag, scale, fixed)
    if method == "variational":
        return update_rule(belief, held)
    rule = maximize_rule(belief, cast(Literal["ml", "map"], method), cast(Basis, basis), held)
    if method == "ml":
        return rule
    stretch = scale.log_stretch(rule.dag, learned(rule.dag, rule.known))
    return replace(rule, log_constant=rule.log_constant + stretch + log_foregone)


def _belief(prepared: Rows, rule: Rule, belief: Belief, climb: Climb, climbs: int) -> Belief:
    """Return the approximate posterior: that of the bound, or the prior updated by the expected counts."""
    if isinstance(rule, Update):
        return replace(belief, alpha=climb.point)
    # Several climbed as a batch: another batch, even of twins, spares compiling the sweep for one.
    swept = prepared.expect(np.repeat(climb.theta[None], min(climbs, 2), axis=0))
    return replace(belief, alpha=belief.alpha + swept.counts[0])


def _fit(
    prepared: Rows,
    rule: Maximize | Update,
    belief: Belief,
    climbs: list[Climb],
    method: str,
    basis: str,
    interrupted: bool,
) -> Fit:
    """Choose among the climbs and put the result together."""
    dag = belief.dag
    logs = [c.log_likelihood for c in climbs]
    if isinstance(rule, Update):  # what was climbed is a bound; the likelihood is that of the mean
        logs = prepared.expect(np.array([c.theta for c in climbs])).log_likelihood.tolist()
    made = tuple(c.start(dag, log) for c, log in zip(climbs, logs, strict=True))
    if method == "ml":
        made = tuple(replace(start, degenerate=_degenerate(start)) for start in made)
    best = max(made, key=lambda start: (not start.degenerate, start.objective))
    if best.objective == -np.inf:
        prepared.check_possible(best.network.theta)
    return Fit(
        network=best.network,
        belief=_belief(prepared, rule, belief, climbs[made.index(best)], len(climbs)),
        objective=best.objective,
        log_likelihood=best.log_likelihood,
        trace=best.trace,
        converged=best.converged,
        iterations=best.iterations,
        starts=made,
        method=method,
        basis=basis,
        interrupted=interrupted,
        constant=rule.log_constant if isinstance(rule, Maximize) else 0.0,
        error=best.error,
    )


def _degenerate(start: Start) -> bool:
    """Tell whether a regression's variance is the smallest there is, of standardised columns."""
    dag = start.network.dag
    return any(
        family.linear and bool(np.any(dag.layout.records(start.network.theta, i)[..., -1] <= FLOOR))
        for i, family in dag.numeric
    )


def _selected(
    found: Fit,
    choice: Choice,
    prepared: Rows,
    rule: Maximize | Update,
    belief: Belief,
    fixed: Mapping[str, ArrayLike] | None,
) -> Fit:
    """Return the fit with the parameters that a rule chooses from the starts, and what holds at these."""
    if choice.name != "best" and not found.dag.implied:  # whose weights' prior tells names of states apart
        found = _aligned(found, prepared, [belief.alpha, rule.known])
    chosen = choice(found, prepared, belief, fixed)
    theta = np.repeat(chosen.network.theta[None], min(len(found.starts), 2), axis=0)
    point = rule.begin(prepared, theta)
    swept = prepared.expect(rule.potentials(point))
    log = swept.log_likelihood
    climbed = next((s for s in found.starts if s.network is chosen.network), None)
    best = climbed or max(found.starts, key=lambda start: start.objective)
    objective = rule.objective(point, log)
    if isinstance(rule, Update):  # what was swept belongs to the bound; the likelihood is that of the mean
        log = prepared.expect(theta).log_likelihood
    return replace(
        found,
        network=chosen.network,
        belief=replace(
            belief, alpha=point[0] if isinstance(rule, Update) else belief.alpha + swept.counts[0]
        ),
        objective=best.objective if climbed else float(objective[0]),
        log_likelihood=float(log[0]),
        trace=best.trace,
        converged=best.converged,
        iterations=best.iterations,
        selection=Selection(choice.name, chosen.details),
    )


def _aligned(found: Fit, prepared: Rows, like: Sequence[Array]) -> Fit:
    """Return the fit with the states of hidden variables named in every start as in the best."""
    from lacunary.learn.align import aligned  # rarely needed

    theta = np.array([start.network.theta for start in found.starts])
    renamed = aligned(prepared, theta, int(found.scores.argmax()), like)
    starts = tuple(
        start if np.array_equal(new, old) else replace(start, network=Network(found.dag, new))
        for start, old, new in zip(found.starts, theta, renamed, strict=True)
    )
    return replace(found, starts=starts)


def _fingerprint(
    dag: Dag,
    rows: Source,
    method: str,
    basis: str,
    prior: Prior,
    fixed: Mapping[str, ArrayLike] | None,
    stop: Stop,
    accelerate: bool,
    online: Online | None,
) -> dict[str, str]:
    """Return what must stay the same for climbs to go on, by name; how many sweeps there may be need not."""
    graph = (dag.parents, dag.tied, dag.family)
    held = {name: np.asarray(table, dtype=np.float64) for name, table in (fixed or {}).items()}
    return fingerprint(
        rows,
        graph=digest(graph)[:16],
        method=method,
        basis=basis,
        prior=prior,
        fixed=held or None,
        stop=replace(stop, iterations=1),
        accelerate=accelerate,
        **({} if online is None else {"online": online}),
    )


def _standing(initial: object, kept: Callable[[], Mapping[str, str]]) -> Mapping[str, Any] | None:
    """Return how the climbs stood that are to go on, if they are a checkpoint's and of the same run."""
    if not isinstance(initial, Climbs) or not initial.standing:
        return None
    same_run(kept(), initial.fingerprint)
    return initial.standing


def _starts(
    dag: Dag, starts: int | Starts | None, initial: Network | Fit | Sequence[Network] | None, scale: Scale
) -> Starts | None:
    if initial is not None:
        if starts is not None:
            raise ParameterError("give either starts or initial, not both")
        return Given(scale.inward(dag, _initial(dag, initial)))
    rule = Groups if has_classes(dag) and dag.continuous else Draws
    if starts is None:
        return rule(DEFAULT_STARTS) if dag.schema.hidden else None
    if isinstance(starts, int | np.integer):
        return rule(int(starts))
    if not hasattr(starts, "points"):
        raise ParameterError(f"starts must be a number or a rule such as Draws(20), not {starts!r}")
    return starts


def _initial(dag: Dag, initial: Network | Fit | Sequence[Network]) -> Array:
    if isinstance(initial, Fit):
        networks: Sequence[Network] = [start.network for start in initial.starts]
    else:
        networks = [initial] if isinstance(initial, Network) else list(initial)
    if not networks:
        raise ParameterError("initial needs at least one network")
    for network in networks:
        if not isinstance(network, Network):
            raise ParameterError(f"initial must be a network, several, or a fit, not {network!r}")
        if _shape(network.dag) != _shape(dag):
            raise ParameterError(
                "initial must have the variables, states, parents, families and ties of the fitted graph"
            )
    return np.array([network.theta for network in networks])


def _shape(dag: Dag) -> object:
    """Return all that parameters depend on; which variables are hidden is not of it."""
    return [(v.name, v.states) for v in dag.schema], dag.parents, dag.tied, dag.family
