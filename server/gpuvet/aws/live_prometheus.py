"""One request to a Managed Prometheus workspace, signed for `aps` by the session."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NoReturn
from urllib.parse import urlencode

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError, NoCredentialsError
from botocore.parsers import ResponseParserError

from gpuvet.aws.door_guard import Outgoing
from gpuvet.aws.endpoints import WORKSPACE, prometheus_host
from gpuvet.aws.live_http import Wire
from gpuvet.aws.prometheus_answers import page_of
from gpuvet.aws.prometheus_queries import query_text, selector_text
from gpuvet.aws.prometheus_reads import PROMETHEUS_READS
from gpuvet.aws.reads import PROMETHEUS
from gpuvet.errors import NotReadOnly
from gpuvet.model.untyped import is_object

_SIGNING_NAME = "aps"
# A ceiling for one query's work, under the workspace's own (50 million by default), so that a
# mistake of ours is refused and does not cost the customer.
MOST_SAMPLES_PROCESSED = 50_000_000
_MAX_SAMPLES = "max_samples_processed_error_threshold"


def ask_prometheus(
    wire: Wire,
    session: boto3.Session,
    region: str,
    name: str,
    params: Mapping[str, Any],
) -> Mapping[str, Any]:
    """Return one page of a read of the query API.

    Args:
        wire: What it is sent through.
        session: The boto3 session whose credentials sign it.
        region: The workspace's region.
        name: Query, QueryRange, Labels or Series.
        params: `workspaceId`, the template's own, and `time` or `start` and `end`.

    Raises:
        NotReadOnly: A workspace id, template or name of none of the written lists.
        ClientError: The service answered with an error.
        BotoCoreError: No answer came, or there are no credentials.
    """
    read = PROMETHEUS_READS[name]
    workspace = params.get("workspaceId")
    if not isinstance(workspace, str) or WORKSPACE.fullmatch(workspace) is None:
        raise NotReadOnly(f"{str(workspace)[:80]!r} is no workspace id; nothing was sent")
    form = _form(name, params)
    url = f"https://{prometheus_host(region)}/workspaces/{workspace}/{read.path}"
    if read.method == "GET":
        url = f"{url}?{urlencode(form)}"
    request = _signed(session, region, read.method, url, form if read.method == "POST" else {})
    operation = f"{PROMETHEUS}:{name}"
    document = _answered(wire, operation, request)
    page = page_of(document, read.rows)
    if page is None:
        raise ResponseParserError("the answer has not the form of Prometheus' API")
    return {**page, "query": form.get("query", form.get("match[]", ""))}


def _form(name: str, params: Mapping[str, Any]) -> dict[str, str]:
    if name in {"Labels", "Series"}:
        form = {"match[]": selector_text(params)}
    else:
        form = {"query": query_text(name, params), _MAX_SAMPLES: str(MOST_SAMPLES_PROCESSED)}
    times = ("time",) if name == "Query" else ("start", "end")
    form |= {key: _seconds(params.get(key)) for key in times}
    if name == "QueryRange":
        form["step"] = f"{int(params['step'])}s"
    return form


def _seconds(value: object) -> str:
    if not isinstance(value, datetime):
        raise NotReadOnly(f"{str(value)[:80]!r} is no time; nothing was sent")
    return f"{value.timestamp():.3f}"


def _signed(
    session: boto3.Session,
    region: str,
    method: str,
    url: str,
    form: Mapping[str, str],
) -> Outgoing:
    credentials = session.get_credentials()
    if credentials is None:
        raise NoCredentialsError
    body = urlencode(form).encode() if form else b""
    headers = {"Accept": "application/json", "Accept-Encoding": "identity"}
    if form:
        headers["Content-Type"] = "application/x-www-form-urlencoded"
    made = AWSRequest(method=method, url=url, data=body, headers=headers)
    SigV4Auth(credentials.get_frozen_credentials(), _SIGNING_NAME, region).add_auth(made)
    told: Any = made.headers
    return Outgoing(method, url, tuple((str(k), _text(v)) for k, v in told.items()), body)


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _answered(wire: Wire, operation: str, request: Outgoing) -> object:
    try:
        document = wire.send(operation, request)
    except ClientError as error:
        _named(error, operation)
    if is_object(document) and document.get("status") == "error":
        code, message = str(document.get("errorType")), str(document.get("error"))
        told: Any = {"Error": {"Code": code[:80], "Message": message[:300]}}
        _named(ClientError(told, operation), operation)
    return document


def _named(error: ClientError, operation: str) -> NoReturn:
    """Raise an error again, a query that was too large for the service under a name of its own."""
    told: Any = error.response
    message = str(told["Error"].get("Message", ""))
    if "too many samples" in message or "exceeded" in message or _MAX_SAMPLES in message:
        renamed: Any = {**told, "Error": {**told["Error"], "Code": "TooManySamples"}}
        raise ClientError(renamed, operation)
    raise error
