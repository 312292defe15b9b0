"""From a structure and a table to parameters."""
