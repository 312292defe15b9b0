"""Which tests begin, and conditions under which results must not change: threads, chunks of rows."""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest

from lacunary.infer import pack, parallel


def pytest_collection() -> None:
    """Look for no garbage while tests are collected: hardly anything goes."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected out of all later searches for garbage."""
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the longest tests, lest a worker wait for one of them at the end."""
    items.sort(key=lambda item: item.get_closest_marker("long") is None)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut tables into chunks of a few rows each."""
    monkeypatch.setattr(pack, "CHUNK_WORK", 50)
    monkeypatch.setattr(pack, "PLACES", 0)


@pytest.fixture
def use_threads(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that sets the number of threads, however many cores there are."""
    return lambda threads: monkeypatch.setattr(parallel, "_threads", lambda: threads)
