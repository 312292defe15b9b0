"""The three ways to change a graph by one arc, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

__all__ = ["Add", "Move", "Remove", "Reverse"]


@dataclass(frozen=True)
class Move:
    """A change of the arc tail → head."""

    tail: int
    head: int
    action: ClassVar[str]

    @property
    def opposite(self) -> Move:
        """The move that undoes this one."""
        raise NotImplementedError

    @property
    def children(self) -> tuple[int, ...]:
        """The variables whose parents change."""
        return (self.head,)


class Add(Move):
    """Put in the arc tail → head."""

    action = "add"

    @property
    def opposite(self) -> Move:
        """The move that takes the arc out."""
        return Remove(self.tail, self.head)


class Remove(Move):
    """Take out the arc tail → head."""

    action = "remove"

    @property
    def opposite(self) -> Move:
        """The move that puts the arc in."""
        return Add(self.tail, self.head)


class Reverse(Move):
    """Turn the arc tail → head round, to head → tail."""

    action = "reverse"

    @property
    def opposite(self) -> Move:
        """The move that turns it back."""
        return Reverse(self.head, self.tail)

    @property
    def children(self) -> tuple[int, ...]:
        """Both ends."""
        return (self.head, self.tail)
