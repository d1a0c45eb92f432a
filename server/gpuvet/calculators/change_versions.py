"""Versions that changed under a job: packages, kernels, drivers (§E). Pure.

Where a change is no API call, a package log or the first boot line with the new version stands
for the call.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

from gpuvet.calculators.change_evidence import ChangeEvidence
from gpuvet.model.bootstrap import ServiceEvent
from gpuvet.model.cause import Branch, Failure, Signal, Symptom
from gpuvet.model.changes import Change, ChangeKind, PackageChange
from gpuvet.model.events import (
    Boundary,
    BoundaryKind,
    FabricManagerLine,
    FabricState,
)
from gpuvet.report.words import some, utc

_NO_MODULE = "a new kernel needs Lustre client modules built for it; without them nothing mounts"
_MISMATCH = "driver and Fabric Manager of different versions: the fabric does not start"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Driver and Fabric Manager refusing each other, over all nodes that say so."""

    driver: str | None
    manager: str | None
    lines: tuple[FabricManagerLine, ...]  # the first of each node, in time order
    loads: tuple[Boundary, ...]  # the loading of that driver before it, node by node

    @property
    def at(self) -> datetime | None:
        """Return when the first node said so."""
        return min((line.at for line in self.lines if line.at is not None), default=None)

    @property
    def nodes(self) -> tuple[str, ...]:
        """Return the nodes that say so."""
        return tuple(sorted({line.node for line in self.lines}))


def mismatches(evidence: ChangeEvidence) -> tuple[Mismatch, ...]:
    """Return the version mismatches that nodes of the job report, by pair of versions."""
    found: dict[tuple[str | None, str | None], dict[str, FabricManagerLine]] = {}
    for node in (n.node for n in evidence.nodes):
        records = evidence.records.get(node)
        for line in records.fabric_manager if records is not None else ():
            if line.state is FabricState.VERSION_MISMATCH:
                pair = (line.driver_version, line.manager_version)
                found.setdefault(pair, {}).setdefault(node, line)
    return tuple(
        Mismatch(driver, manager, _ordered(lines.values()), _loads(evidence, driver, lines))
        for (driver, manager), lines in found.items()
    )


def _ordered(lines: Iterable[FabricManagerLine]) -> tuple[FabricManagerLine, ...]:
    return tuple(sorted(lines, key=lambda line: (line.at is None, line.at, line.node)))


def _loads(
    evidence: ChangeEvidence, driver: str | None, lines: dict[str, FabricManagerLine]
) -> tuple[Boundary, ...]:
    found: list[Boundary] = []
    for node, line in lines.items():
        boundaries = evidence.records[node].boundaries
        mine = [
            b
            for b in boundaries
            if b.driver_version == driver and b.at and (line.at is None or b.at <= line.at)
        ]
        if mine:
            found.append(max(mine, key=lambda b: (b.at is not None, b.at, b.line)))
    return tuple(sorted(found, key=lambda b: (b.at is None, b.at, b.node)))


def mismatch_words(found: Mismatch, evidence: ChangeEvidence) -> str:
    """Return what the nodes say, with their number and the total."""
    total = len(evidence.nodes)
    every = (
        f"all {total} of {total}" if len(found.nodes) == total else f"{len(found.nodes)} of {total}"
    )
    loaded = f", loaded from {utc(found.loads[0].at)}" if found.loads else ""
    return (
        f"driver {found.driver}{loaded}, and Fabric Manager {found.manager} refuses it on {every} "
        "nodes"
    )


def version_signals(
    evidence: ChangeEvidence, failure: Failure, calls: Sequence[Change]
) -> Iterator[Signal]:
    """Yield the change behind each version mismatch: the call, else package log, else boot line."""
    for found in mismatches(evidence):
        call = _call_before(found, calls)
        package = _package_before(found, evidence)
        if call is not None:
            yield _by_call(found, call, evidence, failure)
        elif package is not None:
            yield _by_package(found, package, evidence, failure)
        elif found.loads:
            yield _by_boot_line(found, evidence)


def _call_before(found: Mismatch, calls: Sequence[Change]) -> Change | None:
    kinds = {ChangeKind.SOFTWARE, ChangeKind.CLUSTER, ChangeKind.REPLACE}
    before = [
        c
        for c in calls
        if c.kind in kinds and not c.is_attempt and found.at is not None and c.at <= found.at
    ]
    return max(before, key=lambda c: c.at, default=None)


def _package_before(found: Mismatch, evidence: ChangeEvidence) -> PackageChange | None:
    mine = [
        p
        for p in evidence.packages
        if p.new is not None
        and found.driver is not None
        and found.driver in p.new
        and (p.at is None or found.at is None or p.at <= found.at)
    ]
    return min(mine, key=lambda p: (p.at is None, p.at, p.line), default=None)


def _is_about(found: Mismatch, failure: Failure) -> bool:
    """Say whether the mismatch lies at or before the failure, so that it can be its cause."""
    if failure.at is None or found.at is None:
        return True
    return (found.at - failure.at).total_seconds() <= max(1.0, failure.precision_seconds)


def _by_call(found: Mismatch, call: Change, evidence: ChangeEvidence, failure: Failure) -> Signal:
    is_cause = _is_about(found, failure)
    return Signal(
        branch=Branch.CHANGE,
        kind="software_update",
        what=f"{call.name} by {call.by or 'unknown'} at {utc(call.at)} on "
        f"{call.cluster or evidence.cluster_name} succeeded; after it "
        f"{mismatch_words(found, evidence)}",
        resource=evidence.cluster_name or call.cluster,
        node=found.nodes[0],
        at=call.at,
        mechanism=_MISMATCH if is_cause else None,
        proven_by_rule=is_cause,
        explains=(Branch.COMMUNICATION,),
        raw=found.lines[0].raw,
        stream=found.lines[0].stream,
        evidence=_refs(call.evidence, found),
    )


def _by_package(
    found: Mismatch, package: PackageChange, evidence: ChangeEvidence, failure: Failure
) -> Signal:
    is_cause = _is_about(found, failure)
    old = f" from {package.old}" if package.old else ""
    return Signal(
        branch=Branch.CHANGE,
        kind="package_upgrade",
        what=f"{package.tool} put {package.package}{old} to {package.new} at {utc(package.at)} "
        f"on {package.node or 'the nodes'}; after the next boot {mismatch_words(found, evidence)}",
        node=found.nodes[0],
        at=package.at,
        mechanism=_MISMATCH if is_cause else None,
        proven_by_rule=is_cause and package.at is not None,
        explains=(Branch.COMMUNICATION,),
        raw=package.raw,
        stream=package.stream,
        evidence=_refs(package.evidence, found),
    )


def _by_boot_line(found: Mismatch, evidence: ChangeEvidence) -> Signal:
    first = found.loads[0]
    return Signal(
        branch=Branch.CHANGE,
        kind="driver_version",
        what=f"{mismatch_words(found, evidence)}: the boot line with the new driver stands for "
        "the change; who made it is not known",
        node=first.node,
        at=first.at,
        mechanism=_MISMATCH,
        explains=(Branch.COMMUNICATION,),
        confirming="CloudTrail or the package manager's log of the hours before that boot",
        raw=first.raw,
        stream=first.stream,
        evidence=_refs(first.evidence, found),
    )


def _refs(own: str | None, found: Mismatch) -> tuple[str, ...]:
    refs = (own, *(b.evidence for b in found.loads[:4]), *(x.evidence for x in found.lines[:4]))
    return tuple(dict.fromkeys(ref for ref in refs if ref is not None))


def package_signals(evidence: ChangeEvidence, failure: Failure) -> Iterator[Signal]:
    """Yield packages whose new version shows in a boot of a job's node before the failure.

    An upgrade takes effect at the node's next boot, and is strong for symptoms in the first boot
    that shows the new version.
    """
    told = {m.driver for m in mismatches(evidence)}
    seen: set[tuple[str, str | None]] = set()
    for package in evidence.packages:
        key = (package.package, package.new)
        if package.new is None or key in seen or any(d and d in package.new for d in told):
            continue
        boot = _first_boot_with(package, evidence)
        if boot is None:
            continue
        seen.add(key)
        yield _package_signal(package, boot, evidence, failure)


def _package_signal(
    package: PackageChange, boot: Boundary, evidence: ChangeEvidence, failure: Failure
) -> Signal:
    mechanism = _kernel_mechanism(boot, evidence, failure)
    return Signal(
        branch=Branch.CHANGE,
        kind="package_upgrade",
        what=f"{package.tool} put {package.package} to {package.new} at {utc(package.at)}; "
        f"{boot.node} first booted with it at {utc(boot.at)}",
        node=boot.node,
        at=package.at,
        mechanism=mechanism,
        proven_by_rule=mechanism is not None and package.at is not None,
        explains=(Branch.STORAGE,) if mechanism else (),
        confirming="the same job on a node with the old version",
        raw=package.raw,
        stream=package.stream,
        evidence=(package.evidence, boot.evidence),
    )


def _kernel_mechanism(boot: Boundary, evidence: ChangeEvidence, failure: Failure) -> str | None:
    """Return how a new kernel makes a mount fail, where a node says that its module is missing."""
    if boot.kernel_version is None or failure.symptom is not Symptom.MOUNT:
        return None
    missing = [
        r
        for r in evidence.services
        if r.event is ServiceEvent.MODULE_MISSING and r.code == boot.kernel_version
    ]
    return _NO_MODULE if missing else None


def kernel_signals(evidence: ChangeEvidence, failure: Failure) -> Iterator[Signal]:
    """Yield kernels without the Lustre client module, where no package log tells of them."""
    packaged = {p.new for p in evidence.packages if p.new}
    for version in dict.fromkeys(
        r.code
        for r in evidence.services
        if r.event is ServiceEvent.MODULE_MISSING and r.code is not None
    ):
        if any(version in new or new in version for new in packaged):
            continue
        mine = [r for r in evidence.services if r.code == version]
        boots = [
            b
            for records in evidence.records.values()
            for b in records.boundaries
            if b.kernel_version == version and b.at is not None
        ]
        first = min(boots, key=lambda b: (b.at is None, b.at, b.node), default=None)
        yield Signal(
            branch=Branch.CHANGE,
            kind="kernel_version",
            what=f"{mine[0].action} is not built for kernel {version}"
            + (f", first booted {utc(first.at)} on {first.node}" if first else "")
            + f": {mine[0].stream}",
            node=first.node if first else mine[0].node or None,
            at=first.at if first else mine[0].at,
            mechanism=_NO_MODULE if failure.symptom is Symptom.MOUNT and first else None,
            hypothesis_only=first is None,
            explains=(Branch.STORAGE,),
            confirming="the package manager's log of the hours before that boot",
            raw=mine[0].raw,
            stream=mine[0].stream,
            evidence=tuple(r.evidence for r in mine[:4]),
        )


def _first_boot_with(package: PackageChange, evidence: ChangeEvidence) -> Boundary | None:
    nodes = [package.node] if package.node else [n.node for n in evidence.nodes]
    found: list[Boundary] = []
    for node in nodes:
        records = evidence.records.get(node)
        for line in records.boundaries if records is not None else ():
            version = line.driver_version or line.kernel_version
            fits = (
                version is not None
                and package.new is not None
                and (version in package.new or package.new in version)
            )
            if fits and line.at and (package.at is None or line.at >= package.at):
                found.append(line)
    return min(found, key=lambda b: (b.at is None, b.at, b.line), default=None)


def driver_changes(evidence: ChangeEvidence) -> Iterator[tuple[Boundary, Boundary]]:
    """Yield boots of the job's nodes whose driver differs from the boot before: before, after."""
    for node in (n.node for n in evidence.nodes):
        records = evidence.records.get(node)
        loads = [
            b
            for b in (records.boundaries if records is not None else ())
            if b.kind is BoundaryKind.DRIVER_RELOAD and b.driver_version and b.at
        ]
        loads.sort(key=lambda b: (b.at is None, b.at, b.line))
        for before, after in pairwise(loads):
            if before.driver_version != after.driver_version:
                yield before, after


def script_words(evidence: ChangeEvidence) -> str | None:
    """Return the sentence about scripts that upgrade to whatever is newest, or None."""
    if not evidence.scripts:
        return None
    shown = some([f"{one.file}:{one.line} `{one.text}`" for one in evidence.scripts], 2)
    return (
        f"a script upgrades packages without naming versions ({shown}): each node gets what is "
        "newest when it is made"
    )
