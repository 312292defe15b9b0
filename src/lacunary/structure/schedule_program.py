"""A schedule as a list of instructions, so that a run can be left at any of them and taken up again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lacunary.structure.schedule import Repeat, Schedule, Symbol

__all__ = ["Instruction", "program"]


@dataclass(frozen=True)
class Instruction:
    """One thing to do.

    Attributes
    ----------
    what
        "em": steps of EM; "complete": expected statistics of every family; "search"; "maximize": parameters
        from these statistics; "end": the end of a bracket.
    repeat
        How often; for the end of a bracket, the bracket.
    back
        For the end of a bracket, the instruction with which it begins.
    searches
        For the end of a bracket, whether a search is in it, and not in a bracket inside it.
    """

    what: Literal["em", "complete", "search", "maximize", "end"]
    repeat: Repeat | None = None
    back: int = 0
    searches: bool = False


def program(schedule: Schedule) -> tuple[Instruction, ...]:
    """Return the instructions of a schedule."""
    out: list[Instruction] = []
    _add(schedule.body, out)
    return tuple(out)


def _add(body: tuple[Symbol | Repeat, ...], out: list[Instruction]) -> bool:
    """Append the instructions of some steps; tell whether there is a search among them."""
    searches = False
    for k, item in enumerate(body):
        if isinstance(item, Repeat):
            searches |= item.body == ("S",)
            _add_repeat(item, out)
        elif item == "S":
            out.append(Instruction("search", Repeat(("S",), (1,))))
            searches = True
        elif item == "Ec":
            out.append(Instruction("complete"))
        elif item == "E":
            out.append(Instruction("em", Repeat(("E", "M"), (1,))))
        elif k == 0 or body[k - 1] != "E":  # the M of an EM is done already
            out.append(Instruction("maximize"))
    return searches


def _add_repeat(item: Repeat, out: list[Instruction]) -> None:
    if item.body == ("E", "M"):
        out.append(Instruction("em", item))
    elif item.body == ("S",):
        out.append(Instruction("search", item))
    else:
        back = len(out)
        searches = _add(item.body, out)
        out.append(Instruction("end", item, back, searches))
