"""A small evidence for the rules of the answer lint: four nodes, four verdicts, one hypothesis."""

from typing import Any

from gpuvet.modes.answer import Held, check_answer, hold, of_report

REPLACED, DARK, QUIET, OPEN = (
    "i-0aa11111111111111",
    "i-0bb22222222222222",
    "i-0cc33333333333333",
    "i-0dd44444444444444",
)
GROUP = "/aws/parallelcluster/tri-b200-202603100150"
STREAMS = {
    node: f"ip-10-0-38-{host}.{node}.system-messages"
    for host, node in ((21, REPLACED), (22, DARK), (23, QUIET), (24, OPEN))
}
_HOURS = {REPLACED: (49, 49), DARK: (2, 49), QUIET: (49, 49), OPEN: (49, 49)}
_VERDICTS = {
    REPLACED: ("REPLACE", "hardware", "REPLACE"),
    DARK: ("NOT OBSERVABLE", "none", "none"),
    QUIET: ("LEAVE ALONE", "none", "none"),
    OPEN: ("UNVERIFIED", "hardware", "REBOOT"),
}


def incident() -> dict[str, Any]:
    """Return the incident report: branch A is a hypothesis, C and F were never looked at."""
    return {
        "schema": "gpuvet/incident/1",
        "mode": "Incident",
        "question": "Why did job 5120 on tri-b200 die on 2026-05-10?",
        "account": "111122223333",
        "region": "us-west-2",
        "cluster": "tri-b200",
        "window": {"since": "2026-05-09T06:00:00Z", "until": "2026-05-11T07:00:00Z"},
        "failure": {"at": "2026-05-10T06:38:25Z"},
        "headline": "Leading hypothesis: A, GPU or node hardware: Xid 48 on 0000:b3:00",
        "verdicts": {node: verdict for node, (verdict, _, _) in _VERDICTS.items()},
        "branch": "A",
        "label": "Hypothesis",
        "confidence": "Low",
        "nodes": [_node(node) for node in _VERDICTS],
        "coverage": [_coverage(node) for node in _VERDICTS],
        "hours": {"rows": [_runs(node) for node in _VERDICTS]},
        "branches": [
            {"branch": "A", "status": "LEADING_HYPOTHESIS"},
            {"branch": "B", "status": "RULED_OUT", "why": "4 of 4 nodes are in the list"},
            {"branch": "C", "status": "NOT_ASSESSED"},
            {"branch": "D", "status": "NOT_OBSERVABLE"},
            {"branch": "E", "status": "RULED_OUT"},
            {"branch": "F", "status": "NOT_ASSESSED"},
        ],
        "timeline": [
            {"at": "2026-05-10T06:20:00Z", "source": "kernel", "what": "Xid 48 on 0000:b3:00"}
        ],
        "cluster_state": ["NodeRecovery None", "FSx fs-0123456789abcdef0 peaked at 0.93 %",
                          "FreeStorageCapacity 1350000000 B/s", "48211 lines read",
                          "NetworkThroughputUtilization 0.9 on fs-0123456789abcdef0",
                          "GPUUtilization 96.39 % on 32 GPUs"],
        "not_seen": [{"what": "FSx metrics", "reason": "not_recorded"}],
    }  # fmt: skip


def _node(node: str) -> dict[str, Any]:
    verdict, kind, least = _VERDICTS[node]
    return {
        "node": node,
        "verdict": verdict,
        "class": kind,
        "minimum_action": least,
        "open_check": "nvidia-smi -q -d ECC" if verdict == "UNVERIFIED" else None,
        "grounds": [{"what": "Xid 48", "pci": "0000:b3:00", "at": "2026-05-10T06:20:00Z"}]
        if kind == "hardware"
        else [],
    }


def _coverage(node: str) -> dict[str, Any]:
    measured, asked = _HOURS[node]
    return {
        "node": node,
        "group": GROUP,
        "stream": STREAMS[node],
        "status": "MEASURED" if measured == asked else "NOT_OBSERVABLE",
        "hours_measured": measured,
        "hours_asked": asked,
    }


def _runs(node: str) -> dict[str, Any]:
    measured, asked = _HOURS[node]
    runs = f"{measured}L" + (f"{asked - measured}E" if asked > measured else "")
    return {"node": node, "source": None, "runs": runs}


def preflight() -> dict[str, Any]:
    """Return a preflight report: 24 h yes, 72 h no."""
    return {
        "schema": "gpuvet/preflight/1",
        "mode": "Preflight",
        "ready": {"24": "Yes with risks", "72": "No"},
        "label": "Proven",
        "verdicts": {},
        "checks": [
            {"id": "P1", "status": "FAIL", "by_hours": {"24": "PASS", "72": "FAIL"}},
            {"id": "P4", "status": "RISK", "by_hours": {"24": "RISK", "72": "RISK"}},
            {"id": "P6", "status": "PASS", "by_hours": {"24": "PASS", "72": "PASS"}},
        ],
        "calendar": [
            {
                "resource": "cr-0aaaabbbbccccdddd",
                "end": "2026-08-22T11:30:00Z",
                "usable_until": "2026-08-22T11:00:00Z",
            }
        ],
    }


def held(*reports: dict[str, Any]) -> Held:
    """Return reports as evidence; by default the incident."""
    found = [of_report(report, "test") for report in reports or (incident(),)]
    evidence = found[0]
    for more in found[1:]:
        evidence += more
    return hold(evidence)


def codes(draft: str, *reports: dict[str, Any]) -> list[str]:
    """Return the codes found in a draft, in reading order, each once."""
    return list(dict.fromkeys(f.code for f in check_answer(draft, held(*reports)).findings))
