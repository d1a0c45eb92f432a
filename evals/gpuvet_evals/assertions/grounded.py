"""`grounded` assertions: every id and number of the answer stands in what the run read. Pure.

The audit does the tracing; here its list decides. Text the user wrote counts as read.
"""

from gpuvet_evals.assertions.patterns import PatternScore
from gpuvet_evals.audit.grounding import Grounding

_SHOWN = 8


def score_grounding(grounding: Grounding) -> PatternScore:
    """Return whether nothing of the answer is unsupported; an answer without figures passes."""
    loose = (*grounding.unsupported_ids, *grounding.unsupported_numbers)
    if not loose:
        count = len(grounding.supported_ids)
        return PatternScore(passed=True, evidence=f"Every figure was read; {count} ids among them")
    more = f" and {len(loose) - _SHOWN} more" if len(loose) > _SHOWN else ""
    return PatternScore(passed=False, evidence=f"Read nowhere: {', '.join(loose[:_SHOWN])}{more}")
