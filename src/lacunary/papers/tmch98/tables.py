"""The tables of TMCH98, what it printed, and its data: digits, vehicles, a sample of three components."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

import lacunary as lac
from lacunary.papers import seed_of

TABLE_1 = {
    "learn": (
        *((5, 1812), (7, 2910), (6, 1816), (4, 1344), (7, 2115)),
        *((9, 2702), (9, 2712), (9, 3168), (6, 1868), (8, 2955)),
    ),
    "complete": tuple((k, 2145 * k) for k in (2, 2, 1, 1, 2, 1, 2, 2, 2, 2)),
    "empty": tuple((k, 129 * k) for k in (8, 5, 6, 6, 6, 6, 5, 4, 5, 5)),
}
"""Components and parameters of each digit's mixture, 0 to 9."""

TABLE_2 = {
    93: (2, 1.00, (None, 4, 0)),
    186: (2, 1.00, (None, 2, 0)),
    375: (3, 1.00, (1, 1, 0)),
    750: (5, 0.98, (1, 1, 0)),
    1500: (3, 1.00, (0, 3, 0)),
    3000: (5, 0.99, (1, 1, 0)),
}
"""By rows: components, weight of the three largest, arc differences of COMP1 to COMP3."""

HOURS = {"learn": 6.0, "complete": 1.5, "empty": 1.9}
"""To learn one digit's mixtures on a P6 of 200 MHz."""

YEARS = 6.0
"""That simple search-and-score was reckoned to take."""


Array = NDArray[np.float64]

SCHEDULES = {name: f"({name} Ec S* M)*" for name in ("(EM)^1", "(EM)^10", "(EM)*")}
"""Section 5: EM between two searches for one step, for ten, or to convergence."""

FEW = 4
"""Components of digit 7's mixtures where schedules are compared."""

COMPARED = (375, 1500)
"""Rows of section 7's tables where schedules are compared."""

FOLDER = Path(__file__).parent / "data"

Kind = Literal["learn", "complete", "empty"]

KINDS: dict[Kind, str] = {"learn": "MDAG/n", "complete": "MFULL/n", "empty": "MDIAG/n"}
"""Classes of structures, and what TMCH98 calls the mixtures."""

PIXELS = 64

TRAIN = 1100
"""Images of each digit that are learned from; 400 are left."""

VEHICLES = ("bus", "saab", "van")
"""Scored in Figure 5; the Opel's range serves as the belief about noise."""

SIZES = (93, 186, 375, 750, 1500, 3000)
"""Rows of section 7, each half of the next."""

Pair = Literal["colliders", "trees"]

ARCS: dict[Pair, tuple[tuple[tuple[str, str], ...], ...]] = {
    "colliders": (
        (("x1", "x2"), ("x1", "x3"), ("x2", "x4"), ("x3", "x4"), ("x4", "x5")),
        (("x1", "x3"), ("x2", "x3"), ("x3", "x4"), ("x2", "x5")),
    ),
    "trees": (
        (("x1", "x2"), ("x2", "x3"), ("x3", "x4"), ("x4", "x5")),
        (("x1", "x2"), ("x1", "x3"), ("x1", "x4"), ("x1", "x5")),
    ),
}
"""Structures of COMP1 and COMP3, and of COMP2: ours, as Figure 6 is not in the text.

The first pair is what section 7 is redone with; the second, a chain and a star, is easier to climb to.
"""

MEANS = (0.0, 0.0, 5.0)


def belief(about: float | Mapping[str, float] = 64.0) -> lac.NormalWishart:
    """Return TMCH98's prior: ν = 2, α = ν + variables, τ = I; μ is 64 for grey values (section 6.1)."""
    return lac.NormalWishart(nu=2.0, means=about, covariance=0.5)  # τ is ν times the covariance


def digits(digit: int, train: int = TRAIN, pixels: int = PIXELS) -> tuple[lac.Table, lac.Table]:
    """Return images of one digit to learn from, and those to test on; the first so many pixels of them."""
    names = [f"p{row}{column}" for row in range(8) for column in range(8)][:pixels]
    images = _images()[digit, :, :pixels]
    return _table(images[:train], names), _table(images[TRAIN:], names)


def vehicles(kind: str, split: int) -> tuple[lac.Table, lac.Table]:
    """Return 60 % of the vehicles of a kind to learn from and 40 % to test on, at random."""
    values, names = _silhouettes(kind)
    order = np.random.default_rng(seed_of("tmch98", "vehicle", kind, split)).permutation(len(values))
    many = round(0.6 * len(values))
    return _table(values[order[:many]], names), _table(values[order[many:]], names)


def opel() -> lac.Pareto:
    """Return the belief about the bounds of noise: worth two rows, on the Opel's range (section 6.2)."""
    values, _ = _silhouettes("opel")
    return lac.Pareto(np.full(values.shape[1], 2.0), values.min(axis=0), values.max(axis=0))


def opel_means() -> dict[str, float]:
    """Return the mean of each feature among the Opels."""
    values, names = _silhouettes("opel")
    return dict(zip(names, values.mean(axis=0).tolist(), strict=True))


def gold(component: int, pair: Pair = "colliders") -> lac.Dag:
    """Return the structure of COMP1, 2 or 3, counted from zero."""
    schema = lac.Schema(tuple(lac.Variable(f"x{i}", kind="continuous") for i in range(1, 6)))
    return lac.Dag.from_arcs(schema, ARCS[pair][component == 1])


def labelled(rows: int, seed: int, pair: Pair = "colliders") -> tuple[lac.Table, NDArray[np.int64]]:
    """Return rows drawn evenly from the three components, shuffled, and which each came from.

    All coefficients and conditional variances are one; unconditional means 0, 0 and 5. A smaller table is the
    beginning of a larger one.
    """
    random = np.random.default_rng(seed_of("tmch98", "gold", seed))
    parts = [_sampled(gold(c, pair), MEANS[c], SIZES[-1] // 3, random) for c in range(3)]
    came = np.repeat(np.arange(3), SIZES[-1] // 3)
    order = random.permutation(SIZES[-1])[:rows]
    return _table(np.vstack(parts)[order], [f"x{i}" for i in range(1, 6)]), came[order]


def _sampled(dag: lac.Dag, mean: float, rows: int, random: np.random.Generator) -> Array:
    values = random.standard_normal((rows, 5))
    for child, parents in enumerate(dag.parent_indices):
        # Parents come before their children in all structures.
        values[:, child] += values[:, list(parents)].sum(axis=1)
    return values + mean


@cache
def _images() -> NDArray[np.uint8]:
    with np.load(FOLDER / "digits.npz", allow_pickle=False) as kept:
        return np.asarray(kept["pixels"])


@cache
def _silhouettes(kind: str) -> tuple[Array, tuple[str, ...]]:
    lines = [line.split(",") for line in (FOLDER / "vehicle.csv").read_text().splitlines()]
    values = [[float(cell) for cell in line[:-1]] for line in lines[1:] if line[-1] == kind]
    return np.array(values), tuple(lines[0][:-1])


def _table(values: Array | NDArray[np.uint8], names: list[str] | tuple[str, ...]) -> lac.Table:
    schema = lac.Schema(tuple(lac.Variable(name, kind="continuous") for name in names))
    codes = np.full(values.shape, -1, dtype=np.int8)
    return lac.Table(schema, codes, values.astype(np.float64))
