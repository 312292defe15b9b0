"""The one rule for verdicts: made-up answers get what docs/verdicts.md says, and flat ones never pass."""

from __future__ import annotations

from pathlib import Path

import pytest

import lacunary as lac
from lacunary.papers import Claim, Found, Outcome, all_of, compared, keys, most_of, stated, tail
from lacunary.papers.claims import judge
from lacunary.papers.outcome import claims_of
from lacunary.papers.publish import Edition, publish


def claim(**more: object) -> Claim:
    return Claim(**({"id": "x", "where": "here", "says": "it", "why": "so"} | more))  # type: ignore[arg-type]


SLOPE = claim(printed=0.0, tolerance=0.1, flat=(-0.5,), flat_is="Slope of the other")


@pytest.mark.parametrize(
    ("value", "error", "verdict"),
    [
        (0.02, 0.05, "reproduced"),
        (-0.446, 0.194, "undecided"),  # within 0.1 + 2 · 0.194 of print, but no further from the flat answer
        (0.0, 0.25, "undecided"),  # a flat −0.5 would have fitted print within 0.1 + 2 · 0.25
        (-0.5, 0.05, "not"),
        (-0.25, 0.03, "not"),
    ],
)
def test_a_number_must_leave_the_flat_answer_behind(value: float, error: float, verdict: str) -> None:
    assert judge(SLOPE, Found(value, error)).verdict == verdict


def test_no_error_of_ours_lets_a_flat_answer_pass() -> None:
    for error in (0.0, 0.01, 0.1, 0.3, 3.0):
        assert judge(SLOPE, Found(-0.5, error)).verdict in ("not", "undecided")


def test_where_print_itself_reaches_the_flat_answer_nothing_is_decided() -> None:
    # Δm = 26 ± 14.8 of CH96: two standard errors of print alone reach zero
    assert (
        judge(claim(printed=26.0, printed_error=14.8, flat=(0.0,)), Found(26.0, 0.0)).verdict == "undecided"
    )


def test_near_must_be_given_and_nearer_than_the_flat_answer() -> None:
    six = {"printed": 6.0, "tolerance": 1.0, "flat": (1.0,)}
    assert judge(claim(**six), Found(4.5)).verdict == "not"
    assert judge(claim(**six, near=4.0), Found(4.5)).verdict == "near"
    assert (
        judge(claim(**six, near=4.0), Found(3.0)).verdict == "not"
    )  # six components for three: nearer to one


def test_print_of_as_many_experiments_has_our_error() -> None:
    median = claim(printed=0.9, tolerance=0.005, same_error=True, flat=(1.0,))
    # 0.005 + 2 · √2 · 0.02 = 0.0616
    assert judge(median, Found(0.961, 0.02)).verdict == "undecided"  # within two errors of one
    assert judge(median, Found(0.90, 0.02)).verdict == "reproduced"
    assert judge(median, Found(0.90, 0.05)).verdict == "undecided"  # 0.146 reaches from 0.9 to one


def test_a_single_draw_lies_in_our_middle_or_not() -> None:
    draw = claim(printed=2.0, flat=(5.0,))
    assert judge(draw, Found(1.8, span=(1, 3))).verdict == "reproduced"
    assert judge(draw, Found(3.5, span=(1, 6))).verdict == "undecided"
    assert judge(draw, Found(4.0, span=(3, 6))).verdict == "not"


def test_statements_that_chance_would_pass_are_not_decided() -> None:
    assert judge(claim(), stated("yes", True, chance=0.01)).verdict == "reproduced"
    assert judge(claim(), stated("yes", True, chance=0.5)).verdict == "undecided"
    assert judge(claim(), stated("nearly", False, True, chance=0.01)).verdict == "near"
    assert judge(claim(), stated("no", False, chance=0.5)).verdict == "not"
    assert (
        judge(claim(), Found("yes", verdict="reproduced")).verdict == "undecided"
    )  # nothing is said of chance


def test_sign_tests_go_both_ways() -> None:
    # of ten a coin gives nine or more in 11/1024 and eight or more in 56/1024
    assert [most_of(n, 10, "").verdict for n in (9, 8, 2, 1)] == [
        "reproduced",
        "undecided",
        "undecided",
        "not",
    ]
    assert tail(9, 10) == pytest.approx(11 / 1024)
    assert most_of(3, 3, "").verdict == "undecided"


def test_all_of_few_is_not_decided_and_nine_of_ten_is_near() -> None:
    assert judge(claim(), all_of(3, 3, "")).verdict == "undecided"  # a coin gives 1/8
    assert judge(claim(), all_of(10, 10, "")).verdict == "reproduced"
    assert judge(claim(), all_of(9, 10, "")).verdict == "near"
    assert judge(claim(), all_of(8, 10, "")).verdict == "not"


def test_leads_count_by_their_errors() -> None:
    assert compared([("a", 1.0, 0.4), ("b", 3.0, 0.1)]).verdict == "reproduced"
    assert compared([("a", 1.0, 0.6), ("b", 3.0, 0.1)]).verdict == "undecided"
    assert compared([("a", -1.0, 0.4), ("b", 3.0, 0.1)]).verdict == "not"


def test_what_cannot_fail_is_noted_and_what_is_proven_wrong_is_wrong() -> None:
    assert judge(claim(fact="a time"), Found("3 s")).verdict == "noted"
    assert judge(claim(fact="a time"), None).verdict == "noted"
    eleven = claim(printed=11, proof="it is ten", wrong=True)
    assert judge(eleven, Found(10)).verdict == "wrong"
    assert judge(eleven, Found(11)).verdict == "reproduced"  # then our proof would be what is wrong


def test_a_verdict_stands_if_every_reading_has_it() -> None:
    gain = claim(printed=0.9, tolerance=0.01, flat=(1.0,))
    assert judge(gain, Found(0.9, readings=(Found(0.905), Found(0.895)))).verdict == "reproduced"
    assert judge(gain, Found(0.9, readings=(Found(0.5),))).verdict == "undecided"
    assert judge(gain, Found(0.5, readings=(Found(0.6),))).verdict == "not"


def test_power_is_told_in_words() -> None:
    assert judge(claim(printed=9), Found(9)).power == "Any other number fails."
    assert judge(SLOPE, Found(0.0, 0.05)).power == "Slope of the other: -0.5 would be not reproduced."
    assert judge(SLOPE, Found(0.0, 0.25)).power == "Slope of the other: -0.5 would be not decided."
    assert judge(claim(), stated("yes", True, chance=1 / 24)).power == "By chance it passes 4% of the time."


@pytest.mark.parametrize("key", keys())
def test_every_number_that_is_not_exact_has_a_flat_answer_that_fails(key: str) -> None:
    for one in claims_of(key)[1]:
        if one.ours or one.fact or isinstance(one.printed, str) or one.exact:
            continue
        assert one.flat_is, one.id
        assert one.why, one.id
        for flat in one.flat:
            for found in (Found(flat), Found(flat, 1.0), Found(flat, span=(flat, flat))):
                assert judge(one, found).verdict not in ("reproduced", "near"), one.id


def test_proven_claims_have_their_proof() -> None:
    for key in keys():
        assert all(one.proof for one in claims_of(key)[1] if one.wrong)


def written(folder: Path, claims: list[Claim], **found: Found) -> list[str]:
    about = Edition("key", {"title": "T", "authors": "A", "machine": "M"}, "tiny", 1, 1, 1.0)
    return [j.verdict for j in publish(folder, about, claims, Outcome(found=found))]


def test_answers_of_an_earlier_run_are_kept_said_and_judged_anew(tmp_path: Path) -> None:
    claims = [claim(printed=1.0), claim(id="y"), claim(id="z", printed=2.0), claim(id="w", proof="Thus.")]
    sure = stated("yes", True, chance=0.01, behind="nine seeds", note="So.")
    assert written(tmp_path, claims, x=Found(2.0), y=sure, z=Found(2, span=(1, 3))) == [
        "not",
        "reproduced",
        "reproduced",
        "open",
    ]
    wider = [claim(printed=1.0, tolerance=1.0, flat=(9.0,)), *claims[1:]]
    (tmp_path / "table.txt").write_text("a < b")
    (tmp_path / "drawn.png").write_bytes(b"picture")
    assert written(tmp_path, wider, w=sure) == ["reproduced"] * 4
    page = (tmp_path / "index.html").read_text()
    assert f"Of an earlier run: {lac.__version__}." in page
    assert "3 answers are of an earlier run" in page
    assert "<pre>a &lt; b</pre>" in page
    assert 'src="drawn.png"' in page
    assert written(tmp_path, wider) == ["reproduced"] * 4
    assert (tmp_path / "claims.txt").read_text().count("Thus.") == 1
    (tmp_path / "claims.csv").write_text("claim,ours\nx,1\n")
    with pytest.raises(lac.FileError, match="remove the file"):
        written(tmp_path, claims)
