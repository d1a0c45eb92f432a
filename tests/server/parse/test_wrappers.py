"""Whatever wraps a line comes off, and what it told is kept."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from gpuvet.model.events import TimeQuality
from gpuvet.parse.wrappers import Peeled, instance_id, peel

REFERENCE = datetime(2025, 3, 1, tzinfo=UTC)
AT = datetime(2025, 2, 23, 16, 24, 18, tzinfo=UTC)
FINE = AT.replace(microsecond=104201)
TENTH = AT.replace(microsecond=100000)
CORE = "NVRM: Xid (PCI:0000:53:00): 79, pid=2187734, name=python3, GPU has fallen off the bus."
UPTIME = 430954509105
NODE = "i-0aa11bb22cc33dd44"
E, A, I = TimeQuality.EXACT, TimeQuality.ASSUMED, TimeQuality.INGEST_ONLY  # noqa: E741

WRAPPED = [
    pytest.param(f"[430954.509105] {CORE}", Peeled(CORE, uptime_us=UPTIME), id="1 dmesg"),
    pytest.param(
        f"[  130.456250] [  T1946] {CORE}",
        Peeled(CORE, uptime_us=130456250),
        id="2 dmesg with thread",
    ),
    pytest.param(
        f"[  130.456250][    C12] {CORE}", Peeled(CORE, uptime_us=130456250), id="2 with CPU"
    ),
    pytest.param(f"[Sun Feb 23 16:24:18 2025] {CORE}", Peeled(CORE, AT, A), id="3 dmesg -T"),
    pytest.param(
        f"2025-02-23T16:24:18,104201+00:00 {CORE}", Peeled(CORE, FINE, E), id="4 dmesg iso"
    ),
    pytest.param(
        f"kern  :err   : [430954.509105] {CORE}",
        Peeled(CORE, uptime_us=UPTIME, kernel=True),
        id="5 dmesg -x",
    ),
    pytest.param(
        f"Feb 23 16:24:18 ip-10-1-2-3 kernel: {CORE}",
        Peeled(CORE, AT, A, host="ip-10-1-2-3", identifier="kernel", kernel=True),
        id="6 RFC 3164",
    ),
    pytest.param(
        f"Feb 23 16:24:18 ip-10-1-2-3 kernel: [430954.509105] {CORE}",
        Peeled(CORE, AT, A, UPTIME, host="ip-10-1-2-3", identifier="kernel", kernel=True),
        id="7 with uptime",
    ),
    pytest.param(
        f"2025-02-23T16:24:18.104201+00:00 ip-10-1-2-3 kernel: {CORE}",
        Peeled(CORE, FINE, E, host="ip-10-1-2-3", identifier="kernel", kernel=True),
        id="8 new rsyslog",
    ),
    pytest.param(
        f"<3>1 2025-02-23T16:24:18.104201Z ip-10-1-2-3 kernel - - - {CORE}",
        Peeled(CORE, FINE, E, host="ip-10-1-2-3", identifier="kernel", kernel=True),
        id="9 RFC 5424",
    ),
    pytest.param(
        f"2025-02-23T16:24:18+0000 host kernel: {CORE}",
        Peeled(CORE, AT, E, host="host", identifier="kernel", kernel=True),
        id="10 journalctl short-iso",
    ),
    pytest.param(
        '{"__REALTIME_TIMESTAMP":"1740327858104201","__MONOTONIC_TIMESTAMP":"430954509105",'
        '"_BOOT_ID":"6f0c","_TRANSPORT":"kernel","PRIORITY":"3","SYSLOG_IDENTIFIER":"kernel",'
        f'"_SOURCE_MONOTONIC_TIMESTAMP":"430954509100","MESSAGE":"{CORE}"}}',
        Peeled(CORE, FINE, E, 430954509100, "6f0c", identifier="kernel", kernel=True),
        id="11 journald",
    ),
    pytest.param(
        '{"__REALTIME_TIMESTAMP":"1740327858104201","_TRANSPORT":"kernel",'
        f'"MESSAGE":{list(CORE.encode())}}}',
        Peeled(CORE, FINE, E, kernel=True),
        id="11 journald, bytes",
    ),
    pytest.param(
        f"3,4711,430954509105,-;{CORE}",
        Peeled(CORE, uptime_us=UPTIME, kernel=True),
        id="12 kmsg",
    ),
    pytest.param(
        f"12,4711,430954509105,c,caller=T7;{CORE}",
        Peeled(CORE, uptime_us=UPTIME, kernel=False, continued=True),
        id="12 kmsg, written by a program",
    ),
    pytest.param(
        f'{{"timestamp":1740327858104,"message":"Feb 23 16:24:18 ip-10-1-2-3 kernel: {CORE}",'
        f'"ingestionTime":1740327861020,"logStreamName":"ip-10-1-2-3.{NODE}.system-messages"}}',
        Peeled(
            CORE,
            AT,
            A,
            host="ip-10-1-2-3",
            identifier="kernel",
            instance=NODE,
            kernel=True,
            shipped_at=AT + timedelta(milliseconds=104),
        ),
        id="13 CloudWatch event",
    ),
    pytest.param(
        f'{{"timestamp":1740327858000,"message":"{CORE}","ingestionTime":1740327858000}}',
        Peeled(CORE, AT, I, shipped_at=AT),
        id="13 without a time of its own",
    ),
    pytest.param(
        f'{{"log":"Feb 23 16:24:18 ip-10-1-2-3 kernel: {CORE}","ec2_instance_id":"{NODE}"}}',
        Peeled(CORE, AT, A, host="ip-10-1-2-3", identifier="kernel", instance=NODE, kernel=True),
        id="14 Fluent Bit",
    ),
    pytest.param(
        f'{{"log":"2025-02-23T16:24:18.1Z stderr F {CORE}\\n","stream":"stderr",'
        '"kubernetes":{"pod_name":"dmesg-tail-x1","host":"ip-10-1-2-3"}}',
        Peeled(CORE, TENTH, I, host="ip-10-1-2-3", channel="dmesg-tail-x1/stderrstderr"),
        id="15 Fluent Bit with Kubernetes data",
    ),
    pytest.param(
        f'{{"MESSAGE":"{CORE}","_TRANSPORT":"kernel","_HOSTNAME":"ip-10-1-2-3","PRIORITY":"3"}}',
        Peeled(CORE, host="ip-10-1-2-3", kernel=True),
        id="16 Fluent Bit systemd",
    ),
    pytest.param(
        f'{{"log":"{CORE}\\n","stream":"stdout","time":"2025-02-23T16:24:18.1Z"}}',
        Peeled(CORE, TENTH, I, channel="/stdout"),
        id="17 Docker",
    ),
    pytest.param(
        f"[gpu-health] [CRITICAL] GPU-1234: XID: {CORE}",
        Peeled(f"[gpu-health] [CRITICAL] GPU-1234: XID: {CORE}"),
        id="18 agent",
    ),
    pytest.param(
        f"2025-02-23T16:24:18Z kernel: {CORE}",
        Peeled(CORE, AT, E, identifier="kernel", kernel=True),
        id="22 host dropped",
    ),
    pytest.param(
        f"2025-02-23T16:24:18Z {NODE} kernel: {CORE}",
        Peeled(CORE, AT, E, host=NODE, identifier="kernel", instance=NODE, kernel=True),
        id="22 instance for host",
    ),
    pytest.param(
        "2025-02-23T16:24:18Z nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal",
        Peeled("nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal", AT, E),
        id="a kernel subsystem is no host",
    ),
    pytest.param(
        "<30>Feb 23 16:24:18 ip-10-1-2-3 systemd[1]: Started x.",
        Peeled("Started x.", AT, A, None, None, "ip-10-1-2-3", "systemd", 1, kernel=False),
        id="a program with its PID",
    ),
]


@pytest.mark.parametrize(("line", "expected"), WRAPPED)
def test_a_wrapper_comes_off_and_its_facts_are_kept(line: str, expected: Peeled) -> None:
    assert peel(line, reference=REFERENCE) == expected


@pytest.mark.parametrize("line", [param.values[0] for param in WRAPPED])
def test_a_cloudwatch_event_around_any_wrapper_changes_nothing_but_a_missing_time(
    line: str,
) -> None:

    event = json.dumps({"timestamp": 1740327858104, "message": line, "ingestionTime": 1})
    inner, outer = peel(line, reference=REFERENCE), peel(event, reference=REFERENCE)
    if inner.at is None:
        assert (outer.at, outer.quality) == (AT + timedelta(milliseconds=104), I)
        outer = outer._replace(at=None, quality=TimeQuality.NONE)
    assert outer.shipped_at is not None
    assert outer._replace(shipped_at=None) == inner._replace(shipped_at=None)


def test_the_shippers_time_stands_in_and_gives_the_year() -> None:
    shipped = datetime(2024, 2, 23, 16, 30, tzinfo=UTC)
    bare = peel(f"[430954.509105] {CORE}", reference=REFERENCE, shipped_at=shipped)
    dated = peel(f"Feb 23 16:24:18 h kernel: {CORE}", reference=REFERENCE, shipped_at=shipped)
    assert (bare.at, bare.quality) == (shipped, I)
    assert (dated.at, dated.quality) == (AT.replace(year=2024), A)


def test_a_record_cut_off_in_its_message_is_opened_as_far_as_it_goes() -> None:
    line = '{"__REALTIME_TIMESTAMP":"1740327858104201","_TRANSPORT":"kernel","MESSAGE":"NVRM: \\"Xi'
    assert peel(line, reference=REFERENCE) == Peeled('NVRM: "Xi', FINE, E, kernel=True, cut=True)


def test_what_a_program_logged_stays_the_programs_whatever_it_looks_like() -> None:
    line = f'{{"_TRANSPORT":"syslog","MESSAGE":"Feb 23 16:24:18 h kernel: {CORE}"}}'
    assert peel(line, reference=REFERENCE).kernel is False


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("{" * 100_000, id="open braces"),
        pytest.param("[" * 100_000, id="open brackets"),
        pytest.param('{"log":' * 20_000, id="deep JSON"),
        pytest.param('{"MESSAGE":[1,2,"x",null,999]}', id="odd bytes"),
        pytest.param('{"timestamp":1e400,"message":"x"}', id="infinite time"),
        pytest.param('{"MESSAGE":null}', id="no message"),
        pytest.param("²,1,1,-;x", id="digits that are no numbers"),
        pytest.param("<3>1 2025-02-23T16:24:18Z h kernel ² - - x", id="PID that is no number"),
        pytest.param("\x00\ud800", id="NUL and surrogate"),
        pytest.param("", id="empty"),
    ],
)
def test_a_hostile_line_is_peeled_without_a_fault(line: str) -> None:
    assert isinstance(peel(line, reference=REFERENCE), Peeled)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"hyperpod-{NODE}", NODE),
        (f"ip-10-1-2-3.{NODE}.syslog", NODE),
        ("i-0abcdef0", "i-0abcdef0"),
        ("i-0abcdef01", None),
        ("multi-0abcdef0", None),
        ("ip-10-0-0-1", None),
    ],
)
def test_an_instance_id_is_found_only_as_a_whole_word(text: str, found: str | None) -> None:
    assert instance_id(text) == found
