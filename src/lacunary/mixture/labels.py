"""Components that are the states of a column: a Bayesian multinet (TMCH98 section 2)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from operator import methodcaller

import numpy as np
from numpy.typing import NDArray

from lacunary.data.schema import Label
from lacunary.data.source import Source
from lacunary.data.table import HOLE, Table
from lacunary.errors import ParameterError, TableError
from lacunary.structure.shares import ByRow

__all__ = ["Labels", "labelled"]


@dataclass(frozen=True, eq=False)
class Labels:
    """Which states the components are, and which of them may be that of each row.

    Attributes
    ----------
    classes
        The states, in the order of the components; none where the class is no column.
    allowed
        Whether a row may come from a component: all where its class is missing; (rows, components).
    known
        Whether the class of every row is known.
    """

    classes: tuple[Label, ...] = ()
    allowed: ByRow | None = None
    known: bool = False


def labelled(rows: Source, given: str | None, components: object, noise: object) -> tuple[Source, Labels]:
    """Return the rows without the column of classes, and what it says."""
    if given is None:
        return rows, Labels()
    column = rows.schema[given]
    if not column.discrete or column.size < 2:
        raise ParameterError(f"given names a discrete column with two states or more, and {given} is none")
    if components != "auto" or noise is not False:
        raise ParameterError(f"the components are the states of {given}; leave components and noise out")
    place = rows.schema.index(given)
    rest = [name for name in rows.schema.names if name != given]
    if not rest:
        raise TableError(f"there is no column beside {given} to tell its states by")
    allowed = rows.laid(partial(_allowed, place, column.size))
    return rows.mapped(methodcaller("select", rest)), Labels(
        column.states, allowed, not rows.facts.holes[place]
    )


def _allowed(i: int, many: int, table: Table) -> NDArray[np.bool_]:
    codes = table.codes[:, i, None]
    return np.asarray((codes == HOLE) | (codes == np.arange(many)))
