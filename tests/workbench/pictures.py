"""Screens compared with how they looked: small grey pictures, which fonts of another machine hardly change.

`LACUNARY_PICTURES=write` keeps what is seen as what is expected, and makes the pictures of the manual: look
at them before they are committed.
"""

from __future__ import annotations

import io
import os
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
from PIL import Image

FOLDER = Path(__file__).with_name("pictures")
MANUAL = Path(__file__).parents[2] / "docs" / "pictures"
SIZE = (24, 16)
MOST = 0.17
"""One less the correlation of grey levels that is no change: other fonts make 0.02 to 0.11, a panel that is
not there 0.23 and more (serif and monospace in place of the page's fonts, panels hidden, light and dark)."""
LEVEL = 12.0
"""Difference of the mean grey, of 255, that is no change: dark is some 200 from light."""


def check_picture(png: bytes, name: str) -> None:
    """Compare a screenshot with the one that is kept by this name."""
    seen = Image.open(io.BytesIO(png)).convert("L").resize(SIZE, Image.Resampling.BOX)
    path = FOLDER / f"{name}.png"
    if os.environ.get("LACUNARY_PICTURES") == "write":
        FOLDER.mkdir(exist_ok=True)
        seen.save(path, optimize=True)
    known, here = (np.asarray(each, dtype=np.float64).ravel() for each in (Image.open(path), seen))
    apart = 1.0 - float(np.corrcoef(known, here)[0, 1])
    assert apart <= MOST, f"{name} looks otherwise: its greys are {apart:.2f} from being those it had"
    assert abs(known.mean() - here.mean()) <= LEVEL, f"{name} is lighter or darker than it was"


def keep_picture(page: Any, name: str) -> None:
    """Write what a page shows as a picture of the manual, in few colours."""
    sleep(0.8)  # bars move to their places
    seen = Image.open(io.BytesIO(page.screenshot()))
    seen.convert("P", palette=Image.Palette.ADAPTIVE, colors=128).save(MANUAL / f"{name}.png", optimize=True)
