"""The variables of a problem: what they are called and what values they can take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

import numpy as np

from lacunary.data.wording import listed, meant
from lacunary.errors import SchemaError, StateError

__all__ = ["Kind", "Label", "Schema", "Variable"]

Label = str | int | float | bool
Kind = Literal["discrete", "continuous"]


@dataclass(frozen=True)
class Variable:
    """One variable: discrete with declared states, or continuous with optional bounds.

    A *hidden* variable is never observed: its column, if there is one, holds only holes.
    A discrete variable with a single state is legal and carries no information. ``family`` is the local model
    that the variable has in any graph, by name (`lacunary.family`); by default that of its kind. ``unit`` is
    what its numbers count, such as "kg" or "days since 2024-01-31"; two variables that differ in it alone are
    equal.

    Examples
    --------
    >>> import lacunary as lac
    >>> smokes, age = lac.Variable("smokes", ("no", "yes")), lac.Variable("age", kind="continuous")
    >>> smokes.size, smokes.encode("yes"), age.discrete
    (2, 1, False)
    """

    name: str
    states: tuple[Label, ...] = ()
    kind: Kind = "discrete"
    ordered: bool = False
    hidden: bool = False
    bounds: tuple[float, float] | None = None
    family: str | None = None
    unit: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SchemaError(f"a variable's name must be a non-empty text, not {self.name!r}")
        if self.kind not in ("discrete", "continuous"):
            raise SchemaError(f"{self.name}: kind must be 'discrete' or 'continuous', not {self.kind!r}")
        if self.kind == "discrete" and not self.states:
            raise SchemaError(f"{self.name}: a discrete variable needs at least one state")
        if self.kind == "continuous" and self.states:
            raise SchemaError(f"{self.name}: a continuous variable has no states")
        if len(self.code) != len(self.states):
            twice = next(s for i, s in enumerate(self.states) if s in self.states[:i])
            raise SchemaError(f"{self.name}: the state {twice!r} is declared twice")

    @property
    def discrete(self) -> bool:
        """Whether the variable takes one of finitely many states."""
        return self.kind == "discrete"

    @property
    def size(self) -> int:
        """Number of states; zero for a continuous variable."""
        return len(self.states)

    @cached_property
    def code(self) -> Mapping[Label, int]:
        """From a state to its position."""
        return {state: position for position, state in enumerate(self.states)}

    def encode(self, state: object) -> int:
        """Position of a state; an unknown one is refused with the known ones listed."""
        plain = state.item() if isinstance(state, np.generic) else state  # as arrays and frames hand them out
        found = self.code.get(plain) if isinstance(plain, Label) else None
        if found is None:
            raise StateError(
                f"{self.name} has no state {state!r}{meant(state, self.states)}; "
                f"its states are {listed(self.states)}"
            )
        return found


@dataclass(frozen=True)
class Schema:
    """An ordered set of variables with distinct names.

    Examples
    --------
    >>> import lacunary as lac
    >>> schema = lac.Schema([lac.Variable("smokes", ("no", "yes")), lac.Variable("age", kind="continuous")])
    >>> schema.names, schema["age"].discrete
    (('smokes', 'age'), False)
    """

    variables: tuple[Variable, ...]

    def __post_init__(self) -> None:
        seen: set[str] = set()
        for variable in self.variables:
            if variable.name in seen:
                raise SchemaError(f"two variables are called {variable.name!r}; names must be distinct")
            seen.add(variable.name)

    def __repr__(self) -> str:
        return f"<Schema: {', '.join(self.names)}>"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The variables' names, in order."""
        return tuple(variable.name for variable in self.variables)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of states of each variable, zero where continuous."""
        return tuple(variable.size for variable in self.variables)

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """Names of the variables that are never observed."""
        return tuple(variable.name for variable in self.variables if variable.hidden)

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Position of the variable of that name."""
        try:
            return self._index[name]
        except (KeyError, TypeError):
            several = "" if isinstance(name, str) else "; names are given one by one, as texts"
            raise SchemaError(
                f"there is no variable {name!r}{meant(name, self.names)}{several}; "
                f"the variables are {listed(self.names)}"
            ) from None

    def __getitem__(self, name: str) -> Variable:
        return self.variables[self.index(name)]

    def __contains__(self, name: object) -> bool:
        return name in self._index

    def __iter__(self) -> Iterator[Variable]:
        return iter(self.variables)

    def __len__(self) -> int:
        return len(self.variables)

    def extend(self, variables: Iterable[Variable]) -> Schema:
        """Return the schema with further variables at its end."""
        return Schema((*self.variables, *variables))

    def reveal(self) -> Schema:
        """Return the schema with no variable hidden."""
        return Schema(tuple(replace(v, hidden=False) for v in self.variables)) if self.hidden else self

    def hide(self, names: Iterable[str]) -> Schema:
        """Return the schema with these variables marked as never observed."""
        chosen = {self.variables[self.index(name)].name for name in names}
        return Schema(tuple(replace(v, hidden=v.hidden or v.name in chosen) for v in self.variables))
