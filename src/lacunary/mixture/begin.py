"""Where mixtures begin: groups of rows, a smaller mixture with a component split, a larger with two merged.

Draws around the fit to all rows (TMCH98 section 5) leave the components alike: EM takes long to part them, or
loses some on the way. Groups found by k-means++ and by hierarchical merging begin apart; what a smaller
mixture knows already is kept where its worst-fitting component is split. Which beginning is best is not known
beforehand: all climb a few steps, the better some more, and the winners go on to the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from lacunary.data.facts import below, condensed, sketched
from lacunary.data.fewest import fewer
from lacunary.data.source import Source, in_tree
from lacunary.errors import ParameterError
from lacunary.infer.mixture import Mixture
from lacunary.learn.places import Places
from lacunary.maths.arrays import Array, Integers
from lacunary.maths.cluster import k_means, nearest, squares
from lacunary.mixture.learner import MixtureLearner, Parameters
from lacunary.structure.plan import State
from lacunary.structure.score import FamilyScore, Structure
from lacunary.structure.shares import ByRow, Shares, all_of

__all__ = ["Beginning", "Beginnings", "Entrant", "Maker", "begun_from", "best_of", "halved"]

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
    many
        How many components there are.
    structures
        The graphs that components have already, if any.
    noise
        How far each row belongs to the noise, where that is known; (rows,).
    sphered
        Whether they are groups of uncorrelated columns.
    """

    how: str
    shares: ByRow
    many: int
    structures: tuple[Structure, ...] | None = None
    noise: ByRow | None = None
    sphered: bool = False


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
    sphered
        Whether it began with groups of uncorrelated columns.
    """

    how: str
    state: State
    value: float = -np.inf
    met: int = 1
    fixed: bool = True
    sphered: bool = False


Maker = Callable[[], Beginning]
"""Makes a beginning: several may do so at once."""


class Beginnings:
    """Beginnings of mixtures on the rows of one source; none depends on the order of rows."""

    def __init__(self, learner: MixtureLearner, source: Source, ess: float, seed: int) -> None:
        self.learner, self.source, self.ess, self.seed = learner, source, ess, seed
        self._drawn: dict[int, Parameters] = {}

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

    def groups(self, many: int, draws: int, places: Sequence[Places]) -> Iterator[Maker]:
        """Yield what makes groups of rows: by hierarchical merging, and by so many draws of k-means++."""
        for place in places:
            yield partial(self._merged, many, place)
            yield from self.k_means(many, range(draws), place)

    def k_means(self, many: int, draws: Iterable[int], place: Places) -> Iterator[Maker]:
        """Yield what makes groups of rows by k-means++, of draws by their numbers."""
        for draw in draws:
            yield partial(self._k_means, many, draw, place)

    def _merged(self, many: int, place: Places) -> Beginning:
        owned = place.merged(many).then(partial(_owned, many))
        return Beginning(f"hierarchical merging{_of(place)}", owned, many, sphered=place.sphere)

    def _k_means(self, many: int, draw: int, place: Places) -> Beginning:
        rng = np.random.default_rng([self.seed, many, 1, int(place.sphere), draw])
        owned = place.k_means(many, rng).then(partial(_owned, many))
        return Beginning(f"k-means{_of(place)}", owned, many, sphered=place.sphere)

    def split(self, model: Parameters, most: int) -> Iterator[Beginning]:
        """Yield a mixture's shares with one component split in two, those that fit worst first.

        A component fits badly where two groups of its rows lie far apart for how wide they are: what two
        means leave of the squares about one, with columns in units of the component's own spread.
        """
        own, many = model.models.structures, len(model.models.structures)
        shares = all_of(self.learner.engine.row_weights, self.learner.belongs(model))
        points = self.source.laid(self.plain.points, keep=False)
        first = in_tree(points.each(_levels, shares), _level_sums)
        heavy = [c for c in range(many) if first[0][c] >= LEAST_ROWS]
        total = np.maximum(first[1], TINY)
        means, least = first[2] / total, 0.5 * first[3]
        second = in_tree(points.each(partial(_about, means, least), shares), _about_sums)
        spreads = np.sqrt(np.maximum(second[0] / total, FLAT))
        halves = {c: self._halves(*second[1][c], means[c], spreads[c], c, many) for c in heavy}
        for c in sorted(halves, key=lambda c: halves[c][0])[:most]:
            cut = partial(_split, c, means[c], spreads[c], halves[c][1])
            yield Beginning("a component split", points.then(cut, shares), many + 1, (*own, own[c]))

    def _halves(
        self, points: Array, weights: Array, mean: Array, spread: Array, c: int, many: int
    ) -> tuple[float, Array]:
        """Return what two means leave of a component's squares, and these means; of points that are its."""
        own = (points - mean) / spread
        order = np.lexsort(np.nan_to_num(own).T)  # whatever the order of rows
        part, counted = own[order], weights[order]
        centres = k_means(part, counted, 2, np.random.default_rng([self.seed, many, 2, c]))
        apart = counted @ squares(part, centres).min(axis=1)
        whole = counted @ squares(part, np.zeros((1, part.shape[1])))[:, 0]
        return float(apart / max(whole, FLAT)), centres

    def merged(self, model: Parameters, most: int) -> Iterator[Beginning]:
        """Yield a mixture's shares with two components made one, those that share most rows first."""
        shares, own = self.learner.belongs(model), model.models.structures
        many, product = len(own), in_tree(shares.each(_product))
        size = np.sqrt(np.diagonal(product)) + 1e-300
        alike = product / size / size[:, None]
        pairs = [(-alike[a, b], a, b) for a in range(many) for b in range(a + 1, many)]
        for _, a, b in sorted(pairs)[:most]:
            new = shares.then(partial(_merged, a, b))
            yield Beginning("two components merged", new, many - 1, (*own[:b], *own[b + 1 :]))

    def exchanged(self, model: Parameters, draws: Iterable[int]) -> Iterator[Beginning]:
        """Yield a mixture's shares with some rows of one component given to another.

        Those that lie farthest in a direction drawn at random, whatever the order of rows.
        """
        own = model.models.structures
        shares = all_of(self.learner.engine.row_weights, self.learner.belongs(model))
        points = self.source.laid(self.plain.points, keep=False)
        for draw in draws:
            rng = np.random.default_rng([self.seed, len(own), 3, draw])
            one, two = (int(c) for c in rng.choice(len(own), 2, replace=False))
            way: Array = rng.normal(size=self.plain.drawn[0].shape[1:])
            sketch = in_tree(points.each(partial(_along, way, one), shares), condensed)
            edge = float(below(sketch, [KEPT])[0])
            new = points.then(partial(_exchanged, way, edge, one, two), shares)
            yield Beginning("rows exchanged", new, len(own), own)

    def drawn(self, structures: Sequence[Structure], start: int) -> Parameters:
        """Return a draw around the fit to all rows, the noise with a small share."""
        rng = np.random.default_rng([self.seed, len(structures), start])
        model = self.learner.begin(structures, self.ess, rng)
        if model.noise is None:
            return model
        many, noise = len(structures), self.learner.first_noise
        return replace(model, weights=np.append(np.full(many, 1.0 / many) * (1.0 - noise), noise))

    def _any(self, many: int, first: Structure) -> Parameters:
        """Return a draw for rows without holes, which are what they are under any; kept."""
        if many not in self._drawn:
            self._drawn[many] = self.drawn((first,) * many, 0)
        return self._drawn[many]

    def entered(self, beginning: Beginning, first: Structure, forest: Forest | None) -> Parameters:
        """Return the parameters that go with groups of rows, for a structure or for the best forests."""
        structures = beginning.structures or (first,) * beginning.many
        drawn = self._any(beginning.many, first) if self.complete else self.drawn(structures, 0)
        shares = self.learner.shared(beginning.shares, beginning.noise)
        model, completed = self.learner.given(drawn, shares, 1 if self.complete else TURNS, structures)
        return (
            model
            if forest is None
            else self.learner.maximize(completed, forest(self.learner.scores(completed)))
        )


def halved(
    entrants: Sequence[Entrant],
    winners: int,
    leg: Callable[[Entrant, int], Entrant],
    part: int = 3,
    each: Callable[[Callable[[Entrant], Entrant], list[Entrant]], Iterable[Entrant]] = map,
) -> list[Entrant]:
    """Return the winners, best first: all climb some steps, the better third twice as many, and so on.

    Or another ``part`` than a third. ``each`` has all of them climb, one by one or at once.
    """
    alive, steps = list(entrants), STEPS
    while len(alive) > winners:
        ended = best_of(list(each(partial(_leg, leg, steps), alive)))
        if len(ended) <= winners:
            return ended
        alive, steps = ended[: max(winners, len(ended) // part)], 2 * steps
    return alive


def _leg(leg: Callable[[Entrant, int], Entrant], steps: int, entrant: Entrant) -> Entrant:
    return leg(entrant, steps)


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
    many = len(mixture.components)
    structures = tuple(tuple(tuple(sorted(ps)) for ps in c.dag.parent_indices) for c in mixture.components)
    shares = rows.laid(mixture.responsibilities)
    if noisy and mixture.noise is not None:
        own, noise = shares.then(partial(_first, many)), shares.then(_last)
        return Beginning("the mixture given", own, many, structures, noise)
    return Beginning("the mixture given", shares.then(partial(_alone, many)), many, structures)


def _first(many: int, shares: Array) -> Array:
    return shares[:, :many]


def _last(shares: Array) -> Array:
    return shares[:, -1]


def _alone(many: int, shares: Array) -> Array:
    """Return the shares of components as if there were no noise."""
    own = shares[:, :many]
    return np.asarray(own / np.maximum(own.sum(axis=1, keepdims=True), TINY))


Levels = tuple[Array, Array, Array, Array]
"""Of each component the weight, the weight and the sum of each coordinate, and the greatest weight."""

About = tuple[Array, list[tuple[Array, Array]]]
"""Squares about each component's mean, and of each some points that are its, with their weights."""


def _levels(points: Array, shares: Shares) -> Levels:
    weight, seen = shares.shares * shares.weights[:, None], ~np.isnan(points)
    most = weight.max(axis=0, initial=0.0)
    return weight.sum(axis=0), weight.T @ seen, weight.T @ np.nan_to_num(points), most


def _level_sums(a: Levels, b: Levels) -> Levels:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], np.maximum(a[3], b[3])


def _about(means: Array, least: Array, points: Array, shares: Shares) -> About:
    squared, own, seen = [], [], ~np.isnan(points)
    for c, mean in enumerate(means):
        weight = shares.of(c)
        squared.append(weight @ np.where(seen, points - mean, 0.0) ** 2)
        mine = weight > least[c]
        own.append(fewer(points[mine], weight[mine]))
    return np.array(squared), own


def _about_sums(a: About, b: About) -> About:
    return a[0] + b[0], [_both(one, two) for one, two in zip(a[1], b[1], strict=True)]


def _both(one: tuple[Array, Array], two: tuple[Array, Array]) -> tuple[Array, Array]:
    return fewer(np.concatenate([one[0], two[0]]), np.concatenate([one[1], two[1]]))


def _split(c: int, mean: Array, spread: Array, centres: Array, points: Array, shares: Shares) -> Array:
    """Return shares with those of a component that are nearer to the second centre put beside the others."""
    second = nearest((points - mean) / spread, centres) == 1
    new = np.column_stack([shares.shares, shares.shares[:, c] * second])
    new[:, c] *= ~second
    return new


def _product(shares: Array) -> Array:
    return np.asarray(shares.T @ shares)


def _merged(a: int, b: int, shares: Array) -> Array:
    new = np.delete(shares, b, axis=1)
    new[:, a] += shares[:, b]
    return np.asarray(new)


def _along(way: Array, one: int, points: Array, shares: Shares) -> tuple[Array, Array]:
    return sketched(np.nan_to_num(points) @ way, shares.of(one))


def _exchanged(way: Array, edge: float, one: int, two: int, points: Array, shares: Shares) -> Array:
    """Return shares with what of a component lies beyond an edge given to another."""
    along, new = np.nan_to_num(points) @ way, shares.shares.copy()
    new[:, two] += shares.shares[:, one] * (along > edge)
    new[:, one] *= along <= edge
    return np.asarray(new)


def best_of(entrants: Sequence[Entrant]) -> list[Entrant]:
    """Return entrants, best first, of which those that came to the same are one."""
    out: list[Entrant] = []
    for entrant in sorted(entrants, key=lambda one: -one.value):
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


def _owned(many: int, labels: Integers) -> Array:
    return np.asarray((labels[:, None] == np.arange(many)).astype(np.float64))
