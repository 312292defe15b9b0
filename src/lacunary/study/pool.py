"""Rubin's rules: one estimate, its error and its interval from the analyses of several filled tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lacunary.data.frame import frame_of
from lacunary.data.table import Table
from lacunary.data.wording import MISSING_AT_RANDOM
from lacunary.errors import ParameterError
from lacunary.maths.arrays import Array

__all__ = ["Estimates", "Pooled", "PooledEstimate", "numbered", "pool", "pooled_estimates"]


@dataclass(frozen=True)
class Estimates:
    """What the analysis of one table says: estimates by name, standard errors, degrees of freedom."""

    names: tuple[str, ...]
    values: Array
    errors: Array
    dof: float


@dataclass(frozen=True)
class PooledEstimate:
    """One estimate, pooled by Rubin's rules.

    Attributes
    ----------
    name, estimate, error
        The mean over the tables, and the root of the total variance: within + (1 + 1/m) between.
    dof
        Degrees of freedom of its Student t, by Barnard and Rubin (1999).
    low, high, p
        The interval, and the p-value of a two-sided test that it is zero.
    missing_information
        The share of the information about it that the holes took (Rubin 1987).
    increase
        By how much its variance is larger than if nothing were missing, relative to that.
    """

    name: str
    estimate: float
    error: float
    dof: float
    low: float
    high: float
    p: float
    missing_information: float
    increase: float


@dataclass(frozen=True)
class Pooled:
    """Estimates from several filled tables, pooled by Rubin's rules; prints as a table."""

    estimates: tuple[PooledEstimate, ...]
    copies: int
    level: float

    def __iter__(self) -> Iterator[PooledEstimate]:
        return iter(self.estimates)

    def __getitem__(self, name: str) -> PooledEstimate:
        for one in self.estimates:
            if one.name == name:
                return one
        raise KeyError(name)

    def __str__(self) -> str:
        width = max([8, *(len(one.name) for one in self.estimates)])
        bounds = f"{100 * self.level:g} % interval"
        lines = [f"{'':<{width}}  estimate     error  {bounds:>22}     dof       p  missing information"]
        lines += [
            f"{e.name:<{width}}  {e.estimate:8.4g}  {e.error:8.4g}  {e.low:10.4g} {e.high:11.4g}"
            f"  {e.dof:6.1f}  {e.p:6.4f}  {100 * e.missing_information:18.1f}%"
            for e in self.estimates
        ]
        return "\n".join([*lines, f"{self.copies} filled tables. {MISSING_AT_RANDOM}"])

    __repr__ = __str__

    def to_frame(self, library: str | None = None) -> Any:
        """Return the estimates as a frame, one row each."""
        records = [asdict(one) for one in self.estimates]
        return frame_of({key: [record[key] for record in records] for key in records[0]}, library)


def pool(
    filled: Any,
    analysis: Callable[[Any], Any] | None = None,
    *,
    copies: int | None = None,
    copy_column: str = "copy",
    dof: float | None = None,
    level: float = 0.95,
    library: str | None = None,
) -> Pooled:
    """Return the estimates of an analysis of several filled tables, pooled by Rubin's rules.

    Parameters
    ----------
    filled
        Filled tables or frames in a list; or one in which they follow one another, with a column that
        numbers them (``impute(..., copy_column="copy")``) or all of the same length (``copies``). Without an
        analysis, what it would return for each of them, in a list.
    analysis
        Called with each table as a frame. It returns a mapping from names to pairs (estimate, standard
        error); or a pair of estimates and their covariance matrix; or a fitted model of statsmodels, or
        anything with ``params`` and ``bse``.
    copies
        How many tables follow one another in ``filled``, if no column says so.
    dof
        Degrees of freedom if nothing were missing, rows minus coefficients; by default what the analysis
        knows of them (``df_resid``), else infinite.
    level
        How much the intervals cover.
    library
        The frames' library, as of `Table.to_frame`.

    Examples
    --------
    >>> import lacunary as lac
    >>> rows = lac.make_holes(lac.asia().sample(200, rng=0), 0.2, rng=0)
    >>> five = lac.impute(rows, how="draw", copies=5, copy_column="copy", rng=1)
    >>> def share(frame):
    ...     p = sum(state == "yes" for state in frame["smoke"]) / len(frame["smoke"])
    ...     return {"smokers": (p, (p * (1 - p) / 200) ** 0.5)}
    >>> 0.4 < lac.pool(five, share, library="dict")["smokers"].estimate < 0.6
    True
    """
    if analysis is None and not isinstance(filled, list | tuple):
        raise ParameterError("say what to estimate from each table, or give what was estimated in a list")
    parts = _parts(filled, copies, copy_column)
    if len(parts) < 2:
        raise ParameterError("pooling needs at least two filled tables: impute(..., how='draw', copies=5)")
    frames = (part.to_frame(library) if isinstance(part, Table) else part for part in parts)
    done = parts if analysis is None else [analysis(frame) for frame in frames]
    found = [_estimates(each, dof) for each in done]
    if any(one.names != found[0].names for one in found):
        raise ParameterError(
            "the analysis must return the same estimates, by the same names, for every table"
        )
    return pooled_estimates(found, level)


def pooled_estimates(found: Sequence[Estimates], level: float = 0.95) -> Pooled:
    """Return estimates of several tables pooled by Rubin's rules."""
    from scipy import stats

    values, errors = np.array([one.values for one in found]), np.array([one.errors for one in found])
    m = len(found)
    mean, within, between = values.mean(axis=0), (errors**2).mean(axis=0), values.var(axis=0, ddof=1)
    added = (1 + 1 / m) * between
    total = within + added
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(total > 0, added / total, 0.0)
        increase = np.where(added > 0, added / within, 0.0)
        dof = _barnard_rubin(m, share, min(one.dof for one in found))
        # Rubin's γ: what a finite number of tables leaves open counts as missing too.
        missing = np.where(np.isinf(increase), 1.0, (increase + 2 / (dof + 3)) / (increase + 1))
        missing = np.where(added > 0, missing, 0.0)
    error = np.sqrt(total)
    reach = error * stats.t.ppf((1 + level) / 2, dof)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stats.t.sf(np.abs(mean / error), dof)
    columns = (mean, error, dof, mean - reach, mean + reach, p, missing, increase)
    rows = zip(found[0].names, *(column.tolist() for column in columns), strict=True)
    return Pooled(tuple(PooledEstimate(*row) for row in rows), m, level)


def _barnard_rubin(m: int, share: Array, complete: float) -> Array:
    """Return the degrees of freedom of Barnard and Rubin (1999); infinite where nothing is missing."""
    old = (m - 1) / share**2
    if not np.isfinite(complete):
        return np.asarray(old)
    seen = (complete + 1) / (complete + 3) * complete * (1 - share)
    return np.asarray(1 / (1 / old + 1 / seen))


def _parts(filled: Any, copies: int | None, column: str) -> list[Any]:
    """Return the filled tables one by one."""
    if isinstance(filled, list | tuple):
        return list(filled)
    if not isinstance(filled, Table):
        return _split_frame(filled, copies, column)
    if copies is None:
        if column not in filled.schema:
            raise ParameterError(
                "say how many filled tables follow one another, copies=…, or number them in a column: "
                f"impute(..., copy_column={column!r})"
            )
        rest = [name for name in filled.schema.names if name != column]
        return [part.select(rest) for part in numbered(filled, column)]
    _check_length(len(filled), copies)
    rows = len(filled) // copies
    return [filled.take(slice(k * rows, (k + 1) * rows)) for k in range(copies)]


def _split_frame(frame: Any, copies: int | None, column: str) -> list[Any]:
    import narwhals as nw

    if isinstance(frame, Mapping):
        frame = frame_of(frame, "polars")
    whole = nw.from_native(frame, eager_only=True)
    if copies is None:
        if column not in whole.columns:
            raise ParameterError(
                f"there is no column {column!r} that numbers the filled tables; give copies=…"
            )
        if whole[column].is_null().any():
            raise _unnumbered(column)
        numbers = whole[column].unique().sort().to_list()
        parts = [whole.filter(nw.col(column) == k).drop(column) for k in numbers]
        _check_alike(column, list(map(len, parts)))
        return [part.to_native() for part in parts]
    _check_length(len(whole), copies)
    rows = len(whole) // copies
    return [whole[k * rows : (k + 1) * rows].to_native() for k in range(copies)]


def numbered(table: Table, column: str) -> list[Table]:
    """Return the filled tables that a column numbers, which are as long as each other."""
    i = table.schema.index(column)
    if table.holes[:, i].any():
        raise _unnumbered(column)
    numbers = (table.codes if table.schema[column].discrete else table.reals)[:, i]
    parts = [table.take(numbers == number) for number in np.unique(numbers)]
    _check_alike(column, list(map(len, parts)))
    return parts


def _unnumbered(column: str) -> ParameterError:
    return ParameterError(f"{column!r} is to number the filled tables, and is a hole in some rows")


def _check_alike(column: str, lengths: list[int]) -> None:
    if len(set(lengths)) > 1:
        raise ParameterError(
            f"the tables that {column!r} numbers have {min(lengths)} to {max(lengths)} rows; they must be "
            "one table, filled several times"
        )


def _check_length(rows: int, copies: int) -> None:
    if copies < 1 or rows % copies:
        raise ParameterError(f"{rows} rows are not {copies} tables of the same length")


def _estimates(found: Any, dof: float | None) -> Estimates:
    """Return what an analysis returned as estimates."""
    known = float(getattr(found, "df_resid", np.inf)) if dof is None else float(dof)
    if hasattr(found, "params") and hasattr(found, "bse"):
        values = np.asarray(found.params, dtype=np.float64).ravel()
        index = getattr(found.params, "index", None) if not callable(found.params) else None
        names = list(index) if index is not None else list(getattr(found, "model", found).exog_names)
        return _checked(names, values, np.asarray(found.bse, dtype=np.float64).ravel(), known)
    if isinstance(found, Mapping):
        if any(np.size(pair) != 2 for pair in found.values()):
            raise ParameterError("every estimate needs its standard error: {name: (estimate, error)}")
        pairs = [tuple(map(float, pair)) for pair in found.values()]
        return _checked(list(found), np.array([p[0] for p in pairs]), np.array([p[1] for p in pairs]), known)
    values, spread = np.atleast_1d(found[0]).astype(np.float64), np.atleast_2d(found[1]).astype(np.float64)
    if spread.shape != (len(values), len(values)):
        raise ParameterError("give estimates and their covariance matrix, or {name: (estimate, error)}")
    return _checked([f"q{k + 1}" for k in range(len(values))], values, np.sqrt(np.diag(spread)), known)


def _checked(names: Sequence[Any], values: Array, errors: Array, dof: float) -> Estimates:
    if not (np.isfinite(values).all() and np.isfinite(errors).all() and (errors >= 0).all()):
        raise ParameterError("estimates and standard errors must be finite numbers, errors not negative")
    return Estimates(tuple(map(str, names)), values, errors, dof)
