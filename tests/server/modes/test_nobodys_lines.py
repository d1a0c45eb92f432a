"""Lines that name no node, reads that failed and reports that are torn: none of them is health."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from gpuvet.case import load_case
from gpuvet.model.cause import Branch, BranchStatus
from gpuvet.modes.incident import incident_report
from gpuvet.modes.verdict import exit_code, verdict_report
from gpuvet.modes.window import Asked

LATE = datetime(2026, 4, 1, tzinfo=UTC)
START = datetime(2026, 3, 2, 6, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:64:00): 79, pid=4, name=python, GPU has fallen off the bus."
FAULT = datetime(2026, 3, 2, 10, 4, 11, tzinfo=UTC)
CASE = {
    "now": "2026-03-02T12:20:00Z",
    "window": {"start": "2026-03-02T07:00:00Z", "end": "2026-03-02T12:00:00Z"},
    "failure_at": "2026-03-02T10:04:12Z",
}

Stamped = list[tuple[datetime, str]]


def said(fault: str | None = None, *, host: str | None = None) -> Stamped:
    """Return seven hours of a kernel log, with a fault in it or none."""
    by = f"{host} " if host else ""
    filler = f"{by}kernel: docker0: port 1(veth1) entered blocking state"
    lines = [(START + timedelta(minutes=5 * place), filler) for place in range(84)]
    if fault is not None:
        lines.append((FAULT, f"{by}kernel: {fault}"))
    return sorted(lines)


def syslog(lines: Stamped) -> str:
    return "".join(f"{at.isoformat()} {text}\n" for at, text in lines)


def events(lines: Stamped, **more: object) -> str:
    rows = [
        {"logStreamName": "messages/n1", "timestamp": int(at.timestamp() * 1000), "message": text}
        for at, text in lines
    ]
    return json.dumps({"events": rows, **more})


def query(lines: Stamped, *, status: str = "Complete", matched: int | None = None) -> str:
    rows = [
        [
            {"field": "@timestamp", "value": f"{at:%Y-%m-%d %H:%M:%S}.000"},
            {"field": "@logStream", "value": "messages/n1"},
            {"field": "@message", "value": text},
        ]
        for at, text in lines
    ]
    statistics = {"recordsMatched": len(rows) if matched is None else matched}
    return json.dumps({"results": rows, "status": status, "statistics": statistics})


def table(lines: Stamped) -> str:
    rows = (f'{at:%Y-%m-%d %H:%M:%S}.000,messages/n1,"{text}"\n' for at, text in lines)
    return "@timestamp,@logStream,@message\n" + "".join(rows)


def docker(lines: Stamped) -> str:
    rows = ({"log": f"{text}\n", "time": f"{at:%Y-%m-%dT%H:%M:%SZ}"} for at, text in lines)
    return "".join(json.dumps(row) + "\n" for row in rows)


def grepped(lines: Stamped) -> str:
    return "".join(f"/var/log/messages:{line}\n" for line in syslog(lines).splitlines())


def dmesg(lines: Stamped) -> str:
    return "".join(
        f"[{(at - START).total_seconds():12.6f}] {text.removeprefix('kernel: ')}\n"
        for at, text in lines
    )


def case(folder: Path, **files: str) -> Path:
    """Write a case beside a healthy node n2, whose log is whole."""
    (folder / "case.json").write_text(json.dumps(CASE), encoding="utf-8")
    (folder / "n2.log").write_text(syslog(said(host="n2")), encoding="utf-8")
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text, encoding="utf-8")
    return folder


def answer(folder: Path) -> tuple[dict[str, str], int, BranchStatus]:
    """Return verdicts, exit code, and what becomes of hardware as a cause."""
    report = verdict_report(load_case(folder), Asked(), clock=LATE)
    branches = incident_report(load_case(folder), Asked(), clock=LATE).branches
    hardware = next(row for row in branches if row.branch is Branch.HARDWARE)
    return {n: v.value for n, v in report.verdicts.items()}, exit_code(report), hardware.status


@pytest.mark.parametrize(
    ("name", "text", "stand_in"),
    [
        pytest.param("a_json", events(said(XID)), "messages/n1", id="events of an export"),
        pytest.param("a_json", query(said(XID)), "messages/n1", id="rows of a query"),
        pytest.param("a_csv", table(said(XID)), "a.csv", id="a query as a table"),
        pytest.param("a_log", docker(said(XID)), "a.log", id="a container's log"),
        pytest.param("a_log", grepped(said(XID)), "a.log", id="what grep found"),
        pytest.param("a_log", dmesg(said(XID)), "a.log", id="a ring buffer"),
    ],
)
def test_a_fault_in_a_log_that_names_no_node_is_judged_under_the_logs_name(
    name: str, text: str, stand_in: str, tmp_path: Path
) -> None:
    verdicts, code, hardware = answer(case(tmp_path, **{name: text}))
    assert verdicts == {stand_in: "REBOOT", "n2": "LEAVE ALONE"}
    assert (code, hardware) == (1, BranchStatus.LEADING_HYPOTHESIS)


def test_a_quiet_log_that_names_no_node_is_named_and_speaks_for_none(tmp_path: Path) -> None:
    report = verdict_report(load_case(case(tmp_path, a_log=dmesg(said()))), Asked(), clock=LATE)
    assert list(report.verdicts) == ["n2"]
    assert [row.what for row in report.not_seen] == ["whose log a.log is"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("a_json", events(said(), nextToken="more"), id="an export with more pages"),
        pytest.param("a_json", query(said(), status="Running"), id="a query that had not ended"),
        pytest.param("a_json", query(said(), matched=99_999), id="a query cut at its limit"),
        pytest.param("a_json", events(said(XID))[:-400], id="an export cut in the middle"),
        pytest.param(
            "a_txt",
            "An error occurred (AccessDeniedException) when calling the FilterLogEvents operation: "
            "User is not authorized\n",
            id="a read that was denied",
        ),
    ],
)
def test_what_may_hide_any_nodes_fault_rules_nothing_out(
    name: str, text: str, tmp_path: Path
) -> None:
    verdicts, code, hardware = answer(case(tmp_path, **{name: text}))
    assert verdicts["n2"] == "LEAVE ALONE"  # its own log was whole
    assert (code, hardware) == (3, BranchStatus.NOT_OBSERVABLE)


@pytest.mark.parametrize(
    "torn",
    [
        pytest.param("NVRM: Xid (PCI:0000:64:00): ??, pid=4", id="a code that is no number"),
        pytest.param("NVRM: Xid (PCI:0000:64:0", id="cut inside the bus id"),
        pytest.param("x" * 20_000 + XID, id="behind more than is kept of a line"),
    ],
)
def test_a_report_of_an_xid_that_cannot_be_read_is_no_absence_of_xids(
    torn: str, tmp_path: Path
) -> None:
    verdicts, code, hardware = answer(case(tmp_path, n1_log=syslog(said(torn, host="n1"))))
    assert verdicts == {"n1": "NOT OBSERVABLE", "n2": "LEAVE ALONE"}
    assert (code, hardware) == (3, BranchStatus.NOT_OBSERVABLE)


def test_an_unlisted_code_keeps_hardware_from_being_ruled_out(tmp_path: Path) -> None:
    unlisted = "NVRM: Xid (PCI:0000:64:00): 999, something new"
    verdicts, code, hardware = answer(case(tmp_path, n1_log=syslog(said(unlisted, host="n1"))))
    assert verdicts == {"n1": "UNVERIFIED", "n2": "LEAVE ALONE"}
    assert (code, hardware) == (1, BranchStatus.UNVERIFIED)


def test_driver_lines_without_a_host_in_a_log_of_several_are_named(tmp_path: Path) -> None:
    mixed = syslog(said(host="n1")) + f"kernel: {XID}\n"
    report = verdict_report(load_case(case(tmp_path, all_log=mixed)), Asked(), clock=LATE)
    assert [row.what for row in report.not_seen if row.any_node] == [
        "whose driver lines in all.log are"
    ]
    assert exit_code(report) == 3


@pytest.mark.parametrize(
    "output",
    [
        "Unable to determine the device handle for GPU 0000:64:00.0: Unknown Error\n",
        "No devices were found\n",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
    ],
)
def test_an_nvidia_smi_that_opens_no_gpu_is_no_healthy_node(output: str, tmp_path: Path) -> None:
    folder = case(tmp_path, n1_log=syslog(said(host="n1")))
    (folder / "nvidia-smi_n1.txt").write_text(output, encoding="utf-8")
    verdicts, code, hardware = answer(folder)
    assert verdicts == {"n1": "UNVERIFIED", "n2": "LEAVE ALONE"}
    assert (code, hardware) == (1, BranchStatus.LEADING_HYPOTHESIS)
