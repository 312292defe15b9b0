"""Tests; they mirror the packages they test."""

from hypothesis import settings

# A loaded machine is slow, not wrong: Hypothesis is not to judge by the clock.
settings.register_profile("house", deadline=None)
settings.load_profile("house")
