"""Whole analyses as verbs: what an expert would do with a table, step by step, and what came out of it."""
