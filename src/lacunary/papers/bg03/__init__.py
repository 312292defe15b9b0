"""BG03, reproduced."""
