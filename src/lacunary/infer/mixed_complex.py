"""Mixed networks at complex parameters, for derivatives by complex steps.

Everything that `lacunary.infer.mixed` computes is an analytic function of the parameters, and the imaginary
part of f(θ + i·h·t)/h is its derivative along t, with nothing to cancel (h may be 1e-20). Orthogonal
decompositions are not analytic; here holes are integrated out by K = AᵀA, general inverses and determinants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.leaf import LeafPosed
from lacunary.infer.mixed import LOWEST, MixedRows, StandIn
from lacunary.infer.unit import LeafUnit, Unit

__all__ = ["complex_expect", "complex_log_evidence"]

LOG_2PI = float(np.log(2.0 * np.pi))

Complex = NDArray[Any]


def complex_expect(prepared: MixedRows, vectors: Complex) -> tuple[Complex, Complex]:
    """Return expected statistics and log-likelihood, as `MixedRows.expect` does, at complex parameters.

    Parameters
    ----------
    prepared
        The rows.
    vectors
        Parameters whose real parts are all the same; (vectors, size).
    """
    layout, tables = prepared.dag.layout, prepared.dag.layout.tables
    scales = prepared.see(vectors[0].real).scale
    seen = [[[_rows(u, v) for u in s.units] for s in prepared.stand_ins] for v in vectors]
    swept = prepared.inner.expect(_inner(prepared, vectors, seen, scales))
    counts, log = swept.counts, swept.log_likelihood
    statistics = np.zeros((len(vectors), layout.statistics_size), dtype=np.complex128)
    statistics[:, :tables] = counts[:, :tables]
    for k, mine in enumerate(seen):
        log[k] += prepared.weights @ (_outside(prepared, mine, scales) + prepared.shift)
        for stand_in, rows, weights in zip(
            prepared.stand_ins, mine, _weights(prepared, counts[k]), strict=True
        ):
            for unit, part in zip(stand_in.units, rows, strict=True):
                _add(unit, part.moments(stand_in.summed(unit, weights)), statistics[k])
    return statistics, log


def complex_log_evidence(prepared: MixedRows, vectors: Complex) -> Complex:
    """Return the log-density of each row's observed cells; (vectors, rows of the table)."""
    scales = prepared.see(vectors[0].real).scale
    seen = [[[_rows(u, v) for u in s.units] for s in prepared.stand_ins] for v in vectors]
    out = np.asarray(prepared.inner.log_evidence(_inner(prepared, vectors, seen, scales)))
    for k, mine in enumerate(seen):
        out[k] += (_outside(prepared, mine, scales) + prepared.shift)[prepared.inverse]
    return out


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a unit at one vector: for each configuration z with the holes' means, and their covariances.

    ``log`` is (rows, columns), as `Conditioned.log_evidence`.
    """

    unit: Unit
    places: list[NDArray[np.int64]]
    z: list[Complex]
    covariance: list[list[tuple[slice, NDArray[np.int64], Complex]]]
    log: Complex

    @classmethod
    def of(cls, unit: Unit, vector: Complex) -> _Rows:
        root, constant = _roots(unit, vector)
        rows = unit.rows
        columns, width = rows.placed(len(root))
        log = np.full((len(rows), width), -np.inf, dtype=np.complex128)
        places, filled, covariances = [], [], []
        for c, a in enumerate(root):
            chosen = None if rows.allowed is None else rows.allowed[c]
            place = np.arange(len(rows)) if chosen is None else chosen
            z = rows.sorted[place].astype(np.complex128)
            square, extra, spreads = a.T @ a, np.zeros(len(place), dtype=np.complex128), []
            for pattern in rows.patterns:
                here = slice(*np.searchsorted(place, [pattern.first, pattern.last]))
                if len(pattern.holes) and here.start < here.stop:
                    covariance, extra[here] = _integrated(square, pattern.holes)
                    slope = -covariance @ square[pattern.holes]
                    slope[:, pattern.holes] = 0.0
                    part = z[here]
                    part[:, pattern.holes] = part @ slope.T
                    spreads.append((here, pattern.holes, covariance))
            value = constant[c] + extra - 0.5 * ((z @ a.T) ** 2).sum(axis=1)
            log[rows.order[place], columns[c]] = value
            places.append(place)
            filled.append(z)
            covariances.append(spreads)
        return cls(unit, places, filled, covariances, log)

    def moments(self, weights: NDArray[Any]) -> Complex:
        """Return Σ weight · E[z zᵀ | observed cells]; (configurations, n + 1, n + 1)."""
        rows = self.unit.rows
        columns, _ = rows.placed(len(self.z))
        out = []
        for c, (place, z, spreads) in enumerate(zip(self.places, self.z, self.covariance, strict=True)):
            weight = weights[rows.order[place], columns[c]]
            moment = z.T @ (weight[:, None] * z)
            for here, holes, covariance in spreads:
                moment[np.ix_(holes, holes)] += weight[here].sum() * covariance
            out.append(moment)
        return np.array(out)


def _rows(unit: Unit, vector: Complex) -> _Either:
    """Return a unit's rows at one vector."""
    if isinstance(unit, LeafUnit):
        conditioned = unit.rows.under(unit.forms(vector))
        return _LeafRows(conditioned, conditioned.log_evidence())
    return _Rows.of(unit, vector)


@dataclass(frozen=True, eq=False)
class _LeafRows:
    """Rows of a leaf at one vector, whose own arithmetic is analytic."""

    conditioned: LeafPosed
    log: Complex

    def moments(self, weights: NDArray[Any]) -> Complex:
        """Return the statistics in each configuration."""
        return self.conditioned.moments(weights)


_Either = _Rows | _LeafRows


def _roots(unit: Unit, vector: Complex) -> tuple[Complex, Complex]:
    """Return A and g of every configuration, the density being exp(g − ½ ΣAz²)."""
    layout = unit.dag.layout
    shape = (len(unit.configurations), len(unit.families), len(unit.variables) + 1)
    root, constant = np.zeros(shape, dtype=np.complex128), np.zeros(shape[0], dtype=np.complex128)
    for k, (i, columns, j) in enumerate(zip(unit.families, unit.columns, unit.chosen, strict=True)):
        record = layout.records(vector, i)[j]
        deviation = np.sqrt(record[:, -1:])
        root[:, k, columns[:-1]] = -record[:, :-1] / deviation
        root[:, k, columns[-1]] = 1.0 / deviation[:, 0]
        constant -= 0.5 * LOG_2PI + np.log(deviation[:, 0])
    return root, constant


def _integrated(square: Complex, holes: NDArray[np.int64]) -> tuple[Complex, complex]:
    """Return the holes' covariance, and what integrating them out adds to the log-density."""
    block = square[np.ix_(holes, holes)]
    sign, size = np.linalg.slogdet(block)
    log = 0.5 * (len(holes) * LOG_2PI - size - np.log(sign))
    return np.asarray(np.linalg.inv(block)), complex(log)


def _logs(stand_in: StandIn, mine: list[_Either]) -> Complex:
    """Return the log-densities of a stand-in's rows; (rows, configurations)."""
    log = np.zeros((len(mine[0].log), *stand_in.sizes), dtype=np.complex128)
    for unit, rows in zip(stand_in.units, mine, strict=True):
        shape = [
            size if v in unit.open_core else 1
            for v, size in zip(stand_in.parents, stand_in.sizes, strict=True)
        ]
        log = log + rows.log.reshape(len(log), *shape)
    return log.reshape(len(log), prod(stand_in.sizes))


def _inner(
    prepared: MixedRows,
    vectors: Complex,
    seen: list[list[list[_Either]]],
    scales: list[NDArray[np.float64]],
) -> Complex:
    """Return the tables with those of the stand-ins behind them, for each vector."""
    out = np.ones((len(vectors), prepared.inner.dag.layout.size), dtype=np.complex128)
    out[:, : prepared.dag.layout.tables] = vectors[:, : prepared.dag.layout.tables]
    for k, mine in enumerate(seen):
        at = prepared.dag.layout.tables
        for stand_in, rows, scale in zip(prepared.stand_ins, mine, scales, strict=True):
            if stand_in.parents:
                log = _logs(stand_in, rows) - scale[:, None]
                flat = np.where(log.real < LOWEST, LOWEST, log).ravel()
                out[k, at : at + len(flat)] = np.exp(np.where(flat.real > 0.0, 1j * flat.imag, flat))
                at += len(flat)
    return out


def _outside(prepared: MixedRows, mine: list[list[_Either]], scales: list[NDArray[np.float64]]) -> Complex:
    """Return what the engine was not told of each row's log-density; (distinct rows,)."""
    out = np.zeros(len(prepared.codes), dtype=np.complex128)
    for stand_in, rows, scale in zip(prepared.stand_ins, mine, scales, strict=True):
        out += scale if stand_in.parents else _logs(stand_in, rows)[:, 0]
    return out


def _weights(prepared: MixedRows, counts: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield for each stand-in the weight of every row and configuration; (rows, *sizes)."""
    at, rows = prepared.dag.layout.tables, len(prepared.codes)
    for stand_in in prepared.stand_ins:
        size = rows * prod(stand_in.sizes) if stand_in.parents else 0
        yield counts[at : at + size].reshape(rows, *stand_in.sizes) if size else prepared.weights
        at += size


def _add(unit: Unit, moments: Complex, statistics: Complex) -> None:
    """Add each family's part of E[Σ z zᵀ], (configurations, n + 1, n + 1), to its places."""
    if isinstance(unit, LeafUnit):
        unit.add_moments(moments, statistics)
        return
    for i, columns, j in zip(unit.families, unit.columns, unit.chosen, strict=True):
        np.add.at(unit.dag.layout.moments(statistics, i), j, moments[:, columns[:, None], columns])
