"""What only a model can decide: asked with care, voted on, kept; pairs in both orders."""
