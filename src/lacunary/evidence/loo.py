"""What a model would say of rows it has not seen: PSIS-LOO and WAIC, from log-densities by row and draw."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lacunary.budget import budgeted, reserve
from lacunary.data.source import row_weights
from lacunary.data.table import HOLE
from lacunary.errors import NoEstimateError, ParameterError, TableError, TooWideError
from lacunary.evidence.chains import FEWEST, check_positive
from lacunary.evidence.diagnostics import lone_rows, said_rhat, sticky_note
from lacunary.evidence.estimate import INTERRUPTED
from lacunary.evidence.gibbs import gibbs
from lacunary.evidence.powered import powered
from lacunary.evidence.problem import Problem, Tell
from lacunary.evidence.score import pose
from lacunary.infer.belief import Prior
from lacunary.infer.completions import check_whole
from lacunary.learn.fit import Fit
from lacunary.maths.arrays import Array
from lacunary.maths.mixing import AGREE, LEAST, effective_size, split_rhat
from lacunary.maths.psis import loo_densities, waic_densities
from lacunary.model.dag import Dag

__all__ = ["Loo", "loo"]

GOOD = 0.7
"""k̂ up to which smoothed weights can be trusted (Vehtari et al. 2024); less with few draws."""

AT_ONCE = 64
"""Draws whose log-densities are worked out together."""


@dataclass(frozen=True, eq=False)
class Loo:
    """How well a model predicts rows that it has not seen; in nats, higher is better.

    It is no estimate of the evidence: priors hardly count in it, and it does not find the true model as
    rows grow.

    Attributes
    ----------
    by_row
        log p(row | all other rows), estimated by PSIS; (rows,).
    pareto_k
        Shape of each row's weights: above 0.7 its density cannot be trusted; (rows,).
    waic_by_row
        The same by WAIC; (rows,).
    lppd
        log p(row | all rows), the row included; (rows,).
    weights
        How often each row counts; (rows,).
    log_density
        log p(row | θ) at each draw of θ; (chains, draws, rows).
    doubts
        What is doubtful about the columns, in a line; see `Table.doubts`.
    interrupted
        Whether it was broken off, so that there are fewer draws than were asked for.
    unseen
        Why draws cannot show what a row would be without it, whatever the weights look like; nothing if
        they can.
    """

    by_row: Array
    pareto_k: Array
    waic_by_row: Array
    lppd: Array
    weights: Array
    log_density: Array
    doubts: str = ""
    unseen: str = ""
    interrupted: bool = False

    @property
    def elpd(self) -> float:
        """The expected log-density of as many new rows, by PSIS-LOO."""
        return float(self.weights @ self.by_row)

    @property
    def stderr(self) -> float:
        """Its standard error, as rows differ."""
        return _error(self.by_row, self.weights)

    @property
    def parameters(self) -> float:
        """How many parameters the model effectively fits: what the rows gain by having been seen."""
        return float(self.weights @ (self.lppd - self.by_row))

    @property
    def waic(self) -> float:
        """The expected log-density of as many new rows, by WAIC."""
        return float(self.weights @ self.waic_by_row)

    @property
    def waic_stderr(self) -> float:
        """Its standard error."""
        return _error(self.waic_by_row, self.weights)

    @cached_property
    def good(self) -> float:
        """k̂ up to which a row's density can be trusted: 0.7, or 1 − 1/log₁₀ of few draws."""
        draws = self.log_density.shape[0] * self.log_density.shape[1]
        return min(1.0 - 1.0 / float(np.log10(draws)), GOOD)

    @cached_property
    def rhat(self) -> float:
        """Split R̂ of the log-likelihood: near one where chains agree."""
        if self.log_density.shape[1] < LEAST:
            return 1.0
        return float(split_rhat((self.log_density @ self.weights)[..., None]).max(initial=1.0))

    @property
    def trustworthy(self) -> bool:
        """Whether chains agree, all rows' weights have a shape to be trusted, and no draws are missing."""
        return (
            not (self.unseen or self.interrupted)
            and not (self.pareto_k > self.good).any()
            and self.rhat <= AGREE
        )

    def _warnings(self) -> str:
        """Say what is not to be trusted, a line for each; nothing if all is."""
        bad, out = int((self.pareto_k > self.good).sum()), ""
        if not self.weights.sum() > 1.0:
            out += "\none row alone does not tell how rows differ, so that there is no error"
        if self.interrupted:
            chains, draws = self.log_density.shape[:2]
            out += f"\n{INTERRUPTED}: {draws} draws of {chains} chain{'s' * (chains > 1)}"
        if bad:
            out += (
                f"\n{bad} of {len(self.by_row)} rows have k̂ above {self.good:.2g}: their densities, and the "
                "sum, are not to be trusted; take more draws, or compare evidences"
            )
        if self.unseen:
            out += f"\n{self.unseen}"
        if not self.rhat <= AGREE:
            out += (
                f"\nchains did not mix ({said_rhat(self.rhat)}), so that modes count as often as chains "
                "ended in them; take more draws, or compare evidences"
            )
        return out

    def difference(self, other: Loo) -> tuple[float, float]:
        """Return how much better this model predicts the same rows than another, and its standard error."""
        if len(other.by_row) != len(self.by_row):
            raise ParameterError(
                f"the models were asked about different rows: {len(self.by_row)} and {len(other.by_row)}"
            )
        apart = self.by_row - other.by_row
        return float(self.weights @ apart), _error(apart, self.weights)

    def to_arviz(self) -> Any:
        """Return the log-densities as an ArviZ `InferenceData`, for its ``loo``, ``waic`` and ``compare``."""
        try:
            import arviz  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise ParameterError("this needs ArviZ: pip install 'lacunary[arviz]'") from None
        height = {"log_likelihood": self.log_density @ self.weights}  # whose mixing `arviz.loo` asks for
        return arviz.from_dict(posterior=height, log_likelihood={"rows": self.log_density})

    def _said(self, value: float, error: float) -> str:
        """Say a sum over rows with its error, which more than one row tells."""
        return f"{value:z.2f} ± {error:.2g}" if self.weights.sum() > 1.0 else f"{value:z.2f}"

    def __str__(self) -> str:
        return (
            f"expected log-density of new rows, in nats, higher is better (no estimate of the evidence)\n"
            f"PSIS-LOO  {self._said(self.elpd, self.stderr)}, effective parameters {self.parameters:z.1f}\n"
            f"WAIC      {self._said(self.waic, self.waic_stderr)}, effective parameters "
            f"{float(self.weights @ (self.lppd - self.waic_by_row)):z.1f}{self._warnings()}"
            + (f"\nnote: {self.doubts}" if self.doubts else "")
        )

    __repr__ = __str__


@budgeted
def loo(
    model: Dag | Fit | str,
    table: Any,
    *,
    prior: Prior | None = None,
    draws: int = 500,
    burn: int = 500,
    chains: int = 4,
    watch: Tell | None = None,
    rng: int | np.random.Generator = 0,
) -> Loo:
    """Return how well a model predicts each row given all others, by PSIS-LOO and WAIC.

    Parameters
    ----------
    model, table, prior, rng
        As in `lacunary.score`.
    draws, burn, chains
        Draws of the parameters from their posterior that a chain keeps, steps before the first, and chains.
    watch
        Called now and then with what is being done and how much of it is done, between 0 and 1 or None.

    Notes
    -----
    Interrupted, it returns what the draws say that are there by then, from eight of a chain on, and is
    not to be trusted.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> two, one = (lac.loo(lac.naive_bayes(votes, "bloc", k), votes, draws=100) for k in (2, 1))
    >>> better, error = two.difference(one)
    >>> bool(better > 10 * error)
    True
    """
    check_positive(draws=draws, chains=chains)
    problem = pose(model, table, prior=prior, watch=watch, rng=rng, verb="loo")
    _check(problem)
    _check_room(problem, draws * chains)
    problem.say("draws of the parameters from their posterior")
    theta = _drawn(problem, draws, burn, chains)
    logs = _densities(problem, theta)
    doubts = str(getattr(problem.table, "doubts", ""))
    found = loo_of(logs, row_weights(problem.table))
    interrupted = logs.shape[:2] != (chains, draws)
    return replace(found, doubts=doubts, unseen=_unseen(problem), interrupted=interrupted)


def _densities(problem: Problem, theta: Array) -> Array:
    """Return log p(row | θ); (chains, draws, rows). Interrupted, of the first draws of every chain."""
    chains, draws, size = theta.shape
    flat, parts = theta.swapaxes(0, 1).reshape(-1, size), list[Array]()
    try:
        for k in range(0, len(flat), AT_ONCE):
            problem.say("log-densities by row and draw", k / len(flat))
            parts.append(problem.prepared.log_evidence(flat[k : k + AT_ONCE]))
    except KeyboardInterrupt:
        if sum(map(len, parts)) < min(FEWEST, draws) * chains:
            raise
    logs = np.concatenate(parts)
    whole = len(logs) // chains
    return logs[: whole * chains].reshape(whole, chains, -1).swapaxes(0, 1)


def _unseen(problem: Problem) -> str:
    """Say why no draw of the parameters shows what rows would be without one of them; nothing if some do."""
    lone = lone_rows(problem)
    if lone > 0:
        return (
            f"{lone:g} of {problem.size:g} rows are alone in a configuration of parents where pseudo-counts "
            "are next to nothing: no draw shows what they would be without themselves, and the sums are not "
            "to be trusted; take larger pseudo-counts, or compare evidences"
        )
    return sticky_note(problem)


def loo_of(log_density: Array, weights: Array) -> Loo:
    """Return what log-densities by chain, draw and row say; (chains, draws, rows)."""
    flat = log_density.reshape(-1, log_density.shape[-1])
    efficiency = float(
        np.mean(effective_size(np.exp(log_density - log_density.max(axis=(0, 1))))) / len(flat)
    )
    by_row, shapes = loo_densities(flat, min(efficiency, 1.0))
    waic, spread = waic_densities(flat)
    return Loo(by_row, shapes, waic, waic + spread, weights, log_density)


def _drawn(problem: Problem, draws: int, burn: int, chains: int) -> Array:
    """Return parameters from the posterior, for standardised columns; (chains, draws, size).

    Interrupted, there are fewer chains, or draws.
    """
    rng = np.random.default_rng(problem.rng)
    if problem.dag.implied or problem.fixed:
        kept = powered(problem, 1.0, chains=chains, draws=4 * draws, burn=4 * burn, rng=rng, keep=True)
        return kept.theta[:, ::4][:, :draws]
    return gibbs(problem, draws, burn=burn, chains=chains, rng=rng, partly=True)


def _error(by_row: Array, weights: Array) -> float:
    """Return √(N · variance) of a sum over rows."""
    total = weights.sum()
    mean = weights @ by_row / total
    return float(np.sqrt(total * (weights @ (by_row - mean) ** 2) / max(total - 1.0, 1.0)))


def _check(problem: Problem) -> None:
    """Refuse what no draws can be had of, with what can be done about it."""
    if not problem.table.size > 0:
        what = "all rows have weight zero" if len(problem.table) else "there are no rows"
        raise TableError(f"{what}, so that none can be left out and foretold from the others")
    if problem.dag.implied and problem.dag.continuous:
        i, family = problem.dag.implied[0]
        raise NoEstimateError(
            f"'loo' draws weights of {family.name} families, as that of {problem.dag.names[i]}, in discrete "
            "networks only; give it a table instead, or leave the continuous columns out"
        )
    if not (problem.dag.implied or problem.fixed):
        codes, reals, weights = problem.rows("leaving rows out")
        discrete = np.array(problem.dag.schema.sizes) > 0
        hollow = (codes[:, discrete] == HOLE).any(axis=1)
        if not discrete.all():
            hollow |= np.isnan(reals[:, ~discrete]).any(axis=1)
        check_whole(weights[hollow], "give such rows whole weights, or leave them out")


def _check_room(problem: Problem, draws: int) -> None:
    needed = 8.0 * draws * len(problem.table)
    what = f"log-densities of {len(problem.table)} rows at {draws} draws"
    reserve(needed, what, "take fewer draws", TooWideError)
