"""Audits of one run: did it only read, is each figure grounded, does anything leak."""
