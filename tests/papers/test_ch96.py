from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from lacunary.cli import app
from lacunary.papers.ch96.answers import _has_two
from lacunary.papers.ch96.curves import (
    FIGURES,
    PRINTED,
    ROWS,
    TABLE_2,
    Curve,
    Setting,
    chosen,
    delta,
    mean_delta,
)
from lacunary.papers.ch96.work import free, table_of
from lacunary.papers.outcome import claims_of


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    out = tmp_path_factory.mktemp("ch96")
    result = CliRunner().invoke(app, ["reproduce", "ch96", "--size", "tiny", "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    for name in ("index.html", "evidence.svg", "peaks.png", "table-1.txt", "curves.csv", "section-5.csv"):
        assert (Path(out) / "ch96" / name).stat().st_size > 0
    [record] = json.loads(result.stdout)
    assert record["done"] == record["units"]
    verdicts: dict[str, str] = record["verdicts"]
    return verdicts


def test_the_small_size_answers_what_it_can(told: dict[str, str]) -> None:
    assert told["dimension"] == "reproduced"
    assert told["refusals"] == "answered"
    assert told["closeness"] == "answered"
    assert told["table-1-5-bic"] == "open"


def test_ten_settings_in_twelve_rows() -> None:
    assert len(ROWS) == len(PRINTED) == 12
    assert len(set(ROWS)) == 10
    assert all(len(panels) == 4 for panels in FIGURES.values())
    printed = {claim.id: claim.printed for claim in claims_of("ch96")[1]}
    for number, row in enumerate(PRINTED, start=1):
        for score, (mean, _) in zip(("cheeseman-stutz", "mled", "draper", "bic"), row, strict=True):
            assert printed[f"table-1-{number}-{score}"] == mean


def test_table_2_has_the_parameters_of_its_models() -> None:
    """A class's share, and a chance for each of 64 features: c − 1 + 64 c."""
    assert [row[0] for row in TABLE_2] == [65 * c - 1 for c in range(26, 37)]
    assert free(8, 3) == {"rank": 26, "parameters": 26, "doubt": 0.0}


def curve(values: dict[str, list[float]], model: int = 0, data: int = 0) -> Curve:
    ks = range(2, 2 + len(values["laplace"]))
    of = {k: {"scores": {s: v[i] for s, v in values.items()}} for i, k in enumerate(ks)}
    return Curve(Setting(8, 4, 400), model, data, 0.01, of)


def test_the_error_of_a_choice() -> None:
    one = curve({"laplace": [1.0, 3.0, 2.0, 0.0], "bic": [5.0, 4.0, 3.0, 2.0]})
    two = curve({"laplace": [1.0, 2.0, 3.0, 0.0], "bic": [5.0, 4.0, 3.0, 2.0]}, data=1)
    assert chosen(one.of("laplace")) == 3
    assert (delta(one, "bic"), delta(two, "bic")) == (-1, -2)
    mean, spread, error = mean_delta([one, two], "bic")
    # s.d. of −1 and −2 is 1/√2, and the mean of two has an error of 1/2
    assert mean == -1.5
    assert spread == pytest.approx(2**-0.5)
    assert error == pytest.approx(0.5)


def test_two_peaks() -> None:
    rising = {k: float(k) for k in range(8, 49)}
    assert not _has_two(rising, 32)
    assert _has_two(rising | {16: 100.0, 32: 200.0}, 32)
    assert not _has_two(rising | {32: 200.0}, 32)


def test_data_of_one_model_differ_and_repeat() -> None:
    network, table = table_of(8, 4, 50, 0, 0)
    again, same = table_of(8, 4, 50, 0, 0)
    other, more = table_of(8, 4, 50, 0, 1)
    assert (network.theta == again.theta).all()
    assert (network.theta == other.theta).all()
    assert (table.codes == same.codes).all()
    assert (table.codes != more.codes).any()
    assert not any(variable.hidden for variable in table.schema)


def test_equal_shares() -> None:
    network, _ = table_of(8, 4, 5, 0, 0, equal=True)
    assert network.query("C").probabilities == pytest.approx([0.25] * 4)
