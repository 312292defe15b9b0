"""Parameters learned from batches of rows that come one by one, none of which is seen twice.

The first batch is fitted whole. What is kept of all rows so far is the mean m of their expected statistics
and their weight W. After a batch of weight w, whose mean statistics under the present parameters are S,

    W ← W + w,        m ← m + (w / W)^decay (S − m),

and the parameters are the best ones for W·m: online EM (Cappé & Moulines 2009), or with the variational
update stochastic variational inference, where the number of rows is not known beforehand. With decay 1
statistics are added up: rows without holes leave the same parameters in pieces as in one. Where something
is hidden early batches were read by poor parameters, and a decay below one forgets them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lacunary.data.source import Source
from lacunary.infer.answers import as_source
from lacunary.infer.network import Network
from lacunary.infer.rows import Rows
from lacunary.infer.scale import Scale
from lacunary.learn.fit import Fit, fit, rule_for
from lacunary.learn.vbem import Update
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = ["Stream"]

FORGETTING = 0.7
"""How fast steps become shorter where something is hidden, as in `Online`."""


class Stream:
    """A graph's parameters, better with every batch.

    Attributes
    ----------
    network
        The network as it is now, in the data's units.
    first
        The fit of the first batch.
    batches
        How many were taken.
    """

    def __init__(self, dag: Dag, table: Any, **options: Any) -> None:
        self.first: Fit = fit(dag, table, **options)
        self.network: Network = self.first.network
        dag = self.network.dag
        rows = as_source(table, dag.schema)
        self._scale = Scale.of(rows, dag)
        self._rule = rule_for(self.first, self._scale)
        self._decay = FORGETTING if dag.schema.hidden else 1.0
        self._points = self._begun(rows)
        self._mean, self._weight = self._expected(rows) / rows.size, rows.size
        self.batches = 1

    def take(self, table: Any) -> None:
        """Learn from one more batch of rows over the same columns."""
        rows = as_source(table, self.network.dag.schema)
        if not rows.size:
            return
        expected, self._weight = self._expected(rows) / rows.size, self._weight + rows.size
        self._mean += (rows.size / self._weight) ** self._decay * (expected - self._mean)
        self._points = self._rule.improve(self._weight * self._mean)
        dag, theta = self.network.dag, self._rule.parameters(self._points)
        self.network = Network(dag, self._scale.outward(dag, theta)[0])
        self.batches += 1

    def _begun(self, rows: Source) -> Array:
        """Return the point at which the first fit ended; (1, size)."""
        dag = self.network.dag
        if isinstance(self._rule, Update):
            return self._scale.believed_inside(self.first.belief).alpha[None]
        return self._rule.begin(self._laid(rows), self._scale.inward(dag, self.network.theta)[None])

    def _expected(self, rows: Source) -> Array:
        """Return what rows expect under the present parameters; (1, statistics)."""
        return np.asarray(self._laid(rows).expect(self._rule.potentials(self._points)).counts)

    def _laid(self, rows: Source) -> Rows:
        return self._scale.prepare(self.network.dag, self._scale.source(rows))
