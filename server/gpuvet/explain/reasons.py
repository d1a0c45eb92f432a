"""What NVIDIA's action words come to on a node (verdict-rules §1). Pure."""

from typing import NamedTuple

from gpuvet.catalog.xids import XidRow
from gpuvet.model.words import Verdict


class Bucket(NamedTuple):
    """One of NVIDIA's action words."""

    says: str
    verdict: Verdict | None  # None: the word leaves it open


_BUCKETS = {
    "RESET_GPU": Bucket("reset the GPU, for which the node restarts", Verdict.REBOOT),
    "RESTART_BM": Bucket("restart the machine", Verdict.REBOOT),
    "RESTART_VM": Bucket("restart the virtual machine", Verdict.REBOOT),
    "RESTART_APP": Bucket("restart the application", Verdict.LEAVE_ALONE),
    "UPDATE_SWFW": Bucket("update software or firmware", Verdict.LEAVE_ALONE),
    "IGNORE": Bucket("ignore it", Verdict.MONITOR),
    "CONTACT_SUPPORT": Bucket("contact support, and names no repair", Verdict.UNVERIFIED),
    "CHECK_MECHANICALS": Bucket(
        "check the mechanicals, which on EC2 only other hardware does", Verdict.REPLACE
    ),
    "CHECK_UVM": Bucket("reset if UVM or vGPU is in use, else ignore it", Verdict.UNVERIFIED),
    "WORKFLOW_XID_45": Bucket("look for the Xid that came before", None),
    "WORKFLOW_XID_48": Bucket("find out which memory failed", None),
    "WORKFLOW_NVLINK_ERR": Bucket("decode the registers of the line", None),
    "WORKFLOW_NVLINK5_ERR": Bucket("decode the unit and registers of the line", None),
    "XID_154": Bucket("read the value it announces", None),
}
_SILENT = "(none listed)"


def reason(row: XidRow) -> str:
    """Return the one sentence that says how NVIDIA's action became the default verdict."""
    bucket = _BUCKETS.get(row.immediate_action)
    if row.immediate_action == _SILENT or bucket is None:
        return "NVIDIA's catalog lists no action for it."
    said = f"NVIDIA says {row.immediate_action}: {bucket.says}."
    if bucket.verdict in {None, row.default_verdict}:
        return said
    left_alone = row.default_verdict is Verdict.LEAVE_ALONE and bucket.verdict is Verdict.MONITOR
    return said if left_alone else f"{said} The verdict departs from that, see the note."
