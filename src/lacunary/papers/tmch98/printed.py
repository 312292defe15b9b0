"""What TMCH98 printed in its tables and Figure 3."""

from __future__ import annotations

__all__ = ["HOURS", "TABLE_1", "TABLE_2", "YEARS"]

TABLE_1 = {
    "learn": (
        *((5, 1812), (7, 2910), (6, 1816), (4, 1344), (7, 2115)),
        *((9, 2702), (9, 2712), (9, 3168), (6, 1868), (8, 2955)),
    ),
    "complete": tuple((k, 2145 * k) for k in (2, 2, 1, 1, 2, 1, 2, 2, 2, 2)),
    "empty": tuple((k, 129 * k) for k in (8, 5, 6, 6, 6, 6, 5, 4, 5, 5)),
}
"""Components and parameters of each digit's mixture, 0 to 9."""

TABLE_2 = {
    93: (2, 1.00, (None, 4, 0)),
    186: (2, 1.00, (None, 2, 0)),
    375: (3, 1.00, (1, 1, 0)),
    750: (5, 0.98, (1, 1, 0)),
    1500: (3, 1.00, (0, 3, 0)),
    3000: (5, 0.99, (1, 1, 0)),
}
"""By rows: components, weight of the three largest, arc differences of COMP1 to COMP3."""

HOURS = {"learn": 6.0, "complete": 1.5, "empty": 1.9}
"""To learn one digit's mixtures on a P6 of 200 MHz."""

YEARS = 6.0
"""That simple search-and-score was reckoned to take."""
