"""The command line: parse, call a verb, print."""

import io
import os
import sys
from copy import copy
from typing import Any

from typer.main import get_group
from typer.models import CommandInfo

# In the order in which help lists the commands.
# isort: off
from lacunary.cli import demo, describe, fit, classes, search, arcs, mixture, assign, query, impute, score  # noqa: F401
from lacunary.cli import effect, missing, report, sensitivity, loo, workbench, reproduce, warm_up  # noqa: F401

# isort: on
from lacunary.cli.app import app
from lacunary.cli.checkpoints import end_as_if_interrupted

__all__ = ["app", "main"]


def main() -> None:
    """Run the command that the arguments name."""
    for name in ("stdin", "stdout", "stderr"):  # where one is closed, a file must not take its place
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w"))
    for stream in (sys.stdout, sys.stderr):  # what a terminal's letters cannot say is spelled out
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    end_as_if_interrupted()
    _asked()(prog_name="lacunary")


def _asked() -> Any:
    """Return the command that the arguments name, by itself: it starts sooner. Else all commands."""
    asked = [one for one in app.registered_commands if _name(one) == (sys.argv[1:] or [""])[0]]
    if not asked:
        return app
    only = copy(app)
    only.registered_commands = asked
    return get_group(only)


def _name(command: CommandInfo) -> str:
    return command.name or getattr(command.callback, "__name__", "").replace("_", "-")
