"""Who wrote a line decides whether it counts: a case folder with a syslog, to its report."""

import json
from datetime import datetime
from pathlib import Path

import pytest
from host_log import HOST, STAMP, Shape, judged, program, syslog

from gpuvet.model.verdict import Verdict

LOST = "NVRM: Xid (PCI:0000:64:00): 79, pid=4242, name=python, GPU has fallen off the bus."
SWITCH = "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"


def journal(**fields: str) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": "1772445851000000", "_HOSTNAME": HOST, **fields})


QUOTED = {
    "sudo": program("sudo[9]", f"root : PWD=/ ; COMMAND=/bin/grep '{LOST}' /var/log/messages"),
    "kubelet": program("kubelet[9]", f'E0302 10:04:11.000 12 log.go:32] "user" msg="{LOST}"'),
    "ansible": program("ansible-command[7]", f"Invoked with _raw_params=grep '{LOST}' x"),
    "script": program("python[991]", f"checking docs: {LOST}"),
    "logger": program("ops", LOST),
    "lost form": program("ops", "NVRM: GPU 0000:64:00.0: GPU has fallen off the bus."),
    "switch": program("ops", SWITCH),
    "quoted switch": program("sudo[9]", f"COMMAND=/bin/grep '{SWITCH}' x"),
    "plugin": program("sudo[9]", "COMMAND=/bin/grep 'XidCriticalError: Xid=48 on Device=GPU-1b' x"),
    "condition": program("sudo[9]", "COMMAND=/bin/grep NvidiaXID79Error x"),
    "infoROM": program("sudo[9]", "COMMAND=/bin/grep 'infoROM is corrupted at gpu 0000:64:00.0' x"),
    "agent": program(
        "sudo[9]", "COMMAND=/bin/grep 'HealthMonitoringAgentDetectionEvent NvidiaErrorTerminate' x"
    ),
    "journal": journal(_TRANSPORT="syslog", SYSLOG_IDENTIFIER="sudo", MESSAGE=f"grep '{LOST}'"),
    "unit": json.dumps(
        {"message": f'msg="{LOST}"', "hostname": HOST, "systemd_unit": "kubelet.service"}
    ),
    "rfc5424": f"<13>1 {STAMP} {HOST} sudo 9 - - COMMAND=/bin/grep '{LOST}' x",
}


@pytest.mark.parametrize("line", QUOTED.values(), ids=QUOTED.keys())
def test_a_fault_that_a_program_quotes_is_no_fault(line: str, tmp_path: Path) -> None:
    assert judged(tmp_path, line).verdict is Verdict.LEAVE_ALONE


TOLD = {
    "syslog": program("kernel", LOST),
    "uptime kept": program("kernel", f"[430954.509105] {LOST}"),
    "process id": program("kernel[0]", LOST),
    "dmesg tag": program("dmesg", f"[430954.509105] {LOST}"),
    "agent copy": program("nv-hostengine[7]", f"detected: {LOST}"),
    "switch": program("kernel", SWITCH),
    "switch by fabric manager": program("nvidia-fabricmanager[7]", f"detected {SWITCH}"),
}


@pytest.mark.parametrize("line", TOLD.values(), ids=TOLD.keys())
def test_a_fault_that_the_kernel_or_an_agent_tells_is_one(line: str, tmp_path: Path) -> None:
    assert judged(tmp_path, line).verdict is Verdict.REBOOT


def in_journal(at: str, text: str) -> str:
    micros = f"{datetime.fromisoformat(at).timestamp():.0f}000000"
    fields = {"_TRANSPORT": "kernel", "SYSLOG_IDENTIFIER": "kernel", "MESSAGE": text}
    return json.dumps({"__REALTIME_TIMESTAMP": micros, "_HOSTNAME": HOST, **fields})


SHAPES: dict[str, Shape] = {
    "no host, no tag": lambda at, text: f"{at} {text}",
    "host dropped": lambda at, text: f"{at} kernel: {text}",
    "rfc5424": lambda at, text: f"<3>1 {at} {HOST} kernel - - - {text}",
    "journal": in_journal,
    "fluent bit, host files": lambda at, text: json.dumps(
        {"log": syslog(at, text), "az": "us-west-2b"}
    ),
    "docker": lambda at, text: json.dumps({"log": f"{text}\n", "stream": "stdout", "time": at}),
    "container": lambda at, text: f"{at} stdout F [430954.509105] {text}",
    "syslog parser": lambda at, text: json.dumps(
        {"time": at, "ident": "kernel", "host": HOST, "message": text}
    ),
}


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_the_kernel_stays_the_kernel_in_every_wrapper(shape: Shape, tmp_path: Path) -> None:
    assert judged(tmp_path, shape(STAMP, LOST), shape=shape).verdict is Verdict.REBOOT


def test_a_quoted_fault_explains_no_other_event_away(tmp_path: Path) -> None:
    memory = "NVRM: Xid (PCI:0000:64:00): 94, pid=4242, name=python, Contained: SM (0x1)"
    alone = judged(tmp_path, program("kernel", memory))
    quoted = judged(tmp_path, QUOTED["sudo"], program("kernel", memory))
    assert quoted.verdict is alone.verdict


def test_a_quoted_copy_takes_nothing_from_the_real_line(tmp_path: Path) -> None:
    node = judged(tmp_path, program("kernel", LOST), QUOTED["sudo"])
    assert (node.verdict, node.fault_class) == (Verdict.REBOOT, "hardware")
