"""Loading and saving: the suffix chooses, and what does not fit is told."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pytest

from lacunary.errors import FileError
from lacunary.files import load, save, store
from lacunary.infer.belief import Dirichlet
from lacunary.infer.network import Network, random_network
from tests.files.samples import BIF, JSON, NET, NET_CLASS, TABLES, XMLBIF

TEXTS = {".bif": BIF, ".net": NET, ".xml": XMLBIF, ".xmlbif": XMLBIF, ".bifxml": XMLBIF, ".json": JSON}


@pytest.mark.parametrize("suffix", TEXTS)
@pytest.mark.parametrize("packed", ["", ".gz", ".GZ"])
def test_every_suffix_is_read_and_written(tmp_path: Path, suffix: str, packed: str) -> None:
    data = TEXTS[suffix].encode()
    path = tmp_path / f"a.garden.of{suffix}{packed}"
    path.write_bytes(gzip.compress(data) if packed else data)
    network = load(path)
    np.testing.assert_array_equal(network.table("3"), TABLES["3"])
    drawn = random_network(network.dag, rng=1)
    save(drawn, str(path))
    again = load(str(path))
    assert again.dag == drawn.dag
    np.testing.assert_array_equal(again.theta, drawn.theta)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == bool(packed)


def test_the_same_thing_gives_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "x.bif").write_text(BIF)
    network = load(tmp_path / "x.bif")
    save(network, tmp_path / "a.json.gz")
    save(network, tmp_path / "b.json.gz")
    assert (tmp_path / "a.json.gz").read_bytes() == (tmp_path / "b.json.gz").read_bytes()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.bif", XMLBIF, "expected BIF, as its suffix says, but found XMLBIF"),
        ("x.bif", NET_CLASS, "expected BIF, as its suffix says, but found Hugin NET"),
        ("x.bif", "/* */ { }", "but found native JSON"),
        ("x.net", BIF, "expected Hugin NET, as its suffix says, but found BIF"),
        ("x.net", gzip.compress(NET.encode(), mtime=0), "but found gzip-compressed data"),
        ("x.xml", JSON, "expected XMLBIF, as its suffix says, but found native JSON"),
        ("x.json", BIF, "expected native JSON, as its suffix says, but found BIF"),
        ("x.json", b"\x89PNG\x00\x00", "but found binary data"),
        ("x.json", " \n", "but found an empty file"),
        ("x.bif", "Dear reader,", "line 1, column 1: expected 'network'"),
        (
            "x.bif",
            BIF[:-5],
            "line 21, column 24: expected '}', but the text ends here; is the file cut short?",
        ),
        ("x.bif", "network é { }".encode("latin-1"), "line 1: this is not text in UTF-8 (byte 0xe9)"),
        ("x.json.gz", JSON, "expected gzip-compressed data"),
        ("x.json.gz", gzip.compress(JSON.encode(), mtime=0)[:-20], "expected gzip-compressed data"),
    ],
)
def test_a_file_that_is_not_what_its_suffix_says(
    tmp_path: Path, name: str, content: str | bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(FileError, match=f"^{re.escape(str(path))}: .*{re.escape(message)}"):
        load(path)


def test_paths_without_a_known_suffix_or_file(tmp_path: Path) -> None:
    for name in ("x", "x.txt", "x.gz", ".bif.gz.old"):
        with pytest.raises(FileError, match=r"the suffix must be one of \.bif"):
            load(tmp_path / name)
    with pytest.raises(FileError, match=r"cannot read .*: No such file"):
        load(tmp_path / "x.bif")
    (tmp_path / "folder.bif").mkdir()
    with pytest.raises(FileError, match=r"cannot read .*: Is a directory"):
        load(tmp_path / "folder.bif")


def test_size_is_bounded_also_after_unpacking(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "MOST_BYTES", 1000)
    for name, data in (("x.bif", b" " * 1001), ("x.bif.gz", gzip.compress(b" " * 10_000))):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(FileError, match="larger than the limit of 1000 bytes"):
            load(tmp_path / name)


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path: Path) -> None:
    path = tmp_path / "x.bif"
    path.write_bytes(b"\xef\xbb\xbf" + BIF.replace("\n", "\r\n").encode())
    np.testing.assert_array_equal(load(path).table("3"), TABLES["3"])


def test_sums_are_scaled_on_request(tmp_path: Path) -> None:
    path = tmp_path / "x.net"
    path.write_text(NET.replace("(0.25 0.75)", "(1 3)"))
    with pytest.raises(FileError, match=r"p\(rain\) sums to 4"):
        load(path)
    assert load(path, renormalize=True).table("rain").tolist() == [0.25, 0.75]


def test_what_a_format_cannot_hold_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "x.bif").write_text(BIF)
    network: Network = load(tmp_path / "x.bif")
    for suffix in (".bif", ".net", ".xml"):
        with pytest.raises(FileError, match=r"holds networks, not a Belief; save it as \.json"):
            save(Dirichlet(1.0)(network.dag), tmp_path / f"y{suffix}")
    with pytest.raises(FileError, match="the native format holds schema, dag, network, belief"):
        save({"a": 1}, tmp_path / "y.json")
    assert [p.name for p in tmp_path.iterdir()] == ["x.bif"]
