"""What a file says about a network, before it is known to be one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import Protocol

import numpy as np

from lacunary.data.schema import Schema, Variable
from lacunary.data.wording import chained
from lacunary.errors import FileError, ParameterError
from lacunary.family.table import SUM_TOLERANCE
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array
from lacunary.model.dag import Dag

__all__ = [
    "MOST_MEMBERS",
    "MOST_STATES",
    "MOST_VALUES",
    "Declaration",
    "Family",
    "ParsedNetwork",
    "Source",
    "Word",
    "certain",
    "too_large",
]

MOST_VALUES = 2**26
"""How many probabilities (half a gibibyte) a file may ask for: default rows make short files large."""

MOST_STATES = 2**20
"""How many states the variables of a file may have together where it says their number alone."""

MOST_MEMBERS = 32
"""How many variables one table may be over: all that the arrays of some versions of NumPy can have."""


@dataclass(frozen=True, slots=True)
class Word:
    """A name or a state, and its place in the file."""

    text: str
    place: int


class Source(Protocol):
    """A file's text, which knows where its places are."""

    def error(self, place: int, message: str) -> FileError:
        """Return the error with the line and column of a place."""
        ...


@dataclass(frozen=True)
class Declaration:
    """A variable and its states, as the file declares them."""

    name: Word
    states: tuple[Word, ...]
    continuous: bool = False


@dataclass(frozen=True)
class Family:
    """A variable, its parents, and how to read its table once their states are known.

    ``read(child, parents)`` returns the values, the parents first and the variable last.
    """

    child: Word
    parents: tuple[Word, ...]
    read: Callable[[Variable, Sequence[Variable]], Array]


@dataclass
class ParsedNetwork:
    """The declarations and families found in a file, in its order."""

    source: Source
    declarations: list[Declaration] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)
    _numbered: int = 0

    def numbered(self, count: int, place: int) -> tuple[Word, ...]:
        """Return the states of a variable of which the file says no more than how many there are."""
        self._numbered += count
        if self._numbered > MOST_STATES:
            raise self.source.error(place, f"so far {self._numbered} states; the limit is {MOST_STATES}")
        return tuple(Word(str(state), place) for state in range(count))

    def network(self, *, renormalize: bool) -> Network:
        """Return the network, or say where in the file it is not one."""
        tables = {name: self._table(family) for name, family in self._family.items()}
        try:
            network = Network.from_tables(self._dag, tables, renormalize=renormalize)
        except ParameterError as problem:
            raise self.source.error(self._wrong_sum(tables), str(problem)) from None
        return _unscaled(network, tables)

    @cached_property
    def _schema(self) -> Schema:
        if not self.declarations:
            raise self.source.error(0, "there are no variables in this file")
        self._distinct((d.name for d in self.declarations), "the variable {} is declared twice")
        for declared in self.declarations:
            if not declared.name.text or not (declared.states or declared.continuous):
                raise self.source.error(
                    declared.name.place, f"{declared.name.text!r} needs a name and states"
                )
            self._distinct(declared.states, "the state {} is declared twice")
        return Schema(
            tuple(
                Variable(
                    d.name.text,
                    tuple(s.text for s in d.states),
                    kind="continuous" if d.continuous else "discrete",
                )
                for d in self.declarations
            )
        )

    @cached_property
    def _family(self) -> dict[str, Family]:
        """The families by the name of their child; one for each variable, values within the limit."""
        self._distinct((family.child for family in self.families), "{} has two tables")
        found: dict[str, Family] = {}
        values = 0
        for family in self.families:
            self._distinct(family.parents, "the parent {} is listed twice")
            members = [self._variable(word) for word in (family.child, *family.parents)]
            if members[0].discrete and not all(parent.discrete for parent in members[1:]):
                what = f"{members[0].name!r} is discrete, and its parents must be so"
                raise self.source.error(family.child.place, what)
            sizes = [variable.size or 1 for variable in members]
            problem = too_large(sizes, values)
            if problem:
                raise self.source.error(family.child.place, f"{family.child.text!r}: {problem}")
            values += prod(sizes)
            found[family.child.text] = family
        for declared in self.declarations:
            if declared.name.text not in found:
                raise self.source.error(declared.name.place, f"{declared.name.text!r} has no table")
        return found

    @cached_property
    def _dag(self) -> Dag:
        parents = {name: [word.text for word in family.parents] for name, family in self._family.items()}
        try:
            TopologicalSorter(parents).prepare()
        except CycleError as problem:
            cycle: list[str] = problem.args[1]
            place = self._family[cycle[-1]].child.place
            raise self.source.error(place, f"the arcs make a cycle: {chained(cycle)}") from None
        return Dag.from_parents(self._schema, parents)

    def _table(self, family: Family) -> Array:
        schema = self._dag.schema
        return family.read(schema[family.child.text], [schema[word.text] for word in family.parents])

    def _variable(self, word: Word) -> Variable:
        if word.text not in self._schema:
            raise self.source.error(word.place, f"there is no variable {word.text!r}")
        return self._schema[word.text]

    def _distinct(self, words: Iterable[Word], message: str) -> None:
        seen: set[str] = set()
        for word in words:
            if word.text in seen:
                raise self.source.error(word.place, message.format(repr(word.text)))
            seen.add(word.text)

    def _wrong_sum(self, tables: dict[str, Array]) -> int:
        """Return the place of the first family, in the schema's order, whose sums are not one."""
        for name in self._schema.names:
            if self._schema[name].discrete and np.abs(tables[name].sum(axis=-1) - 1.0).max() > SUM_TOLERANCE:
                return self._family[name].child.place
        return 0


def too_large(sizes: Sequence[int], before: int = 0) -> str:
    """Say why a table over variables of these sizes, after so many values, is refused; empty if it is not."""
    if len(sizes) > MOST_MEMBERS:
        return f"a table over {len(sizes)} variables; the limit is {MOST_MEMBERS}"
    if before + prod(sizes) > MOST_VALUES:
        return f"with a table of {prod(sizes)} values the network exceeds the limit of {MOST_VALUES}"
    return ""


def certain(states: Sequence[int], shape: Sequence[int]) -> Array:
    """Return the table of a variable whose state is sure in every configuration of its parents."""
    table = np.zeros((len(states), shape[-1]))
    table[np.arange(len(states)), states] = 1.0
    return table.reshape(shape)


def _unscaled(network: Network, tables: dict[str, Array]) -> Network:
    """Put back the printed values of the distributions that sum to one but for rounding.

    Scaling those would change their last digits at every reading. A distribution that was scaled to
    one in floating point, and is then summed again, misses it by less than one ε for each of its states.
    """
    layout = network.dag.layout
    printed = network.theta.copy()
    for i in layout.blocks:
        printed[layout.slice(i)] = layout.flat(tables[network.dag.names[i]])
    miss = np.abs(layout.total(printed) - 1.0)[layout.group]
    rounding = np.finfo(np.float64).eps * np.array(layout.states)[layout.variable]
    exact = np.where(miss <= rounding, printed[: layout.tables], network.theta[: layout.tables])
    return Network(network.dag, np.concatenate([exact, network.theta[layout.tables :]]))
