"""One pass over a log: hours and candidates, node by node."""

import io
import json
import random
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gpuvet.case import load_case, nodes
from gpuvet.case.log_scan import MOST_CANDIDATES, LogScanner

REFERENCE = datetime(2026, 3, 2, 12, tzinfo=UTC)
XID = "NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus."
FOUR = datetime(2026, 3, 2, 4, tzinfo=UTC)
NODE = "i-0aa11bb22cc33dd44"


def hours(text: str) -> dict[str | None, dict[datetime, int]]:
    found = LogScanner(REFERENCE).scan(io.BytesIO(text.encode()))
    return {host: scan.hours for host, scan in found.by_host.items()}


@pytest.mark.parametrize(
    ("line", "host"),
    [
        (f"2026-03-02T04:11:58Z {NODE} kernel: {XID}", NODE),
        (f"2026-03-02T04:11:58Z {NODE} {XID}", NODE),
        (f"2026-03-02T04:11:58Z kernel: {XID}", None),
        (f"2026-03-02T04:11:58.104201+00:00 ip-10-1-2-3 kernel: {XID}", "ip-10-1-2-3"),
        (f"2026-03-02T05:11:58+0100 ip-10-1-2-3 kernel: {XID}", "ip-10-1-2-3"),
        (f"Mar  2 04:11:58 ip-10-1-2-3 kernel: [4.5] {XID}", "ip-10-1-2-3"),
        (f"<3>Mar  2 04:11:58 ip-10-1-2-3 kernel: {XID}", "ip-10-1-2-3"),
        (f"<3>1 2026-03-02T04:11:58Z ip-10-1-2-3 kernel: {XID}", "ip-10-1-2-3"),
        (f"[Mon Mar  2 04:11:58 2026] {XID}", None),
        ("[2026/03/02 04:11:58] [ info] [input] tail.0 paused", None),
        ('{"__REALTIME_TIMESTAMP":"1772424718000000","_HOSTNAME":"ip-10-1-2-3"}', "ip-10-1-2-3"),
        ('{"log":"x","ec2_instance_id":"' + NODE + '","time":"2026-03-02T04:11:58.1Z"}', NODE),
    ],
)
def test_a_line_tells_its_hour_and_its_host(line: str, host: str | None) -> None:
    assert hours(line) == {host: {FOUR: 1}}


@pytest.mark.parametrize("line", [f"[430954.509105] {XID}", f"3,1,43095450,-;{XID}", "words", ""])
def test_a_line_without_a_wall_time_stands_in_no_hour(line: str) -> None:
    found = LogScanner(REFERENCE).scan(io.BytesIO(f"{line}\n".encode()))
    assert [scan.hours for scan in found.by_host.values()] == [{}]


def test_a_year_less_stamp_without_any_reference_gets_no_hour() -> None:
    line = f"Mar  2 04:11:58 host kernel: {XID}".encode()
    found = LogScanner(None).scan(io.BytesIO(line))
    assert found.by_host["host"].hours == {}
    assert len(found.by_host["host"].kept) == 1


def test_hours_and_candidates_do_not_depend_on_the_order_of_lines() -> None:
    lines = [f"2026-03-02T{n % 5:02d}:00:00Z host-{n % 3} kernel: {n} {XID}" for n in range(60)]
    shuffled = random.Random(4).sample(lines, len(lines))  # noqa: S311 - any order will do
    assert hours("\n".join(lines)) == hours("\n".join(shuffled))


def test_candidates_beyond_the_cap_are_counted() -> None:
    text = (f"2026-03-02T04:00:00Z h kernel: {XID}\n" * (MOST_CANDIDATES + 5)).encode()
    found = LogScanner(REFERENCE).scan(io.BytesIO(text))
    assert (found.dropped, found.lines) == (5, MOST_CANDIDATES + 5)


def write(folder: Path, name: str, *lines: str) -> None:
    (folder / name).write_text("\n".join(lines), encoding="utf-8")


def test_a_host_that_a_reply_knows_is_its_node(tmp_path: Path) -> None:
    instance = {"InstanceId": NODE, "PrivateDnsName": "ip-10-1-2-3.ec2.internal"}
    write(tmp_path, "instances.json", json.dumps({"Instances": [instance]}))
    write(tmp_path, "messages", f"Mar  2 04:11:58 ip-10-1-2-3 kernel: {XID}")
    write(tmp_path, "clock", "2026-03-02T05:00:00Z")
    case = load_case(tmp_path)
    assert [node.node for node in nodes(case)] == [NODE]
    assert [report.nodes for report in case.files if report.lines] == [(NODE,)]


def test_a_host_that_nobody_knows_is_a_node_under_its_own_name(tmp_path: Path) -> None:
    line = f"kernel: {XID}"
    write(tmp_path, "m", f"Mar  2 04:11:58 host-a {line}", f"Mar  2 04:11:58 host-ab {line}", line)
    case = load_case(tmp_path)
    assert [report.nodes for report in case.files] == [("host-a", "host-ab", "unattributed")]
    assert [node.node for node in nodes(case)] == ["host-a", "host-ab"]


def test_the_only_host_of_a_file_named_after_a_node_is_that_node(tmp_path: Path) -> None:
    write(tmp_path, f"messages_{NODE}", f"Mar  2 04:11:58 ip-10-1-2-3 kernel: {XID}")
    assert [report.nodes for report in load_case(tmp_path).files] == [(NODE,)]


def test_a_case_without_a_clock_ends_with_its_last_line(tmp_path: Path) -> None:
    filler = "2026-03-02T04:00:00Z host kernel: ok"
    lines = [filler] * 3000 + [f"2026-03-02T09:30:00Z host kernel: {XID}"]
    write(tmp_path, "messages", *lines)
    case = load_case(tmp_path)
    assert case.meta.now == datetime(2026, 3, 2, 10, tzinfo=UTC)


def test_of_a_long_service_log_the_beginning_and_the_end_are_kept(tmp_path: Path) -> None:
    line = "[2026/03/14 09:02:11] [ info] [input] line {}"
    write(tmp_path, "agent.log", *(line.format(n) for n in range(60_000)))
    (text,) = load_case(tmp_path).service_logs
    assert text.cut
    assert len(text.text) < 1_100_000
    assert text.text.startswith(line.format(0))
    assert text.text.endswith(line.format(59_999))
    assert "the middle is left out" in text.text
