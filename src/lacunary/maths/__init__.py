"""Pure formulas that know no model."""
