"""Messy files, as people send them: each is read rightly, or refused with the option that helps."""

from __future__ import annotations

import contextlib
import gzip
import io
import re
import warnings
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lacunary.data.read import read
from lacunary.errors import LacunaryError


class Messy(NamedTuple):
    """A file, how it is read, and what is expected.

    Attributes
    ----------
    text
        What the file holds.
    cells
        The columns that are expected.
    said
        Words that a decision or a note holds; of a file that is refused, the error.
    options
        What is said when it is read; where it is refused without them, ``refused`` is true.
    """

    text: str | bytes
    cells: dict[str, list[Any]]
    said: str = ""
    options: dict[str, Any] = {}  # noqa: RUF012
    refused: bool = False
    name: str = "t.csv"


XY: dict[str, list[Any]] = {"x": [1.5, 2.5, 3.5], "y": ["a", "b", "a"]}
XYZ: dict[str, list[Any]] = {**XY, "z": [1, 2, 1]}


def zipped(name: str, data: bytes) -> bytes:
    """An archive with one file."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(name, data)
    return out.getvalue()


FILES = {
    # Numbers
    "decimal commas": Messy("x;y\n1,5;a\n2,5;b\n3,5;a\n", XY, "'1,5' is read as 1.5"),
    "thousands with commas": Messy(
        'x,y\n"1,234.5",a\n2.5,b\n"1,000,000",a\n', {"x": [1234.5, 2.5, 1e6], "y": ["a", "b", "a"]}
    ),
    "thousands with points": Messy(
        "x;y\n1.234,5;a\n2,5;b\n1.000.000;a\n", {"x": [1234.5, 2.5, 1e6], "y": ["a", "b", "a"]}
    ),
    "thousands with blanks": Messy(
        "x;y\n1 234,5;a\n2,5;b\n1\xa0000\u202f000;a\n", {"x": [1234.5, 2.5, 1e6], "y": ["a", "b", "a"]}
    ),
    "thousands with apostrophes": Messy(
        "x;y\n1'234.5;a\n2.5;b\n10'000;a\n", {"x": [1234.5, 2.5, 1e4], "y": ["a", "b", "a"]}
    ),
    "a comma that may be either": Messy(
        'x,y\n"1,234",a\n"5,678",b\n', {"x": [1234, 5678], "y": ["a", "b"]}, "no cell tells"
    ),
    "a comma that is said to be decimal": Messy(
        "x;y\n1,234;a\n5,678;b\n", {"x": [1.234, 5.678], "y": ["a", "b"]}, "thousands=','", {"decimal": ","}
    ),
    "currencies": Messy(
        'x,y\n"$1,200.50",a\n($3.25),b\n-$4.00,a\n', {"x": [1200.5, -3.25, -4.0], "y": ["a", "b", "a"]}
    ),
    "a currency behind": Messy(
        "x;y\n1.200,50 €;a\n3,25 €;b\n", {"x": [1200.5, 3.25], "y": ["a", "b"]}, "'1.200,50 €' is read as"
    ),
    "two currencies": Messy(
        "x,y\n$5.50,a\n€6.50,b\n", {"x": ["$5.50", "€6.50"], "y": ["a", "b"]}, "different units, '\\$', '€'"
    ),
    "per cent": Messy("x,y\n12.5%,a\n7 %,b\n", {"x": [12.5, 7.0], "y": ["a", "b"]}),
    "units": Messy("x,y\n70.5 kg,a\n81 kg,b\n", {"x": [70.5, 81.0], "y": ["a", "b"]}),
    "minus behind": Messy("x,y\n12.5-,a\n7.5,b\n", {"x": [-12.5, 7.5], "y": ["a", "b"]}),
    "postcodes stay text": Messy("x,y\n01234,a\n98765,b\n", {"x": ["01234", "98765"], "y": ["a", "b"]}),
    "scientific notation with commas": Messy(
        "x;y\n1,5E+03;a\n2,5E-01;b\n", {"x": [1500, 0.25], "y": ["a", "b"]}
    ),
    "n/a among dressed numbers": Messy(
        "x;y\n1,5;a\nn/a;b\n2,5;a\n",
        {"x": [1.5, None, 2.5], "y": ["a", "b", "a"]},
        r"holes=\['n/a'\]",
        {"holes": ["n/a"]},
    ),
    # Dates
    "ISO dates": Messy(
        "x,y\n2024-01-31,a\n2024-03-01,b\n", {"x": [0, 30], "y": ["a", "b"]}, "days since 2024-01-31"
    ),
    "German dates": Messy("x,y\n31.01.2024,a\n01.03.2024,b\n", {"x": [0, 30], "y": ["a", "b"]}),
    "American dates": Messy("x,y\n1/31/2024,a\n3/1/2024,b\n", {"x": [0, 30], "y": ["a", "b"]}),
    "dates that may be either": Messy(
        "x,y\n1/3/2024,a\n2/3/2024,b\n",
        {"x": [0, 1], "y": ["a", "b"]},
        "may have the month",
        {"day_first": True},
    ),
    "times with zones": Messy(
        "x,y\n2024-01-31T23:00:00+01:00,a\n2024-02-02T22:00:00Z,b\n", {"x": [0, 2], "y": ["a", "b"]}, "UTC"
    ),
    "an impossible date": Messy(
        "x,y\n"
        + "".join(f"2023-02-{d:02},a\n" for d in range(1, 30))
        + "".join(f"2023-{m:02}-{d:02},b\n" for m in (3, 4) for d in range(1, 20)),
        {},
        r"dates, but '2023-02-29' is none; holes=\['2023-02-29'\]",
        {},
        True,
    ),
    "clock times": Messy(
        "x,y\n10:30,a\n9:15 ,b\n", {"x": [10.5, 9.25], "y": ["a", "b"]}, "hours since midnight"
    ),
    # Delimiters, quotes
    "semicolons and commas in text": Messy('x;y\n1.5;"a"\n2.5;b\n3.5;a\n', XY),
    "tabs in a csv": Messy("x\ty\n1.5\ta\n2.5\tb\n3.5\ta\n", XY),
    "bars": Messy("x|y\n1.5|a\n2.5|b\n3.5|a\n", XY),
    "blanks": Messy("x    y\n1.5  a\n2.5  b\n3.5  a\n", XY, "parted by blanks", name="t.dat"),
    "a delimiter of its own": Messy("x^y\n1.5^a\n2.5^b\n3.5^a\n", XY, options={"delimiter": "^"}),
    "sep=": Messy("sep=;\nx;y\n1.5;a\n2.5;b\n3.5;a\n", XY, "parted by ';'"),
    "commas in the header of a file of semicolons": Messy(
        "weight, kg, dry;y\n1.5;a\n2.5;b\n3.5;a\n",
        {"weight, kg, dry": XY["x"], "y": XY["y"]},
        "parted by ';'",
    ),
    "inches": Messy('x,y\n1.5,5" pipe\n2.5,b\n', {"x": [1.5, 2.5], "y": ['5" pipe', "b"]}),
    "a quote that never ends": Messy(
        'x,y\n1.5,"a\n2.5,b\n3.5,a\n', {**XY, "y": ['"a', "b", "a"]}, "quote=''", {"quote": ""}, True
    ),
    "a quote with something behind": Messy(
        'x,y\n1.5,"a"b\n2.5,b\n', {"x": [1.5, 2.5], "y": ['"a"b', "b"]}, "quote=''", {"quote": ""}, True
    ),
    "backslashes before quotes": Messy(
        'x,y\n1.5,"say \\"so\\""\n2.5,b\n',
        {"x": [1.5, 2.5], "y": ['say "so"', "b"]},
        "escape=",
        {"escape": "\\"},
        True,
    ),
    "single quotes": Messy(
        "x,y\n1.5,'a'\n2.5,'b,c'\n", {"x": [1.5, 2.5], "y": ["a", "b,c"]}, "quotes", {"quote": "'"}, True
    ),
    # Rows
    "a short row": Messy(
        "x,y\n1.5,a\n2.5\n3.5,a\n", {**XY, "y": ["a", None, "a"]}, "ragged=True", {"ragged": True}, True
    ),
    "a long row": Messy("x,y\n1.5,a\n2.5,b,c\n", {}, "line 3: 3 cells.*in quotes", {}, True),
    "an empty cell at every end": Messy("x,y\n1.5,a,\n2.5,b,\n3.5,a,\n", XY, "empty cell at the end"),
    "an empty last column": Messy("x,y,\n1.5,a,\n2.5,b,\n3.5,a,\n", XY, "without a name or a value"),
    "row names": Messy(
        "x,y\nr1,1.5,a\nr2,2.5,b\nr3,3.5,a\n", {"row": ["r1", "r2", "r3"], **XY}, "called 'row'"
    ),
    "a title": Messy("Table 1: weights\n\nx,y\n1.5,a\n2.5,b\n3.5,a\n", XY, "2 lines above the header"),
    "a title with commas": Messy(
        "Weights, 2024\nx,y,z\n1.5,a,1\n2.5,b,2\n3.5,a,1\n", XYZ, "1 line above the header"
    ),
    "footnotes": Messy(
        "x,y,z\n1.5,a,1\n2.5,b,2\n3.5,a,1\n\n* estimated\nSource: WHO, 2024\n", XYZ, "2 lines below"
    ),
    "a row of sums": Messy(
        "y,x\na,1.5\nb,2.5\na,3.5\nTotal,7.5\n", {"y": XY["y"], "x": XY["x"]}, "skip_end=1", {"skip_end": 1}
    ),
    "a header that is repeated": Messy("x,y\n1.5,a\nx,y\n2.5,b\n3.5,a\nx,y\n", XY, "header comes again"),
    "blank lines": Messy("\n\nx,y\n\n1.5,a\n \n2.5,b\n\n3.5,a\n\n", XY),
    "comment lines": Messy("# by hand\nx,y\n1.5,a\n# no\n2.5,b\n3.5,a\n", XY, "comment", {"comment": "#"}),
    "no header": Messy("1.5,a\n2.5,b\n3.5,a\n", {"x1": XY["x"], "x2": XY["y"]}, "x1, x2", {"header": False}),
    "names of one's own": Messy("1.5,a\n2.5,b\n3.5,a\n", XY, options={"header": False, "names": ["x", "y"]}),
    "two header lines": Messy(
        "2023,,2024\na,b,a\n1,2,3\n4,5,6\n",
        {"2023 a": [1, 4], "2023 b": [2, 5], "2024 a": [3, 6]},
        "header=2",
        {"header": 2},
        True,
    ),
    "a name twice": Messy(
        "x,x\n1,2\n3,4\n", {"a": [1, 3], "b": [2, 4]}, r"names=\[…\]", {"names": ["a", "b"]}, True
    ),
    # Bytes
    "a byte order mark": Messy(b"\xef\xbb\xbfx,y\n1.5,a\n2.5,b\n3.5,a\n", XY),
    "two files with marks, one behind the other": Messy(
        "\ufeffx,y\n1.5,a\n2.5,b\n\ufeffx,y\n3.5,a\n", XY, "comes again"
    ),
    "Latin-1": Messy(
        "x,y\n1.5,né\n2.5,b\n".encode("latin-1"), {"x": [1.5, 2.5], "y": ["né", "b"]}, "encoding cp1252"
    ),
    "UTF-16": Messy(
        "x,y\n1.5,né\n2.5,b\n".encode("utf-16"), {"x": [1.5, 2.5], "y": ["né", "b"]}, "encoding utf-16"
    ),
    "UTF-16 without a mark": Messy(
        "x,y\n1.5,né\n2.5,b\n".encode("utf-16-be"), {"x": [1.5, 2.5], "y": ["né", "b"]}, "utf-16-be"
    ),
    "UTF-32": Messy("x,y\n1.5,né\n2.5,b\n".encode("utf-32"), {"x": [1.5, 2.5], "y": ["né", "b"]}, "utf-32"),
    "a zero byte": Messy(b"x,y\n1.5,a\x00\n2.5,b\n3.5,a\n", XY, "zero bytes"),
    "no text at all": Messy(bytes(range(256)) * 4, {}, "not a text file", {}, True),
    "old line ends": Messy("x,y\r1.5,a\r2.5,b\r3.5,a\r", XY),
    "mixed line ends": Messy("x,y\r\n1.5,a\n2.5,b\r3.5,a\r\n", XY),
    "no end of the last line": Messy("x,y\n1.5,a\n2.5,b\n3.5,a", XY),
    # Kinds that were thought of later
    "a line of units": Messy(
        "w,h\nkg,cm\n70.5,18.5\n80.5,19.5\n60,17\n75,16\n",
        {"w kg": [70.5, 80.5, 60, 75], "h cm": [18.5, 19.5, 17, 16]},
        "header=2 joins",
        {"header": 2},
    ),
    "dates in two ways": Messy(
        "x,y\n2024-01-05,a\n05/02/2024,b\n",
        {"x": ["2024-01-05", "05/02/2024"], "y": ["a", "b"]},
        "in one way",
    ),
    "k and M": Messy("x,y\n1.2M,a\n350k,b\n", {"x": [1200000, 350000], "y": ["a", "b"]}),
    "errors of a spreadsheet": Messy(
        "x,y\n1.5,a\n#DIV/0!,b\n3.5,a\n", {**XY, "x": [1.5, None, 3.5]}, "#DIV/0!", {"holes": ["#DIV/0!"]}
    ),
    "every line in quotes": Messy('"x,y"\n"1.5,a"\n"2.5,b"\n"3.5,a"\n', XY, "stood in quotes"),
    "a page": Messy("<table><tr><td>a</td></tr></table>\n", {}, "save it as .csv", {}, True),
    "JSON called text": Messy('[{"a":1},{"a":2}]', {}, "suffix .json", {}, True),
    "a spreadsheet called text": Messy(b"PK\x03\x04" + bytes(range(200)), {}, "xlsx", {}, True),
    "columns of fixed width": Messy(
        "name      age\nJohn       25\nJane Doe   30\n",
        {"name": ["John", "Jane Doe"], "age": [25, 30]},
        "two at least",
        name="t.txt",
    ),
    "decimal commas between commas": Messy("x,y\n1,5,2,7\n3,5,4,5\n", {}, "in quotes", {}, True),
    "an index without a name": Messy(
        ",x,y\n0,1.5,a\n1,2.5,b\n2,3.5,a\n", XY, r"drop=\[''\]", {"drop": [""]}, True
    ),
    "the end of a file of old": Messy(b"x,y\n1.5,a\n2.5,b\n3.5,a\n\x1a", XY, "\\^Z"),
    "letters that were read wrongly once": Messy(
        "x,y\n1.5,MÃ¼ller\n2.5,b\n", {"x": [1.5, 2.5], "y": ["MÃ¼ller", "b"]}, "read in another encoding"
    ),
    "points that may part thousands": Messy(
        "x;y\n1.234;a\n999;b\n12.345;a\n",
        {"x": [1234, 999, 12345], "y": ["a", "b", "a"]},
        "thousands='.'",
        {"thousands": "."},
    ),
    "neither UTF-8 nor Western": Messy(
        "名,v\n大阪,1\n".encode("shift-jis"),
        {"名": ["大阪"], "v": [1]},
        "shift-jis",
        {"encoding": "shift-jis"},
        True,
    ),
    "dates of eight digits": Messy(
        "x,y\n20240131,a\n20240301,b\n", {"x": [0, 30], "y": ["a", "b"]}, "days since"
    ),
    "a dash for a hole": Messy(
        "x,y\n1.5,a\n—,b\n3.5,a\n", {**XY, "x": [1.5, None, 3.5]}, "—", {"holes": ["—"]}
    ),
    "a truncated last row": Messy(
        "x,y,z\n1.5,a,1\n2.5,b,2\n3.5,a\n", {}, "line 4: 2 cells.*ragged=True", {}, True
    ),
    "blanks around tabs": Messy("x \t y\n1.5 \t a\n2.5 \t b\n3.5\ta\n", XY),
    "sections": Messy("North\nx,y\n1.5,a\n2.5,b\nSouth\nx,y\n3.5,a\n", {}, "skip", {}, True),
    # Kinds that nobody had thought of yet
    "groups as in India": Messy(
        'x,y\n"1,23,456.5",a\n"12,34,567",b\n"99,999",a\n',
        {"x": [123456.5, 1234567.0, 99999.0], "y": ["a", "b", "a"]},
    ),
    "a minus of its own": Messy("x,y\n−1.5,a\n2.5,b\n", {"x": [-1.5, 2.5], "y": ["a", "b"]}),
    "blanks that do not break": Messy("x,y\n\xa01.5,a\n2.5\xa0,b\n", {"x": [1.5, 2.5], "y": ["a", "b"]}),
    "plus signs": Messy("x,y\n+1.5,a\n-2.5,b\n", {"x": [1.5, -2.5], "y": ["a", "b"]}),
    "exponents of Fortran": Messy(
        "x,y\n1.5D+03,a\n2.5D-02,b\n", {"x": [1500.0, 0.025], "y": ["a", "b"]}, "is read as 1500"
    ),
    "hexadecimal labels": Messy("x,y\n0x1F,a\n0x2A,b\n", {"x": ["0x1F", "0x2A"], "y": ["a", "b"]}),
    "first, second, third": Messy("x,y\n1st,a\n2nd,b\n", {"x": ["1st", "2nd"], "y": ["a", "b"]}),
    "below what can be measured": Messy(
        "x,y\n<0.5,a\n1.5,b\n2.5,a\n",
        {"x": [None, 1.5, 2.5], "y": ["a", "b", "a"]},
        "'<0.5' look like numbers",
        {"holes": ["<0.5"]},
    ),
    "fractions": Messy(
        "x,y\n1 1/2,a\n3/4,b\n", {"x": ["1 1/2", "3/4"], "y": ["a", "b"]}, "in a form that is not read"
    ),
    "powers of ten": Messy(
        "x,y\n1.5×10^3,a\n2×10^-2,b\n", {"x": ["1.5×10^3", "2×10^-2"], "y": ["a", "b"]}, "plain numbers"
    ),
    "digits of another script": Messy(
        "x,y\n١٢,a\n٣٤,b\n", {"x": ["١٢", "٣٤"], "y": ["a", "b"]}, "in a form that is not read"
    ),
    "a code far below": Messy(
        "x,y\n1.5,a\n-99,b\n3.5,a\n-99,b\n2.5,a\n",
        {"x": [1.5, None, 3.5, None, 2.5], "y": ["a", "b", "a", "b", "a"]},
        r"-99 comes 2 times.*holes=\['-99'\]",
        {"holes": ["-99"]},
    ),
    "a code far above": Messy(
        "x,y\n1.5,a\n999,b\n3.5,a\n999,b\n2.5,a\n",
        {"x": [1.5, None, 3.5, None, 2.5], "y": ["a", "b", "a", "b", "a"]},
        "999 comes 2 times",
        {"holes": ["999"]},
    ),
    "a negative code among what cannot be": Messy(
        "x,y\n15.5,a\n-9,b\n3.5,a\n-9,b\n2000,a\n",
        {"x": [15.5, None, 3.5, None, 2000.0], "y": ["a", "b", "a", "b", "a"]},
        "-9 comes 2 times",
        {"holes": ["-9"]},
    ),
    "yes and no in German": Messy("x,y\n1.5,ja\n2.5,nein\n", {"x": [1.5, 2.5], "y": ["ja", "nein"]}),
    "true in three ways": Messy(
        "x,y\n1.5,TRUE\n2.5,true\n3.5,False\n", {**XY, "y": ["TRUE", "true", "False"]}, "spelling alone"
    ),
    "ranges are states": Messy("x,y\n1.5,10-20\n2.5,20-30\n", {"x": [1.5, 2.5], "y": ["10-20", "20-30"]}),
    "addresses of machines": Messy(
        "x,y\n1.5,10.0.0.1\n2.5,10.0.0.2\n", {"x": [1.5, 2.5], "y": ["10.0.0.1", "10.0.0.2"]}
    ),
    "German months": Messy("x,y\n31. Januar 2024,a\n1. März 2024,b\n", {"x": [0, 30], "y": ["a", "b"]}),
    "French months": Messy("x,y\n31 janvier 2024,a\n1 août 2024,b\n", {"x": [0, 183], "y": ["a", "b"]}),
    "Spanish months": Messy(
        "x,y\n31 de enero de 2024,a\n1 de marzo de 2024,b\n", {"x": [0, 30], "y": ["a", "b"]}
    ),
    "weeks": Messy(
        "x,y\n2024-W05,a\n2024-W09,b\n", {"x": [0, 28], "y": ["a", "b"]}, "29 Jan 2024, its first day"
    ),
    "quarters": Messy("x,y\n2024Q1,a\n2024Q2,b\n", {"x": [0, 91], "y": ["a", "b"]}, "its first day"),
    "years of two digits": Messy(
        "x,y\n31.01.98,a\n01.03.98,b\n", {"x": [0, 29], "y": ["a", "b"]}, "years of two digits"
    ),
    "a date of zeros": Messy(
        "x,y\n2024-01-31,a\n0000-00-00,b\n2024-03-01,a\n",
        {"x": [0, None, 30], "y": ["a", "b", "a"]},
        r"holes=\['0000-00-00'\]",
        {"holes": ["0000-00-00"]},
    ),
    "durations": Messy("x,y\n1h 30m,a\n45m,b\n", {"x": [1.5, 0.75], "y": ["a", "b"]}, "hours"),
    "morning and afternoon": Messy("x,y\n10:30 AM,a\n2:15 PM,b\n", {"x": [10.5, 14.25], "y": ["a", "b"]}),
    "a blank before quotes": Messy(
        'x, y\n1.5, "a, b"\n2.5, "c"\n', {"x": [1.5, 2.5], "y": ["a, b", "c"]}, "blanks before quotes"
    ),
    "a blank behind quotes": Messy(
        '"x" ,"y"\n1.5,"a" \n2.5 , "b, c" \n',
        {"x": [1.5, 2.5], "y": ["a", "b, c"]},
        "blanks behind quotes left out",
    ),
    "blanks on both sides of quotes": Messy(
        '"x" ; "y" ;z\n1.5; "say ""so"" ; or" ; "1" \n2.5;"b\n" ;2\n',
        {"x": [1.5, 2.5], "y": ['say "so" ; or', "b"], "z": [1, 2]},
        "blanks behind quotes left out, in 5 cells",
    ),
    "a quote behind quotes and a blank": Messy(
        'x,y\n1.5,"a" b\n2.5,c\n', {"x": [1.5, 2.5], "y": ['"a" b', "c"]}, "quote=''", {"quote": ""}, True
    ),
    # Kinds that an attacker thought of
    "mixed line ends inside and outside quotes": Messy(
        'x,y\r\n1.5,"a\r\nb"\n2.5,"c\nd"\r3.5,e\r\n', {"x": XY["x"], "y": ["a\r\nb", "c\nd", "e"]}
    ),
    "a mark, then comments": Messy(
        b"\xef\xbb\xbf# by export 3.2\n# 2024\nx,y\n1.5,a\n# break\n2.5,b\n3.5,a\n", XY, "begin with #"
    ),
    "empty cells behind some rows": Messy(
        "x\ty\n1.5\ta\t\n2.5\tb\t\t\n3.5\ta\n", XY, "behind the last column left out, in 2 rows", name="t.tsv"
    ),
    "fixed width with blanks in names": Messy(
        "id  name        age\n001 Ann Smith    31\n002 Bob Lee\n003 Cy Young-Day 52\n",
        {
            "id": ["001", "002", "003"],
            "name": ["Ann Smith", "Bob Lee", "Cy Young-Day"],
            "age": [31, None, 52],
        },
        "fixed width, which begin at the letters 1, 5, 18",
        name="t.txt",
    ),
    "a word across columns of fixed width": Messy(
        "id  name        age\n"
        + "001 Ann Smith    31\n003 Cy Young-Day 52\n" * 2000
        + "004 Anthony Charles II 9\n",
        {},
        "line 4002: a word stands across",
        {},
        True,
        "t.txt",
    ),
    "prose is one column": Messy(
        "It has\nthree lines\nand no more\n", {"It has": ["three lines", "and no more"]}, name="t.txt"
    ),
    "most lines with a rare sign": Messy(
        "x & y\n----\n1.5 & a\n2.5 & b\n", {"x & y": ["----", "1.5 & a", "2.5 & b"]}, "most lines have '&'"
    ),
    "points and commas for decimals": Messy(
        "x;y\n1.5;a\n2,5;b\n",
        {"x": ["1.5", "2,5"], "y": ["a", "b"]},
        "different ways of writing, '1.5', '2,5'",
    ),
    "identifiers that a spreadsheet cut": Messy(
        "id,x\n1.23457E+15,1.5\n9.87654E+15,2.5\n",
        {"id": [1234570000000000, 9876540000000000], "x": [1.5, 2.5]},
        "a spreadsheet has cut them",
    ),
    "months with two digits": Messy(
        "x,y\nJan-24,a\nFeb-24,b\n", {"x": ["Jan-24", "Feb-24"], "y": ["a", "b"]}, "write 2024-01"
    ),
    "errors behind numbers": Messy(
        "x,y\n1.5±0.1,a\n2.5 +/- 0.2,b\n", {"x": ["1.5±0.1", "2.5 +/- 0.2"], "y": ["a", "b"]}, "not read"
    ),
    "degrees": Messy(
        "lat,y\n52°31'N,a\n48.1°N,b\n", {"lat": ["52°31'N", "48.1°N"], "y": ["a", "b"]}, "not read"
    ),
    "ARFF": Messy("@relation t\n@attribute x numeric\n@data\n1.5\n", {}, "ARFF, as Weka", {}, True),
    "names and rows by themselves": Messy(
        '{"columns":["x","y"],"index":[0,1],"data":[[1.5,"a"],[2.5,"b"]]}',
        {"x": [1.5, 2.5], "y": ["a", "b"]},
        name="t.json",
    ),
    "lists in records": Messy(
        '[{"x":1.5,"t":[1,2]},{"x":2.5,"t":[]}]',
        {"x": [1.5, 2.5]},
        r"drop=\['t'\]",
        {"drop": ["t"]},
        True,
        "t.json",
    ),
    "records with other names and blank lines": Messy(
        '{"x":1.5,"y":"a"}\n\n{"x":2.5,"z":true}\n',
        {"x": [1.5, 2.5], "y": ["a", None], "z": [None, True]},
        "what one lacks is a hole",
        name="t.ndjson",
    ),
    "a packed file in a packed one": Messy(
        zipped("data.csv.gz", gzip.compress(b"x,y\n1.5,a\n2.5,b\n3.5,a\n", mtime=0)),
        XY,
        "unpacked",
        name="t.zip",
    ),
    "text called a spreadsheet": Messy("x,y\n1.5,a\n", {}, "but text; call it .csv", {}, True, "t.xlsx"),
    "a page called a spreadsheet": Messy("<html><table></table>", {}, "but a page", {}, True, "t.xls"),
    "zones that differ": Messy(
        "t,y\n2024-03-31T01:30:00+01:00,a\n2024-03-31 00:30:00-05:00,b\n",
        {"t": [0.0, 5.0], "y": ["a", "b"]},
        "UTC",
    ),
    "durations beyond a day": Messy(
        "d,y\n1:30:00,a\n26:15:00,b\n", {"d": [1.5, 26.25], "y": ["a", "b"]}, "durations"
    ),
    "midnight and noon": Messy("t,y\n12:15 AM,a\n12:30 pm,b\n", {"t": [0.25, 12.5], "y": ["a", "b"]}),
    "tildes": Messy("x~y\n1.5~a\n2.5~b\n3.5~a\n", XY, "delimiter='~'", {"delimiter": "~"}),
    "signs that cannot be seen": Messy(
        "x,y\n1.5,a\u200b\n2.5,b\n", {"x": [1.5, 2.5], "y": ["a\u200b", "b"]}, "cannot be seen"
    ),
    "Markdown": Messy(
        "| x | y |\n|---|---|\n| 1.5 | a |\n", {}, "drawn with lines.*save it as .csv", {}, True
    ),
    "what psql prints": Messy(
        " x   | y \n-----+---\n 1.5 | a\n(1 row)\n", {}, "psql --csv", {}, True, "t.txt"
    ),
    "packed as Zstandard": Messy(b"\x28\xb5\x2f\xfd", {}, "unpack it first", {}, True, "t.csv.zst"),
    "Cyrillic of old": Messy(
        "имя,x\nАнна,1.5\nПётр,2.5\n".encode("cp1251"),
        {"имя": ["Анна", "Пётр"], "x": [1.5, 2.5]},
        "'cp1251'",
        {"encoding": "cp1251"},
    ),
    "lines that describe columns, as Qualtrics has them": Messy(
        'x,y\n"How tall?",Why?\n"{""ImportId"":""Q1""}","{""ImportId"":""Q2""}"\n1.5,a\n2.5,b\n3.5,a\n',
        XY,
        "2 lines below the header left out",
    ),
    "a long preamble of pairs": Messy(
        "[Header]\nVersion\t5.87\nFile\trun7\nDate\t3/4/2024\n\n[Peaks]\nPeaks\t3\n"
        "x\ty\tz\n1.5\ta\t1\n2.5\tb\t2\n3.5\ta\t1\n",
        XYZ,
        "7 lines above the header left out: '\\[Header\\]'",
        name="t.txt",
    ),
    "a header among comments": Messy(
        "##format=4.2\n##source=x\n#chrom\tpos\tref\n1\t100\tA\n1\t205\tC\n2\t99\tT\n",
        {"#chrom": [1, 1, 2], "pos": [100, 205, 99], "ref": ["A", "C", "T"]},
        "2 lines above the header",
        name="t.txt",
    ),
    "a German account": Messy(
        '"Konto:";"DE89 / Giro";\n"Stand am 31.03.2024:";"1.234,56 EUR";\n\n'
        '"Tag";"Text";"Betrag";"Gläubiger";\n'
        '"02.01.2024";"Lastschrift";"-1.045,10";"x";\n"15.01.2024";"Gutschrift";"2.500,00";"";\n'
        '"28.02.2024";"Lastschrift";"-12,99";"y";\n'.encode("latin-1"),
        {
            "Tag": [0, 13, 57],
            "Text": ["Lastschrift", "Gutschrift", "Lastschrift"],
            "Betrag": [-1045.1, 2500, -12.99],
            "Gläubiger": ["x", None, "y"],
        },
        "3 lines above the header",
    ),
    "two tables": Messy(
        "x,y\n1.5,a\n2.5,b\n3.5,a\n\ncity,pop,area\nRome,2.8,1285\nOslo,0.7,454\n",
        XY,
        "another table: 'city', 'pop'; skip_end=3 leaves that out, skip=5",
        {"skip_end": 3},
        True,
    ),
    "two tables of one width": Messy(
        "x,y\n1.5,a\n2.5,b\n3.5,a\n\nx,z\n3.5,a\n4.5,b\n",
        {"x": [3.5, 4.5], "z": ["a", "b"]},
        "another table: 'x', 'z'",
        {"skip": 5},
    ),
    "below what can be measured, with decimal commas": Messy(
        "x;y\n<0,05;a\n1,35;b\n0,88;a\n",
        {"x": [None, 1.35, 0.88], "y": ["a", "b", "a"]},
        "'<0,05' look like numbers",
        {"holes": ["<0,05"]},
    ),
    "a bookkeeper's amounts": Messy(
        'x,y\n"$ 1,234.00 ",a\n $ (45.10),b\n $ -   ,a\n',
        {"x": [1234, -45.1, None], "y": ["a", "b", "a"]},
        r"holes=\['\$ -'\]",
        {"holes": ["$ -"]},
    ),
    "genes that became dates": Messy(
        "x,y\n1.5,SEPT2\n2.5,1-Mar\n3.5,DEC1\n",
        {**XY, "y": ["SEPT2", "1-Mar", "DEC1"]},
        "'1-Mar' may be dates that a spreadsheet",
    ),
    "minutes and seconds": Messy(
        "x,y\n03:30.0,a\n04:01.5,b\n", {"x": [3.5, 4.025], "y": ["a", "b"]}, "'03:30.0' is 210 seconds"
    ),
    "times as servers log them": Messy(
        "x,y\n04/Mar/2024:10:00:00 +0000,a\n06/Mar/2024:10:00:00 +0000,b\n",
        {"x": [0, 2], "y": ["a", "b"]},
        "UTC",
    ),
    "times as SAS writes them": Messy("x,y\n05JAN2024,a\n07JAN2024,b\n", {"x": [0, 2], "y": ["a", "b"]}),
    "times without a year": Messy(
        "x,y\nMar  4 10:11:12,a\nApr 14 10:11:12,b\n",
        {"x": ["Mar  4 10:11:12", "Apr 14 10:11:12"], "y": ["a", "b"]},
        "with a day, such as",
    ),
    "true and 1": Messy(
        "x,y\n1.5,TRUE\n2.5,FALSE\n3.5,1\n", {**XY, "y": ["TRUE", "FALSE", "1"]}, "'TRUE', '1'"
    ),
    "marks of Stata and MySQL": Messy(
        "x,y\n1.5,a\n.a,\\N\n.b,b\n",
        {"x": [1.5, None, None], "y": ["a", None, "b"]},
        r"'\.a', '\.b', .* may mean that a value is missing",
        {"holes": [".a", ".b", "\\N"]},
    ),
    "marks of footnotes": Messy(
        "x,y\n12.5*,a\n13.1,b\n", {"x": ["12.5*", "13.1"], "y": ["a", "b"]}, "form that is not read"
    ),
    "decades": Messy("x,y\n1990s,a\n2000s,b\n", {"x": ["1990s", "2000s"], "y": ["a", "b"]}),
    "sums between rows": Messy(
        "y,x\nN,1.5\nN,2.5\nN Total,4\nS,3.5\nS Total,3.5\n",
        {"y": ["N", "N", "N Total", "S", "S Total"], "x": [1.5, 2.5, 4, 3.5, 3.5]},
        "'N Total', 'S Total' may sum up others",
    ),
    "blocks of rows": Messy(
        "y,x\nN,1.5\n,2.5\n,3.5\nS,4.5\n,5.5\n",
        {"y": ["N", None, None, "S", None], "x": [1.5, 2.5, 3.5, 4.5, 5.5]},
        "every value stands once",
    ),
    "days of weeks": Messy("x,y\n2024-W05-3,a\n2024-W06-1,b\n", {"x": [0, 5], "y": ["a", "b"]}, "31 Jan"),
    "columns by the numbers of rows": Messy(
        '{"x":{"0":1.5,"1":2.5},"y":{"0":"a","1":"b"}}', {"x": [1.5, 2.5], "y": ["a", "b"]}, name="t.json"
    ),
    "records by name": Messy(
        '{"p":{"x":1.5,"y":"a"},"q":{"x":2.5}}', {"x": [1.5, 2.5], "y": ["a", None]}, name="t.json"
    ),
    "lists of cells": Messy(
        '[["x","y"],[1.5,"a"],[2.5,"b"]]', {"x": [1.5, 2.5], "y": ["a", "b"]}, "first row", name="t.json"
    ),
    "numbers and texts of numbers": Messy(
        '{"x":1.5,"y":"a"}\n{"x":"2.5","y":"b"}\n{"x":"3.5","y":"a"}\n', XY, name="t.ndjson"
    ),
    "a record that is cut": Messy(
        '{"x":1.5}\n{"x":2.5}\n{"x":3.', {}, "line 3 is not JSON", {}, True, "t.ndjson"
    ),
    "two merged header lines": Messy(
        "North,,South,\nx,y,x,y\n1.5,a,2.5,b\n3.5,b,4.5,a\n",
        {"North x": [1.5, 3.5], "North y": ["a", "b"], "South x": [2.5, 4.5], "South y": ["b", "a"]},
        "header=2",
        {"header": 2},
        True,
    ),
    "lines in cells": Messy('x,y\n1.5,"a\nb"\n2.5,c\n', {"x": [1.5, 2.5], "y": ["a\nb", "c"]}),
    "sums in German": Messy(
        "y;x\na;1,5\nb;2,5\na;3,5\nSumme;7,5\n", {"y": XY["y"], "x": XY["x"]}, "skip_end=1", {"skip_end": 1}
    ),
    "records a line, called JSON": Messy(
        '{"x":1.5,"y":"a"}\n{"x":2.5,"y":"b"}\n', {"x": [1.5, 2.5], "y": ["a", "b"]}, name="t.json"
    ),
    "objects in records": Messy(
        '[{"x":1.5,"y":{"a":"p"}},{"x":2.5,"y":{"a":"q"}}]',
        {"x": [1.5, 2.5], "y.a": ["p", "q"]},
        "outer.inner",
        name="t.json",
    ),
    "records below a name": Messy(
        '{"n":2,"data":[{"x":1.5,"y":"a"},{"x":2.5}]}', {"x": [1.5, 2.5], "y": ["a", None]}, name="t.json"
    ),
    "gzipped, with a title": Messy(
        gzip.compress(b"Weights\nx,y\n1.5,a\n2.5,b\n3.5,a\n", mtime=0),
        XY,
        "above the header",
        name="t.csv.gz",
    ),
}


def told(path: Path, **options: Any) -> tuple[Any, str]:
    """Return the table's cells and all that is said of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = read(path, **options)
    return table.to_frame("dict"), "\n".join((*table.decisions, *table.notes))


def test_they_are_fifty() -> None:
    assert len(FILES) >= 120


@pytest.mark.parametrize("name", FILES)
def test_a_messy_file_is_read_or_refused_with_what_helps(name: str, tmp_path: Path) -> None:
    messy = FILES[name]
    path = tmp_path / messy.name
    path.write_bytes(messy.text if isinstance(messy.text, bytes) else messy.text.encode())
    if messy.refused:
        with pytest.raises(LacunaryError, match=f"(?s){messy.said}"):
            read(path)
    elif messy.options and messy.said:
        _, said = told(path)
        _, also = told(path, **messy.options)
        assert re.search(messy.said, said + also)
    if messy.cells:
        cells, said = told(path, **messy.options)
        assert cells == messy.cells
        assert messy.options or re.search(messy.said, said)


SIGNS = st.text(st.sampled_from("ab1.,;|#=\t \"'\\\n\r\x1a\0é$€%()-:/"), max_size=80)


@given(
    SIGNS,
    st.fixed_dictionaries(
        {},
        optional={
            "comment": st.just("#"),
            "header": st.sampled_from([False, True, 2]),
            "delimiter": st.sampled_from([" ", ";", "|"]),
            "quote": st.sampled_from(["", "'"]),
            "escape": st.just("\\"),
            "skip": st.integers(0, 3),
            "skip_end": st.integers(0, 3),
            "ragged": st.booleans(),
            "encoding": st.sampled_from(["latin-1", "utf-16"]),
        },
    ),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_text_is_a_table_or_a_named_error(
    tmp_path_factory: pytest.TempPathFactory, text: str, options: dict[str, Any]
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(text.encode())
    with contextlib.suppress(LacunaryError):
        told(path, **options)
