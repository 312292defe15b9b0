"""The outer search: mixtures with more and more components, until that no longer pays (TMCH98 section 6).

Every number of components has a tournament of beginnings (`lacunary.mixture.begin`), whose winners climb to
the end. Where structures are learned, the classes with fixed structures are members of the class: what they
come to is where the search for structures begins, so that it ends no lower. Growing may go back: two
components of a mixture merged may be a better smaller one than was found on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunary.data.fingerprint import same_run
from lacunary.data.source import Source
from lacunary.evidence.estimate import Estimate
from lacunary.learn.around import Around
from lacunary.learn.stop import Stop
from lacunary.mixture.begin import Beginning, Beginnings, Entrant, halved
from lacunary.mixture.found import MixtureFit, MixtureProgress, Origin, Trial, WatchMixture
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.mixture.tied import Tied
from lacunary.mixture.trail import KeptTrial, MixtureTrail
from lacunary.mixture.variational import posterior
from lacunary.structure.hidden import start_of
from lacunary.structure.plan import Plan, State, Tick
from lacunary.structure.resume import decode_state, encode_state, plan_settings
from lacunary.structure.run import Runner
from lacunary.structure.score import FamilyScore, Structure, Sum, total
from lacunary.structure.tree import best_forest
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

WINNERS = 2
"""Beginnings that climb to the end for each number of components, unless told."""

NEARLY = Stop(share=1e-4, relative=1e-8, iterations=200)
"""When EM of a member has converged: the search for structures goes on from there."""

WIDEST = 100
"""Variables up to which components with all arcs are tried before structures are learned."""

DRAWS, SPLITS, MERGES = 2, 2, 3
"""Draws of k-means++ in each of two geometries, components split and pairs merged in a tournament."""

APART = "structures were compared as if every component had parameters of its own"
"""What is said where structures are looked for and parameters are shared."""

BACK = 20
"""Steps of EM after which a smaller mixture made by merging must be the best of its number to go on."""


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
        self.done: list[Trial] = []
        self.whole: Growth | None = None
        self.graphs: tuple[Structure, ...] = ()
        self.initial: Beginning | None = None
        self.drawn_weights = False
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
        before, top, idle, stale, last = -np.inf, -np.inf, 0, 0, 0
        for many in range(1, min(MOST, int(self.learner.row_weights.sum())) + 1):
            value, last = self._try(many), many
            # A mixture whose new component lost its rows ends where the last one did, up to rounding.
            idle = 0 if value > before + ROUNDING * abs(value) else idle + 1
            stale = 0 if value > top else stale + 1
            before, top = value, max(top, value)
            if idle >= PATIENCE or stale >= STALE:
                break
        if self.draws is None:
            self._back(last)

    def _back(self, last: int) -> None:
        """Go from the largest number down: merging two components may find a better smaller mixture."""
        for many in range(last - 1, 1, -1):
            larger, known = self.best(many + 1), self.best(many)
            if larger.components != many + 1 or larger.origin is None:
                continue
            merged = self.begin.merged(larger.origin.model, MERGES)
            entrants = halved([self._entrant(b, many) for b in merged], 1, self._leg(many))
            best = self._leg(many)(entrants[0], BACK)
            if best.value > known.value + ROUNDING * abs(best.value):
                self._learn(many, sum(trial.asked == many for trial in self.done), best)

    def _try(self, many: int) -> float:
        """Learn mixtures with so many components and return the highest estimate and log prior."""
        first = self.earlier.get((many, 0))
        if self.draws is not None:
            for start in range(self.draws.count):
                self._learn(many, start)
        elif first is not None and self._kept(many, first.winners):
            for start in range(first.winners):
                self._learn(many, start)
        else:
            winners = self._winners(many)
            for start, entrant in enumerate(winners):
                self._learn(many, start, entrant, len(winners))
        best = max((trial for trial in self.done if trial.asked == many), key=_worth)
        return -np.inf if best.degenerate else best.value

    def _kept(self, many: int, winners: int) -> bool:
        """Whether an earlier run has all winners of a number of components, begun or over."""
        return winners > 0 and all((many, start) in self.earlier for start in range(winners))

    def _winners(self, many: int) -> list[Entrant]:
        """Return the beginnings that climb to the end, best first."""
        entrants = list(self._entrants(many))
        assert isinstance(self.starts, int)
        return halved(entrants, self.starts, self._leg(many))

    def _entrants(self, many: int) -> Iterator[Entrant]:
        """Yield what enters the tournament of a number of components."""
        labels = self.learner.labels
        if self.initial is not None:
            yield self._entrant(self.initial, many)
            return
        if labels is not None:  # rows whose class is missing are nobody's at first
            known = labels & (labels.sum(axis=1) == 1)[:, None]
            yield self._entrant(Beginning("the classes", known.astype(np.float64)), many)
            return
        if many == 1 and self.learner.noise is None:
            yield self._entrant(Beginning("all rows", np.ones((len(self.learner.row_weights), 1))), many)
            return
        floor = None
        for member, trial in self._of_members(many):
            assert trial.origin is not None
            how, model = f"{trial.how}, {member.plan.structure} structures", trial.origin.model
            own = model.models.structures
            floor = floor or (model, own, trial.estimate.value + self.plan.log_prior(own))
            state = self._searching(model, (self._first,) * trial.components)
            yield Entrant(how, replace(state, best=floor), met=trial.met)
        known = self.done if self.whole is None else self.whole.done
        smaller = [t for t in known if t.asked < many and t.components == many - 1]
        if smaller:
            origin = max(smaller, key=_worth).origin
            assert origin is not None
            for beginning in self.begin.split(origin.model, SPLITS):
                entrant = self._entrant(beginning, many)
                yield replace(entrant, state=replace(entrant.state, best=floor))
        if self.members:
            return
        for beginning in self.begin.groups(many, DRAWS) if many > 1 else [_all(self.learner)]:
            yield self._entrant(beginning, many)
        structures = self._firsts(many)
        yield Entrant("a draw", self._runner(many, 0).begin(self.begin.drawn(structures, 0), structures))

    def _of_members(self, many: int) -> list[tuple[Growth, Trial]]:
        """Return the members' mixtures of so many components, the best first."""
        found = [(member, member.best(many)) for member in self.members]
        return sorted(found, key=lambda pair: -self._whole_value(pair[1]))

    def _whole_value(self, trial: Trial) -> float:
        """Return what a member's mixture is worth as one of this class: with the prior of its graphs."""
        assert trial.origin is not None
        return trial.estimate.value + self.plan.log_prior(trial.origin.structures)

    def _entrant(self, beginning: Beginning, many: int) -> Entrant:
        """Return groups of rows as an entrant."""
        if self.plan.structure != "learn":
            kept = self.plan.structure == "given" and beginning is self.initial
            beginning = replace(beginning, structures=self._firsts(many) if kept else None)
        find = self._forest if self.plan.structure == "tree" else None
        if len(self.graphs) > 1 and not beginning.structures:
            find = self._matched
        model = self.begin.entered(beginning, self._first, find)
        if self.plan.structure == "learn":
            return Entrant(beginning.how, self._searching(model, model.models.structures))
        return Entrant(beginning.how, self._runner(many, 0).begin(model, model.models.structures))

    def _matched(self, scores: Sequence[FamilyScore]) -> list[Structure]:
        """Return given graphs in the order in which they fit the components best."""
        worth = np.array([[total(score, graph) for graph in self.graphs] for score in scores])
        _, order = linear_sum_assignment(worth, maximize=True)
        return [self.graphs[int(g)] for g in order]

    def _forest(self, scores: Sequence[FamilyScore]) -> list[Structure]:
        """Return the best forest of every component, or of all together where they share one."""
        rules = self.plan.constraints
        if self.plan.shared:
            return [tuple(best_forest(Sum(scores), rules, self.plan.prior))] * len(scores)
        return [tuple(best_forest(score, rules, self.plan.prior)) for score in scores]

    def _searching(self, model: Parameters, structures: tuple[Structure, ...]) -> State:
        """Return the state in which structures are looked for on what a model expects, before EM goes on."""
        runner = self._runner(len(structures), 0)
        steps = [step.what for step in runner.program]
        if "complete" not in steps or steps[steps.index("complete") + 1] != "search":
            return runner.begin(model, model.models.structures)
        return replace(runner.begin(model, structures), place=steps.index("complete"))

    def _leg(self, many: int) -> Callable[[Entrant, int], Entrant]:
        """Return a step of the tournament: EM where structures are fixed, else a round of EM and search."""
        runner = self._runner(many, 0)

        def climbed(entrant: Entrant, steps: int) -> Entrant:
            state = entrant.state
            if self.plan.structure == "learn":
                state = next(runner.run(state), state)
            else:
                state, _ = self.learner.climb(runner.notes, state, steps)
            value = self.learner.weigh(state.model, state.structures).value
            value += self.plan.log_prior(state.structures)
            if self.learner.degenerate(state.model):
                value = -np.inf
            return replace(entrant, state=state, value=value)

        return climbed

    def _learn(self, many: int, start: int, entrant: Entrant | None = None, winners: int = 0) -> float:
        """Climb to the end from a draw, from a winner, or from where an earlier run was; keep the trial."""
        runner, kept = self._runner(many, start), self.earlier.get((many, start))
        how, met = ("a draw", 1) if entrant is None else (entrant.how, entrant.met)
        if kept is not None:
            state = decode_state(self.learner, kept.state, len(runner.program))
            how, met, winners = kept.how, kept.met, kept.winners
        elif entrant is not None:
            state = entrant.state
        else:
            state = runner.begin(*self._drawn(many, start))
        self._under_way = KeptTrial(many, start, {}, None, how, met, winners)
        for after in runner.run(state):
            state = after
        self._under_way = None
        known = None if kept is None else kept.estimate
        estimate = known or self._estimate(state)
        ended = estimate.value + self.plan.log_prior(state.structures)
        if state.best is not None and state.best[2] > ended:  # a member of the class is higher
            state = replace(state, model=state.best[0], structures=state.best[1])
            estimate = self._estimate(state)
        origin = Origin(self.learner, state.model, state.structures)
        mixture = self.learner.mixture(state.model)
        prior = self.plan.log_prior(state.structures)
        flat = self.learner.degenerate(state.model)
        kept_as = (estimate, state.converged, state.ticks, origin, prior, how, met, winners, flat)
        self.done.append(Trial(many, start, mixture, *kept_as))
        return self.done[-1].value

    def _estimate(self, state: State) -> Estimate:
        """Return what a mixture is worth by the estimate that chooses."""
        if self.learner.by != "variational":
            return self.learner.estimate(state.model, state.structures)
        bound = posterior(self.learner, state.model, state.structures).bounds[-1]
        free = self.learner.dimension(state.structures)
        return Estimate("variational", bound, "lower bound", {"bound": bound}, dimension=free)

    def _drawn(self, many: int, start: int) -> tuple[Parameters, tuple[Structure, ...]]:
        """Return the first parameters and structures of a draw around the fit to all rows."""
        structures = self._firsts(many)
        rng = np.random.default_rng([self.seed, many, start])
        return self.learner.begin(structures, self.ess, rng, self.drawn_weights), structures

    def _firsts(self, many: int) -> tuple[Structure, ...]:
        """Return the structures that components begin with where they are not groups of rows."""
        return self.graphs if len(self.graphs) == many else (self._first,) * many

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
        assert isinstance(self.starts, int)
        plan, begin = replace(self.plan, structure=kind, stop=NEARLY), self.begin
        growth = Growth(self.learner, plan, begin.source, 1, self.ess, self.seed, self._told, dict)
        growth.begin, growth.whole = begin, self
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

    @cached_property
    def _first(self) -> Structure:
        """The structure of every component at the start."""
        if self.graphs:
            return self.graphs[0]
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
                ended = encode_state(self.learner, _ended(trial))
                kept[key] = KeptTrial(*key, ended, trial.estimate, trial.how, trial.met, trial.winners)
        self.earlier = dict(kept)
        over = (many, start) in kept and kept[many, start].estimate is not None
        if state is not None and self._under_way is not None and not over:
            kept[many, start] = replace(self._under_way, state=encode_state(self.learner, state))
        return MixtureTrail(self.fingerprint, tuple(kept.values()))

    def _tell(self, many: int, start: int, runner: Runner, state: State, tick: Tick) -> None:
        if self.watch is None:
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


def _all(learner: MixtureLearner) -> Beginning:
    return Beginning("all rows", np.ones((len(learner.row_weights), 1)))


def _ended(trial: Trial) -> State:
    """Return the state in which a trial ended."""
    assert trial.origin is not None
    origin, over = trial.origin, trial.converged
    return State(origin.model, origin.structures, done=True, converged=over, ticks=trial.ticks)
