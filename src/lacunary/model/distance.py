"""How far apart two graphs are, differences inside an equivalence class not counted."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from lacunary.errors import GraphError
from lacunary.model.dag import Dag
from lacunary.model.equivalence import Orientation, check_same_variables, pattern_of

__all__ = ["MAX_TRIALS", "arc_changes", "structural_hamming_distance"]

Pair = tuple[int, int]

MAX_TRIALS = 50_000
"""How many partial members of the two classes `arc_changes` tries before it gives up."""


def structural_hamming_distance(first: Dag, second: Dag) -> int:
    """Return the number of pairs of variables that the two classes' CPDAGs connect differently.

    A pair is not joined, joined by a compelled arc one way or the other, or by a reversible arc; each
    pair for which the two CPDAGs disagree counts one. Zero exactly for equivalent graphs.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.structural_hamming_distance(lac.dag("A -> B -> C"), lac.dag("A <- B -> C"))
    0
    """
    one, two = _patterns(first, second)
    pairs = {(i, j) for graph in (one, two) for i, js in enumerate(graph.adjacent) for j in js if i < j}
    return sum(_connection(one, pair) != _connection(two, pair) for pair in pairs)


def arc_changes(first: Dag, second: Dag) -> int:
    """Return the least number of arcs to add, remove or reverse between the classes of two graphs.

    Minimum, over the members A of the one class and B of the other, of the changes that turn A into B
    (TMCH98, section 7, Table 2: changes that leave the family of distributions as it is do not count).
    Free changes are those before the first and after the last counted one; passing to an equivalent
    graph half way is not, and could save a few changes more.

    A pair joined in one class only always costs one, so what is left is to choose the directions of the
    reversible arcs such that as few as possible of the pairs joined in both classes disagree.

    The minimum is exact, by branch and bound. Reversible arcs form connected components that can be
    directed independently of one another, each by choosing its first variable, which directs at least
    the arcs around it and leaves smaller components. Components of the two classes are treated
    together only as long as they share a pair that is still open; a choice that costs as much as the
    best one known is not followed. The depth is at most the size of the two largest cliques. Should more
    than `MAX_TRIALS` choices be needed, as can happen between large and densely joined classes, the
    comparison is refused.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.arc_changes(lac.dag("A -> B -> C"), lac.dag("A -> B <- C"))
    1
    """
    one, two = _patterns(first, second)
    edges = [{(i, j) for i, js in enumerate(g.adjacent) for j in js if i < j} for g in (one, two)]
    shared = edges[0] & edges[1]
    search = _Search(MAX_TRIALS)
    return len(edges[0] ^ edges[1]) + search.fewest(one, two, sorted(shared), len(shared))


def _patterns(first: Dag, second: Dag) -> tuple[Orientation, Orientation]:
    """Return the CPDAGs of both graphs, numbered as the first's variables are."""
    check_same_variables(first, second)
    place = [first.schema.index(name) for name in second.names]
    parents: list[tuple[int, ...]] = [()] * len(place)
    for child, ps in enumerate(second.parent_indices):
        parents[place[child]] = tuple(place[p] for p in ps)
    return pattern_of(first.parent_indices, first.schema), pattern_of(parents, first.schema)


def _connection(graph: Orientation, pair: Pair) -> str:
    i, j = pair
    if j not in graph.adjacent[i]:
        return "none"
    if j in graph.open[i]:
        return "reversible"
    return "forwards" if j in graph.children[i] else "backwards"


@dataclass
class _Search:
    """The branch and bound of `arc_changes`; counts down the choices it may still try."""

    trials: int

    def fewest(self, one: Orientation, two: Orientation, pairs: Iterable[Pair], bound: int) -> int:
        """Return the fewest of the pairs on which members of the classes disagree, at most ``bound``."""
        undecided, total = _undecided(one, two, pairs)
        for group in _independent(one, two, undecided):
            if total >= bound:
                break
            total += self._choose(one, two, group, bound - total)
        return min(total, bound)

    def _choose(self, one: Orientation, two: Orientation, group: list[Pair], bound: int) -> int:
        """Try every variable of some component as its first, the most promising one first."""
        # A pair that is open on one side only tells at once which choices cost something.
        start, other = next(((i, j) for i, j in group if (j in one.open[i]) != (j in two.open[i])), group[0])
        left, right = (one, two) if other in one.open[start] else (two, one)
        costs = []
        for source in _component(left, start):
            self._spend()
            arcs = left.direct([(source, node) for node in left.open[source]])
            costs.append((_undecided(left, right, group)[1], source))
            left.release(arcs)
        for cost, source in sorted(costs):
            if cost >= bound:
                break
            arcs = left.direct([(source, node) for node in left.open[source]])
            bound = self.fewest(left, right, group, bound)
            left.release(arcs)
        return bound

    def _spend(self) -> None:
        self.trials -= 1
        if self.trials < 0:
            raise GraphError(
                f"the fewest arc changes are not found within {MAX_TRIALS} trials: too many graphs are "
                "equivalent to these; compare them by structural_hamming_distance"
            )


def _undecided(one: Orientation, two: Orientation, pairs: Iterable[Pair]) -> tuple[list[Pair], int]:
    """Return the pairs still open on either side, and how many of the others disagree."""
    undecided, disagreements = [], 0
    for i, j in pairs:
        if j in one.open[i] or j in two.open[i]:
            undecided.append((i, j))
        elif (j in one.children[i]) != (j in two.children[i]):
            disagreements += 1
    return undecided, disagreements


def _independent(one: Orientation, two: Orientation, pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Split open pairs into groups such that no component of either graph touches two of them."""
    left = dict.fromkeys(pairs)
    groups = []
    while left:
        groups.append(sorted(_touched((one, two), next(iter(left)), left)))
        for pair in groups[-1]:
            del left[pair]
    return groups


def _touched(graphs: tuple[Orientation, Orientation], start: Pair, pairs: Collection[Pair]) -> set[Pair]:
    """Return the pairs that share a component with ``start``, or with a pair that does, and so on."""
    touched: set[Pair] = set()
    found = {(side, start[0]) for side in (0, 1) if start[1] in graphs[side].open[start[0]]}
    waiting = list(found)
    while waiting:
        side, node = waiting.pop()
        for other in graphs[side].open[node]:
            steps, pair = {(side, other)}, (min(node, other), max(node, other))
            if pair in pairs:
                touched.add(pair)
                if other in graphs[1 - side].open[node]:
                    steps.add((1 - side, node))
            waiting += steps - found
            found |= steps
    return touched


def _component(graph: Orientation, start: int) -> list[int]:
    """Return the variables that open pairs join to ``start``, directly or not."""
    found, order = {start}, [start]
    for node in order:
        fresh = graph.open[node] - found
        found |= fresh
        order += sorted(fresh)
    return order
