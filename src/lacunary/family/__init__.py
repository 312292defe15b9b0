"""Families: the local models p(variable | parents), each an object in a file of its own."""
