"""What missing cells depend on: which columns predict them, and Little's test that nothing does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np

from lacunary.budget import budgeted
from lacunary.data.frame import frame_of
from lacunary.data.table import Table
from lacunary.data.wording import MISSING_AT_RANDOM, counted
from lacunary.errors import ParameterError, SchemaError
from lacunary.infer.answers import as_source
from lacunary.infer.joint import joint
from lacunary.learn.fit import fit
from lacunary.learn.stop import Stop
from lacunary.maths.arrays import Array, Booleans, Integers
from lacunary.model.dag import Dag

__all__ = ["McarTest", "Missingness", "Predictor", "mcar_test", "missingness"]

FEWEST = 5
"""So many cells of both kinds, missing and observed, must stand beside observed ones to compare them."""

SHOWN = 15


@dataclass(frozen=True)
class McarTest:
    """Little's test that cells are missing completely at random.

    Attributes
    ----------
    statistic, dof, p
        d² of Little (1988), its degrees of freedom, and the chance of a larger one if they are.
    patterns
        How many patterns of holes there are.
    """

    statistic: float
    dof: int
    p: float
    patterns: int

    def __str__(self) -> str:
        return (
            f"Little's test of missing completely at random: χ² = {self.statistic:.4g} with {self.dof} "
            f"degrees of freedom, p = {self.p:.4g}, {counted(self.patterns, 'pattern')} of holes"
        )


def mcar_test(table: Any) -> McarTest:
    """Return Little's test that whether cells are missing has nothing to do with what the columns hold.

    The means of every pattern of holes are compared with those that maximum likelihood expects there. A small
    p says that something predicts the holes; a large one does not say that nothing does: dependence that does
    not move means, or on the missing values themselves, is not seen. All columns must be continuous.

    Examples
    --------
    >>> import lacunary as lac
    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> x[x[:, 0] > 0.5, 1] = np.nan                    # the second is missing where the first is large
    >>> lac.mcar_test(x).p < 0.001
    True
    """
    from scipy import stats

    rows = as_source(table).whole("Little's test")
    discrete = [v.name for v in rows.schema if v.discrete]
    if discrete:
        raise SchemaError(
            f"{discrete[0]} is discrete; Little's test is about means of continuous columns: leave it out, "
            "drop=['" + discrete[0] + "'], or see missingness"
        )
    seen = ~rows.holes
    kept = np.asarray(seen.any(axis=1))
    rows, seen = rows.take(kept), seen[kept]
    if not seen.any(axis=0).all():
        raise SchemaError(f"{rows.schema.names[int(np.argmin(seen.any(axis=0)))]} has no observed cell")
    mean, spread = _likeliest_normal(rows)
    patterns = np.unique(seen, axis=0)
    total, dof = 0.0, -len(rows.schema)
    for pattern in patterns:
        mine = (seen == pattern).all(axis=1)
        weights = rows.weights[mine]
        apart = weights @ rows.reals[mine][:, pattern] / weights.sum() - mean[pattern]
        total += weights.sum() * float(apart @ np.linalg.solve(spread[np.ix_(pattern, pattern)], apart))
        dof += int(pattern.sum())
    if dof <= 0:
        raise ParameterError("all rows have the same holes; there is nothing to compare")
    return McarTest(total, dof, float(stats.chi2.sf(total, dof)), len(patterns))


def _likeliest_normal(rows: Table) -> tuple[Array, Array]:
    """Return mean and covariance of highest likelihood, by EM over all rows."""
    names = rows.schema.names
    whole = Dag.from_parents(rows.schema, {name: names[:k] for k, name in enumerate(names)})
    found = fit(whole, rows, method="ml", stop=Stop(relative=1e-13))
    known = joint(found.network, range(len(names)), ())
    back = np.argsort(known.continuous)
    return known.mean[0][back], known.covariance[0][np.ix_(back, back)]


@dataclass(frozen=True)
class Predictor:
    """How one column differs between rows in which another is missing and rows in which it is not.

    Attributes
    ----------
    missing, by
        The column with holes, and what was compared: a column, or that another is missing too.
    test, statistic, p, adjusted
        Which test, its statistic and p-value, and the p-value adjusted for all of them (Benjamini–Hochberg).
    size
        Difference of means in standard deviations, or Cramér's V.
    rows
        How many rows were compared.
    """

    missing: str
    by: str
    test: str
    statistic: float
    p: float
    adjusted: float
    size: float
    rows: int


@dataclass(frozen=True)
class Missingness:
    """Which columns predict which holes, the surest first."""

    predictors: tuple[Predictor, ...]
    shares: dict[str, float]

    def __iter__(self) -> Iterator[Predictor]:
        return iter(self.predictors)

    def __str__(self) -> str:
        holes = ", ".join(f"{name} {100 * share:.1f} %" for name, share in self.shares.items()) or "none"
        width = max([7, *(len(one.missing) for one in self.predictors)])
        other = max([12, *(len(one.by) for one in self.predictors)])
        lines = [f"missing: {holes}", f"{'missing':<{width}}  {'predicted by':<{other}}    size  adjusted p"]
        lines += [
            f"{one.missing:<{width}}  {one.by:<{other}}  {one.size:6.3f}  {one.adjusted:10.3g}"
            for one in self.predictors[:SHOWN]
        ]
        more = len(self.predictors) - SHOWN
        lines += [f"… and {more} more"] if more > 0 else []
        said = "size: difference of means in standard deviations, or Cramér's V. " + MISSING_AT_RANDOM
        return "\n".join([*lines, said])

    __repr__ = __str__

    def to_frame(self, library: str | None = None) -> Any:
        """Return it as a frame, a row for each pair of columns."""
        keys = list(Predictor.__dataclass_fields__)
        records = [asdict(one) for one in self.predictors]
        return frame_of({key: [record[key] for record in records] for key in keys}, library)


@budgeted
def missingness(table: Any) -> Missingness:
    """Return which columns, and which other holes, predict that a cell is missing, the surest first.

    Continuous columns are compared by Welch's t, discrete ones by χ². What predicts holes should take part in
    whatever fills them. That a hole depends on its own value cannot be seen; see `delta_adjusted`.

    >>> import lacunary as lac
    >>> votes = lac.missingness(lac.house_votes())
    >>> first = votes.predictors[0]
    >>> first.by, first.adjusted < 1e-6
    ('...', True)
    """
    rows = as_source(table).whole("a table of what predicts missing cells")
    holes = rows.holes
    open_ = [i for i in range(len(rows.schema)) if holes[:, i].any() and not holes[:, i].all()]
    found = []
    for i, k in product(open_, range(len(rows.schema))):
        if i == k or holes[:, k].all():
            continue
        found.append(_compared(rows, i, k))
        if k in open_:
            found.append(_chi_squared(rows, i, holes[:, k].astype(np.int64), np.ones(len(rows), bool), k))
    tests = [one for one in found if one is not None]
    adjusted = _benjamini_hochberg(np.array([one.p for one in tests]))
    done = [
        Predictor(**{**asdict(one), "adjusted": float(q)}) for one, q in zip(tests, adjusted, strict=True)
    ]
    done.sort(key=lambda one: (one.p, -abs(one.size)))
    shares = {rows.schema.names[i]: float(rows.weights @ holes[:, i] / rows.size) for i in open_}
    return Missingness(tuple(done), dict(sorted(shares.items(), key=lambda item: -item[1])))


def _compared(rows: Table, i: int, k: int) -> Predictor | None:
    """Return how column k differs where column i is missing."""
    seen = ~rows.holes[:, k]
    if rows.schema.variables[k].discrete:
        return _chi_squared(rows, i, rows.codes[:, k].astype(np.int64), seen, None, k)
    from scipy import stats

    gone = rows.holes[:, i]
    one, two = rows.reals[seen & gone, k], rows.reals[seen & ~gone, k]
    spread = float(np.std(rows.reals[seen, k]))
    if min(len(one), len(two)) < FEWEST or min(np.ptp(one), np.ptp(two)) == 0:
        return None
    test = stats.ttest_ind(one, two, equal_var=False)
    size = float(one.mean() - two.mean()) / spread
    names = rows.schema.names
    t, p = float(test.statistic), float(test.pvalue)
    return Predictor(names[i], names[k], "Welch's t", t, p, p, size, int(seen.sum()))


def _chi_squared(
    rows: Table, i: int, codes: Integers, seen: Booleans, hole: int | None, k: int | None = None
) -> Predictor | None:
    """Return the χ² test of whether column i is missing by states, or by whether another is missing."""
    from scipy import stats

    gone = rows.holes[:, i].astype(np.int64)
    counts = np.zeros((2, int(codes[seen].max()) + 1))
    np.add.at(counts, (gone[seen], codes[seen]), 1.0)
    counts = counts[:, counts.any(axis=0)]
    if counts.shape[1] < 2 or counts.sum(axis=1).min() < FEWEST:
        return None
    statistic, p, *_ = stats.chi2_contingency(counts, correction=False)
    names = rows.schema.names
    by = names[k] if k is not None else f"{names[hole or 0]} is missing"
    size = float(np.sqrt(statistic / counts.sum()))
    return Predictor(names[i], by, "χ²", float(statistic), float(p), float(p), size, int(counts.sum()))


def _benjamini_hochberg(p: Array) -> Array:
    """Return p-values adjusted so that a share of those below a bound is false of at most that bound."""
    order = np.argsort(p)[::-1]
    raised = p[order] * len(p) / np.arange(len(p), 0, -1)
    out = np.empty(len(p))
    out[order] = np.minimum.accumulate(np.minimum(raised, 1.0))
    return out
