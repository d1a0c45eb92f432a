"""Deterministic, typed triage of GPU training clusters on AWS."""

__version__ = "0.1.0"

__all__ = ["__version__"]
