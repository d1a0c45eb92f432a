"""The list of what may be asked of a Managed Prometheus workspace: four reads of its query API.

Another path, another method or another host is refused before a socket exists
(`door_guard.py`). PromQL comes from the written templates of `prometheus_queries.py` alone.
"""

from types import MappingProxyType
from typing import NamedTuple


class QueryPath(NamedTuple):
    """One read of the query API."""

    path: str  # below /workspaces/<id>
    method: str
    iam_action: str
    rows: str  # the member of our page that holds the answer's rows


# Managed Prometheus user guide, "Prometheus-compatible APIs". A query goes as a form: with the
# names of many nodes it outgrows what a URL may be; a POST of these two paths reads as a GET does.
PROMETHEUS_READS = MappingProxyType(
    {
        "Query": QueryPath("api/v1/query", "POST", "aps:QueryMetrics", "result"),
        "QueryRange": QueryPath("api/v1/query_range", "POST", "aps:QueryMetrics", "result"),
        "Labels": QueryPath("api/v1/labels", "GET", "aps:GetLabels", "labels"),
        "Series": QueryPath("api/v1/series", "GET", "aps:GetSeries", "series"),
    }
)
