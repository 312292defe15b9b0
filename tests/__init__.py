"""Tests; they mirror the packages they test."""

import os

from hypothesis import Phase, settings

# A loaded machine is slow, not wrong: Hypothesis is not to judge by the clock. The same commit gives the same
# examples, so that a run says something of the commit; `HYPOTHESIS_PROFILE=campaign` draws fresh ones.
settings.register_profile("house", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("campaign", deadline=None, derandomize=False, max_examples=200)
# What fails is not made smaller where it is enough to know that it fails.
settings.register_profile(
    "quick", deadline=None, derandomize=True, max_examples=25, phases=(Phase.explicit, Phase.generate)
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))
