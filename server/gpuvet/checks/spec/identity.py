"""HPJ010 to HPJ012, HPJ020: which resource this is, and its names."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit, rewritten
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import DocumentRole, JobSpec, Manifest

_KIND = "HyperPodPyTorchJob"


_API_VERSION = "sagemaker.amazonaws.com/v1"


_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\Z")


_LABEL_MAX = 63  # RFC 1123 label


_RANDOM_SUFFIX = 5  # characters the API server adds to generateName


def wrong_api_version(job: JobSpec) -> Iterator[Hit]:
    """Another group or version."""
    field = job.root.at("apiVersion")
    if field.is_token or field.words == _API_VERSION:
        return
    message = f"apiVersion is {field.words!r}" if field.present else "no apiVersion"
    yield Hit(field, message, edits=rewritten(field, _API_VERSION))


def wrong_kind_case(job: JobSpec) -> Iterator[Hit]:
    """The kind in other letter case, or missing."""
    field = job.root.at("kind")
    if field.is_token or field.words == _KIND:
        return
    message = f"kind is {field.words!r}" if field.present else "no kind"
    yield Hit(field, message, edits=rewritten(field, _KIND))


def wrong_kind(manifest: Manifest) -> Iterator[Hit]:
    """A job, but of another resource."""
    if manifest.role is not DocumentRole.WRONG_KIND or not manifest.alone:
        return
    field = manifest.root.at("kind")
    kubeflow = manifest.root.at("spec", "pytorchReplicaSpecs").present or "pytorch" in (
        manifest.kind.lower()
    )
    changes = (
        f"kind {_KIND}, apiVersion {_API_VERSION}; pytorchReplicaSpecs.Master/Worker become items "
        "of replicaSpecs, torchrun becomes hyperpodrun, backoffLimit becomes "
        "runPolicy.jobMaxRetryCount"
    )
    yield Hit(
        field,
        f"{manifest.kind} is another resource; nothing else of it was checked",
        fix=changes if kubeflow else None,
    )


def bad_names(job: JobSpec) -> Iterator[Hit]:
    """Names that pods cannot carry."""
    names = [job.metadata.at("name")]
    names += [each.field.at("name") for each in job.replica_sets]
    for field in names:
        if field.text is not None and not _is_label(field.text):
            yield Hit(field, f"{field.text!r} is not a DNS-1123 label")
    yield from _long_pod_names(job)


def _is_label(text: str) -> bool:
    return len(text) <= _LABEL_MAX and bool(_LABEL.match(text))


def _long_pod_names(job: JobSpec) -> Iterator[Hit]:
    name, generated = job.metadata.at("name"), job.metadata.at("generateName")
    length = len(name.text or "") or len(generated.text or "") + _RANDOM_SUFFIX
    if (name.text is None and generated.text is None) or (name.text and not _is_label(name.text)):
        return
    for each in job.replica_sets:
        part = each.field.at("name").text
        if part is None or not _is_label(part):
            continue
        last = max((each.field.at("replicas").integer or 1) - 1, 0)
        total = length + len(part) + len(str(last)) + 2
        if total > _LABEL_MAX:
            yield Hit(
                name if name.present else generated,
                f"pod names such as {(name.text or generated.text or '')[:20]}…-{part}-{last} "
                f"have {total} characters, at most {_LABEL_MAX} are allowed",
            )


DOCUMENT_CHECKS = (
    Check(
        code="HPJ012",
        name="another-resource",
        severity=Severity.ERROR,
        why="The training operator does not look at it: no agent, no monitors, no restarts.",
        fix=f"write kind {_KIND}, apiVersion {_API_VERSION}",
        source="HyperPod CLI model of the CRD",
        run=wrong_kind,
    ),
)

JOB_CHECKS = (
    Check(
        code="HPJ010",
        name="wrong-api-version",
        severity=Severity.ERROR,
        why="The API server knows no such kind in that group and refuses it.",
        fix=f"write {_API_VERSION}",
        source="AWS: using the HyperPod training operator",
        run=wrong_api_version,
    ),
    Check(
        code="HPJ011",
        name="wrong-kind-case",
        severity=Severity.ERROR,
        why="Kinds are case-sensitive; some AWS pages print HyperPodPytorchJob.",
        fix=f"write {_KIND}",
        source="HyperPod CLI model of the CRD",
        run=wrong_kind_case,
    ),
    Check(
        code="HPJ020",
        name="name-not-a-label",
        severity=Severity.ERROR,
        why="Pods are named <job>-<replicaSpec>-<n>; such a name cannot be created.",
        fix="use lower-case letters, digits and dashes, and keep it short",
        source="Kubernetes, RFC 1123",
        run=bad_names,
    ),
)
