"""Rows larger than memory: files are read, laid out and swept part by part, here or on a cluster.

What is learned does not depend on how much memory there is, on how many workers do the work, or on how rows
are divided into files: parts are cut by the rows alone, and what they say is added in their order.
"""

from __future__ import annotations

import glob
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lacunary.budget import parsed, room, said
from lacunary.data.assemble import assemble, known_columns, unnamed, weight_column
from lacunary.data.parts import Here, Keep, Lazy, Parts, itself
from lacunary.data.read import Reading, settings_of
from lacunary.data.recipe import KINDS, File, Segment, look_through, parts_of, raw, runs_of
from lacunary.data.remote import found as remote_files
from lacunary.data.remote import is_remote
from lacunary.data.schema import Schema
from lacunary.data.settle import Reader, Settled, columns_of, few_rows, settle, settle_one
from lacunary.data.spelling import Spelling
from lacunary.data.table import HOLE, Table, code_dtype
from lacunary.data.tidy import Opening
from lacunary.data.wording import counted, listed
from lacunary.errors import FileError, LacunaryError, SchemaError, SourceError, TableError
from lacunary.infer.partitioned import Parted, together

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Scan", "scan"]

Watch = Callable[[str, int, int], object]

HELD = 0.5
"""Share of the memory that may hold what is kept of parts; the rest is for the part that is worked on."""

GATHERED = 0.25
"""Share of the memory that rows may take which have to be in one place."""


class Scan(Parted):
    """Rows in files, or on a cluster, that never stand in one place; takes the verbs that a table takes.

    Attributes
    ----------
    schema
        The variables.
    every
        The parts, row by row as they stand in the files.
    tables
        What is learned from: the parts, or the different rows with their weights, if these are few.
    decisions, notes
        What was decided about the columns, and what of that leaves a doubt; a sentence each.
    memory
        Bytes that this process may use for rows.
    """

    def __init__(
        self,
        settled: Settled,
        every: Parts[Table],
        rows: int,
        memory: int,
        distinct: Table | None = None,
    ) -> None:
        super().__init__(settled.schema, every if distinct is None else Here((distinct,)))
        self.every, self.rows, self.memory, self.distinct = every, rows, memory, distinct
        self.decisions, self.notes = settled.decisions, settled.notes

    def __len__(self) -> int:
        return self.rows

    def __repr__(self) -> str:
        few = "" if self.distinct is None else f", {len(self.distinct)} of them different"
        parts = counted(len(self.every), "part")
        return f"<Scan: {self.rows} rows{few}, in {parts}, {len(self.schema)} variables>"

    def align(self, schema: Schema) -> Scan:
        """Return the rows as a model over ``schema`` sees them; see `Table.align`."""
        return self if schema == self.schema else self._changed(schema, partial(_aligned, schema))

    def mapped(self, function: Callable[[Table], Table]) -> Scan:
        """Return the source whose rows are those of this one, changed part by part."""
        empty = Table(self.schema, np.empty((0, len(self.schema)), dtype=np.int8))
        return self._changed(function(empty).schema, function)

    def _changed(self, schema: Schema, function: Callable[[Table], Table]) -> Scan:
        every = self.every.then(function, keep=False)
        distinct = None if self.distinct is None else function(self.distinct)
        return Scan(Settled(schema, self.decisions, self.notes), every, self.rows, self.memory, distinct)

    def whole(self, purpose: str) -> Table:
        """Return all rows as one table, if they take no more than a part of the memory."""
        if self.distinct is not None:
            return self.distinct
        cells = 1 if all(variable.discrete for variable in self.schema) else 9
        needed = self.rows * (len(self.schema) * cells + 8)
        if needed > GATHERED * self.memory:
            raise SourceError(
                f"{purpose} needs all rows in one place, and {self.rows} rows take about {said(needed)}, "
                f"more than a quarter of the memory ({said(self.memory)}); take fewer rows, or ask for what "
                "adds over rows"
            )
        return together(self.every.each(itself))


def scan(
    source: Any,
    *,
    schema: Schema | None = None,
    memory: str | float | None = None,
    client: Any = None,
    watch: Watch | None = None,
    **reading: Any,
) -> Scan:
    """Return rows that may be more than memory holds, as a source that goes wherever a table goes.

    One pass over the files settles the variables, as `read` would; none is needed with a schema. Discrete
    rows of which many are equal are then learned from as different rows with weights. All others are laid
    out part by part, and kept in memory as long as there is room, then in files that are mapped. What is
    learned is the same, bit for bit, for any memory, any number of workers and any division into files.

    Parameters
    ----------
    source
        A file, a folder, a pattern such as ``"visits/*.parquet"``, or a list of them: CSV, TSV, Parquet,
        Arrow or Feather, here or elsewhere (``"s3://bucket/visits/*.parquet"``, through fsspec). Files are
        taken in the order of their names. Folders called ``key=value`` are columns. Or a Dask data frame.
    schema
        The variables, if they are known: their states are then not looked for.
    memory
        How much memory this process may use for rows, in bytes or as "4 GB"; by default half of what there
        is.
    client
        A Dask client: parts are read, laid out and worked on by its workers, which must see the same files.
        Rows that make one part alone are worked on here.
    watch
        Called with what is being done, how many steps of it are done, and how many there are.
    reading
        How files and columns are read, as of `read`: ``kinds``, ``holes``, ``not_holes``, ``states``,
        ``ordered``, ``drop``, and ``weights`` (the name of a column); ``decimal``, ``thousands``, ``dates``
        and ``day_first``; ``encoding``, ``comment``, ``header``, ``names``, ``delimiter``, ``quote``,
        ``escape``, ``skip``, ``skip_end`` and ``ragged``. With a schema numbers that are text must be
        plain, unless ``decimal`` or ``thousands`` is said.

    Examples
    --------
    >>> import lacunary as lac, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> rows = lac.make_holes(lac.asia().sample(2000, rng=0), 0.2, rng=0)
    >>> rows.take(slice(0, 700)).to_frame("polars").write_parquet(folder / "a.parquet")
    >>> rows.take(slice(700, None)).to_frame("polars").write_parquet(folder / "b.parquet")
    >>> visits = lac.scan(folder)
    >>> found = lac.fit(lac.asia().dag, visits)
    """
    spelling = Spelling(**settings_of(Spelling, reading))
    opening = Opening(**settings_of(Opening, reading))
    how = Reading(schema=schema, **reading, spelling=spelling)
    room_for_rows = int(room() / 2) if memory is None else parsed(memory, "memory")
    told = watch or (lambda *_: None)
    opened = _frame(source, client) if _is_frame(source) else _files(source, told, opening)
    names, untyped = _columns(opened, how)
    settled = Settled(schema) if schema is not None else _settled(opened, names, untyped, how, told)
    for note in (*opened.notes, *settled.misread):
        warnings.warn(note, stacklevel=2)
    settled = replace(
        settled,
        decisions=(*opened.said, *settled.decisions),
        notes=(*opened.notes, *settled.notes),
    )
    final = replace(how.settled(settled.schema), spelling=_later(opened, spelling))
    read = partial(_table, how=final, untyped=untyped, readers=settled.readers)
    make = partial(_made, raw=opened.raw, names=names, read=read)
    distinct = few_rows(settled, read)
    every: Parts[Table] = Lazy(make, Keep(int(HELD * room_for_rows)), opened.parts)
    if client is not None:
        from lacunary.infer.cluster import OnCluster, agreed

        agreed(client)
        if len(opened.parts) > 1:  # of one part many workers make no more than one
            every = OnCluster.made(client, make, map(opened.resolve, opened.parts))
    return Scan(settled, every, opened.rows, room_for_rows, distinct)


class _Opened(NamedTuple):
    """Rows that were found.

    Attributes
    ----------
    names, text
        The columns, and those of them that hold text because their file does.
    rows, parts
        How many rows there are, and the recipes of the parts.
    raw
        Makes of a recipe a frame of some columns.
    resolve
        Makes of a recipe what can be sent to a cluster.
    said, notes
        What was done to text files, and what is doubtful about them.
    """

    names: tuple[str, ...]
    text: frozenset[str]
    rows: int
    parts: Sequence[Any]
    raw: Callable[[Any, Sequence[str]], pl.DataFrame]
    resolve: Callable[[Any], Any] = lambda recipe: recipe
    said: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def _files(source: Any, watch: Watch, opening: Opening) -> _Opened:
    """Return the rows of files."""
    files = _looked_through(list(_paths(source)), watch, opening)
    text = {name for file in files if file.kind == "text" for name in file.names}
    text |= {key for file in files for key, _ in file.keys}
    rows = sum(file.rows for file in files)
    said, notes = (_of_files(files, what) for what in ("said", "notes"))
    return _Opened(files[0].columns, frozenset(text), rows, parts_of(files), raw, said=said, notes=notes)


def _of_files(files: Sequence[File], what: str) -> tuple[str, ...]:
    """Return what is said of files, with their names where they are several."""
    alone = len(files) == 1
    return tuple(note if alone else f"{file.path}: {note}" for file in files for note in getattr(file, what))


def _later(opened: _Opened, spelling: Spelling) -> Spelling | None:
    """Return how numbers of a part are read that are not looked up.

    All parts must be read alike: what a part leaves open must not be decided by that part.
    """
    told = spelling.decimal is not None or spelling.thousands is not None
    return spelling if told or len(opened.parts) == 1 else None


def _frame(source: Any, client: Any) -> _Opened:
    """Return the rows of a Dask data frame: parts are runs of rows, whatever its partitions are."""
    pieces = source.to_delayed()
    counts = [int(many) for many in source.map_partitions(len).compute()]
    names = tuple(map(str, source.columns))
    runs = runs_of(counts, len(names))
    parts = [tuple((pieces[k], first, many) for k, first, many in run) for run in runs]
    if not sum(counts):
        raise TableError("there are no rows in the frame")
    return _Opened(names, frozenset(), sum(counts), parts, _pieces, partial(_on_cluster, client))


def _on_cluster(client: Any, part: Sequence[tuple[Any, int, int]]) -> list[tuple[Any, int, int]]:
    return [(client.compute(piece), first, many) for piece, first, many in part]


def _pieces(part: Sequence[tuple[Any, int, int]], names: Sequence[str]) -> pl.DataFrame:
    import polars as pl

    here = [(piece.compute() if hasattr(piece, "dask") else piece, first, n) for piece, first, n in part]
    frames = [pl.from_pandas(piece.iloc[first : first + n]) for piece, first, n in here]
    whole: pl.DataFrame = pl.concat(frames, how="vertical_relaxed")[list(names)]
    return whole


def _settled(
    opened: _Opened, names: Sequence[str], untyped: frozenset[str], how: Reading, watch: Watch
) -> Settled:
    """Return the variables, by one pass over all rows."""
    if len(opened.parts) == 1:
        [frame] = _watched([opened.raw(opened.parts[0], names)], watch, 1)
        return settle_one(frame, names, how.declared(tuple(names)), untyped, how.weights)
    frames = _watched((opened.raw(part, names) for part in opened.parts), watch, len(opened.parts))
    variables = [name for name in names if name != how.weights]
    return settle(frames, variables, how.declared(tuple(names)), untyped, alike=how.weights is None)


def _made(
    part: Any,
    raw: Callable[[Any, Sequence[str]], pl.DataFrame],
    names: Sequence[str],
    read: Callable[[pl.DataFrame], Table],
) -> Table:
    """Return a part as a table; what is wrong with it is said with the rows of the files it is made of."""
    try:
        return read(raw(part, names))
    except FileError:
        raise
    except LacunaryError as problem:
        where = "; ".join(str(piece) for piece in part[:2] if isinstance(piece, Segment))
        raise type(problem)(f"{where}: {problem}" if where else str(problem)) from None


def _table(
    frame: pl.DataFrame, how: Reading, untyped: frozenset[str], readers: Mapping[str, Reader]
) -> Table:
    """Return rows as a table: columns whose values are known are looked up, all others are read."""
    schema = how.schema or Schema(())
    if not frame.height:
        return Table(schema, np.empty((0, len(schema)), dtype=np.int8))
    known = dict(_looked_up(frame, untyped, readers))
    rest = frame[[name for name in frame.columns if name not in readers]]
    others = Schema(tuple(variable for variable in schema if variable.name not in known))
    table, weights = Table(Schema(()), np.empty((0, 0), dtype=np.int8)), np.ones(frame.height)
    if len(others):
        drop = [name for name in how.drop if name in rest.columns]
        declared = replace(how, schema=others).declared(tuple(rest.columns))
        found = assemble(columns_of(rest, untyped), declared, how.weights, drop, others).whole
        table, weights = found.align(others), found.weights
    elif isinstance(how.weights, str):
        weights = weight_column(columns_of(rest, untyped), how.declared(tuple(rest.columns)), how.weights)
    return table if not known else _put_in(table, known, schema, weights)


def _looked_up(
    frame: pl.DataFrame, untyped: frozenset[str], readers: Mapping[str, Reader]
) -> Iterator[tuple[str, NDArray[Any]]]:
    for name, reader in readers.items():
        column = frame[name].alias("")  # polars takes names such as * and ^a$ for patterns
        yield from reader.read(name, column.str.strip_chars() if name in untyped else column).items()


def _put_in(table: Table, known: Mapping[str, NDArray[Any]], schema: Schema, weights: Any) -> Table:
    """Return a table with the columns that were looked up, in the order of the schema."""
    codes = np.full((len(weights), len(schema)), HOLE, dtype=code_dtype(schema.sizes))
    reals = np.full((len(weights), 0 if all(v.discrete for v in schema) else len(schema)), np.nan)
    for place, variable in enumerate(schema):
        own = codes if variable.discrete else reals
        if variable.name in known:
            own[:, place] = known[variable.name]
        else:
            other = table.codes if variable.discrete else table.reals
            own[:, place] = other[:, table.schema.index(variable.name)]
    return Table(schema, codes, reals, weights, library="polars")


def _aligned(schema: Schema, table: Table) -> Table:
    return table.align(schema)


def _watched(parts: Iterable[Any], watch: Watch, many: int) -> Iterator[Any]:
    for done, part in enumerate(parts):
        watch("settling variables", done, many)
        yield part
    watch("settling variables", many, many)


def _is_frame(source: Any) -> bool:
    return hasattr(source, "npartitions") and hasattr(source, "to_delayed")


def _paths(source: Any) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the files of a source, each with the names of its folders below the one that is scanned."""
    if isinstance(source, list | tuple):
        for one in source:
            yield from _paths(one)
        return
    if not isinstance(source, str | os.PathLike):
        raise TableError(
            f"a {type(source).__name__} cannot be scanned; give a path, a folder, a pattern, a list of "
            "them, or a Dask data frame"
        )
    text = os.fspath(source)
    if "\0" in text:
        raise FileError(f"cannot scan {text!r}: there is a null in its name")
    files = remote_files(text, tuple(KINDS)) if is_remote(text) else _here(text)
    if not files:
        raise FileError(f"{text}: no file that ends in {', '.join(KINDS)} is there")
    yield from (file for file in files if not any(part.startswith((".", "_")) for part in file[1]))


def _here(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Return the files on this machine that a path, a folder or a pattern names; what is hidden is not."""
    path, signs = Path(text), [text.find(sign) for sign in "*?[" if sign in text]
    if os.path.isdir(path):
        found = [p for p in path.rglob("*") if p.is_file() and p.suffix.lower() in KINDS]
        found, root = [p for p in found if not p.name.startswith((".", "_"))], path
    elif signs and not os.path.exists(path):
        found = [Path(p) for p in glob.glob(text, recursive=True) if os.path.isfile(p)]
        root = Path(text[: min(signs)]).parent if text[min(signs) - 1] != os.sep else Path(text[: min(signs)])
    else:
        return [(str(path), ())]
    return [(str(p), p.relative_to(root).parts[:-1]) for p in sorted(found)]


def _looked_through(
    paths: Sequence[tuple[str, tuple[str, ...]]], watch: Watch, opening: Opening
) -> list[File]:
    files = []
    for done, (path, folders) in enumerate(paths):
        watch("looking through files", done, len(paths))
        files.append(look_through(path, folders, opening))
    watch("looking through files", len(paths), len(paths))
    for file in files[1:]:
        _check_alike(files[0], file)
    if not sum(file.rows for file in files):
        raise TableError(f"there are no rows in {files[0].path if len(files) == 1 else 'any of the files'}")
    return files


def _check_alike(first: File, file: File) -> None:
    """Refuse files whose columns are not the same, or do not hold the same."""
    if set(file.columns) != set(first.columns):
        odd = sorted(set(file.columns) ^ set(first.columns))
        raise SchemaError(
            f"{file.path} and {first.path} have different columns: only one has {listed(odd)}; scan "
            "files of the same columns"
        )
    known = dict(zip(first.names, first.holds, strict=False))
    for name, holds in zip(file.names, file.holds, strict=False):
        if holds and known.get(name) and known[name] != holds:
            raise SchemaError(
                f"{name} holds {known[name]} in {first.path} and {holds} in {file.path}; write it alike in "
                f"all files, or leave it out with drop=[{name!r}]"
            )


def _columns(opened: _Opened, how: Reading) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the columns that are read, and those of them that hold text because their file does."""
    drop = {how.drop} if isinstance(how.drop, str) else set(how.drop)
    known_columns(opened.names, drop - {""}, "drop")  # an empty column without a name is gone
    known_columns(opened.names, [how.weights] if isinstance(how.weights, str) else [], "weights")
    wanted = tuple(name for name in opened.names if name not in drop)
    if "" in wanted:
        raise unnamed("", wanted.index(""))
    if how.schema is not None:
        wanted = tuple(name for name in wanted if name in how.schema or name == how.weights)
    if not wanted:
        raise TableError(f"there is no column to read; the columns are {listed(opened.names)}")
    return wanted, opened.text
