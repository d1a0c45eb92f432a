"""Gather through the doors, then judge with the calculators; no rule of its own."""
