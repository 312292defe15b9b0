"""Columns that are doubtful are named in a line, by every verb, and used all the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import lacunary as lac
from lacunary.data import doubts

ROWS = 40


def plain() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "a": rng.standard_normal(ROWS).round(3).tolist(),
        "b": rng.standard_normal(ROWS).round(3).tolist(),
        "c": rng.choice(["x", "y", "z"], ROWS).tolist(),
    }


def doubt(kinds: Any = None, **columns: Any) -> str:
    return lac.read({**plain(), **columns}, kinds=kinds).doubts


def test_nothing_is_said_of_plain_columns() -> None:
    assert doubt() == ""
    assert lac.house_votes().doubts == ""


@pytest.mark.parametrize(
    ("column", "what"),
    [
        (list(range(1, ROWS + 1)), "numbers the rows"),
        ([7] * ROWS, "holds one value alone"),
        ([0.25] * ROWS, "holds one value alone"),
        (["u"] * ROWS, "holds one value alone"),
        ([f"p{k}" for k in range(ROWS)], "has a state a row"),
        ([f"2024-02-{1 + k % 30:02}" for k in range(ROWS)], "holds dates"),
        ([2.0 * v + 1 for v in plain()["a"]], "nearly repeats a"),
        ([{"x": "r", "y": "s", "z": "t"}[v] for v in plain()["c"]], "nearly repeats c"),
    ],
    ids=["row numbers", "whole constant", "constant", "one label", "names", "dates", "units", "words"],
)
def test_a_doubtful_column_is_named_with_what_leaves_it_out(column: list[Any], what: str) -> None:
    said = doubt(odd=column)
    assert f"odd {what}" in said
    assert "drop=['odd']" in said
    assert "\n" not in said


def test_an_identifier_need_not_be_a_sequence() -> None:
    numbers = (np.random.default_rng(1).permutation(9000)[:ROWS] + 1000).tolist()
    assert "patient_id numbers the rows" in doubt(patient_id=numbers)
    assert doubt(weight=numbers) == ""


def test_numbers_with_three_values_may_be_states() -> None:
    said = doubt(edema=[0.0, 0.5, 1.0, 0.0] * 10, kinds={"edema": "continuous"})
    assert "edema is a number with 3 values" in said
    assert "kinds={'edema': 'discrete'}" in said
    assert "drop" not in said


def test_holes_and_few_rows_are_no_doubt() -> None:
    assert lac.read({"id": [1, 2, 3], "k": [5, 5, 5]}).doubts == ""
    repeated = [None if k % 2 else v for k, v in enumerate(plain()["a"])]
    assert "odd nearly repeats a" in doubt(odd=repeated)


def test_every_verb_says_it_and_uses_the_column() -> None:
    table = lac.read({**plain(), "id": list(range(ROWS))})
    expected = table.doubts
    assert "id numbers the rows" in expected
    found = lac.search(table)
    assert "id" in found.dag.names
    assert found.doubts == expected
    assert f"note: {expected}" in str(found)
    fitted = lac.fit("a -> id", table)
    assert "id numbers the rows" in fitted.doubts
    assert fitted.doubts in str(fitted)
    assert "id numbers" in lac.compare(["a -> id", "a; id"], table, ["bic"]).doubts
    assert lac.fit_mixture(table, components=1, structure="empty").doubts == expected
    assert expected in lac.impute(table.select(["a", "c", "id"])).notes[0]
    assert "identifier of the rows" in str(table.describe())
    chances = lac.arc_probabilities(table)
    assert chances.doubts == expected
    assert f"note: {expected}" in str(chances)
    assert lac.average_graphs(table, draws=1, burn=0).doubts == expected
    mixture = lac.fit_mixture(table, components=1, structure="empty").mixture
    for weighed in (
        lac.score(found.dag, table),
        lac.score(mixture, table),
        lac.loo(found.dag, table, draws=9),
    ):
        assert weighed.doubts == expected
        assert str(weighed).count(f"note: {expected}") == 1
    assert str(lac.sensitivity(found.dag, table, "bic")).count(f"note: {expected}") == 1


def test_classes_say_it() -> None:
    table = lac.read({**plain(), "same": ["k"] * ROWS})
    assert "same holds one value alone" in lac.classes(table, components=1, starts=1).doubts


def test_parts_say_what_the_table_says() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    columns = {"id": np.arange(60) * 7, "x": x, "again": 2.0 * x + 1.0, "same": np.full(60, 4.0)}
    table = lac.read({**columns, "part": np.repeat([1.5, 2.5, 3.5], 20)}, kinds="continuous")
    whole = lac.Partitioned([table.take(slice(20 * k, 20 * k + 20)) for k in range(3)])
    for what in ("id numbers the rows", "again nearly repeats x", "same holds one value alone"):
        assert what in table.doubts
        assert what in whole.doubts
    # Constant in every part, but not in all rows together.
    assert "part holds" not in whole.doubts
    assert "id numbers the rows" in lac.fit_mixture(whole, components=1, structure="empty").doubts
    assert lac.Partitioned([table.take(slice(0, 5))]).doubts == ""


@pytest.mark.parametrize("seed", range(12))
def test_pairs_are_ruled_out_together_as_they_are_one_by_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.choice([30, 300, 3000])), 8
    size = int(rng.integers(2, 5))
    codes = rng.integers(size, size=(rows, columns))
    numbers = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-150, 150, columns)
    for copied in range(3, columns):  # some in other words or units, a few cells wrong
        origin = int(rng.integers(copied))
        codes[:, copied] = rng.permutation(size)[codes[:, origin]]
        numbers[:, copied] = numbers[:, origin] * rng.normal() + numbers[0, origin]
        wrong = rng.choice(rows, int(rng.integers(4)), replace=False)
        codes[wrong, copied] = rng.integers(size, size=len(wrong))
        numbers[wrong, copied] *= 1.0 + rng.normal(size=len(wrong)) * rng.choice([1e-3, 1.0, 1e4])
    names = [f"{kind}{i}" for kind in "cx" for i in range(columns)]
    cells = [[f"s{k}" for k in column] for column in codes.T] + numbers.T.tolist()
    table = lac.make_holes(
        lac.read(dict(zip(names, cells, strict=True)), kinds=dict.fromkeys(names[columns:], "continuous")),
        0.2 * (seed % 2),
        rng=seed,
    )
    expected: dict[str, str] = {}
    for kind in (range(columns, 2 * columns), range(columns)):
        for i in kind:
            earlier = [k for k in kind if k < i and names[k] not in expected and doubts._same(table, k, i)]
            if earlier:
                expected[names[i]] = f"nearly repeats {names[earlier[0]]}"
    assert dict(doubts._repeated(table, list(range(2 * columns)))) == expected
