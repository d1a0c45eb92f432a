"""Helpers of the tests of the Prometheus and Kubernetes doors: what is sent, and canned answers."""

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from aws.wire import StillTime

from gpuvet.aws.budget import Budget
from gpuvet.aws.door_guard import Outgoing
from gpuvet.aws.live import LiveAws
from gpuvet.aws.live_clients import Clients
from gpuvet.aws.live_http import Incoming
from gpuvet.aws.login import Login

WORKSPACE = "ws-0a1b2c3d-1111-2222-3333-444455556666"
REGION = "us-west-2"
END = datetime(2026, 5, 9, 12, tzinfo=UTC)
AUTHORITY = "-----BEGIN CERTIFICATE-----\nMIIBexample\n-----END CERTIFICATE-----\n"
HOST = "0123456789ABCDEF0123456789ABCDEF.gr7.us-west-2.eks.amazonaws.com"

QUERY: Mapping[str, Any] = {
    "workspaceId": WORKSPACE,
    "template": "named",
    "metric": "DCGM_FI_DEV_GPU_UTIL",
    "by": ["Hostname"],
    "span": 300,
    "step": 60,
    "time": END,
}
READ_OF_EACH: Mapping[str, Mapping[str, Any]] = {
    "prometheus:Query": QUERY,
    "prometheus:QueryRange": {
        "workspaceId": WORKSPACE,
        "template": "highs",
        "metric": "DCGM_FI_DEV_GPU_UTIL",
        "by": ["Hostname", "gpu"],
        "label": "Hostname",
        "nodes": ["ip-10-0-0-7"],
        "step": 60,
        "start": END,
        "end": END,
    },
    "prometheus:Labels": {
        "workspaceId": WORKSPACE,
        "metric": "DCGM_FI_DEV_GPU_UTIL",
        "start": END,
        "end": END,
    },
    "prometheus:Series": {
        "workspaceId": WORKSPACE,
        "metric": "DCGM_FI_DEV_GPU_UTIL",
        "start": END,
        "end": END,
    },
    "kubernetes:ListNodes": {"cluster": "train-eks"},
    "kubernetes:ListPods": {"cluster": "train-eks"},
    "kubernetes:ListEvents": {"cluster": "train-eks"},
    "kubernetes:ListHyperPodPyTorchJobs": {"cluster": "train-eks"},
}
_ROWS = {"labels": ["gpu", "Hostname"], "series": [{"gpu": "0"}]}


class Sent:
    """A transport that answers from a list (the last answer repeats) and remembers requests."""

    def __init__(self, *answers: Incoming | Exception) -> None:
        self.answers = answers
        self.requests: list[Outgoing] = []
        self.authorities: list[str | None] = []

    def __call__(self, request: Outgoing, authority: str | None) -> Incoming:
        """Answer one request."""
        place = min(len(self.requests), len(self.answers) - 1)
        self.requests.append(request)
        self.authorities.append(authority)
        answer = self.answers[place] if self.answers else usual(request)
        if isinstance(answer, Exception):
            raise answer
        return answer


def usual(request: Outgoing) -> Incoming:
    """Return an answer of the form that a request asks for."""
    if "/workspaces/" not in request.url:
        return as_json({"kind": "List", "metadata": {}, "items": [{"metadata": {"name": "one"}}]})
    member = request.url.partition("?")[0].rpartition("/")[2]
    return as_json({"status": "success", "data": _ROWS.get(member, vector([({}, 1.0)]))})


def vector(rows: Sequence[tuple[Mapping[str, str], object]]) -> dict[str, Any]:
    """Return an instant answer: one value a series."""
    at = END.timestamp()
    result = [{"metric": dict(labels), "value": [at, str(value)]} for labels, value in rows]
    return {"resultType": "vector", "result": result}


def as_json(
    document: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Incoming:
    """Return an answer of the API."""
    return Incoming(status, json.dumps(document).encode(), dict(headers or {}))


class OneCluster(Clients):
    """Clients of which EKS describes one cluster; everything else goes through the transport."""

    def __init__(
        self,
        transport: Callable[[Outgoing, str | None], Incoming],
        *,
        endpoint: str = f"https://{HOST}",
        authority: str = AUTHORITY,
        mode: str = "API_AND_CONFIG_MAP",
        public: bool = True,
    ) -> None:
        super().__init__(transport=transport)
        self.cluster = {
            "name": "train-eks",
            "endpoint": endpoint,
            "certificateAuthority": {"data": base64.b64encode(authority.encode()).decode()},
            "accessConfig": {"authenticationMode": mode},
            "resourcesVpcConfig": {"endpointPublicAccess": public},
        }
        self.described = 0

    def client(self, login: Login, service: str, region: str) -> Any:  # noqa: ANN401 (a client)
        assert (login, service, region) == (Login(), "eks", REGION)
        self.described += 1

        def describe_cluster(**_params: object) -> Mapping[str, Any]:
            return {"cluster": self.cluster}

        return type("Client", (), {"describe_cluster": staticmethod(describe_cluster)})()


def door_through(
    transport: Callable[[Outgoing, str | None], Incoming],
    time: StillTime | None = None,
    *,
    seconds: float = 600,
    calls: int | None = None,
    **cluster: Any,  # noqa: ANN401 (of OneCluster)
) -> LiveAws:
    """Return a live door whose Prometheus and Kubernetes requests go through a transport."""
    time = time or StillTime()
    return LiveAws(
        Login(),
        REGION,
        clients=OneCluster(transport, **cluster),
        account="111122223333",
        budget=Budget(seconds, calls, monotonic=time.clock.monotonic),
        clock=time.clock,
    )
