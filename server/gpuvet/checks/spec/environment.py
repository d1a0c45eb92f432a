"""HPJ068 to HPJ075, HPJ079: environment variables."""

import re
from collections.abc import Iterator

from gpuvet.checks.registry import Check, Hit
from gpuvet.checks.spec.pod_facts import (
    EFA,
    asked,
    dollar_literals,
)
from gpuvet.model.check import Severity
from gpuvet.model.job_spec import Container, Env, Field, JobSpec

_SECRET_NAME = re.compile(
    r"(?:\A|_)(?:TOKEN|API_?KEY|SECRET|SECRET_KEY|SECRET_ACCESS_KEY|ACCESS_KEY_ID|SESSION_TOKEN|"
    r"PASSWORD|PASSWD)\Z|PASSWORD|\AAWS_(?:ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN)\Z"
)


_NOT_SECRET_NAME = re.compile(r"(?:PAD|EOS|BOS|UNK|MASK|SEP|CLS|NUM|MAX|MIN|IMAGE|STOP)_TOKEN\Z")


_SECRET_VALUE = re.compile(
    r"\A(?:A[KS]IA[A-Z0-9]{12,}|hf_[A-Za-z0-9]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|"
    r"github_pat_\w{20,}|sk-[A-Za-z0-9_-]{20,}|xox[abp]-[\w-]{10,})"
)


_NCCL_LEVELS = ("VERSION", "WARN", "INFO", "ABORT", "TRACE")


def literal_dollars(job: JobSpec) -> Iterator[Hit]:
    """$VAR where only $(VAR) is expanded."""
    for each in dollar_literals(job):
        names = ", ".join(f"${name}" for name in each.names)
        yield Hit(
            each.field,
            f"{names} stays literal text here",
            fix=f"write $({each.names[0]}) and define it earlier, or run the command in a shell",
        )


def _env(job: JobSpec) -> Iterator[tuple[Container, Env, str | None]]:
    """Yield every variable with its value; None for references and tokens."""
    for each in job.replica_sets:
        for container in each.containers:
            for env in container.env:
                is_plain = env.value.present and not env.value.is_token
                yield container, env, str(env.value.words) if is_plain else None


def repeated_env(job: JobSpec) -> Iterator[Hit]:
    """One variable set twice."""
    for each in job.replica_sets:
        for container in each.containers:
            seen: set[str] = set()
            for env in container.env:
                if env.name in seen:
                    yield Hit(env.where.at("name"), f"{env.name} is set twice")
                seen.add(env.name)


def clear_secrets(job: JobSpec) -> Iterator[Hit]:
    """A secret written into the manifest."""
    for _, env, value in _env(job):
        if not value or "$(" in value:
            continue
        is_named = _SECRET_NAME.search(env.name) and not _NOT_SECRET_NAME.search(env.name)
        is_word = re.fullmatch(r"[0-9.]*|true|false|/[\w./-]*", value, re.IGNORECASE)
        if _SECRET_VALUE.match(value) or (is_named and not is_word):
            yield Hit(env.value, f"{env.name} holds a secret in clear text")


def efa_provider_without_device(job: JobSpec) -> Iterator[Hit]:
    """FI_PROVIDER=efa in a container without EFA."""
    for container, env, value in _env(job):
        if env.name == "FI_PROVIDER" and value == "efa":
            named = any(container.amount(kind, EFA).is_token for kind in ("requests", "limits"))
            if not named and not asked(container, EFA):
                yield Hit(env.value, f"FI_PROVIDER=efa, but no {EFA} is asked for")


def unknown_nccl_level(job: JobSpec) -> Iterator[Hit]:
    """An NCCL_DEBUG level NCCL does not know."""
    for _, env, value in _env(job):
        if env.name == "NCCL_DEBUG" and value is not None and value.upper() not in _NCCL_LEVELS:
            yield Hit(env.value, f"NCCL_DEBUG is {value!r}")


def hung_collectives_stay(job: JobSpec) -> Iterator[Hit]:
    """NCCL's watchdog switched off, or named as it used to be."""
    new = "TORCH_NCCL_ASYNC_ERROR_HANDLING"
    for container, env, value in _env(job):
        if env.name == new and value == "0":
            yield Hit(env.value, f"{new} is 0")
        if env.name == "NCCL_ASYNC_ERROR_HANDLING" and not container.has_env(new):
            yield Hit(env.where.at("name"), "NCCL_ASYNC_ERROR_HANDLING is the old name")


def blocking_launches(job: JobSpec) -> Iterator[Hit]:
    """A debugging switch left on."""
    for _, env, value in _env(job):
        if env.name == "CUDA_LAUNCH_BLOCKING" and value == "1":
            yield Hit(env.value, "CUDA_LAUNCH_BLOCKING is 1")


def loud_debugging(job: JobSpec) -> Iterator[Hit]:
    """Debug output that floods stdout."""
    for _, env, value in _env(job):
        if (env.name, value) in {("TORCH_DISTRIBUTED_DEBUG", "DETAIL"), ("NCCL_DEBUG", "TRACE")}:
            yield Hit(env.value, f"{env.name} is {value}")


def pinned_interface(job: JobSpec) -> Iterator[Hit]:
    """One named interface on the host's network."""
    for each in job.replica_sets:
        if each.pod.at("hostNetwork").boolean is not True:
            continue
        for container in each.containers:
            value = container.env_value("NCCL_SOCKET_IFNAME")
            if value and re.fullmatch(r"=?[a-z]+[0-9][\w.]*", value):
                field = _env_field(container, "NCCL_SOCKET_IFNAME")
                yield Hit(field, f"NCCL_SOCKET_IFNAME={value} on the host's network")


def _env_field(container: Container, name: str) -> Field:
    return next((env.value for env in container.env if env.name == name), container.field)


CHECKS = (
    Check(
        "HPJ068",
        "dollar-stays-literal",
        Severity.WARNING,
        "Kubernetes expands only $(VAR), and only of variables defined before.",
        "write $(VAR), or run the command in a shell",
        "Kubernetes: dependent variables",
        literal_dollars,
    ),
    Check(
        "HPJ069",
        "env-repeated",
        Severity.WARNING,
        "The last one wins.",
        "keep one",
        "Kubernetes",
        repeated_env,
    ),
    Check(
        "HPJ070",
        "secret-in-clear",
        Severity.WARNING,
        "Everyone who may read the job reads the secret.",
        "use valueFrom.secretKeyRef, and replace the secret",
        "Kubernetes: secrets",
        clear_secrets,
    ),
    Check(
        "HPJ071",
        "efa-provider-without-device",
        Severity.WARNING,
        "libfabric finds no device: it falls back to TCP or fails.",
        f"ask for {EFA}",
        "ai-on-sagemaker-hyperpod review",
        efa_provider_without_device,
    ),
    Check(
        "HPJ072",
        "unknown-nccl-level",
        Severity.WARNING,
        "NCCL ignores it.",
        "write VERSION, WARN, INFO, ABORT or TRACE",
        "NCCL user guide; public manifests",
        unknown_nccl_level,
    ),
    Check(
        "HPJ073",
        "hung-collectives-stay",
        Severity.WARNING,
        "A hung collective does not crash the process; only log monitors can see it.",
        "set TORCH_NCCL_ASYNC_ERROR_HANDLING=1, or leave it out: the agent sets it",
        "elastic agent 1.1; PyTorch",
        hung_collectives_stay,
    ),
    Check(
        "HPJ074",
        "blocking-launches",
        Severity.WARNING,
        "Every kernel waits for the one before.",
        "remove it",
        "CUDA programming guide",
        blocking_launches,
    ),
    Check(
        "HPJ075",
        "loud-debugging",
        Severity.ADVICE,
        "It slows training and floods the stdout that monitors read.",
        "use INFO or WARN",
        "PyTorch; NCCL user guide",
        loud_debugging,
    ),
    Check(
        "HPJ079",
        "pinned-interface",
        Severity.WARNING,
        "Hosts such as p5 have several interfaces; the rendezvous hangs on the wrong one.",
        "write ^lo,docker",
        "inferred",
        pinned_interface,
    ),
)
