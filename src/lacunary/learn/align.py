"""Give the states of hidden variables the same names in all starts.

The states of a hidden variable have no names but those that the start happened to give them: two
climbs that found the same classes may have them in another order, and the mean of their tables would
be mush. Each start is therefore compared with a reference in what it says of the rows: r_n(h), the
posterior of the hidden variable in row n. The permutation of states is taken that maximises
Σ_n w_n Σ_h r_n(h) r'_n(π(h)), the expected number of rows that both put into the same class, which is
an assignment problem. Hidden variables are taken one at a time, as r does not depend on how the states
of others are named.

Hidden variables that could change places *as a whole*, because the graph treats them alike, are left
where they are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from lacunary.data.table import Table
from lacunary.infer.engine import Prepared
from lacunary.infer.posterior import marginals
from lacunary.model.dag import Dag

__all__ = ["aligned", "permutable", "permuted_places"]


def aligned(
    prepared: Prepared,
    theta: NDArray[np.float64],
    reference: int,
    like: Sequence[NDArray[np.float64]] = (),
) -> NDArray[np.float64]:
    """Return parameter vectors with the states of hidden variables named as in one of them.

    Parameters
    ----------
    prepared
        The rows on which they are compared.
    theta
        One parameter vector a row; (starts, size).
    reference
        Which of them gives the names.
    like
        Vectors of the same layout that tell states apart, such as the hyperparameters of the prior: a
        permutation that would change one of them is not made; (size,) each.
    """
    from scipy.optimize import linear_sum_assignment  # a fifth of a second, which few fits need

    dag, out = prepared.dag, theta.copy()
    hidden = permutable(dag)
    if not hidden or len(theta) == 1:
        return out
    table = Table(dag.schema, prepared.packed.codes)
    weights = prepared.packed.weights
    names = [_responsibilities(dag, theta[reference], table, hidden)]
    for start in (s for s in range(len(theta)) if s != reference):
        mine = _responsibilities(dag, theta[start], table, hidden)
        for h, a, b in zip(hidden, names[0], mine, strict=True):
            _, order = linear_sum_assignment((a * weights[:, None]).T @ b, maximize=True)
            places = permuted_places(dag, h, order)
            if all(np.array_equal(vector[places], vector, equal_nan=True) for vector in like):
                out[start] = out[start, places]
    return out


def permutable(dag: Dag) -> list[int]:
    """Return the hidden variables whose states can be renamed, as positions in the schema.

    Of families that share a table all must have the variable in the same place, or none: otherwise
    renaming would hit one of them that does not mean it.
    """
    shared: dict[int, list[int]] = {}
    for i, start in enumerate(dag.layout.start):
        shared.setdefault(start, []).append(i)

    def consistent(h: int) -> bool:
        seats = [
            {members.index(h) if h in (members := dag.layout.members[i]) else None for i in group}
            for group in shared.values()
        ]
        return all(len(seat) == 1 for seat in seats)

    return [h for h, v in enumerate(dag.schema) if v.hidden and v.size > 1 and consistent(h)]


def permuted_places(dag: Dag, variable: int, order: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each parameter is found if state k of a variable is what was state ``order[k]``.

    ``theta[places]`` is then the permuted vector. The variable is moved in its own table and in those
    of its children.
    """
    layout, places = dag.layout, np.arange(dag.layout.size)
    for i in layout.blocks:
        members = layout.members[i]
        if variable in members:
            table = places[layout.slice(i)].reshape([layout.sizes[m] for m in members])
            places[layout.slice(i)] = np.take(table, order, axis=members.index(variable)).reshape(-1)
    return places


def _responsibilities(
    dag: Dag, theta: NDArray[np.float64], table: Table, hidden: Sequence[int]
) -> list[NDArray[np.float64]]:
    """Return the posterior of each hidden variable in every distinct row; (rows, states) each."""
    return marginals(dag, theta, table, [[h] for h in hidden])
