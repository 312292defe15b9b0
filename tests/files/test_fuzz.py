"""Whatever is read, the outcome is a thing or an error of ours, and soon."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lacunary.errors import FileError
from lacunary.files import bif, dne, dsc, native, net, uai, xdsl, xmlbif
from lacunary.files.shipped import asia
from lacunary.infer.network import Network
from tests.files.samples import BIF, DNE, DSC, JSON, NET, NET_CLASS, NET_NORMAL, XMLBIF

Parser = Callable[[str, bool], Any]


def _written(form: str) -> str:
    """A small network in a format, as it is written here."""
    modules: dict[str, Any] = {"xdsl": xdsl, "uai": uai, "dsc": dsc, "dne": dne}
    text = modules[form].write(asia().sum_out("asia", "xray"))
    return text.decode() if isinstance(text, bytes) else str(text)


PARSERS: dict[str, tuple[Parser, tuple[str, ...]]] = {
    "bif": (lambda text, scale: bif.parse(text, renormalize=scale), (BIF,)),
    "net": (lambda text, scale: net.parse(text, renormalize=scale), (NET, NET_CLASS, NET_NORMAL)),
    "xmlbif": (lambda text, scale: xmlbif.parse(_bytes(text), renormalize=scale), (XMLBIF,)),
    "xdsl": (lambda text, scale: xdsl.parse(_bytes(text), renormalize=scale), (_written("xdsl"),)),
    "uai": (lambda text, scale: uai.parse(text, renormalize=scale), (_written("uai"),)),
    "dsc": (lambda text, scale: dsc.parse(text, renormalize=scale), (_written("dsc"), DSC)),
    "dne": (lambda text, scale: dne.parse(text, renormalize=scale), (_written("dne"), DNE)),
    "native": (lambda text, scale: native.parse(text, renormalize=scale), (JSON,)),
}
# A text of a few hundred characters is read in a millisecond; two seconds leave room for a busy machine.
SOON = settings(deadline=timedelta(seconds=2), max_examples=80, suppress_health_check=[HealthCheck.too_slow])


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def check(parser: Parser, text: str, scale: bool) -> None:
    try:
        thing = parser(text, scale)
    except FileError:
        return
    assert isinstance(thing, Network) or text.lstrip().startswith("{")


@st.composite
def damaged(draw: st.DrawFn, texts: tuple[str, ...]) -> str:
    """A valid text with spans deleted, doubled, moved or overwritten."""
    text = draw(st.sampled_from(texts))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(1, 60)))
        span = text[start:stop]
        other = draw(st.integers(0, len(text)))
        text = draw(
            st.sampled_from(
                [
                    text[:start] + text[stop:],
                    text[:stop] + span + text[stop:],
                    text[:other] + span + text[other:],
                    text[:start] + draw(st.text(max_size=5)) + text[stop:],
                    text[:start] + span[::-1] + text[stop:],
                ]
            )
        )
    return text


@pytest.mark.parametrize("language", PARSERS)
@SOON
@given(data=st.data(), scale=st.booleans())
def test_damaged_files(language: str, data: st.DataObject, scale: bool) -> None:
    parser, texts = PARSERS[language]
    check(parser, data.draw(damaged(texts)), scale)


@pytest.mark.parametrize("language", PARSERS)
@SOON
@given(text=st.text(), scale=st.booleans())
def test_any_text(language: str, text: str, scale: bool) -> None:
    check(PARSERS[language][0], text, scale)


@SOON
@given(data=st.binary())
def test_any_bytes_as_xml(data: bytes) -> None:
    with pytest.raises(FileError):
        xmlbif.parse(data)


PIECES = {
    "bif": r"""network variable probability type discrete [ 1 ] { } ( ) ; a b {a}; table default 1 0.5 | " /*
        // property \\ 1;""",
    "net": r"""net class { } ( ) = ; | node potential states data a b 1 "a" " % discrete
        continuous normal , * + - \\ ("a"); (1);""",
    "xmlbif": """<BIF> </BIF> <VARIABLE> </VARIABLE> <NAME> </NAME> <OUTCOME> </OUTCOME> a <DEFINITION>
        </DEFINITION> <FOR> </FOR> <TABLE> </TABLE> 1 &lt; <!DOCTYPE [ <!ENTITY 'a' ]>
        &e; <![CDATA[ ]]> <!-- -->""",
}


@pytest.mark.parametrize("language", PIECES)
@SOON
@given(data=st.data())
def test_the_words_of_the_language_in_any_order(language: str, data: st.DataObject) -> None:
    pieces = data.draw(st.lists(st.sampled_from(PIECES[language].split()), max_size=40))
    check(PARSERS[language][0], data.draw(st.sampled_from(" \n")).join(pieces), False)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@SOON
@given(data=st.data(), scale=st.booleans())
def test_any_value_in_any_place_of_the_native_format(data: st.DataObject, scale: bool) -> None:
    document = json.loads(JSON)
    for _ in range(data.draw(st.integers(1, 3))):
        _put(data, document)
    check(PARSERS["native"][0], json.dumps(document), scale)


def _put(data: st.DataObject, value: Any) -> None:
    """Walk down to some place in a document and put some other value there."""
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if not isinstance(value[key], dict | list) or data.draw(st.booleans()):
            value[key] = data.draw(json_values)
            return
        value = value[key]


@pytest.mark.parametrize("language", ["bif", "net", "xmlbif", "native"])
@pytest.mark.parametrize(
    "piece", ["(", "{", "[", '"', "/*", "<a>", "<BIF>", '{"a":', "variable a {", "\n", "%", "&"]
)
def test_endless_repetition(language: str, piece: str) -> None:
    parser, texts = PARSERS[language]
    for text in (piece * 30_000, texts[0][: len(texts[0]) // 2] + piece * 30_000):
        with pytest.raises(FileError):
            parser(text, False)
