"""Scores of families on what a network expects of rows: many at a time, one call of a kernel a thread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from math import prod

import numpy as np

from lacunary.infer.islands import CHUNKS, COUNTS, Islands, Members
from lacunary.infer.parallel import in_runs
from lacunary.kernels.island_terms import Scores, island_terms
from lacunary.kernels.islands import Query
from lacunary.maths.arrays import Array

__all__ = ["CELLS", "terms_of"]

CELLS = COUNTS // CHUNKS
"""Counts of a family beside all variables that a thread has room for, twice (4 MiB): up to so many, rows are
cut into the same chunks whatever the family."""

SLOTS = 31
"""Sizes of tables for which log Γ of the prior's share is kept."""

ALONE = np.array([0, 1], dtype=np.int64)
"""One column."""


def terms_of(islands: Islands, families: Sequence[Members], law: Array, seconds: float) -> Array:
    """Return the terms of families, parents first, with each variable put in or taken out, and as they are.

    Parameters
    ----------
    islands
        What the network expects; none of them may be a junction tree.
    families
        With at most `CELLS` counts each.
    law
        What is added up: see `lacunary.kernels.families`.
    seconds
        About how long a family takes.

    Returns
    -------
    array
        (families, variables + 1); to the same bits on any number of threads, and whichever come together.
    """
    charted, sizes = islands.charted, islands.charted.sizes
    places, columns = [prod(sizes[list(family)].tolist()) for family in families], int(sizes.sum()) + 1
    member = np.array(list(chain.from_iterable(families)), dtype=np.int64)
    start = np.array(list(accumulate(map(len, families), initial=0)), dtype=np.int64)
    first = np.append(islands.column, [columns - 1, columns])
    step, answer = charted.step(CELLS), islands.trees.ask((), sizes, sizes)
    out = np.empty((len(families), len(sizes) + 2))

    def score(some: range) -> None:
        most = max(places[some.start : some.stop])
        query = Query(member, np.empty_like(sizes), islands.column, columns, len(sizes))
        given, work = islands.workspace(most, answer)
        island_terms(
            charted.chart, charted.rows, sizes, query, start, first, ALONE, islands.table, islands.share,
            given, work, step, law, _room(most, columns, len(first)), some.start, some.stop, out,
        )  # fmt: skip

    in_runs(score, len(families), 2, seconds * len(families))
    return np.delete(out, -2, axis=1)


def _room(places: int, columns: int, variables: int) -> Scores:
    wide = np.empty((places, columns))
    return Scores(
        np.empty(places), np.empty(places), wide.reshape(-1), wide, np.empty(places * columns),
        np.zeros((2, SLOTS)), np.empty((2, SLOTS, 1)), np.empty((2, variables), dtype=np.int64),
        np.empty((2, places, 1)),
    )  # fmt: skip
