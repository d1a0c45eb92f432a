"""All pages of one read: which token leads on, how large a page may be, when to stop."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from gpuvet.aws.live_calls import Failure, Page
from gpuvet.aws.recorded import MAX_PAGES
from gpuvet.model.evidence import Reason, Status
from gpuvet.model.untyped import is_array, is_object

_TOKENS = ("NextToken", "nextToken")
# GetLogEvents has a token on its last page too: it repeats the one that was sent.
_FORWARD = {"logs:GetLogEvents": "nextForwardToken"}

# Largest page of each listing (botocore 1.44.8 models). Others have one size only.
_MAX_RESULTS = {
    "sagemaker:ListClusters": ("MaxResults", 100),
    "sagemaker:ListClusterNodes": ("MaxResults", 100),
    "sagemaker:ListClusterEvents": ("MaxResults", 100),
    "sagemaker:ListTrainingPlans": ("MaxResults", 100),
    "ec2:DescribeInstances": ("MaxResults", 1000),
    "ec2:DescribeInstanceTypes": ("MaxResults", 100),
    "ec2:DescribeInstanceStatus": ("MaxResults", 1000),
    "ec2:DescribeCapacityReservations": ("MaxResults", 1000),
    "ec2:DescribeCapacityBlocks": ("MaxResults", 1000),
    "ec2:DescribeCapacityBlockStatus": ("MaxResults", 1000),
    "ec2:DescribeCapacityBlockExtensionHistory": ("MaxResults", 1000),
    "ec2:DescribeSecurityGroups": ("MaxResults", 1000),
    "ec2:DescribeSubnets": ("MaxResults", 1000),
    "ec2:DescribeRouteTables": ("MaxResults", 100),
    "ec2:DescribeNetworkInterfaces": ("MaxResults", 1000),
    "ec2:DescribeVpcEndpoints": ("MaxResults", 1000),
    "ec2:GetManagedPrefixListEntries": ("MaxResults", 100),
    "logs:DescribeLogGroups": ("limit", 50),
    "logs:DescribeLogStreams": ("limit", 50),
    "logs:ListLogGroups": ("limit", 1000),
    "logs:GetQueryResults": ("maxItems", 10_000),
    "cloudwatch:DescribeAlarms": ("MaxRecords", 100),
    "cloudwatch:DescribeAlarmHistory": ("MaxRecords", 100),
    "cloudtrail:LookupEvents": ("MaxResults", 50),
    "health:DescribeEvents": ("maxResults", 100),
    "health:DescribeAffectedEntities": ("maxResults", 100),
    "events:ListRules": ("Limit", 100),
    "events:ListTargetsByRule": ("Limit", 100),
    "eks:ListNodegroups": ("maxResults", 100),
    "eks:ListAddons": ("maxResults", 100),
    "service-quotas:ListServiceQuotas": ("MaxResults", 100),
    "amp:ListWorkspaces": ("maxResults", 100),
}

# Ours: a listing that is longer than this costs more calls than the query that goes on from it
# (log_streams.py); 2,000 streams.
MOST_PAGES = {"logs:DescribeLogStreams": 40}

# Their `limit` is how many events the caller wants, not how many stand on a page.
_BOUNDED = {"logs:FilterLogEvents": "events", "logs:GetLogEvents": "events"}


class Outcome(NamedTuple):
    """What a read came to."""

    pages: tuple[Page, ...]
    status: Status
    reason: Reason | None = None
    code: str | None = None
    notes: tuple[str, ...] = ()
    ends_gathering: bool = False  # every later call of this region fails the same way


def read_pages(
    operation: str,
    params: Mapping[str, Any],
    ask: Callable[[Mapping[str, Any]], Page | Failure],
    *,
    rows: tuple[str, ...],
    max_pages: int = MAX_PAGES,
) -> Outcome:
    """Return every page of a read; the token leads on, never the number of rows.

    Args:
        operation: `service:Operation`.
        params: As asked.
        ask: Makes one request.
        rows: Members whose rows are the answer; empty for a single object.
        max_pages: After this many the reading is PARTIAL.
    """
    sent: Mapping[str, Any] = {**_page_size(operation, params), **params}
    pages: list[Page] = []
    while True:
        answer = ask(sent)
        if isinstance(answer, Failure):
            return failed(tuple(pages), answer)
        pages.append(plain(answer, has_times=not operation.startswith(_WITHOUT_TIMES)))
        following = _next_params(operation, sent, answer)
        if following is None:
            return _whole(pages, rows)
        if _is_enough(operation, params, pages):
            return Outcome(tuple(pages), Status.PARTIAL, Reason.ROW_CAP)
        # A token that leads back to its own page would go on for ever.
        if len(pages) >= max_pages or following == sent:
            return Outcome(tuple(pages), Status.PARTIAL, Reason.PAGE_CAP)
        sent = following


def failed(pages: tuple[Page, ...], failure: Failure) -> Outcome:
    """Return what a failure leaves: with some pages read, the reading is PARTIAL."""
    status = Status.PARTIAL if pages else failure.meaning.status
    notes = (failure.message,) if failure.message else ()
    meaning = failure.meaning
    return Outcome(pages, status, meaning.reason, failure.code, notes, meaning.ends_gathering)


def _whole(pages: list[Page], rows: tuple[str, ...]) -> Outcome:
    has_rows = not rows or any(page.get(name) for page in pages for name in rows)
    return Outcome(tuple(pages), Status.OK if has_rows else Status.OK_EMPTY)


def _page_size(operation: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the largest page; EC2 takes no size beside a list of what is wanted."""
    if operation not in _MAX_RESULTS or (operation.startswith("ec2:") and _names_items(params)):
        return {}
    name, size = _MAX_RESULTS[operation]
    return {name: size}


def _names_items(params: Mapping[str, Any]) -> bool:
    return any(is_array(value) for name, value in params.items() if name != "Filters")


def _next_params(operation: str, sent: Mapping[str, Any], page: Page) -> Mapping[str, Any] | None:
    if operation in _FORWARD:
        token = page.get(_FORWARD[operation])
        is_last = not token or token == sent.get("nextToken")
        return None if is_last else {**sent, "nextToken": token}
    name = next((name for name in _TOKENS if page.get(name)), None)
    return None if name is None else {**sent, name: page[name]}


def _is_enough(operation: str, params: Mapping[str, Any], pages: list[Page]) -> bool:
    wanted = params.get("limit")
    if operation not in _BOUNDED or not isinstance(wanted, int):
        return False
    return sum(len(page.get(_BOUNDED[operation], ())) for page in pages) >= wanted


# CloudWatch Logs writes its times as numbers and text, and its rows come by the ten thousand.
_WITHOUT_TIMES = "logs:"


def plain(reply: Page, *, has_times: bool = True) -> Page:
    """Return a reply without its transport's part, all times in UTC."""
    own = {name: value for name, value in reply.items() if name != "ResponseMetadata"}
    return {name: _in_utc(value) for name, value in own.items()} if has_times else own


def _in_utc(value: Any) -> Any:  # noqa: ANN401 (a reply is what it is)
    if isinstance(value, datetime):
        return value.astimezone(UTC) if value.tzinfo else value.replace(tzinfo=UTC)
    if is_object(value):
        return {name: _in_utc(inner) for name, inner in value.items()}
    if is_array(value):
        return [_in_utc(inner) for inner in value]
    return value
