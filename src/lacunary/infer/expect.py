"""The E-step: what the holes probably hold, added up over rows."""

from __future__ import annotations

from typing import Any

from lacunary.infer.answers import as_table
from lacunary.infer.engine import prepare
from lacunary.infer.network import Network
from lacunary.model.stats import Stats

__all__ = ["expect"]


def expect(network: Network, table: Any) -> Stats:
    """Return the expected counts of the network's families given a table, and its log-likelihood.

    E[N_ijk] = Σ over rows of weight · p(variable i in state k, its parents in configuration j | observed
    cells): the E-step of EM (CH96 section 3.1), exact for any holes.
    """
    prepared = prepare(network.dag, as_table(table, network.dag.schema))
    counts, log_likelihood = prepared.expect(network.theta[None])
    if log_likelihood[0] == float("-inf"):
        prepared.check_possible(network.theta)
    return Stats(network.dag, counts[0], float(log_likelihood[0]), prepared.weight)
