"""What we are given: variables, tables with holes, and where they come from."""
