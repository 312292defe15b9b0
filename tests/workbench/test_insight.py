"""What findings and arcs tell, against formulas."""

from __future__ import annotations

import numpy as np
import pytest

import lacunary as lac
from lacunary.workbench.asking import Asked
from lacunary.workbench.insight import DRAWN, strengths


def test_strength_of_a_regression() -> None:
    """Of y = 2x + e, both of variance one, x tells ½ log 5 nats; of z = y ± 9 + e the sign tells log 2."""
    schema = lac.Schema(
        (
            lac.Variable("x", kind="continuous"),
            lac.Variable("y", kind="continuous"),
            lac.Variable("h", ("a", "b"), hidden=True),
            lac.Variable("z", kind="continuous"),
        )
    )
    dag = lac.Dag.from_arcs(schema, [("x", "y"), ("y", "z"), ("h", "z")])
    network = lac.Network.from_tables(
        dag,
        {"x": [0.0, 1.0], "y": [0.0, 2.0, 1.0], "h": [0.5, 0.5], "z": [[-9.0, 1.0, 1.0], [9.0, 1.0, 1.0]]},
    )
    found = {(arc["tail"], arc["head"]): arc["nats"] for arc in strengths(Asked(network), 0)}
    # The log-ratio of a row has variance ρ² = 0.8 about its mean: four standard errors of a mean of rows.
    assert found["x", "y"] == pytest.approx(0.5 * np.log(5.0), abs=4 * np.sqrt(0.8 / DRAWN))
    assert found["h", "z"] == pytest.approx(np.log(2.0), abs=1e-6)  # 18 sds apart: it tells all of it
    assert found["y", "z"] == pytest.approx(0.5 * np.log(6.0), abs=4 * np.sqrt(5 / 6 / DRAWN))
