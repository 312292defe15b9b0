"""Looking through many labels at once finds whatever a look at each of them does."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest

from lacunary.data import diagnostics
from lacunary.data.column import CODE, Labels, parse_number
from lacunary.data.diagnostics import MISSING, diagnose_labels, sounds_missing
from lacunary.data.screen import any_alike, any_line, any_of, numbers_at_most
from lacunary.data.spelling import Spelling, spelled

ONE = """state1 state2 State1 a_b a-b a%b yes y no N 1 2 07 -9 $-9 n/a #N/A . \u2014 3% <5 >=2 1/2 \u0663
12kg 7g $12 kr12 (3) \u22127 EUR3 1.234 1,5 inf NaN -Infinity 2024-01-31 31.1.2024 Jan-24 3-Apr total sum
marchs \u0130 \u03a3 +4 1e5 1_000 NOK"""
POOL = [*ONE.split(), "a b", " $NA ", "a\nb", "Jan 24", "US$ 5", "- 5", "\t8", "12 kg", "A total", "A"]


def _drawn(seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [POOL[k] for k in rng.permutation(len(POOL))[: rng.integers(1, 9)]]


def _column(texts: Sequence[str], seed: int) -> Labels:
    rows = np.random.default_rng(seed).integers(0, len(texts), 60)
    return Labels("x", tuple(texts), np.concatenate([np.arange(len(texts)), rows]))


@pytest.mark.parametrize("seed", range(300))
def test_what_one_label_has_is_seen_among_all(seed: int) -> None:
    texts = _drawn(seed)
    if any(map(sounds_missing, texts)):
        assert any_of(texts, MISSING, diagnostics.AROUND)
    if any(diagnostics.DATE.fullmatch(t) or diagnostics.MONTHLY.fullmatch(t) for t in texts):
        assert any_line(diagnostics.DAILY, texts)
    keys = [re.sub(r"[\s_-]+", " ", text.casefold()).strip() for text in texts]
    if len(set(keys)) < len(keys) or set(keys) & diagnostics.YES_OR_NO:
        assert any_alike(texts, diagnostics.YES_OR_NO)
    numbers = [parse_number(t) is not None or spelled([t], Spelling()) is not None for t in texts]
    assert numbers_at_most(texts, [1] * len(texts)) >= sum(numbers)


def test_plain_words_need_no_second_look() -> None:
    texts = [f"state{k}" for k in range(900)]
    assert not any_of(texts, MISSING, diagnostics.AROUND)
    assert not any_line(diagnostics.DAILY, texts)
    assert not any_alike(texts, diagnostics.YES_OR_NO)
    assert numbers_at_most(texts, [1] * len(texts)) == 0


def _nearly(texts: Sequence[str]) -> list[str]:
    """The forms that are not read, from all texts at every step."""
    told = [text for text in texts if not sounds_missing(text) and parse_number(text) is None]
    near = diagnostics.NEARLY.fullmatch
    told = [text for text in told if near(text) or spelled([text], Spelling()) is None]
    strange = [t for t in told if near(t) or not (t.isascii() or diagnostics._ascii(t) is None)]
    return strange if len(strange) == len(told) else []


def _dressed(texts: Sequence[str]) -> list[str]:
    """The first plain number and the first in a dress, if every text is one or the other."""
    told = [text for text in texts if not sounds_missing(text)]
    plain = [text for text in told if parse_number(text) is not None]
    other = [text for text in told if parse_number(text) is None]
    odd = any(CODE.match(text) or spelled([text], Spelling()) is None for text in other)
    return [] if odd or not plain or not other else [plain[0], other[0]]


@pytest.mark.parametrize("seed", range(300))
def test_diagnostics_are_those_of_all_texts(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = _drawn(seed)
    near, dressed = diagnostics._nearly("x", texts), diagnostics._dresses("x", texts)
    assert (near is not None) == bool(expected := _nearly(texts))
    assert near is None or all(repr(text) in near.what for text in expected[:3])
    assert (dressed is not None) == bool(shown := _dressed(texts))
    assert dressed is None or all(repr(text) in dressed.what for text in shown)
    found = list(diagnose_labels(_column(texts, seed)))
    monkeypatch.setattr(diagnostics, "any_of", lambda *_: True)
    monkeypatch.setattr(diagnostics, "any_line", lambda *_: True)
    monkeypatch.setattr(diagnostics, "any_alike", lambda *_: True)
    monkeypatch.setattr(diagnostics, "numbers_at_most", lambda *_: 10**9)
    assert found == list(diagnose_labels(_column(texts, seed)))
