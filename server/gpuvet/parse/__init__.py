"""Text in, values out; every line is understood or counted as not understood."""
