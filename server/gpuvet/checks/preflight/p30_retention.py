"""P30: logs are kept until the run can be looked into."""

from collections.abc import Iterator
from datetime import timedelta
from math import ceil

from gpuvet.checks.preflight.outcome import Part, PreflightCheck, unread
from gpuvet.checks.preflight.reading import rows
from gpuvet.checks.preflight.view import View
from gpuvet.model.check import CheckStatus

# preflight P30: days to look into a run after it.
_REVIEW_DAYS = 7


def retention(view: View) -> Iterator[Part]:
    """Compare the retention of the nodes' log groups with the run's length."""
    if not view.retention.is_complete:
        yield unread(view.retention, "log groups")
    need = ceil((view.run.end - view.now) / timedelta(days=1)) + _REVIEW_DAYS
    refs = view.retention.refs
    for one in rows(view.retention):
        kept = "for ever" if one.days is None else f"{one.days} days"
        told = f"{one.name} keeps lines {kept}; run and review take {need} days"
        counts = {"needed_days": need} | ({"kept_days": one.days} if one.days is not None else {})
        if one.days is not None and one.days < need:
            act = f"keep {one.name} for at least {need} days"
            yield Part(
                CheckStatus.RISK, one.name, told, counts, action=act, evidence=view.retention.refs
            )
        else:
            yield Part(CheckStatus.PASS, one.name, told, counts, evidence=refs)
    if view.retention.is_complete and not rows(view.retention):
        why, closes = "no log group of the nodes was returned", "logs:DescribeLogGroups"
        yield Part(CheckStatus.UNVERIFIED, "log groups", why, closes_with=closes)


P30 = PreflightCheck(
    "P30",
    "logs are kept until the run can be looked into",
    "DescribeLogGroups (full form)",
    "RISK: retention shorter than the run and seven days more",
    "CloudWatch Logs user guide; the week is ours",
    retention,
)
