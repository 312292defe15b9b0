"""Which columns to adjust for: sets that close the back doors, and sets that stand in the front door.

A set closes the back doors if given it nothing but the effect itself joins the two: it holds nothing below
the paths from treatment to outcome and separates the two once the first arcs of these are cut (the complete
criterion of Shpitser, VanderWeele and Robins 2010; Perković et al. 2018). A set stands in the front door if
every path of arcs goes through it and hidden causes are elsewhere (Pearl 1995).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations, islice

from lacunary.causal.projection import Names, hidden_in
from lacunary.errors import GraphError
from lacunary.model.dag import Dag
from lacunary.model.graph import d_separated
from lacunary.model.separators import minimal_separators

__all__ = ["Adjustment", "adjustment", "adjusts", "as_names"]

Sets = tuple[tuple[str, ...], ...]

MEDIATORS = 14
"""Up to so many variables on the way all sets of them are tried."""


@dataclass(frozen=True)
class Adjustment:
    """Sets of observed columns from which an effect can be told; none of them can spare a member.

    Attributes
    ----------
    treatment, outcome
        What is set, and what is asked about.
    back_door
        Sets to adjust for, smallest first; an empty set means that nothing needs to be adjusted for.
    front_door
        Sets through which all of the effect goes, smallest first; none if there is more than one treatment.
    effect
        Whether any path of arcs leads from treatment to outcome.
    """

    treatment: tuple[str, ...]
    outcome: tuple[str, ...]
    back_door: Sets
    front_door: Sets
    effect: bool

    def __str__(self) -> str:
        x, y = ", ".join(self.treatment), ", ".join(self.outcome)
        lines = [] if self.effect else [f"no arcs lead from {x} to {y}: there is no effect"]
        lines += _told(self.back_door, "adjust for", "nothing needs to be adjusted for")
        lines += _told(self.front_door, "front door through", "")
        if not lines:
            lines = ["no set of observed columns closes the back doors or stands in the front door"]
        return "\n".join([f"effect of {x} on {y}", *(f"  {line}" for line in lines)])

    __repr__ = __str__


def _told(sets: Sets, words: str, empty: str) -> list[str]:
    return [f"{words} {', '.join(names)}" if names else empty for names in sets]


def adjustment(
    dag: Dag,
    treatment: str | Iterable[str],
    outcome: str | Iterable[str],
    *,
    hidden: Iterable[str] = (),
    most: int = 20,
) -> Adjustment:
    """Return the smallest sets of columns by which a graph lets the effect of one on another be told.

    Parameters
    ----------
    dag
        The graph; arcs lead from causes to effects.
    treatment, outcome
        A name or several each.
    hidden
        Variables that are not observed, beside those that the schema calls hidden.
    most
        How many sets of each kind are listed at most.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.adjustment(lac.dag("age -> drug cure; drug -> cure"), "drug", "cure")
    effect of drug on cure
      adjust for age
    >>> lac.adjustment(lac.dag("u -> x y; x -> m -> y", hidden=["u"]), "x", "y")
    effect of x on y
      front door through m
    """
    x, y = as_names(dag, treatment), as_names(dag, outcome)
    if x & y or not x or not y:
        raise GraphError("name a treatment and an outcome, no variable in both")
    unseen = hidden_in(dag, hidden, x | y)
    open_ = frozenset(dag.names) - unseen - x - y
    doors = islice(minimal_separators(_without_effect(dag, x, y), x, y, open_ - _forbidden(dag, x, y)), most)
    front = islice(_front_doors(dag, x, y, open_), most) if len(x) == 1 else iter(())
    order = dag.names.index
    return Adjustment(
        _sorted(dag, x),
        _sorted(dag, y),
        tuple(sorted((tuple(sorted(s, key=order)) for s in doors), key=lambda s: (len(s), s))),
        tuple(_sorted(dag, s) for s in front),
        bool(on_the_way(dag, x, y)),
    )


def adjusts(dag: Dag, treatment: Iterable[str], outcome: Iterable[str], given: Iterable[str]) -> bool:
    """Whether to adjust for a set gives the effect."""
    x, y, z = frozenset(treatment), frozenset(outcome), frozenset(given)
    return not z & _forbidden(dag, x, y) and d_separated(_without_effect(dag, x, y), x, y, z)


def as_names(dag: Dag, names: str | Iterable[str]) -> Names:
    """Return a name or several as a set of the graph's names."""
    return frozenset(dag.schema[name].name for name in ((names,) if isinstance(names, str) else names))


def _sorted(dag: Dag, names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(names, key=dag.names.index))


def _cut(dag: Dag, arcs: Iterable[tuple[str, str]]) -> Dag:
    gone = set(arcs)
    return Dag.from_arcs(dag.schema, [arc for arc in dag.arcs if arc not in gone])


def on_the_way(dag: Dag, x: Names, y: Names) -> Names:
    """Return what lies on paths of arcs from treatment to outcome that touch a treatment only at first."""
    apart = _cut(dag, [arc for arc in dag.arcs if arc[1] in x])
    below = {name for one in x for name in apart.descendants_of(one)}
    apart = _cut(dag, [arc for arc in dag.arcs if arc[0] in x])
    above = {name for one in y for name in (*apart.ancestors_of(one), one)}
    return frozenset(below & above) - x


def _forbidden(dag: Dag, x: Names, y: Names) -> Names:
    """Return what must not be adjusted for: whatever lies on the way, and all below it."""
    way = on_the_way(dag, x, y)
    return way | {name for one in way for name in dag.descendants_of(one)}


def _without_effect(dag: Dag, x: Names, y: Names) -> Dag:
    """Return the graph without the first arcs of the paths from treatment to outcome."""
    way = on_the_way(dag, x, y)
    return _cut(dag, [(tail, head) for tail, head in dag.arcs if tail in x and head in way])


def _front_doors(dag: Dag, x: Names, y: Names, open_: Names) -> Iterator[Names]:
    """Yield the sets that stand in the front door, smallest first and none within another."""
    way = on_the_way(dag, x, y)
    if not way or way & y == way:
        return
    back = _cut(dag, [arc for arc in dag.arcs if arc[0] in x])
    fit = [name for name in dag.names if name in way & open_ and d_separated(back, x, name)]
    found: list[Names] = []
    for size in range(1, len(fit) + 1 if len(fit) <= MEDIATORS else 4):
        for names in map(frozenset, combinations(fit, size)):
            if not any(less <= names for less in found) and _is_front_door(dag, x, y, names):
                found.append(names)
                yield names


def _is_front_door(dag: Dag, x: Names, y: Names, m: Names) -> bool:
    """Whether all paths go through ``m`` and the treatment closes all back doors from it to the outcome."""
    rest = dag.without(m)
    if any(set(rest.descendants_of(one)) & y for one in x):
        return False
    return d_separated(_cut(dag, [arc for arc in dag.arcs if arc[0] in m]), m, y, x)
