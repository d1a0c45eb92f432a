"""Frozen values that cross module boundaries; no behaviour beyond small properties."""
