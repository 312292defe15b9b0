"""Rows of a model in any number: drawn in blocks, each from a seed of its own, and written part by part.

A block depends on the model, the seed and its number alone, so that rows are the same whatever the size of
parts, the first of many rows are those of few, and work that was stopped goes on where it was.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from lacunary.budget import budgeted, reserve
from lacunary.data.holes import make_holes
from lacunary.data.schema import Label
from lacunary.data.table import Table
from lacunary.errors import FileError, ParameterError
from lacunary.files.native import encode
from lacunary.files.whole import check_new_folder, write_whole

__all__ = ["Recipe", "draw_into"]

BLOCK, CELLS = 2**16, 2**22
"""Rows and cells of a block at most."""

PARTS = 4
"""Blocks of a part, unless it is said how many rows it has."""

BYTES = 32
"""Bytes that a cell takes on its way to a file: code and value, and again in the frame."""

RECIPE = "recipe.json"
"""The file that says, while rows are drawn, which they are."""


@dataclass(frozen=True)
class Recipe:
    """What says which rows are drawn, beside the model.

    Attributes
    ----------
    rows, block, part
        How many rows there are, are drawn together, and stand in a file.
    missing
        The share of cells that are emptied at random; the others are the same with and without.
    seed
        Where randomness comes from.
    how
        What ``sample`` of the model is told beside: ``given`` and ``do``.
    """

    rows: int
    block: int
    part: int
    missing: float
    seed: int
    how: Mapping[str, Mapping[str, Label]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        model: Any,
        rows: int,
        *,
        part: int | None = None,
        missing: float = 0.0,
        rng: int | None = None,
        how: Mapping[str, Mapping[str, Label]] | None = None,
    ) -> Recipe:
        """Return a recipe for rows of a model; without a seed, of fresh ones."""
        if not 0 <= missing <= 1:
            raise ParameterError(f"the share of missing cells must lie between 0 and 1, not {missing}")
        block = max(1, min(BLOCK, CELLS // _width(model)))
        seed = int(np.random.default_rng().integers(2**63)) if rng is None else rng
        told = {name: dict(states) for name, states in (how or {}).items() if states}
        return cls(rows, block, part or PARTS * block, missing, seed, told)

    def __len__(self) -> int:
        return -(-self.rows // self.part)

    def drawn(self, model: Any, block: int) -> Table:
        """Return the rows of a block."""
        drawn, emptied = (np.random.default_rng([self.seed, block, k]) for k in (0, 1))
        table: Table = model.sample(self.block, drawn, **self.how)
        return make_holes(table, self.missing, rng=emptied) if self.missing else table

    def pieces(self, part: int) -> list[tuple[int, int, int]]:
        """Return the blocks that a part is made of, each with the row it begins with and how many."""
        first, stop = part * self.part, min(self.rows, (part + 1) * self.part)
        blocks = range(first // self.block, -(-stop // self.block))
        starts = [max(first, k * self.block) for k in blocks]
        ends = [min(stop, (k + 1) * self.block) for k in blocks]
        return [
            (k, start - k * self.block, end - start)
            for k, start, end in zip(blocks, starts, ends, strict=True)
        ]


def _width(model: Any) -> int:
    return max(1, len(model.schema if hasattr(model, "schema") else model.dag.schema))


@budgeted
def draw_into(
    folder: Path, model: Any, recipe: Recipe, watch: Callable[[int, int], None] | None = None
) -> int:
    """Write the rows of a recipe into a new folder, a Parquet file a part; return how many parts.

    Every file appears whole, and the folder once all of them are there: until then it has a hidden name, and
    the same recipe goes on with what it holds. ``watch`` is told how many parts are done, and of how many.
    """
    import polars as pl

    room = BYTES * float(recipe.part + recipe.block) * _width(model)
    reserve(room, f"parts of {recipe.part} rows", "draw smaller parts")
    check_new_folder(folder)
    partly = folder.with_name(f".{folder.name}.partial")
    block = lru_cache(1)(lambda number: recipe.drawn(model, number).to_frame("polars"))
    try:
        partly.mkdir(parents=True, exist_ok=True)
        _begin(partly, model, recipe)
        for part in range(len(recipe)):
            file = partly / f"part-{part:06}.parquet"
            if not file.exists():
                data = io.BytesIO()
                pieces = [block(k).slice(first, rows) for k, first, rows in recipe.pieces(part)]
                pl.concat(pieces).write_parquet(data)
                write_whole(file, data.getvalue())
            if watch is not None:
                watch(part + 1, len(recipe))
        (partly / RECIPE).unlink()
        os.replace(partly, folder)
    except OSError as error:
        raise FileError(f"{folder} cannot be written: {error.strerror or error}") from None
    return len(recipe)


def _begin(folder: Path, model: Any, recipe: Recipe) -> None:
    """Say in a folder what it is to hold, or refuse one that holds something else."""
    content = sha256(json.dumps(encode(model), sort_keys=True).encode()).hexdigest()
    told = json.dumps({"model": content, **asdict(recipe)}, indent=1, sort_keys=True)
    if (file := folder / RECIPE).exists():
        if (held := file.read_text(encoding="utf-8")) != told:
            seed = json.loads(held)["seed"]
            raise FileError(
                f"{folder} has some rows that were drawn otherwise, with the seed {seed}; delete it, or go "
                "on with all as it was then"
            )
    else:
        write_whole(file, told)
