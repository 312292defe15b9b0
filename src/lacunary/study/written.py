"""Rows larger than memory, filled and written part by part, wherever the parts are."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lacunary.budget import reserve
from lacunary.data.parts import itself
from lacunary.data.source import Source
from lacunary.data.table import Table
from lacunary.data.wording import counted
from lacunary.errors import FileError, ParameterError
from lacunary.infer.answers import as_source
from lacunary.infer.impute import How, checked
from lacunary.infer.impute import impute as filled_by
from lacunary.infer.partitioned import together
from lacunary.study.glance import every_row

__all__ = ["every_row_of", "written"]


def written(
    model: Any, rows: Any, folder: Path, how: How, copies: int, rng: Any, shown: Callable[[Table], Table]
) -> Table:
    """Write the parts of a source, filled by a model, into a new folder; return the first part's beginning.

    The folder has another name until all of it is there; ``shown`` says what is written of a filled part.
    """
    checked(how, copies)
    if rows is None:
        raise ParameterError("impute(model, rows, out=…) needs a model: learn one with lac.fit or lac.search")
    if "\0" in str(folder) or os.path.lexists(folder):
        raise FileError(f"{str(folder)!r} exists already, or is no name; give a folder that does not exist")
    source: Source = as_source(rows)
    parts = every_row(source)
    random = np.random.default_rng(rng)
    seeds = [int(random.integers(2**63)) for _ in range(len(parts))]
    partial_folder = folder.with_name(f".{folder.name}.partial-{os.getpid()}")
    try:
        partial_folder.mkdir(parents=True)
        write = partial(_part, model, partial_folder, how, copies, shown)
        first, *_ = parts.each(write, range(len(parts)), seeds)
        os.replace(partial_folder, folder)
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(partial_folder, ignore_errors=True)
    found: Table = first
    return found


def every_row_of(given: Any) -> Any:
    """Return the rows of a source in one place, none grouped with its like; anything else as it is."""
    if isinstance(given, Table) or not hasattr(given, "whole"):
        return given
    rows = given.whole("filling holes without out=")
    if len(rows) < len(given):  # equal ones are grouped
        needed = len(given) * (len(given.schema) + 8.0)
        reserve(needed, f"{counted(len(given), 'row')} in one place", "fill them into a folder: out=")
        rows = together(every_row(given).each(itself))
    return rows


SHOWN = 100
"""Rows of the first part that come back."""


def _part(
    model: Any, folder: Path, how: How, copies: int, shown: Callable[[Table], Table], table: Table,
    number: int, seed: int,
) -> Table:  # fmt: skip
    random = np.random.default_rng(seed)
    for copy in range(copies):
        filled = shown(filled_by(model, table, how=how, rng=random))
        name = f"part-{number:06}.parquet" if copies == 1 else f"copy-{copy + 1}-part-{number:06}.parquet"
        filled.to_frame("polars").write_parquet(folder / name)
    return filled.head(SHOWN)
