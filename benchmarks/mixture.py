"""Mixtures of networks: one digit as in TMCH98, EM beside scikit-learn, and how well graphs are found."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import permutations
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from benchmarks.measure import Effort, Line, by_turns, one_blas_thread
from lacunary.mixture.engine import engine_of
from lacunary.mixture.learner import MixtureLearner
from lacunary.mixture.sharing import Sharing
from lacunary.papers.tmch98.images import BOUNDS
from lacunary.papers.tmch98.tables import belief, digits

__all__ = ["TITLE", "groups", "lines"]

TITLE = "Mixtures of Gaussian networks; the last number is the log evidence, in nats"
DIGIT, MOST, QUICK = 7, 10, 3
"""The digit, and the most components; TMCH98 took about 6 hours a digit."""

SHARED: dict[str, tuple[str, str | None]] = {
    "full": ("complete", None),
    "diag": ("empty", None),
    "tied": ("complete", "EEE"),
    "spherical": ("empty", "VII"),
}
"""What scikit-learn calls them, and our structure and what is shared."""

SIZES = ((3_000, 8, 3), (3_000, 64, 20), (10_000, 16, 5), (20_000, 32, 10), (100_000, 16, 5))
"""Rows, columns and components; the last where there is time."""

WARM, SPAN = 3, 0.02
"""Steps after which time is taken, and the seconds of those that are taken together."""

GROUP_ROWS, GROUP_VARIABLES, SEEDS = 500, 8, 5


def lines(effort: Effort) -> Iterator[Line]:
    """Measure all three."""
    yield from _digit(effort)
    for size in SIZES[:-1] if effort.repeats < 5 else SIZES:
        for covariance in SHARED:
            yield from _em(covariance, *size, effort)
    yield from _recovery()


def _digit(effort: Effort) -> Iterator[Line]:
    """Grow MDAG/n on one digit, once; BLAS keeps to one thread, as the matrices are small."""
    most = QUICK if effort.repeats < 5 else MOST
    rows, _ = digits(DIGIT)
    case = f"digit {DIGIT}: {len(rows)} rows x {len(rows.schema)} pixels, 1 to {most} components"
    for schedule in ("((EM)^10 Ec S* M)*", "((EM)* Ec S* M)*"):
        with _one_thread():
            began = perf_counter()
            found = lac.fit_mixture(
                rows,
                components=range(1, most + 1),
                noise=BOUNDS,
                prior=belief(len(rows.schema)),
                schedule=schedule,
            )
            time = perf_counter() - began
        arcs = sum(len(component.dag.arcs) for component in found.mixture.components)
        note = f"{found.chosen.components} components chosen, {arcs} arcs"
        yield Line(case, f"lacunary MDAG/n, {schedule}", time, found.estimate.value, note)


def _em(covariance: str, rows: int, variables: int, components: int, effort: Effort) -> Iterator[Line]:
    """Time an iteration of EM by turns; each starts at random, so log-densities are only alike."""
    values = _blobs(rows, variables, components)
    case = f"EM iteration, {covariance}: {rows:,} rows x {variables}, {components} components"
    ours = _next_of(_Ours(values, components, covariance).steps())
    who = {"lacunary": ours, "lacunary, one thread": _on_one(ours)}
    if find_spec("sklearn") is None:
        yield Line(case, "scikit-learn", note="not installed")
    else:
        theirs = _next_of(_Theirs(values, components, covariance).steps())
        who |= {"scikit-learn": theirs, "scikit-learn, one thread": one_blas_thread(theirs)}
    many = [_as_many(step) for step in who.values()]
    calls = [partial(_steps, step, n) for step, n in zip(who.values(), many, strict=True)]
    for name, n, time in zip(who, many, by_turns(calls, effort), strict=True):
        yield Line(case, name, time / n)


def _steps(step: Callable[[], float], many: int) -> None:
    for _ in range(many):
        step()


def _as_many(step: Callable[[], float]) -> int:
    """Return how many steps take about `SPAN`: after a pause the first finds nothing in the caches."""
    _steps(step, WARM)
    began = perf_counter()
    _steps(step, WARM)
    return max(1, round(SPAN * WARM / (perf_counter() - began)))


def _next_of(steps: Iterator[float]) -> Callable[[], float]:
    return lambda: next(steps)


def _on_one(step: Callable[[], float]) -> Callable[[], float]:
    def alone() -> float:
        with lac.threads(1):
            return step()

    return alone


class _Ours:
    """EM with fixed structures, as `lacunary.fit_mixture` does it."""

    def __init__(self, values: NDArray[np.float64], components: int, covariance: str) -> None:
        structure, shared = SHARED[covariance]
        sharing = Sharing() if shared is None else Sharing.of(shared)
        self.learner = MixtureLearner(engine_of(lac.read(values), None, sharing))
        self.rows, columns = values.shape
        one = tuple(tuple(range(child)) if structure == "complete" else () for child in range(columns))
        self.structures = (one,) * components

    def steps(self) -> Iterator[float]:
        """Yield the mean log-density before every step."""
        model = self.learner.begin(self.structures, 200.0, np.random.default_rng(0))
        while True:
            completed = self.learner.expect(model, narrow=True)
            self.learner.log_prior(model)
            model = self.learner.maximize(completed, self.structures)
            yield completed.log_likelihood / self.rows


class _Theirs(_Ours):
    """EM as scikit-learn's GaussianMixture does it, by the same steps."""

    def __init__(self, values: NDArray[np.float64], components: int, covariance: str) -> None:
        self.values, self.components, self.covariance = values, components, covariance

    def steps(self) -> Iterator[float]:
        """Yield the mean log-density before every step."""
        kind = import_module("sklearn.mixture").GaussianMixture
        how = {"init_params": "random", "max_iter": 1, "random_state": 0}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one step is not convergence
            model = kind(self.components, covariance_type=self.covariance, **how).fit(self.values)
        while True:
            mean, log_shares = model._e_step(self.values)
            model._m_step(self.values, log_shares)
            yield float(mean)


def _blobs(rows: int, variables: int, components: int) -> NDArray[np.float64]:
    """Return rows of overlapping groups with covariances of their own; (rows, variables)."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(components):
        mix = rng.normal(size=(variables, variables)) / np.sqrt(variables)
        centre = rng.normal(0.0, 2.0, variables)
        parts.append(rng.normal(size=(rows // components, variables)) @ mix + centre)
    return rng.permutation(np.concatenate(parts))


def _recovery() -> Iterator[Line]:
    """Count wrong links of the groups' graphs: learned together, after clustering, and without groups."""
    case = f"graphs of two groups, {GROUP_ROWS} rows x {GROUP_VARIABLES} each, {SEEDS} times"
    ways = {"lacunary, mixture": _together, "GaussianMixture, then search": _clustered, "one search": _single}
    for who, way in ways.items():
        began, wrong = perf_counter(), 0
        with _one_thread():
            for seed in range(SEEDS):
                values, graphs = groups(seed)
                wrong += _wrong(way(values), graphs)
        yield Line(case, who, perf_counter() - began, note=f"{wrong} wrong links")


def groups(seed: int) -> tuple[NDArray[np.float64], list[set[frozenset[int]]]]:
    """Return rows of two groups whose means are near and whose graphs differ, and the graphs' links."""
    rng = np.random.default_rng(seed)
    parts, graphs = [], []
    for group in range(2):
        order = rng.permutation(GROUP_VARIABLES)
        values, links = np.zeros((GROUP_ROWS, GROUP_VARIABLES)), set()
        for place, child in enumerate(order):
            parents = rng.permutation(order[:place])[: int(rng.integers(3))]
            slopes = rng.choice([-1.0, 1.0], len(parents)) * rng.uniform(0.6, 1.4, len(parents))
            values[:, child] = values[:, parents] @ slopes + rng.normal(size=GROUP_ROWS)
            links |= {frozenset((int(parent), int(child))) for parent in parents}
        parts.append(values + 2.0 * group)
        graphs.append(links)
    return np.concatenate(parts), graphs


def _together(values: NDArray[np.float64]) -> list[lac.Dag]:
    found = lac.fit_mixture(values, components=2, starts=3, until="score")
    return [component.dag for component in found.mixture.components]


def _clustered(values: NDArray[np.float64]) -> list[lac.Dag]:
    model = import_module("sklearn.mixture").GaussianMixture(2, n_init=3, random_state=0)
    labels = model.fit_predict(values)
    return [lac.search(values[labels == group]).dag for group in range(2)]


def _single(values: NDArray[np.float64]) -> list[lac.Dag]:
    return [lac.search(values).dag] * 2


def _wrong(found: list[lac.Dag], graphs: list[set[frozenset[int]]]) -> int:
    """Return how many links are missing or too many, groups matched as well as can be."""
    links = [{frozenset(map(dag.names.index, arc)) for arc in dag.arcs} for dag in found]
    return min(
        sum(len(own ^ truth) for own, truth in zip(order, graphs, strict=False))
        for order in permutations(links, min(len(links), len(graphs)))
    )


def _one_thread() -> AbstractContextManager[object]:
    """Keep BLAS to one thread, if that can be asked for."""
    try:
        limits: AbstractContextManager[object] = import_module("threadpoolctl").threadpool_limits(1)
    except ImportError:
        return nullcontext()
    return limits
