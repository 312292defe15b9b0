"""Tables: distinct rows, recoding, checks."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lacunary.data.schema import Label, Schema, Variable
from lacunary.data.table import HOLE, Table, positions, unique_rows
from lacunary.errors import SchemaError, StateError, TableError


def discrete(sizes: list[int]) -> Schema:
    return Schema(tuple(Variable(f"x{i}", tuple(range(size))) for i, size in enumerate(sizes)))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Small tables of discrete (1 to 300 states) and continuous columns, with holes, repeats and weights."""
    sizes = draw(st.lists(st.sampled_from([0, 1, 2, 3, 300]), min_size=1, max_size=40))
    rows = draw(st.integers(0, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    codes = np.array([rng.integers(HOLE, size, rows) if size else np.full(rows, HOLE) for size in sizes]).T
    reals = rng.choice([np.nan, -1.5, 0.0, 2.0], (rows, len(sizes)))
    repeat = rng.integers(0, max(rows, 1), rows)
    variables = [
        Variable(f"x{i}", tuple(range(size)), "discrete" if size else "continuous")
        for i, size in enumerate(sizes)
    ]
    return Table(
        Schema(tuple(variables)),
        codes.reshape(rows, len(sizes))[repeat].astype(np.int16),
        reals[repeat] if 0 in sizes else np.empty((0, 0)),
        rng.integers(0, 5, rows).astype(np.float64),
    )


def as_tuples(table: Table) -> list[tuple[object, ...]]:
    """Return the rows as tuples in which holes are equal to each other."""
    return [
        tuple(
            None if hole else (code if v.discrete else table.reals[row, c])
            for c, (v, code, hole) in enumerate(
                zip(table.schema, table.codes[row], table.holes[row], strict=True)
            )
        )
        for row in range(len(table))
    ]


@settings(deadline=None)
@given(tables())
def test_distinct_rows_are_each_there_once_and_lose_nothing(table: Table) -> None:
    rows, distinct = as_tuples(table), table.distinct
    assert len(distinct.first) == len(set(rows))
    assert [rows[distinct.first[k]] for k in distinct.inverse] == rows
    for k, first in enumerate(distinct.first):
        alike = [row for row, which in enumerate(distinct.inverse) if which == k]
        assert first == min(alike)
        assert distinct.weights[k] == table.weights[alike].sum()  # small integers add without rounding


def test_a_million_rows_of_ten_binary_variables_are_at_most_59049() -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(HOLE, 2, (10**6, 10), dtype=np.int8)
    table = Table(discrete([2] * 10), codes, weights=rng.integers(1, 4, 10**6).astype(np.float64))
    start = time.process_time()
    distinct = table.distinct
    assert time.process_time() - start < 2  # about 0.1 s: linear in the rows; room for a busy machine
    expected = len(np.unique((codes.astype(np.int64) + 1) @ 3 ** np.arange(10)))
    assert len(distinct.first) == expected <= 3**10
    assert np.array_equal(codes[distinct.first][distinct.inverse], codes)
    assert distinct.weights.sum() == table.size  # integers below 2^53


def test_wide_rows_do_not_fit_one_integer_and_are_still_told_apart() -> None:
    rng = np.random.default_rng(1)
    once = np.unique(rng.integers(HOLE, 5, (500, 80), dtype=np.int8), axis=0)
    once = np.vstack([once, once[:20], once[:20]])
    once[-40:-20, 79] = (once[-40:-20, 79] + 2) % 5  # these differ from others in the last column alone
    once[-20:, 0] = (once[-20:, 0] + 2) % 5  # and these in the first
    codes = once[rng.permutation(np.repeat(np.arange(len(once)), 3))]
    distinct = Table(discrete([5] * 80), codes).distinct
    assert len(distinct.first) == len(np.unique(codes, axis=0))
    assert np.array_equal(codes[distinct.first][distinct.inverse], codes)


@pytest.mark.parametrize("states", [2, 40])
@pytest.mark.parametrize("columns", [3, 45, 140])
def test_different_rows_come_in_their_own_order_and_by_their_first_row(states: int, columns: int) -> None:
    rng = np.random.default_rng(columns)
    codes = rng.integers(HOLE, states, (60, columns), dtype=np.int8)[rng.integers(60, size=400)]
    codes[:, rng.permutation(columns)[: columns - 2]] = codes[0, 0]  # most are alike but in two columns
    first, inverse = unique_rows(codes, [states] * columns, np.empty((400, 0)))
    once, index, back = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    assert np.array_equal(codes[first], once)
    assert np.array_equal(first, index)
    assert np.array_equal(inverse, back.ravel())


def test_rows_without_columns_are_all_alike() -> None:
    first, inverse = unique_rows(np.empty((3, 0), dtype=np.int8), (), np.empty((3, 0)))
    assert (first.tolist(), inverse.tolist()) == ([0], [0, 0, 0])


@pytest.mark.parametrize(
    ("states", "label", "place"),
    [
        (("a", "b"), "b", 1),
        (("0", "1"), 1, 1),  # a network file writes its states as text
        ((0, 1), "1", 1),
        ((0, 1), 1.0, 1),
        ((False, True), True, 1),
        (("false", "true"), True, 1),
        (("False", "True"), True, 1),
        (("true", "false"), "True", HOLE),
        (("a", "b"), "c", HOLE),
    ],
)
def test_a_label_is_found_by_value_and_then_by_spelling(
    states: tuple[Label, ...], label: Label, place: int
) -> None:
    assert positions([label], Variable("x", states)).tolist() == [place]


def test_align_reorders_columns_and_states_and_adds_hidden_ones() -> None:
    table = Table(
        Schema((Variable("a", ("n", "y")), Variable("b", (0, 1, 2)), Variable("c", ("u",)))),
        np.array([[0, 2, 0], [1, HOLE, 0]], dtype=np.int8),
        weights=np.array([2.0, 3.0]),
        library="polars",
    )
    model = Schema(
        (Variable("h", (0, 1), hidden=True), Variable("b", ("2", "0")), Variable("a", ("y", "n", "m")))
    )
    aligned = table.align(model)
    assert aligned.codes.tolist() == [[HOLE, 0, 1], [HOLE, HOLE, 0]]
    assert aligned.weights.tolist() == [2.0, 3.0]
    assert aligned.library == "polars"


def test_align_names_what_does_not_fit() -> None:
    table = Table(Schema((Variable("a", ("n", "y")),)), np.array([[HOLE], [1]], dtype=np.int8))
    with pytest.raises(StateError, match="a, row 2: there is no state 'y'; the states are 'n', 'm'"):
        table.align(Schema((Variable("a", ("n", "m")),)))
    with pytest.raises(SchemaError, match="'b' is not a column"):
        table.align(Schema((Variable("b", ("n", "m")),)))
    with pytest.raises(SchemaError, match="a is continuous in the model but discrete"):
        table.align(Schema((Variable("a", kind="continuous"),)))


def test_a_table_refuses_what_cannot_be() -> None:
    schema = Schema((Variable("a", (0, 1)), Variable("r", kind="continuous")))
    codes = np.array([[0, HOLE]], dtype=np.int8)
    with pytest.raises(TableError, match="a: a code lies outside"):
        Table(schema, codes + np.int8(2))
    with pytest.raises(TableError, match="r, row 1: infinite"):
        Table(schema, codes, np.array([[np.nan, np.inf]]))
    with pytest.raises(TableError, match="do not fit"):
        Table(schema, codes, np.zeros((2, 2)))
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(TableError, match="row 1"):
            Table(schema, codes, weights=np.array([bad]))
    with pytest.raises(TableError, match="need 1 weights"):
        Table(schema, codes, weights=np.ones(2))
    with pytest.raises(ValueError, match="read-only"):
        Table(schema, codes).codes[0, 0] = 1


@pytest.mark.parametrize("row", [0, 2500, 4995, 4999])
@pytest.mark.parametrize(("column", "code"), [(0, 2), (1, 3), (2, -2)])
def test_a_code_that_no_state_has_is_found_in_any_row(row: int, column: int, code: int) -> None:
    codes = np.tile(np.array([1, 2, 0], dtype=np.int8), (5000, 1))
    Table(discrete([2, 3, 1]), codes.copy())
    codes[row, column] = code
    for given_ in (codes, np.asfortranarray(codes)):
        with pytest.raises(TableError, match=f"^x{column}: a code lies outside"):
            Table(discrete([2, 3, 1]), given_)
