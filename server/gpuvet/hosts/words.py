"""What every package says of gpuvet, said once."""

from gpuvet import __version__

NAME = "gpuvet"
VERSION = __version__
TITLE = "gpuvet: GPU cluster triage"
AUTHOR = "the gpuvet authors"
LICENSE = "Apache-2.0"
SUMMARY = "Read-only triage of GPU training clusters on AWS: verdicts, log coverage, causes."
LONG = (
    "Judges the GPU nodes of a training cluster on AWS (SageMaker HyperPod, ParallelCluster, EKS, "
    "EC2) from the evidence at hand: one verdict per node, the raw line behind it, and what could "
    "not be seen. Checks whether a cluster is ready for a run, which errors a period had, and "
    "HyperPodPyTorchJob manifests. It only reads."
)
KEYWORDS = ("aws", "gpu", "hyperpod", "mcp", "nccl", "xid")
