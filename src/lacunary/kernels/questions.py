"""One question from beginning to end: what bears on it is laid out, unless it is known already, and summed.

Plain functions, as in `lacunary.kernels.buckets`, which explains the words; they are one call, as handing
arrays over takes longer than a small question does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.kernels import buckets, orders, slices

__all__ = ["DONE", "ENTRIES", "IMPOSSIBLE", "LOST", "TOO_WIDE", "ask", "collect", "lay"]

ENTRIES = ("ask", "collect", "lay")
"""What Python calls; see `lacunary.kernels.promote`."""

DONE, LOST, IMPOSSIBLE, TOO_WIDE = 0, 1, 2, 3
"""What becomes of a question: an answer; doubles that are too small; impossible evidence; no room."""

LONGEST = 1800.0
"""Open variables up to which it is checked that evidence is possible that does not bear on a question."""


def lay(
    member_at: Any, member: Any, stride: Any, sizes: Any, weight: Any, codes: Any, every: bool,
    longest: float, most: float,
) -> Any:  # fmt: skip
    """Return a layout for the evidence: of its families and those behind them, or of every one.

    See `orders.lay`.
    """
    wanted = orders.ancestors(member_at, member, codes)
    for i in range(len(wanted)):
        wanted[i] = wanted[i] or every
    return orders.lay(
        member_at, member, stride, sizes, weight, orders.with_likelihoods(wanted, codes), codes,
        np.empty(0, np.int64), longest, most,
    )  # fmt: skip


def collect(
    member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, packed: Any, codes: Any, tables: Any,
    least: Any, zero: Any, messages: Any, faint: Any, scales: Any, kept: Any, choice: Any, stale: Any,
    root: Any,
) -> Any:  # fmt: skip
    """Work out all that is stale, see `buckets.collect`.

    Return whether numbers were lost, and the logarithm of the sum of everything but the root.
    """
    return _collect(
        member_at, member, stride, start, sizes, packed, codes, tables, least, zero, messages, faint, scales,
        kept, choice, stale, root,
    )  # fmt: skip


def _collect(
    member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, packed: Any, codes: Any, tables: Any,
    least: Any, zero: Any, messages: Any, faint: Any, scales: Any, kept: Any, choice: Any, stale: Any,
    root: Any,
) -> Any:  # fmt: skip
    lost = buckets.collect(
        member_at, member, stride, start, sizes, packed, codes, tables, least, zero, messages, faint, scales,
        kept, choice, stale, root,
    )  # fmt: skip
    home, log = orders.opened(packed)[3], 0.0
    for i in range(len(home)):
        if home[i] == -2:  # nothing of it is open
            at = start[i]
            for s in range(member_at[i], member_at[i + 1]):
                at += codes[member[s]] * stride[s]
            log += np.log(tables[at]) if tables[at] > 0.0 else -np.inf
    for b in range(len(stale)):
        log += scales[b]
    return lost, log


def _summed(
    member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, packed: Any, codes: Any, tables: Any,
    least: Any, zero: Any, root: Any,
) -> Any:  # fmt: skip
    """Work everything out from nothing; return what `collect` does."""
    parts = orders.opened(packed)
    many, message_at = len(parts[2]), parts[9]
    messages, faint, scales = np.empty(message_at[many]), np.empty(many), np.zeros(many + 1)
    none, choice, stale = np.empty(0), np.empty(0, np.int32), np.ones(many, np.bool_)
    return _collect(
        member_at, member, stride, start, sizes, packed, codes, tables, least, zero, messages, faint, scales,
        none, choice, stale, root,
    )  # fmt: skip


def ask(
    member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, weight: Any, child_at: Any, child: Any,
    targets: Any, codes: Any, tables: Any, least: Any, zero: Any, packed: Any, rest: Any, longest: float,
    most: float, cheap: float,
) -> Any:  # fmt: skip
    """Return what becomes of a question, the joint posterior of the targets, and layouts for the next time.

    Parameters
    ----------
    weight, child_at, child
        The logarithms of ``sizes``, and the children of every variable; what is not named here is as in
        `collect`.
    targets
        The variables that are asked about; they are open.
    packed, rest
        The layouts for the families that bear on the targets, and for those that do not but may make the
        evidence impossible; empty if they are not known. ``rest`` has one number if it is too wide.
    longest, most, cheap
        Open variables and cells that the first may have, and cells that the second may have.

    Returns
    -------
    tuple
        `DONE`, `LOST`, `IMPOSSIBLE` or `TOO_WIDE`; the posterior, one number behind the other; what was too
        many, see `orders.lay`; and both layouts.
    """
    if len(packed) == 0:
        wanted = orders.needed(member_at, member, child_at, child, codes, targets)
        packed, cells = orders.lay(
            member_at, member, stride, sizes, weight, orders.with_likelihoods(wanted, codes), codes, targets,
            longest, most,
        )  # fmt: skip
        if len(packed) == 0:
            return TOO_WIDE, np.empty(0), cells, packed, rest
    _, _, above, home, _, _, _, _, table_at, _ = orders.opened(packed)
    out = np.empty(table_at[len(above) + 1] - table_at[len(above)])
    lost, _ = _summed(member_at, member, stride, start, sizes, packed, codes, tables, least, zero, out)
    total = 0.0
    for i in range(len(out)):  # ``total`` is the sum of what stands before i
        total += out[i]
    if total > 0.0:
        for i in range(len(out)):
            out[i] /= total
    else:
        used = _with_a_home(home)
        # If nothing has probability zero, it came of rounding.
        lost = lost or not _any_zero(
            used, member_at, member, stride, start, sizes, codes, tables, least, zero
        )
    if lost:
        return LOST, out, 0.0, packed, rest
    if len(rest) == 0:
        rest = _laid_rest(
            member_at, member, stride, start, sizes, weight, codes, tables, least, zero, home, cheap
        )
    if total > 0.0 and len(rest) > 1:
        lost, log = _summed(
            member_at, member, stride, start, sizes, rest, codes, tables, least, zero, np.empty(0)
        )
        # It was laid out for a zero, perhaps of other states than those that are seen now.
        used = _with_a_home(orders.opened(rest)[3])
        if lost and _any_zero(used, member_at, member, stride, start, sizes, codes, tables, least, zero):
            return LOST, out, 0.0, packed, rest
        if log == -np.inf:
            total = 0.0
    return DONE if total > 0.0 else IMPOSSIBLE, out, 0.0, packed, rest


def _with_a_home(home: Any) -> Any:
    """Return which families a layout has taken in."""
    out = np.empty(len(home), np.bool_)
    for i in range(len(home)):
        out[i] = home[i] != -1
    return out


def _any_zero(
    flags: Any, member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, codes: Any, tables: Any,
    least: Any, zero: Any,
) -> bool:  # fmt: skip
    """Return whether a flagged family has a zero in what the evidence leaves of it."""
    for i in range(len(flags)):
        if (
            flags[i]
            and zero[i] != 0.0
            and slices.look(i, member_at, member, stride, start, sizes, codes, tables, least, zero)[1]
        ):
            return True
    return False


def _laid_rest(
    member_at: Any, member: Any, stride: Any, start: Any, sizes: Any, weight: Any, codes: Any, tables: Any,
    least: Any, zero: Any, home: Any, cheap: float,
) -> Any:  # fmt: skip
    """Return a layout for the evidence that does not bear on a question, whose families have no ``home``.

    Given the evidence they share no open variable with the others. It is empty if none of them has a zero,
    and one number if it would have more cells than are cheap.
    """
    wanted = orders.ancestors(member_at, member, codes)
    for i in range(len(wanted)):
        wanted[i] = wanted[i] and home[i] == -1
        if wanted[i] and slices.cells(i, member_at, member, sizes, codes) > cheap:
            return np.zeros(1, np.int64)
    if not _any_zero(wanted, member_at, member, stride, start, sizes, codes, tables, least, zero):
        return np.empty(0, np.int64)
    rest, _ = orders.lay(
        member_at, member, stride, sizes, weight, orders.with_likelihoods(wanted, codes), codes,
        np.empty(0, np.int64), LONGEST, cheap,
    )  # fmt: skip
    return rest if len(rest) > 0 else np.zeros(1, np.int64)
