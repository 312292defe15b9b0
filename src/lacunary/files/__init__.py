"""Networks as files: BIF, XMLBIF, Hugin NET and the native JSON."""

from lacunary.files.checkpoint import Checkpoint
from lacunary.files.fits import Climbs
from lacunary.files.mixtures import MixtureCheckpoint
from lacunary.files.native import decode, encode, register
from lacunary.files.record import Record
from lacunary.files.store import load, save
from lacunary.files.trails import SearchCheckpoint
from lacunary.files.vectors import decode_vector, encode_vector
from lacunary.files.whole import write_whole

__all__ = [
    "Checkpoint",
    "Climbs",
    "MixtureCheckpoint",
    "Record",
    "SearchCheckpoint",
    "decode",
    "decode_vector",
    "encode",
    "encode_vector",
    "load",
    "register",
    "save",
    "write_whole",
]
