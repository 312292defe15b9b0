"""The figure of starts shows what the fit holds."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import PathCollection

import lacunary as lac
from lacunary.infer.divergence import kl
from lacunary.report.figures import picture, starts


@pytest.fixture(scope="module")
def case() -> tuple[lac.Network, lac.Fit]:
    truth = lac.random_network(lac.asia().dag, rng=5)
    table = lac.make_holes(truth.sample(80, rng=6), 0.5, rng=7)
    return truth, lac.fit(
        truth.dag, table, starts=9, select="average", prior=lac.BDeu(1), stop=lac.Stop(iterations=4)
    )


def test_every_start_is_drawn_and_the_chosen_one_ringed(case: tuple[lac.Network, lac.Fit]) -> None:
    truth, fit = case
    figure = starts(fit, truth)
    reached = [start.objective for start in fit.starts]
    assert fit.constant != 0.0
    drawn, ring = (c for c in figure.axes[0].collections if isinstance(c, PathCollection))
    np.testing.assert_array_equal(drawn.get_offsets(), np.column_stack([reached, fit.entropies]))
    shades = drawn.get_array()
    assert shades is not None
    np.testing.assert_array_equal(shades, [kl(truth, start.network) for start in fit.starts])
    entropy = -sum(float((t * np.log(t)).sum()) for t in fit.network.tables.values())
    # Relative 1e-12: the same few dozen terms, added in another order.
    place = np.asarray(ring.get_offsets(), dtype=np.float64)[0]
    np.testing.assert_allclose(place, np.array([fit.objective, entropy]), rtol=1e-12)
    assert picture(figure, "png").startswith(b"\x89PNG")
    assert picture(starts(fit, truth), "svg") == picture(starts(fit, truth), "svg")


def test_without_the_truth_there_is_no_scale_of_shades(case: tuple[lac.Network, lac.Fit]) -> None:
    assert len(starts(case[1]).axes) == 1
    assert len(starts(*case[::-1]).axes) == 2
