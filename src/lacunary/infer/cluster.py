"""Parts on a Dask cluster: workers make them from their recipes, lay them out and keep them.

Nothing is sent that cannot be made again: what a lost worker had is made anew by another, from the files.
What parts say is added here in their order, so that the workers' number, speed and deaths change nothing.
Another engine would need what this file has: a call on every part, and results that stay where they are.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib.metadata import version
from time import monotonic
from typing import Any, Generic, TypeVar

from lacunary.data.parts import Deferred, Own, Parts
from lacunary.errors import LacunaryError, SourceError

__all__ = ["OnCluster", "agreed", "connected", "versions"]

R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")

LOST = ("KilledWorker", "CommClosedError", "CancelledError", "FutureCancelledError", "TimeoutError")
"""What Dask calls it when workers or the scheduler are gone."""

LOOK = 60.0
"""Seconds of waiting after which it is first asked whether there are still workers."""


class OnCluster(Generic[R]):
    """Parts that lie on the workers, each where it was made."""

    near = False

    def __init__(self, client: Any, futures: Sequence[Any]) -> None:
        self.client, self.futures = client, futures

    @classmethod
    def made(cls, client: Any, make: Callable[[Any], R], recipes: Iterable[Any]) -> OnCluster[R]:
        """Return what workers make of recipes; what of these lies on the cluster already is a future."""
        return cls(client, _mapped(client, make, [list(recipes)]))

    def __reduce__(self) -> tuple[type[_Elsewhere], tuple[int]]:
        # What works on a part may know of the source; it cannot reach the other parts from where it is.
        return _Elsewhere, (len(self),)

    def __len__(self) -> int:
        return len(self.futures)

    def each(self, function: Callable[..., T], *own: Own) -> list[T]:
        """Return what a function says of every part, in order."""
        return _gathered(self.client, self._sent(function, own))

    def then(self, function: Callable[..., S], *own: Own, keep: bool = True) -> Parts[S]:
        """Return what a function makes of every part, which stays on the worker."""
        return OnCluster(self.client, self._sent(function, own))

    def only(self, which: Sequence[int]) -> Parts[R]:
        """Return some of the parts."""
        return OnCluster(self.client, [self.futures[k] for k in which])

    def _sent(self, function: Callable[..., Any], own: Sequence[Own]) -> list[Any]:
        return _mapped(self.client, function, [self.futures, *map(_listed, own)])


class _Elsewhere:
    """Parts that lie on a cluster, as another process sees them."""

    near = False

    def __init__(self, many: int) -> None:
        self.many = many

    def __len__(self) -> int:
        return self.many

    def each(self, *_: Any) -> list[Any]:
        """Refuse: whoever has the client must ask."""
        raise SourceError("these rows lie on a Dask cluster, and a copy of the source cannot reach them")

    def then(self, *_: Any, keep: bool = True) -> _Elsewhere:
        """Return the same: nothing is made of parts that cannot be reached."""
        return self

    def only(self, which: Sequence[int]) -> _Elsewhere:
        """Return some of the parts, which cannot be reached either."""
        return _Elsewhere(len(which))


def _mapped(client: Any, function: Callable[..., Any], arguments: Sequence[Sequence[Any]]) -> list[Any]:
    """Return a future for every part; all are sent in one message, and the function once."""
    assert len({len(one) for one in arguments}) == 1
    futures: list[Any] = client.map(partial(_called, os.getpid(), function), *arguments, pure=False)
    return futures


def _listed(own: Own) -> Sequence[Any]:
    """Return what is given to parts as a list: futures, where it lies on the workers."""
    while isinstance(own, Deferred):
        own = own.parts
    if isinstance(own, OnCluster):
        return list(own.futures)
    listed: Any = own
    return [listed[k] for k in range(len(listed))]


def _called(home: int, function: Callable[..., Any], part: Any, *own: Any) -> Any:
    _one_thread(home)
    return function(part, *own)


def _one_thread(home: int) -> None:
    """Let a worker's process use one thread a task: Dask runs as many tasks there as it has threads."""
    if os.getpid() != home:
        from lacunary.infer.parallel import threads

        threads(1)


def _gathered(client: Any, futures: Sequence[Any]) -> list[Any]:
    """Return results in order; errors of ours as they are, what became of the cluster by name."""
    try:
        return _patiently(client, list(futures))
    except (LacunaryError, KeyboardInterrupt):
        raise
    except Exception as problem:
        name = type(problem).__name__
        if name not in LOST:
            raise
        raise SourceError(
            f"the Dask cluster is lost ({name}: {str(problem)[:200]}); start it again, and go on from the "
            "checkpoint"
        ) from problem


def _patiently(client: Any, futures: list[Any]) -> list[Any]:
    """Return results however long they take, but refuse to wait for workers that do not come back."""
    ask, wait, alone = partial(client.gather, futures, asynchronous=True), LOOK, False
    while True:
        begun = monotonic()
        try:
            found: list[Any] = client.sync(ask, callback_timeout=wait)
            return found
        except TimeoutError:
            if monotonic() - begun < wait:  # it was not the waiting
                raise
        left = bool(client.nthreads())
        if alone and not left:
            raise SourceError(
                f"the Dask cluster has no workers any more; {_start_some(client)}, and go on from the "
                "checkpoint"
            )
        alone, wait = not left, 2 * wait  # so that results that travel for long arrive


def _start_some(client: Any) -> str:
    address = getattr(client.scheduler, "address", "the scheduler")
    return f"start some with: dask worker {address}"


def agreed(client: Any, wait: float = 10.0) -> None:
    """Refuse a cluster that has no workers, or whose workers have other versions than this process."""
    try:
        client.wait_for_workers(1, timeout=wait)
    except TimeoutError:
        raise SourceError(f"the Dask cluster has no workers; {_start_some(client)}") from None
    mine = versions()
    for worker, theirs in client.run(versions, on_error="return").items():
        if isinstance(theirs, ImportError):
            raise SourceError(f"a worker lacks a package: {theirs}; install lacunary on all workers")
        if isinstance(theirs, OSError):  # it died while it was asked
            continue
        for package, own in mine.items():
            if theirs.get(package) != own:
                raise SourceError(
                    f"the worker at {worker} has {package} {theirs.get(package)}, and this process has "
                    f"{own}; results would depend on who works: install the same everywhere"
                )


def versions() -> dict[str, str]:
    """Return the versions on which the bits of results depend."""
    return {
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "lacunary": sys.modules["lacunary"].__version__,  # without asking the upper rooms in
        "NumPy": version("numpy"),
        "Numba": version("numba"),
    }


def connected(address: str, wait: float = 10.0) -> Any:
    """Return a client of the cluster at an address; an error that says what to do where none answers."""
    try:
        from distributed import Client
    except ImportError:
        raise SourceError("Dask is not installed: pip install 'lacunary[cluster]'") from None
    try:
        return Client(address, timeout=wait)
    except (OSError, ValueError) as problem:
        raise SourceError(
            f"no Dask scheduler answers at {address}: {problem}; start one with: dask scheduler"
        ) from None
