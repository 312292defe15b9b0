"""A network's tables: arrays that print with parents and states named."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import lacunary as lac


def test_a_table_is_an_array_with_labels() -> None:
    table = lac.asia().table("dysp")
    assert table.shape == (2, 2, 2)
    assert float(table[0, 1, 0]) == 0.8
    assert repr(table) == repr(lac.asia().cpt("dysp"))
    assert "bronc  either  yes   no" in str(table)
    assert str(table.round(1)).splitlines()[2].split() == ["yes", "yes", "0.9", "0.1"]
    assert "<th>bronc</th>" in (table._repr_html_() or "")
    frame = table.to_frame("dict")
    assert frame["bronc"] == ["yes", "yes", "no", "no"]
    assert frame["yes"] == [0.9, 0.8, 0.7, 0.1]


def test_copies_keep_their_labels() -> None:
    table = lac.asia().table("dysp")
    for other in (copy.copy(table), copy.deepcopy(table), table.copy(), pickle.loads(pickle.dumps(table))):
        assert repr(other) == repr(table)


def test_what_is_taken_from_a_table_is_an_array_as_others_are() -> None:
    table = lac.asia().table("dysp")
    assert repr(table[0]) == repr(np.asarray(table[0]))
    assert repr(table == 0.9) == repr(np.asarray(table) == 0.9)  # truths are no probabilities
    assert table[0]._repr_html_() is None
    assert float(table.sum()) == pytest.approx(4.0)
    with pytest.raises(lac.ParameterError, match="ask the network"):
        table[0].labelled()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(table)), table)
    for other in (table.transpose(1, 0, 2), table[::-1], np.log(table), 1 - table):
        assert repr(other) == repr(
            np.asarray(other)
        )  # of the same shape, and p(dysp | bronc, either) no more
    network = lac.fit("x -> y", {"x": [1.5, 2.5, 3.25], "y": [1.25, 2.0, 3.75]}).network
    assert "slope of x" in str(network.table("y"))
