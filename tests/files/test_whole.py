"""Files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import resource
from pathlib import Path
from typing import NoReturn

import pytest

from lacunary.errors import FileError
from lacunary.files import write_whole


def disk_full(*_: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_text_and_bytes_are_written(tmp_path: Path) -> None:
    write_whole(tmp_path / "text", "é\n")
    write_whole(str(tmp_path / "bytes"), b"\x00")
    assert (tmp_path / "text").read_bytes() == b"\xc3\xa9\n"
    assert (tmp_path / "bytes").read_bytes() == b"\x00"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bytes", "text"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("old", [b"old", None])
def test_a_failure_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, old: bytes | None
) -> None:
    path = tmp_path / "file"
    if old is not None:
        path.write_bytes(old)
    monkeypatch.setattr(os, step, disk_full)
    with pytest.raises(FileError, match=r"cannot write .*file: No space left on device; nothing was changed"):
        write_whole(path, "new")
    assert [p.read_bytes() for p in tmp_path.iterdir()] == ([] if old is None else [old])


def test_a_write_that_breaks_off_half_way_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))  # the system now fails as on a full disk
    try:
        with pytest.raises(FileError, match="File too large"):
            write_whole(path, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [b"old"]


def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_: int) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "file", "new")
    assert not list(tmp_path.iterdir())


def test_places_that_cannot_be_written_to_are_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    with pytest.raises(FileError, match="Not a directory"):
        write_whole(tmp_path / "file" / "below", "new")
    with pytest.raises(FileError, match="No such file or directory"):
        write_whole(tmp_path / "nowhere" / "file", "new")
    with pytest.raises(FileError, match="not a regular file"):
        write_whole(tmp_path, "new")
    with pytest.raises(FileError, match="not a regular file"):
        write_whole(os.devnull, "new")
    assert [p.read_text() for p in tmp_path.iterdir()] == ["old"]


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    path, link = tmp_path / "file", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_whole(link, "new")
    assert link.is_symlink()
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    fresh, plain = tmp_path / "fresh", tmp_path / "plain"
    write_whole(fresh, "")
    plain.write_text("")
    assert fresh.stat().st_mode == plain.stat().st_mode
