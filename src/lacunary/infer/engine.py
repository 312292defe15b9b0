"""Sweep a prepared table under one or many parameter vectors, on all cores.

What comes out does not depend on the number of threads: rows are cut into chunks by their content
alone, each chunk adds into a place of its own, and the places are added in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Schema
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.errors import GraphError, ImpossibleRowError, TooWideError
from lacunary.infer.pack import Chunk, Packed, pack
from lacunary.infer.parallel import in_parallel
from lacunary.infer.places import as_taken
from lacunary.kernels.aligned import aligned, is_aligned, is_long
from lacunary.kernels.arena import Arena
from lacunary.kernels.cell import Room
from lacunary.kernels.lanes import COMPLEX_LANES
from lacunary.kernels.logs import sweep_logs
from lacunary.kernels.lone import sweep_lone
from lacunary.kernels.places import narrow, part, widen
from lacunary.kernels.shown import add_shown
from lacunary.kernels.spans import LARGE_CELLS, STRETCH, filled
from lacunary.kernels.sweep import read_rest, sweep
from lacunary.kernels.underflow import FAR, find_underflow
from lacunary.model.dag import Dag
from lacunary.model.stats import Batch

if TYPE_CHECKING:
    from lacunary.family.distribution import NormalMixture
    from lacunary.infer.islands import Charted, Islands
    from lacunary.infer.rows import Rows
    from lacunary.infer.walker import Walker

__all__ = [
    "Asked",
    "DiscreteRows",
    "Distinct",
    "check_possible",
    "observed_in",
    "observed_log",
    "prepare_discrete",
]

T = TypeVar("T")

TOGETHER, HELD = 4, 2**21
"""Chunks that are swept before what they counted is added up, or more as long as that is not so many numbers;
as many are kept as room for the next."""

FEW = 2**20
"""Places up to which memory for two vectors of them is kept between sweeps."""

UNTOUCHED = 1
"""In place of an exponent, which is zero or less: no cell needed exponents."""


class Distinct(NamedTuple):
    """The different rows: codes and reals, (rows, variables), and how often each counts, (rows,)."""

    codes: NDArray[np.signedinteger]
    reals: NDArray[np.float64]
    weights: NDArray[np.float64]


class Asked(NamedTuple):
    """A question that is put to the same rows under many vectors.

    Attributes
    ----------
    weights
        How often each distinct row counts; (rows,).
    posteriors
        Gives, for a vector, the posteriors of all sets of variables side by side; (rows, Σ states).
    """

    weights: NDArray[np.float64]
    posteriors: Callable[[NDArray[np.float64]], NDArray[np.float64]]


@dataclass(frozen=True, eq=False)
class DiscreteRows:
    """A graph of tables and a table, laid out for sweeping: a kind of `lacunary.infer.rows.Rows`.

    Attributes
    ----------
    dag
        The graph.
    packed
        The distinct rows.
    inverse
        Which distinct row each row of the table is; (rows,).
    weight
        Σ of the rows' weights: the sample size N.
    """

    dag: Dag
    packed: Packed
    inverse: NDArray[np.signedinteger]
    weight: float
    _spare: list[Room] = field(default_factory=list, repr=False)
    _added_up: list[NDArray[np.float64]] = field(default_factory=list, repr=False)
    _widened: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = field(default_factory=list, repr=False)
    _charted: list[Charted] = field(default_factory=list, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        # Working memory is not part of what is copied or pickled.
        state = {**self.__dict__, "_spare": [], "_added_up": [], "_widened": [], "_charted": []}
        for name in ("alone", "_only"):
            state.pop(name, None)
        return state

    @cached_property
    def alone(self) -> DiscreteRows:
        """The same rows, all variables by themselves: where products of potentials that vanish matter."""
        packed = pack(
            self.dag, self.packed.codes, self.packed.weights, budget=self.packed.recipe.budget, grouped=False
        )
        return replace(self, packed=packed, _spare=[], _added_up=[], _widened=[], _charted=self._charted)

    def expect(self, potentials: NDArray[Any]) -> Batch:
        """Return expected counts and log-likelihood under each of several parameter vectors.

        Parameters
        ----------
        potentials
            One parameter vector a row, each at most one, not necessarily normalised, zeros allowed;
            complex for derivatives; (vectors, layout size).
        """
        places = self.packed.recipe.places
        if self._only is not None and len(potentials) == 1 and potentials.dtype == np.float64:
            return self._expect_lone(self._only, potentials)
        wide, sound = places.taken(potentials)
        log_likelihood = _dot_log(self.packed, wide)
        counts: NDArray[Any] | None = None
        try:
            for block, _, (part, log) in self._each(self._sweep, wide, sound):
                counts = self._added(counts, wide, block, part)
                log_likelihood[block.where] += log[: block.used]
        except _DigitsLostError:
            return self.alone.expect(potentials)
        if counts is None:
            counts = self._constants(wide)
        return Batch(self.dag, places.narrowed(counts, potentials, wide), log_likelihood, self.weight)

    @cached_property
    def _only(self) -> Chunk | None:
        """The chunk that holds all rows and is `sweep_lone`'s, if nothing else is to be counted."""
        kept = self.packed.kept[0] if len(self.packed.kept) == 1 else None
        alone = kept is not None and len(kept) == 1 and kept[0].lone and not len(self.packed.nonzero[0])
        alone = alone and not self.packed.recipe.places.turned
        return kept[0] if kept is not None and alone else None

    def _expect_lone(self, chunk: Chunk, potentials: NDArray[np.float64]) -> Batch:
        """Do as `expect` for one vector, in memory that is kept: to find some takes as long as a sweep."""
        places, real = self.packed.recipe.places, potentials.dtype
        room = self.room(chunk, 1, real)
        try:
            wide, counts = self._widened.pop()
        except IndexError:  # there is none yet, or another thread took it
            wide, counts = (aligned(places.size, real)[None] for _ in range(2))
        cells_of = chunk.kinds_arena, chunk.arena, chunk.weight
        numbers = np.zeros((len(chunk.weight) + 1, 1))
        log, total = numbers[:-1], numbers[-1]
        potentials = as_taken(potentials)
        widen(potentials, places.blocks, wide)
        sound = places.join(wide)
        counts.view(np.uint8).fill(0)
        careful = sweep_lone(*cells_of, wide[0], room.value, room.power, counts[0], log, total)
        out = np.empty(potentials.shape)
        part(counts, places.pairs)
        narrow(counts, potentials, wide, places.blocks, out)
        lost = not sound and (careful or not log.min() > FAR)
        self._spare.append(room)  # from here on another thread's
        self._widened.append((wide, counts))
        return self.alone.expect(potentials) if lost else Batch(self.dag, out, total, self.weight)

    def log_evidence(self, potentials: NDArray[Any]) -> NDArray[Any]:
        """Return the log-probability of each row's observed cells; (vectors, rows of the table)."""
        wide, sound = self.packed.recipe.places.taken(potentials)
        rows = observed_log(self.packed, wide)
        try:
            for block, where, log in self._each(self._roots, wide, sound):
                rows[block.where, where] += log[: block.used]
        except _DigitsLostError:
            return self.alone.log_evidence(potentials)
        return np.asarray(rows[:, self.inverse])

    def _each(
        self, sweep: Callable[[tuple[_Block, Chunk]], T], wide: NDArray[Any], sound: bool
    ) -> Iterator[tuple[_Block, slice, T]]:
        """Yield what a sweep of every chunk under every vector gives, in the order of chunks, with its rows.

        Nothing holds the chunks of a stretch when the next is laid out.
        """
        blocks: dict[int, list[_Block]] = {}

        def swept(chunks: Sequence[Chunk]) -> Iterator[tuple[_Block, slice, T]]:
            for lanes in {chunk.lanes for chunk in chunks} - blocks.keys():
                blocks[lanes] = _blocks(wide, lanes, sound)
            tasks = [(block, chunk) for chunk in chunks for block in blocks[chunk.lanes]]
            if len(tasks) == 1:  # a small sweep takes as long as a few steps of Python
                yield tasks[0][0], tasks[0][1].rows, sweep(tasks[0])
                return
            together = max(TOGETHER, HELD // wide.shape[1])
            for first in range(0, len(tasks), together):
                some = tasks[first : first + together]
                for (block, chunk), found in zip(some, in_parallel(sweep, some), strict=True):
                    yield block, chunk.rows, found

        stretches = self.packed.stretches
        while (chunks := next(stretches, None)) is not None:
            some = swept([chunk for chunk in chunks if len(chunk.weight)])  # others have no hole
            del chunks
            yield from some
            del some

    def weighed(self, weights: NDArray[np.float64]) -> DiscreteRows:
        """Return the same table with other row weights, not negative; (rows of the table,).

        All else is shared, so that weights may change from one iteration to the next, as in a mixture.
        """
        summed = np.bincount(self.inverse, weights, minlength=len(self.packed.weights))
        packed = self.packed.weighed(summed.astype(np.float64, copy=False))
        return replace(self, packed=packed, weight=float(np.sum(weights)))

    def finer(self) -> None:
        """Return nothing: these rows are exact."""

    def whole(self) -> DiscreteRows:
        """Return the same rows with a cell for every hole, all in memory: what completions are drawn from."""
        packed = pack(self.dag, self.packed.codes, self.packed.weights, whole=True)
        return replace(self, packed=packed, _spare=[], _added_up=[], _widened=[])

    def shifted(self, units: NDArray[np.float64]) -> DiscreteRows:
        """Return the rows themselves: states have no units."""
        return self

    def check_possible(self, theta: NDArray[np.float64]) -> None:
        """Raise an error that names the first row to which these parameters give probability zero."""
        check_possible(self, theta)

    def __len__(self) -> int:
        return len(self.inverse)

    def shown(self, row: int) -> str:
        """Return the observed states of one row in words, shortened when there are many."""
        return observed_in(self.dag.schema, self.packed.codes[self.inverse[row]])

    @property
    def observed(self) -> NDArray[np.float64]:
        """Counts of the families that rows show whole, which no parameter changes; (layout size,)."""
        return self.packed.constant

    @cached_property
    def open_columns(self) -> NDArray[np.bool_]:
        """Which variables, of more than one state, are a hole in some row; (variables,)."""
        return np.asarray((self.packed.codes == HOLE).any(axis=0))

    def gathered(self, purpose: str) -> Distinct:
        """Return the distinct rows; they are in one place, whatever they are needed for."""
        codes = self.packed.codes.astype(np.int32)
        return Distinct(codes, np.empty((len(codes), 0)), self.packed.weights)

    def families(self, vector: NDArray[np.float64]) -> Islands:
        """Return what gives the expected counts of any family, in the graph or not."""
        from lacunary.infer.islands import chart  # which needs kernels of its own

        if not self._charted:  # which rows with other weights share
            try:
                self._charted.append(chart(self.dag, self.packed.codes))
            except TooWideError as why:
                from lacunary.infer.rows import sampled_instead

                known = Table(self.dag.schema.reveal(), self.packed.codes, weights=self.packed.weights)
                return cast("Islands", sampled_instead(self.dag, known, why).families(vector))
        return self._charted[0].under(vector, self.packed.weights)

    def marginals(
        self, vector: NDArray[np.float64], targets: Sequence[Sequence[int]]
    ) -> list[NDArray[np.float64]]:
        """Return the posterior of sets of variables in each row; all zero in an impossible row."""
        from lacunary.infer.posterior import marginals_of

        return [found[self.inverse] for found in marginals_of(self.dag, vector, self.packed.codes, targets)]

    def ask(self, targets: Sequence[Sequence[int]]) -> Asked:
        """Return a question about sets of variables that can be put under many vectors."""
        from lacunary.infer.posterior import Reader

        reader = Reader.of(self.dag, self.packed.codes, targets)
        return Asked(self.packed.weights, reader.posteriors)

    def normals(self, vector: NDArray[np.float64], targets: Sequence[int]) -> list[NormalMixture]:
        """Return nothing: there are no continuous variables to be asked about."""
        return []

    def completed(
        self, vector: NDArray[np.float64], rng: np.random.Generator | None
    ) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return codes and reals with every hole filled: drawn, or without a generator most probable."""
        from lacunary.infer.posterior import filled

        seed = None if rng is None else int(rng.integers(2**63))
        codes = filled(self.dag, vector, self.packed.codes[self.inverse], seed=seed)
        return codes, np.empty((len(codes), 0))

    def score_covariance(
        self, vector: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return expected counts, and the posterior covariance of the scores; see `infer.covariance`."""
        from lacunary.infer.covariance import score_covariance

        return score_covariance(self, vector)

    def walker(self, purpose: str, alpha: NDArray[np.float64]) -> Walker:
        """Return what walks chains over completions of the rows under a prior with these pseudo-counts."""
        from lacunary.infer.walker import walker_of

        return walker_of(self, alpha)

    def _constants(self, wide: NDArray[Any]) -> NDArray[Any]:
        """Return the counts that no parameter changes, for each vector; (vectors, places)."""
        counts = np.empty(wide.shape, dtype=wide.dtype)
        counts[:] = self.packed.counted
        return counts

    def _added(
        self, counts: NDArray[Any] | None, wide: NDArray[Any], block: _Block, part: NDArray[Any]
    ) -> NDArray[Any]:
        """Return all counts with those of a chunk; of one vector they begin as what the first one counted."""
        if counts is None and len(part) == len(wide) == 1:
            if len(self.packed.nonzero[0]):
                part += self.packed.counted
            return part
        counts = self._constants(wide) if counts is None else counts
        counts[block.where] += part[: block.used]
        if (
            len(block.lanes) == 1
            and len(self._added_up) < max(TOGETHER, HELD // part.size)
            and part.dtype == np.float64
        ):
            self._added_up.append(part[0])
        return counts

    def _sweep(self, task: tuple[_Block, Chunk]) -> tuple[NDArray[Any], NDArray[Any]]:
        block, chunk = task
        counts = self._places(block.potential)
        counts.fill(0.0)
        _, total = self._run(block, chunk, counts)
        return counts.reshape(-1, len(block.lanes)).T, total

    def _places(self, potential: NDArray[Any]) -> NDArray[Any]:
        """Return room for counts, used before if possible: fresh memory costs page faults."""
        if self._added_up and potential.dtype == np.float64:
            with suppress(IndexError):  # another thread took it
                counts = self._added_up.pop()
                if counts.size == potential.size:
                    return counts
        return aligned(potential.size, potential.dtype)

    def _roots(self, task: tuple[_Block, Chunk]) -> NDArray[Any]:
        block, chunk = task
        log, _ = self._run(block, chunk, np.empty(0, dtype=block.potential.dtype))
        return _row_sums(chunk, log)

    def _run(self, block: _Block, chunk: Chunk, counts: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        lanes = LARGE_CELLS if len(block.lanes) == 1 and len(chunk.kinds.span) else block.lanes
        width, dtype = len(lanes), block.potential.dtype
        room, cells = self.room(chunk, width, dtype), len(chunk.weight)
        numbers = np.zeros((cells + 2, width), dtype=dtype)
        log, total, scale = numbers[:cells], numbers[cells], numbers[cells + 1]
        suspect, cells_of = np.zeros(width, dtype=np.bool_), (chunk.kinds_arena, chunk.arena, chunk.weight)
        if chunk.lone and width == 1:
            careful = sweep_lone(*cells_of, block.potential, room.value, room.power, counts, log, total)
        else:
            room.power[:1] = UNTOUCHED
            if sweep(*cells_of, block.potential, *room, counts, log, total, scale, suspect, lanes):
                find_underflow(*cells_of, block.potential, *room, log, suspect)
                if counts.size:
                    read_rest(*cells_of, block.potential, *room, counts, lanes)
                for lane in np.flatnonzero(suspect[: block.used]).tolist():
                    log[:, lane], total[lane] = _sweep_with_care(block, cells_of, room, counts, lane)
            careful = _has_touched(room)
        lost = not block.sound and (careful or not log.real.min(initial=0.0) > FAR)
        self._spare.append(room)  # from here on another thread's
        if lost:
            raise _DigitsLostError
        return log, total

    def run(
        self, theta: NDArray[np.float64], chunk: Chunk, counts: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Sweep one chunk under one parameter vector, adding its readouts to ``counts``.

        Returns the log of each row's factors with holes; see `observed_log` for the others. ``theta`` has the
        sums of `Places`.
        """
        if not len(chunk.weight):
            return np.zeros(chunk.rows.stop - chunk.rows.start)
        log, _ = self._run(_blocks(theta[None], 1)[0], chunk, counts)
        return np.asarray(_row_sums(chunk, log)[0])

    def room(self, chunk: Chunk, width: int, dtype: np.dtype[Any]) -> Room:
        """Return working memory that fits, used before if possible: fresh memory costs page faults."""
        value, shared, cells = filled(chunk.value_room * width), chunk.shared_room * width, len(chunk.weight)
        value += STRETCH if len(chunk.kinds.span) else 0
        power = chunk.largest * width
        for _ in range(len(self._spare)):
            try:
                room = self._spare.pop()
            except IndexError:  # another thread took it
                break
            fits = room.value.size >= value and room.message.size >= shared and len(room.normalizer) > cells
            fits = fits and room.power.size >= power
            if fits and room.value.dtype == dtype and room.normalizer.shape[2] == width:
                return room
        return Room(
            value=aligned(value, dtype),
            message=aligned(shared, dtype),
            belief=aligned(shared, dtype),
            normalizer=np.empty((cells + 1, 3, width)),
            power=np.empty(power, dtype=np.int64),
        )


def prepare_discrete(dag: Dag, table: Table, *, budget: int | None = None) -> DiscreteRows:
    """Lay out a table for a graph without continuous variables; see `lacunary.infer.rows.prepare`."""
    if not dag.names:
        raise GraphError("a graph of no variables says nothing about rows; give it at least one column")
    distinct = table.distinct
    packed = pack(dag, table.codes.take(distinct.first, axis=0), distinct.weights, budget=budget)
    inverse = distinct.inverse.astype(code_dtype([len(distinct.first)]))
    return DiscreteRows(dag, packed, inverse, table.size)


def _has_touched(room: Room) -> bool:
    """Tell whether some cell of a sweep needed exponents."""
    return bool((room.power[:1] != UNTOUCHED).any())


def _sweep_with_care(
    block: _Block,
    cells_of: tuple[Arena, Arena, NDArray[np.float64]],
    room: Room,
    counts: NDArray[Any],
    lane: int,
) -> tuple[NDArray[Any], Any]:
    """Sweep one lane again in logarithms, where evidence spans more than a double can hold."""
    width, weight = len(block.lanes), cells_of[2]
    with np.errstate(divide="ignore"):
        logs = np.log(block.potential[lane::width])
    log = np.zeros(len(weight), dtype=logs.dtype)
    part = np.zeros(len(counts) // width, dtype=logs.dtype)
    sweep_logs(*cells_of, logs, room.value, room.message, room.belief, part, log, (0,))
    counts[lane::width] = part
    counted = weight > 0
    return log, log[counted] @ weight[counted]


def _row_sums(chunk: Chunk, log: NDArray[Any]) -> NDArray[Any]:
    """Add the log-sums of the roots of each row; (cells, lanes) → (lanes, rows)."""
    slab = chunk.slab
    start = slab.root_start
    sums = np.zeros((len(start) - 1, log.shape[1]), dtype=log.dtype)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        sums[filled] = np.add.reduceat(log[slab.root], start[filled], axis=0)
    return sums.T


def check_possible(rows: Rows, theta: NDArray[np.float64]) -> None:
    """Raise an error that names the first row to which these parameters give probability zero."""
    impossible = np.flatnonzero(np.isneginf(rows.log_evidence(theta[None])[0]))
    if len(impossible):
        raise ImpossibleRowError(
            f"row {impossible[0] + 1} has probability zero under the model ({len(impossible)} such rows in "
            f"all); it has {rows.shown(int(impossible[0]))}. "
            "Give every state that can occur a positive probability, for example with a prior."
        )


def observed_in(
    schema: Schema, codes: NDArray[np.signedinteger], reals: NDArray[np.float64] | None = None
) -> str:
    """Return what one row shows in words, shortened when there is much; numbers may be standardised."""
    seen = [
        f"{variable.name}={variable.states[code]}"
        for variable, code in zip(schema, codes, strict=True)
        if code != HOLE and variable.size > 1
    ]
    if reals is not None:
        seen += [f"a value of {schema.names[v]}" for v in np.flatnonzero(~np.isnan(reals))]
    return ", ".join(seen[:8]) + (", …" if len(seen) > 8 else "")


def observed_log(packed: Packed, wide: NDArray[Any]) -> NDArray[Any]:
    """Return, for each distinct row, the log of its fully observed factors; (vectors, rows).

    ``wide`` are potentials with the sums of `Places`; (vectors, places).
    """
    with np.errstate(divide="ignore"):
        logs = np.log(wide)
    out = np.zeros((len(wide), len(packed.codes)), dtype=wide.dtype)
    add_shown(packed.shown, logs, out)
    return out


class _DigitsLostError(Exception):
    """A row is so unlikely that it may hang on products of a group that have lost digits."""


class _Block(NamedTuple):
    """Some parameter vectors side by side: which they are, how many, and their numbers with lanes last.

    Where a product of a group has lost digits they are not ``sound``. That is nothing to a cell whose sum is
    not small: potentials are at most one, so that the cell's own product vanishes, too, groups or not.
    """

    where: slice
    used: int
    potential: NDArray[Any]
    lanes: tuple[int, ...]
    sound: bool


def _blocks(potentials: NDArray[Any], lanes: int, sound: bool = True) -> list[_Block]:
    """Cut the vectors into blocks of as many lanes as one sweep carries; the last is filled up.

    Up to a quarter of that takes as long one by one: threads can share them, and less is compiled.
    """
    vectors = len(potentials)
    few = vectors == 1 or 4 * vectors <= lanes
    width = COMPLEX_LANES if potentials.dtype.kind == "c" else (1 if few else lanes)
    blocks = []
    for first in range(0, vectors, width):
        part = potentials[first : first + width]
        if width == 1 and is_long(potentials.shape) and is_aligned(part[0]):
            flat = part[0]
        elif width == 1:
            flat = aligned(potentials.shape[1], potentials.dtype)
            flat[:] = part[0]
        else:
            flat = aligned(potentials.shape[1] * width, potentials.dtype)
            side_by_side = flat.reshape(-1, width)
            side_by_side[:, : len(part)] = part.T
            if len(part) < width:
                side_by_side[:, len(part) :] = part[-1][:, None]
        blocks.append(_Block(slice(first, first + len(part)), len(part), flat, (0,) * width, sound))
    return blocks


def _dot_log(packed: Packed, potentials: NDArray[Any]) -> NDArray[Any]:
    """Return Σ constant · log potential for each vector; nothing counted is nothing whatever the log."""
    places, counted = packed.nonzero
    if not len(places):
        return np.zeros(len(potentials), dtype=potentials.dtype)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(potentials[:, places]) @ counted)
