"""Holes made at random have the share that was asked for, where it was asked for."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacunary.data.holes import _level, _rising, hide, make_holes
from lacunary.data.read import read
from lacunary.data.table import HOLE, Table
from lacunary.errors import LacunaryError, ParameterError, SchemaError, TableError

ROWS = 20_000


def mixed(rows: int = ROWS) -> Table:
    rng = np.random.default_rng(5)
    return read(
        {
            "d": rng.choice(["lo", "mid", "hi"], rows, p=[0.5, 0.3, 0.2]),
            "x": rng.integers(0, 4, rows),
            "r": rng.normal(size=rows),
        },
        states={"d": ["lo", "mid", "hi"]},
    )


def near(observed: float, share: float, cells: int) -> bool:
    """Whether a binomial share lies within five standard deviations: by chance outside once in 10^6."""
    return bool(abs(observed - share) <= 5 * np.sqrt(share * (1 - share) / cells))


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 1.0])
def test_mcar_has_its_share_and_does_not_look_at_values(share: float) -> None:
    table = mixed()
    holed = make_holes(table, share, rng=1)
    assert near(holed.holes.mean(), share, 3 * ROWS)
    for state in range(4):
        chosen = table.codes[:, 1] == state
        assert near(holed.holes[chosen, 1].mean(), share, int(chosen.sum()))
    kept = ~holed.holes
    assert np.array_equal(holed.codes[kept], table.codes[kept])
    assert np.array_equal(holed.reals[kept[:, 2], 2], table.reals[kept[:, 2], 2])
    assert not table.holes.any()


@pytest.mark.parametrize("share", [0.2, 0.7])
@pytest.mark.parametrize("driver", ["d", "r"])
def test_mar_has_its_share_and_rises_with_the_driver(share: float, driver: str) -> None:
    table = mixed()
    holed = make_holes(table, share, mechanism="mar", driver=driver, rng=2)
    place = table.schema.index(driver)
    others = [c for c in range(3) if c != place]
    assert not holed.holes[:, place].any()
    assert near(holed.holes[:, others].mean(), share, 2 * ROWS)
    if driver == "d":
        # u of a state: the share of rows below it plus half its own
        counts = np.bincount(table.codes[:, 0]) / ROWS
        level = np.cumsum(counts) - counts / 2
        expected = 2 * level * share if share <= 0.5 else 1 - 2 * (1 - level) * (1 - share)
        assert expected[2] > expected[0] + 0.1
        for state in range(3):
            chosen = table.codes[:, 0] == state
            assert near(holed.holes[chosen][:, others].mean(), expected[state], 2 * int(chosen.sum()))


@settings(deadline=None)
@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.floats(0, 1))
def test_the_probabilities_average_to_the_share_exactly(values: list[int], share: float) -> None:
    probability = _rising(_level(read({"d": values}, kinds="discrete"), "d"), share)
    assert np.all((probability >= 0) & (probability <= 1))
    assert probability.mean() == pytest.approx(share, abs=1e-12)  # rounding of a mean of at most 30 terms


def test_holes_are_made_in_the_chosen_columns_alone_and_the_same_seed_makes_the_same() -> None:
    table = mixed(500)
    one, two = (make_holes(table, 0.5, columns=["x"], rng=3) for _ in range(2))
    assert np.array_equal(one.codes, two.codes)
    assert one.holes.any(axis=0).tolist() == [False, True, False]
    assert not np.array_equal(make_holes(table, 0.5).codes, make_holes(table, 0.5).codes)  # fresh by default


def test_hide() -> None:
    table = hide(mixed(10), ["d", "r"])
    assert table.schema.hidden == ("d", "r")
    assert table.holes.all(axis=0).tolist() == [True, False, True]
    assert np.all(table.codes[:, 0] == HOLE)
    assert hide(mixed(10), "x").schema.hidden == ("x",)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"share": 1.5}, ParameterError, "between 0 and 1"),
        ({"share": np.nan}, ParameterError, "between 0 and 1"),
        ({"share": 0.5, "mechanism": "mar"}, ParameterError, "with one"),
        ({"share": 0.5, "driver": "d"}, ParameterError, "without a driver"),
        ({"share": 0.5, "mechanism": "mnar"}, ParameterError, "not 'mnar'"),
        ({"share": 0.5, "mechanism": "mar", "driver": "x"}, TableError, "x has a hole in row 2"),
        ({"share": 0.5, "mechanism": "mar", "driver": "d", "columns": ["d"]}, SchemaError, "always observed"),
        ({"share": 0.5, "columns": ["z"]}, SchemaError, "no variable 'z'"),
    ],
)
def test_bad_requests(options: dict[str, object], error: type[LacunaryError], message: str) -> None:
    table = read({"d": [0, 1], "x": [1, None]})
    with pytest.raises(error, match=message):
        make_holes(table, **options)  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="no variable 'z'"):
        hide(table, ["z"])
