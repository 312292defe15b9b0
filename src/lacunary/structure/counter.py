"""Counts of families in a table without holes, for a child, its parents and every further parent at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import SMALL, reserve
from lacunary.data.table import Table
from lacunary.infer.parallel import in_parallel, in_runs, worth
from lacunary.kernels.count import add_digit, count_alone, count_beside, count_bits, count_masks
from lacunary.maths.arrays import Array, Integers
from lacunary.structure.score import Parents

__all__ = ["ADDED", "Block", "Counter", "Heights"]

CELLS = 2**22
"""Counts that are held at a time: 32 MiB."""

ROOM = 4
"""Configurations of the parents may be so many times as many as rows before the empty ones are left out."""

WORD = 0.6
"""What it costs to look at a word of 64 rows at once, where adding one row's weight somewhere costs one."""

ADDED = 5e-10
"""Seconds that it takes to add one row's weight somewhere."""

BITS = 2**27
"""Bytes that a bit for each row and state may take; above that, rows are counted one by one."""


@dataclass(eq=False)
class Heights:
    """Where in a table of counts each distinct row stands.

    Attributes
    ----------
    members
        The parents, and then the child.
    configurations
        How many configurations u of the parents there are: all of them if ``dense``, else those that occur,
        renumbered.
    states
        How many states k the child has: r.
    find
        Works ``place`` out.
    height
        How many places there are: that many configurations times states.
    """

    members: Parents
    configurations: int
    states: int
    dense: bool
    find: Callable[[], Integers]
    height: int = field(init=False)

    def __post_init__(self) -> None:
        self.height = self.configurations * self.states

    @cached_property
    def place(self) -> Integers:
        """u·r + k of each distinct row; (distinct rows,). Not asked for where bits are counted."""
        return self.find()


@dataclass(frozen=True, eq=False)
class Block:
    """Some variables side by side.

    Attributes
    ----------
    variables, sizes
        Which, and how many states each has.
    first
        Where the columns of each variable's states begin, and where the last end; (variables + 1,).
    shift
        Where the block's columns begin among those of all variables.
    """

    variables: slice
    sizes: Array
    first: Integers
    shift: int = 0

    @cached_property
    def width(self) -> int:
        """How many columns there are."""
        return int(self.first[-1])


class Counter:
    """Distinct rows with their weights, laid out for counting.

    ``columns`` holds, for each row and variable, where the variable's state stands among the states of
    all. Where each row of the table counts once, ``bits`` also holds, for each such state, a bit for each
    row: small families are counted 64 rows at a time.
    """

    def __init__(self, table: Table) -> None:
        distinct = table.distinct
        codes = table.codes[distinct.first]
        self.sizes = table.schema.sizes
        self._sizes = np.array(self.sizes, dtype=np.float64)
        self.weights = np.ascontiguousarray(distinct.weights)
        self.codes = np.ascontiguousarray(codes.T.astype(np.int32))
        self.first = np.concatenate(([0], np.cumsum(self.sizes))).astype(np.int64)
        self.columns = np.ascontiguousarray((codes + self.first[:-1]).astype(np.int32))
        self._whole = self._block(0, len(self.sizes))
        self._whole_weights = bool(np.all(self.weights == np.floor(self.weights)))
        few = sum(self.sizes) * len(table) <= 8 * BITS
        self.bits = _bits(table.codes, self.sizes) if few and np.all(table.weights == 1.0) else None

    def heights(self, child: int, parents: Parents, *, dense: bool = False) -> Heights:
        """Return where each row stands; with ``dense``, configurations that do not occur have a place too.

        The first parent moves slowest, the child fastest.
        """
        members, states = (*parents, child), self.sizes[child]
        most, capacity = ROOM * max(len(self.weights), 256), 1
        for parent in parents:
            capacity *= self.sizes[parent]
        if capacity <= most or dense:
            return Heights(members, capacity, states, True, lambda: self._places(members))
        place, many = self._renumbered(parents, most)
        add_digit(place, self.codes[child], states)
        return Heights(members, many, states, False, lambda: place)

    def _places(self, members: Parents) -> Integers:
        place = np.zeros(len(self.weights), dtype=np.int64)
        for member in members:
            add_digit(place, self.codes[member], self.sizes[member])
        return place

    def _renumbered(self, parents: Parents, most: int) -> tuple[Integers, int]:
        """Return the parents' configuration of each row, numbered anew whenever there are too many."""
        place, capacity = np.zeros(len(self.weights), dtype=np.int64), 1
        for parent in parents:
            add_digit(place, self.codes[parent], self.sizes[parent])
            capacity *= self.sizes[parent]
            if capacity > most:
                place, capacity = _renumbered(place, capacity)
        return place, capacity

    def alone(self, heights: Heights) -> Array:
        """Return the counts of the child and its parents; (configurations · states,)."""
        out = np.zeros(heights.height)
        if self.bits is not None and self._few(heights, 1, 1):
            count_masks(self._masks(heights.members), out)
        else:
            count_alone(heights.place, self.weights, out)
        return out

    def fits(self, heights: Heights) -> bool:
        """Whether the counts with every further parent are held at once."""
        return heights.height * self._whole.width <= CELLS

    def beside_all(self, heights: Heights) -> Array:
        """Return the counts with every further parent; (configurations · states, all variables' states)."""
        return self._counted(heights, self._whole)

    def beside(self, heights: Heights) -> Iterator[tuple[Block, Array]]:
        """Go over the counts with each further parent, as many variables at a time as memory allows.

        The counts' columns are the states of the block's variables; (configurations · states, columns).
        """
        if self.fits(heights):
            yield self._whole, self.beside_all(heights)
            return
        most = CELLS // max(heights.height, 1)
        begin, n = 0, len(self.sizes)
        while begin < n:
            last = self.first[begin] + max(most, self.sizes[begin])
            end = int(np.searchsorted(self.first, last, side="right")) - 1
            block = self._block(begin, end)
            yield block, self._counted(heights, block)
            begin = end

    def _block(self, begin: int, end: int) -> Block:
        first = self.first[begin : end + 1] - self.first[begin]
        return Block(slice(begin, end), self._sizes[begin:end], first, int(self.first[begin]))

    def _counted(self, heights: Heights, block: Block) -> Array:
        many, width = len(block.sizes), block.width
        needed = 8.0 * heights.height * width
        if needed > SMALL:
            reserve(needed, f"{heights.height} counts beside {width} states", "merge states")
        if self.bits is not None and self._few(heights, width - many, many):
            return self._by_bits(heights, block, self.bits[block.shift : block.shift + width])
        return self._by_rows(heights, block)

    def _by_bits(self, heights: Heights, block: Block, bits: NDArray[np.uint64]) -> Array:
        """Count looking at 64 rows at once; threads share the places."""
        masks, counts = self._masks(heights.members), np.zeros((heights.height, block.width))
        seconds = ADDED * WORD * heights.height * bits.size

        def count(some: range) -> None:
            here = slice(some.start, some.stop)
            count_bits(masks[here], bits, block.first, counts[here])

        in_runs(count, len(counts), 2, seconds)
        return counts

    def _by_rows(self, heights: Heights, block: Block) -> Array:
        """Count row by row; threads share the rows where weights are whole: such sums know no order."""
        place, shape, rows = heights.place, (heights.height, block.width), len(self.weights)
        begin, end = block.variables.start, block.variables.stop

        def count(some: slice) -> Array:
            counts = np.zeros(shape)
            count_beside(
                self.columns[some],
                place[some],
                self.weights[some],
                begin,
                end,
                block.shift,
                block.width,
                counts.reshape(-1),
            )
            return counts

        seconds = ADDED * rows * (end - begin)
        step = -(-rows // worth(seconds)) if self._whole_weights else rows
        runs = [slice(first, first + step) for first in range(0, rows, max(step, 1))]
        first, *others = in_parallel(count, runs or [slice(0)], seconds)
        for other in others:
            first += other
        return first

    def _few(self, heights: Heights, states: int, variables: int) -> bool:
        """Whether places are so few that looking at all rows' bits for each of them is less work."""
        assert self.bits is not None
        words = heights.height * (states + len(heights.members)) * self.bits.shape[1]
        return heights.dense and WORD * words < len(self.weights) * variables

    def _masks(self, members: Parents) -> NDArray[np.uint64]:
        """Return, for each configuration, a bit for each row that has it; (configurations, words)."""
        assert self.bits is not None
        masks: NDArray[np.uint64] | None = None
        for member in members:
            own = self.bits[self.first[member] : self.first[member + 1]]
            masks = own if masks is None else (masks[:, None] & own).reshape(-1, own.shape[1])
        assert masks is not None
        return masks


def _bits(codes: NDArray[np.signedinteger], sizes: tuple[int, ...]) -> NDArray[np.uint64]:
    """Return, for each state of each variable, a bit for each row that has it; (states, words)."""
    rows = len(codes)
    out = np.zeros((sum(sizes), -(-rows // 64) * 8), dtype=np.uint8)
    state = 0
    for column, size in zip(codes.T, sizes, strict=True):
        for first in range(0, size, 64):  # some at a time, for the sake of memory
            packed = np.packbits(column == np.arange(first, min(first + 64, size))[:, None], axis=1)
            out[state + first : state + first + len(packed), : packed.shape[1]] = packed
        state += size
    return out.view(np.uint64)


def _renumbered(place: Integers, capacity: int) -> tuple[Integers, int]:
    """Return the numbers with those that do not occur left out, order kept, and how many remain."""
    if capacity > 2**22:
        found, rank = np.unique(place, return_inverse=True)
        return rank.astype(np.int64), len(found)
    present = np.zeros(capacity, dtype=bool)
    present[place] = True
    rank = np.cumsum(present) - 1
    return rank[place], int(rank[-1]) + 1
