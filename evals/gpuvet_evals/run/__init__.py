"""Plays a side of an eval with a model over a recorded world, and writes what happened."""
