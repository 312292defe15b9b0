"""Mixed networks at complex parameters, for derivatives by complex steps.

Everything that `lacunary.infer.mixed` computes is an analytic function of the parameters, and the imaginary
part of f(θ + i·h·t)/h is its derivative along t, with nothing to cancel (h may be 1e-20). Orthogonal
decompositions are not analytic; here holes are integrated out by K = AᵀA, general inverses and determinants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunary.infer.gaussian import GaussianRows
from lacunary.infer.leaf import LeafPosed
from lacunary.infer.mixed import LOWEST, MixedRows, StandIn
from lacunary.infer.unit import LeafUnit, Unit

__all__ = ["complex_expect", "complex_log_evidence"]

LOG_2PI = float(np.log(2.0 * np.pi))

KEPT = 2**21
"""Numbers up to which a configuration's rows keep their matrices."""

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
    seen = _all_rows(prepared, vectors)
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
    seen = _all_rows(prepared, vectors)
    out = np.asarray(prepared.inner.log_evidence(_inner(prepared, vectors, seen, scales)))
    for k, mine in enumerate(seen):
        out[k] += (_outside(prepared, mine, scales) + prepared.shift)[prepared.inverse]
    return out


@dataclass(frozen=True, eq=False)
class _Part:
    """A configuration's rows at one vector.

    Attributes
    ----------
    places
        Where they stand among the sorted rows.
    z
        (1, x) with the holes' means.
    log
        Their log-densities.
    starts
        The first row of each pattern of holes that occurs.
    covariances
        For every number of holes: which of these patterns have so many, their holes, (patterns, holes), and
        the holes' covariances.
    still
        Whether parameters are real, so that many vectors have it in common.
    """

    places: NDArray[np.int64]
    z: Complex
    log: Complex
    starts: NDArray[np.int64]
    covariances: list[tuple[NDArray[np.int64], NDArray[np.int64], Complex]]
    still: bool

    @cached_property
    def squares(self) -> NDArray[np.float64] | None:
        """E[z zᵀ] of each row, flat, where parameters are real; None where that is too much to keep."""
        rows, width = self.z.shape
        if self.z.imag.any() or rows * width**2 > KEPT:
            return None
        each = self.z.real[:, :, None] * self.z.real[:, None, :]
        pattern = np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=rows))
        for patterns, holes, covariance in self.covariances:
            place = np.full(len(self.starts), -1)
            place[patterns] = np.arange(len(patterns))
            mine = np.flatnonzero(place[pattern] >= 0)
            own = place[pattern[mine]]
            each[mine[:, None, None], holes[own][:, :, None], holes[own][:, None, :]] += covariance.real[own]
        return np.asarray(each.reshape(rows, width**2))

    def moment(self, weight: NDArray[Any]) -> Complex:
        """Return Σ weight · E[z zᵀ | observed cells]; (n + 1, n + 1)."""
        if self.still and self.squares is not None:
            flat = weight.real @ self.squares + 1j * (weight.imag @ self.squares)
            return np.asarray(flat.reshape(self.z.shape[1], -1))
        moment = self.z.T @ (weight[:, None] * self.z)
        mass = np.add.reduceat(weight, self.starts) if len(self.starts) else weight
        for patterns, holes, covariance in self.covariances:
            added = mass[patterns][:, None, None] * covariance
            np.add.at(moment, (holes[:, :, None], holes[:, None, :]), added)
        return np.asarray(moment)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows of a unit at one vector, by configuration; ``log`` is (rows, columns), as `Conditioned`'s."""

    unit: Unit
    parts: list[_Part]
    log: Complex

    @classmethod
    def of(cls, unit: Unit, vector: Complex, beside: _Rows | None = None) -> _Rows:
        """Return a unit's rows, given those ``beside`` at the same real parts: few configurations differ."""
        root, constant = _roots(unit, vector)
        rows = unit.rows
        moved = np.ones(len(root), dtype=bool)
        if beside is not None:
            moved = (root.imag != 0).any(axis=(1, 2)) | (constant.imag != 0)
            if not moved.any():
                return beside
        columns, width = rows.placed(len(root))
        log = (
            np.full((len(rows), width), -np.inf, dtype=np.complex128) if beside is None else beside.log.copy()
        )
        parts = []
        for c in range(len(root)):
            if beside is not None and not moved[c]:
                parts.append(beside.parts[c])
                continue
            part = _part(
                rows, None if rows.allowed is None else rows.allowed[c], root[c], constant[c], beside is None
            )
            log[rows.order[part.places], columns[c]] = part.log
            parts.append(part)
        return cls(unit, parts, log)

    def moments(self, weights: NDArray[Any]) -> Complex:
        """Return Σ weight · E[z zᵀ | observed cells]; (configurations, n + 1, n + 1)."""
        rows = self.unit.rows
        columns, _ = rows.placed(len(self.parts))
        each = zip(self.parts, columns, strict=True)
        return np.array([part.moment(weights[rows.order[part.places], column]) for part, column in each])


def _part(
    rows: GaussianRows, chosen: NDArray[np.int64] | None, a: Complex, constant: complex, still: bool
) -> _Part:
    """Return some of the sorted rows, or all, under one density."""
    places = np.arange(len(rows)) if chosen is None else chosen
    z, extra, square = rows.sorted[places].astype(np.complex128), np.zeros(len(places), complex), a.T @ a
    edges = np.searchsorted(places, [*(p.first for p in rows.patterns), len(rows)])
    present = np.flatnonzero(np.diff(edges))
    starts, lengths = edges[present], np.diff(edges)[present]
    count = np.array([len(rows.patterns[p].holes) for p in present], dtype=np.int64)
    covariances = []
    for many in np.unique(count[count > 0]).tolist():
        mine = np.flatnonzero(count == many)
        holes = np.array([rows.patterns[p].holes for p in present[mine]])
        covariance, log = _integrated(square, holes)
        slope = -covariance @ square[holes]
        np.put_along_axis(slope, np.broadcast_to(holes[:, None, :], covariance.shape), 0.0, axis=2)
        own = np.repeat(np.arange(len(mine)), lengths[mine])
        here = np.flatnonzero(np.repeat(count == many, lengths))
        extra[here] = log[own]
        z[here[:, None], holes[own]] = np.einsum("rhn,rn->rh", slope[own], z[here])
        covariances.append((mine, holes, covariance))
    value = constant + extra - 0.5 * ((z @ a.T) ** 2).sum(axis=1)
    return _Part(places, z, value, starts, covariances, still)


def _rows(unit: Unit, vector: Complex, beside: _Either | None = None) -> _Either:
    """Return a unit's rows at one vector, given those at another with the same real parts."""
    if isinstance(unit, LeafUnit):
        conditioned = unit.rows.under(unit.forms(vector))
        return _LeafRows(conditioned, conditioned.log_evidence())
    assert not isinstance(beside, _LeafRows)
    return _Rows.of(unit, vector, beside)


def _all_rows(prepared: MixedRows, vectors: Complex) -> list[list[list[_Either]]]:
    """Return the rows of every stand-in's units at each vector."""
    units = [stand_in.units for stand_in in prepared.stand_ins]
    base = [[_rows(u, vectors[0].real.astype(np.complex128)) for u in some] for some in units]
    each = [list(zip(some, known, strict=True)) for some, known in zip(units, base, strict=True)]
    return [[[_rows(u, vector, known) for u, known in pairs] for pairs in each] for vector in vectors]


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


def _integrated(square: Complex, holes: NDArray[np.int64]) -> tuple[Complex, Complex]:
    """Return covariances of patterns of holes, and what integrating them out adds to log-densities."""
    block = square[holes[:, :, None], holes[:, None, :]]
    sign, size = np.linalg.slogdet(block)
    log = 0.5 * (holes.shape[1] * LOG_2PI - size - np.log(sign))
    return np.asarray(np.linalg.inv(block)), np.asarray(log)


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
