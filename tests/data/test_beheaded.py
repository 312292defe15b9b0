"""Files copied from their header on: what is read is what is read line by line."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import pytest

import lacunary as lac
from lacunary.data import beheaded, rewrite

ROWS = "".join(f"{k % 3},{k}.5,{'ab'[k % 2]}\n" for k in range(40))
PLAIN = {
    "detected": "# made by hand\n# on a day\nx,y,s\n" + ROWS,
    "title": "A table of something\n\nx,y,s\n" + ROWS,
    "semicolons": "# note\n" + ("x,y,s\n" + ROWS).replace(",", ";"),
    "returns": ("# note\nx,y,s\n" + ROWS).replace("\n", "\r\n"),
    "quotes": '# note\nx,"y","s"\n1,2.5,"a, or b"\n' + ROWS,
    "mark": "\ufeff# note\nx,y,s\n" + ROWS,
    "no end": "# note\nx,y,s\n" + ROWS.rstrip("\n"),
    "header again": "# note\nx,y,s\n" + ROWS + "x,y,s\n" + ROWS,
}
ODD = {
    "comment below": "# note\nx,y,s\n" + ROWS + "# more\n" + ROWS,
    "short row": "# note\nx,y,s\n" + ROWS + "1,2\n",
    "blank line": "# note\nx,y,s\n" + ROWS + "\n" + ROWS,
    "end of file": "# note\nx,y,s\n" + ROWS + "\x1a",
    "open quote": '# note\nx,y,s\n1,2,"a\n' + ROWS,
    "latin": "# note\nx,y,s\n1,2,\xe9\n" + ROWS,
    "nothing": "# note\n",
}


def _found(path: Path, **how: object) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            table = lac.read(path, **how)  # type: ignore[arg-type]
        except lac.LacunaryError as problem:
            return str(problem)
    return table.schema, table.decisions, table.notes, table.to_frame("dict")


HOW: list[dict[str, object]] = [{}, {"comment": "#"}, {"skip": 1}, {"skip_end": 1}, {"header": False}]


@pytest.mark.parametrize("how", HOW, ids=str)
@pytest.mark.parametrize("name", [*PLAIN, *ODD])
def test_what_is_copied_is_read_as_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, how: dict[str, object]
) -> None:
    text = {**PLAIN, **ODD}[name]
    data = text.encode("latin-1" if name == "latin" else "utf-8")
    paths = [tmp_path / "t.csv", tmp_path / "t.csv.gz"]
    paths[0].write_bytes(data)
    paths[1].write_bytes(gzip.compress(data))
    monkeypatch.setattr(beheaded, "PIECE", 64)
    for path in paths:
        quick = _found(path, **how)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rewrite, "beheaded", lambda *given: None)
            slow = _found(path, **how)
        assert quick == slow


@pytest.mark.parametrize("name", [*PLAIN, *ODD])
def test_odd_files_are_left_to_be_written_line_by_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes({**PLAIN, **ODD}[name].encode("latin-1" if name == "latin" else "utf-8"))
    told: list[int | None] = []
    plain = beheaded.beheaded

    def noted(*given: object) -> int | None:
        told.append(plain(*given))  # type: ignore[arg-type]
        return told[-1]

    monkeypatch.setattr(rewrite, "beheaded", noted)
    _found(path)
    assert [each is not None for each in told[:1]] == ([] if name == "nothing" else [name in PLAIN])
