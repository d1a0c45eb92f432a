"""What the containers of a manifest ask for."""

import pytest

from gpuvet.model.network import PodRequest
from gpuvet.parse.efa_names import counter_name
from gpuvet.parse.pod_requests import read_pod_requests

JOB = """
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {name: ft}
spec:
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      template:
        spec:
          containers:
          - name: pytorch
            env:
            - {name: FI_PROVIDER, value: efa}
            - {name: HF_TOKEN, value: not-shown}
            resources:
              requests: {nvidia.com/gpu: 8%s}
          - name: sidecar
            resources: {}
"""


@pytest.mark.parametrize(
    ("more", "efa"), [("", None), (", vpc.amazonaws.com/efa: 32", 32), (", memory: 1Gi", None)]
)
def test_a_gpu_container_tells_its_efa_request(more: str, efa: int | None) -> None:
    assert read_pod_requests(JOB % more, "job.yaml") == (
        PodRequest(
            file="job.yaml",
            kind="PyTorchJob",
            name="ft",
            container="pytorch",
            replicas=2,
            gpus=8,
            efa=efa,
            environment=(("FI_PROVIDER", "efa"),),
        ),
    )


@pytest.mark.parametrize("text", ["a: [", "just words", "- 1\n- 2\n"])
def test_text_without_a_pod_template_asks_for_nothing(text: str) -> None:
    assert read_pod_requests(text, "x.yaml") == ()


@pytest.mark.parametrize(
    ("name", "counter"),
    [
        ("efa_rx_drops", "rx_drops"),
        ("node_amazonefa_rdma_read_wr_err", "rdma_read_wr_err"),
        ("efa_unresponsive_remote_events_total", "unresponsive_remote_events"),
        ("retrans_pkts", "retrans_pkts"),
        ("efa_rx_bytes", None),
        ("GPUPowerUtilization", None),
    ],
)
def test_a_counter_keeps_its_name_whoever_exports_it(name: str, counter: str | None) -> None:
    assert counter_name(name) == counter
