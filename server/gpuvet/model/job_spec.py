"""The part of a HyperPodPyTorchJob that checks read; every field knows its path and place.

Views over the YAML nodes, not `Value`s: a check needs what was written as much as what it means.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from gpuvet.model.yaml_tree import Document, MappingNode, Node, Place, Scalar, SequenceNode, joined

# A token that a template engine or a person still has to fill in. $(VAR) is Kubernetes' own.
TEMPLATE = re.compile(
    r"\{\{.*?\}\}|\{%.*?%\}|\$\{[A-Za-z_][^}\n]{0,200}\}|\$[A-Za-z_][A-Za-z0-9_]*", re.DOTALL
)
PLACEHOLDER = re.compile(
    r"(?<![?P])<[A-Za-z_](?:[\w .:/|-]{0,80}\w)?>"
    r"|(?:^|(?<=[/.:@=,-]))[xX]{3,}(?=$|[/.:@=,-])"
    r"|(?:^|(?<=/))\.{3,}(?=$|/)"
    r"|\b(?:CHANGE_?ME|REPLACE_?ME|FILL_?ME|TODO|FIXME)\b|\bchange-?me\b|\breplace-?me\b"
)


class Field(NamedTuple):
    """A value of the manifest, there or not."""

    path: str
    place: Place  # of the value; of the nearest parent where it is absent
    node: Node | None = None
    key_place: Place | None = None

    @property
    def present(self) -> bool:
        """True when a value other than null stands there."""
        return self.node is not None and not (
            isinstance(self.node, Scalar) and self.node.value is None
        )

    @property
    def is_token(self) -> bool:
        """True for text that still has to be filled in; value checks skip it."""
        if not isinstance(self.node, Scalar):
            return False
        if TEMPLATE.search(self.node.text):
            return True
        is_regex = self.path.endswith(("logPattern", "stopPattern"))
        return not is_regex and bool(PLACEHOLDER.search(self.node.text))

    @property
    def scalar(self) -> Scalar | None:
        """The scalar, unless it is absent, null or a token."""
        if isinstance(self.node, Scalar) and self.present and not self.is_token:
            return self.node
        return None

    @property
    def text(self) -> str | None:
        """The value if it is text and no token."""
        value = self.scalar.value if self.scalar else None
        return value if isinstance(value, str) else None

    @property
    def words(self) -> str | None:
        """The value as written, whatever its type, tokens included."""
        return self.node.text if isinstance(self.node, Scalar) and self.present else None

    @property
    def integer(self) -> int | None:
        """The value if it is a whole number (2.0 counts, "2" does not)."""
        number = self.number
        return int(number) if number is not None and number == int(number) else None

    @property
    def number(self) -> float | None:
        """The value if it is a finite number."""
        value = self.scalar.value if self.scalar else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value if abs(value) < 1e18 else None

    @property
    def boolean(self) -> bool | None:
        """The value if it is true or false."""
        value = self.scalar.value if self.scalar else None
        return value if isinstance(value, bool) else None

    @property
    def items(self) -> tuple[Field, ...]:
        """The items of a list, else nothing."""
        if not isinstance(self.node, SequenceNode):
            return ()
        return tuple(
            Field(f"{self.path}[{index}]", item.place, item)
            for index, item in enumerate(self.node.items)
        )

    @property
    def members(self) -> tuple[tuple[str, Field], ...]:
        """The keys and values of a mapping, else nothing."""
        if not isinstance(self.node, MappingNode):
            return ()
        return tuple(
            (entry.key.text, Field(self._below(entry.key.text), *_places(entry.value, entry.key)))
            for entry in self.node.entries
        )

    def at(self, *keys: str) -> Field:
        """Return the field below, absent if any key on the way is."""
        here = self
        for key in keys:
            entry = here.node.get(key) if isinstance(here.node, MappingNode) else None
            path = joined(here.path, key)
            if entry is None:
                here = Field(path, here.key_place or here.place)
            else:
                here = Field(path, *_places(entry.value, entry.key))
        return here

    def _below(self, key: str) -> str:
        return joined(self.path, key)


def _places(node: Node, key: Scalar) -> tuple[Place, Node, Place]:
    place = node.place if not (isinstance(node, Scalar) and not node.text) else key.place
    return place, node, key.place


class Launcher(StrEnum):
    """What starts the workers, as far as the command shows."""

    HYPERPODRUN = "hyperpodrun"
    OTHER = "other"  # torchrun, accelerate, bare python …
    HIDDEN = "hidden"  # an image entry point or a script


class Argument(NamedTuple):
    """One option of a command line, with the field it stands in."""

    name: str  # without dashes, underscores for dashes: nproc_per_node
    value: str | None
    where: Field


class Launch(NamedTuple):
    """How a container starts its workers."""

    launcher: Launcher
    word: str  # the program found: torchrun, python …
    where: Field
    arguments: tuple[Argument, ...] = ()  # of the launcher and of the script behind it
    shell: Field | None = None  # the text that a shell runs
    is_piped: bool = False
    has_exec: bool = False
    words: tuple[str, ...] = ()  # every word of the command, the launcher's first
    shell_text: str = ""

    def option(self, *names: str) -> Argument | None:
        """Return the last option that has one of these names."""
        return next((arg for arg in reversed(self.arguments) if arg.name in names), None)


class Env(NamedTuple):
    """One environment variable of a container."""

    name: str
    value: Field
    where: Field


class Container(NamedTuple):
    """One container of the pod."""

    field: Field
    launch: Launch
    env: tuple[Env, ...] = ()

    def env_value(self, name: str) -> str | None:
        """Return the last plain value of a variable; None when absent or a token."""
        return next(
            (
                str(each.value.words)
                for each in reversed(self.env)
                if each.name == name and each.value.present and not each.value.is_token
            ),
            None,
        )

    def has_env(self, name: str) -> bool:
        """Return whether the variable is set at all, by value or by reference."""
        return any(each.name == name for each in self.env)

    def amount(self, kind: str, resource: str) -> Field:
        """Return requests or limits of a resource."""
        return self.field.at("resources", kind, resource)


class ReplicaSet(NamedTuple):
    """One entry of replicaSpecs."""

    field: Field
    pod: Field  # template.spec
    containers: tuple[Container, ...] = ()

    @property
    def trainer(self) -> Container | None:
        """The container that trains: the first that asks for accelerators, else the first."""
        accelerated = (each for each in self.containers if _asks_accelerator(each))
        return next(accelerated, self.containers[0] if self.containers else None)


def _asks_accelerator(container: Container) -> bool:
    return any(
        name.startswith(("nvidia.com/", "aws.amazon.com/neuron"))
        for kind in ("limits", "requests")
        for name, _ in container.field.at("resources", kind).members
    )


class Rule(NamedTuple):
    """One entry of logMonitoringConfiguration."""

    field: Field
    position: int  # in the list, from 0

    @property
    def name(self) -> str:
        """The rule's name, or its number where it has none."""
        return self.field.at("name").words or f"rule {self.position + 1}"

    @property
    def pattern(self) -> Field:
        """The logPattern."""
        return self.field.at("logPattern")

    @property
    def stop(self) -> Field:
        """The stopPattern."""
        return self.field.at("stopPattern")

    @property
    def cutoff(self) -> Field:
        """The expectedStartCutOffInSeconds."""
        return self.field.at("expectedStartCutOffInSeconds")

    @property
    def recurrence(self) -> Field:
        """The expectedRecurringFrequencyInSeconds."""
        return self.field.at("expectedRecurringFrequencyInSeconds")

    @property
    def has_metric(self) -> bool:
        """True when both threshold and operator are there, whatever they hold."""
        return self.field.at("metricThreshold").present and self.field.at("operator").present

    @property
    def faults(self) -> bool:
        """True for faultOnMatch."""
        return self.field.at("faultOnMatch").boolean is True


class DocumentRole(StrEnum):
    """What a document is to us."""

    JOB = "job"
    MONITORS = "monitors"  # a bare logMonitoringConfiguration
    SERVICE_MONITOR = "service_monitor"
    WRONG_KIND = "wrong_kind"  # a job, but not this resource
    OTHER = "other"


class CheckContext(NamedTuple):
    """What the user says beside the file."""

    instance_type: str | None = None
    agent_version: tuple[int, ...] | None = None
    script: str | None = None  # text of the training script
    quota_pods: int | None = None


class JobSpec(NamedTuple):
    """One job, or the monitors alone (then only `rules` is filled)."""

    root: Field
    replica_sets: tuple[ReplicaSet, ...] = ()
    rules: tuple[Rule, ...] = ()
    context: CheckContext = CheckContext()
    is_fragment: bool = False

    @property
    def metadata(self) -> Field:
        """The job's metadata."""
        return self.root.at("metadata")

    @property
    def spec(self) -> Field:
        """The job's spec."""
        return self.root.at("spec")

    @property
    def run_policy(self) -> Field:
        """The runPolicy."""
        return self.spec.at("runPolicy")

    @property
    def elastic(self) -> Field:
        """The elasticPolicy."""
        return self.spec.at("elasticPolicy")

    @property
    def total_replicas(self) -> int | None:
        """Pods asked for; None when a count cannot be read."""
        total = 0
        for each in self.replica_sets:
            count = each.field.at("replicas")
            if not count.present:
                continue
            if count.integer is None:
                return None
            total += count.integer
        return total

    @property
    def is_multi_node(self) -> bool:
        """True only when the text proves two or more pods."""
        most = self.elastic.at("maxReplicas").integer or 0
        return max(self.total_replicas or 0, most if self.elastic.present else 0) > 1

    def trainers(self) -> Iterator[tuple[ReplicaSet, Container]]:
        """Yield the training container of each replica spec."""
        for each in self.replica_sets:
            if each.trainer is not None:
                yield each, each.trainer


class Manifest(NamedTuple):
    """One document of a file, read as far as it could be."""

    root: Field
    role: DocumentRole
    kind: str
    document: Document | None = None
    job: JobSpec | None = None
    shell_paths: frozenset[str] = frozenset()  # paths of texts that a shell runs
    template_lines: tuple[tuple[int, str], ...] = ()  # {% %} and stand-alone {{ }} lines
    is_export: bool = False  # comes from kubectl get
    fault: tuple[str, int, int] | None = None  # not YAML: message, line, column
    alone: bool = True  # no HyperPodPyTorchJob stands in the same file


class SpecFile(NamedTuple):
    """Every document of a file."""

    name: str
    text: str
    manifests: tuple[Manifest, ...]
