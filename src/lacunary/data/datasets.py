"""Data that ship with the package: two incomplete tables and two networks, with source and licence."""

from __future__ import annotations

from pathlib import Path

from lacunary.data.table import Table
from lacunary.errors import FileError

__all__ = ["dataset_path", "house_votes", "soybean"]

FOLDER = Path(__file__).parent / "shipped"


def house_votes() -> Table:
    """Return the 1984 votes of the 435 members of the U.S. House: 16 issues and the party, 392 holes.

    Examples
    --------
    >>> import lacunary as lac
    >>> votes = lac.house_votes()
    >>> votes.shape, int(votes.holes.sum())
    ((435, 17), 392)
    """
    return _read("house_votes")


def soybean() -> Table:
    """Return 683 diseased soybean plants: 35 discrete attributes and the disease, 2 337 holes.

    Examples
    --------
    >>> import lacunary as lac
    >>> lac.soybean().shape
    (683, 36)
    """
    return _read("soybean")


def _read(name: str) -> Table:
    from lacunary.data.read import read  # the networks that ship must not wait for what this needs

    return read(dataset_path(name), kinds="discrete")


def dataset_path(name: str) -> Path:
    """Return where a shipped file lies: "house_votes", "soybean" (CSV), "asia" or "alarm" (BIF).

    Sources and licences stand beside them, in ``SOURCES.md``.
    """
    files = {path.stem: path for path in sorted(FOLDER.iterdir()) if path.suffix in (".csv", ".bif")}
    if name not in files:
        raise FileError(f"no data set {name!r} ships with the package; there are {', '.join(files)}")
    return files[name]
