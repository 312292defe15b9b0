"""Multinomial logits of a class that is not seen: known by chances, by weights, or by its columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import HOLE, Table
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array, Integers
from lacunary.study.class_errors import derivatives, inverse_of, meat_of

__all__ = ["Columns", "Logit", "OneStep", "WeightedLogit", "logit_of"]

ENOUGH = 1e-11
SWEEPS = 20_000


def _chances(x: Array, beta: NDArray[Any]) -> NDArray[Any]:
    """Return the probabilities of the classes, the first the reference; (rows, classes)."""
    logits = np.concatenate([np.zeros((len(x), 1), beta.dtype), x @ beta.T], axis=1)
    raised = np.exp(logits - logits.real.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _newton(x: Array, weights: Array, beta: Array) -> Array:
    """Return a step of Newton's method for Σ weights · log chances, halved until it climbs."""
    p = _chances(x, beta)
    total = weights.sum(axis=1)
    slope = ((weights - total[:, None] * p)[:, 1:].T @ x).ravel()
    k, m = beta.shape
    bent = np.empty((k, m, k, m))
    for a in range(k):
        for b in range(k):
            share = total * (p[:, a + 1] * (a == b) - p[:, a + 1] * p[:, b + 1])
            bent[a, :, b] = x.T @ (share[:, None] * x)
    step = np.linalg.lstsq(bent.reshape(k * m, k * m), slope, rcond=None)[0].reshape(k, m)

    def value(one: Array) -> float:
        return float((weights * np.log(np.maximum(_chances(x, one), 1e-300))).sum())

    start = value(beta)
    for halving in range(40):
        other = np.asarray(beta + step / 2**halving)
        if value(other) >= start - 1e-12 * abs(start):
            return other
    return beta


@dataclass(frozen=True, eq=False)
class Logit:
    """A fitted logit: coefficients of all classes but the first, and what their errors come from.

    Attributes
    ----------
    beta
        (classes − 1, columns).
    scores
        The rows' slopes along all parameters, the coefficients first, weighted; (rows, parameters).
    information
        Minus the second derivatives of the log-likelihood; (parameters, parameters).
    """

    beta: Array
    scores: Array
    information: Array
    robust: bool = False

    def covariance(self, clusters: Any = None, strata: Any = None) -> Array:
        """Return the covariance of the coefficients: from curvature, or robust to how rows were drawn."""
        inverse = inverse_of(self.information)
        if self.robust or clusters is not None or strata is not None:
            inverse = inverse @ meat_of(self.scores, clusters, strata) @ inverse
        many = self.beta.size
        return np.asarray(inverse[:many, :many])


class WeightedLogit(Logit):
    """A logit of classes that rows have by weights, some of them perhaps negative; errors are robust."""

    @classmethod
    def fitted(cls, x: Array, weights: Array, shares: Array) -> WeightedLogit:
        """Return the coefficients that solve the weighted scores."""
        beta, whole = np.zeros((shares.shape[1] - 1, x.shape[1])), shares * weights[:, None]
        for _ in range(200):
            after = _newton(x, whole, beta)
            done = float(np.abs(after - beta).max()) < 1e-12
            beta = after
            if done:
                break
        p = _chances(x, beta)
        scores = ((whole - whole.sum(axis=1)[:, None] * p)[:, 1:, None] * x[:, None, :]).reshape(len(x), -1)
        bent = _curved(lambda b: (whole - whole.sum(axis=1)[:, None] * _chances(x, b))[:, 1:].T @ x, beta)
        return cls(beta, scores, bent, True)


def _curved(slope: Any, beta: Array) -> Array:
    """Return minus the derivative of a slope by complex steps."""
    out = -derivatives(slope, beta)
    return np.asarray((out + out.T) / 2)


def logit_of(x: Array, weights: Array, log_density: Array) -> Logit:
    """Return the logit of highest likelihood of classes that give rows these densities, by EM.

    ``log_density`` is the log-density of what is seen of each row in each class; (rows, classes).
    """
    beta, before = np.zeros((log_density.shape[1] - 1, x.shape[1])), -np.inf
    raised = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    for _ in range(SWEEPS):
        joint = _chances(x, beta) * raised
        mass = joint.sum(axis=1)
        now = float(weights @ np.log(mass))
        if now - before < ENOUGH * abs(now):
            break
        before = now
        beta = _newton(x, joint / mass[:, None] * weights[:, None], beta)

    def slope(b: NDArray[Any]) -> NDArray[Any]:
        p = _chances(x, b)
        shares = p * raised
        return np.asarray((weights[:, None] * (shares / shares.sum(axis=1, keepdims=True) - p))[:, 1:].T @ x)

    p = _chances(x, beta)
    shares = p * raised / (p * raised).sum(axis=1, keepdims=True)
    scores = ((weights[:, None] * (shares - p))[:, 1:, None] * x[:, None, :]).reshape(len(x), -1)
    return Logit(beta, scores, _curved(slope, beta))


@dataclass(eq=False)
class Columns:
    """Columns that are independent given the class, with their parameters as arrays, and an M-step."""

    codes: list[Integers]
    tables: list[Array]
    values: list[Array]
    means: list[Array]
    variances: list[Array]
    classes: int

    @classmethod
    def of(cls, network: Network, hidden: str, rows: Table) -> Columns:
        """Return the columns of rows with a network's parameters."""
        out = cls([], [], [], [], [], network.dag.schema[hidden].size)
        for i, variable in enumerate(rows.schema):
            table = np.array(network.table(variable.name))
            if variable.discrete:
                out.codes.append(rows.codes[:, i].astype(np.int64))
                out.tables.append(table)
            else:
                out.values.append(rows.reals[:, i])
                out.means.append(table[:, 0])
                out.variances.append(table[:, -1])
        return out

    def log_density(self) -> Array:
        """Return the log-density of each row in each class."""
        rows = len((self.codes or self.values)[0])
        out = np.zeros((rows, self.classes))
        for codes, table in zip(self.codes, self.tables, strict=True):
            logs = np.log(np.maximum(table, 1e-300))
            out += np.where((codes == HOLE)[:, None], 0.0, logs.T[np.maximum(codes, 0)])
        for x, mean, variance in zip(self.values, self.means, self.variances, strict=True):
            logs = -0.5 * (np.log(2 * np.pi * variance) + (x[:, None] - mean) ** 2 / variance)
            out += np.where(np.isnan(x)[:, None], 0.0, logs)
        return out

    def improve(self, shares: Array) -> None:
        """Take the parameters of highest likelihood for given shares of the classes in rows."""
        for k, codes in enumerate(self.codes):
            seen = codes != HOLE
            counts = np.zeros_like(self.tables[k].T)
            np.add.at(counts, codes[seen], shares[seen])
            self.tables[k] = (counts / counts.sum(axis=0)).T
        for k, x in enumerate(self.values):
            seen = ~np.isnan(x)
            total = shares[seen].sum(axis=0)
            self.means[k] = x[seen] @ shares[seen] / total
            apart = (x[seen, None] - self.means[k]) ** 2
            self.variances[k] = np.maximum((apart * shares[seen]).sum(axis=0) / total, 1e-12)

    def scores(self, shares: Array) -> Array:
        """Return the rows' slopes along log-odds of states, means and log-variances; (rows, parameters)."""
        parts = []
        for codes, table in zip(self.codes, self.tables, strict=True):
            size = table.shape[1]
            hot = np.where((codes == HOLE)[:, None], 0.0, np.eye(size)[np.maximum(codes, 0)])[:, : size - 1]
            seen = (codes != HOLE)[:, None, None]
            free = shares[:, :, None] * (hot[:, None, :] - seen * table[None, :, : size - 1])
            parts.append(free.reshape(len(codes), -1))
        for x, mean, variance in zip(self.values, self.means, self.variances, strict=True):
            apart = np.where(np.isnan(x)[:, None], 0.0, x[:, None] - mean)
            known = ~np.isnan(x)[:, None]
            parts.append(shares * apart / variance)
            parts.append(shares * known * 0.5 * (apart**2 / variance - 1.0))
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(shares), 0))


class OneStep(Logit):
    """Classes, their columns and the logit fitted together."""

    @classmethod
    def fitted(cls, network: Network, hidden: str, rows: Table, x: Array, weights: Array) -> OneStep:
        """Return the fit of highest likelihood near the classes found without covariates, by EM."""
        columns = Columns.of(network, hidden, rows)
        share = network.table(hidden)
        beta = np.zeros((columns.classes - 1, x.shape[1]))
        beta[:, 0] = np.log(share[1:] / share[0])
        before = -np.inf
        for _ in range(SWEEPS):
            logs = columns.log_density()
            top = logs.max(axis=1, keepdims=True)
            joint = _chances(x, beta) * np.exp(logs - top)
            mass = joint.sum(axis=1)
            now = float(weights @ (np.log(mass) + top[:, 0]))
            shares = joint / mass[:, None]
            if now - before < ENOUGH * abs(now):
                break
            before = now
            columns.improve(shares * weights[:, None])
            beta = _newton(x, shares * weights[:, None], beta)
        p = _chances(x, beta)
        first = ((shares - p)[:, 1:, None] * x[:, None, :]).reshape(len(x), -1)
        scores = np.concatenate([first, columns.scores(shares)], axis=1) * weights[:, None]
        # The outer product of scores is the information in large tables; rows of weight w count w times.
        plain = scores / np.sqrt(np.maximum(weights, 1e-300))[:, None]
        return cls(beta, scores, plain.T @ plain)
