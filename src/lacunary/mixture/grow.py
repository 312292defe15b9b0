"""The outer search: mixtures with more and more components, until that no longer pays (TMCH98 section 6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from lacunary.data.fingerprint import same_run
from lacunary.mixture.found import MixtureFit, MixtureProgress, Origin, Trial, WatchMixture
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.mixture.trail import KeptTrial, MixtureTrail
from lacunary.structure.hidden import start_of
from lacunary.structure.plan import Plan, State, Tick
from lacunary.structure.resume import decode_state, encode_state, plan_settings
from lacunary.structure.run import Runner
from lacunary.structure.score import Structure
from lacunary.structure.walk import is_enough, structure_of

__all__ = ["Growth"]

PATIENCE = 2
"""Growing ends when the estimate has not risen so many times in a row."""

STALE = 4
"""It also ends when so many numbers in a row have not been the best, should it rise and fall by turns."""

ROUNDING = 1e-9
"""A rise of this part of the estimate is none."""

MOST = 100
"""Growing ends here whatever the estimates say."""


class Growth:
    """Mixtures with various numbers of components on one table.

    Every trial draws from a stream of its own, keyed by the seed, the number of components and the start,
    so that no trial depends on those before it.
    """

    def __init__(
        self,
        learner: MixtureLearner,
        plan: Plan,
        starts: int,
        ess: float,
        seed: int,
        watch: WatchMixture | None,
        described: Callable[[], dict[str, str]],
        resume: MixtureTrail | None = None,
    ) -> None:
        self.learner, self.plan, self.starts, self.ess = learner, plan, starts, ess
        self.seed, self.watch, self.described = seed, watch, described
        self.done: list[Trial] = []
        self.earlier: dict[tuple[int, int], KeptTrial] = {}
        if resume is not None:
            same_run(self.fingerprint, resume.fingerprint)
            self.earlier = {(kept.asked, kept.start): kept for kept in resume.trials}

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """What must stay the same for learning to go on."""
        return {
            **self.described(),
            **plan_settings(self.plan),
            "ess": str(float(self.ess)),
            "rng": str(self.seed),
        }

    def run(self, components: Sequence[int] | None) -> MixtureFit:
        """Try these numbers of components, or grow if none are given; return the best mixture met."""
        interrupted = False
        try:
            if components is None:
                self._grow()
            for many in components or ():
                self._try(many)
        except KeyboardInterrupt:
            interrupted = True
            if not self.done:
                raise KeyboardInterrupt from None
        best = max(self.done, key=lambda trial: trial.value)
        return MixtureFit(
            best.mixture,
            best.estimate,
            tuple(self.done),
            self.plan.structure,
            interrupted,
            structure_prior=self.plan.prior.name,
        )

    def _grow(self) -> None:
        before, top, idle, stale = -np.inf, -np.inf, 0, 0
        for many in range(1, min(MOST, int(self.learner.row_weights.sum())) + 1):
            value = self._try(many)
            # A mixture whose new component lost its rows ends where the last one did, up to rounding.
            idle = 0 if value > before + ROUNDING * abs(value) else idle + 1
            stale = 0 if value > top else stale + 1
            before, top = value, max(top, value)
            if idle >= PATIENCE or stale >= STALE:
                return

    def _try(self, many: int) -> float:
        """Learn mixtures with so many components and return the highest estimate and log prior."""
        return max(self._learn(many, start) for start in range(self.starts))

    def _learn(self, many: int, start: int) -> float:
        runner, kept = self._runner(many, start), self.earlier.get((many, start))
        if kept is None:
            state = runner.begin(*self._begin(many, start))
        else:
            state = decode_state(self.learner, kept.state, len(runner.program))
        for after in runner.run(state):
            state = after
        known = None if kept is None else kept.estimate
        estimate = known or self.learner.estimate(state.model, state.structures)
        mixture = self.learner.mixture(state.model)
        origin = Origin(self.learner, state.model, state.structures)
        prior = self.plan.log_prior(state.structures)
        self.done.append(Trial(many, start, mixture, estimate, state.converged, state.ticks, origin, prior))
        return self.done[-1].value

    def _begin(self, many: int, start: int) -> tuple[Parameters, tuple[Structure, ...]]:
        """Return the first parameters and structures of a trial, drawn from a stream of its own."""
        structures = (self._first,) * many
        rng = np.random.default_rng([self.seed, many, start])
        return self.learner.begin(structures, self.ess, rng), structures

    @cached_property
    def _first(self) -> Structure:
        """The structure of every component at the start."""
        if self.plan.structure == "complete":
            return tuple(tuple(range(child)) for child in range(len(self.plan.constraints.schema)))
        return structure_of(start_of(self.plan.constraints, None))

    def _runner(self, many: int, start: int) -> Runner:
        runner = Runner(
            self.learner, self.plan, lambda state, tick: self._tell(many, start, runner, state, tick)
        )
        return runner

    def _trail(self, many: int, start: int, state: State | None) -> MixtureTrail:
        """Return what is over, what is under way, and what an earlier run had begun and this has not met."""
        kept = dict(self.earlier)
        for trial in self.done:
            key = (trial.asked, trial.start)
            if key not in kept or kept[key].estimate is None:
                kept[key] = KeptTrial(*key, encode_state(self.learner, _ended(trial)), trial.estimate)
        self.earlier = dict(kept)
        over = (many, start) in kept and kept[many, start].estimate is not None
        if state is not None and not over:
            kept[many, start] = KeptTrial(many, start, encode_state(self.learner, state))
        return MixtureTrail(self.fingerprint, tuple(kept.values()))

    def _tell(self, many: int, start: int, runner: Runner, state: State, tick: Tick) -> None:
        if self.watch is None:
            return
        best = max((trial.estimate.value for trial in self.done), default=None)
        kept = runner.notes.kept
        answer = self.watch(
            MixtureProgress(
                many, start, tick, best, state, tuple(self.done), lambda: self._trail(many, start, kept)
            )
        )
        if is_enough(answer):
            raise KeyboardInterrupt


def _ended(trial: Trial) -> State:
    """Return the state in which a trial ended."""
    assert trial.origin is not None
    origin, over = trial.origin, trial.converged
    return State(origin.model, origin.structures, done=True, converged=over, ticks=trial.ticks)
