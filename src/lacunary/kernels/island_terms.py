"""Scores of families on expected counts, which are read off islands: many families in one call."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import pointed
from lacunary.kernels.compile import compact
from lacunary.kernels.families import family_terms
from lacunary.kernels.island_counts import Given, Workspace, count_rows
from lacunary.kernels.islands import Chart, Query, Rows

__all__ = ["Scores", "island_terms"]


class Scores(NamedTuple):
    """Room for the counts of one family, and for scoring it.

    Attributes
    ----------
    own, own_part
        Counts of the family itself, of all rows and of a chunk; (configurations,).
    flat, wide, flat_part
        Counts beside each variable, of all rows, twice the same numbers, and of a chunk; (configurations ·
        columns), (configurations, columns).
    keys, values, slots, room
        As for `family_terms`.
    """

    own: NDArray[np.float64]
    own_part: NDArray[np.float64]
    flat: NDArray[np.float64]
    wide: NDArray[np.float64]
    flat_part: NDArray[np.float64]
    keys: NDArray[np.float64]
    values: NDArray[np.float64]
    slots: NDArray[np.int64]
    room: NDArray[np.float64]


@compact
def island_terms(
    chart: Chart,
    rows: Rows,
    sizes: NDArray[np.int64],
    query: Query,
    start: NDArray[np.int64],
    column: NDArray[np.int64],
    one: NDArray[np.int64],
    table: Any,
    share: Any,
    given: Given,
    workspace: Workspace,
    step: int,
    law: NDArray[np.float64],
    scores: Scores,
    first: int,
    last: int,
    out: NDArray[np.float64],
) -> None:
    """Write the terms of families ``first`` to ``last`` − 1, each variable put in or out, and as they are.

    Parameters
    ----------
    chart, rows, sizes, table, share, given, workspace, step
        As for `count_families`.
    query, start
        The members of all families end to end, parents first, and where each begins, (families + 1,);
        ``query.stride`` is room for the strides of one.
    column, one
        Where each variable's columns begin, and behind all that of a variable of one state, which is the
        family by itself, (variables + 2,); 0 and 1: one column.
    law
        What is added up: see `lacunary.kernels.families`.
    scores
        Room for one family.
    out
        Written; (families, variables + 2), of which the last but one says the same as the last.
    """
    many, columns, variables = len(rows.codes), query.columns, query.variables
    charted, held, told, work = pointed(chart), pointed(rows), pointed(given), pointed(workspace)
    for family in range(first, last):
        members = query.member[start[family] : start[family + 1]]
        for v in range(variables):
            query.stride[v] = -1
        places = 1
        for k in range(len(members) - 1, -1, -1):
            query.stride[members[k]] = places
            places *= sizes[members[k]]
        asked = pointed(Query(members, query.stride, query.column, columns, variables))
        own, flat = scores.own_part, scores.flat_part
        for begin in range(0, many, step):  # chunks are counted apart and added, as on several threads
            for place in range(places):
                own[place] = 0.0
            for place in range(places * columns):
                flat[place] = 0.0
            end = min(begin + step, many)
            count_rows(
                charted, held, begin, end, sizes, asked, len(members), table, share, told, work, own, flat
            )
            for place in range(places):
                scores.own[place] = own[place] + (scores.own[place] if begin > 0 else 0.0)
            for place in range(places * columns):
                scores.flat[place] = flat[place] + (scores.flat[place] if begin > 0 else 0.0)
        for place in range(places):
            for m in members:
                for state in range(sizes[m]):
                    scores.wide[place, column[m] + state] = 0.0
            scores.wide[place, columns - 1] = scores.own[place]
        configurations = float(places // sizes[members[-1]])
        family_terms(
            scores.wide[:places],
            members,
            sizes,
            configurations,
            column,
            one,
            law,
            scores.keys,
            scores.values,
            scores.slots,
            scores.room,
            out[family],
        )
