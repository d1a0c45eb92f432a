"""One list of a cluster's Kubernetes API, with a token that is our own signed GetCallerIdentity.

Never a kubeconfig: its plugins are programs. The token is made for one request and one cluster,
lives a minute, and goes to the host that EKS names for the cluster alone.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn
from urllib.parse import urlencode

import boto3
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import ClientError, NoCredentialsError
from botocore.parsers import ResponseParserError

from gpuvet import __version__
from gpuvet.aws.door_guard import Outgoing
from gpuvet.aws.endpoints import cluster_host, dns_suffixes
from gpuvet.aws.kubernetes_answers import page_of_list
from gpuvet.aws.kubernetes_reads import KUBERNETES_READS
from gpuvet.aws.live_http import Wire
from gpuvet.aws.reads import KUBERNETES
from gpuvet.model.untyped import object_at, text_at

TOKEN_SECONDS = 60
TOKEN_PREFIX = "k8s-aws-v1."  # noqa: S105 (how EKS tells its tokens, no secret)
# Kubernetes: what kubectl asks for, page by page.
PAGE_SIZE = 500
_MOST_AUTHORITY = 64 * 1024


class ClusterApi(NamedTuple):
    """Where a cluster answers and whom to trust there."""

    name: str
    host: str
    authority: str  # PEM
    mode: str | None = None  # accessConfig.authenticationMode
    is_public: bool = True


def cluster_api(cluster: Mapping[str, Any], name: str, region: str) -> ClusterApi:
    """Return the API of a cluster as `eks:DescribeCluster` describes it.

    Raises:
        ClientError: Its endpoint is none that EKS gives, or it names no authority.
    """
    host = cluster_host(text_at(cluster, "endpoint") or "", region)
    if host is None:
        _refuse("ForeignHost", f"the endpoint of cluster {name} is none that EKS gives")
    data = text_at(object_at(cluster, "certificateAuthority"), "data") or ""
    try:
        authority = base64.b64decode(data[:_MOST_AUTHORITY], validate=True).decode("ascii")
    except (binascii.Error, UnicodeDecodeError):
        authority = ""
    if "BEGIN CERTIFICATE" not in authority:
        _refuse("ForeignHost", f"cluster {name} names no authority that its API could be known by")
    public = object_at(cluster, "resourcesVpcConfig").get("endpointPublicAccess")
    mode = text_at(object_at(cluster, "accessConfig"), "authenticationMode")
    return ClusterApi(name, host, authority, mode, public is not False)


def ask_kubernetes(
    wire: Wire,
    session: boto3.Session,
    region: str,
    name: str,
    api: ClusterApi,
    following: str | None = None,
) -> Mapping[str, Any]:
    """Return one page of a list.

    Args:
        wire: What it is sent through.
        session: The boto3 session whose credentials sign the token.
        region: The cluster's region.
        name: ListNodes, ListPods, ListEvents or ListHyperPodPyTorchJobs.
        api: Where.
        following: The token of the page wanted; None: the first.

    Raises:
        ClientError: The API answered with an error.
        BotoCoreError: No answer came, or there are no credentials.
    """
    listing = KUBERNETES_READS[name]
    wanted = {"limit": str(PAGE_SIZE)} | ({"continue": following} if following else {})
    request = Outgoing(
        "GET",
        f"https://{api.host}{listing.path}?{urlencode(wanted)}",
        (
            ("Accept", "application/json"),
            ("Authorization", f"Bearer {token(session, region, api.name)}"),
            ("User-Agent", f"gpuvet/{__version__}"),
        ),
    )
    try:
        document = wire.send(f"{KUBERNETES}:{name}", request, api.authority)
    except ClientError as error:
        _explained(error, listing.kind, api)
    if not isinstance(document.get("items"), list):
        raise ResponseParserError("the answer is no list of the Kubernetes API")
    return page_of_list(document, listing.kind)


def token(session: boto3.Session, region: str, cluster: str) -> str:
    """Return a bearer token for one cluster: a GetCallerIdentity signed ahead, never sent by us.

    Raises:
        NoCredentialsError: There is nothing to sign it with.
    """
    credentials = session.get_credentials()
    if credentials is None:
        raise NoCredentialsError
    url = f"https://sts.{region}.{dns_suffixes(region)[0]}/?" + urlencode(
        {"Action": "GetCallerIdentity", "Version": "2011-06-15"}
    )
    made = AWSRequest(method="GET", url=url, headers={"x-k8s-aws-id": cluster})
    frozen = credentials.get_frozen_credentials()
    SigV4QueryAuth(frozen, "sts", region, expires=TOKEN_SECONDS).add_auth(made)
    signed = base64.urlsafe_b64encode(str(made.url).encode()).decode().rstrip("=")
    return TOKEN_PREFIX + signed


def _explained(error: ClientError, kind: str, api: ClusterApi) -> NoReturn:
    """Raise an error again with what the cluster's own set-up says of it."""
    told: Any = error.response
    code, status = told["Error"]["Code"], told["ResponseMetadata"]["HTTPStatusCode"]
    if status == 404 and kind not in {"Node", "Pod", "Event"}:
        _refuse("NoSuchKind", f"cluster {api.name} has no kind {kind}")
    message = told["Error"].get("Message", "")
    if status == 401 and api.mode:
        message = f"{message}; authenticationMode {api.mode}".strip("; ")
    if code == "ConnectTimeout" and not api.is_public:
        message = f"{message}: its endpoint is private"
    explained: Any = {**told, "Error": {"Code": code, "Message": message}}
    raise ClientError(explained, error.operation_name)


def _refuse(code: str, message: str) -> NoReturn:
    told: Any = {"Error": {"Code": code, "Message": message}}
    raise ClientError(told, KUBERNETES)
