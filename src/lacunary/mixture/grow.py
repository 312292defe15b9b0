"""The outer search: mixtures with more and more components, until that no longer pays (TMCH98 section 6)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from lacunary.mixture.blend import Mixer
from lacunary.mixture.course import Course, Plan, State, Tick
from lacunary.mixture.found import MixtureFit, MixtureProgress, Origin, Trial, WatchMixture
from lacunary.mixture.trail import (
    KeptTrial,
    MixtureTrail,
    decode_state,
    encode_state,
    same_run,
    settings_of,
)

__all__ = ["Growth"]

PATIENCE = 2
"""Growing ends when the estimate has not risen so many times in a row."""

STALE = 4
"""It also ends when so many numbers in a row have not been the best, should it rise and fall by turns."""

ROUNDING = 1e-9
"""A rise of this part of the estimate is none."""

MOST = 100
"""Growing ends here whatever the estimates say."""


class _Enough(Exception):
    """The one who watches has seen enough."""


class Growth:
    """Mixtures with various numbers of components on one table.

    Every trial draws from a stream of its own, keyed by the seed, the number of components and the start,
    so that no trial depends on those before it.
    """

    def __init__(
        self,
        mixer: Mixer,
        plan: Plan,
        starts: int,
        ess: float,
        seed: int,
        watch: WatchMixture | None,
        resume: MixtureTrail | None = None,
    ) -> None:
        self.mixer, self.plan, self.starts, self.ess = mixer, plan, starts, ess
        self.seed, self.watch = seed, watch
        self.done: list[Trial] = []
        self.earlier: dict[tuple[int, int], KeptTrial] = {}
        if resume is not None:
            same_run(resume, self.settings, self.probe)
            self.earlier = {(kept.asked, kept.start): kept for kept in resume.trials}

    @cached_property
    def settings(self) -> dict[str, str]:
        """What must stay the same for learning to go on."""
        return settings_of(self.mixer, self.plan, self.ess, self.seed)

    @cached_property
    def probe(self) -> float:
        """A number that would change with the rows and with what is believed of them."""
        many = 1 if self.mixer.labels is None else self.mixer.labels.shape[1]
        blend = self._course(many, 0).begin(many, self.ess, self._stream(many, 0)).blend
        return self.mixer.expect(blend).log_likelihood + self.mixer.log_prior(blend)

    def run(self, components: Sequence[int] | None) -> MixtureFit:
        """Try these numbers of components, or grow if none are given; return the best mixture met."""
        interrupted = False
        try:
            if components is None:
                self._grow()
            for many in components or ():
                self._try(many)
        except (KeyboardInterrupt, _Enough):
            interrupted = True
            if not self.done:
                raise KeyboardInterrupt from None
        best = max(self.done, key=lambda trial: trial.estimate.value)
        return MixtureFit(best.mixture, best.estimate, tuple(self.done), self.plan.structure, interrupted)

    def _grow(self) -> None:
        before, top, idle, stale = -np.inf, -np.inf, 0, 0
        for many in range(1, min(MOST, int(self.mixer.row_weights.sum())) + 1):
            value = self._try(many)
            # A mixture whose new component lost its rows ends where the last one did, up to rounding.
            idle = 0 if value > before + ROUNDING * abs(value) else idle + 1
            stale = 0 if value > top else stale + 1
            before, top = value, max(top, value)
            if idle >= PATIENCE or stale >= STALE:
                return

    def _try(self, many: int) -> float:
        """Learn mixtures with so many components and return the highest estimate."""
        return max(self._learn(many, start) for start in range(self.starts))

    def _learn(self, many: int, start: int) -> float:
        course, kept = self._course(many, start), self.earlier.get((many, start))
        if kept is None:
            state = course.begin(many, self.ess, self._stream(many, start))
        else:
            state = decode_state(self.mixer, kept.state, len(course.program))
        for after in course.rounds(state):
            state = after
        known = None if kept is None else kept.estimate
        estimate = known or self.mixer.estimate(state.blend, state.structures)
        mixture = self.mixer.mixture(state.blend)
        origin = Origin(self.mixer, state.blend, state.structures)
        self.done.append(Trial(many, start, mixture, estimate, state.converged, state.ticks, origin))
        return estimate.value

    def _stream(self, many: int, start: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, many, start])

    def _course(self, many: int, start: int) -> Course:
        course = Course(
            self.mixer, self.plan, lambda state, tick: self._tell(many, start, course, state, tick)
        )
        return course

    def _trail(self, many: int, start: int, state: State | None) -> MixtureTrail:
        """Return what is over, what is under way, and what an earlier run had begun and this has not met."""
        kept = dict(self.earlier)
        for trial in self.done:
            key = (trial.asked, trial.start)
            if key not in kept or kept[key].estimate is None:
                kept[key] = KeptTrial(*key, encode_state(self.mixer, _ended(trial)), trial.estimate)
        self.earlier = dict(kept)
        over = (many, start) in kept and kept[many, start].estimate is not None
        if state is not None and not over:
            kept[many, start] = KeptTrial(many, start, encode_state(self.mixer, state))
        return MixtureTrail(self.settings, self.probe, tuple(kept.values()))

    def _tell(self, many: int, start: int, course: Course, state: State, tick: Tick) -> None:
        if self.watch is None:
            return
        best = max((trial.estimate.value for trial in self.done), default=None)
        kept = course.kept
        answer = self.watch(
            MixtureProgress(
                many, start, tick, best, state, tuple(self.done), lambda: self._trail(many, start, kept)
            )
        )
        # Not any true answer: what a print or a write returns must not end learning.
        if isinstance(answer, bool | np.bool_) and answer:
            raise _Enough


def _ended(trial: Trial) -> State:
    """Return the state in which a trial ended."""
    assert trial.origin is not None
    origin, over = trial.origin, trial.converged
    return State(origin.blend, origin.structures, done=True, converged=over, ticks=trial.ticks)
