"""TMCH98, reproduced."""
