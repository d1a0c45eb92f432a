"""Which file system is the job's: by DNS name, by mount, or as the only one in sight. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gpuvet.model.storage import FileSystem, MentionKind, StorageMention


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the job's cluster says its storage and its nodes are.

    Attributes:
        dns_names: Of instance storage configurations (FsxLustreConfig.DnsName).
        vpcs: Of the nodes.
        subnets: Of the nodes.
    """

    dns_names: tuple[str, ...] = ()
    vpcs: tuple[str, ...] = ()
    subnets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """How a file system is tied to the job.

    Attributes:
        file_system: Its id.
        is_proven: By DNS name, mount, or as the only one beside paths on a Lustre mount. VPC and
            subnet alone only suggest it.
        words: How, for a reader.
        is_near: It lies in the nodes' VPC or subnet.
        evidence: Of the lines that say so.
    """

    file_system: str
    is_proven: bool
    words: str
    is_near: bool = False
    evidence: tuple[str, ...] = ()


def link(
    system: FileSystem,
    known: Iterable[str],
    mentions: Sequence[StorageMention],
    placement: Placement,
    *,
    listing_complete: bool,
) -> Link:
    """Return how one file system is tied to the job.

    Args:
        system: The file system.
        known: Every file system id in the evidence.
        mentions: What the job, its nodes and manifests say of storage.
        placement: What the cluster says.
        listing_complete: Every file system of the account was listed; only then is one "the
            only one".
    """
    near = _nearness(system, placement)
    if any(name.startswith(f"{system.id}.") for name in placement.dns_names):
        return Link(system.id, True, "the instance group's FsxLustreConfig names it")
    mount = next((m for m in mentions if _names(system, m)), None)
    if mount is not None:
        how = "mounts it" if MentionKind.MOUNT in mount.kinds else "names it"
        words = f"{mount.source} line {mount.line} {how}"
        return Link(system.id, True, words, evidence=_evidence(mount))
    path = next((m for m in mentions if m.path and MentionKind.PATH in m.kinds), None)
    is_only = listing_complete and set(known) == {system.id}
    if is_only and path is not None:
        words = f"the only Lustre file system listed, and the job uses {path.path} on that mount"
        words += f"; {near}" if near else ""
        return Link(system.id, True, words, evidence=_evidence(path))
    if near:
        words = f"by {near} only; no mount or path of the job was read"
        return Link(system.id, False, words, is_near=True)
    return Link(system.id, False, "not shown: no DNS name, mount or path of the job was read")


def _names(system: FileSystem, mention: StorageMention) -> bool:
    if mention.file_system is not None:
        return mention.file_system == system.id
    return mention.mount_name is not None and mention.mount_name == system.mount_name


def _nearness(system: FileSystem, placement: Placement) -> str:
    if set(system.subnets) & set(placement.subnets):
        return "the nodes' VPC and subnet"  # a subnet lies in one VPC
    if system.vpc is not None and system.vpc in placement.vpcs:
        return "the nodes' VPC"
    return ""


def _evidence(mention: StorageMention) -> tuple[str, ...]:
    return (mention.evidence,) if mention.evidence else ()
