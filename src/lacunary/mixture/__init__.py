"""Mixtures of networks whose components have structures of their own (TMCH98)."""
