"""One kind of question each: a pattern, a contained text, a job spec."""
