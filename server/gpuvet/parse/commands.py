"""Commands and API operations: which read and which change something. Pure."""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache

from gpuvet.model.base import Value


class Effect(StrEnum):
    """What a call does to the account, as far as its name tells."""

    READS = "reads"
    CHANGES = "changes"
    UNKNOWN = "unknown"


class Command(Value):
    """One command line as program and what it does, e.g. `aws fsx update-file-system`."""

    shown: str
    service: str
    operation: str
    effect: Effect


# Leading words of AWS operation names; `batch_` is stripped first.
_READING = frozenset(
    {
        "check", "compare", "decode", "describe", "detect", "discover", "download", "estimate",
        "evaluate", "explain", "filter", "generate_credential_report", "get", "head", "list",
        "lookup", "ls", "poll", "preview", "query", "scan", "search", "select", "simulate", "test",
        "validate", "verify", "view", "wait",
    }
)  # fmt: skip
_CHANGING = frozenset(
    {
        "abort", "accept", "activate", "add", "admin", "allocate", "apply", "approve", "archive",
        "assign", "associate", "attach", "authorize", "cancel", "change", "claim", "clear",
        "close", "complete", "configure", "confirm", "continue", "copy", "cordon", "cp", "create",
        "deactivate", "delete", "deploy", "deprecate", "deprovision", "deregister", "detach",
        "disable", "disassociate", "disconnect", "drain", "drop", "enable", "execute", "expire",
        "export", "failover", "force", "grant", "import", "increase", "initiate", "invite",
        "invoke", "issue", "kill", "label", "launch", "lock", "merge", "migrate", "modify", "move",
        "mv", "notify", "open", "pause", "post", "promote", "provision", "publish", "purchase",
        "purge", "put", "reboot", "rebuild", "recover", "refresh", "register", "reject", "release",
        "remove", "replace", "request", "reset", "resize", "restart", "restore", "resume", "retire",
        "retry", "revoke", "rm", "rollback", "rotate", "run", "scale", "schedule", "send", "set",
        "signal", "split", "start", "stop", "submit", "subscribe", "suspend", "swap", "sync",
        "tag", "terminate", "transfer", "trigger", "unassign", "uncordon", "undeploy", "unlabel",
        "unlock", "unmonitor", "monitor", "unsubscribe", "untag", "update", "upgrade", "upload",
        "write",
    }
)  # fmt: skip
# Operations whose name sounds like a change and that only read.
_READING_OPERATIONS = frozenset(
    {
        ("logs", "start_query"), ("logs", "stop_query"), ("logs", "start_live_tail"),
        ("cloudtrail", "start_query"), ("cloudtrail", "cancel_query"),
        ("iam", "generate_service_last_accessed_details"),
        ("sts", "assume_role"), ("eks", "update_kubeconfig"), ("sts", "get_session_token"),
        ("ce", "start_savings_plans_purchase_recommendation_generation"),
    }
)  # fmt: skip
_KUBECTL_READS = frozenset(
    {
        "api-resources", "api-versions", "auth", "cluster-info", "describe", "diff", "events",
        "explain", "get", "logs", "top", "version", "wait",
    }
)  # fmt: skip
_KUBECTL_CHANGES = frozenset(
    {
        "annotate", "apply", "attach", "autoscale", "cordon", "cp", "create", "debug", "delete",
        "drain", "edit", "exec", "expose", "label", "patch", "replace", "rollout", "run", "scale",
        "set", "taint", "uncordon",
    }
)  # fmt: skip
_SLURM_CHANGES = {
    "scancel": ("",),
    "scontrol": ("update", "reboot", "reconfigure", "requeue", "hold", "release", "suspend",
                 "resume", "delete", "create", "shutdown", "power"),
    "sbatch": ("",),
    "sacctmgr": ("add", "modify", "delete", "create"),
}  # fmt: skip
_HOST_CHANGES = {
    "reboot": ("",),
    "shutdown": ("",),
    "poweroff": ("",),
    "systemctl": ("start", "stop", "restart", "reload", "enable", "disable", "mask", "kill"),
    "nvidia-smi": ("-r", "--gpu-reset", "-pm", "-pl", "-mig", "-e", "-c"),
    "helm": ("install", "upgrade", "uninstall", "rollback"),
    "eksctl": ("create", "delete", "scale", "upgrade", "drain", "set", "update"),
    "pcluster": ("create-cluster", "update-cluster", "delete-cluster", "update-compute-fleet",
                 "delete-cluster-instances"),
    "hyp": ("create", "delete", "update", "scale", "reboot", "replace", "set-cluster-context"),
}  # fmt: skip
_PROGRAMS = frozenset({"aws", "kubectl", *_SLURM_CHANGES, *_HOST_CHANGES})
_ANY_PROGRAM = "|".join(sorted(_PROGRAMS, key=len, reverse=True))
_PROGRAM = re.compile(rf"(?<![\w-])(?:{_ANY_PROGRAM}) ")
_LINE_START = re.compile(
    rf"^[ \t]*(?:[-*>][ \t]+)?(?:[$#][ \t]+)?`*(?:sudo[ \t]+)?(?=(?:{_ANY_PROGRAM})\b)",
    re.MULTILINE,
)
_INLINE = re.compile(rf"`(?:\$ |sudo )*((?:{_ANY_PROGRAM}) [^`\n]+)`")
MAX_LINE = 2000  # characters of a command line that are read
_FLAG_WITH_VALUE = frozenset(
    {"--region", "--profile", "--output", "--query", "--endpoint-url", "-n", "--namespace",
     "--context", "--kubeconfig"}
)  # fmt: skip


@lru_cache(maxsize=4096)
def operation_effect(service: str, operation: str) -> Effect:
    """Return what an AWS operation does, by its name in any spelling."""
    name = snake_case(operation)
    if (service.lower(), name) in _READING_OPERATIONS:
        return Effect.READS
    first = name.removeprefix("batch_").partition("_")[0]
    if first in _READING or name in _READING:
        return Effect.READS
    return Effect.CHANGES if first in _CHANGING else Effect.UNKNOWN


def commands_in(text: str) -> Iterator[Command]:
    """Yield the commands a text spells out: lines that start with one, and inline code."""
    if not _PROGRAM.search(text):
        return
    at: dict[int, str] = {}
    for match in _LINE_START.finditer(text):
        end = text.find("\n", match.end())
        at[match.end()] = text[match.end() : end if end >= 0 else len(text)].rstrip("`\\ ")
    for match in _INLINE.finditer(text):
        at.setdefault(match.start(1), match[1])
    for start in sorted(at):
        command = parse_command(at[start])
        if command is not None:
            yield command


@lru_cache(maxsize=4096)  # a suite repeats its commands
def parse_command(line: str) -> Command | None:
    """Return what a command line runs, or None where it is no command we know."""
    words = [w for w in line[:MAX_LINE].split() if w not in {"sudo", "$"}]
    if not words or words[0] not in _PROGRAMS:
        return None
    program, rest = words[0], _without_flags(words[1:])
    if program == "aws":
        return _aws_command(rest)
    verb = rest[0] if rest else ""
    return Command(
        shown=f"{program} {verb}".strip(),
        service=program,
        operation=verb,
        effect=_program_effect(program, verb, words[1:]),
    )


@lru_cache(maxsize=4096)
def snake_case(name: str) -> str:
    """Return `BatchRebootClusterNodes` or `batch-reboot…` as `batch_reboot_cluster_nodes`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^a-z0-9]+", "_", spaced.lower()).strip("_")


def _aws_command(rest: list[str]) -> Command | None:
    if len(rest) < 2 or not re.fullmatch(r"[a-z][a-z0-9-]*", rest[1]):
        return None  # prose such as "aws resources", or a help line
    service, operation = rest[0], rest[1]
    return Command(
        shown=f"aws {service} {operation}",
        service=service,
        operation=operation,
        effect=operation_effect(service, operation),
    )


def _program_effect(program: str, verb: str, words: list[str]) -> Effect:
    if program == "kubectl":
        if verb in _KUBECTL_CHANGES:
            return Effect.CHANGES
        return Effect.READS if verb in _KUBECTL_READS else Effect.UNKNOWN
    verbs = _SLURM_CHANGES.get(program) or _HOST_CHANGES[program]
    if "" in verbs or verb in verbs or any(word in verbs for word in words):
        return Effect.CHANGES
    return Effect.READS


def _without_flags(words: list[str]) -> list[str]:
    """Drop options that may stand before the verb, with their values."""
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _FLAG_WITH_VALUE
        else:
            kept.append(word)
    return kept
