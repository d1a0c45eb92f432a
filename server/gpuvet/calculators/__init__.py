"""Pure rules over values: no clock, no network, no files."""
