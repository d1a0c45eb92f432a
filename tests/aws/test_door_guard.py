"""Nothing but listed reads of a workspace and of a cluster's API leaves the process."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import botocore.session
import pytest
from aws.other_doors import AUTHORITY, HOST, READ_OF_EACH, REGION, WORKSPACE, Sent, door_through
from aws.wire import keys, no_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet.aws import live, live_http, live_kubernetes, live_prometheus
from gpuvet.aws.door_guard import Outgoing, refuse_unlisted
from gpuvet.aws.endpoints import cluster_host, dns_suffixes, prometheus_host, workspace_of
from gpuvet.aws.kubernetes_reads import KUBERNETES_READS, Listing, cluster_role_text
from gpuvet.aws.live_http import Wire
from gpuvet.aws.prometheus_reads import PROMETHEUS_READS, QueryPath
from gpuvet.aws.reads import KUBERNETES, OTHER_READS, PROMETHEUS, Read
from gpuvet.errors import NotReadOnly
from gpuvet.parse.yaml_text import load_documents

__all__ = ["keys", "no_machine"]
pytestmark = pytest.mark.usefixtures("keys")

CHINA = "a.sk1.cn-north-1.eks.amazonaws.com.cn"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "CONNECT")
BASE = f"https://aps-workspaces.{REGION}.amazonaws.com/workspaces/{WORKSPACE}/"
# All of Managed Prometheus' data plane, and what Prometheus' own API has besides.
WORKSPACE_PATHS = (
    *("api/v1/query", "api/v1/query_range", "api/v1/labels", "api/v1/series"),
    *("api/v1/remote_write", "api/v1/label/gpu/values", "api/v1/metadata", "api/v1/rules"),
    *("api/v1/alerts", "api/v1/query_exemplars", "api/v1/admin/tsdb/delete_series", "rulegroups"),
    *("alertmanager/api/v2/silences", "alertmanager/definition", "logging", "", "api/v1/query/"),
    *("api/v1/../remote_write", "api/v1/query/../series", "api//v1/query", "API/v1/query"),
)
CLUSTER_PATHS = (
    *("/api/v1/nodes", "/api/v1/pods", "/api/v1/events"),
    "/apis/sagemaker.amazonaws.com/v1/hyperpodpytorchjobs",
    *("/api/v1/secrets", "/api/v1/configmaps", "/api/v1/namespaces", "/api/v1/serviceaccounts"),
    *("/api/v1/nodes/one", "/api/v1/nodes/one/proxy", "/api/v1/namespaces/a/pods/p/exec"),
    *("/api/v1/namespaces/a/secrets/s", "/api/v1/namespaces/a/pods/p/eviction", "/version", "/"),
    *("/apis/sagemaker.amazonaws.com/v1/namespaces/a/hyperpodpytorchjobs/j", "/api/v1/pods/"),
    *("/apis/authentication.k8s.io/v1/tokenreviews", "/api/v1/nodes/../secrets", "/metrics"),
)
WORKSPACE_LISTED = {
    ("POST", "api/v1/query"),
    ("POST", "api/v1/query_range"),
    ("GET", "api/v1/labels"),
    ("GET", "api/v1/series"),
}
CLUSTER_LISTED = {("GET", path) for path in CLUSTER_PATHS[:4]}


def passes(method: str, url: str, body: bytes = b"") -> bool:
    """Say whether a request gets through the wire to what would send it."""
    sent = Sent()
    try:
        Wire(sent).send("any", Outgoing(method, url, body=body))
    except NotReadOnly:
        assert sent.requests == []
        return False
    return len(sent.requests) == 1


def test_of_every_method_and_path_of_a_workspace_only_four_reads_pass() -> None:
    passed = {(m, p) for m in METHODS for p in WORKSPACE_PATHS if passes(m, BASE + p)}
    assert passed == WORKSPACE_LISTED
    assert passed == {(one.method, one.path) for one in PROMETHEUS_READS.values()}


def test_of_every_method_and_path_of_a_cluster_only_four_lists_pass() -> None:
    host = f"https://{HOST.lower()}"
    passed = {(m, p) for m in METHODS for p in CLUSTER_PATHS if passes(m, host + p)}
    assert passed == CLUSTER_LISTED
    assert passed == {("GET", one.path) for one in KUBERNETES_READS.values()}


@pytest.mark.parametrize(
    "query",
    ["watch=true", "fieldSelector=a", "limit=1&watch=1", "pretty", "labelSelector=", "limit=1&x="],
)
def test_a_list_carries_nothing_but_its_page(query: str) -> None:
    url = f"https://{HOST.lower()}/api/v1/pods"
    assert passes("GET", f"{url}?limit=500&continue=abc")
    assert not passes("GET", f"{url}?{query}")
    assert not passes("GET", url, body=b"{}")


@pytest.mark.parametrize(
    "url",
    [
        BASE.replace("https", "http") + "api/v1/labels",
        f"https://aps-workspaces.{REGION}.amazonaws.com.evil.test/workspaces/{WORKSPACE}/api/v1/labels",
        f"https://evil.test/workspaces/{WORKSPACE}/api/v1/labels",
        f"https://aps-workspaces.us-west-2.amazonaws.com.cn/workspaces/{WORKSPACE}/api/v1/labels",
        f"https://aps-workspaces.amazonaws.com/workspaces/{WORKSPACE}/api/v1/labels",
        f"https://me@aps-workspaces.{REGION}.amazonaws.com/workspaces/{WORKSPACE}/api/v1/labels",
        f"https://aps-workspaces.{REGION}.amazonaws.com:8443/workspaces/{WORKSPACE}/api/v1/labels",
        f"https://aps-workspaces.{REGION}.amazonaws.com/workspaces/../api/v1/labels",
        BASE + "api/v1/labels#there",
        BASE + "api/v1/label%73",
        "https://127.0.0.1/api/v1/nodes",
        "https://169.254.169.254/api/v1/nodes",
        "https://kubernetes.default.svc/api/v1/nodes",
        f"https://{HOST.lower()}:6443/api/v1/nodes",
        f"http://{HOST.lower()}/api/v1/nodes",
        f"https://{HOST.lower()}.evil.test/api/v1/nodes",
        "https://evil.us-west-2.eks.amazonaws.com.evil.test/api/v1/nodes",
        f"https://a:b@{HOST.lower()}/api/v1/nodes",
    ],
)
def test_a_foreign_host_scheme_or_port_is_refused(url: str) -> None:
    assert not passes("GET", url)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_whatever_stands_in_a_url_it_is_a_listed_read_or_refused(host: str, path: str) -> None:
    try:
        refuse_unlisted(Outgoing("GET", f"https://{host}/{path}"))
    except (NotReadOnly, ValueError):
        return
    parts = urlsplit(f"https://{host}/{path}")
    assert parts.path in {one.path for one in KUBERNETES_READS.values()} or parts.netloc.startswith(
        "aps-workspaces."
    )


@pytest.mark.parametrize("operation", sorted(OTHER_READS))
def test_every_listed_read_passes_door_and_wire(operation: str) -> None:
    sent = Sent()
    answer = door_through(sent).read(operation, READ_OF_EACH[operation])
    assert answer.status.is_complete
    assert len(sent.requests) == 1


@pytest.mark.parametrize(
    "operation",
    [
        "prometheus:RemoteWrite",
        "prometheus:LabelValues",
        "kubernetes:ListSecrets",
        "kubernetes:ListConfigMaps",
        "kubernetes:DeleteNode",
        "kubernetes:GetNode",
        "kubernetes:listnodes",
    ],
)
def test_an_unlisted_operation_is_refused_before_anything_is_made(operation: str) -> None:
    sent = Sent()
    with pytest.raises(NotReadOnly, match="read operations"):
        door_through(sent).read(operation, {"cluster": "train-eks"})
    assert sent.requests == []


def test_without_the_refusal_at_the_door_the_list_behind_it_still_refuses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def anything(operation: str) -> Read:
        return Read(operation, operation)

    monkeypatch.setattr(live, "read_of", anything)
    sent = Sent()
    with pytest.raises(KeyError, match="ListSecrets"):  # the first guard was off, and this shows it
        door_through(sent).read("kubernetes:ListSecrets", {"cluster": "train-eks"})
    assert sent.requests == []


@pytest.mark.parametrize(
    ("module", "operation", "wider"),
    [
        pytest.param(
            live_kubernetes,
            "kubernetes:ListNodes",
            {"ListNodes": Listing("/api/v1/secrets", "Node", "", "secrets")},
            id="secrets",
        ),
        pytest.param(
            live_prometheus,
            "prometheus:Labels",
            {"Labels": QueryPath("api/v1/remote_write", "POST", "aps:RemoteWrite", "labels")},
            id="remote write",
        ),
    ],
)
def test_a_widened_list_at_the_door_is_stopped_at_the_wire_and_only_there(
    monkeypatch: pytest.MonkeyPatch, module: object, operation: str, wider: Mapping[str, Any]
) -> None:
    name = "KUBERNETES_READS" if "kubernetes" in operation else "PROMETHEUS_READS"
    monkeypatch.setattr(module, name, wider)
    sent = Sent()
    with pytest.raises(NotReadOnly, match="stopped at the wire"):
        door_through(sent).read(operation, READ_OF_EACH[operation])
    assert sent.requests == []

    def off(_request: Outgoing) -> None:
        """Guard nothing."""

    monkeypatch.setattr(live_http, "refuse_unlisted", off)
    door_through(sent).read(operation, READ_OF_EACH[operation])
    assert sent.requests != []  # without the guard it would have left


@pytest.mark.parametrize(
    ("operation", "params"),
    [
        ("prometheus:Query", {"query": "up"}),
        ("prometheus:Query", {"template": "up{job='x'}"}),
        ("prometheus:Query", {"template": "highs"}),
        ("prometheus:Query", {"metric": 'DCGM_FI_DEV_GPU_UTIL"} or up{a="'}),
        ("prometheus:Query", {"metric": "up"}),
        ("prometheus:Query", {"by": ["Hostname) or vector(1"]}),
        ("prometheus:Query", {"by": ["namespace"]}),
        ("prometheus:Query", {"span": "5m"}),
        ("prometheus:Query", {"span": 10**9}),
        ("prometheus:Query", {"span": True}),
        ("prometheus:Query", {"step": 0}),
        ("prometheus:Query", {"metrics": ["DCGM_FI_DEV_GPU_UTIL"]}),
        ("prometheus:Query", {"workspaceId": "../../evil"}),
        ("prometheus:Query", {"workspaceId": "ws-1/api"}),
        ("prometheus:Query", {"time": "now"}),
        ("prometheus:QueryRange", {"nodes": ['x"} or up{a="']}),
        ("prometheus:QueryRange", {"nodes": ["a|b.*"]}),
        ("prometheus:QueryRange", {"nodes": []}),
        ("prometheus:QueryRange", {"nodes": ["a"] * 10_000}),
        ("prometheus:QueryRange", {"label": "pod"}),
        ("prometheus:Labels", {"metric": "ALERTS"}),
        ("prometheus:Series", {"nodes": ["{}"], "label": "Hostname"}),
        ("kubernetes:ListNodes", {"fieldSelector": "x"}),
        ("kubernetes:ListNodes", {"path": "/api/v1/secrets"}),
    ],
)
def test_no_text_of_anybody_becomes_a_query_a_path_or_a_workspace(
    operation: str, params: Mapping[str, Any]
) -> None:
    sent = Sent()
    with pytest.raises(NotReadOnly):
        door_through(sent).read(operation, {**READ_OF_EACH[operation], **params})
    assert sent.requests == []


@pytest.mark.parametrize("partition", ["aws", "aws-cn", "aws-us-gov", "aws-iso", "aws-iso-b"])
def test_hosts_are_those_of_the_partition(partition: str) -> None:
    core = botocore.session.get_session()
    data: Any = core.get_component("data_loader").load_data("partitions")
    own = next(one for one in data["partitions"] if one["id"] == partition)
    for region in own["regions"]:
        if region[-1].isdigit():  # "aws-cn-global" is no region
            outputs = own["outputs"]
            assert dns_suffixes(region) == (outputs["dnsSuffix"], outputs["dualStackDnsSuffix"])
            host = prometheus_host(region)
            found = workspace_of(f"https://{host}/workspaces/{WORKSPACE}/")
            assert found == (region, WORKSPACE)


def test_every_partition_that_botocore_knows_has_its_suffix() -> None:
    core = botocore.session.get_session()
    data: Any = core.get_component("data_loader").load_data("partitions")
    regions = {
        region: one["outputs"]["dnsSuffix"]
        for one in data["partitions"]
        for region in one["regions"]
        if region[-1].isdigit()
    }
    assert {region: dns_suffixes(region)[0] for region in regions} == regions


@pytest.mark.parametrize(
    ("endpoint", "region", "host"),
    [
        (f"https://{HOST}", REGION, HOST.lower()),
        (f"https://{HOST}/", REGION, HOST.lower()),
        (f"https://{HOST}", "us-east-1", None),
        (
            "https://a.sk1.cn-north-1.eks.amazonaws.com.cn",
            "cn-north-1",
            "a.sk1.cn-north-1.eks.amazonaws.com.cn",
        ),
        ("https://a.sk1.cn-north-1.eks.amazonaws.com", "cn-north-1", None),
        ("https://abc.eks-cluster.us-west-2.api.aws", REGION, "abc.eks-cluster.us-west-2.api.aws"),
        ("https://10.0.0.1", REGION, None),
        ("https://a.b.c.d.us-west-2.eks.amazonaws.com", REGION, None),
        (f"https://{HOST}/api", REGION, None),
        ("", REGION, None),
    ],
)
def test_a_cluster_answers_where_eks_says_and_nowhere_else(
    endpoint: str, region: str, host: str | None
) -> None:
    assert cluster_host(endpoint, region) == host


@pytest.mark.parametrize(
    "endpoint",
    ["https://evil.test", "http://" + HOST, f"https://{HOST}@evil.test", "https://127.0.0.1:6443"],
)
def test_a_described_endpoint_that_eks_would_not_give_gets_no_token(endpoint: str) -> None:
    sent = Sent()
    answer = door_through(sent, endpoint=endpoint).read(
        "kubernetes:ListNodes", {"cluster": "train-eks"}
    )
    assert (answer.status.value, answer.reason, answer.error_code) == (
        "UNVERIFIED",
        "refused",
        "ForeignHost",
    )
    assert sent.requests == []


def test_the_role_to_ask_for_names_the_listed_kinds_and_two_verbs_only() -> None:
    documents: Any = load_documents(cluster_role_text())
    role, binding = documents
    rules = role["rules"]
    asked = {(group, kind) for r in rules for group in r["apiGroups"] for kind in r["resources"]}
    assert asked == {(one.group, one.resource) for one in KUBERNETES_READS.values()}
    assert {verb for rule in rules for verb in rule["verbs"]} == {"get", "list"}
    assert "secrets" not in cluster_role_text()
    assert binding["roleRef"]["name"] == role["metadata"]["name"]


def test_the_reader_asks_no_door_that_is_on_no_list() -> None:
    assert {row.service for row in OTHER_READS.values()} == {PROMETHEUS, KUBERNETES}
    assert AUTHORITY.startswith("-----BEGIN CERTIFICATE-----")
