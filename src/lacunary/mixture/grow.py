"""The outer search: mixtures with more and more components, until that no longer pays (TMCH98 section 6).

Every number of components has a tournament of beginnings (`lacunary.mixture.entrants`), whose winners climb.
Where structures are learned, the classes with fixed structures are members of the class: what they come to is
where the search for structures begins, so that it ends no lower. Growing may go back: two components of a
mixture merged may be a better smaller one than was found on the way. The dearest search is for the numbers
that may still be best; the best of these is tried again at the end, from other beginnings. In the end its
components have the best of all graphs, where finding them is cheap, or the best that random graphs lead to.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, partial
from threading import get_ident
from typing import Literal

import numpy as np

from lacunary.data.fingerprint import same_run
from lacunary.data.source import Source
from lacunary.evidence.estimate import Estimate
from lacunary.infer.parallel import check_wanted
from lacunary.learn.around import Around
from lacunary.learn.stop import Stop
from lacunary.mixture.begin import Beginnings, Entrant
from lacunary.mixture.entrants import Entrants
from lacunary.mixture.evidence import annealed, laplace
from lacunary.mixture.found import MixtureFit, MixtureProgress, Origin, Trial, WatchMixture, meet
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.mixture.tied import Tied
from lacunary.mixture.trail import KeptTrial, MixtureTrail
from lacunary.mixture.variational import posterior
from lacunary.structure.exact import Exact
from lacunary.structure.method import SearchMethod
from lacunary.structure.plan import Plan, State, Tick, arcs_of
from lacunary.structure.resume import decode_state, encode_state, plan_settings
from lacunary.structure.run import Runner
from lacunary.structure.score import Structure
from lacunary.structure.walk import is_enough

__all__ = ["Growth"]

PATIENCE = 2
"""Growing ends when the estimate has not risen so many times in a row."""

STALE = 4
"""It also ends when so many numbers in a row have not been the best, should it rise and fall by turns."""

ROUNDING = 1e-9
"""A rise of this part of the estimate is none."""

MOST = 100
"""Growing ends here whatever the estimates say."""

WINNERS = 1
"""Beginnings that climb to the end for each number of components, unless told."""

NEARLY = Stop(share=1e-4, relative=1e-8, iterations=200)
"""When EM of a member has converged: the search for structures goes on from there."""

WIDEST = 100
"""Variables up to which components with all arcs are tried before structures are learned."""

LEAST_TURNS, TURNS = 2, 4
"""How often, at least and at most, a number is tried again; it ends where nothing better is found. Once is
enough where all that began anew have met at the top."""

FRESH = 2
"""New groups and draws that climb to the end in such a turn, for each exchange of rows that does."""

CLOSE = 10.0
"""Numbers of components below the best by fewer nats are tried again, too."""

REACH = 2.0
"""A number may be best if it is beside the best, or below by this many times what the last search gained."""

FURTHER, BACK = 2, 20
"""Rounds, or steps of EM, after which a mixture made by merging must be the best of its number to go on."""

APART = "structures were compared as if every component had parameters of its own"
"""What is said where structures are looked for and parameters are shared."""


class Growth:
    """Mixtures with various numbers of components on one table.

    Every draw is from a stream of its own, keyed by the seed, the number of components and what is drawn.

    Parameters
    ----------
    source
        The rows, in which groups are looked for.
    starts
        How many winners of each tournament climb to the end; or draws around the fit to all rows, all of
        which do, as in TMCH98.
    """

    def __init__(
        self,
        learner: MixtureLearner,
        plan: Plan,
        source: Source,
        starts: int | Around,
        ess: float,
        seed: int,
        watch: WatchMixture | None,
        described: Callable[[], dict[str, str]],
        resume: MixtureTrail | None = None,
    ) -> None:
        self.learner, self.plan, self.starts = learner, plan, starts
        self.draws = starts if isinstance(starts, Around) else None
        self.ess = ess if self.draws is None else self.draws.ess
        self.seed, self.watch, self.described = seed, watch, described
        self.begin = Beginnings(learner, source, self.ess, seed)
        self.entrants = Entrants(learner, plan, self.begin, lambda many, how: self._runner(many, 0, how))
        #: The thread that is told: of entrants that climb at once, what goes on in it stands for all.
        self._asked_by = get_ident()
        self.done: list[Trial] = []
        self.whole: Growth | None = None
        self.drawn_weights = False
        self.last: Callable[[int], SearchMethod | None] = lambda many: None
        self._begun: dict[tuple[int, int], Trial] = {}
        self._left: set[tuple[int, int]] = set()
        self._under_way: KeptTrial | None = None
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
            "begun from": "draws" if self.draws else f"{self.starts} winners",
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
            if self.draws is None:
                self._refine()
                self._try_again()
                self._finish()
        except KeyboardInterrupt:
            interrupted = True
            if not self.done:
                raise KeyboardInterrupt from None
        best = max(self.done, key=_worth)
        return MixtureFit(
            best.mixture,
            best.estimate,
            tuple(self.done),
            self.plan.structure,
            interrupted,
            structure_prior=self.plan.prior.name,
            approximation=APART if self._apart else "",
        )

    @property
    def _apart(self) -> bool:
        """Whether structures are compared as if components shared no parameters, though they do."""
        return not self.plan.fixed and isinstance(self.learner.engine, Tied)

    def best(self, many: int) -> Trial:
        """Return the best mixture of so many components, tried now if it was not before."""
        if all(trial.asked != many for trial in self.done):
            self._try(many)
        return max((trial for trial in self.done if trial.asked == many), key=_worth)

    def _grow(self) -> None:
        before, top, idle, stale = -np.inf, -np.inf, 0, 0
        for many in range(1, min(MOST, int(self.learner.size)) + 1):
            value = self._try(many)
            # A mixture whose new component lost its rows ends where the last one did, up to rounding.
            idle = 0 if value > before + ROUNDING * abs(value) else idle + 1
            stale = 0 if value > top else stale + 1
            before, top = value, max(top, value)
            if idle >= PATIENCE or stale >= STALE:
                break
        if self.draws is None:
            self._back()

    def _back(self) -> None:
        """Go down from the best number: two components of a larger mixture merged may be a better smaller."""
        first = max(self.done, key=_worth).asked
        for many in range(min(first, len(self.done) - 1), 1, -1):
            if not self._merged(many) and many < first:
                return

    def _merged(self, many: int) -> bool:
        """Whether two components of the next larger mixture, merged, make a better one than is known."""
        larger, known, leg = self.best(many + 1), self.best(many).value, self.entrants.leg(many)
        if larger.components != many + 1 or larger.origin is None:
            return False
        [found] = self.entrants.winners(list(self.entrants.merged(larger.origin.model, many)), many, 1)
        for _ in range(FURTHER):
            found = leg(found, BACK)
        return found.value > known + ROUNDING * abs(known) and self._learn(many, found).value > known

    def _refine(self) -> None:
        """Go on to the end with all that may still be best: climbs were left before their dearest search."""
        gain = np.inf
        while True:
            top = max(self.done, key=_worth)
            left = [t for t in self.done if (t.asked, t.start) in self._left]
            near = [t for t in left if abs(t.asked - top.asked) <= 1 or t.value + REACH * gain >= top.value]
            if not near:
                return
            trial = max(near, key=_worth)
            refined = self._gone_on(trial)
            rise = refined.value - trial.value
            gain = rise if gain == np.inf else max(gain, rise)

    def _gone_on(self, trial: Trial) -> Trial:
        """Climb to the end from where a trial was left, which it then stands for."""
        self._left.remove((trial.asked, trial.start))
        refined = self._learn(trial.asked, self._continued(trial), trial.winners, self.plan)
        self.done.remove(min(trial, refined, key=_worth))
        return refined

    def _continued(self, trial: Trial) -> Entrant:
        """Return where a trial ended as an entrant whose structures are looked for at once."""
        steps = [step.what for step in self.plan.program]
        zeros = (0,) * len(steps)
        state = replace(_ended(trial), done=False, converged=False, visits=zeros, turns=zeros)
        return Entrant(trial.how, replace(state, place=steps.index("complete")), trial.value, trial.met)

    def _try_again(self) -> None:
        """Try numbers that are best or all but best again, as long as that finds a better mixture."""
        if self.entrants.initial is not None or self.learner.labels is not None or self.whole is not None:
            return
        for many in sorted({trial.asked for trial in self.done}, key=lambda many: -self.best(many).value):
            if self.best(many).value < max(self.done, key=_worth).value - CLOSE:
                return
            for turn in range(TURNS):
                before = self.best(many)
                if before.components != many or many < 2 or before.degenerate:
                    break
                fresh, now = self._turn(before, turn), self.best(many).value
                risen = now > before.value + ROUNDING * abs(before.value)
                met = all(meet(trial.value, now) for trial in fresh)
                if not risen and (turn + 1 >= LEAST_TURNS or met):
                    break

    def _turn(self, best: Trial, turn: int) -> list[Trial]:
        """Climb from the best exchange of rows, and from the best new groups and draws; return the latter.

        They are judged apart: what was searched to the end is high at once, wherever it leads.
        """
        assert best.origin is not None
        exchanged = list(self.entrants.exchanged(best.origin.model, best.asked, turn))
        fresh = self.entrants.fresh(best.asked, turn)
        climbs = [
            [self._learn(best.asked, found, plan=self.plan) for found in winners]
            for winners in (
                self.entrants.winners(exchanged, best.asked, self._winners),
                self.entrants.winners(fresh, best.asked, FRESH * self._winners),
            )
        ]
        return climbs[1]

    def _finish(self) -> None:
        """Look for better graphs of the best mixture's components: the best of all, where that is cheap.

        Rows stay where they are for the most part, and climbs from other rows met graphs by chance.
        """
        best = max(self.done, key=_worth)
        method = None if best.degenerate else self.last(best.components)
        if method is None:
            return
        refined = sum(tick.phase == "refine" for tick in best.ticks)
        often: Literal["once", "always"] = "always" if isinstance(method, Exact) else "once"
        plan = replace(self.plan, method=method, refine=often, refined=refined)
        found = self._learn(best.asked, self._continued(best), best.winners, plan)
        self.done.remove(min(best, found, key=_worth))

    @property
    def _winners(self) -> int:
        assert isinstance(self.starts, int)
        return self.starts

    def _try(self, many: int) -> float:
        """Learn mixtures with so many components and return the highest estimate and log prior."""
        first = self.earlier.get((many, 0))
        if self.draws is not None:
            for start in range(self.draws.count):
                self._learn(many, self._drawn(many, start), plan=self.plan)
        elif first is not None and self._kept(many, first.winners):
            for _ in range(first.winners):
                self._learn(many)
        else:
            entering, member = self._entering(many), self.whole is not None
            winners = self.entrants.winners(entering, many, self._winners, member)
            for entrant in winners:
                self._learn(many, entrant, len(winners))
        best = max((trial for trial in self.done if trial.asked == many), key=_worth)
        return -np.inf if best.degenerate else best.value

    def _kept(self, many: int, winners: int) -> bool:
        """Whether an earlier run has all winners of a number of components, begun or over."""
        return winners > 0 and all((many, start) in self.earlier for start in range(winners))

    def _entering(self, many: int) -> list[Entrant]:
        """Return what enters the tournament of a number of components."""
        only = self.entrants.known(many)
        if only is not None:
            return [only]
        floor, out = None, []
        for member, trial in self._of_members(many):
            assert trial.origin is not None
            how, model = f"{trial.how}, {member.plan.structure} structures", trial.origin.model
            own = model.models.structures
            floor = floor or (model, own, trial.estimate.value + self.plan.log_prior(own))
            state = self.entrants.searching(model, (self.entrants.first_structure,) * trial.components)
            out.append(Entrant(how, state, met=trial.met, fixed=False))
        smaller = [t for t in self.done if t.asked < many and t.components == many - 1]
        if smaller:
            origin = max(smaller, key=_worth).origin
            assert origin is not None
            out += self.entrants.split(origin.model, many)
        out += self.entrants.first(many, self.whole is not None)
        return [replace(entrant, state=replace(entrant.state, best=floor)) for entrant in out]

    def _of_members(self, many: int) -> list[tuple[Growth, Trial]]:
        """Return the members' mixtures of so many components, the best first."""
        found = [(member, member.best(many)) for member in self.members]
        return sorted(found, key=lambda pair: -self._whole_value(pair[1]))

    def _whole_value(self, trial: Trial) -> float:
        """Return what a member's mixture is worth as one of this class: with the prior of its graphs."""
        assert trial.origin is not None
        return trial.estimate.value + self.plan.log_prior(trial.origin.structures)

    def _learn(
        self, many: int, entrant: Entrant | None = None, winners: int = 0, plan: Plan | None = None
    ) -> Trial:
        """Climb from an entrant, or from where an earlier run was, and keep the trial.

        By the plan, or without its last search; the trial can then be gone on with.
        """
        start = sum(key[0] == many for key in self._begun)
        how = plan or self.entrants.rough
        runner, kept = self._runner(many, start, how), self.earlier.get((many, start))
        if kept is not None:
            state = decode_state(self.learner, kept.state, len(runner.program))
            entrant, winners = Entrant(kept.how, state, met=kept.met), kept.winners
        assert entrant is not None
        state = entrant.state
        self._under_way = KeptTrial(many, start, {}, None, entrant.how, entrant.met, winners)
        for after in runner.run(state):
            state = after
        told = Tick("anneal", len(state.structures), arcs_of(state.structures), state.ticks[-1].objective)
        tell = partial(self._tell, many, start, runner, state, told)
        known = None if kept is None else kept.estimate
        trial = self._trial(many, start, state, entrant, winners, known, tell)
        self._under_way = None
        self.done.append(trial)
        self._begun[many, start] = trial
        if how is not self.plan and state.converged:
            self._left.add((many, start))
        return trial

    def _trial(
        self,
        many: int,
        start: int,
        state: State,
        entrant: Entrant,
        winners: int,
        known: Estimate | None,
        tell: Callable[[], None],
    ) -> Trial:
        """Return where a climb has ended, or a member of the class that is higher."""
        estimate = known or self._estimate(state, tell)
        ended = estimate.value + self.plan.log_prior(state.structures)
        if state.best is not None and state.best[2] > ended:
            state = replace(state, model=state.best[0], structures=state.best[1])
            estimate = self._estimate(state, tell)
        return Trial(
            many,
            start,
            self.learner.mixture(state.model),
            estimate,
            state.converged,
            state.ticks,
            Origin(self.learner, state.model, state.structures),
            self.plan.log_prior(state.structures),
            entrant.how,
            entrant.met,
            winners,
            self.learner.degenerate(state.model),
        )

    def _estimate(self, state: State, tell: Callable[[], None]) -> Estimate:
        """Return what a mixture is worth by the estimate that chooses; ``tell`` is for what takes long."""
        model, structures, by = state.model, state.structures, self.learner.by
        if self.whole is not None:
            return self.learner.estimate(model, structures)
        if by == "laplace":
            return laplace(self.learner, model, structures)
        if by == "ais":
            return self._known(state) or annealed(
                self.learner, model, structures, [self.seed, len(structures)], tell=tell
            )
        if by != "variational":
            return self.learner.estimate(model, structures)
        bound = posterior(self.learner, state.model, state.structures).bounds[-1]
        free = self.learner.dimension(state.structures)
        return Estimate("variational", bound, "lower bound", {"bound": bound}, dimension=free)

    def _known(self, state: State) -> Estimate | None:
        """Return the estimate of an earlier trial that ended at the same peak of the same graphs."""

        def peak(model: Parameters, structures: Sequence[Structure]) -> tuple[list[Structure], float]:
            return sorted(structures), self.learner.log_likelihood(model) + self.learner.log_prior(model)

        graphs, height = peak(state.model, state.structures)
        for trial in self.done:
            if trial.origin is not None and sorted(trial.origin.structures) == graphs:
                top = peak(trial.origin.model, trial.origin.structures)[1]
                if meet(min(top, height), max(top, height)):
                    return trial.estimate
        return None

    def _drawn(self, many: int, start: int) -> Entrant:
        """Return a draw around the fit to all rows, as in TMCH98."""
        structures = self.entrants.firsts(many)
        rng = np.random.default_rng([self.seed, many, start])
        model = self.learner.begin(structures, self.ess, rng, self.drawn_weights)
        return Entrant("a draw", self._runner(many, start, self.plan).begin(model, structures))

    @cached_property
    def members(self) -> tuple[Growth, ...]:
        """The same mixtures with structures of one kind, where these are among those that are looked for."""
        if self.plan.structure != "learn" or self.learner.labels is not None:
            return ()
        kinds = [
            "empty",
            *(["tree"] if not self._two_required else []),
            *(["complete"] if self._full else []),
        ]
        return tuple(self._member(kind) for kind in kinds)

    def _member(self, kind: str) -> Growth:
        plan = replace(self.plan, structure=kind, stop=NEARLY)
        growth = Growth(self.learner, plan, self.begin.source, 1, self.ess, self.seed, self._told, dict)
        growth.begin = growth.entrants.begin = self.begin
        growth.whole = self
        return growth

    def _told(self, progress: MixtureProgress) -> object:
        """Tell the one who watches of a member as of the whole."""
        if self.watch is None:
            return None
        trail = lambda: self._trail(progress.asked, 0, None)  # noqa: E731
        return self.watch(replace(progress, best=self._top, done=tuple(self.done), trail=trail))

    @property
    def _top(self) -> float | None:
        return max((trial.estimate.value for trial in self.done), default=None)

    @cached_property
    def _full(self) -> bool:
        """Whether components with all arcs are among the structures looked for."""
        rules, schema = self.plan.constraints, self.plan.constraints.schema
        n = len(schema)
        plain = not any(v.discrete or v.hidden for v in schema) and rules.max_parents >= n - 1
        return bool(plain and n <= WIDEST and rules.free.sum() == n * (n - 1) and not rules.required.any())

    @cached_property
    def _two_required(self) -> bool:
        return bool(np.any(self.plan.constraints.required.sum(axis=0) > 1))

    def _runner(self, many: int, start: int, plan: Plan) -> Runner:
        runner = Runner(self.learner, plan, lambda state, tick: self._tell(many, start, runner, state, tick))
        return runner

    def _trail(self, many: int, start: int, state: State | None) -> MixtureTrail:
        """Return what is over, what is under way, and what an earlier run had begun and this has not met."""
        kept = dict(self.earlier)
        for key, trial in self._begun.items():
            if key not in kept or kept[key].estimate is None:
                ended = encode_state(self.learner, _ended(trial))
                kept[key] = KeptTrial(*key, ended, trial.estimate, trial.how, trial.met, trial.winners)
        self.earlier = dict(kept)
        over = (many, start) in kept and kept[many, start].estimate is not None
        if state is not None and self._under_way is not None and not over:
            kept[many, start] = replace(self._under_way, state=encode_state(self.learner, state))
        return MixtureTrail(self.fingerprint, tuple(kept.values()))

    def _tell(self, many: int, start: int, runner: Runner, state: State, tick: Tick) -> None:
        check_wanted()
        if self.watch is None or get_ident() != self._asked_by:
            return
        kept = None if self._under_way is None else runner.notes.kept
        told = MixtureProgress(
            many, start, tick, self._top, state, tuple(self.done), lambda: self._trail(many, start, kept)
        )
        if is_enough(self.watch(told)):
            raise KeyboardInterrupt


def _worth(trial: Trial) -> tuple[bool, float]:
    """Return what trials are ordered by: a degenerate one is below all others."""
    return not trial.degenerate, trial.value


def _ended(trial: Trial) -> State:
    """Return the state in which a trial ended."""
    assert trial.origin is not None
    origin, over = trial.origin, trial.converged
    return State(origin.model, origin.structures, done=True, converged=over, ticks=trial.ticks)
