"""The E-step: what the holes probably hold, added up over rows."""

from __future__ import annotations

from typing import Any

from lacunary.budget import budgeted
from lacunary.infer.answers import as_source
from lacunary.infer.network import Network
from lacunary.infer.rows import prepare
from lacunary.model.stats import Stats

__all__ = ["expect"]


@budgeted
def expect(network: Network, table: Any) -> Stats:
    """Return the expected counts of the network's families given a table, and its log-likelihood.

    E[N_ijk] = Σ over rows of weight · p(variable i in state k, its parents in configuration j | observed
    cells): the E-step of EM (CH96 section 3.1), exact for any holes.

    Examples
    --------
    >>> import lacunary as lac
    >>> network = lac.asia()
    >>> stats = lac.expect(network, lac.make_holes(network.sample(50, rng=0), 0.3, rng=0))
    >>> bool(stats.log_likelihood < 0)
    True
    """
    rows = prepare(network.dag, as_source(table, network.dag.schema))
    (stats,) = rows.expect(network.theta[None])
    if stats.log_likelihood == float("-inf"):
        rows.check_possible(network.theta)
    return stats
