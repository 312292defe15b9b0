"""Counts read off islands: a set of variables, by itself and with each other variable, in one pass."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.kernels.arena import pointed
from lacunary.kernels.compile import called, compact
from lacunary.kernels.islands import Chart, Query, Rows, digits

__all__ = ["Given", "Workspace", "count_families", "count_rows"]


class Given(NamedTuple):
    """What junction trees say of the islands without tables: for each, where it stands in `Workspace`.

    ``near``, ``many`` and ``rest`` are where the probabilities of the states asked for begin, how many
    these are, and where the distributions of the other members begin.
    """

    near: NDArray[np.int64]
    many: NDArray[np.int64]
    rest: NDArray[np.int64]


class Workspace(NamedTuple):
    """Room for counting one row.

    ``near`` and ``off`` hold, for each active part, the probability of each state of those of its members
    that are asked for, and how far it leads in the counts; ``rest`` the distribution of its other members
    given that state. ``mass`` collects, by place, what has been found, and ``hit`` the places. The rest
    are numbers of each active part, or of each touched island, or of each variable.
    """

    near: NDArray[np.float64]
    off: NDArray[np.int64]
    rest: NDArray[np.float64]
    mass: NDArray[np.float64]
    hit: NDArray[np.int64]
    island: NDArray[np.int64]
    turn: NDArray[np.int64]
    part: NDArray[np.int64]
    near_at: NDArray[np.int64]
    many: NDArray[np.int64]
    rest_at: NDArray[np.int64]
    width: NDArray[np.int64]
    pick: NDArray[np.int64]
    digit: NDArray[np.int64]
    state: NDArray[np.int64]


@called
def _width(chart: Chart, sizes: Any, query: Query, part: int) -> int:
    """Return how many states the members of a part have that are not asked for, one after the other."""
    width = 0
    for m in range(chart.member_start[part], chart.member_start[part + 1]):
        if query.stride[chart.member[m]] < 0:
            width += sizes[chart.member[m]]
    return width


@called
def _read_part(
    chart: Chart, sizes: Any, query: Query, table: Any, at: int, workspace: Workspace, k: Any
) -> Any:
    """Reduce a part's table to the members asked for, and the others given these; return their states.

    ``table`` has the part's probabilities from ``at`` on, the last member fastest; ``sizes`` is (variables,).
    For active part k, ``workspace`` takes, from ``near_at[k]`` on the chance of each state b of the members
    asked for and their step in the counts, and from ``rest_at[k]`` on, (states, width), the others' states.
    """
    part = workspace.part[k]
    begin, end = chart.member_start[part], chart.member_start[part + 1]
    states, width = 1, workspace.width[k]
    for m in range(begin, end):
        workspace.digit[m - begin] = 0
        if query.stride[chart.member[m]] >= 0:
            states *= sizes[chart.member[m]]
    near, rest = workspace.near_at[k], workspace.rest_at[k]
    for b in range(states):
        workspace.near[near + b] = 0.0
    for c in range(states * width if query.columns > 1 else 0):
        workspace.rest[rest + c] = 0.0
    for c in range(chart.size[part]):  # ``digit`` are the members' states in configuration c
        value, b, off = table[at + c], 0, 0
        for m in range(begin, end):
            v = chart.member[m]
            if query.stride[v] >= 0:
                b = b * sizes[v] + workspace.digit[m - begin]
                off += query.stride[v] * workspace.digit[m - begin]
        workspace.near[near + b] += value
        workspace.off[near + b] = off
        if query.columns > 1:
            place = rest + b * width
            for m in range(begin, end):
                v = chart.member[m]
                if query.stride[v] < 0:
                    workspace.rest[place + workspace.digit[m - begin]] += value
                    place += sizes[v]
        m = end - begin - 1
        while m >= 0:
            workspace.digit[m] += 1
            if workspace.digit[m] < sizes[chart.member[begin + m]]:
                break
            workspace.digit[m] = 0
            m -= 1
    for b in range(states if query.columns > 1 else 0):
        if workspace.near[near + b] > 0.0:
            for c in range(width):
                workspace.rest[rest + b * width + c] /= workspace.near[near + b]
    return states


@called
def _spread_parts(
    chart: Chart,
    sizes: Any,
    query: Query,
    workspace: Workspace,
    islands: Any,
    parts: Any,
    index: Any,
    mass: float,
    out: Any,
) -> None:
    """Add a mass at one place, ``index``, to the columns of the other members of the touched islands.

    Cuts of touched ``islands`` have states ``workspace.state``; of the ``parts`` active parts, part
    k is at state ``pick[k]`` of its members asked for. ``out`` is flat, (places, columns), and ``sizes`` are
    (variables,).
    """
    # Each member that is not asked for gains ``mass`` in all, over the columns of its states.
    line = index * query.columns
    for t in range(islands):  # the cuts of the touched islands before t have their ``mass``
        cut = chart.part_start[workspace.island[t]]
        for m in range(chart.member_start[cut], chart.member_start[cut + 1]):
            v = chart.member[m]
            if query.stride[v] < 0:
                out[line + query.column[v] + workspace.state[v]] += mass
    for k in range(parts):
        part = workspace.part[k]
        place = workspace.rest_at[k] + workspace.pick[k] * workspace.width[k]
        for m in range(chart.member_start[part], chart.member_start[part + 1]):
            v = chart.member[m]
            if query.stride[v] < 0:
                to = line + query.column[v]
                for x in range(sizes[v]):
                    out[to + x] += mass * workspace.rest[place + x]
                place += sizes[v]


@called
def _count_state(
    chart: Chart,
    sizes: Any,
    query: Query,
    table: Any,
    start: Any,
    given: Given,
    tree_start: Any,
    workspace: Workspace,
    islands: Any,
    base: Any,
    mass: float,
    hits: Any,
    out: Any,
) -> Any:
    """Count a row for one state of the cuts of all touched islands; return the number of places hit.

    ``table`` has the row's tables from ``start`` on, and ``given`` its islands without tables from
    ``tree_start`` on. ``base`` is the place that the row's observed cells lead to, and ``mass`` its weight.
    ``workspace.mass`` is what is at each of the first ``hits`` places of ``workspace.hit``, else zero;
    ``out`` is flat, (places, columns), and ``sizes`` are (variables,).
    """
    parts: Any = np.int64(0)
    near, rest, k = parts, parts, parts
    # ``mass`` and ``base`` are those given the cuts of islands before t, which have ``parts`` parts;
    # ``near`` and ``rest`` are how much of the workspace these take.
    for t in range(islands):
        island = workspace.island[t]
        cut, at = chart.part_start[island], start + chart.table_at[island]
        cuts, z = chart.size[cut], workspace.turn[t]
        mass *= table[at + z]
        begin, end = chart.member_start[cut], chart.member_start[cut + 1]
        digits(chart.member, begin, end, sizes, z, workspace.state)
        for m in range(begin, end):
            v = chart.member[m]
            base += max(query.stride[v], 0) * workspace.state[v]
        offset = at + cuts + z * chart.block[island]
        for part in range(cut + 1, chart.part_start[island + 1] if mass > 0.0 else 0):
            workspace.part[parts], workspace.pick[parts] = part, 0
            workspace.width[parts] = _width(chart, sizes, query, part)
            if chart.tree[island] >= 0:
                which = tree_start + chart.tree[island]
                workspace.near_at[parts], workspace.rest_at[parts] = given.near[which], given.rest[which]
                workspace.many[parts] = given.many[which]
            else:
                workspace.near_at[parts], workspace.rest_at[parts] = near, rest
                states = _read_part(chart, sizes, query, table, offset, workspace, parts)
                workspace.many[parts] = states
                offset += chart.size[part]
                near += states
                rest += states * workspace.width[parts]
            parts += 1
    while mass > 0.0:  # every ``pick`` of a state for each active part comes once, the last part fastest
        here, index = mass, base
        for k in range(parts):
            here *= workspace.near[workspace.near_at[k] + workspace.pick[k]]
            index += workspace.off[workspace.near_at[k] + workspace.pick[k]]
        if here > 0.0:
            if workspace.mass[index] == 0.0:
                workspace.hit[hits] = index
                hits += 1
            workspace.mass[index] += here
            if query.columns > 1:
                _spread_parts(chart, sizes, query, workspace, islands, parts, index, here, out)
        k = parts - 1
        while k >= 0:
            workspace.pick[k] += 1
            if workspace.pick[k] < workspace.many[k]:
                break
            workspace.pick[k] = 0
            k -= 1
        if k < 0:
            break
    return hits


@called
def _spread_rest(
    chart: Chart,
    rows: Rows,
    row: Any,
    sizes: Any,
    query: Query,
    share: Any,
    workspace: Workspace,
    islands: Any,
    index: Any,
    mass: float,
    out: Any,
) -> None:
    """Add a mass at one place, ``index``, to the columns of all variables outside the touched islands.

    ``share`` has the marginals of the row's holes; ``out`` is flat, (places, columns), and ``sizes`` are
    (variables,). Members of the set that the row shows are counted in their columns too, which nobody reads.
    """
    n, p, line = query.variables, rows.pattern[row], index * query.columns
    first = row * n
    for cell in range(first, first + n):  # holes are counted in the last column, which nobody reads
        out[line + rows.column[cell]] += mass
    if islands == 0:
        for place in range(rows.share_start[row], rows.share_start[row + 1]):
            out[line + rows.share_column[place]] += mass * share[place]
        return
    t = 0  # the touched islands before this one; they are in order
    for island in range(chart.island_start[p], chart.island_start[p + 1]):
        if t < islands and workspace.island[t] == island:
            t += 1
            continue
        begin = chart.member_start[chart.part_start[island]]
        for m in range(begin, chart.member_start[chart.part_start[island + 1]]):
            v = chart.member[m]
            to, place = line + query.column[v], rows.share_start[row] + chart.share_at[m]
            for x in range(sizes[v]):
                out[to + x] += mass * share[place + x]


@called
def _touched(chart: Chart, p: Any, query: Query, workspace: Workspace) -> Any:
    """List the islands of a pattern in which a member of the set is a hole; return how many."""
    islands = np.int64(0)
    for island in range(chart.island_start[p], chart.island_start[p + 1]):
        begin = chart.member_start[chart.part_start[island]]
        for m in range(begin, chart.member_start[chart.part_start[island + 1]]):
            if query.stride[chart.member[m]] >= 0:
                workspace.island[islands], workspace.turn[islands] = island, 0
                islands += 1
                break
    return islands


@called
def _count_touched(
    chart: Chart,
    rows: Rows,
    row: Any,
    sizes: Any,
    query: Query,
    table: Any,
    given: Given,
    workspace: Workspace,
    islands: Any,
    base: Any,
    out: Any,
) -> Any:
    """Count a row that hides a member of the set, but for what the other islands hold; return the hits.

    ``base`` is the place that the row's observed cells lead to. ``workspace.hit`` takes the places, and
    ``workspace.mass`` what is at each; ``table`` has the tables of all rows, ``out`` is flat, (places,
    columns), and ``sizes`` are (variables,).
    """
    hits = np.int64(0)
    while True:  # every ``turn`` of a state for each touched island's cut comes once, the last fastest
        hits = _count_state(
            chart,
            sizes,
            query,
            table,
            rows.table_start[row],
            given,
            rows.tree_start[row],
            workspace,
            islands,
            base,
            rows.weight[row],
            hits,
            out,
        )
        t = islands - 1
        while t >= 0:
            workspace.turn[t] += 1
            if workspace.turn[t] < chart.size[chart.part_start[workspace.island[t]]]:
                break
            workspace.turn[t] = 0
            t -= 1
        if t < 0:
            return hits


@called
def count_rows(
    chart: Chart,
    rows: Rows,
    begin: int,
    end: int,
    sizes: Any,
    query: Query,
    members: int,
    table: Any,
    share: Any,
    given: Given,
    workspace: Workspace,
    own: Any,
    beside: Any,
) -> None:
    """Add the expected counts of a set of so many ``members`` over some rows.

    All tuples are pointers; ``own`` takes the counts of the set itself, (configurations,), and ``beside``
    those with each other variable: see `count_families`. ``sizes`` are (variables,); ``table`` and ``share``
    flat.
    """
    for row in range(begin, end):
        weight = rows.weight[row]
        if weight == 0.0:  # ``workspace.mass`` is zero everywhere before and after each row
            continue
        base, hidden, cell = np.int64(0), np.int64(0), row * query.variables
        for k in range(members):
            v = query.member[k]
            code = rows.codes[cell + v]
            hidden += code < 0
            base += query.stride[v] * max(code, 0)
        islands, hits = np.int64(0), np.int64(1)
        if hidden > 0:
            islands = _touched(chart, rows.pattern[row], query, workspace)
            hits = _count_touched(
                chart, rows, row, sizes, query, table, given, workspace, islands, base, beside
            )
        for h in range(hits):  # places before h are spread, and their ``workspace.mass`` is zero
            index, mass = base, weight
            if hidden > 0:
                index = workspace.hit[h]
                mass = workspace.mass[index]
                workspace.mass[index] = 0.0
            own[index] += mass
            if query.columns > 1:
                _spread_rest(chart, rows, row, sizes, query, share, workspace, islands, index, mass, beside)


@compact
def count_families(
    chart: Chart,
    rows: Rows,
    sizes: Any,
    query: Query,
    table: Any,
    share: Any,
    given: Given,
    workspace: Workspace,
    first: int,
    last: int,
    step: int,
    own: Any,
    beside: Any,
) -> None:
    """Add the expected counts of a set of variables, alone and with each other one, over chunks of rows.

    Parameters
    ----------
    chart, rows, query
        The islands of every pattern, the rows, and the set.
    sizes
        Numbers of states; (variables,).
    table, share
        Tables of the islands and marginals of the holes of all rows, as `fill_tables` wrote them; flat.
    given
        What junction trees say of the islands without tables; their numbers are in ``workspace`` already.
    workspace
        Room for one row.
    first, last, step
        The chunks that are counted, each of ``step`` rows.
    own
        Added to: the counts of the set itself; (chunks, configurations).
    beside
        Added to, if ``query.columns`` is more than one; (chunks, configurations · columns), of which the
        columns of the set's own members, and the last, hold nothing of use.
    """
    members, many = query.member.size, len(rows.codes)
    chart, query, given, workspace = pointed(chart), pointed(query), pointed(given), pointed(workspace)
    rows = pointed(rows)
    for chunk in range(first, last):  # ``own`` and ``beside`` have what the chunks before hold
        begin, end = chunk * step, min((chunk + 1) * step, many)
        count_rows(
            chart,
            rows,
            begin,
            end,
            sizes,
            query,
            members,
            table,
            share,
            given,
            workspace,
            own[chunk],
            beside[chunk],
        )
