"""The effective dimension: the rank of the map from parameters to what can be observed."""
