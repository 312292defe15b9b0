"""Who wants to know of kernels that are compiled, as nothing on disk has them."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["listeners"]

listeners: list[Callable[[str], None]] = []
"""Each is told the name of a kernel before it is compiled."""
