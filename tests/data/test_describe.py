"""What a description says, and that it goes into JSON."""

import json

import numpy as np

from lacunary.data.read import read


def test_a_description_counts_and_prints() -> None:
    table = read(
        {
            "x": ["a", "b", None, "b", None],
            "r": [0.5, 2.5, None, 2.5, None],
            "y": [1, 1, 1, 1, None],
        },
        weights=[1, 2, 1, 2, 1],
    )
    description = table.describe()
    told = json.loads(json.dumps(description.to_dict()))
    assert (told["rows"], told["distinct"], told["size"]) == (5, 4, 7)
    assert told["holes"] == 5 / 15
    assert [v["holes"] for v in told["variables"]] == [0.4, 0.4, 0.2]
    assert told["variables"][0]["states"] == ["a", "b"]
    assert told["variables"][1]["range"] == [0.5, 2.5]
    assert (
        told["variables"][1]["mean"] == (0.5 + 2 * 2.5 + 2 * 2.5) / 5
    )  # by weight; exact in binary but for the /5
    assert told["patterns"][0] == {"holes": [], "rows": 3}
    assert sorted(p["holes"] for p in told["patterns"][1:]) == [["x", "r"], ["x", "r", "y"]]
    assert [p["rows"] for p in told["patterns"][1:]] == [1, 1]
    text = str(description)
    assert text == repr(description)
    assert text.startswith("5 rows (4 distinct), N = 7 by weight, 3 variables, 33.3% holes\n")
    assert "x         discrete    40.0%  a, b\n" in text
    assert "r         continuous  40.0%  0.5 to 2.5, mean 2.1\n" in text
    assert "        3 rows: no holes\n" in text
    assert text.endswith("y: whole numbers, taken as discrete with 1 state")


def test_long_lists_are_cut_and_rare_patterns_counted() -> None:
    rng = np.random.default_rng(0)
    values = np.where(rng.random((200, 8)) < 0.5, np.nan, rng.integers(0, 2, (200, 8)))
    description = read(values).describe()
    assert len(description.patterns) == 10
    assert description.pattern_count == len(np.unique(np.isnan(values), axis=0))
    assert f"and {description.pattern_count - 10} more" in str(description)
    many = read({"x": [f"state {k}" for k in range(50)]}).describe()
    assert "… (50 in all)" in str(many)
    assert max(map(len, str(many).splitlines())) < 130
