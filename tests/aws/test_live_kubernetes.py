"""The Kubernetes door: a token of our own, the cluster's own authority, lists without secrets."""

import base64
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, parse_qs, urlsplit

import pytest
from aws.other_doors import AUTHORITY, HOST, Sent, as_json, door_through
from aws.wire import keys, no_machine
from botocore.exceptions import ClientError, SSLError
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from gpuvet.aws import live_http
from gpuvet.aws.closing import closes_with, reason_of
from gpuvet.aws.door_guard import Outgoing
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.live_http import Https, Incoming
from gpuvet.aws.live_kubernetes import token
from gpuvet.aws.login import Login
from gpuvet.model.evidence import Reason, Status

__all__ = ["keys", "no_machine"]
pytestmark = pytest.mark.usefixtures("keys")

NODES = {"cluster": "train-eks"}


def listed(*names: str, following: str = "") -> Incoming:
    items = [{"metadata": {"name": name}} for name in names]
    meta = {"continue": following} if following else {}
    return as_json({"kind": "NodeList", "metadata": meta, "items": items})


def signed_url(bearer: str) -> SplitResult:
    prefix, _, encoded = bearer.removeprefix("Bearer ").partition(".")
    assert prefix == "k8s-aws-v1"
    assert "=" not in encoded
    url: str = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    return urlsplit(url)


def test_a_list_is_asked_of_the_endpoint_eks_describes_with_its_authority() -> None:
    sent = Sent(listed("one"))
    answer = door_through(sent).read("kubernetes:ListNodes", NODES)
    assert answer.status is Status.OK
    (request,) = sent.requests
    assert request.method == "GET"
    assert request.url == f"https://{HOST.lower()}/api/v1/nodes?limit=500"
    assert sent.authorities == [AUTHORITY]


def test_the_token_is_a_get_caller_identity_signed_ahead_for_one_cluster_and_a_minute() -> None:
    sent = Sent(listed("one"))
    door_through(sent).read("kubernetes:ListNodes", NODES)
    url = signed_url(dict(sent.requests[0].headers)["Authorization"])
    asked = {name: value[0] for name, value in parse_qs(url.query).items()}
    assert f"{url.scheme}://{url.netloc}{url.path}" == "https://sts.us-west-2.amazonaws.com/"
    assert asked["Action"] == "GetCallerIdentity"
    assert asked["Version"] == "2011-06-15"
    assert asked["X-Amz-Expires"] == "60"
    assert asked["X-Amz-SignedHeaders"] == "host;x-k8s-aws-id"
    assert asked["X-Amz-Credential"].startswith("EXAMPLE/")
    assert asked["X-Amz-Credential"].endswith("/us-west-2/sts/aws4_request")
    assert "example" not in url.query  # the secret key itself is in no token


def test_tokens_of_two_clusters_differ_though_all_else_is_equal() -> None:
    session = Clients().session(Login())
    one, other = (signed_url(token(session, "us-west-2", name)) for name in ("a", "b"))
    assert parse_qs(one.query)["X-Amz-Signature"] != parse_qs(other.query)["X-Amz-Signature"]


def test_in_china_the_token_is_signed_for_the_partitions_own_sts() -> None:
    url = signed_url(token(Clients().session(Login()), "cn-north-1", "train-eks"))
    assert url.netloc == "sts.cn-north-1.amazonaws.com.cn"


def test_a_kubeconfig_is_never_read(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trap = keys / "trap"
    trap.write_text(
        "current-context: x\nusers: [{user: {exec: {command: /bin/false}}}]\n", encoding="utf-8"
    )
    monkeypatch.setenv("KUBECONFIG", str(trap))
    opened: list[str] = []
    real: Callable[..., Any] = Path.open

    def watch(path: Path, *args: Any, **rest: Any) -> Any:  # noqa: ANN401 (Path.open's own)
        opened.append(str(path))
        return real(path, *args, **rest)

    monkeypatch.setattr(Path, "open", watch)
    door_through(Sent(listed("one"))).read("kubernetes:ListNodes", NODES)
    assert str(trap) not in opened


def test_pages_follow_continue_and_each_has_a_token_of_its_own() -> None:
    sent = Sent(listed("one", following="t1"), listed("two", following="t2"), listed("three"))
    answer = door_through(sent).read("kubernetes:ListNodes", NODES)
    assert answer.status is Status.OK
    names = [row["metadata"]["name"] for page in answer.value or () for row in page["items"]]
    assert names == ["one", "two", "three"]
    queries = [parse_qs(urlsplit(request.url).query) for request in sent.requests]
    assert [query.get("continue") for query in queries] == [None, ["t1"], ["t2"]]


def test_a_list_that_ends_on_the_way_is_partial() -> None:
    expired = as_json({"reason": "Expired", "message": "continue token expired"}, 410)
    answer = door_through(Sent(listed("one", following="t1"), expired)).read(
        "kubernetes:ListNodes", NODES
    )
    assert (answer.status, answer.error_code) == (Status.PARTIAL, "Expired")
    assert answer.pages == 1


def test_a_token_that_leads_back_to_its_own_page_ends() -> None:
    answer = door_through(Sent(listed("one", following="t1"))).read("kubernetes:ListNodes", NODES)
    assert (answer.status, answer.reason) == (Status.PARTIAL, Reason.PAGE_CAP)
    assert answer.pages <= 3


def connection_timed_out() -> ClientError:
    told: Any = {
        "Error": {"Code": "ConnectTimeout", "Message": "no connection came about"},
        "ResponseMetadata": {"HTTPStatusCode": 0},
    }
    return ClientError(told, "connect")


class State(NamedTuple):
    """What came back, and what it comes to."""

    answer: Incoming | Exception
    status: Status
    reason: Reason | None
    requests: int
    closes: str
    shown: str | None = None
    operation: str = "kubernetes:ListNodes"
    mode: str = "API_AND_CONFIG_MAP"


UNAUTHORIZED = as_json({"kind": "Status", "reason": "Unauthorized", "message": "Unauthorized"}, 401)
FORBIDDEN = as_json({"reason": "Forbidden", "message": 'nodes is forbidden: User "x"'}, 403)
STATES = {
    "no access entry": State(
        UNAUTHORIZED, Status.UNVERIFIED, Reason.DENIED, 1, "an EKS access entry"
    ),
    "no entry, and only aws-auth": State(
        *(UNAUTHORIZED, Status.UNVERIFIED, Reason.DENIED, 1, "aws-auth"), mode="CONFIG_MAP"
    ),
    "an entry without a role": State(
        FORBIDDEN, Status.UNVERIFIED, Reason.DENIED, 1, "the ClusterRole gpuvet-reader"
    ),
    "a private endpoint": State(
        connection_timed_out(), Status.UNVERIFIED, Reason.TIMED_OUT, 1, "inside its VPC"
    ),
    "another authority": State(
        SSLError(endpoint_url="https://x", error=OSError("self-signed")),
        *(Status.UNVERIFIED, Reason.UNREACHABLE, 2, "a network path"),
    ),
    "throttled": State(
        as_json({"reason": "TooManyRequests"}, 429),
        *(Status.UNVERIFIED, Reason.THROTTLED, 6, "again in a few minutes"),
    ),
    "down": State(
        as_json({"reason": "InternalError"}, 500),
        *(Status.UNVERIFIED, Reason.UNREACHABLE, 2, "failed by itself"),
    ),
    "a redirect": State(Incoming(302, b""), Status.UNVERIFIED, Reason.REFUSED, 1, "AWS's own"),
    "no JSON": State(
        Incoming(200, b"ok"), Status.UNVERIFIED, Reason.UNREACHABLE, 2, "a network path"
    ),
    "no list": State(
        as_json({"kind": "Status"}), Status.UNVERIFIED, Reason.UNREACHABLE, 2, "a network path"
    ),
    "no such kind": State(
        *(as_json({"reason": "NotFound"}, 404), Status.NOT_SUPPORTED, Reason.NOT_SUPPORTED, 1),
        closes="does not apply",
        operation="kubernetes:ListHyperPodPyTorchJobs",
    ),
    "nothing there": State(listed(), Status.OK_EMPTY, None, 1, ""),
}


@pytest.mark.parametrize("state", STATES.values(), ids=STATES.keys())
def test_every_state_is_a_status_with_its_reason_and_what_closes_it(state: State) -> None:
    sent = Sent(state.answer)
    answer = door_through(sent, mode=state.mode).read(state.operation, NODES)
    assert (answer.status, answer.reason) == (state.status, state.reason)
    assert len(sent.requests) == state.requests
    assert reason_of(answer) == (state.reason or answer.status.value.lower())
    assert state.closes in closes_with(answer)


def test_a_private_endpoint_is_waited_for_once_and_said_to_be_private() -> None:
    sent = Sent(connection_timed_out())
    door = door_through(sent, public=False)
    first = door.read("kubernetes:ListNodes", NODES)
    assert any("private" in note for note in first.notes)
    assert door.read("kubernetes:ListPods", NODES).reason is Reason.TIMED_OUT
    assert len(sent.requests) == 1


def test_a_cluster_nobody_may_describe_is_said_so_and_gets_no_request() -> None:
    class Denied(Clients):
        """Clients of an account that may not describe clusters."""

        def client(self, login: Login, service: str, region: str) -> Any:  # noqa: ANN401
            del login, service, region

            def describe_cluster(**_params: object) -> None:
                told: Any = {"Error": {"Code": "AccessDeniedException", "Message": "no"}}
                raise ClientError(told, "DescribeCluster")

            return type("C", (), {"describe_cluster": staticmethod(describe_cluster)})()

    from gpuvet.aws.live import LiveAws  # noqa: PLC0415

    sent = Sent()
    door = LiveAws(Login(), "us-west-2", clients=Denied(transport=sent))
    answer = door.read("kubernetes:ListNodes", NODES)
    assert (answer.status, answer.reason) == (Status.UNVERIFIED, Reason.DENIED)
    assert "eks:DescribeCluster" in answer.notes[0]
    assert sent.requests == []


@pytest.mark.parametrize("authority", ["", "no certificate", "-----BEGIN PRIVATE KEY-----"])
def test_a_cluster_without_an_authority_gets_no_token(authority: str) -> None:
    sent = Sent()
    answer = door_through(sent, authority=authority).read("kubernetes:ListNodes", NODES)
    assert (answer.status, answer.reason) == (Status.UNVERIFIED, Reason.REFUSED)
    assert sent.requests == []


SECRET = "hunter2-hunter2"
POD: dict[str, Any] = {
    "metadata": {
        "name": "job-0",
        "namespace": "train",
        "annotations": {"note": SECRET, "kubectl.kubernetes.io/last-applied": SECRET},
        "managedFields": [{"manager": SECRET}],
        "labels": {"app": "job"},
        "ownerReferences": [{"kind": "HyperPodPyTorchJob", "name": "llm", "uid": SECRET}],
    },
    "spec": {
        "nodeName": "ip-10-0-0-7.us-west-2.compute.internal",
        "volumes": [{"name": "v", "secret": {"secretName": SECRET}}],
        "imagePullSecrets": [{"name": SECRET}],
        "containers": [
            {
                "name": "worker",
                "command": ["python", f"--key={SECRET}"],
                "args": [SECRET],
                "env": [
                    {"name": "WANDB_API_KEY", "value": SECRET},
                    {"name": "NCCL_DEBUG", "value": "INFO"},
                    {"name": "FI_PROVIDER", "value": "efa"},
                    {"name": "X", "valueFrom": {"secretKeyRef": {"name": SECRET}}},
                ],
                "resources": {"limits": {"nvidia.com/gpu": "8"}},
            }
        ],
    },
    "status": {"phase": "Failed", "message": "password=" + SECRET, "hostIP": "10.0.0.7"},
}


def test_no_secret_of_a_pod_gets_further_than_the_door() -> None:
    answer = door_through(Sent(as_json({"metadata": {}, "items": [POD]}))).read(
        "kubernetes:ListPods", NODES
    )
    kept = json.dumps(answer.value)
    assert SECRET not in kept
    assert answer.value is not None
    (page,) = answer.value
    (pod,) = page["items"]
    assert pod["spec"]["nodeName"] == "ip-10-0-0-7.us-west-2.compute.internal"
    assert pod["spec"]["containers"][0]["env"] == [
        {"name": "NCCL_DEBUG", "value": "INFO"},
        {"name": "FI_PROVIDER", "value": "efa"},
    ]
    assert pod["metadata"]["ownerReferences"] == [{"kind": "HyperPodPyTorchJob", "name": "llm"}]


@pytest.mark.parametrize("kind", ["Nodes", "Pods", "Events", "HyperPodPyTorchJobs"])
def test_objects_of_any_form_are_taken_without_an_error(kind: str) -> None:
    odd: list[Any] = [
        {},
        {"metadata": 7, "spec": [], "status": "x"},
        {"metadata": {"labels": {"a": {"b": 1}}, "name": ["x"]}, "status": {"conditions": [1, {}]}},
        {"spec": {"containers": [{"env": [{"name": 1}], "resources": []}], "taints": [{}]}},
        {"status": {"containerStatuses": [{"state": {"terminated": None}}]}},
        "text",
        None,
    ]
    answer = door_through(Sent(as_json({"metadata": [], "items": odd}))).read(
        f"kubernetes:List{kind}", NODES
    )
    assert answer.status is Status.OK
    assert answer.value is not None
    assert len(answer.value[0]["items"]) == 5


class Certified(NamedTuple):
    """A certificate for localhost that signed itself."""

    pem: str
    file: Path


def certify(folder: Path, name: str) -> Certified:
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    start = datetime.now(UTC) - timedelta(days=1)  # noqa: TID251 (TLS compares with the clock)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = made.public_bytes(serialization.Encoding.PEM)
    plain = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    file = folder / f"{name}.pem"
    file.write_bytes(pem + plain)
    return Certified(pem.decode(), file)


class Answering(BaseHTTPRequestHandler):
    """Answers one list, and a redirect elsewhere."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        is_redirect = self.path.startswith("/redirect")
        body = b"" if is_redirect else b'{"items": []}'
        self.send_response(302 if is_redirect else 200)
        if is_redirect:
            self.send_header("Location", "/api/v1/secrets")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (its parent's)
        """Stay quiet."""


class Api(NamedTuple):
    """A local server with TLS, its own authority and another one."""

    url: str
    own: str
    other: str
    asked: list[str]


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    own, other = certify(tmp_path, "own"), certify(tmp_path, "other")
    handler: Any = type("Handler", (Answering,), {"asked": []})
    server = HTTPServer(("127.0.0.1", 0), handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own.file)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield Api(f"https://localhost:{server.server_port}", own.pem, other.pem, handler.asked)
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_clusters_own_authority_is_trusted(api: Api) -> None:
    answer = Https()(Outgoing("GET", f"{api.url}/api/v1/nodes?limit=1"), api.own)
    assert (answer.status, answer.body) == (200, b'{"items": []}')
    assert api.asked == ["/api/v1/nodes?limit=1"]


def test_another_authority_is_not_trusted_and_the_token_stays_here(api: Api) -> None:
    request = Outgoing("GET", f"{api.url}/api/v1/nodes", (("Authorization", "Bearer x"),))
    with pytest.raises(SSLError):
        Https()(request, api.other)
    assert api.asked == []


def test_a_certificate_of_another_host_is_not_trusted(api: Api) -> None:
    request = Outgoing("GET", api.url.replace("localhost", "127.0.0.1") + "/api/v1/nodes")
    with pytest.raises(SSLError):
        Https()(request, api.own)
    assert api.asked == []


def test_a_redirect_of_the_api_is_an_answer_and_no_way(api: Api) -> None:
    answer = Https()(Outgoing("GET", f"{api.url}/redirect"), api.own)
    assert answer.status == 302
    assert api.asked == ["/redirect"]


def test_a_port_nobody_listens_on_is_unreachable_and_one_that_is_silent_times_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(live_http, "CONNECT_SECONDS", 0.2)
    own = certify(tmp_path, "own").pem
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        port = silent.getsockname()[1]
        request = Outgoing("GET", f"https://localhost:{port}/api/v1/nodes")
        with pytest.raises(Exception, match="Could not connect"):
            Https()(request, own)
        silent.listen()
        with pytest.raises(ClientError) as error:  # it takes the connection and says nothing
            Https()(request, own)
    told: Any = error.value.response
    assert told["Error"]["Code"] == "ConnectTimeout"
