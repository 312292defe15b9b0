"""Graphs, families of distributions, priors and beliefs, and what is counted for them."""
