"""The verb `classes`: what it returns prints, plots, saves and assigns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import lacunary as lac
from lacunary.registry import LENT, borrow


@pytest.fixture(scope="module")
def found() -> lac.Classes:
    columns = ["crime", "immigration", "physician_fee_freeze", "party"]
    table = lac.house_votes().select(columns)
    return lac.classes(table, [1, 2], hidden="bloc", aside="party", starts=2)


def test_it_holds_fits_comparison_and_responsibilities(found: lac.Classes) -> None:
    assert sorted(found.fits) == [1, 2]
    assert found.number == found.best.classes
    assert found.comparison.best("cheeseman-stutz") in found.comparison.models
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1.0, rtol=1e-12)  # rounding of a sum of two
    again = found.network.posterior(found.table, ["bloc"])["bloc"]
    assert np.array_equal(found.posterior, again)


def test_rows_go_to_their_most_probable_class(found: lac.Classes) -> None:
    labels = found.assign()
    assert labels == [found.labels[k] for k in found.posterior.argmax(axis=1)]
    assert found.assign(found.table.whole("a test").take(slice(7))) == labels[:7]


def test_it_prints_as_tables(found: lac.Classes) -> None:
    assert repr(found) == f"<Classes: {found.number} of bloc best of 1, 2; 435 rows>"
    shown = str(found)
    assert "How many blocs?" in shown
    assert f"The {found.number} bloc" in shown
    assert max(map(len, shown.splitlines())) <= 100


@pytest.mark.parametrize("what", ["evidence", "profiles", "traces", "starts"])
def test_it_plots(found: lac.Classes, what: str) -> None:
    [axes, *_] = found.plot(what).axes  # type: ignore[arg-type]
    assert axes.get_xlabel()


def test_other_plots_are_refused(found: lac.Classes) -> None:
    with pytest.raises(lac.ParameterError, match="'profiles'"):
        found.plot("bars")  # type: ignore[arg-type]


def test_it_writes_a_page_and_the_network(found: lac.Classes, tmp_path: Path) -> None:
    html = found.page(tmp_path / "blocs.html", title="Blocs of 1984", row="member")
    assert (tmp_path / "blocs.html").read_text(encoding="utf-8") == html
    assert "<h1>Blocs of 1984" in html
    found.save(tmp_path / "blocs.json")
    assert np.array_equal(lac.load(tmp_path / "blocs.json").theta, found.network.theta)


def test_frames_and_a_single_number_are_taken() -> None:
    frame = {"a": ["x", "y", "x", "y"], "b": ["x", "y", "x", None]}
    assert lac.classes(frame, 1, starts=1).number == 1


def test_all_that_is_lent_is_there() -> None:
    for name in LENT:
        assert callable(borrow(name))


def test_the_old_name_still_works() -> None:
    from lacunary import report

    with pytest.warns(DeprecationWarning, match="lacunary.classes now"):
        assert report.study is lac.classes
