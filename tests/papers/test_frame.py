from __future__ import annotations

import dataclasses
import gzip
import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lacunary as lac
from lacunary.cli import app
from lacunary.papers import Claim, Found, Listing, Outcome, Unit, carry_out, kept_under, keys, paper, seed_of
from lacunary.papers.claims import judge, read_claims
from lacunary.papers.ghm96.work import rank
from lacunary.papers.outcome import claims_of
from lacunary.papers.publish import Edition, publish
from lacunary.papers.records import RECORDS, pack, unpack
from lacunary.papers.work import collect
from tests.papers.counting import double, double_once, shrug


def calls(folder: Path) -> list[int]:
    return [int(line) for line in (folder / "calls.txt").read_text().split()]


def test_records_are_in_the_order_of_units_and_can_be_asked_for(tmp_path: Path) -> None:
    units = [Unit(double, {"number": n}) for n in (3, 1, 2)]
    results = carry_out(units, tmp_path)
    assert [r.value for r in results] == [6, 2, 4]
    assert [r.value for r in results.of(double, number=1)] == [2]
    assert results.of(double_once) == []


def test_two_processes_give_the_same_records(tmp_path: Path) -> None:
    units = [Unit(double, {"number": n}) for n in range(5)]
    seen: list[tuple[int, int]] = []
    results = carry_out(units, tmp_path, jobs=2, watch=lambda done, all_, _: seen.append((done, all_)))
    assert [r.value for r in results] == [0, 2, 4, 6, 8]
    assert seen == [(done, 5) for done in range(6)]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    work = tmp_path / "work"
    units = [Unit(double_once, {"number": n, "folder": str(tmp_path)}) for n in (1, 2, 7, 3)]
    with pytest.raises(KeyboardInterrupt):
        carry_out(units, work)
    assert calls(tmp_path) == [1, 2]
    assert [r.value for r in collect(units, work)] == [2, 4]
    rest = [unit for unit in units if unit.arguments["number"] != 7]
    assert [r.value for r in carry_out(rest, work)] == [2, 4, 6]
    assert calls(tmp_path) == [1, 2, 3]


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Interrupts are heard, also where tests run in the background and a shell has them ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_what_a_unit_returns_when_interrupted_is_not_kept(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        carry_out([Unit(shrug, {"number": 1})], tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_another_edition_is_done_anew(tmp_path: Path) -> None:
    units = [Unit(double_once, {"number": 1, "folder": str(tmp_path)})]
    for edition in ("1", "1", "2"):
        carry_out(units, tmp_path / "work", edition=edition)
    assert calls(tmp_path) == [1, 1]


def test_a_function_that_moved_finds_its_old_records(tmp_path: Path) -> None:
    def moved(number: int) -> int:
        raise AssertionError("the record is there")

    carry_out([Unit(double, {"number": 4})], tmp_path)
    moved.__name__ = double.__name__
    moved.__module__ = "lacunary.papers.elsewhere"
    unit = Unit(moved, {"number": 4})
    assert unit.key("1") != Unit(double, {"number": 4}).key("1")
    vars(moved)["place"] = double.__module__
    assert [record.value for record in carry_out([unit], tmp_path)] == [8]
    assert vars(kept_under("key.old")(moved))["place"] == "lacunary.papers.key.old"


def test_a_broken_record_is_named(tmp_path: Path) -> None:
    unit = Unit(double, {"number": 1})
    carry_out([unit], tmp_path)
    [path] = tmp_path.glob("*.json")
    path.write_text("{")
    with pytest.raises(lac.FileError, match="remove the file"):
        carry_out([unit], tmp_path)


def test_work_goes_on_from_published_records(tmp_path: Path) -> None:
    units = [Unit(double_once, {"number": n, "folder": str(tmp_path)}) for n in (1, 2, 3)]
    path, again = tmp_path / RECORDS, tmp_path / "again"
    done = carry_out(units[:2], tmp_path / "work")
    assert pack(units, tmp_path / "work", path, edition="1") == 2
    unpack(path, again)
    assert collect(units, again) == done
    assert [r.value for r in carry_out(units, again)] == [2, 4, 6]
    assert calls(tmp_path) == [1, 2, 3]
    before = path.read_bytes()
    assert pack(units[:2], again, path, edition="1") == 2
    assert path.read_bytes() == before


def test_no_records_are_no_file_and_none_is_no_work(tmp_path: Path) -> None:
    assert pack([Unit(double, {"number": 1})], tmp_path, tmp_path / RECORDS, edition="1") == 0
    unpack(tmp_path / RECORDS, tmp_path / "work")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"no gzip",
        gzip.compress(b'{"unit":"double-00000000000000000000"}\n', mtime=0),
        gzip.compress(b'{"unit":"../double-00000000000000000000","edition":"1"}\n', mtime=0),
        gzip.compress(b"{", mtime=0),
        gzip.compress(b"[]\n", mtime=0),
        gzip.compress(b"{}" * 50, mtime=0)[:-9],
    ],
)
def test_records_that_cannot_be_read_are_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / RECORDS
    path.write_bytes(content)
    with pytest.raises(lac.FileError, match="remove the file"):
        unpack(path, tmp_path / "work")


def test_a_published_page_is_made_again_without_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = [Unit(rank, {"name": name}) for name in ("fan-2", "w-2")]
    chosen = dataclasses.replace(paper("ghm96"), plan=lambda _: small)
    monkeypatch.setattr("lacunary.papers.paper", lambda _: chosen)
    order = ["reproduce", "ghm96", "--size", "full", "--json", "--out", str(tmp_path)]
    [first] = json.loads(CliRunner().invoke(app, order).stdout)
    page = (tmp_path / "ghm96" / "index.html").read_bytes()
    shutil.rmtree(tmp_path / "work")
    [second] = json.loads(CliRunner().invoke(app, [*order, "--so-far"]).stdout)
    assert second == first
    assert second["done"] == len(small)
    assert (tmp_path / "ghm96" / "index.html").read_bytes() == page


def test_seeds_depend_on_every_part() -> None:
    seeds = {seed_of("a", 1), seed_of("a", 2), seed_of("b", 1), seed_of("a1")}
    assert len(seeds) == 4
    # the first twelve digits of sha256 of ["a",1], by coreutils' sha256sum
    assert seed_of("a", 1) == int("135f17a475a6", 16)


def claim(**more: object) -> Claim:
    return Claim(**({"id": "x", "where": "here", "says": "it", "why": "so"} | more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("printed", "tolerance", "value", "error", "verdict"),
    [
        (9, 0.0, 9, None, "reproduced"),
        (9, 0.0, 10, None, "not"),
        (1.0, 0.1, 1.1, None, "reproduced"),
        (1.0, 0.1, 1.2, None, "not"),
        (1.0, 0.1, 1.3, 0.1, "reproduced"),  # 0.1 + 2 · 0.1
    ],
)
def test_numbers_are_judged_by_tolerance_and_chance(
    printed: float, tolerance: float, value: float, error: float | None, verdict: str
) -> None:
    assert judge(claim(printed=printed, tolerance=tolerance), Found(value, error)).verdict == verdict


def test_statements_are_judged_by_the_run() -> None:
    assert judge(claim(), Found("yes", verdict="near", chance=0.0)).verdict == "near"
    assert judge(claim(), None).verdict == "open"
    assert judge(claim(ours=True), Found("so and so")).verdict == "answered"


def test_the_printed_error_widens_the_margin() -> None:
    # two standard errors of both: 2 · √(3² + 4²)
    assert judge(claim(printed=0.0, printed_error=3.0), Found(0.0, 4.0)).margin == 10.0


@pytest.mark.parametrize("key", keys())
def test_claims_are_complete(key: str) -> None:
    head, claims = claims_of(key)
    assert {"title", "authors", "machine"} <= set(head)
    for one in claims:
        assert one.says
        assert one.ours or one.fact or (one.where and one.why), one.id


@pytest.mark.parametrize("key", keys())
def test_units_of_every_size_differ_in_their_arguments(key: str) -> None:
    for size in ("tiny", "glance", "full"):
        units = paper(key).units(size)
        assert len({unit.key("1") for unit in units}) == len(units) > 0
        json.dumps([dict(unit.arguments) for unit in units], allow_nan=False)


def test_unknown_fields_and_doubles_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.toml"
    entry = '[[claim]]\nid = "a"\nwhere = ""\nsays = ""\nwhy = ""\n'
    path.write_text(f"[paper]\n{entry}{entry}")
    with pytest.raises(lac.FileError, match="twice: a"):
        read_claims(path)
    path.write_text(f"[paper]\n{entry}tolerence = 1\n")
    with pytest.raises(lac.FileError, match="tolerence"):
        read_claims(path)


def test_what_is_published(tmp_path: Path) -> None:
    claims = [claim(printed=1.0), claim(id="y", says="<b>"), claim(id="z", ours=True)]
    outcome = Outcome(
        [Listing("one", "One & all", ("name", "number"), [("a", 1.23456), ("b", None)], "a note")],
        found={"x": Found(2.0, note="because"), "z": Found("thus")},
    )
    head = {"title": "T", "authors": "A", "machine": "M"}
    judged = publish(tmp_path, Edition("key", head, "tiny", 1, 2, 3.0), claims, outcome)
    assert [j.verdict for j in judged] == ["not", "open", "answered"]
    assert (tmp_path / "one.csv").read_text() == "name,number\na,1.23456\nb,\n"
    assert (tmp_path / "one.txt").read_text() == "One & all\n\nname  number\na      1.235\nb\n\na note\n"
    page = (tmp_path / "index.html").read_text()
    assert "✗ not reproduced" in page
    assert "&lt;b&gt;" in page
    assert "One &amp; all" in page
    assert "http" not in page
    assert (
        "NOT REPRODUCED: it (here) [x]\n    printed 1; ours 2; allowed ± 0\n"
        in (tmp_path / "claims.txt").read_text()
    )


def test_words_have_true_minus_signs_and_what_always_holds_stands_apart(tmp_path: Path) -> None:
    claims = [claim(fact="a time", printed=3000.0, tolerance=500.0), claim(id="y", proof="It is proven.")]
    answers = {"x": Found(2900, note="by -0.5 in bn-1"), "y": Found("-1 to 2", note="5-3-5")}
    edition = Edition("key", {"title": "T", "authors": "A", "machine": "M"}, "tiny", 1, 2, 3.0)
    for found in (answers, {}):  # an answer that is kept is told alike
        x, y = publish(tmp_path, edition, claims, Outcome([], found=found))
        assert x.note == "by \N{MINUS SIGN}0.5 in bn-1; a time"
        assert y.found is not None
        assert (y.found.value, y.note) == ("\N{MINUS SIGN}1 to 2", "5-3-5. It is proven.")


def test_unknown_papers_are_named() -> None:
    result = CliRunner().invoke(app, ["reproduce", "nature"])
    assert result.exit_code == 1
    assert "ghm96" in result.output
