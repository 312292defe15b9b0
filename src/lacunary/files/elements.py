"""XML documents that describe networks: what is wrong with one is said with its line and column."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from math import prod
from typing import NoReturn
from xml.parsers import expat

import numpy as np

from lacunary.data.schema import Variable
from lacunary.errors import FileError
from lacunary.files.parsed import ParsedNetwork
from lacunary.files.tokens import as_numbers
from lacunary.infer.network import Network
from lacunary.maths.arrays import Array

__all__ = ["Document"]


class Document(ABC):
    """What is known of a document while it is read, element by element.

    Attributes
    ----------
    draft
        The network as far as it has been read.
    here
        Gives the line and column that are being read.
    """

    root: str
    depth: int

    def __init__(self) -> None:
        self.draft = ParsedNetwork(self)
        self.here: Callable[[], tuple[int, int]] = lambda: (1, 1)
        self._places: list[tuple[int, int]] = []

    @classmethod
    def parse(cls, data: bytes, *, renormalize: bool) -> Network:
        """Return the network that a document of this format describes."""
        document = cls()
        document._listen(data)
        return document.draft.network(renormalize=renormalize)

    @abstractmethod
    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""

    @abstractmethod
    def text(self, piece: str) -> None:
        """Take in text of the innermost open element."""

    @abstractmethod
    def end(self, name: str) -> None:
        """Close the innermost element."""

    def entity(self, name: str, *_: object) -> NoReturn:
        """Refuse an entity: it could expand without end, or read other files."""
        line, column = self.here()
        raise FileError(
            f"line {line}, column {column}: the entity {name!r} is declared; entities are not allowed"
        )

    def error(self, place: int, message: str) -> FileError:
        """Return the error with the line and column of an element."""
        line, column = self._places[place] if self._places else (1, 1)
        return FileError(f"line {line}, column {column}: {message}")

    def placed(self, name: str, within: int) -> int:
        """Return the place of an element that opens within so many others, or refuse it."""
        place = len(self._places)
        self._places.append(self.here())
        if not within and name != self.root:
            raise self.error(place, f"expected <{self.root}>, but found <{name}>")
        if within >= self.depth:
            raise self.error(place, f"elements within elements, more than {self.depth} deep")
        return place

    def table(self, text: str, place: int, child: Variable, parents: Sequence[Variable]) -> Array:
        """Return a conditional table: the child's states move fastest, then those of its last parent."""
        values = as_numbers(text.split())
        if values is None:
            raise self.error(place, f"the table of {child.name!r} holds something that is not a probability")
        shape = [*(p.size for p in parents), child.size]
        if len(values) != prod(shape):
            raise self.error(
                place, f"the table of {child.name!r} needs {prod(shape)} values, not {len(values)}"
            )
        return np.array(values).reshape(shape)

    def _listen(self, data: bytes) -> None:
        parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.text
        parser.EntityDeclHandler = self.entity
        self.here = lambda: (parser.CurrentLineNumber, parser.CurrentColumnNumber + 1)
        try:
            parser.Parse(data, True)
        except expat.ExpatError as problem:
            reason = expat.ErrorString(problem.code)
            raise FileError(f"line {problem.lineno}, column {problem.offset + 1}: {reason}") from None
        except FileError:
            raise
        except (LookupError, ValueError) as problem:
            raise FileError(f"line 1, column 1: the encoding cannot be read: {problem}") from None
