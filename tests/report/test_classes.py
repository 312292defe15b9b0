"""The study of hidden classes, against facts of the data and closed forms."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import lacunary as lac
from lacunary.report.structure import structure
from lacunary.report.words import agreement
from lacunary.study.classes import METHODS
from lacunary.study.profile import Contrast
from tests import naive


@pytest.fixture(scope="module")
def votes() -> lac.Classes:
    return lac.classes(lac.house_votes(), hidden="bloc", components=range(1, 4), aside="party", starts=5)


def test_the_data_are_those_described_by_their_source(votes: lac.Classes) -> None:
    """UCI's description gives the number of members, and of missing values for every vote."""
    assert len(votes.table) == 435
    assert votes.table.whole("a test").holes.sum(axis=0).tolist() == [
        *(12, 48, 11, 11, 15, 11, 14, 15, 22, 7, 21, 31, 25, 17, 28, 104),
    ]
    assert votes.holes == 392
    assert votes.complete == 232
    assert votes.wasted == 203 * 16 - 392
    assert "party" not in votes.table.schema


def closed_form(table: lac.Table) -> Iterator[float]:
    """Log-likelihood of independent columns at n / N, where it is highest."""
    for column in range(len(table.schema)):
        counts = np.bincount(table.codes[~table.holes[:, column], column], minlength=2)
        yield float(counts @ np.log(counts / counts.sum()))


def test_one_class_has_the_bic_of_independent_columns(votes: lac.Classes) -> None:
    expected = sum(closed_form(votes.table.whole("a test"))) - 16 / 2 * np.log(435)
    assert votes.candidates[0].log_evidence["bic"] == pytest.approx(expected, abs=1e-6)  # EM's 1e-10 of it
    assert votes.candidates[0].parameters == 16


def test_more_classes_have_the_parameters_of_naive_bayes(votes: lac.Classes) -> None:
    assert [c.parameters for c in votes.candidates] == [k - 1 + 16 * k for k in (1, 2, 3)]
    for c in votes.candidates:
        top = lac.fit(c.fit.dag, votes.table, method="ml", initial=c.fit, stop=lac.Stop(relative=1e-10))
        expected = top.log_likelihood - c.parameters / 2 * np.log(435)
        assert c.log_evidence["bic"] == pytest.approx(expected, rel=1e-12)  # sums in another order


def test_the_best_is_the_one_of_highest_evidence_and_all_estimates_are_heard(votes: lac.Classes) -> None:
    used = votes.table
    for c in votes.candidates:
        alone = lac.score(c.fit, used, "cheeseman-stutz")
        assert c.log_evidence["cheeseman-stutz"] == pytest.approx(alone.value, abs=1e-6)  # the same fit
    for method in METHODS:
        first = max(votes.candidates, key=lambda c: c.log_evidence[method])
        assert method in votes.favourites[first.classes]
    assert sum(map(len, votes.favourites.values())) == len(METHODS)
    assert votes.criterion == "sbic"
    assert "sbic" in votes.favourites[votes.best.classes]


def test_what_estimates_agree_on_in_words() -> None:
    assert agreement({"5 blocs": ("bic", "laplace")}) == "Both estimates speak for 5 blocs."
    assert agreement({"1 bloc": ("bic",)}) == "The one estimate speaks for 1 bloc."
    assert agreement({"4": ("mled",), "5": ("bic", "draper", "laplace")}) == (
        "BIC, draper and Laplace speak for 5; MLED speaks for 4."
    )


def test_renaming_the_classes_changes_no_probability(votes: lac.Classes) -> None:
    likelihood = votes.network.log_likelihood(votes.table)
    assert likelihood == pytest.approx(votes.best.fit.log_likelihood, rel=1e-12)  # sums in another order
    weights = votes.network.table("bloc")
    assert weights.tolist() == sorted(weights.tolist(), reverse=True)
    assert votes.labels == ("A", "B", "C")


def test_posteriors_are_those_of_enumeration(votes: lac.Classes) -> None:
    rows = votes.table.whole("a test").align(votes.network.dag.schema).codes
    for case in votes.cases:
        if case.holes < 3:  # 2^holes · classes completions
            expected = naive.posterior(votes.network, rows[case.row].tolist(), ["bloc"])
            np.testing.assert_allclose(case.probabilities, expected, rtol=1e-10)  # the engine's promise


def test_a_member_without_votes_gets_the_classes_sizes(votes: lac.Classes) -> None:
    empty = [case for case in votes.cases if case.holes == 16]
    assert [case.row for case in empty] == [248]  # the one line of question marks in the source
    np.testing.assert_allclose(empty[0].probabilities, votes.network.table("bloc"), rtol=1e-12)


def test_profiles_add_up(votes: lac.Classes) -> None:
    profiles = votes.profiles
    assert sum(p.size for p in profiles) == pytest.approx(435, rel=1e-12)
    democrats = sum(p.size * p.aside["democrat"] for p in profiles)
    assert democrats == pytest.approx(267, rel=1e-12)  # UCI: 267 democrats, 168 republicans
    for p in profiles:
        assert sum(p.aside.values()) == pytest.approx(1.0, rel=1e-12)
        gaps = [abs(c.here - c.elsewhere) for c in p.contrasts if isinstance(c, Contrast)]
        assert gaps == sorted(gaps, reverse=True)
        assert len(gaps) == 3


def test_contrasts_and_information_by_hand() -> None:
    """Classes of 3/4 and 1/4; one column tells all, which is the entropy of the classes, another nothing."""
    table = lac.read({"tells": ["y"] + ["n"] * 3, "mute": ["a", "b", "b", "a"]})
    dag = lac.naive_bayes(table.schema, hidden="h", states=["A", "B"])
    network = lac.Network.from_tables(
        dag, {"h": [0.75, 0.25], "tells": [[1, 0], [0, 1]], "mute": [[0.5, 0.5], [0.5, 0.5]]}
    )
    compared = lac.compare([dag], table, ["bic"], starts=1)
    found = lac.Classes(table, "h", None, (), compared, network)
    np.testing.assert_array_equal(found.posterior, [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    assert found.information("tells") == pytest.approx(-0.75 * np.log(0.75) - 0.25 * np.log(0.25), rel=1e-14)
    assert found.information("mute") == 0.0
    assert found.telling == ("tells", "mute")
    first = found.profiles[0].contrasts[0]
    assert isinstance(first, Contrast)
    assert (first.variable, first.state, first.here, first.elsewhere) == ("tells", "y", 0.0, 1.0)
    assert [p.size for p in found.profiles] == [3.0, 1.0]
    assert found.profiles[0].aside == {}


def test_a_study_needs_classes() -> None:
    with pytest.raises(lac.ParameterError, match="at least one number"):
        lac.classes(lac.house_votes(), components=())


def test_an_interrupt_ends_the_study() -> None:
    with pytest.raises(KeyboardInterrupt):
        lac.classes(lac.house_votes(), components=[2], starts=2, watch=lambda classes, progress: True)


def test_structure_of_asia() -> None:
    """Lauritzen & Spiegelhalter 1988: 8 variables, 8 arcs; cliques of three binary variables."""
    found = structure(lac.asia().dag)
    assert (len(found.variables), found.arcs, found.parameters) == (8, 8, 18)
    assert found.largest_clique_size == 8
    assert len(found.largest_clique) == 3


def test_structure_of_alarm() -> None:
    """Bayesian Network Repository: 37 nodes, 46 arcs, 509 parameters."""
    found = structure(lac.alarm().dag)
    assert (len(found.variables), found.arcs, found.parameters) == (37, 46, 509)
