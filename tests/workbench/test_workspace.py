"""A workspace that somebody else sent: what is damaged is no record, and nothing leads out of the folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import lacunary as lac
from lacunary.workbench.bench import Bench
from lacunary.workbench.tables import said
from lacunary.workbench.workspace import MARK

KEY = "0123456789abcdef"
JOB = {"created": 1.0, "status": "done", "kind": "impute", "table": KEY, "table_name": "t"}
TABLE = {"created": 1.0, "name": "t", "file": "t.csv", "settings": {}, "shipped": ""}


def test_nothing_is_written_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "space").mkdir()
    (tmp_path / "space" / MARK).symlink_to(tmp_path / "precious")
    with pytest.raises(lac.FileError, match="leads elsewhere"):
        Bench(tmp_path / "space")
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    ("kind", "meta"),
    [
        ("jobs", "[" * 100_000),
        ("jobs", "[]"),
        ("jobs", json.dumps({"created": "yesterday"})),
        ("jobs", json.dumps({key: value for key, value in JOB.items() if key != "status"})),
        ("jobs", json.dumps({**JOB, "result": {"files": [{"file": "../../../secret", "name": "x"}]}})),
        ("jobs", json.dumps({**JOB, "result": {"files": [{"file": "/etc/hostname", "name": "x"}]}})),
        ("jobs", json.dumps({**JOB, "result": [1]})),
        ("tables", json.dumps({**TABLE, "suffix": "/../../../../secret.csv"})),
        ("tables", json.dumps(TABLE)),
        ("models", json.dumps({"created": 10**400, "name": "m"})),
    ],
)
def test_what_is_damaged_or_leads_out_is_no_record(tmp_path: Path, kind: str, meta: str) -> None:
    place = tmp_path / kind / KEY
    place.mkdir(parents=True)
    (place / "meta.json").write_text(meta)
    bench = Bench(tmp_path)
    assert not bench.workspace.has(kind, KEY)
    bench.close()


def test_a_record_with_a_link_in_it_is_none(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    place = tmp_path / "space" / "tables" / KEY
    place.mkdir(parents=True)
    (place / "meta.json").write_text(json.dumps({**TABLE, "suffix": ".csv"}))
    (place / "table.csv").write_text("a,b\n1,2\n")
    bench = Bench(tmp_path / "space")
    assert bench.tables.table(KEY).columns == ("a", "b")
    bench.close()
    (place / "table.csv").unlink()
    (place / "table.csv").symlink_to(tmp_path / "secret.csv")
    bench = Bench(tmp_path / "space")
    assert not bench.workspace.has("tables", KEY)
    bench.close()


@pytest.mark.parametrize(
    "name",
    ["drop=[{{}:1}]", "kinds={1,2}", "encoding='\\x'", f"drop=[{'(' * 5000}]", f"drop=[{'-' * 9000}1]"],
)
def test_a_column_may_be_called_like_an_option(name: str) -> None:
    doubt: dict[str, Any] = said(f"the column {name} has one value")
    assert doubt == {"text": f"the column {name} has one value", "mends": []}
