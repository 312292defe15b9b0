"""Mixtures for digits and vehicles: Figures 2 to 5, Table 1, and times."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from time import process_time
from typing import Any, Literal

import numpy as np

import lacunary as lac
from lacunary.papers import kept_under, seed_of
from lacunary.papers.tmch98.tables import PIXELS, TRAIN, Kind, belief, digits, opel, opel_means, vehicles

BOUNDS = (0.0, 255.0)
"""Of the noise: the grey values there are."""

Starts = Literal["print", "default"]

STARTS = {"print": lac.Around(1), "default": None}
"""One start a number of components around the fit without hidden variables, as in print; or the library's."""

SAMPLES = 4
"""Drawn from each component in Figure 3."""


def digit_mixture(
    digit: int,
    kind: Kind,
    seed: int,
    draws: int = 200,
    components: int | None = None,
    schedule: str = "((EM)^10 Ec S* M)*",
    train: int = TRAIN,
    pixels: int = PIXELS,
    starts: Starts = "print",
) -> dict[str, Any]:
    """Learn a mixture for one digit, growing, or with a given number of components, and score it.

    The chosen one is scored by Gibbs sampling, all others on the way at their point estimates. Times are
    those of the processor, so that other work on the machine does not count.
    """
    learn, test = digits(digit, train, pixels)
    fit, seconds = timed_mixture(
        learn,
        components="auto" if components is None else components,
        structure=kind,
        noise=BOUNDS,
        prior=belief(),
        schedule=schedule,
        starts=STARTS[starts],
        rng=seed_of("tmch98", "digit", digit, seed),
    )
    found = {"seconds": seconds, "tried": tried(fit, test, draws, seed_of("tmch98", "draws", digit, seed))}
    return found | ({"faces": faces(fit)} if digit == 7 and seed == 0 and pixels == PIXELS else {})


def timed_mixture(learn: lac.Table, **options: Any) -> tuple[lac.MixtureFit, float]:
    """Learn a mixture by greedy search; return it, and how long the processor took."""
    began = process_time()
    fit = lac.fit_mixture(learn, method="greedy", structure_prior=None, **options)
    return fit, process_time() - began


def tried(fit: lac.MixtureFit, test: lac.Table, draws: int, seed: int) -> list[dict[str, Any]]:
    """Return all mixtures that were tried, with their scores on test rows; the chosen one's by sampling."""
    out = []
    for trial in fit.path:
        here = replace(fit, mixture=trial.mixture, estimate=trial.estimate)
        chosen = trial.mixture is fit.mixture
        score = fit.predict(test, draws=draws, burn=draws // 4, rng=seed) if chosen else None
        plain = here.predict(test, how="plug-in")
        out.append(
            {
                "asked": trial.asked,
                "k": trial.components,
                "d": trial.estimate.dimension,
                "arcs": sum(len(c.dag.arcs) for c in trial.mixture.components),
                "noise": float(trial.mixture.weights[-1]) if trial.mixture.noise else 0.0,
                "cs": trial.estimate.value,
                "plug-in": plain.score,
                "spread": float(plain.log_density.std(ddof=1) / np.sqrt(len(test))),
                "score": score.score if score else None,
                "error": score.stderr if score else None,
                "chosen": chosen,
                "converged": trial.converged,
            }
        )
    return out


def means_of(network: lac.Network) -> list[float]:
    """Return the means of a network of regressions, in the schema's order."""
    means: dict[str, float] = {}
    for name in network.dag.order:
        regression = network.regression(name)
        parents = [means[parent] for parent in network.dag.parents_of(name)]
        means[name] = float(regression.intercept + regression.coefficients @ np.array(parents))
    return [means[name] for name in network.dag.names]


def faces(fit: lac.MixtureFit) -> list[dict[str, Any]]:
    """Return weight, mean and samples of every component as whole grey values, the heaviest first."""
    weights = fit.mixture.weights[: len(fit.mixture.components)]
    out = []
    for c in np.argsort(-weights):
        drawn = fit.mixture.sample(SAMPLES, rng=seed_of("tmch98", "faces", int(c)), component=int(c)).reals
        mean = means_of(fit.mixture.components[c])
        out.append({"weight": float(weights[c]), "mean": _grey(mean), "samples": [_grey(x) for x in drawn]})
    return out


def _grey(values: Sequence[float] | np.ndarray[Any, Any]) -> list[int]:
    return [int(v) for v in np.clip(np.rint(values), *BOUNDS)]


def search_trace(
    digit: int, components: int, seed: int, train: int = TRAIN, pixels: int = PIXELS
) -> dict[str, Any]:
    """Follow the Cheeseman–Stutz score along the search of one mixture, arc change by arc change (Figure 4).

    Returns every step (phase, criterion, Cheeseman–Stutz, arcs), the processor's time of an EM step, and how
    many steps EM took when it was run to convergence.
    """
    rows, _ = digits(digit, train, pixels)
    clock: list[float] = []
    fit = lac.fit_mixture(
        rows,
        components=components,
        method="greedy",
        starts=lac.Around(1),
        noise=BOUNDS,
        prior=belief(),
        structure_prior=None,
        rng=seed_of("tmch98", "trace", digit, seed),
        trace=True,
        watch=lambda _: clock.append(process_time()),
    )
    ticks = fit.chosen.ticks
    steps = [
        after - before
        for (one, before), (other, after) in pairwise(zip(ticks, clock, strict=False))
        if one.phase == other.phase == "em" and after > before
    ]
    return {
        "steps": [[t.phase, t.objective, t.cheeseman_stutz, t.arcs] for t in ticks],
        "em_seconds": float(np.median(steps)),
        "dimension": fit.estimate.dimension,
    }


@kept_under("tmch98.silhouettes")
def vehicle_mixture(
    vehicle: str,
    kind: Kind,
    split: int,
    about: Literal["64", "Opel"] = "64",
    schedule: str = "((EM)^10 Ec S* M)*",
    draws: int = 100,
    starts: Starts = "print",
) -> dict[str, Any]:
    """Learn a mixture for 60 % of one kind of vehicle, growing, and score it on the rest.

    TMCH98 takes the prior "as described for the digits", where every mean is expected at 64, an average grey
    value. "Opel" takes each feature's mean among the Opels in its place.
    """
    learn, test = vehicles(vehicle, split)
    fit, seconds = timed_mixture(
        learn,
        structure=kind,
        noise=opel(),
        prior=belief(64.0 if about == "64" else opel_means()),
        schedule=schedule,
        starts=STARTS[starts],
        rng=seed_of("tmch98", "vehicle", vehicle, split),
    )
    lines = tried(fit, test, draws, seed_of("tmch98", "draws", vehicle, split))
    return {"seconds": seconds, "tried": lines}
