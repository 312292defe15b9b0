"""The commands' common ground: how they fail, and what ``lacunary --help`` says."""

from __future__ import annotations

import ast
import errno
import os
import re
import shlex
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from lacunary.budget import check_engine, memory, ran_out
from lacunary.cli.listed import COMMANDS, declared, made
from lacunary.cli.standard import send
from lacunary.cli.unconverted import leave_alone
from lacunary.data.wording import harmless
from lacunary.errors import LacunaryError
from lacunary.exactness import exactly

__all__ = [
    "INTERRUPTED",
    "UNHEARD",
    "WRONG",
    "app",
    "command",
    "complain",
    "note",
    "prompted",
    "without_note",
]

F = TypeVar("F", bound=Callable[..., Any])

_noted = ContextVar("whether a command has said what is doubtful about the columns", default=False)

WRONG = 1
INTERRUPTED = 130
BUG = 70
"""As sysexits.h has it of a fault inside a program."""
UNHEARD = 141
"""As a shell says it of a command whose output nobody reads any more."""

EXIT_CODES = """Exit codes:

- 0: all is well
- 1: the data, the model or a file is wrong; the message says what, where and what to do
- 2: the command was not understood
- 70: a bug of lacunary; one line says where the full report was written
- 130: interrupted, by Ctrl-C, SIGTERM or a closed terminal; the best so far is kept and written to --out
- 141: what reads the output, such as head, has closed it

`lacunary COMMAND --help` shows examples of each command.
"""


MARKUP: Any = "markdown"
"""In which help is written."""

MISUSED: type[Exception] = next(
    kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException"
)
"""Arguments that were not understood, of which Typer tells itself."""

UNWRITTEN = (errno.ENOSPC, errno.EIO, errno.EFBIG, errno.EDQUOT)
"""What goes wrong where a file system cannot take what is printed."""

MEMORY = typer.Option(
    help="How much memory the process may use, such as 2GB; unless told, LACUNARY_MEMORY, or all there is.",
    metavar="SIZE",
    rich_help_panel="Limits",
)
EXACT = typer.Option(
    "--exact",
    help="Refuse what does not fit exact inference, instead of drawing it with a stated error.",
    rich_help_panel="Limits",
)
"""The options that every command has."""

LISTED = re.compile(r"""\b(drop|hidden|holes|not_holes)=(\[(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|, )+\])""")
"""A list of texts in the library's advice."""

PROMPTED = (
    (r"\b(kinds|states)=\{'([^']*)': \[…\]\}", r"--\1 '\2=a,b,c'"),
    (r"\b(kinds)=\{'([^']*)': '(\w+)'\}", r"--\1 '\2=\3'"),
    (r"\b(select|method|basis)='([\w-]+)'", r"--\1 \2"),
    (r"\b(decimal|thousands)='(.)'", r"--\1 \2"),
    (r"\bdates='(\w+)'", r"--dates \1"),
    (r"\bday_first=True", "--day-first"),
    (r"\bday_first=False", "--month-first"),
    (r"\b(encoding|comment|sheet)='([^']*)'", r"--\1 '\2'"),
    (r"\bquote=''", "--quote none"),
    (r"\bescape='\\\\'", r"--escape '\\'"),
    (r"\bheader=False", "--no-header"),
    (r"\bheader=2", "--header 2"),
    (r"\bnames=\[…\]", "--names a,b,c"),
    (r"\bragged=True", "--ragged"),
    (r"\b(skip|delimiter|encoding)=…", r"--\1"),
    (r"\bskip_end=…", "--skip-end"),
    (r"\bskip_end=(\d+)", r"--skip-end \1"),
    (r"\bexact=True\b", "--exact"),
    (r"\bquery='([^']*)'", r"--query '\1'"),
    (r"\blist it in hidden to add it", "add it with --hidden NAME=K"),
    (r"\bstarts=Draws\((\d+)\)", r"--starts \1"),
    (r"\b(drop|holes|kinds|states|weights)=…", r"--\1"),
    (r"(--\w+ )'([\w=,.]+)'(?!\")", r"\1\2"),  # quotes only where a shell needs them
)
"""How the library's advice is spelled at the prompt."""


class Command(TyperCommand):
    """A command that converts no more of its arguments than it has to."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what the command may be given."""
        return leave_alone(super().get_params(ctx))


def end(found: Any) -> None:
    """End as what was interrupted does, where that is what has been shown."""
    if found.interrupted:
        raise typer.Exit(INTERRUPTED)


class Commands(TyperGroup):
    """Commands that are loaded when they are called, and whose failures are one message, not a traceback."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands = {name: TyperCommand(name, help=listed.summary) for name, listed in COMMANDS.items()}

    def get_params(self, ctx: Any) -> list[Any]:
        """Return what may stand before the command."""
        return leave_alone(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that arguments name: its name, itself, and its arguments."""
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed and made(listed.name or ""), rest

    def invoke(self, ctx: Any) -> Any:
        """Run the command; turn what a user can put right into a message and an exit code."""
        try:
            with warnings.catch_warnings():
                warnings.showwarning = _note
                try:
                    check_engine()
                    return super().invoke(ctx)
                finally:
                    send()
                    sys.stdout.flush()
        except (typer.Exit, typer.Abort, MISUSED):
            raise
        except KeyboardInterrupt as pressed:
            why = f": {pressed}" if str(pressed) else ""
            complain(f"interrupted{why}; nothing was written")
            raise typer.Exit(INTERRUPTED) from None
        except LacunaryError as problem:
            complain(prompted(str(problem)))
            raise typer.Exit(WRONG) from None
        except MemoryError as problem:
            complain(str(ran_out("the command", problem)))
            raise typer.Exit(WRONG) from None
        except (OSError, SystemExit) as end:
            raise _unheard(end) from None
        except Exception as problem:
            raise _bug(problem) from None


def _unheard(end: OSError | SystemExit) -> BaseException:
    """Return how to end where the output cannot be written; what is no such problem is a bug, or an end."""
    problem = (
        end if isinstance(end, OSError) else end.__context__
    )  # a console of rich makes a plain exit of it
    number = getattr(problem, "errno", None)
    closed = isinstance(problem, BrokenPipeError) or number == errno.EBADF
    if not closed and number not in UNWRITTEN:
        return end if isinstance(end, SystemExit) else _bug(end)
    with suppress(OSError, ValueError):  # for what is still to be flushed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if closed:
        return typer.Exit(UNHEARD)
    complain(f"the output could not be written: {getattr(problem, 'strerror', problem)}")
    return typer.Exit(WRONG)


def _bug(problem: BaseException) -> typer.Exit:
    """Say in one line that this is a bug, and write the full report to a file."""
    said = "".join(traceback.format_exception_only(problem)).strip().splitlines()[-1]
    where = "which could not be written to a file"
    with suppress(OSError):
        descriptor, path = tempfile.mkstemp(prefix="lacunary-bug-", suffix=".txt")
        with open(descriptor, "w", encoding="utf-8", errors="replace") as file:
            file.write(_report(problem))
        where = f"which is in {path}"
    complain(f"this is a bug of lacunary, not your mistake: {said[:200]}; please send the report, {where}")
    return typer.Exit(BUG)


def _report(problem: BaseException) -> str:
    """Return all that helps to find a bug: versions, the command, where it happened."""
    from lacunary import __version__

    lines = [f"lacunary {__version__}, Python {sys.version}, {sys.platform}"]
    for name in ("numpy", "scipy", "numba", "narwhals", "typer", "matplotlib"):
        lines.append(f"{name} {getattr(sys.modules.get(name), '__version__', 'not loaded')}")
    command = " ".join(shlex.quote(argument) for argument in sys.argv)
    return "\n".join([*lines, "", command, "", "".join(traceback.format_exception(problem))])


app = typer.Typer(
    cls=Commands,
    help="Bayesian networks from data with holes: learn them, ask them, fill the holes.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def complain(message: str) -> None:
    """Say on the error stream what went wrong."""
    typer.echo(f"lacunary: {harmless(message)}", err=True)


def note(doubts: str) -> None:
    """Say on the error stream what is doubtful about the columns, once in a command."""
    if doubts and not _noted.get():
        _noted.set(True)
        complain(f"note: {prompted(doubts)}")


def without_note(found: Any) -> str:
    """Return a result as text; what it says of doubtful columns is said by `note`."""
    note(found.doubts)
    return str(found).removesuffix(f"\nnote: {found.doubts}")


def prompted(message: str) -> str:
    """Return a message of the library as at the prompt, where drop=['id'] is --drop id."""
    message = LISTED.sub(_options, message)
    for python, option in PROMPTED:
        message = re.sub(python, option, message)
    return message


def _options(found: re.Match[str]) -> str:
    """Return a list of texts as options, each quoted where a shell needs it."""
    option = found[1].replace("_", "-")
    return " ".join(f"--{option} {shlex.quote(text)}" for text in ast.literal_eval(found[2]))


def _note(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
    """Say what the library warns of; what Python warns of is for its authors."""
    if issubclass(category, UserWarning):
        complain(f"note: {prompted(str(message))}")


def command(*examples: str) -> Callable[[F], F]:
    """Return what makes a command of a function; the examples in its help run as they stand, one by one.

    A parameter that is a dataclass stands for options of the names of its fields: all but those that the
    function declares itself.
    """
    epilog = "\n".join(["Examples:", "", *(f"- `{line}`" for line in examples)])

    def declare(function: F) -> F:
        alone = declared[function.__name__] = typer.Typer(
            add_completion=False, rich_markup_mode=MARKUP, pretty_exceptions_enable=False
        )
        alone.command(cls=Command, epilog=epilog)(_spread(function))
        return function

    return declare


def _spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with an option for each field of its parameters that are dataclasses."""
    hints = get_type_hints(function, include_extras=True)
    own = signature(function).parameters
    options: dict[str, Parameter] = {}
    groups: dict[str, list[str]] = {}
    for name, parameter in own.items():
        if is_dataclass(hints[name]):
            kinds = get_type_hints(hints[name], include_extras=True)
            groups[name] = [field.name for field in fields(hints[name]) if field.name not in own]
            defaults = {field.name: field.default for field in fields(hints[name])}
            options |= {n: _option(n, kinds[n], defaults[n]) for n in groups[name]}
        else:
            options[name] = _option(name, hints[name], parameter.default)

    @wraps(function)
    def spread(**given: Any) -> Any:
        _noted.set(False)
        limit = given.pop("memory")
        if limit is not None:
            memory(limit)
        forbidden = given.pop("exact")
        made = {name: hints[name](**{n: given.pop(n) for n in names}) for name, names in groups.items()}
        with exactly(forbidden):
            return function(**given, **made)

    options["exact"] = _option("exact", Annotated[bool, EXACT], False)
    options["memory"] = _option("memory", Annotated[str | None, MEMORY], None)
    spread.__signature__ = Signature(list(options.values()))  # type: ignore[attr-defined]
    spread.__annotations__ = {name: option.annotation for name, option in options.items()}
    return spread


def _option(name: str, kind: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _version(wanted: bool) -> None:
    if wanted:
        from lacunary import __version__

        typer.echo(f"lacunary {__version__}")
        raise typer.Exit


@app.callback()
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take what stands before the command."""
    # Names of states can be anything; a terminal that cannot show one must not stop the work.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
