"""Special functions, loaded late."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy.special import gammaln

from lacunary.maths import special


def test_a_sum_of_logs_of_gammas() -> None:
    values = np.random.default_rng(0).choice([0.01, 1.0, 1.01, 7.5, 300.0], size=1000)
    # Both are accurate to the last digit or two of each term.
    assert special.sum_log_gamma(values) == pytest.approx(gammaln(values).sum(), rel=1e-13)
    assert special.sum_log_gamma([]) == 0.0


def test_the_rest_is_scipy_s() -> None:
    assert special.gammaln is gammaln
    with pytest.raises(AttributeError):
        _ = special.no_such_function


def test_a_fit_of_tables_does_not_load_them() -> None:
    code = (
        "import sys, lacunary as lac\n"
        "votes = lac.house_votes()\n"
        "lac.fit(lac.naive_bayes(votes, hidden='bloc', states=2), votes, starts=1)\n"
        "sys.exit('scipy.special' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
