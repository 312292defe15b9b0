"""``lacunary sample``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

import lacunary as lac
from lacunary.budget import reserve
from lacunary.cli.app import command
from lacunary.cli.arguments import TABLES, Do, Given, Json, Model, Rng, answering, given_states, placed
from lacunary.cli.delimited import hand_over
from lacunary.cli.show import Waiting, emit, show
from lacunary.data.wording import counted
from lacunary.files import write_whole
from lacunary.files.drawn import Recipe, draw_into

__all__ = ["sample"]

TEXT = 100
"""Bytes that a cell takes on its way to a file: a label or a number, and its text."""

MISSING = "The share of cells that are left empty, at random."
PART = "Rows of a file, where --out is a folder."
OUT = "Where to write: a table, .parquet, or a folder, such as rows/; - for standard output."


@command(
    "lacunary sample asia --rows 5 --rng 1",
    "lacunary sample alarm --rows 1000 --given BP=LOW --out alarm.csv",
    "lacunary sample asia --rows 5 --do smoke=yes",
    "lacunary sample alarm --rows 100000 --missing 0.3 --rng 1 --out rows/",
)
def sample(
    model: Model,
    rows: Annotated[int, typer.Option("--rows", "-n", min=1, help="How many rows to draw.")] = 10,
    given: Given = None,
    do: Do = None,
    missing: Annotated[float, typer.Option("--missing", min=0.0, max=1.0, help=MISSING)] = 0.0,
    part_rows: Annotated[int | None, typer.Option("--part-rows", min=1, help=PART)] = None,
    rng: Rng = None,
    out: Annotated[str | None, placed(OUT, (*TABLES, ".parquet"), "--out", "-o")] = None,
    json: Json = False,
) -> None:
    """Draw rows from a model or a mixture, or from a model given some states or values; hidden ones as well.

    To --out (.csv, .tsv, also .gz; .parquet) or the screen. A folder gets Parquet files, each of a part of
    the rows, in any number and little memory: rows depend on the seed, not on --part-rows, the first are
    those of fewer, and the same command goes on where it was stopped. --json prints: rows, columns, and table
    (by column) or out, of a folder also parts.
    """
    thing, schema = answering(model)
    mixed = not isinstance(thing, lac.Network | lac.Belief)
    if mixed and (given or do):
        raise typer.BadParameter("rows of a mixture are drawn with nothing given", param_hint="--given, --do")
    how: dict[str, Any] = (
        {} if mixed else {"given": given_states(schema, given), "do": given_states(schema, do, "--do")}
    )
    if out is not None and out.endswith("/"):
        _draw_parts(
            thing, Path(out), Recipe.of(thing, rows, part=part_rows, missing=missing, rng=rng, how=how), json
        )
        return
    if part_rows is not None:
        raise typer.BadParameter("a part is a file of a folder: --out rows/", param_hint="--part-rows")
    reserve(
        TEXT * float(rows) * len(schema), f"{counted(rows, 'row')} as text", "draw into a folder: --out rows/"
    )
    random = np.random.default_rng(rng)
    with Waiting(f"drawing {counted(rows, 'row')}"):
        table = thing.sample(rows, random, **how)
        table = lac.make_holes(table, missing, rng=random) if missing else table
    if out is not None and out.lower().endswith(".parquet"):
        data = io.BytesIO()
        table.to_frame("polars").write_parquet(data)
        write_whole(out, data.getvalue())
        _say(thing, rows, out, json)
        return
    columns = table.to_frame("dict")
    told = {"rows": rows, "columns": list(columns), **({"out": out} if out else {"table": columns})}
    hand_over(columns, out, told if json else None)


def _draw_parts(thing: Any, folder: Path, recipe: Recipe, json: bool) -> None:
    what = f"drawing {counted(recipe.rows, 'row')}"
    with Waiting(what) as waiting:
        parts = draw_into(folder, thing, recipe, lambda done, all: waiting.progress(what, done / all))
    _say(thing, recipe.rows, f"{folder}/", json, parts)


def _say(thing: Any, rows: int, out: str, json: bool, parts: int | None = None) -> None:
    """Say what was written."""
    schema = thing.schema if hasattr(thing, "schema") else thing.dag.schema
    if json:
        emit({"rows": rows, "columns": list(schema.names), "out": out, **({"parts": parts} if parts else {})})
    else:
        inside = f" in {counted(parts, 'part')}" if parts else ""
        show(f"written: {out} ({counted(rows, 'row')}{inside})")
