"""Numbers at the edges: right to the digits that can be right, by arithmetic of many digits, or refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from numpy.typing import NDArray

import lacunary as lac
from lacunary.maths.special import log_peak
from lacunary.structure.gaussian import BGe

ROWS = 40
RNG = np.random.default_rng(0)
X = RNG.integers(3, size=ROWS)
Y = np.where(RNG.random(ROWS) < 0.8, X, RNG.integers(3, size=ROWS))
PAIRS = {"x": X.astype(str), "y": Y.astype(str)}


@pytest.fixture(autouse=True)
def _many_digits() -> Iterable[None]:
    with mp.workdps(60):
        yield


def rising(a: Any, n: Any) -> Any:
    return mp.loggamma(mp.mpf(a) + mp.mpf(n)) - mp.loggamma(mp.mpf(a))


def evidence(counts: Sequence[Sequence[float]], alpha: float) -> Any:
    """log p(D) of tables under Dirichlets with one α (CH96 eq. 5)."""
    out = mp.mpf(0)
    for row in (list(map(float, counted)) for counted in counts):  # mpmath takes no integers of NumPy's
        out += sum(rising(alpha, n) for n in row) - rising(
            len(row) * mp.mpf(alpha), mp.fsum(map(mp.mpf, row))
        )
    return out


COUNTS = [np.bincount(X, minlength=3), *(np.bincount(Y[k == X], minlength=3) for k in range(3))]


@pytest.mark.parametrize("alpha", [1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9, 1e12, 1e15])
def test_evidence_of_tables_under_any_alpha(alpha: float) -> None:
    table = lac.read(PAIRS)
    dag = lac.dag("x -> y", schema=table.schema)
    wanted = evidence([list(row) for row in COUNTS], alpha)
    prior = lac.Dirichlet(alpha)
    found = [lac.score(dag, table, method, prior=prior).value for method in ("exact", "cheeseman-stutz")]
    found.append(lac.search(table, prior=prior, required="x -> y").score)
    # Sums of a dozen numbers of some hundred, each right to its last digits.
    assert [float(value - wanted) for value in found] == pytest.approx([0.0] * 3, abs=1e-11)


@pytest.mark.parametrize("alpha", [1e6, 1e9, 1e12])
@pytest.mark.parametrize("basis", ["softmax", "probability"])
def test_laplace_under_large_alpha(alpha: float, basis: Any) -> None:
    """Its error shrinks like 1/α: a Dirichlet of α rows is a normal distribution to that order."""
    table = lac.read(PAIRS)
    found = lac.score(
        lac.dag("x -> y", schema=table.schema), table, "laplace", prior=lac.Dirichlet(alpha), basis=basis
    )
    assert float(found.value - evidence([list(row) for row in COUNTS], alpha)) == pytest.approx(
        0.0, abs=10 / alpha + 1e-11
    )


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_a_dirichlet_at_its_peak(shift: float) -> None:
    alpha = np.array([1e12, 3e11, 2.5, 7.0, 1e5, 1.5])
    group = np.array([0, 0, 0, 1, 1, 1])
    wanted = mp.mpf(0)
    for g in range(2):
        own = [mp.mpf(a) for a in alpha[group == g]]
        total, peak = mp.fsum(own), mp.fsum(a - mp.mpf(shift) for a in own)
        wanted += mp.loggamma(total)
        wanted += sum((a - shift) * mp.log((a - shift) / peak) - mp.loggamma(a) for a in own)
    assert log_peak(alpha, group, shift) == pytest.approx(float(wanted), rel=1e-13)


@pytest.mark.parametrize("weight", [1e9, 1e12])
def test_huge_weights(weight: float) -> None:
    table = lac.read(PAIRS, weights=[weight] * ROWS)
    wanted = evidence([[n * weight for n in row] for row in COUNTS], 1.0)
    found = lac.score(lac.dag("x -> y", schema=table.schema), table, "exact", prior=lac.Dirichlet(1.0)).value
    assert found == pytest.approx(float(wanted), rel=1e-13)  # a number of some 1e11: its last digits


def test_ten_thousand_states() -> None:
    many = 10_000
    codes = np.random.default_rng(1).integers(many, size=300)
    schema = lac.Schema((lac.Variable("x", tuple(range(many))), lac.Variable("y", (0, 1))))
    rows = np.stack([codes, codes % 2], axis=1).astype(np.int16)
    dag = lac.Dag.from_parents(schema, {"y": ["x"]})
    found = lac.score(dag, lac.Table(schema, rows), "exact", prior=lac.Dirichlet(1.0)).value
    times = np.unique(codes, return_counts=True)[1]
    wanted = evidence([[*times, *[0] * (many - len(times))]], 1.0)
    wanted += sum(evidence([[int(n), 0]], 1.0) for n in times)
    assert found == pytest.approx(float(wanted), rel=1e-13)
    assert lac.fit(dag, lac.Table(schema, rows)).network.query(
        "y", given={"x": int(codes[0])}
    ).probabilities.sum() == pytest.approx(1)


# Continuous columns


@pytest.mark.parametrize("dof", [1e-3, 1.0, 7.0, 1e4, 1e9, 1e12, 1e15])
def test_student_of_any_degrees_of_freedom(dof: float) -> None:
    one = np.ones(1)
    answer = lac.StudentMixture(lac.Variable("x", kind="continuous"), one, 0 * one, one, dof * one)
    for x in (0.0, 0.7, 30.0):
        d = mp.mpf(dof)
        wanted = rising(d / 2, mp.mpf("0.5")) - mp.log(mp.pi * d) / 2 - (d + 1) / 2 * mp.log1p(x**2 / d)
        assert float(answer.log_density(x) - wanted) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("weight", [1.0, 1e9, 1e12])
def test_the_next_value_after_huge_weights(weight: float) -> None:
    """What a belief says of a next number is Student's, here all but normal."""
    rows = lac.read({"x": A}, weights=[weight] * len(A))
    fit = lac.fit("x", rows, prior=lac.NormalWishart(1.0, 0.0, 1.0, 2.0))
    n, s = mp.mpf(weight) * len(A), mp.mpf(weight) * mp.fsum(mp.mpf(a) for a in A)
    squares = mp.mpf(weight) * mp.fsum(mp.mpf(a) ** 2 for a in A)
    mean, dof = s / (n + 1), 2 + n
    scale = mp.sqrt((squares + 1 - s**2 / (n + 1)) / dof * (1 + 1 / (n + 1)))
    z = (mp.mpf(1) - mean) / scale
    wanted = rising(dof / 2, mp.mpf("0.5")) - mp.log(mp.pi * dof) / 2 - mp.log(scale)
    wanted -= (dof + 1) / 2 * mp.log1p(z**2 / dof)
    assert float(fit.belief.query("x").log_density(1.0) - wanted) == pytest.approx(0.0, abs=1e-12)
    assert float(fit.belief.log_probability({"x": [1.0]})[0] - wanted) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("hyper", [(1.0, 1.0), (1e12, 1e12), (1e12, 3e12), (1e-6, 1e-6), (1e9, 1e6)])
def test_the_next_count_under_any_gamma(hyper: tuple[float, float]) -> None:
    """(b, a): rows that are believed, and what was counted in them; the next is a negative binomial."""
    b, a = map(mp.mpf, hyper)
    graph = lac.dag("n", kinds="continuous", family="poisson")
    belief = lac.Dirichlet(1.0)(graph).__class__(graph, np.array(hyper))
    for count in (0, 1, 7):
        wanted = rising(a, count) - mp.loggamma(count + 1) + a * mp.log(b / (1 + b)) - count * mp.log(1 + b)
        for found in (belief.query("n").log_density(count), belief.log_probability({"n": [count]})[0]):
            assert float(found - wanted) == pytest.approx(0.0, abs=1e-11 * max(1.0, float(abs(wanted))))


def log_wishart(scale: Any, dof: Any, size: int) -> Any:
    """log ∫ of a Wishart's kernel, but for powers of two and π that are counted in `marginal`."""
    gammas = sum(mp.loggamma((dof - j) / 2) for j in range(size))
    return gammas - dof / 2 * mp.log(mp.det(scale))


def marginal(
    x: NDArray[np.float64], some: Sequence[int], mean: Sequence[float], variance: Sequence[float]
) -> Any:
    """log p(columns) with ν = 1 and α = n + 2 (Kuipers, Moffa & Heckerman 2014), in many digits."""
    rows, n, p = len(x), x.shape[1], len(some)
    if not p:
        return mp.mpf(0)
    dof = mp.mpf(n + 2 - (n - p))
    prior = mp.diag([mp.mpf(variance[j]) for j in some])
    values = [[mp.mpf(float(x[i, j])) for j in some] for i in range(rows)]
    middle = [mp.fsum(column) / rows for column in zip(*values, strict=True)]
    after = prior.copy()
    for a in range(p):
        for b in range(p):
            after[a, b] += mp.fsum((v[a] - middle[a]) * (v[b] - middle[b]) for v in values)
            gap = (middle[a] - mp.mpf(mean[some[a]])) * (middle[b] - mp.mpf(mean[some[b]]))
            after[a, b] += mp.mpf(rows) / (1 + rows) * gap
    scale = mp.mpf(p) / 2 * mp.log(mp.mpf(1) / (1 + rows)) - mp.mpf(rows * p) / 2 * mp.log(mp.pi)
    return scale + log_wishart(after, dof + rows, p) - log_wishart(prior, dof, p)


A, B, C = np.random.default_rng(2).normal(size=(3, 15))
B = A + 0.5 * B
FAMILIES: list[tuple[int, tuple[int, ...]]] = [
    (0, ()),
    (1, ()),
    (0, (1,)),
    (1, (0,)),
    (2, (0, 1)),
    (1, (0, 2)),
]
COLUMNS = {
    "plain": (A, B, C),
    "sd 1e-9": (A, 1e-9 * B, C),
    "sd 9e-10 at 1": (A, 1 + 9e-10 * B, C),
    "sd 9e-10 at 1000": (A, 1000 + 9e-10 * B, 1 + 9e-10 * C),
    "sd 1e100": (A, 1e100 * B, C),
    "sd 1e-100": (A, 1e-100 * B, C),
    "near singular": (A, A + 1e-8 * B, C),
    "singular": (A, 2 * A + 1, C),
    "n < p": (A[:2], B[:2], C[:2]),
}


@pytest.mark.parametrize("own", [True, False], ids=["prior of the column's size", "unit prior"])
@pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
def test_bge_at_the_edges(columns: tuple[NDArray[np.float64], ...], own: bool) -> None:
    x = np.stack(columns, axis=1)
    names = ["x0", "x1", "x2"]
    mean = x.mean(axis=0).tolist() if own else [0.0] * 3
    variance = x.var(axis=0).tolist() if own else [1.0] * 3
    table = lac.read(
        {name: x[:, j] for j, name in enumerate(names)}, kinds=dict.fromkeys(names, "continuous")
    )
    prior = lac.NormalWishart(1.0, dict(zip(names, mean, strict=True)), np.diag(variance), 5.0)
    score = BGe.of(table, prior)
    with mp.workdps(500):
        for child, parents in FAMILIES:
            wanted = marginal(x, (child, *parents), mean, variance) - marginal(x, parents, mean, variance)
            # Of sums of hundreds, and of a rest that is 1e-8 of its column, which costs 1e-16 / 1e-16 · 1e-8.
            assert float(score.family(child, parents) - wanted) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("size", [1e160, 1e-160])
def test_squares_that_are_no_numbers_are_refused(size: float) -> None:
    with pytest.raises(lac.TableError, match="measure the column in other units"):
        lac.search({"x": size * A, "y": B})
    with pytest.raises(lac.TableError, match="measure the column in other units"):
        lac.fit(lac.dag("x -> y", kinds="continuous"), {"x": size * A, "y": B})


def test_means_that_leave_no_digits_are_refused() -> None:
    far = lac.read({"x": 1e9 + A, "y": 1e9 + B})
    prior = lac.NormalWishart(1.0, 0.0, 1.0, 4.0)
    with pytest.raises(lac.ParameterError, match="leaves no digits for what rows say"):
        BGe.of(far, prior)
    with pytest.raises(lac.ParameterError, match="digits are left for its variances"):
        lac.score(lac.dag("x -> y", kinds="continuous"), far, "exact", prior=prior)
    assert np.isfinite(lac.score(lac.dag("x -> y", kinds="continuous"), far, "exact").value)
