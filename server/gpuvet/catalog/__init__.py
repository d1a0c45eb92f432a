"""What others publish, as data: one CSV and one reader each, a source in every row."""
