"""What others publish, as data: one CSV and one reader each, a source in every row.

Rows are frozen dataclasses and not Values: `Row` has already checked each cell, so pydantic would
only check it again, and importing it takes longer than `gpuvet xid 79` as a whole.
"""
