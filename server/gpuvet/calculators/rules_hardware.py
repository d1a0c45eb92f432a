"""Failed hardware that the kernel tells without an Xid (ours, beside verdict-rules §11)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gpuvet.calculators.finding import Finding, NodeView
from gpuvet.calculators.hours import HOUR
from gpuvet.model.events import HardwareError, HardwareKind, Source
from gpuvet.model.verdict import FaultClass, Verdict
from gpuvet.parse.xid_line import pci_id

_GPU_DRIVER = "nvidia"
RULE = "ours: hardware without an Xid"


class _Rule(NamedTuple):
    """What one kind calls for: the least that is right whatever the check says, and the check."""

    fault_class: FaultClass
    minimum: Verdict
    check: str
    verdict: Verdict = Verdict.UNVERIFIED


_RULES: Mapping[HardwareKind, _Rule] = MappingProxyType(
    {
        HardwareKind.GPU_START: _Rule(
            FaultClass.HARDWARE,
            Verdict.REBOOT,
            "whether nvidia-smi lists every GPU after a reboot with one driver version",
        ),
        HardwareKind.MACHINE_CHECK: _Rule(
            FaultClass.HARDWARE,
            Verdict.MONITOR,
            "the machine check decoded (rasdaemon, mcelog) and the EC2 system status check",
        ),
        HardwareKind.PCIE: _Rule(
            FaultClass.HARDWARE,
            Verdict.MONITOR,
            "PCIe link width, speed and replay counters of that device (lspci -vv, nvidia-smi -q)",
        ),
        HardwareKind.MEMORY: _Rule(
            FaultClass.HARDWARE,
            Verdict.MONITOR,
            "the uncorrected counts of the memory controllers (edac-util, rasdaemon)",
        ),
        HardwareKind.NVME: _Rule(
            FaultClass.HARDWARE,
            Verdict.MONITOR,
            "whether the NVMe device came back (nvme list, nvme smart-log)",
        ),
        HardwareKind.PANIC: _Rule(
            FaultClass.UNKNOWN,
            Verdict.MONITOR,
            "the panic's own trace (EC2 console output, kdump): software or hardware",
        ),
        HardwareKind.SOFT_LOCKUP: _Rule(
            FaultClass.UNKNOWN,
            Verdict.MONITOR,
            "",
            Verdict.MONITOR,
        ),
    }
)


def hardware_findings(view: NodeView) -> Iterator[Finding]:
    """Yield one finding per kind and device.

    Source: ours. verdict-rules §11 is silent on these lines, which prove that something failed and
    not that a GPU did; so the verdict is UNVERIFIED with the least action that is right in any
    case and one deciding check, and MONITOR for a soft lockup, which mostly is software.
    """
    found: dict[tuple[HardwareKind, str | None], list[HardwareError]] = defaultdict(list)
    gpus = _gpus(view) if view.node.records.hardware else frozenset[str]()
    for error in sorted(view.node.records.hardware, key=lambda e: _place(view, e)):
        if _counts(view, error):
            found[error.kind, _gpu(error, gpus) or error.device].append(error)
    if any(kind is HardwareKind.GPU_START and device for kind, device in found):
        found.pop((HardwareKind.GPU_START, None), None)  # a detail of the line that names the GPU
    for errors in found.values():
        yield _finding(errors, next((g for e in errors if (g := _gpu(e, gpus))), None))
    if view.node.facts.nvidia_smi_answers is False:
        yield _unanswered()


def _unanswered() -> Finding:
    rule = _RULES[HardwareKind.GPU_START]
    return Finding(
        verdict=rule.verdict,
        fault_class=rule.fault_class,
        what="nvidia-smi cannot open a GPU of this node",
        rule=RULE,
        fact_source="nvidia-smi",
        minimum_action=rule.minimum,
        open_check=rule.check,
    )


def _finding(errors: list[HardwareError], gpu: str | None) -> Finding:
    first = errors[0]
    rule = _RULES[first.kind]
    often = f", {len(errors)} lines" if len(errors) > 1 else ""
    return Finding(
        verdict=rule.verdict,
        fault_class=rule.fault_class,
        what=f"{first.meaning}{_where(first, gpu)}{often}",
        rule=RULE,
        record=first,
        is_event=True,
        pci=gpu,
        minimum_action=rule.minimum if rule.verdict is Verdict.UNVERIFIED else None,
        open_check=rule.check if rule.verdict is Verdict.UNVERIFIED else None,
    )


def _where(error: HardwareError, gpu: str | None) -> str:
    if error.kind is HardwareKind.GPU_START:
        return ""
    if gpu is not None:
        return ": a GPU's own address"
    return f": platform, device {error.device}" if error.device else ": platform"


def _counts(view: NodeView, error: HardwareError) -> bool:
    """Say whether an error bears on the window: it lies there, or a GPU is still not started."""
    at = error.at
    if at is None or view.incident.window.padded(HOUR, HOUR).holds(at):
        return True
    still = error.kind is HardwareKind.GPU_START
    return still and view.clock.boot_of(error) == view.last_boot


def _gpus(view: NodeView) -> frozenset[str]:
    """Return every PCI id that something names as a GPU's."""
    records = view.node.records
    listed = {g.pci for g in view.node.facts.gpus} | {g.pci for g in records.identities}
    listed |= {x.pci for x in records.xids if x.source is not Source.USER_SPACE}
    named = {pci_id(e.device) for e in records.hardware if e.device and _names_gpu(e)}
    return view.known_gpus | {pci for pci in (named | listed) if pci}


def _names_gpu(error: HardwareError) -> bool:
    return error.kind is HardwareKind.GPU_START or error.driver == _GPU_DRIVER


def _gpu(error: HardwareError, gpus: frozenset[str]) -> str | None:
    """Return the PCI id of the GPU an error names; None where it names another device."""
    if error.device is None or error.kind not in {HardwareKind.GPU_START, HardwareKind.PCIE}:
        return None
    pci = pci_id(error.device)
    return pci if pci in gpus else None


def _place(view: NodeView, error: HardwareError) -> tuple[int, int, str, int]:
    boot, position = view.clock.place(error)
    return (boot, position, error.stream, error.line)
