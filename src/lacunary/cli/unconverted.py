"""Arguments that are what they have to be already, and need nothing of what converts them.

Typer has every argument converted by Pydantic, given or not, and takes a tenth of a second to load it. Most
arguments are texts, flags, or not given at all. What stands here is private in Typer: a release that lacks it
converts everything, as it likes.
"""

from __future__ import annotations

from typing import Any

__all__ = ["leave_alone"]

PLACE = "_runtime_param"
"""Where an argument of Typer keeps its converter, once it has one; until then None."""


def leave_alone(arguments: list[Any]) -> list[Any]:
    """Return a command's arguments, which are converted only where there is something to convert."""
    for argument in arguments:
        if getattr(argument, PLACE, ...) is None and hasattr(argument, "type_descriptor"):
            setattr(argument, PLACE, _Lazy(argument))
    return arguments


class _Lazy:
    """A converter that passes on what needs none, and calls on Typer's own for the rest."""

    def __init__(self, argument: Any) -> None:
        self._kind = argument.type_descriptor.annotation
        self._default = argument.default

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """Return a value as the command takes it."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        plain = value == self._default or (self._kind is str and type(value) is str)
        if plain and not several:
            return value
        if several and self._kind == list[str] and all(type(one) is str for one in value):
            return list(value)
        setattr(param, PLACE, None)
        return param.get_runtime_param().coerce(value, param=param, ctx=ctx)
