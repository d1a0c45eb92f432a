"""Checks of job specs, clusters and fleets, each with its code."""
