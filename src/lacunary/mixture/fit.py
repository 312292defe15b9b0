"""The verb `fit_mixture`: find the components, their structures and their number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

import numpy as np

from lacunary.data.fingerprint import fingerprint
from lacunary.data.schema import Variable
from lacunary.data.source import Source, row_weights
from lacunary.errors import ParameterError, TableError
from lacunary.infer.answers import as_source
from lacunary.infer.belief import Prior
from lacunary.learn.around import Around
from lacunary.learn.stop import Stop
from lacunary.mixture.engine import engine_of
from lacunary.mixture.found import MixtureFit, WatchMixture
from lacunary.mixture.grow import WINNERS, Growth
from lacunary.mixture.labels import labelled
from lacunary.mixture.learner import CONVERGED, MixtureLearner
from lacunary.mixture.noise import NoiseGiven, noise_of
from lacunary.mixture.sharing import SharedGiven, Sharing
from lacunary.mixture.trail import MixtureTrail
from lacunary.structure.climb import Greedy
from lacunary.structure.constraints import ArcsGiven, Constraints
from lacunary.structure.gaussian import Normal
from lacunary.structure.hidden import trials, with_hidden
from lacunary.structure.method import SearchMethod, method_of
from lacunary.structure.plan import Plan
from lacunary.structure.prior import PriorGiven, StructurePrior
from lacunary.structure.result import SCHEDULE
from lacunary.structure.schedule import parse_schedule
from lacunary.structure.search import with_family

__all__ = ["SCHEDULE", "fit_mixture"]

StructureClass = Literal["learn", "tree", "empty", "complete"]


def fit_mixture(
    table: Any,
    *,
    components: int | str | Iterable[int] = "auto",
    structure: StructureClass | None = None,
    noise: NoiseGiven = False,
    shared: SharedGiven = (),
    given: str | None = None,
    hidden: Mapping[str, int | str] | None = None,
    prior: Normal | Prior | None = None,
    structure_prior: PriorGiven = None,
    weights: float = 1.0,
    noise_share: float = 0.01,
    starts: int | Around | None = None,
    ess: float = 200.0,
    required: ArcsGiven = (),
    forbidden: ArcsGiven = (),
    max_parents: int | None = None,
    family: str | Mapping[str, str] | None = None,
    schedule: str = SCHEDULE,
    method: str | SearchMethod = "reinsert",
    until: Literal["structure", "score"] = "structure",
    stop: Stop | None = None,
    choose: Literal["cheeseman-stutz", "bic"] | None = None,
    trace: bool = False,
    watch: WatchMixture | None = None,
    resume: MixtureTrail | None = None,
    rng: int | np.random.Generator = 0,
) -> MixtureFit:
    """Learn a mixture of networks in which every component has a structure of its own (TMCH98).

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
        (full covariance matrices, MFULL). By default "learn", or what a code in ``shared`` names.
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
        Hidden variables inside the components: ``{"H": 2}`` is discrete with two states, ``{"F":
        "continuous"}`` a factor. With ``structure="empty"`` factors above all variables make a mixture of
        factor analysers.
    prior
        For continuous variables a `NormalWishart`, by default worth one row about the columns' means and
        variances; for discrete ones a rule such as ``bdeu(1)``, the default. TMCH98's digits:
        ``NormalWishart(nu=2, means=64, covariance=0.5)``.
    structure_prior
        How probable the components' graphs are beforehand, as of `lacunary.search`; each component has it
        anew, or all have it together where they share their structure.
    weights, noise_share
        Σα of the Dirichlet over the weights, and the noise's part of it.
    starts
        How many winners of a short tournament climb to the end for each number of components, by default two.
        In it are groups of rows by k-means++ and hierarchical merging, a component of the best smaller
        mixture split, and a draw; where structures are learned, mixtures of empty, tree and complete
        structures that began so. ``Around(20)`` climbs from 20 draws around the fit to all rows instead, as
        in TMCH98.
    ess
        How many rows the belief around the fit to all rows is worth, from which draws are made.
    required, forbidden, max_parents
        Which graphs are looked for; see `lacunary.search`.
    family
        Families other than a table or a linear regression, by name, or one for every variable: "poisson"
        for counts.
    schedule
        How EM and search take turns; see `lacunary.structure.schedule`.
    method
        The search behind ``S*``: it climbs, and the first time that climbing leaves every structure as it is
        this search goes on from there; "greedy" is the algorithm as published. See `lacunary.search`.
    until
        Learning ends when no "structure" changes, or when the "score" of a round does not rise.
    stop
        When EM has converged; by default the last change over the change since the start is below 1e-6.
    choose
        The estimate by which the number of components is chosen: "cheeseman-stutz", or "bic", which it is
        where components share parameters.
    trace
        Work the estimate out after every arc change.
    watch
        Called after every step with a `MixtureProgress`; a true answer ends learning with the best so far.
    resume
        Go on from here: what `Checkpoint` wrote, loaded, with the same rows and settings. Numbers of
        components and starts may be others; what is done already is not done again.
    rng
        Seed or generator of the starts.

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
    rows, labels = labelled(rows, given, components, noise)
    rows = _with_hidden(rows, hidden)
    if not rows.size > 0:
        raise TableError("there are no rows to learn from")
    structure = structure or Sharing.structure_of(shared) or "learn"
    if structure not in ("learn", "tree", "empty", "complete"):
        raise ParameterError(f"structure must be 'learn', 'tree', 'empty' or 'complete', not {structure!r}")
    sharing = Sharing.of(shared)
    if sharing.eigen and structure != "complete":
        raise ParameterError(
            f"{shared} speaks of eigenvectors of full covariances: structure='complete'; the coefficients "
            "and variances of regressions are shared by names, such as ['volume', 'coefficients']"
        )
    constraints = Constraints.of(rows.schema, required=required, forbidden=forbidden, max_parents=max_parents)
    by = _choice(choose, sharing)
    engine = engine_of(rows, prior, sharing)
    learner = MixtureLearner(
        engine,
        row_weights(rows),
        noise_of(noise, rows),
        weights,
        noise_share,
        sharing.size,
        labels.allowed,
        by,
    )
    if until not in ("structure", "score"):
        raise ParameterError(f"until must be 'structure' or 'score', not {until!r}")
    way = method_of(method)
    plan = Plan(
        constraints,
        StructurePrior.of(structure_prior, constraints),
        parse_schedule(schedule),
        way,
        "never" if isinstance(way, Greedy) and not way.restarts else "once",
        structure,
        until,
        stop or CONVERGED,
        trace=trace,
        shared=sharing.structure,
    )
    begin = starts if isinstance(starts, Around) else _count("starts", WINNERS if starts is None else starts)
    described = partial(
        fingerprint,
        rows,
        prior=prior,
        noise=noise,
        noise_share=float(noise_share),
        weights=float(weights),
        shared=sharing,
        choose=by,
        known_components=labels.allowed,
    )
    growth = Growth(learner, plan, rows, begin, ess, _seed(rng), watch, described, resume)
    if labels.classes:
        return replace(growth.run([len(labels.classes)]), classes=labels.classes)
    return growth.run(None if components == "auto" else _numbers(components, rows))


def _choice(choose: str | None, sharing: Sharing) -> Literal["cheeseman-stutz", "bic"]:
    if choose not in (None, "cheeseman-stutz", "bic"):
        raise ParameterError(f"choose must be 'cheeseman-stutz' or 'bic', not {choose!r}")
    if choose == "cheeseman-stutz" and sharing.parameters:
        raise ParameterError("components that share parameters have no evidence in closed form: choose='bic'")
    return "bic" if choose == "bic" or sharing.parameters else "cheeseman-stutz"


def _with_hidden(rows: Source, hidden: Mapping[str, int | str] | None) -> Source:
    given = dict(hidden or {})
    factors = [name for name, kind in given.items() if kind == "continuous"]
    choices = trials({name: states for name, states in given.items() if name not in factors})
    if len(choices) > 1:
        raise ParameterError("give each hidden variable of a mixture one number of states")
    full = with_hidden(rows, choices[0])
    new = [Variable(name, kind="continuous", hidden=True) for name in factors]
    return full.align(full.schema.extend(new)) if new else full


def _numbers(components: int | str | Iterable[int], rows: Source) -> list[int]:
    if isinstance(components, str):
        raise ParameterError(f"components must be a number, several, or 'auto', not {components!r}")
    numbers = [components] if isinstance(components, int | np.integer) else list(components)
    for many in numbers:
        _count("components", many)
        if many > rows.size:
            raise ParameterError(f"{many} components for {rows.size:g} rows; there must be no more than rows")
    if not numbers:
        raise ParameterError("components names no number to try")
    return [int(many) for many in numbers]


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or int(value) != value or value < 1:
        raise ParameterError(f"{name} must be a whole number of at least one, not {value!r}")
    return int(value)


def _seed(rng: int | np.random.Generator) -> int:
    return int(rng.integers(2**62)) if isinstance(rng, np.random.Generator) else int(rng)
