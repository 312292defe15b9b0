"""The three ways to change a graph by one arc, as values."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Add", "Move", "Remove", "Reverse"]


@dataclass(frozen=True)
class Add:
    """Put in the arc tail → head."""

    tail: int
    head: int
    action = "add"

    @property
    def opposite(self) -> Remove:
        """The move that undoes this one."""
        return Remove(self.tail, self.head)

    @property
    def children(self) -> tuple[int, ...]:
        """The variables whose parents change."""
        return (self.head,)


@dataclass(frozen=True)
class Remove:
    """Take out the arc tail → head."""

    tail: int
    head: int
    action = "remove"

    @property
    def opposite(self) -> Add:
        """The move that undoes this one."""
        return Add(self.tail, self.head)

    @property
    def children(self) -> tuple[int, ...]:
        """The variables whose parents change."""
        return (self.head,)


@dataclass(frozen=True)
class Reverse:
    """Turn the arc tail → head round, to head → tail."""

    tail: int
    head: int
    action = "reverse"

    @property
    def opposite(self) -> Reverse:
        """The move that undoes this one."""
        return Reverse(self.head, self.tail)

    @property
    def children(self) -> tuple[int, ...]:
        """The variables whose parents change."""
        return (self.head, self.tail)


Move = Add | Remove | Reverse
