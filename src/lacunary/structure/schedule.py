"""How structural EM takes turns: schedules in the grammar of TMCH98 section 5, and as instructions.

A schedule is written with the steps E, M, Ec and S, brackets and repeats:

    ((EM)^10 Ec S* M)*         ten steps of EM, expected statistics, search to the top, and again
    ((EM)* Ec S* M)*           the same with EM to convergence
    ((EM)^{1,10} Ec S^5 M)*    one step of EM the first time and ten from then on; five moves a search

``*`` is "until nothing changes", ``^k`` is k times, and ``^{a,b,c}`` is a times when the place is first
reached, b times the second, and c times from then on; ``*`` may stand among them. ``E_c`` is another spelling
of ``Ec``, and blanks mean nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NoReturn

from lacunary.errors import ParameterError

__all__ = ["Instruction", "Repeat", "Schedule", "Symbol", "Times", "parse_schedule", "program"]

Symbol = Literal["E", "M", "Ec", "S"]

Times = tuple[int | None, ...]
"""How often: the first time, the second, …, the last entry from then on; None is until nothing changes."""

DEPTH, LENGTH, MOST = 16, 1000, 1_000_000
"""The deepest nesting, the longest text, and the largest number that are read."""


@dataclass(frozen=True)
class Repeat:
    """Some steps, again and again."""

    body: tuple[Symbol | Repeat, ...]
    times: Times

    def at(self, visit: int) -> int | None:
        """Return how often to repeat when this place is reached for the visit-th time, counted from zero."""
        return self.times[min(visit, len(self.times) - 1)]

    def __str__(self) -> str:
        inside = _written(self.body)
        bare = len(self.body) == 1 and self.body[0] == "S"
        return (inside if bare else f"({inside})") + _suffix(self.times)


@dataclass(frozen=True)
class Schedule:
    """A sequence of steps and repeats that makes sense: see `parse_schedule`."""

    body: tuple[Symbol | Repeat, ...]

    def __str__(self) -> str:
        return _written(self.body)


def parse_schedule(text: str) -> Schedule:
    """Return the schedule that a text stands for.

    Refused, with the character at which it goes wrong: what is not in the grammar; an E without an M right
    after it; a search without expected statistics before it in the same bracket; and a search that is not
    followed by an M, without which the new structure has no parameters.

    Examples
    --------
    >>> print(parse_schedule("((E M)^10 E_c S^* M)*"))
    ((EM)^10 Ec S* M)*
    """
    if not isinstance(text, str):
        raise ParameterError(f"a schedule is a text such as '((EM)^10 Ec S* M)*', not {text!r}")
    if len(text) > LENGTH:
        raise ParameterError(f"a schedule has at most {LENGTH} characters, this one has {len(text)}")
    reader = _Reader(text)
    items = reader.items(0)
    if reader.at < len(text):
        reader.fail("a bracket is closed that was never opened")
    if not items:
        reader.fail("a schedule needs at least one step, such as in ((EM)^10 Ec S* M)*")
    _check(reader, items)
    return Schedule(_spliced(items))


@dataclass(frozen=True)
class _Item:
    """A step or a bracket as it was read, and where it stood."""

    at: int
    what: Symbol | tuple[_Item, ...]
    times: Times


class _Reader:
    """A text, and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        """Refuse the text, pointing at a character."""
        place = self.at if at is None else at
        line = "".join(" " if c.isspace() else c for c in self.text)
        raise ParameterError(
            f"the schedule goes wrong at character {place + 1}: {why}\n  {line}\n  {' ' * place}^"
        )

    def peek(self) -> str:
        """Return the next character that is not blank, or nothing at the end."""
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def items(self, depth: int) -> list[_Item]:
        """Read steps and brackets up to a closing bracket or the end."""
        out: list[_Item] = []
        while (found := self.peek()) not in ("", ")"):
            at = self.at
            what = self.bracket(depth) if found == "(" else self.symbol(found)
            out.append(_Item(at, what, self.times()))
        return out

    def symbol(self, found: str) -> Symbol:
        """Read one step."""
        if found not in ("E", "M", "S"):
            self.fail(f"{found!r} is no step; steps are E, M, Ec and S, and ( ) * ^ repeat them")
        self.at += 1
        for ending in ("_c", "c") if found == "E" else ():
            if self.text.startswith(ending, self.at):
                self.at += len(ending)
                return "Ec"
        return "E" if found == "E" else "M" if found == "M" else "S"

    def bracket(self, depth: int) -> tuple[_Item, ...]:
        """Read what stands between two brackets."""
        opened = self.at
        if depth >= DEPTH:
            self.fail(f"brackets are nested more than {DEPTH} deep")
        self.at += 1
        inside = self.items(depth + 1)
        if self.peek() != ")":
            self.fail("this bracket is never closed", opened)
        if not inside:
            self.fail("there is nothing between these brackets", opened)
        self.at += 1
        return tuple(inside)

    def times(self) -> Times:
        """Read how often the last step or bracket is repeated; once if nothing is said."""
        found = self.peek()
        if found == "*":
            self.at += 1
            return (None,)
        if found != "^":
            return (1,)
        self.at += 1
        if self.peek() != "{":
            return (self.number(),)
        self.at += 1
        out = [self.number()]
        while self.peek() == ",":
            self.at += 1
            out.append(self.number())
        if self.peek() != "}":
            self.fail("expected , or } here")
        self.at += 1
        while len(out) > 1 and out[-1] == out[-2]:  # the last holds from then on
            out.pop()
        return tuple(out)

    def number(self) -> int | None:
        """Read a number from one on, or a star."""
        if self.peek() == "*":
            self.at += 1
            return None
        begin = self.at
        while self.at < len(self.text) and self.text[self.at] in "0123456789":
            self.at += 1
        digits = self.text[begin : self.at]
        if not digits or not 1 <= int(digits[:9]) <= MOST or len(digits) > 7:
            self.fail(f"expected a number from 1 to {MOST}, or *", begin)
        return int(digits)


def _check(reader: _Reader, items: list[_Item] | tuple[_Item, ...]) -> None:
    """Refuse steps in an order that makes no sense."""
    known, searched, at = False, False, 0  # statistics for a search; a structure without parameters
    for k, item in enumerate(items):
        before = items[k - 1].what if k else None
        after = items[k + 1] if k + 1 < len(items) else None
        at = item.at
        if searched and not (item.what in ("M", "S") or isinstance(item.what, tuple)):
            reader.fail("after a search an M has to come first: the new structure has no parameters yet", at)
        if item.what in ("E", "Ec", "M") and item.times != (1,):
            reader.fail(f"repeating {item.what} by itself changes nothing; repeat a bracket such as (EM)", at)
        if item.what == "E" and (after is None or after.what != "M"):
            reader.fail("an E has to be followed by its M", at)
        if item.what == "M" and before != "E" and not known:
            reader.fail("this M has nothing to maximise: an E or Ec has to come before it", at)
        if item.what == "S" and not known:
            reader.fail(
                "a search needs expected statistics: an Ec has to come before it, in the same bracket", at
            )
        if isinstance(item.what, tuple):
            if searched:
                reader.fail("after a search an M has to come first", at)
            _check(reader, item.what)
        known = item.what == "Ec" or (known and item.what in ("S", "M") and before != "E")
        searched = item.what == "S" or (searched and item.what != "M")
    if searched:
        reader.fail("after a search an M has to come: the new structure has no parameters yet", at)


def _spliced(items: list[_Item] | tuple[_Item, ...]) -> tuple[Symbol | Repeat, ...]:
    """Return steps and repeats; what happens once needs no bracket."""
    out: list[Symbol | Repeat] = []
    for item in items:
        body = _spliced(item.what) if isinstance(item.what, tuple) else (item.what,)
        if item.times == (1,):
            out += body
        else:
            out.append(Repeat(body, item.times))
    return tuple(out)


def _written(body: tuple[Symbol | Repeat, ...]) -> str:
    """Return steps as text, E and M side by side and all else apart."""
    return " ".join(map(str, body)).replace("E M", "EM")


def _suffix(times: Times) -> str:
    each = ["*" if often is None else str(often) for often in times]
    if len(each) > 1:
        return "^{" + ",".join(each) + "}"
    return "*" if each == ["*"] else f"^{each[0]}"


@dataclass(frozen=True)
class Instruction:
    """One thing to do; a run can be left at any of them, and taken up again.

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
