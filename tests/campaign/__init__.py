"""Campaigns: long seeded runs against oracles, with faults and with mutants; ``python -m tests.campaign``.

Each is cut into numbered pieces that depend on the seed and their number alone, so that a run goes on where
it stopped, and a piece that failed can be looked at by itself. `run.py` is the runner; the rest is one file a
kind.
"""
