"""Where mixtures begin: groups of rows, a smaller mixture with a component split, a larger with two merged.

Draws around the fit to all rows (TMCH98 section 5) leave the components alike: EM takes long to part them, or
loses some on the way. Groups found by k-means++ and by hierarchical merging begin apart; what a smaller
mixture knows already is kept where its worst-fitting component is split. Which beginning is best is not known
beforehand: all climb a few steps, the better some more, and the winners go on to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lacunary.data.source import Source, joined
from lacunary.errors import ParameterError
from lacunary.infer.mixture import Mixture, shared_out
from lacunary.learn.places import Places
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.maths.cluster import k_means, nearest, squares
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.structure.plan import State
from lacunary.structure.score import FamilyScore, Structure

__all__ = ["Beginning", "Beginnings", "Entrant", "begun_from", "halved"]

TURNS = 3
"""How often holes are filled anew under groups of rows that stay as they are."""

STEPS = 2
"""Steps of EM in the first round of a tournament; in every further one twice as many."""

LEAST_ROWS = 4.0
"""Rows that a component needs to be split."""

KEPT = 0.6
"""The part of its rows that a component keeps where others are given away."""

TINY = np.finfo(np.float64).tiny

FLAT = 1e-12
"""Squares below this, of standardised columns, are none."""

Forest = Callable[[Sequence[FamilyScore]], Sequence[Structure]]
"""The best forest of every component, given the scores of families."""

SAME = 1e-7
"""Estimates that differ by less than this part of their size, after as many steps, are of one beginning."""

ALIKE = 1e-4
"""The same where the components' graphs, which were looked for, are the same as well."""


@dataclass(frozen=True, eq=False)
class Beginning:
    """Groups of rows to begin with.

    Attributes
    ----------
    how
        What they come from, in words.
    shares
        How far each row belongs to each component, the noise left out; (rows, components).
    structures
        The graphs that components have already, if any.
    noise
        How far each row belongs to the noise, where that is known; (rows,).
    """

    how: str
    shares: Array
    structures: tuple[Structure, ...] | None = None
    noise: Array | None = None


@dataclass(frozen=True, eq=False)
class Entrant:
    """A mixture in a tournament.

    Attributes
    ----------
    how
        What it began with.
    state
        Where it is.
    value
        What it is worth there, in nats.
    met
        How many beginnings it stands for: those that came to the same are one.
    fixed
        Whether its graphs were given and not looked for.
    """

    how: str
    state: State
    value: float = -np.inf
    met: int = 1
    fixed: bool = True


class Beginnings:
    """Beginnings of mixtures on the rows of one source; none depends on the order of rows."""

    def __init__(self, learner: MixtureLearner, source: Source, ess: float, seed: int) -> None:
        self.learner, self.source, self.ess, self.seed = learner, source, ess, seed

    @cached_property
    def plain(self) -> Places:
        """The rows as points, columns standardised."""
        return Places(self.source)

    @cached_property
    def sphered(self) -> Places | None:
        """The rows with continuous columns uncorrelated; none where that is nothing else."""
        continuous = [v for v in self.source.schema if not v.discrete and not v.hidden]
        return Places(self.source, sphere=True) if len(continuous) > 1 else None

    @cached_property
    def complete(self) -> bool:
        """Whether no observable cell is a hole."""
        hidden = np.array([v.hidden for v in self.source.schema])
        return not self.source.facts.holes[~hidden].any() and not hidden.any()

    def groups(self, many: int, draws: int, places: Sequence[Places]) -> Iterator[Beginning]:
        """Yield groups of rows: by hierarchical merging, and by so many draws of k-means++."""
        for place in places:
            yield Beginning(f"hierarchical merging{_of(place)}", _owned(place.merged(many), many))
            yield from self.k_means(many, range(draws), place)

    def k_means(self, many: int, draws: Iterable[int], place: Places) -> Iterator[Beginning]:
        """Yield groups of rows by k-means++, of draws by their numbers."""
        for draw in draws:
            rng = np.random.default_rng([self.seed, many, 1, int(place.sphere), draw])
            yield Beginning(f"k-means{_of(place)}", _owned(place.k_means(many, rng), many))

    def split(self, model: Parameters, most: int) -> Iterator[Beginning]:
        """Yield a mixture's shares with one component split in two, those that fit worst first.

        A component fits badly where two groups of its rows lie far apart for how wide they are: what two
        means leave of the squares about one, with columns in units of the component's own spread.
        """
        shares = self._shares(model)
        heavy = [c for c in range(shares.shape[1]) if self.learner.row_weights @ shares[:, c] >= LEAST_ROWS]
        halves = {c: self._halves(self.learner.row_weights * shares[:, c], c, shares.shape[1]) for c in heavy}
        for c in sorted(halves, key=lambda c: halves[c][0])[:most]:
            second = halves[c][1]
            new = np.column_stack([shares, shares[:, c] * second])
            new[:, c] *= ~second
            own = model.models.structures
            yield Beginning("a component split", new, (*own, own[c]))

    @cached_property
    def _points(self) -> Array:
        return np.concatenate(self.source.fold(lambda table: (self.plain.points(table),)))

    def _halves(self, weight: Array, c: int, many: int) -> tuple[float, Booleans]:
        """Return what two means leave of a component's squares, and which rows are nearer to the second."""
        seen, x = ~np.isnan(self._points), np.nan_to_num(self._points)
        total = np.maximum(weight @ seen, np.finfo(np.float64).tiny)
        mean = weight @ x / total
        spread = np.sqrt(np.maximum(weight @ np.where(seen, x - mean, 0.0) ** 2 / total, FLAT))
        own, mine = (self._points - mean) / spread, weight > 0.5 * weight.max()
        order = np.lexsort(np.nan_to_num(own[mine]).T)  # whatever the order of rows
        part, counted = own[mine][order], weight[mine][order]
        centres = k_means(part, counted, 2, np.random.default_rng([self.seed, many, 2, c]))
        apart = counted @ squares(part, centres).min(axis=1)
        whole = counted @ squares(part, np.zeros((1, part.shape[1])))[:, 0]
        return float(apart / max(whole, FLAT)), nearest(own, centres) == 1

    def merged(self, model: Parameters, most: int) -> Iterator[Beginning]:
        """Yield a mixture's shares with two components made one, those that share most rows first."""
        shares = self._shares(model)
        many = shares.shape[1]
        size = np.sqrt((shares**2).sum(axis=0)) + 1e-300
        alike = (shares / size).T @ (shares / size)
        pairs = [(-alike[a, b], a, b) for a in range(many) for b in range(a + 1, many)]
        for _, a, b in sorted(pairs)[:most]:
            new = np.delete(shares, b, axis=1)
            new[:, a] += shares[:, b]
            own = model.models.structures
            yield Beginning("two components merged", new, (*own[:b], *own[b + 1 :]))

    def exchanged(self, model: Parameters, draws: Iterable[int]) -> Iterator[Beginning]:
        """Yield a mixture's shares with some rows of one component given to another.

        Those that lie farthest in a direction drawn at random, whatever the order of rows.
        """
        shares, own = self._shares(model), model.models.structures
        points = np.nan_to_num(self._points)
        for draw in draws:
            rng = np.random.default_rng([self.seed, len(own), 3, draw])
            one, two = rng.choice(len(own), 2, replace=False)
            along = points @ rng.normal(size=points.shape[1])
            order, weight = np.argsort(along), self.learner.row_weights * shares[:, one]
            below = np.cumsum(weight[order])
            edge = along[order][min(int(np.searchsorted(below, KEPT * below[-1])), len(order) - 1)]
            new = shares.copy()
            new[:, two] += shares[:, one] * (along > edge)
            new[:, one] *= along <= edge
            yield Beginning("rows exchanged", new, own)

    def _shares(self, model: Parameters) -> Array:
        """Return which component each row belongs to, the noise left out; (rows, components)."""
        logs = self.learner.log_densities(model)
        many = logs.shape[1] - (model.noise is not None)
        return shared_out(logs[:, :many])[0]

    def drawn(self, structures: Sequence[Structure], start: int) -> Parameters:
        """Return a draw around the fit to all rows, the noise with a small share."""
        rng = np.random.default_rng([self.seed, len(structures), start])
        model = self.learner.begin(structures, self.ess, rng)
        if model.noise is None:
            return model
        weights = self.learner.shared(np.full((1, len(structures)), 1.0 / len(structures)))[0]
        return replace(model, weights=weights)

    def entered(self, beginning: Beginning, first: Structure, forest: Forest | None) -> Parameters:
        """Return the parameters that go with groups of rows, for a structure or for the best forests."""
        many = beginning.shares.shape[1]
        drawn = self.drawn(beginning.structures or (first,) * many, 0)
        shares = self.learner.shared(beginning.shares)
        if beginning.noise is not None:
            shares = np.column_stack([beginning.shares, beginning.noise])
        model, completed = self.learner.given(drawn, shares, 1 if self.complete else TURNS)
        return (
            model
            if forest is None
            else self.learner.maximize(completed, forest(self.learner.scores(completed)))
        )


def halved(
    entrants: Sequence[Entrant], winners: int, leg: Callable[[Entrant, int], Entrant], part: int = 3
) -> list[Entrant]:
    """Return the winners, best first: all climb some steps, the better third twice as many, and so on.

    Or another ``part`` than a third.
    """
    alive, steps = list(entrants), STEPS
    while len(alive) > winners:
        ended = [leg(entrant, steps) for entrant in alive]
        ended = _together(sorted(ended, key=lambda one: -one.value))
        if len(ended) <= winners:
            return ended
        alive, steps = ended[: max(winners, len(ended) // part)], 2 * steps
    return alive


def begun_from(given: Any, rows: Source, noisy: bool) -> Beginning:
    """Return a given mixture, or what a fit found, as groups of rows to begin with."""
    mixture = getattr(given, "mixture", given)
    if not isinstance(mixture, Mixture):
        raise ParameterError(f"initial is a mixture, or what learning one found, not {given!r}")
    if mixture.schema.names != rows.schema.names:
        raise ParameterError(
            "the mixture to start from is over other variables, or in another order: "
            f"{', '.join(mixture.schema.names[:5])}… and {', '.join(rows.schema.names[:5])}…"
        )
    shares = rows.fold(lambda table: mixture.responsibilities(table), joined)
    many = len(mixture.components)
    own, noise = shares[:, :many], shares[:, many:]
    structures = tuple(tuple(tuple(sorted(ps)) for ps in c.dag.parent_indices) for c in mixture.components)
    if noisy and noise.shape[1]:
        return Beginning("the mixture given", own, structures, noise[:, 0])
    return Beginning("the mixture given", own / np.maximum(own.sum(axis=1, keepdims=True), TINY), structures)


def _together(entrants: Sequence[Entrant]) -> list[Entrant]:
    """Return entrants, best first, of which those that came to the same are one."""
    out: list[Entrant] = []
    for entrant in entrants:
        same = next((place for place, other in enumerate(out) if _same(other, entrant)), None)
        if same is None:
            out.append(entrant)
        else:
            out[same] = replace(out[same], met=out[same].met + entrant.met)
    return out


def _same(one: Entrant, two: Entrant) -> bool:
    """Whether two entrants have come to the same: as high, or all but as high with the same graphs."""
    own, other = sorted(one.state.structures), sorted(two.state.structures)
    near = ALIKE if own == other and not two.fixed else SAME
    return abs(one.value - two.value) <= near * abs(two.value)


def _of(place: Places) -> str:
    return " of uncorrelated columns" if place.sphere else ""


def _owned(labels: Integers, many: int) -> Array:
    return np.asarray((labels[:, None] == np.arange(many)).astype(np.float64))
