"""Learning that is broken off goes on as if it had never stopped, to the last bit."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.errors import FileError, ParameterError
from lacunary.mixture.found import MixtureFit, MixtureProgress
from lacunary.mixture.trail import KeptTrial, MixtureTrail
from tests.mixture.small import two_groups


def votes() -> lac.Table:
    return lac.house_votes().select(["party", "crime", "immigration", "mx_missile"]).take(np.arange(150))


def both_kinds() -> lac.Table:
    rng = np.random.default_rng(0)
    group = rng.integers(2, size=80)
    x = rng.normal(4.0 * group, 1.0)
    y = np.where(rng.random(80) < 0.2, np.nan, np.where(group == 1, x, 0.0) + rng.normal(size=80))
    return lac.read({"s": rng.choice(["u", "v"], 80), "x": x, "y": y})


CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "gaussian": (two_groups(25, holes=0.2), {"components": [1, 2], "starts": 2}),
    "noise": (two_groups(40), {"components": [2], "noise": True, "until": "score"}),
    "trailing": (two_groups(40), {"components": [2], "schedule": "((EM)^2 Ec S^1 M S^1 M)^2 (EM)*"}),
    "complete": (two_groups(40), {"components": [2], "structure": "complete"}),
    "discrete": (
        votes(),
        {"components": [2], "hidden": {"H": 2}, "max_parents": 2, "schedule": "((EM)^3 Ec S^3 M)^3"},
    ),
    "shared": (two_groups(40), {"components": [2], "structure": "complete", "shared": "VEE"}),
    "known": (both_kinds(), {"given": "s", "structure": "empty"}),
    "mixed": (both_kinds(), {"components": [2], "schedule": "((EM)^3 Ec S^3 M)^2 (EM)^3"}),
}


def through_json(trail: MixtureTrail) -> MixtureTrail:
    def plain(kept: KeptTrial) -> KeptTrial:
        return replace(kept, state=json.loads(json.dumps(kept.state, allow_nan=False)))

    return replace(trail, trials=tuple(map(plain, trail.trials)))


def fingerprint(found: MixtureFit) -> list[Any]:
    """All that was found, bit for bit."""
    return [
        (
            trial.asked,
            trial.start,
            trial.estimate,
            trial.ticks,
            trial.converged,
            trial.mixture.weights.tobytes(),
            [(c.dag, c.theta.tobytes()) for c in trial.mixture.components],
            None if trial.mixture.noise is None else trial.mixture.noise.high.tobytes(),
        )
        for trial in found.path
    ]


@pytest.mark.parametrize("case", CASES)
def test_it_ends_where_it_would_have_ended(case: str) -> None:
    data, settings = CASES[case]
    trails: list[MixtureTrail] = []
    whole = lac.fit_mixture(data, watch=lambda p: trails.append(p.trail()), **settings)
    expected = fingerprint(whole)
    rng, half = np.random.default_rng(0), len(trails) // 2
    for place in (rng.integers(half), rng.integers(half, len(trails))):
        again = lac.fit_mixture(data, resume=through_json(trails[place]), **settings)
        assert fingerprint(again) == expected
        assert again.chosen.asked == whole.chosen.asked
        assert again.chosen.origin is not None


def test_what_is_done_is_not_done_again() -> None:
    data = two_groups(40)
    trails: list[MixtureTrail] = []
    lac.fit_mixture(data, components=[1, 2], watch=lambda p: trails.append(p.trail()))
    ticks: list[MixtureProgress] = []
    more = lac.fit_mixture(data, components=[1, 3], resume=trails[-1], watch=ticks.append)
    assert {tick.asked for tick in ticks} == {3}
    assert fingerprint(more) == fingerprint(lac.fit_mixture(data, components=[1, 3]))


@pytest.mark.parametrize(
    ("data", "settings", "message"),
    [
        (two_groups(20), {"max_parents": 1}, "max_parents was 3, and is 1 now"),
        (two_groups(20), {"structure": "empty"}, "structure was learn, and is empty now"),
        (two_groups(20), {"rng": 1}, "rng was 0, and is 1 now"),
        (two_groups(20), {"weights": 2.0}, "weights was 1.0, and is 2.0 now"),
        (two_groups(20), {"choose": "bic"}, "choose was cheeseman-stutz, and is bic now"),
        (two_groups(20), {"noise": True}, "noise was False, and is True now"),
        (two_groups(20, seed=1), {}, "rows were 40 of weight 40 "),
        (two_groups(20), {"prior": lac.NormalWishart(nu=3.0)}, "prior was the default, and is NormalWishart"),
    ],
)
def test_another_run_is_refused(data: Any, settings: dict[str, Any], message: str) -> None:
    trails: list[MixtureTrail] = []
    lac.fit_mixture(two_groups(20), components=1, watch=lambda p: trails.append(p.trail()))
    with pytest.raises(ParameterError, match=message):
        lac.fit_mixture(data, components=1, resume=trails[-1], **settings)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s.pop("now"),
        lambda s: s.update(now=3),
        lambda s: s.update(place=99),
        lambda s: s.update(visits=[0] * 9),
        lambda s: s.update(ticks=[]),
        lambda s: s.update(ticks=[["em"]]),
        lambda s: s["now"].update(weights=[1.0]),
        lambda s: s["now"].update(noise=[[0.0], [1.0]]),
        lambda s: s["now"].update(models=[[[[1], [0.0, 0.0, 1.0]]]]),
        lambda s: s["now"].update(models=[]),
        lambda s: s["now"].update(structures=[[[1], [0], [], []], [[], [], [], []]]),
        lambda s: s["now"]["models"][0].pop(),
        lambda s: s["now"]["models"][0].append([[], [0.0, 1.0]]),
        lambda s: s["now"]["models"][0].__setitem__(0, [[9], [0.0, 1.0, 1.0]]),
        lambda s: s["now"]["models"][0].__setitem__(0, [[], [0.0, -1.0]]),
        lambda s: s["now"]["models"][0].__setitem__(0, [[], ["a", "b"]]),
    ],
)
def test_a_damaged_state_is_refused(change: Any) -> None:
    trails: list[MixtureTrail] = []
    settings: dict[str, Any] = {"components": 2, "structure": "empty"}
    data = two_groups(20)
    lac.fit_mixture(data, watch=lambda p: trails.append(through_json(p.trail())), **settings)
    change(trails[-1].trials[-1].state)
    with pytest.raises(FileError, match="this checkpoint is damaged"):
        lac.fit_mixture(data, resume=trails[-1], **settings)
