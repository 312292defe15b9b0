"""The command line: parse, call a verb, print."""

import gc
import io
import os
import sys

from lacunary.cli.app import app
from lacunary.cli.checkpoints import end_as_if_interrupted

__all__ = ["app", "main"]

RARELY = 50_000
"""Objects made between two looks for garbage in cycles: a compiler makes millions that stay."""


def main() -> None:
    """Run the command that the arguments name."""
    for name in ("stdin", "stdout", "stderr"):  # where one is closed, a file must not take its place
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), "r" if name == "stdin" else "w"))
    for stream in (sys.stdout, sys.stderr):  # what a terminal's letters cannot say is spelled out
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(RARELY)
    end_as_if_interrupted()
    app(prog_name="lacunary")
