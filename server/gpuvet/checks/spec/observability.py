"""HPJ170 to HPJ172: a ServiceMonitor in the same file."""

from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import DocumentRole, Field, Manifest

OPERATOR_NAMESPACE = "aws-hyperpod"
METRICS_PORT = 8081


def _spec(manifest: Manifest) -> Field | None:
    is_monitor = manifest.role is DocumentRole.SERVICE_MONITOR
    return manifest.root.at("spec") if is_monitor else None


def numeric_port(manifest: Manifest) -> Iterator[Hit]:
    """A port number where a port's name belongs."""
    spec = _spec(manifest)
    for endpoint in spec.at("endpoints").items if spec else ():
        port = endpoint.at("port")
        if port.number is not None:
            yield Hit(
                port,
                f"port is the number {port.words}",
                fix=f"write targetPort: {port.words}, or the name of the Service's port",
            )


def scrapes_nothing(manifest: Manifest) -> Iterator[Hit]:
    """A monitor that selects no service."""
    spec = _spec(manifest)
    if spec is None:
        return
    if spec.at("selector").node is None:
        yield Hit(spec.at("selector"), "no selector")
    namespace = manifest.root.at("metadata", "namespace")
    if (
        namespace.text not in {None, OPERATOR_NAMESPACE}
        and not spec.at("namespaceSelector").present
    ):
        yield Hit(
            namespace,
            f"namespace {namespace.text} without namespaceSelector; the operator runs in "
            f"{OPERATOR_NAMESPACE}",
        )


def in_job_file(manifest: Manifest) -> Iterator[Hit]:
    """A cluster-wide object in a job's file."""
    if _spec(manifest) is not None and not manifest.alone:
        yield Hit(manifest.root, "a ServiceMonitor in a job's file")


CHECKS = (
    Check(
        "HPJ170",
        "numeric-port-name",
        Severity.ERROR,
        "The field takes a name: a number is refused. AWS's sample has it.",
        f"write targetPort: {METRICS_PORT}",
        "Prometheus operator API",
        numeric_port,
    ),
    Check(
        "HPJ171",
        "scrapes-nothing",
        Severity.WARNING,
        "Nothing is scraped.",
        "select the operator's metrics service in aws-hyperpod",
        "Prometheus operator API",
        scrapes_nothing,
    ),
    Check(
        "HPJ172",
        "monitor-in-job-file",
        Severity.ADVICE,
        "One serves the whole cluster; every job that carries it fights over it.",
        "keep it in a file of its own",
        "inferred",
        in_job_file,
    ),
)
