"""The edge: the two doors, and what is read through them."""
