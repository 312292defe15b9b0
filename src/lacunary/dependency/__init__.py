"""Every column's distribution given all others, to fill holes with."""
