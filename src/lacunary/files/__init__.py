"""Networks as files: BIF, XMLBIF, Hugin NET and the native JSON."""

from lacunary.files.store import load, save
from lacunary.files.whole import write_whole

__all__ = ["load", "save", "write_whole"]
