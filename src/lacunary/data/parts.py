"""Parts of rows, and what is made of them: in memory, or made when asked for and kept where there is room.

A part is a fixed run of rows, cut by the data alone. What is asked of all parts comes back in their order, so
that who works on which part, and when, changes nothing.
"""

from __future__ import annotations

import mmap
import pickle
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar, Union, cast
from weakref import finalize

__all__ = ["Deferred", "Here", "Keep", "Lazy", "Own", "Parts", "itself"]

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
R_co = TypeVar("R_co", covariant=True)

Own = Union[Sequence[Any], "Parts[Any]"]
"""What is given to parts, one each."""

SPARE = 0.05
"""Share of a disk that is left free: a full one hurts everybody on the machine."""


class Parts(Protocol[R_co]):
    """Numbered parts that are somewhere: here, on disk, or on other machines."""

    @property
    def near(self) -> bool:
        """Whether parts are in memory here, so that it costs nothing to keep what is made of them."""
        ...

    def __len__(self) -> int:
        """Return how many parts there are."""
        ...

    def each(self, function: Callable[..., T], *own: Own) -> list[T]:
        """Return what a function says of every part, in order.

        ``own`` are further arguments, one a part: in a sequence, or what was made of the same parts before.
        """
        ...

    def then(self, function: Callable[..., S], *own: Own, keep: bool = True) -> Parts[S]:
        """Return what a function makes of every part, which stays where the part is; ``own`` as above.

        Where parts are made when asked for, ``keep`` says whether it is worth keeping for the next time.
        """
        ...

    def only(self, which: Sequence[int]) -> Parts[R_co]:
        """Return some of the parts, in this order; no other is looked at."""
        ...


@dataclass(frozen=True, eq=False)
class Here(Generic[R]):
    """Parts in memory."""

    parts: tuple[R, ...]
    near = True

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: int) -> R:
        return self.parts[k]

    def each(self, function: Callable[..., T], *own: Own) -> list[T]:
        """Return what a function says of every part."""
        given: Any = own
        return [function(*arguments) for arguments in zip(self.parts, *given, strict=True)]

    def then(self, function: Callable[..., S], *own: Own, keep: bool = True) -> Parts[S]:
        """Return what a function makes of every part, all at once."""
        return Here(tuple(self.each(function, *own)))

    def only(self, which: Sequence[int]) -> Parts[R]:
        """Return some of the parts."""
        return Here(tuple(self.parts[k] for k in which))


class Lazy(Generic[R]):
    """Parts that are made when they are asked for, and kept as long as a `Keep` has room for them.

    Those that are ``fleeting`` are not kept, but what is made of them is.
    """

    near = False

    def __init__(self, make: Callable[..., R], keep: Keep, *own: Own, fleeting: bool = False) -> None:
        self.make, self.keep, self.fleeting = make, keep, fleeting
        self.own: Any = own
        self.kept: list[_Slot | None] = [None] * len(own[0])

    def __len__(self) -> int:
        return len(self.own[0])

    def __getitem__(self, k: int) -> R:
        slot = self.kept[k]
        if slot is not None:
            found: R = slot.value()
            return found
        made = self.make(*(arguments[k] for arguments in self.own))
        if not self.fleeting:
            self.kept[k] = self.keep.put(made)
        return made

    def each(self, function: Callable[..., T], *own: Own) -> list[T]:
        """Return what a function says of every part; one part at a time is in use."""
        given: Any = own
        return [function(self[k], *(arguments[k] for arguments in given)) for k in range(len(self))]

    def then(self, function: Callable[..., S], *own: Own, keep: bool = True) -> Parts[S]:
        """Return what a function will make of every part."""
        make = partial(_after, self, function)
        return Lazy(make, self.keep, range(len(self)), *own, fleeting=not keep)

    def only(self, which: Sequence[int]) -> Parts[R]:
        """Return some of the parts, which are kept where they are."""
        return Lazy(self.__getitem__, self.keep, tuple(which), fleeting=True)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy makes its parts again: what was kept is no part of what is copied or pickled.
        return partial(Lazy, fleeting=self.fleeting), (self.make, self.keep, *self.own)


class Deferred(Generic[R]):
    """Parts that are made once somebody asks, which often nobody does."""

    def __init__(self, make: Callable[[], Parts[R]]) -> None:
        self.make = make

    @cached_property
    def parts(self) -> Parts[R]:
        """The parts."""
        return self.make()

    @property
    def near(self) -> bool:
        """Whether they are in this process's memory."""
        return self.parts.near

    def __len__(self) -> int:
        return len(self.parts)

    def __getitem__(self, k: int) -> R:
        return cast("Lazy[R]", self.parts)[k]

    def each(self, function: Callable[..., T], *own: Own) -> list[T]:
        """Return what a function says of every part."""
        return self.parts.each(function, *own)

    def then(self, function: Callable[..., S], *own: Own, keep: bool = True) -> Parts[S]:
        """Return what a function makes of every part."""
        return self.parts.then(function, *own, keep=keep)

    def only(self, which: Sequence[int]) -> Parts[R]:
        """Return some of the parts."""
        return self.parts.only(which)


def itself(part: T) -> T:
    """Return a part as it is."""
    return part


def _after(parts: Lazy[Any], function: Callable[..., S], k: int, *own: Any) -> S:
    return function(parts[k], *own)


class Keep:
    """Room for what was made: memory while the budget lasts, then a file that is mapped; else there is none.

    Parameters
    ----------
    memory
        Bytes that may be held in memory.
    folder
        Where files are made; they have no name and vanish with their last use. By default the system's
        folder for temporary files.
    """

    def __init__(self, memory: int, folder: Path | None = None) -> None:
        self.memory, self.folder = memory, folder
        self.held = 0

    def __reduce__(self) -> tuple[type[Keep], tuple[int, Path | None]]:
        return Keep, (self.memory, self.folder)

    def put(self, value: Any) -> _Slot | None:
        """Return what will give the value back; None where there is no room for it."""
        buffers: list[pickle.PickleBuffer] = []
        frame = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
        size = len(frame) + sum(buffer.raw().nbytes for buffer in buffers)
        if self.held + size <= self.memory:
            self.held += size
            slot = _Held(value)
            finalize(slot, self._release, size)
            return slot
        return self._mapped(frame, buffers, size)

    def _release(self, size: int) -> None:
        self.held -= size

    def _mapped(self, frame: bytes, buffers: Sequence[pickle.PickleBuffer], size: int) -> _Mapped | None:
        disk = shutil.disk_usage(self.folder or tempfile.gettempdir())
        if size + SPARE * disk.total > disk.free:
            return None
        try:
            with tempfile.TemporaryFile(dir=self.folder) as file:
                spans = [_written(file, buffer) for buffer in buffers]
                file.write(b"\0")  # nothing cannot be mapped
                file.flush()
                return _Mapped(frame, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY), spans)
        except OSError:  # the disk is full after all
            return None


def _written(file: IO[bytes], buffer: pickle.PickleBuffer) -> tuple[int, int]:
    """Write a buffer where a cache line begins; return where it stands."""
    first = -(-file.tell() // 64) * 64
    file.seek(first)
    with buffer.raw() as raw:
        file.write(raw)
        return first, first + raw.nbytes


class _Slot(Protocol):
    def value(self) -> Any: ...


@dataclass(frozen=True, eq=False)
class _Held:
    """A value in memory."""

    kept: Any

    def value(self) -> Any:
        return self.kept


@dataclass(frozen=True, eq=False)
class _Mapped:
    """A value whose arrays lie in a file of this process: what says which they are never left its memory."""

    frame: bytes
    file: mmap.mmap
    spans: list[tuple[int, int]]

    def value(self) -> Any:
        whole = memoryview(self.file)
        return pickle.loads(self.frame, buffers=[whole[first:last] for first, last in self.spans])
