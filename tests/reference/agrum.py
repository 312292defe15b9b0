"""pyAgrum, loaded without noise, and our networks in its terms."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from lacunary.infer.network import Network

with warnings.catch_warnings():
    # Its binding warns while it is loaded, and a warning made an error there crashes the interpreter.
    warnings.simplefilter("ignore")
    import pyagrum as binding

__all__ = ["pyagrum", "to_pyagrum"]

pyagrum: Any = binding  # half of it has types


def to_pyagrum(network: Network) -> Any:
    """Return the same network there, number by number: its files keep single precision only."""
    theirs = pyagrum.BayesNet()
    for variable in network.dag.schema:
        labels = [str(state) for state in variable.states]
        theirs.add(pyagrum.LabelizedVariable(variable.name, variable.name, labels))
    for tail, head in network.dag.arcs:
        theirs.addArc(tail, head)
    for name in network.dag.names:
        axes = [*network.dag.parents_of(name), name]
        order = [axes.index(other) for other in reversed(theirs.cpt(name).names)]
        theirs.cpt(name)[:] = np.ascontiguousarray(np.transpose(network.table(name), order))
    return theirs
