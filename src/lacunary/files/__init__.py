"""Networks as files: BIF, XMLBIF, Hugin NET and the native JSON."""

from lacunary.files import fits, mixtures, models, studies, trails  # noqa: F401 - they teach the format their nouns
from lacunary.files.checkpoint import Checkpoint
from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record
from lacunary.files.store import load, save
from lacunary.files.vectors import decode_vector, encode_vector
from lacunary.files.whole import write_whole

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
