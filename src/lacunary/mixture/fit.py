"""The verb `fit_mixture`: find the components, their structures and their number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast, get_args

import numpy as np

from lacunary.budget import budgeted, reserve
from lacunary.data.fingerprint import fingerprint, rows_digest
from lacunary.data.recipe import MOST as PART
from lacunary.data.schema import Variable
from lacunary.data.source import Source, one_table
from lacunary.data.wording import counted
from lacunary.errors import GraphError, ParameterError, TableError
from lacunary.exactness import announced
from lacunary.infer.answers import as_source
from lacunary.infer.belief import BDeu, Dirichlet, Prior
from lacunary.infer.blas import one_blas_thread
from lacunary.infer.empirical import said_prior, stated
from lacunary.infer.mixture import Mixture
from lacunary.infer.prior import NormalWishart
from lacunary.learn.around import Around
from lacunary.learn.stop import Stop
from lacunary.mixture.begin import begun_from
from lacunary.mixture.engine import engine_of
from lacunary.mixture.evidence import check_annealed, check_laplace
from lacunary.mixture.found import MixtureFit, WatchMixture
from lacunary.mixture.grow import WINNERS, Growth
from lacunary.mixture.labels import labelled
from lacunary.mixture.learner import CONVERGED, Choice, MixtureLearner
from lacunary.mixture.noise import NoiseGiven, noise_of
from lacunary.mixture.sharing import SharedGiven, Sharing
from lacunary.mixture.trail import MixtureTrail
from lacunary.model.arrows import parse
from lacunary.model.dag import Dag
from lacunary.structure.anneal import Anneal
from lacunary.structure.best_first import BestFirst
from lacunary.structure.climb import Greedy
from lacunary.structure.constraints import ArcsGiven, Constraints
from lacunary.structure.default import last_method
from lacunary.structure.gaussian import Normal
from lacunary.structure.hidden import trials, with_hidden
from lacunary.structure.method import SearchMethod, method_of
from lacunary.structure.plan import Plan
from lacunary.structure.prior import DEFAULT, PriorGiven, StructurePrior
from lacunary.structure.result import SCHEDULE
from lacunary.structure.schedule import parse_schedule
from lacunary.structure.score import Structure
from lacunary.structure.search import with_family
from lacunary.structure.walk import structure_of

__all__ = ["SCHEDULE", "fit_mixture"]

StructureClass = Literal["learn", "tree", "empty", "complete"]
CLASSES = get_args(StructureClass)


@budgeted
@announced
@one_blas_thread()
def fit_mixture(
    table: Any,
    *,
    components: int | str | Iterable[int] = "auto",
    structure: StructureClass | Dag | str | Sequence[Dag | str] | None = None,
    noise: NoiseGiven = False,
    shared: SharedGiven = (),
    given: str | None = None,
    hidden: Mapping[str, int | Iterable[int] | str] | None = None,
    prior: Normal | Prior | None = None,
    structure_prior: PriorGiven = DEFAULT,
    weights: float = 1.0,
    noise_share: float = 0.01,
    initial: Mixture | MixtureFit | None = None,
    starts: int | Around | None = None,
    ess: float = 200.0,
    begin_weights: Literal["equal", "draws"] = "equal",
    required: ArcsGiven = (),
    forbidden: ArcsGiven = (),
    max_parents: int | None = None,
    tiers: Sequence[Sequence[str]] | None = None,
    family: str | Mapping[str, str] | None = None,
    schedule: str = SCHEDULE,
    method: str | SearchMethod = "map",
    search: str | SearchMethod | None = None,
    until: Literal["structure", "score"] = "structure",
    stop: Stop | None = None,
    choose: Choice | None = None,
    trace: bool = False,
    watch: WatchMixture | None = None,
    resume: MixtureTrail | None = None,
    rng: int | np.random.Generator = 0,
    exact: bool = False,
    memory: str | float | None = None,
) -> MixtureFit:
    """Return a mixture of networks, learned from a table, each with a structure of its own (TMCH98).

    Every row counts, whatever is missing in it. The same call gives the same mixture.

    Parameters
    ----------
    table
        The rows: a table, a frame, an array or a path.
    components
        How many; several numbers to try; or "auto": grow from one until the estimate has fallen twice, then
        go back as long as merging two components finds a better smaller mixture.
    structure
        "learn" (MDAG), "tree", "empty" (variables independent within a component, MDIAG) or "complete"
        (full covariance matrices, MFULL). By default "learn", or what a code in ``shared`` names. A graph or
        arrows stand for every component, several for one each: they are fitted and scored as they are.
    noise
        A uniform component for outliers: True, bounds (low, high), bounds by name, or a `Pareto` belief.
    shared
        What all components have in common: "structure", "size" (their weights), and of the regressions of
        continuous variables "volume", "shape", "coefficients", or "sphere"; or one of the fourteen codes of
        model-based clustering, from "EII" to "VVV". See docs/mixture-models.md.
    given
        A discrete column whose states are the components: a Bayesian multinet, with which new rows are
        classified. Rows in which it is missing count as well.
    hidden
        Hidden variables inside the components: ``{"H": 2}`` is discrete with two states, ``{"H": [1, 2, 3]}``
        tries several numbers (one: without it), ``{"F": "continuous"}`` is a factor. With
        ``structure="empty"`` factors above all variables make a mixture of factor analysers.
    prior
        For continuous variables a `NormalWishart`, by default the table's own, with the covariance of
        residuals within clusters of rows (`empirical_prior`); for discrete ones a rule such as ``bdeu(1)``,
        the default. TMCH98's digits:
        ``NormalWishart(nu=2, means=64, covariance=0.5)``.
    structure_prior
        How probable the components' graphs are beforehand, as of `lacunary.search`; each component has it
        anew, or all have it together where they share their structure.
    weights, noise_share
        Σα of the Dirichlet over the weights, and the noise's part of it.
    initial
        A mixture, or what learning one found, to go on from in place of starts.
    starts
        How many winners of a short tournament climb to the end for each number of components, by default one.
        In it are groups of rows by k-means++ and hierarchical merging, a component of the best smaller
        mixture split, and a draw; where structures are learned, mixtures of empty, tree and complete
        structures that began so. Only numbers near the best have their structures searched to the end, and
        the best is tried again: from rows exchanged between its components, groups and draws. ``Around(20)``
        climbs from 20 draws around the fit to all rows instead, as in TMCH98.
    ess
        How many rows the belief around the fit to all rows is worth, from which draws are made.
    begin_weights
        Weights with which `Around` begins: "equal", or "draws" from all weights evenly.
    required, forbidden, max_parents, tiers
        Which graphs are looked for; see `lacunary.search`.
    family
        Families other than a table or a linear regression, by name, or one for every variable: "poisson"
        for counts.
    schedule
        How EM and search take turns; see `lacunary.structure.schedule`.
    method
        "map" maximises the likelihood times the prior density; "ml" the likelihood alone, with structures and
        numbers of components chosen by BIC. Starts that lead to a variance of all but none are degenerate:
        they are not chosen unless all are. (The name of a search stands for ``search``.)
    search
        The search behind ``S*``. "reinsert", the default, and others follow a climb the first time that it
        leaves every structure as it is; "greedy" (the algorithm as published), "best-first" and "anneal", and
        `Greedy` with restarts, are the step itself. Where none is named, the components of the best mixture
        have the best of all graphs in the end, if these are found in seconds, or else the best that
        reinsertion comes to from a few random graphs. See `lacunary.search`.
    until
        Learning ends when no "structure" changes, or when the "score" of a round does not rise.
    stop
        When EM has converged; by default the last change over the change since the start is below 1e-6.
    choose
        The estimate by which the number of components is chosen: "cheeseman-stutz"; "laplace", of continuous
        variables; "ais", annealed importance sampling, of rows without holes; "variational", a lower bound;
        or "bic", which it is where components share parameters and for maximum likelihood.
    trace
        Work the estimate out after every arc change.
    watch
        Called after every step with a `MixtureProgress`; a true answer ends learning with the best so far.
    resume
        Go on from here: what `Checkpoint` wrote, loaded, with the same rows and settings. Numbers of
        components and starts may be others; what is done already is not done again.
    rng
        Seed or generator of the starts.
    exact
        Refuse, with a `TooWideError`, what does not fit exact inference, instead of drawing it by Gibbs
        chains with a stated error, which an `ApproximationWarning` announces.
    memory
        The most memory that the process may use meanwhile, such as "2 GB"; rows that do not fit are laid out
        piece by piece, to the same numbers. See `lacunary.memory`.

    Examples
    --------
    >>> import lacunary as lac, numpy as np
    >>> rng = np.random.default_rng(0)
    >>> x = np.vstack([rng.normal(size=(200, 2)), rng.normal(6.0, 1.0, size=(200, 2))])
    >>> len(lac.fit_mixture(x, structure="empty").mixture.components)
    2
    """
    rows = as_source(table)
    if family is not None:
        rows = rows.mapped(partial(with_family, family))
    every, (rows, labels) = rows, labelled(rows, given, components, noise)
    if not rows.size > 0:
        raise TableError("there are no rows to learn from")
    if until not in ("structure", "score"):
        raise ParameterError(f"until must be 'structure' or 'score', not {until!r}")
    way, ml = _ways(method, search)
    named = search if method in ("map", "ml") else method  # where none is named, graphs end at the best
    _check_weights(weights, noise_share, begin_weights)
    if ml and prior is not None:
        raise ParameterError("method='ml' takes no prior; leave one of them out")
    known = MAXIMUM if ml else _stated(prior, every, given)

    def learned(full: Source) -> MixtureFit:
        """Learn with hidden variables of one number of states each."""
        graphs, kind = _graphs(structure, shared, full)
        sharing = _sharing(shared, kind)
        constraints = Constraints.of(
            full.schema, required=required, forbidden=forbidden, max_parents=max_parents, tiers=tiers
        )
        by = _choice(choose, sharing, ml)
        learner = MixtureLearner(
            engine_of(full, known, sharing, "bic" if ml else "bd"),
            noise_of(noise, full),
            LIGHT if ml else weights,
            noise_share,
            sharing.size,
            labels.allowed,
            by,
            ml,
            bool(labels.known and not full.facts.holes.any() and not sharing.parameters),
        )
        _check_choice(learner, full)
        refine: Literal["never", "once"] = "never" if _is_step(way) else "once"
        graph_prior = StructurePrior.of(structure_prior, constraints)
        plan = Plan(
            constraints, graph_prior, parse_schedule(schedule), way, refine,
            kind, until, stop or CONVERGED, trace=trace, shared=sharing.structure,
        )  # fmt: skip
        begin = starts if isinstance(starts, Around) else _count("starts", starts or WINNERS)
        described = partial(
            fingerprint, full, prior=prior, noise=noise, noise_share=float(noise_share),
            weights=float(weights), shared=sharing, choose=by,
            known_components=rows_digest(every) if labels.classes else None,
            fitted_by="ml" if ml else "map", structure=kind,
            graphs=graphs, begin_weights=begin_weights,
        )  # fmt: skip
        growth = Growth(learner, plan, full, begin, ess, _seed(rng), watch, described, resume)
        if named is None and growth.entrants.rough is not plan:
            growth.last = partial(last_method, full, constraints)
        growth.entrants.graphs, growth.drawn_weights = graphs, begin_weights == "draws"
        if initial is not None:
            growth.entrants.initial = begun = begun_from(initial, full, learner.noise is not None)
            if _how_many(components, graphs, full) not in (None, [begun.many]):
                raise ParameterError(
                    f"the mixture to start from has {counted(begun.many, 'component')}, which it keeps; "
                    "leave components out"
                )
            return growth.run([begun.many])
        if labels.classes:
            return replace(growth.run([len(labels.classes)]), classes=labels.classes)
        return growth.run(_how_many(components, graphs, full))

    said = "" if ml else said_prior(known, rows.schema)
    return replace(_best_hidden(rows, hidden, learned), doubts=str(getattr(rows, "doubts", "")), prior=said)


LIGHT = 1e-9
"""Rows that a prior is worth where the likelihood alone counts."""

MAXIMUM = NormalWishart(nu=LIGHT, tables=Dirichlet(LIGHT))
"""The prior of maximum likelihood: all but none, so that no variance or probability is zero."""


def _best_hidden(
    rows: Source, hidden: Mapping[str, Any] | None, learned: Callable[[Source], MixtureFit]
) -> MixtureFit:
    """Return the best mixture over all numbers of hidden states, and what each choice is worth."""
    given = dict(hidden or {})
    factors = [name for name, kind in given.items() if kind == "continuous"]
    choices = trials({name: states for name, states in given.items() if name not in factors})
    found = []
    for choice in choices:
        full = with_hidden(rows, choice)
        new = [Variable(name, kind="continuous", hidden=True) for name in factors]
        found.append(learned(full.align(full.schema.extend(new)) if new else full))
        if found[-1].interrupted:
            break
    best = max(found, key=lambda one: one.chosen.value)
    if len(choices) == 1:
        return best
    tried = {choice: one.chosen.value for choice, one in zip(choices, found, strict=False)}
    return replace(best, hidden_trials=tried, interrupted=found[-1].interrupted)


def _ways(method: str | SearchMethod, search: str | SearchMethod | None) -> tuple[SearchMethod, bool]:
    """Return the search behind ``S*``, and whether likelihood alone is maximised."""
    fits = method in ("map", "ml")
    if not fits and search is not None:
        raise ParameterError(f"method is 'map' or 'ml' where search is given, not {method!r}")
    named = search if fits else method
    return method_of("reinsert" if named is None else named), method == "ml"


def _is_step(way: SearchMethod) -> bool:
    """Whether a search is the S step itself (TMCH98 section 5), and not what follows where climbing ends."""
    return isinstance(way, Greedy | BestFirst | Anneal)


def _sharing(shared: SharedGiven, kind: str) -> Sharing:
    sharing = Sharing.of(shared)
    if sharing.eigen and kind != "complete":
        raise ParameterError(
            f"{shared} speaks of eigenvectors of full covariances: structure='complete'; the coefficients "
            "and variances of regressions are shared by names, such as ['volume', 'coefficients']"
        )
    return sharing


def _graphs(structure: Any, shared: SharedGiven, rows: Source) -> tuple[tuple[Structure, ...], str]:
    """Return the graphs that are given, one for all components or one each, and the class of structures."""
    if structure is None:
        return (), Sharing.structure_of(shared) or "learn"
    if isinstance(structure, str) and structure in CLASSES:
        return (), structure
    named = isinstance(structure, str) and "->" not in structure and ";" not in structure
    if named or not isinstance(structure, Dag | str | Sequence):
        raise ParameterError(
            "structure must be 'learn', 'tree', 'empty', 'complete', a graph, or one for each component, "
            f"not {structure!r}"
        )
    many = [structure] if isinstance(structure, Dag | str) else list(structure)
    if not many:
        raise ParameterError("structure names no graph; give one for all components, or one for each")
    return tuple(_structure(each, rows) for each in many), "given"


def _stated(prior: Normal | Prior | None, rows: Source, given: str | None) -> Any:
    """Return the prior; by default the table's own, of residuals within classes, or else within clusters."""
    if prior is not None and not any(variable.discrete for variable in rows.schema):
        return prior
    known = None if given is None else [given]
    return stated(prior, rows, default=BDeu(1.0), clusters=given is None, groups=known)


def _structure(graph: Dag | str, rows: Source) -> Structure:
    """Return a given graph over the table's variables."""
    dag = Dag.from_arcs(rows.schema, parse(graph).arcs) if isinstance(graph, str) else graph
    strange = [name for name in dag.names if name not in rows.schema.names]
    missing = [name for name in rows.schema.names if name not in dag.names]
    if strange or missing:
        what = f"has {strange[0]}, which the table has not" if strange else f"lacks {missing[0]}"
        raise GraphError(f"a component's graph must be over the table's variables; this one {what}")
    return structure_of(Dag.from_arcs(rows.schema, dag.arcs))


def _how_many(
    components: int | str | Iterable[int], graphs: tuple[Structure, ...], rows: Source
) -> list[int] | None:
    """Return the numbers of components to try; none to grow."""
    numbers = None if isinstance(components, str) and components == "auto" else _numbers(components, rows)
    if len(graphs) < 2:
        return numbers
    if numbers is not None and numbers != [len(graphs)]:
        raise ParameterError(f"{len(graphs)} graphs are given, one for each component; leave components out")
    return [len(graphs)]


def _choice(choose: str | None, sharing: Sharing, ml: bool) -> Choice:
    if choose not in (None, *get_args(Choice)):
        raise ParameterError(f"choose must be {', '.join(map(repr, get_args(Choice)))}, not {choose!r}")
    if choose not in (None, "bic") and (sharing.parameters or ml):
        what = "components that share parameters have" if sharing.parameters else "maximum likelihood has"
        raise ParameterError(f"{what} no evidence in closed form: choose='bic'")
    return "bic" if sharing.parameters or ml else cast(Choice, choose or "cheeseman-stutz")


def _check_choice(learner: MixtureLearner, rows: Source) -> None:
    """Refuse estimates that this kind of mixture does not have, before anything is learned."""
    if learner.by == "laplace":
        check_laplace(learner)
    if learner.by == "ais":
        check_annealed(learner, bool(rows.facts.holes.any() or rows.schema.hidden))
        rows.whole("annealed importance sampling of a mixture")


def _numbers(components: int | str | Iterable[int], rows: Source) -> list[int]:
    if isinstance(components, str):
        raise ParameterError(f"components must be a number, several, or 'auto', not {components!r}")
    numbers = list(components) if isinstance(components, Iterable) else [components]
    for many in numbers:
        _count("components", many)
        if many > rows.size:
            raise ParameterError(f"{many} components for {rows.size:g} rows; there must be no more than rows")
    if not numbers:
        raise ParameterError("components names no number to try")
    most = max(map(int, numbers))
    some = len(rows) if one_table(rows) is not None else min(len(rows), PART)
    needed = 8.0 * most * (4 * some + 2 * len(rows.schema) ** 2)  # shares; second moments
    reserve(needed, f"a mixture of {most} components", "take fewer components")
    return [int(many) for many in numbers]


def _check_weights(weights: float, noise_share: float, begin_weights: str) -> None:
    """Refuse hyperparameters of weights that are no Dirichlet's, and beginnings that are not known."""
    if not 0.0 < weights < np.inf:
        raise ParameterError(f"weights, the sum of a Dirichlet's alpha, must be positive, not {weights!r}")
    if not 0.0 < noise_share < 1.0:
        raise ParameterError(f"noise_share must be between 0 and 1, not {noise_share!r}")
    if begin_weights not in ("equal", "draws"):
        raise ParameterError(f"begin_weights must be 'equal' or 'draws', not {begin_weights!r}")


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least one, not {value!r}")
    return int(value)


def _seed(rng: int | np.random.Generator) -> int:
    return int(rng.integers(2**62)) if isinstance(rng, np.random.Generator) else int(rng)
