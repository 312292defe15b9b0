"""Reading XML by events: what is wrong with a document is said with its line and column."""

from __future__ import annotations

from typing import Any
from xml.parsers import expat

from lacunary.errors import FileError

__all__ = ["parse_events"]


def parse_events(document: Any, data: bytes) -> None:
    """Tell a document its elements and texts, in order, by its methods start, end, text and entity.

    ``document.here`` then gives the line and column that are being read.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = document.start
    parser.EndElementHandler = document.end
    parser.CharacterDataHandler = document.text
    parser.EntityDeclHandler = document.entity
    document.here = lambda: (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
    try:
        parser.Parse(data, True)
    except expat.ExpatError as problem:
        reason = expat.ErrorString(problem.code)
        raise FileError(f"line {problem.lineno}, column {problem.offset + 1}: {reason}") from None
    except FileError:
        raise
    except (LookupError, ValueError) as problem:
        raise FileError(f"line 1, column 1: the encoding cannot be read: {problem}") from None
