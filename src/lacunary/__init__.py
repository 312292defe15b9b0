"""Bayesian networks, and mixtures of them, from data with holes."""

__version__ = "0.1.0"
