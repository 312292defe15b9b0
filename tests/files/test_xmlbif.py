"""XMLBIF: what is read, what is written, and what is refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from lacunary.data.schema import Schema, Variable
from lacunary.errors import FileError
from lacunary.files import xmlbif
from lacunary.infer.network import Network
from lacunary.model.dag import Dag
from tests.files.samples import PARENTS, STATES, TABLES, XMLBIF, changed, marked


def test_everything_the_language_has_is_read() -> None:
    network = xmlbif.parse(XMLBIF.encode())
    assert {v.name: v.states for v in network.dag.schema} == STATES
    assert dict(zip(network.dag.names, network.dag.parents, strict=True)) == PARENTS
    for name, table in TABLES.items():
        np.testing.assert_array_equal(network.table(name), table)


def test_the_declared_encoding_is_obeyed() -> None:
    text = changed(XMLBIF, ("UTF-8", "iso-8859-1"), (">yes<", ">été<"))
    assert xmlbif.parse(text.encode("latin-1")).dag.schema["rain"].states == ("été", "no")


WRONG = [
    (("<TABLE>0.25 0.75", "¶<TABLE>0.25 1/2"), "not a probability"),
    (("<TABLE>0.25 0.75", "¶<TABLE>1"), "needs 2 values, not 1"),
    (
        ("<DEFINITION><FOR>rain</FOR><TABLE>0.25 0.75</TABLE>", "¶<DEFINITION><FOR>rain</FOR>"),
        "one <TABLE>, not 0",
    ),
    (("<FOR>rain</FOR><TABLE>0.25 0.75", "¶<FOR>rain</FOR><TABLE>0.25 0.5"), "sums to 0.75"),
    (("<FOR>rain</FOR>", "¶<FOR>snow</FOR>"), "there is no variable 'snow'"),
    (
        ("<NAME>3</NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME>", "¶<NAME>3</NAME>"),
        "'3' needs a name and states",
    ),
    (("<VARIABLE><NAME>", '¶<VARIABLE TYPE="utility"><NAME>'), "a utility variable"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("¶", "no element found"),
        ("<BIF>¶", "no element found"),
        ("<BIF>\n<NETWORK></¶BIF>", "mismatched tag"),
        ("¶<html></html>", "expected <BIF>, but found <html>"),
        ("¶<BIF></BIF>", "there are no variables"),
        ("<BIF>" + "<a>" * 15 + "¶<a>", "more than 16 deep"),
        ('¶<?xml version="1.0" encoding="klingon"?><BIF/>', "encoding"),
        *((changed(XMLBIF, change), message) for change, message in WRONG),
    ],
)
def test_an_error_says_what_and_where(text: str, message: str) -> None:
    text, where = marked(text)
    with pytest.raises(FileError, match=f"^{where}.*{re.escape(message)}"):
        xmlbif.parse(text.encode())


@pytest.mark.parametrize("entity", ['e "x"', 'e SYSTEM "file:///etc/hostname"', '% e "x"'])
def test_entities_are_refused_where_they_are_declared(entity: str) -> None:
    text = f"<!DOCTYPE BIF [<!ENTITY {entity}>]><BIF>&e;</BIF>"
    with pytest.raises(
        FileError, match=r"^line 1, column \d+: the entity 'e' is declared; entities are not allowed"
    ):
        xmlbif.parse(text.encode())


def test_names_are_escaped_and_those_xml_cannot_hold_are_refused() -> None:
    def written(name: str) -> bytes:
        dag = Dag.from_parents(Schema((Variable(name, (True, 2)),)), {})
        return xmlbif.write(Network.from_tables(dag, {name: [0.5, 0.5]}))

    again = xmlbif.parse(written('a <&> "b"'))
    assert again.dag.names == ('a <&> "b"',)
    assert again.dag.schema.variables[0].states == ("True", "2")
    for name in (" a", "a\x00", "a\nb", "\ud800"):
        with pytest.raises(FileError, match=r"XMLBIF cannot hold the name.*\.json"):
            written(name)
