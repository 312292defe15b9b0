"""Fill the holes of a table: with a model that is given, or with what the table itself says."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.schema import Schema, Variable
from lacunary.data.table import Table, code_dtype
from lacunary.data.wording import listed
from lacunary.dependency.network import learn_dependencies
from lacunary.errors import ParameterError
from lacunary.exactness import announced
from lacunary.infer.answers import Answers, as_source
from lacunary.infer.impute import How, checked, is_model, model_of
from lacunary.infer.impute import impute as filled_by
from lacunary.maths.arrays import Array
from lacunary.study.written import every_row_of, written

__all__ = ["impute"]


@budgeted
@announced
def impute(
    model: Any,
    table: Any = None,
    *,
    how: How | None = None,
    copies: int = 1,
    copy_column: str | None = None,
    hidden_columns: bool = True,
    watch: Callable[[int, int], object] | None = None,
    rng: int | np.random.Generator | None = None,
    out: str | os.PathLike[str] | None = None,
    exact: bool = False,
    memory: str | float | None = None,
) -> Table:
    """Return a table with every hole filled: ``impute(table)``, or ``impute(model, table)``.

    Without a model every column is predicted from all others, by a regression and a forest weighed by how
    they tell rows left out; see `learn_dependencies`. ``decisions`` of the filled table say which columns
    went through normal scores, and which skewed ones were drawn beyond what was observed. With a model the
    table is over its variables, hidden ones included.

    Parameters
    ----------
    model
        A network, a belief, a mixture, a fit of one, an ensemble or what `learn_dependencies` returned; or,
        alone, the table itself.
    table
        Rows with holes: a table, a frame, an array or a path.
    how
        "mode": each hole takes its most probable state given the row's observed cells; a continuous one
        the mean of its most probable component. "mean": as "mode", but a continuous hole takes its
        mean. "draw": the holes of a row take one joint draw from their posterior, as multiple imputation
        needs; each copy has parameters of its own, drawn first, if there is no model or it is a belief, such
        as a fit's, so that what is not known of them shows between copies. "probability": each variable
        becomes one column a state, named ``variable=state``, that holds its probability; of a continuous one
        its mean and standard deviation, in ``variable mean`` and ``variable sd``; a hole where that is
        infinite, as that of a Student t with two degrees of freedom is: a belief's
        about a configuration that no row has shown. By default "mean" without a model, "mode" with one.
    copies
        How many filled tables to draw; they follow one another in the result.
    copy_column
        The name of a column to add that numbers the copies 1, 2, …, as `lacunary.pool` reads them.
    hidden_columns
        Whether the model's hidden variables are columns of the result.
    watch
        Called with how many steps of learning are done and how many there are, where there is no model.
    rng
        Seed or generator for draws.
    out
        A folder to make, in which the parts of a scan are written, filled, as Parquet files; see
        `lacunary.scan`. What comes back is then the first part.
    exact, memory
        As in `lacunary.fit`.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(60, rng=0), 0.2, rng=0)
    >>> bool(lac.impute(rows).holes.any())
    False
    >>> len(lac.impute(rows, how="draw", copies=3, rng=1))
    180
    """
    if out is not None:
        shown = partial(_without, () if hidden_columns else _hidden(model), how)
        return written(model, table, Path(out), how or "mode", copies, rng, shown)
    filled = _filled(model, table, how, copies, watch, rng)
    filled = _without(_hidden(model) if table is not None and not hidden_columns else (), how, filled)
    return filled if copy_column is None else _numbered(filled, copies, copy_column)


def _filled(
    model: Any,
    table: Any,
    how: How | None,
    copies: int,
    watch: Callable[[int, int], object] | None,
    rng: int | np.random.Generator | None,
) -> Table:
    if table is not None:
        return filled_by(model, every_row_of(table), how=how or "mode", copies=copies, rng=rng)
    if is_model(model):
        raise ParameterError("impute(model, table) needs the rows to fill; without a model: impute(table)")
    chosen = how or "mean"
    checked(chosen, copies)
    rows = every_row_of(as_source(model))
    if chosen != "draw":
        known = learn_dependencies(rows, watch=watch, rng=0 if rng is None else rng)
        return _said(filled_by(known, known.rows, how=chosen), known.transformed, rows.doubts)
    known = learn_dependencies(rows, chains=copies, proper=True, watch=watch, rng=rng)
    codes, reals = (np.concatenate(part) for part in zip(*known.completions(), strict=True))
    schema, weights = rows.schema, np.tile(rows.weights, copies)
    filled = Table(schema, codes.astype(code_dtype(schema.sizes)), reals, weights, library=rows.library)
    beyond = [name for name in known.skewed if _beyond(name, rows, reals)]
    return _said(filled, known.transformed, rows.doubts, beyond)


def _beyond(name: str, rows: Table, drawn: Array) -> bool:
    """Tell whether draws of a column lie beyond all that was observed of it."""
    i = rows.schema.index(name)
    seen = rows.reals[~rows.holes[:, i], i]
    return bool(drawn[:, i].min() < seen.min() or drawn[:, i].max() > seen.max())


def _hidden(model: Any) -> tuple[str, ...]:
    """Return the names of a model's hidden variables."""
    found = model_of(model)
    return found.dag.schema.hidden if isinstance(found, Answers) else found.schema.hidden


def _without(hidden: Sequence[str], how: How | None, filled: Table) -> Table:
    """Return a filled table without the columns of hidden variables."""
    if not hidden:
        return filled
    gone = ("mean", "sd") if how == "probability" else ()
    ends = {name for h in hidden for name in (h, *(f"{h} {end}" for end in gone))}
    starts = tuple(f"{name}=" for name in hidden) if how == "probability" else ()
    return filled.select(
        [n for n in filled.schema.names if n not in ends and not (starts and n.startswith(starts))]
    )


def _numbered(filled: Table, copies: int, column: str) -> Table:
    """Return a table with a column before the others that numbers the copies."""
    if column in filled.schema:
        raise ParameterError(f"there is a column {column!r} already; name another: copy_column=…")
    number = np.repeat(np.arange(copies), len(filled) // copies)[:, None]
    schema = Schema((Variable(column, tuple(range(1, copies + 1))), *filled.schema))
    codes = np.concatenate([number, filled.codes], axis=1).astype(code_dtype(schema.sizes))
    reals = filled.reals
    if reals.shape[1]:
        reals = np.concatenate([np.full((len(filled), 1), np.nan), reals], axis=1)
    return replace(filled, schema=schema, codes=codes, reals=reals)


def _said(filled: Table, transformed: Sequence[str], doubts: str, beyond: Sequence[str] = ()) -> Table:
    """Return a filled table that says how columns that are skewed were filled, and which are doubtful."""
    filled = replace(filled, notes=(doubts,)) if doubts else filled
    shaped = "filled through normal scores, and back, because of their shape: "
    plain = "skewed, but drawn on their own scale, which regressions need, in part beyond what was observed: "
    said = [what + listed(names) for what, names in ((shaped, transformed), (plain, beyond)) if names]
    return replace(filled, decisions=(*filled.decisions, *said)) if said else filled
