"""Structural EM of one network: its steps, and a run that is told of and kept (TMCH98 section 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from lacunary.data.fingerprint import same_run
from lacunary.data.schema import Schema
from lacunary.data.source import Source
from lacunary.errors import FileError, ParameterError
from lacunary.evidence.cheeseman_stutz import expected_terms
from lacunary.infer.partitioned import expect_together
from lacunary.infer.rows import Rows
from lacunary.learn.around import Around
from lacunary.learn.loop import Climb, climb, climb_together, climbing
from lacunary.learn.seed import LOADING
from lacunary.learn.start import first_point
from lacunary.learn.stop import Stop, is_enough
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch
from lacunary.structure.fresh import Fresh, Top
from lacunary.structure.hidden import start_of
from lacunary.structure.method import strengths
from lacunary.structure.networks import Expected, Networks, Vectors
from lacunary.structure.plan import Notes, Plan, State, Tick, Weighed, arcs_of
from lacunary.structure.result import StructuralResult
from lacunary.structure.resume import decode_state, encode_state
from lacunary.structure.run import Runner
from lacunary.structure.score import FamilyScore, Structure
from lacunary.structure.shares import everything
from lacunary.structure.tree import best_forest
from lacunary.structure.walk import SearchProgress, Trail, WatchSearch, dag_of, structure_of

__all__ = ["CONVERGED", "NAME", "NetworkLearner", "NetworkRun"]

CONVERGED = Stop(relative=1e-8, share=1e-6)
"""When EM has converged, by default."""

NAME = "structural-em"
"""What trails of structural EM are called, where other searches have their own names."""


@dataclass(frozen=True, eq=False)
class NetworkLearner:
    """A network on the rows of a table; see `lacunary.structure.plan.Learner`.

    Attributes
    ----------
    networks
        The rows, the prior, and how families are scored. EM maximises the posterior under the same prior.
    starts
        Draws from which EM begins where something is hidden; the best goes on.
    stop
        When EM has converged.
    """

    networks: Networks
    starts: int = 10
    stop: Stop = CONVERGED

    @property
    def schema(self) -> Schema:
        """The variables."""
        return self.networks.schema

    def begin(self, structure: Structure, rng: np.random.Generator) -> Vectors:
        """Return what fully observed families say; where something is hidden, the best of several draws."""
        rows, belief = self.networks.rows(structure), self.networks.belief(structure)
        table = self.networks.source
        if not self.schema.hidden:
            return Vectors((structure,), (first_point(rows, belief, table),))
        points = Around(self.starts, loading=LOADING).points(belief, self.networks.prior, table, rng)
        climbs, _ = climb(rows, self.networks.m_step(structure), points, Stop(relative=1e-5))
        return Vectors((structure,), (max(climbs, key=lambda one: one.objective).theta,))

    def climb(self, notes: Notes, state: State, steps: int | None) -> tuple[State, bool]:
        """Take steps of EM, or all there are; return the state after them, and whether EM has converged."""
        # One sweep more than steps: it tells how good the parameters are to which the last step led.
        end = self._climbed(state.model, self.stop if steps is None else Stop(iterations=steps + 1))
        model = Vectors(state.model.structures, (end.theta,))
        return replace(state, model=model), steps is None or end.converged

    def _climbed(self, model: Vectors, stop: Stop) -> Climb:
        [structure], [theta] = model.structures, model.thetas
        rows = self.networks.rows(structure)
        [end], interrupted = climb(rows, self.networks.m_step(structure), theta[None], stop)
        if interrupted:
            raise KeyboardInterrupt
        self._check(end, rows)
        return end

    def _check(self, end: Climb, rows: Rows) -> None:
        if end.log_likelihood == -np.inf:
            rows.check_possible(end.theta)

    def expect(self, model: Vectors) -> list[Expected]:
        """Return what the network expects the rows to hold."""
        return [Expected(self.networks, model.structures[0], model.thetas[0])]

    def scores(self, statistics: Sequence[Expected]) -> Sequence[FamilyScore]:
        """Return the score of any family on expected statistics."""
        return self.networks.scores(statistics)

    def log_evidence(self, statistics: Sequence[Expected], structures: Sequence[Structure]) -> float:
        """Return what a structure scores on expected statistics."""
        return self.networks.log_complete_evidence(statistics, structures)

    def maximize(self, statistics: Sequence[Expected], structures: Sequence[Structure]) -> Vectors:
        """Return the best parameters of a structure given expected statistics."""
        return self.networks.maximize(statistics, structures)

    def weigh(self, model: Vectors, structures: Sequence[Structure]) -> Weighed:
        """Return what the graph is worth at the maximum EM climbs to from these parameters.

        The score of the expected data, corrected for their fit: the Cheeseman–Stutz estimate where it is
        the evidence, whose two terms in log N cancel, as the expected data have all parameters to charge for.
        """
        [found] = self.weigh_together([model])
        return found

    def weigh_together(self, models: Sequence[Vectors]) -> list[Weighed]:
        """Return what several graphs are worth; of rows in parts a pass is one step of all of them."""
        structures = [model.structures[0] for model in models]
        rows = [self.networks.rows(structure) for structure in structures]
        if len(models) == 1:
            ends = [self._climbed(models[0], self.stop)]
        else:
            each = zip(structures, rows, models, strict=True)
            work = [climbing(r, self.networks.m_step(s), m.thetas[0][None], self.stop) for s, r, m in each]
            ends = [end for [end] in climb_together(work, expect_together)]
            for end, mine in zip(ends, rows, strict=True):
                self._check(end, mine)
        swept = expect_together([(r, end.theta[None]) for r, end in zip(rows, ends, strict=True)])
        return [self._worth(*each) for each in zip(structures, ends, swept, strict=True)]

    def _worth(self, structure: Structure, end: Climb, swept: Batch) -> Weighed:
        model = Vectors((structure,), (end.theta,))
        expected = Expected(self.networks, structure, end.theta, swept=np.asarray(swept.counts[0]))
        evidence, log = expected.log_evidence(structure), swept[0].log_likelihood
        fit = float(self.networks.fit([expected], model)[0])
        return Weighed(sum(expected_terms(evidence, fit, log).values()), model, log)

    def enlarged(self, model: Vectors) -> list[Expected] | None:
        """Return expected statistics as if each row counted 1/(1 − h)² times, with h the share of holes.

        Two variables that no arc joins are both seen in a part f = (1 − h)² of the rows; elsewhere they are
        filled in as if independent. Their dependence in the expected statistics is then f times as strong as
        it is, and what an arc gains, which grows with the square, f² times; the rows in which both are seen
        speak for it with f. None if nothing is missing.
        """
        facts = self.networks.source.facts
        seen = [not variable.hidden for variable in self.schema]
        holes = 1.0 - float(facts.seen[seen].mean()) / facts.weight
        if not facts.holes[seen].any() or not 0.0 < holes < 1.0:
            return None
        oftener = everything(self.networks.row_weights.then(partial(_divided, (1.0 - holes) ** 2)))
        return [Expected(self.networks, model.structures[0], model.thetas[0], oftener)]

    def encode(self, model: Vectors) -> dict[str, Any]:
        """Return parameters as lists of numbers."""
        return {"models": self.networks.encode(model)}

    def decode(self, plain: Any) -> Vectors:
        """Return the parameters that `encode` wrote."""
        model = self.networks.decode(plain["models"])
        if len(model.thetas) != 1:
            raise ValueError("one network was expected")
        return model


def _divided(by: float, weights: Array) -> Array:
    return weights / by


class NetworkRun:
    """Structural EM of one network: a schedule carried out, told of, and kept to go on from."""

    def __init__(
        self,
        learner: NetworkLearner,
        plan: Plan,
        watch: WatchSearch | None,
        fingerprint: Callable[[], Mapping[str, str]],
    ) -> None:
        self.learner, self.plan, self.watch, self.fingerprint = learner, plan, watch, fingerprint
        self.runner = Runner(learner, plan, self._round_over, None if watch is None else self._asked_to_stop)
        self.checked: tuple[int, int] | None = None

    def result(
        self, start: Dag | Trail | str | None, rng: int | np.random.Generator, table: Source, prior: Any
    ) -> StructuralResult:
        """Carry the run out, from a graph or from where another was left; interrupted, to its last step."""
        interrupted = False
        state = self.runner.notes.kept = (
            self._resumed(start) if isinstance(start, Trail) else self._begun(start, rng)
        )
        try:
            self._tell(state, None)
            for _ in self.runner.run(state):
                pass
            self._checked()
        except KeyboardInterrupt:
            interrupted = True
        state = self.runner.notes.kept
        assert state.best is not None
        model, [structure], _ = state.best
        [network] = self.learner.networks.networks(model)
        [score] = self.learner.scores(self.learner.expect(model))
        return StructuralResult(
            dag=network.dag,
            score=max(r.cheeseman_stutz for r in state.rounds if r.arrows == str(network.dag)),
            path=state.path,
            strengths=strengths(score, table.schema.names, structure),
            method=self.plan.method.name,
            interrupted=interrupted,
            table=table,
            prior=prior,
            noted=state.rounds,
            converged=state.converged,
            structure_prior=self.plan.prior.name,
            log_structure_prior=self.plan.log_prior([structure]),
            schedule=str(self.plan.schedule),
            theta=network.theta,
            checked=self.checked,
        )

    def _checked(self) -> None:
        """Weigh the graphs near the best one afresh, where the run is not to end as the paper's does."""
        state = self.runner.notes.kept
        open_cells = self.learner.networks.source.facts.holes.any()
        if not (self.plan.escapes and open_cells and state and state.best and state.converged):
            return
        model, [structure], value = state.best
        fresh = Fresh(self.learner, self.plan, self._noted)
        top = fresh.best(model, structure, value)
        self.checked = top.weighed, top.neighbours

    def _noted(self, top: Top) -> None:
        """Keep a graph that was found better afresh as the best, in a round of its own."""
        state = self.runner.notes.kept
        assert state is not None
        assert state.best is not None
        if top.value > state.best[2]:
            state = replace(state, structures=(top.structure,), moves=1, criterion=None, forced=False)
            self.runner.notes.kept = state = self.runner.weighed(state, top.found)
        self._tell(state, None)

    def _begun(self, start: Dag | str | None, rng: int | np.random.Generator) -> State:
        """Return the state at a graph, with the first parameters that the learner gives it."""
        random, constraints = np.random.default_rng(rng), self.plan.constraints
        given = start if isinstance(start, Dag) else None
        first = (
            tuple(constraints.start(None)) if start == "empty" else structure_of(start_of(constraints, given))
        )
        model = self.learner.begin(first, random)
        if start == "tree":
            statistics = self.learner.expect(model)
            forest = best_forest(statistics[0].score, constraints, self.plan.prior)
            model = self.learner.maximize(statistics, [tuple(forest)])
        seed = int(random.integers(2**62))
        return self.runner.begin(model, model.structures, seed)

    def _resumed(self, trail: Trail) -> State:
        if trail.method != NAME:
            raise ParameterError(
                f"the search to go on from is {trail.method!r}, of a table without holes; this one has some"
            )
        same_run(self.fingerprint(), trail.fingerprint)
        state = decode_state(self.learner, trail.memory, len(self.runner.program))
        if state.best is None or not state.rounds:
            raise FileError("this checkpoint is damaged: it has no best network")
        return state

    def _trail(self) -> Trail:
        """Return the run as it was last kept."""
        state = self.runner.notes.kept
        assert state is not None
        assert state.best is not None
        here, best = (dag_of(self.learner.schema, s[0]) for s in (state.structures, state.best[1]))
        memory = encode_state(self.learner, state)
        return Trail(NAME, here, best, state.path, memory, self.fingerprint())

    def _round_over(self, state: State, tick: Tick) -> None:
        if tick.phase == "round" and self.runner.notes.kept is not None:
            self._tell(state, None)

    def _tell(self, state: State, inner: SearchProgress | None) -> None:
        if self._asked_to_stop(state, inner):
            raise KeyboardInterrupt

    def _asked_to_stop(self, state: State, inner: SearchProgress | None) -> bool:
        """Tell the one who watches how the run stands; what is kept is where it can go on from."""
        if self.watch is None:
            return False
        scores = [r.cheeseman_stutz for r in state.rounds]
        steps, arcs = len(state.path), arcs_of(state.structures)
        if inner is not None:
            steps, arcs = steps + inner.steps, inner.arcs
        told = SearchProgress(NAME, steps, arcs, scores[-1], max(scores), None, self._trail)
        return is_enough(self.watch(told))
