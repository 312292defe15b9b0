"""The arrays that signatures speak of, by what they hold; shapes are in docstrings."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "Booleans", "Integers"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
