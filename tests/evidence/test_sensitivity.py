"""Estimates over a range of priors: the numbers of comparisons, printed and drawn."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.special import betaln

import lacunary as lac

COIN = lac.dag("X", states=2)
ROWS = lac.Table(COIN.schema, np.array([[0]] * 7 + [[1]] * 3))


def test_every_prior_gives_what_is_known_of_a_coin() -> None:
    found = lac.sensitivity(COIN, ROWS, "exact", alphas=[0.5, 1, 4])
    expected = [[betaln(7 + a, 3 + a) - betaln(a, a)] for a in (0.5, 1, 4)]
    assert found.values() == pytest.approx(np.array(expected))
    bdeu = lac.sensitivity(COIN, ROWS, "exact", alphas=[1, 2], prior="bdeu")
    assert bdeu.values()[:, 0] == pytest.approx([expected[0][0], expected[1][0]])
    own = lac.sensitivity(COIN, ROWS, "exact", alphas=[2], prior=lambda a: lac.Dirichlet(a / 2))
    assert own.values()[0, 0] == pytest.approx(expected[1][0])


def test_the_best_model_may_hang_on_the_prior() -> None:
    rows = lac.Table(lac.dag("A; B", states=2).schema, np.array([[0, 0], [1, 1]] * 5 + [[0, 1], [1, 0]] * 2))
    told: list[tuple[int, int, str]] = []
    found = lac.sensitivity(
        {"apart": "A; B", "joined": "A -> B"},
        rows,
        ["exact", "bic"],
        alphas=[0.01, 2],
        watch=lambda *what: told.append(what),
    )
    assert found.best() == {0.01: "apart", 2.0: "joined"}  # by 2.73 and 0.62 nats, from log-gammas
    assert [t[:2] for t in told] == [(i, 8) for i in range(8)]
    assert "alpha = 2" in told[-1][2]
    printed = str(found).splitlines()
    assert printed[2].split() == ["exact", "apart", "joined"]
    assert printed[4].endswith("*")
    assert len(found.rows()) == 8
    figure = found.plot("bic")
    assert isinstance(figure, Figure)
    assert [drawn.get_label() for drawn in figure.axes[0].containers] == ["apart", "joined"]


def test_the_figure_has_errors_and_numbers_that_tell_ticks_apart() -> None:
    models = {"few": COIN, "more": lac.dag("H -> X", schema=COIN.schema, hidden={"H": 2})}
    found = lac.sensitivity(models, ROWS, ["ais", "exact"], alphas=[1.1, 1.0], prior=lac.Dirichlet)
    axes = found.plot().axes[0]
    axes.figure.canvas.draw()
    (line, _, (bars,)) = axes.containers[1]
    assert line.get_xdata().tolist() == [1.0, 1.1]
    heights = [ends[1, 1] - ends[0, 1] for ends in map(np.asarray, bars.get_segments())]
    assert heights == pytest.approx([2 * float(e) for e in found.errors()[::-1, 1]])
    assert min(heights) > 0  # of completions, which are drawn
    said = [label.get_text() for label in axes.get_yticklabels()]
    assert len(set(said)) == len(said) > 2  # within a tenth of a nat
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "1.1"]
    assert axes.get_xlabel() == "alpha, as the function of priors takes it"


def test_what_makes_no_priors_is_refused() -> None:
    with pytest.raises(lac.ParameterError, match="'dirichlet', 'bdeu'"):
        lac.sensitivity(COIN, ROWS, prior="flat")  # type: ignore[arg-type]
    with pytest.raises(lac.ParameterError, match="at least one alpha"):
        lac.sensitivity(COIN, ROWS, alphas=[])


def test_errors_and_refusals_are_printed_under_each_prior() -> None:
    dag = lac.dag("A -> B", states=2)
    codes = np.array([[0, 0], [0, 1], [1, -1], [1, 1], [-1, 0], [1, 1], [0, 0]])
    rows = lac.Table(dag.schema, codes)
    models = {"apart": lac.dag("A; B", schema=dag.schema), "joined": dag}
    found = lac.sensitivity(models, rows, ["sampled", "laplace"], alphas=[0.01, 1])
    sampled, laplace = str(found).split("laplace ", 1)
    assert sampled.count("±") == 4  # no Monte Carlo number without its error
    assert "refused" in laplace
    assert "nan" not in str(found)
    assert "at 0.01, laplace of joined: posterior counts" in laplace
    with pytest.raises(lac.NoEstimateError, match="no estimate of joined"):
        found.best("laplace")
    low = [{"model": "joined", "method": "laplace", "kind": "refused"}, found.rows()[3]]
    assert low[0].items() <= low[1].items()
