"""Networks as files: BIF, XMLBIF, Hugin NET and the native JSON."""

from typing import TYPE_CHECKING, Any

from lacunary.files import models  # noqa: F401 - it teaches the format its nouns
from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record
from lacunary.files.store import load, save
from lacunary.files.vectors import decode_vector, encode_vector
from lacunary.files.whole import write_whole

if TYPE_CHECKING:
    from lacunary.files.checkpoint import Checkpoint

__all__ = [
    "Checkpoint",
    "Record",
    "decode",
    "decode_vector",
    "encode",
    "encode_vector",
    "load",
    "register",
    "save",
    "write_whole",
]


def __getattr__(name: str) -> Any:
    """Load what learning needs when it is asked for: to read a network is quick."""
    if name == "Checkpoint":
        from lacunary.files.checkpoint import Checkpoint

        return Checkpoint
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
