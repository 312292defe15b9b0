"""The study of hidden classes where columns are continuous: against facts of the draw, and its page."""

from __future__ import annotations

from dataclasses import asdict
from io import StringIO
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import quad
from scipy.stats import norm

import lacunary as lac
from lacunary.data.wording import counted, plural
from lacunary.report.classes_page import _levels_chart
from lacunary.report.classes_text import text
from lacunary.report.words import Words, give_or_take, minus
from lacunary.study.levels import Levels


@pytest.fixture(scope="module")
def birds() -> lac.Classes:
    """Two kinds of birds, three measures, some holes; what kind they are is kept aside."""
    rng = np.random.default_rng(0)
    kind = rng.random(240) < 0.4
    rows = {
        "kind": np.where(kind, "owl", "crow"),
        "mass": np.where(kind, 3000.0, 500.0) + rng.normal(size=240) * np.where(kind, 300.0, 40.0),
        "wing": 30.0 + 2.0 * kind + rng.normal(size=240),
        "night": np.where(rng.random(240) < np.where(kind, 0.9, 0.2), "yes", "no"),
    }
    table = lac.read(rows)
    holes = lac.make_holes(table.select(["mass", "wing", "night"]), 0.1, rng=1)
    joined = lac.Table(
        table.schema,
        np.column_stack([table.codes[:, :1], holes.codes]),
        np.column_stack([table.reals[:, :1], holes.reals]),
    )
    return lac.classes(joined, components=[1, 2], aside="kind", starts=3)


def test_profiles_are_in_the_units_of_the_table(birds: lac.Classes) -> None:
    assert birds.best.classes == 2
    crow, owl = (birds.levels("mass").means, birds.levels("mass").sds)
    # Means of 144 and 96 rows, a tenth of them holes: five standard errors; the prior is worth one row.
    assert crow[0] == pytest.approx(500.0, abs=5 * 40 / np.sqrt(130) + 20)
    assert crow[1] == pytest.approx(3000.0, abs=5 * 300 / np.sqrt(86) + 20)
    assert owl[1] == pytest.approx(300.0, rel=0.3)
    assert birds.profiles[0].aside["crow"] > 0.95
    assert birds.telling[0] == "mass"
    assert birds.profiles[0].contrasts[0].variable == "mass"
    assert set(birds.to_dict()["measured"]) == {"mass", "wing"}


def test_information_and_distance_by_integration() -> None:
    levels = Levels("x", np.array([0.3, 0.7]), np.array([0.0, 1.5]), np.array([1.0, 2.0]))

    def density(k: int, x: float) -> float:
        apart = (x - levels.means[k]) / levels.sds[k]
        return float(np.exp(-0.5 * apart**2) / np.sqrt(2 * np.pi) / levels.sds[k])

    def part(k: int, x: float) -> float:
        own, whole = density(k, x), sum(levels.weights[j] * density(j, x) for j in (0, 1))
        return float(levels.weights[k] * own * np.log(own / whole))

    expected = sum(quad(lambda x, k=k: part(k, x), -15, 18, limit=200)[0] for k in (0, 1))
    # 64 nodes are exact for polynomials of degree 127; log of a mixture of two is smooth.
    assert levels.information == pytest.approx(expected, rel=1e-4)
    x = np.linspace(-10, 12, 20001)
    apart = np.abs(norm(0, 1).cdf(x) - norm(1.5, 2).cdf(x)).max()
    found = levels.shift(0)
    assert found.apart == pytest.approx(apart, abs=2e-3)  # looked for a tenth of a standard deviation apart
    assert (found.mean_elsewhere, found.sd_elsewhere) == (1.5, 2.0)
    alone = Levels("x", np.ones(1), np.zeros(1), np.ones(1))
    assert alone.information == pytest.approx(0.0, abs=1e-12)
    assert alone.shift(0).apart == 0.0


def test_page_and_text_show_means_and_spreads(birds: lac.Classes) -> None:
    words = Words("Birds & kinds", "bird", "measure")
    html = birds.page(**asdict(words))
    mean, sd = birds.levels("mass").means[0], birds.levels("mass").sds[0]
    assert give_or_take(mean, sd) in html
    assert "classs" not in html
    console = Console(file=StringIO(), width=160)
    console.print(text(birds, words))
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert give_or_take(mean, sd) in shown
    assert "2 classes" in shown
    chart = _levels_chart(birds.levels("wing"), birds.labels)
    assert len(ElementTree.fromstring(chart).findall("{http://www.w3.org/2000/svg}circle")) == 2


def test_columns_that_are_all_continuous_have_a_page_too(birds: lac.Classes) -> None:
    found = lac.classes(birds.table.whole("a test").select(["mass", "wing"]), components=[2], starts=1)
    assert "measured" in found.page()


def test_a_continuous_column_cannot_be_kept_aside(birds: lac.Classes) -> None:
    with pytest.raises(lac.ParameterError, match="wing is continuous; what is kept aside"):
        lac.classes(birds.table, aside="wing", components=[1])


def test_words() -> None:
    assert give_or_take(3406.2, 290.3) == "3,406 ± 290"
    assert give_or_take(17.5512, 0.8512) == "17.55 ± 0.85"
    assert give_or_take(-0.00123, 0.00045) == "\N{MINUS SIGN}0.00123 ± 0.00045"
    assert [plural(word) for word in ("class", "bloc", "probability", "way")] == [
        "classes", "blocs", "probabilities", "ways",
    ]  # fmt: skip
    assert counted(2, "bloc") == "2 blocs"


def test_what_a_column_is_measured_in_is_said() -> None:
    rows = {"mass": [f"{k % 7 + 10 * (k % 2)}.5 kg" for k in range(40)], "kind": ["a", "b"] * 20}
    found = lac.classes(rows, [1, 2], starts=2)
    assert "mass (kg)" in str(found)
    assert "mass (kg)" in found.page()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_no_number_is_cut_on_a_narrow_terminal(birds: lac.Classes, width: int) -> None:
    """Columns that do not fit stand below, under the numbers of classes again."""
    console = Console(file=StringIO(), width=width, color_system=None)
    with console.capture() as caught:
        console.print(text(birds, Words("Birds")))
    lines = caught.get()
    assert max(map(len, lines.splitlines())) <= width
    for candidate in birds.candidates:
        for value in candidate.log_evidence.values():
            assert minus(value) in lines
    for each in birds.measured:
        for mean, sd in zip(each.means, each.sds, strict=True):
            assert give_or_take(mean, sd) in lines


def test_a_row_whose_class_is_clear_is_not_in_between() -> None:
    """Groups ten standard deviations apart: no row is undecided, and the least clear is called that."""
    x = np.concatenate([np.linspace(-1, 1, 20), np.linspace(5, 7, 20)])
    far = lac.classes({"x": x, "y": x[::-1] + 0.1 * np.sin(9 * x)}, components=[2], starts=2)
    whys = {case.why: max(case.probabilities) for case in far.cases}
    assert whys.keys() == {"clear", "least clear"}
    assert min(whys.values()) > 0.99
