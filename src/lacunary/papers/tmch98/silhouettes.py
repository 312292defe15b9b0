"""Mixtures for the vehicles (TMCH98 section 6.2, Figure 5)."""

from __future__ import annotations

from time import process_time
from typing import Any, Literal

import lacunary as lac
from lacunary.papers import seed_of
from lacunary.papers.tmch98.images import tried
from lacunary.papers.tmch98.tables import Kind, belief, opel, opel_means, vehicles

__all__ = ["vehicle_mixture"]


def vehicle_mixture(
    vehicle: str,
    kind: Kind,
    split: int,
    about: Literal["64", "Opel"] = "64",
    schedule: str = "((EM)^10 Ec S* M)*",
    draws: int = 100,
) -> dict[str, Any]:
    """Learn a mixture for 60 % of one kind of vehicle, growing, and score it on the rest.

    TMCH98 takes the prior "as described for the digits", where every mean is expected at 64, an average grey
    value. "Opel" takes each feature's mean among the Opels in its place.
    """
    learn, test = vehicles(vehicle, split)
    began = process_time()
    fit = lac.fit_mixture(
        learn,
        structure=kind,
        method="greedy",
        noise=opel(),
        prior=belief(64.0 if about == "64" else opel_means()),
        schedule=schedule,
        rng=seed_of("tmch98", "vehicle", vehicle, split),
    )
    seconds = process_time() - began
    return {
        "seconds": seconds,
        "tried": tried(fit, test, draws, seed_of("tmch98", "draws", vehicle, split)),
    }
