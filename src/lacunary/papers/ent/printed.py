"""What ENT prints: relative medians and rankings, by network, metric and setting."""

from __future__ import annotations

from lacunary.papers.ent.judgement import Places

__all__ = ["BN1_MEDIANS", "BN1_PLACES", "BN2_MEDIANS", "BN2_PLACES", "LEAF_TIE", "MEDIANS", "THREE"]

MEDIANS = {
    "asia": {
        "joint": ((0.90, 0.96), (0.79, 0.90), (0.92, 0.96), (0.81, 0.91)),
        "leaf": ((0.93, 0.92), (0.87, 0.86), (0.98, 0.99), (0.92, 0.89)),
    },
    "alarm": {
        "joint": ((0.85, 0.93), (0.79, 0.88), (0.89, 0.93), (0.82, 0.89)),
        "leaf": ((0.96, 0.95), (0.94, 0.94), (0.98, 0.97), (0.97, 0.96)),
    },
    "random": {
        "joint": ((0.78, 0.94), (0.75, 0.89), (0.82, 0.92), (0.80, 0.89)),
        "leaf": ((0.89, 0.92), (0.88, 0.88), (0.96, 0.97), (0.95, 0.92)),
    },
}
"""Tables 1 to 3: average and entropy, each over the best start, in the order of `plan.SETTINGS`."""

THREE: Places = (("average",), ("entropy",), ("best",))
LEAF_TIE: Places = (("average", "entropy"), ("best",))
"""The two rankings that occur in print; the second only on leaves, of ALARM and of random networks."""

BN1_MEDIANS = {
    100: {"average": 0.27, "max-entropy": 0.33, "entropy": 0.37, "global": 1.5},
    300: {"average": 0.14, "max-entropy": 0.25, "entropy": 0.35, "global": 1.2},
}
BN1_PLACES: Places = (("average",), ("max-entropy",), ("entropy",), ("best",), ("global",))
BN2_MEDIANS = {
    300: {"max-entropy": 0.71, "average": 0.78, "entropy": 0.90},
    500: {"max-entropy": 0.68, "average": 0.78, "entropy": 0.92},
}
BN2_PLACES: Places = (("max-entropy",), ("average",), ("entropy",), ("best",))
