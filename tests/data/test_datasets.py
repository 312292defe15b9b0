"""The shipped data are what their sources say they are."""

import pytest

from lacunary.data.datasets import FOLDER, dataset_path, house_votes, soybean
from lacunary.errors import FileError


def test_house_votes() -> None:
    votes = house_votes()
    assert (len(votes), len(votes.schema), int(votes.holes.sum())) == (435, 17, 392)
    assert votes.schema["party"].states == ("democrat", "republican")
    # the class distribution printed in the UCI description: 267 democrats, 168 republicans
    assert [(votes.codes[:, 0] == k).sum() for k in (0, 1)] == [267, 168]
    assert {v.states for v in votes.schema if v.name != "party"} == {("n", "y")}
    assert votes.codes.dtype == "int8"
    # holes by issue as the UCI description counts them
    assert votes.holes.sum(axis=0).tolist() == [
        0,
        12,
        48,
        11,
        11,
        15,
        11,
        14,
        15,
        22,
        7,
        21,
        31,
        25,
        17,
        28,
        104,
    ]


def test_soybean() -> None:
    beans = soybean()
    assert (len(beans), len(beans.schema), int(beans.holes.sum())) == (683, 36, 2337)
    assert all(v.discrete for v in beans.schema)
    assert beans.schema["class"].size == 19
    assert beans.schema["date"].states == tuple(range(7))


def test_every_shipped_file_is_found_and_has_its_source() -> None:
    sources = (FOLDER / "SOURCES.md").read_text(encoding="utf-8")
    for name in ("house_votes", "soybean", "asia", "alarm"):
        path = dataset_path(name)
        assert path.is_file()
        assert f"`{path.name}`" in sources
    assert dataset_path("asia").read_text().startswith("network")
    with pytest.raises(FileError, match="there are alarm, asia, house_votes, soybean"):
        dataset_path("titanic")
