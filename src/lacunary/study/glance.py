"""What rows say of classes that were found: sums, and a few rows worth a look; worked out where the rows are.

Responsibilities, a number for every row and class, never leave the part their rows are in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from lacunary.data.parts import Parts, itself
from lacunary.data.source import Source, in_tree
from lacunary.data.table import HOLE, Table
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["Glance", "Spot", "entropies", "every_row", "glance", "most_unusual", "responsibilities"]


FULL = 3
"""Rows with the most holes that are kept."""


class Spot(NamedTuple):
    """A row that may be worth a look.

    Attributes
    ----------
    row
        Its number among all rows, from 0.
    holes
        How many of its cells are holes.
    doubt
        How undecided its class is: the entropy of its responsibilities, in nats.
    chances
        Its responsibilities; (classes,).
    aside
        The state of the column that was kept aside, `HOLE` for none.
    """

    row: int
    holes: int
    doubt: float
    chances: tuple[float, ...]
    aside: int

    def after(self, rows: int) -> Spot:
        """Return the same, with so many rows before."""
        return self._replace(row=self.row + rows)


@dataclass(frozen=True, eq=False)
class Glance:
    """What some rows say.

    Attributes
    ----------
    rows, holes, complete, wasted
        How many rows there are, empty cells, rows without any, and observed cells in the other rows.
    sizes
        Σ weight · responsibility; (classes,).
    aside
        The same by the states of the column that was kept aside; (classes, states).
    clear, between, full
        Of the rows with the fewest holes the one whose class is clearest, and the one whose class is least
        so; the rows with the most holes.
    """

    rows: int
    holes: int
    complete: int
    wasted: int
    sizes: Array
    aside: Array
    clear: tuple[Spot, ...]
    between: tuple[Spot, ...]
    full: tuple[Spot, ...]

    def __add__(self, other: Glance) -> Glance:
        later = [
            tuple(spot.after(self.rows) for spot in spots)
            for spots in (other.clear, other.between, other.full)
        ]
        return Glance(
            self.rows + other.rows,
            self.holes + other.holes,
            self.complete + other.complete,
            self.wasted + other.wasted,
            self.sizes + other.sizes,
            self.aside + other.aside,
            _clearest((*self.clear, *later[0])),
            _least_clear((*self.between, *later[1])),
            _fullest((*self.full, *later[2])),
        )


def every_row(source: Source) -> Parts[Table]:
    """Return the rows as they stand in the source, part by part, also where equal ones are grouped."""
    found: Parts[Table] = source.every if hasattr(source, "every") else source.laid(itself, keep=False)
    return found


def glance(network: Network, hidden: str, rows: Source, aside: Source | None) -> Glance:
    """Return what rows say of a network's classes, beside a column that was kept aside."""
    states = 0 if aside is None else aside.schema.sizes[0]
    work = partial(_glance, network, hidden, states)
    return in_tree(every_row(rows).each(work, *([] if aside is None else [every_row(aside)])))


def most_unusual(network: Network, hidden: str, rows: Source, aside: Source, shares: Array) -> Spot:
    """Return the row whose state of the column kept aside is rarest in its probable classes.

    ``shares`` are the chances of its states in each class; (classes, states).
    """
    work = partial(_unusual, network, hidden, shares)
    return in_tree(every_row(rows).each(work, every_row(aside)), _rarer)[2]


def entropies(chances: Array) -> Array:
    """Return the entropy of each row's responsibilities, in nats; (rows,)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(-np.where(chances > 0, chances * np.log(chances), 0.0).sum(axis=1))


def responsibilities(network: Network, hidden: str, rows: Table) -> Array:
    """Return p(class | the row's observed cells); (rows, classes)."""
    return np.asarray(network.posterior(rows, [hidden])[hidden])


def _glance(network: Network, hidden: str, states: int, table: Table, aside: Table | None = None) -> Glance:
    chances = responsibilities(network, hidden, table)
    codes = np.full(len(table), HOLE) if aside is None else aside.codes[:, 0]
    holes, weight = table.holes.sum(axis=1), table.weights[:, None] * chances
    doubt = entropies(chances)
    by_state = [weight[codes == code].sum(axis=0) for code in range(states)]
    fewest = np.flatnonzero(holes == holes.min(initial=len(table.schema)))
    chosen = {
        int(row)
        for row in (
            *fewest[np.argsort(doubt[fewest], kind="stable")[:1]],
            *fewest[np.argsort(-doubt[fewest], kind="stable")[:1]],
            *np.argsort(-holes, kind="stable")[:FULL],
        )
    }
    spots = [
        Spot(row, int(holes[row]), float(doubt[row]), tuple(chances[row].tolist()), int(codes[row]))
        for row in sorted(chosen)
    ]
    return Glance(
        len(table),
        int(holes.sum()),
        int((holes == 0).sum()),
        int((~table.holes[holes > 0]).sum()),
        np.asarray(table.weights @ chances),
        np.array(by_state).T.reshape(chances.shape[1], states),
        _clearest(spots),
        _least_clear(spots),
        _fullest(spots),
    )


def _clearest(spots: Iterable[Spot]) -> tuple[Spot, ...]:
    return tuple(sorted(spots, key=lambda spot: (spot.holes, spot.doubt, spot.row))[:1])


def _least_clear(spots: Iterable[Spot]) -> tuple[Spot, ...]:
    return tuple(sorted(spots, key=lambda spot: (spot.holes, -spot.doubt, spot.row))[:1])


def _fullest(spots: Iterable[Spot]) -> tuple[Spot, ...]:
    return tuple(sorted(spots, key=lambda spot: (-spot.holes, spot.row))[:FULL])


Rare = tuple[int, float, Spot]
"""How many rows there are, how rare the rarest state is, and its row."""


def _unusual(network: Network, hidden: str, shares: Array, table: Table, aside: Table) -> Rare:
    chances, codes = responsibilities(network, hidden, table), aside.codes[:, 0]
    if not len(table):
        return 0, -1.0, Spot(0, 0, 0.0, (), HOLE)
    expected = np.take_along_axis(chances @ shares, np.maximum(codes[:, None], 0), axis=1)[:, 0]
    surprise = np.where(codes == HOLE, 0.0, 1.0 - expected)
    row = int(surprise.argmax())
    spot = Spot(row, int(table.holes[row].sum()), 0.0, tuple(chances[row].tolist()), int(codes[row]))
    return len(table), float(surprise[row]), spot


def _rarer(a: Rare, b: Rare) -> Rare:
    best = a if a[1] >= b[1] else (b[0], b[1], b[2].after(a[0]))
    return a[0] + b[0], best[1], best[2]
