"""The skeletons of the page on extending run as they stand."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import lacunary as lac
from lacunary.evidence import score
from lacunary.family import registry

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
HOLES = lac.make_holes(lac.asia().sample(120, rng=1), 0.2, rng=1)
GRAPH = lac.asia().dag


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    """All that the page defines, as a module that can be found."""
    module = ModuleType("lacunary.evidence.akaike")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(block, module.__dict__)
    return module


def test_the_family_is_fitted_and_weighed(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """λ ~ Gamma(1, 1) a configuration: the peak of log λ is (1 + N)/(1 + Σx)."""
    monkeypatch.setitem(registry.FAMILIES, "exponential", page.ExponentialFamily)
    rng = np.random.default_rng(0)
    line = rng.integers(2, size=60)
    wait = rng.exponential(np.where(line == 0, 1.0, 5.0))
    graph = lac.dag("line -> wait", kinds={"wait": "continuous"}, family={"wait": "exponential"})
    table = {"line": line, "wait": wait}
    mine = [wait[line == j] for j in range(2)]
    peak = [[(1 + len(x)) / (1 + x.sum())] for x in mine]
    np.testing.assert_allclose(np.asarray(lac.fit(graph, table).network.table("wait")), peak)
    best = [[len(x) / x.sum()] for x in mine]
    np.testing.assert_allclose(np.asarray(lac.fit(graph, table, method="ml").network.table("wait")), best)
    n = np.array([len(x) for x in mine])
    wanted = gammaln(1 + n).sum() - gammaln(62)  # of the lines: Γ(2)/Γ(2 + N) Π Γ(1 + n)
    wanted += sum(gammaln(1 + len(x)) - (1 + len(x)) * np.log(1 + x.sum()) for x in mine)
    for method in ("exact", "cheeseman-stutz"):
        assert lac.score(graph, table, method).value == pytest.approx(wanted)


def test_the_estimate_is_a_score(page: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    line = re.search(r'`"akaike": (.*?)`', PAGE.read_text(encoding="utf-8"))
    assert line is not None
    monkeypatch.setitem(score.METHODS, "akaike", eval(line[1], {"Method": score.Method}))
    found, bic = (lac.score(GRAPH, HOLES, method) for method in ("akaike", "bic"))
    assert found.value == pytest.approx(bic.value - GRAPH.free * (1 - 0.5 * np.log(len(HOLES))))


def test_the_source_is_one(page: Any) -> None:
    parts = [HOLES.take(slice(a, b)) for a, b in pairwise((0, 50, 90, 120))]
    source = page.Read.of(HOLES.schema, [lambda part=part: part for part in parts])
    assert (len(source), source.size) == (120, 120.0)
    for ask in (
        lambda rows: lac.fit(GRAPH, rows).log_likelihood,
        lambda rows: lac.score(GRAPH, rows, "laplace").value,
        lambda rows: lac.search(rows).score,
        lambda rows: lac.fit_mixture(rows, components=2, structure="empty", starts=1).estimate.value,
        lambda rows: lac.asia().posterior(rows, ["lung"])["lung"].sum(),
    ):
        assert ask(source) == pytest.approx(ask(HOLES), rel=1e-7)
    with pytest.raises(lac.SourceError, match="read part by part"):
        lac.average_graphs(source, draws=1)
