"""ENT, reproduced; README.md says what was settled before the run."""
