"""lacunary beside its peers, on the same problems from the same starting points, in one run."""
